"""Projection onto the probability simplex."""

from __future__ import annotations

import numpy as np

from ufselect._utils.types import Float


def project_rows_onto_simplex(A: Float) -> Float:
    """Project every row of A onto the simplex {p ≥ 0, Σp = 1}, by sorting.

    p = (a + τ)₊ with τ = (1 − Σ_{j≤ρ} a₍j₎)/ρ, where a₍1₎ ≥ a₍2₎ ≥ … and ρ is the largest j with
    a₍j₎ + (1 − Σ_{i≤j} a₍i₎)/j > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.solvers.simplex import project_rows_onto_simplex
    >>> project_rows_onto_simplex(np.array([[0.5, 0.5, -3.0], [2.0, 0.0, 0.0]]))
    array([[0.5, 0.5, 0. ],
           [1. , 0. , 0. ]])
    """
    # Only differences within a row matter; subtracting the largest value keeps their digits.
    A = A - A.max(axis=1, keepdims=True)
    falling = -np.sort(-A, axis=1)
    rank = np.arange(1, A.shape[1] + 1)
    shifts = (1.0 - np.cumsum(falling, axis=1)) / rank
    support = np.count_nonzero(falling + shifts > 0.0, axis=1)
    return np.maximum(A + shifts[np.arange(len(A)), support - 1][:, None], 0.0)
