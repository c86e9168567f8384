"""Penalties of row-sparse regression: the smallest one that leaves nothing, and shares of it."""

from __future__ import annotations

import numpy as np

from ufselect._utils.types import Float
from ufselect.columns.dense import Columns

_NEGLIGIBLE = 1e-10


def smallest_penalty_for_zero(X: Columns, Y: Float) -> float:
    """γ_max = 2 maxⱼ‖xⱼᵀY‖, the smallest γ whose solution is W = 0."""
    return smallest_penalty_of_products(X.transposed_matmul(Y))


def smallest_penalty_of_products(products: Float) -> float:
    """Return the same, given XᵀY."""
    return 2.0 * float(np.linalg.norm(products, axis=1).max())


def penalty_for_zero_of_any_embedding(X: Columns) -> float:
    """2 maxⱼ‖xⱼ‖, the smallest γ whose solution is W = 0 for every Y with orthonormal columns."""
    return 2.0 * float(np.sqrt(X.squared_norms().max()))


def penalty_of_share(X: Columns, Y: Float, share: float) -> float:
    """Return γ as a share of γ_max; positive even if Y is orthogonal to all columns."""
    smallest = _NEGLIGIBLE * penalty_for_zero_of_any_embedding(X)
    return share * max(smallest_penalty_for_zero(X, Y), smallest)
