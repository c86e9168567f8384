"""FSASL's W: row-sparse weights of the columns, the target that they explain, and how many columns take part."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ufselect._utils.types import Float
from ufselect._utils.warnings import warn_not_converged
from ufselect.columns.dense import Columns
from ufselect.solvers.alignment import StructureFactor, kernel_alignment
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import smallest_penalty_of_products

LEAST_ALIGNMENT = 0.6  # of an embedding with the structure that it expresses
MOST_HALVINGS = 3
_ALWAYS_ALLOWED_ROWS, _MOST_ROWS = 500, 2000


class FeatureWeights(NamedTuple):
    """W, the target Y that it explains, XᵀY, γ, and γ as a share of the smallest γ at which W = 0."""

    W: Float
    target: Any
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


def weights_at_zero(X: Columns, Y: Any, share: float, start: Float | None = None) -> FeatureWeights:
    """Return the start of a regression: γ for a target, and W = 0 unless another start is given."""
    products = X.transposed_matmul(Y)
    W = np.zeros_like(products) if start is None else start
    return FeatureWeights(W, Y, products, share * smallest_penalty_of_products(products), share)


def regressed_weights(
    X: Columns, start: FeatureWeights, *, gram: Float | None = None, most_rows: int | None = None
) -> FeatureWeights:
    """Regress a target on few columns, from the W and γ of a start; ``gram`` is XᵀX, if available.

    γ is doubled while more columns than ``most_rows`` take part. By default there is a limit if there are more columns
    than samples: many more than n would fit any target.
    """
    n, d = X.shape
    if most_rows is None and d > n:
        most_rows = min(max(n, _ALWAYS_ALLOWED_ROWS), _MOST_ROWS)
    W, Y, products, gamma, _ = start
    while True:
        found = l21_regression(X, Y, gamma, gram=gram, products=products, warm_start=W, most_rows=most_rows)
        if most_rows is None or np.count_nonzero(found.coef.any(axis=1)) <= most_rows:
            if not found.converged:
                warn_not_converged("The sparse regression did not reach its tolerance: its weights are approximate.")
            return start._replace(W=found.coef, penalty=gamma)
        gamma, W = 2.0 * gamma, np.zeros_like(W)


def expressive_weights(
    X: Columns, Y: Any, share: float, *, gram: Float | None = None, most_rows: int | None = None
) -> FeatureWeights:
    """Return the weights of enough columns to express a structure with factor Y, of shape (n, q).

    γ is halved until the embedding agrees with the structure. If a few halvings are not enough, or too many columns
    would take part, γ stays as it was: further columns would only fit noise.
    """
    first = found = regressed_weights(X, weights_at_zero(X, Y, share), gram=gram, most_rows=most_rows)
    for _ in range(MOST_HALVINGS):
        if _expresses(X, found):
            return found
        start = found._replace(penalty=found.penalty / 2.0, share=found.share / 2.0)
        found = regressed_weights(X, start, gram=gram, most_rows=most_rows)
        if found.penalty > start.penalty:  # too many columns would take part
            return first
    return found if _expresses(X, found) else first


def _expresses(X: Columns, weights: FeatureWeights) -> bool:
    return kernel_alignment(X.embedded(weights.W), weights.target) >= LEAST_ALIGNMENT
