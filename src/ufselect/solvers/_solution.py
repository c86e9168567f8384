"""The result of an iterative solver."""

from __future__ import annotations

from dataclasses import dataclass

from ufselect._backend.columns import Float


@dataclass(frozen=True)
class Solution:
    """A solution, its objective value, the number of iterations, and whether the solver converged."""

    coef: Float
    objective: float
    n_iter: int
    converged: bool
