"""What every iterative solver returns."""

from __future__ import annotations

from dataclasses import dataclass

from ufselect._backend.columns import Float


@dataclass(frozen=True)
class Solution:
    """The answer of an iterative solver, with the means to judge it."""

    coef: Float
    objective: float
    n_iter: int
    converged: bool
