"""The result of an iterative solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ufselect._utils.types import Float


@dataclass(frozen=True)
class Solution:
    """A solution, how to evaluate its objective, the number of iterations, and whether the solver converged."""

    coef: Float
    evaluate: Callable[[], float]
    n_iter: int
    converged: bool

    @cached_property
    def objective(self) -> float:
        """The objective value; it is computed when it is asked for, because it takes a product with X."""
        return self.evaluate()
