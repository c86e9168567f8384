"""FSASL's W: the feature weights, what they explain, how many there may be, and how many are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ufselect._utils.policy import SMALLEST_SINGLE_PRECISION_SPECTRUM
from ufselect._utils.types import Float
from ufselect.columns.dense import Columns
from ufselect.solvers._solution import Solution
from ufselect.solvers.alignment import StructureFactor, agreement
from ufselect.solvers.l21 import l21_regression

_ALWAYS_ALLOWED_ROWS, _MOST_ROWS = 500, 2000
LEAST_AGREEMENT = 0.6  # of an embedding with the structure that it expresses
MOST_HALVINGS = 3


class FeatureWeights(NamedTuple):
    """W, the target Y that it explains, XᵀY, γ, and γ as a share of the smallest γ at which W = 0."""

    W: Float
    target: Float
    products: Float
    penalty: float
    share: float

    @property
    def cost(self) -> float:
        """γ‖W‖₂,₁."""
        return self.penalty * float(np.linalg.norm(self.W, axis=1).sum())

    @property
    def structure(self) -> StructureFactor:
        """The target as a factor of a structure."""
        return StructureFactor(self.target, self.products)

    def halved(self) -> FeatureWeights:
        """The same weights as a start for half the penalty."""
        return self._replace(penalty=self.penalty / 2.0, share=self.share / 2.0)


def embedded(X: Columns, W: Float) -> Float:
    """XW; of many samples in the precision of X, because more would double the memory for nothing."""
    Z = X @ W
    return Z.astype(X.dtype, copy=False) if len(Z) >= SMALLEST_SINGLE_PRECISION_SPECTRUM else Z


def _most_rows(X: Columns) -> int | None:
    """Return the largest number of features that may take part; many more than n of them would fit any target."""
    n, d = X.shape
    return min(max(n, _ALWAYS_ALLOWED_ROWS), _MOST_ROWS) if d > n else None


def regressed_weights(
    X: Columns, gram: Float | None, start: FeatureWeights, tol: float, *, limited: bool
) -> tuple[FeatureWeights, Solution]:
    """Return the row-sparse regression of a target; if limited, γ is doubled while too many features take part."""
    most_rows = _most_rows(X) if limited else None
    W, Y, products, gamma, _ = start
    while True:
        found = l21_regression(X, Y, gamma, gram=gram, products=products, warm_start=W, tol=tol, most_rows=most_rows)
        if most_rows is None or np.count_nonzero(found.coef.any(axis=1)) <= most_rows:
            return start._replace(W=found.coef, penalty=gamma), found
        gamma, W = 2.0 * gamma, np.zeros_like(W)


def expressive_weights(
    X: Columns, weights: FeatureWeights, regress: Callable[[FeatureWeights], FeatureWeights]
) -> FeatureWeights:
    """Return the weights of enough features to express the structure.

    γ is halved until the samples look alike by the embedding as they do by the structure. If a few halvings are not
    enough, or too many features would take part, the given weights stay: further features would only fit noise.

    Parameters
    ----------
    X : Columns of shape (n, d)
    weights : FeatureWeights
        The row-sparse regression of the structure.
    regress : callable
        Solves the regression anew from some weights, with their γ or a larger one.
    """
    found = weights
    for _ in range(MOST_HALVINGS):
        if _expresses(X, found):
            return found
        start = found.halved()
        found = regress(start)
        if found.penalty > start.penalty:  # too many features would take part
            return weights
    return found if _expresses(X, found) else weights


def _expresses(X: Columns, weights: FeatureWeights) -> bool:
    return agreement(embedded(X, weights.W), weights.target) >= LEAST_AGREEMENT
