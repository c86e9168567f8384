"""Products with dense columns in single precision, in half the time, for what needs few digits."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ufselect._utils.types import Float
from ufselect.columns.dense import Columns

_MOST_DRIFT = 0.03  # of F, in products of single precision; their error is this times 1e-7


def in_single_precision(X: Columns) -> Columns:
    """The same columns in single precision; sparse ones stay, as centring them is a difference of products."""
    if sp.issparse(X.values) or X.dtype == np.float32:
        return X
    return Columns(X.values.astype(np.float32), X.offset, centered=X.centered)


class Projection:
    """F ↦ XFᵀ for F that changes little from call to call: only the change is multiplied in single precision.

    Parameters
    ----------
    X : Columns of shape (n, d)
    coarse : Columns of shape (n, d)
        X in lower precision, or X itself, in which case every product is one of X.
    """

    def __init__(self, X: Columns, coarse: Columns) -> None:
        self.X, self._coarse = X, coarse
        self._last: tuple[Float, Float] | None = None
        self._drift = 0.0

    def __call__(self, F: Float) -> Float:
        """XFᵀ."""
        if self._last is None or self._last[0] is not F:
            self._last = F, self._product(F)
        return self._last[1]

    def _product(self, F: Float) -> Float:
        if self._last is not None and self._coarse is not self.X:
            before, product = self._last
            self._drift += float(np.linalg.norm(F - before) / np.linalg.norm(F))
            if self._drift <= _MOST_DRIFT:
                return product + self._coarse @ (F - before).T
        self._drift = 0.0
        return self.X @ F.T
