"""FSASL's W: the feature weights, what they explain, and how many there may be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ufselect._backend.columns import Columns, Float
from ufselect._backend.policy import SMALLEST_SINGLE_PRECISION_SPECTRUM
from ufselect.solvers._solution import Solution
from ufselect.solvers.alignment import StructureFactor
from ufselect.solvers.l21 import l21_regression

_ALWAYS_ALLOWED_ROWS, _MOST_ROWS = 500, 2000


class FeatureWeights(NamedTuple):
    """W, the target Y that it explains, XᵀY, and γ."""

    W: Float
    target: Float
    products: Float
    penalty: float

    @property
    def cost(self) -> float:
        """γ‖W‖₂,₁."""
        return self.penalty * float(np.linalg.norm(self.W, axis=1).sum())

    @property
    def structure(self) -> StructureFactor:
        """The target as a factor of a structure."""
        return StructureFactor(self.target, self.products)


def embedded(X: Columns, W: Float) -> Float:
    """XW; of many samples in the precision of X, because more would double the memory for nothing."""
    Z = X @ W
    return Z.astype(X.dtype, copy=False) if len(Z) >= SMALLEST_SINGLE_PRECISION_SPECTRUM else Z


def most_rows_of(X: Columns) -> int | None:
    """Return the largest number of features that may take part; many more than n of them would fit any target."""
    n, d = X.shape
    return min(max(n, _ALWAYS_ALLOWED_ROWS), _MOST_ROWS) if d > n else None


def regressed_weights(
    X: Columns, gram: Float | None, start: FeatureWeights, tol: float, most_rows: int | None = None
) -> tuple[FeatureWeights, Solution]:
    """Return the row-sparse regression of a target; γ is doubled as long as too many features take part."""
    W, Y, products, gamma = start
    while True:
        found = l21_regression(X, Y, gamma, gram=gram, products=products, warm_start=W, tol=tol, most_rows=most_rows)
        if most_rows is None or np.count_nonzero(found.coef.any(axis=1)) <= most_rows:
            return FeatureWeights(found.coef, Y, products, gamma), found
        gamma, W = 2.0 * gamma, np.zeros_like(W)
