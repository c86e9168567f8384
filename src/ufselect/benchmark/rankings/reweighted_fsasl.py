"""FSASL as in the authors' program."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ufselect._utils.types import Float
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import StructureLaplacian
from ufselect.selectors.fsasl import FSASL
from ufselect.solvers.feature_weights import FeatureWeights
from ufselect.solvers.reweighted import ReweightedRidge, inverse_weights

_REWEIGHTED_STEPS = 10


class ReweightedFSASL(FSASL):
    """FSASL with W from ten reweighted steps that start at a ridge solution, as in the authors' program.

    If γ is small, ten steps end far from the solution: no row is zero, and all features are ranked. ``row_penalty`` is
    γ itself, for the raw columns, not a share of the largest. All else is as in FSASL. Use it to reproduce the
    published figures only.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FSASL._parameter_constraints,
        "row_penalty": [Interval(Real, 0, None, closed="neither")],
    }

    def _fit_weights(
        self,
        X: Columns,
        gram: Float | None,
        L: StructureLaplacian,
        n_clusters: int | None,
        last: FeatureWeights | None = None,
    ) -> FeatureWeights:
        Y = self._target(L, n_clusters, last)
        h = np.ones(X.shape[1])
        for _ in range(_REWEIGHTED_STEPS):
            W = ReweightedRidge(X, h, self.row_penalty, gram=gram).coef(Y)
            h = inverse_weights(W)
        return FeatureWeights(W, Y, X.transposed_matmul(Y), self.row_penalty, self.row_penalty)
