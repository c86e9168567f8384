"""Ridge regression with weights for features and for samples, solved again and again while few features stay in use."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ufselect._backend.columns import Columns, Float, Indices
from ufselect.solvers.kernel_system import SharedColumns, heaviest, solution_accuracy
from ufselect.solvers.reweighted import ReweightedRidge

_WORTH_A_COPY = 0.9  # the system takes the square of the number of columns, a copy of them is linear


class RobustFit(NamedTuple):
    """W of the columns in use, their indices, b, and PW."""

    coef: Float
    used: Indices
    intercept: Float
    fitted: Float


class RobustRidge:
    """W and b that minimise Σᵢ ‖gᵢ − b − pᵢW‖²/eᵢ + γ Σⱼ ‖wⱼ‖²/hⱼ, for G, e and h that change from call to call.

    Columns are left out that together change the solution by less than its error may be, as in :class:`KernelSystem`.
    If D are those with Σ hⱼ‖pⱼ‖² ≤ δγ min eᵢ, then P_D H_D P_Dᵀ ≼ δγE.

    Parameters
    ----------
    P : Columns of shape (n, d)
        If they are centred, there is an intercept b; otherwise it is zero.
    penalty : float
        γ, positive.
    shared : SharedColumns
        Those of P.
    """

    def __init__(self, P: Columns, penalty: float, shared: SharedColumns) -> None:
        self.P, self.penalty, self._shared = P, penalty, shared

    def columns_in_use(self, h: Float, noise: Float) -> Indices:
        """Indices of all columns but those that are left out; at least one."""
        masses = h * self._shared.squared_norms
        used = heaviest(masses, solution_accuracy(self.P) * self.penalty * float(noise.min()))
        return used if len(used) else np.array([np.argmax(masses)])

    def fit(self, G: Float, h: Float, noise: Float, used: Indices) -> RobustFit:
        """Regress on the columns in use, of which there are at most n."""
        used, P = self._shared.containing(used, _WORTH_A_COPY)
        if not P.centered:
            coef = ReweightedRidge(P, h[used], self.penalty, noise=noise).coef(G)
            return RobustFit(coef, used, np.zeros(G.shape[1]), P @ coef)
        # Means with the weights of the bound take b out of the problem.
        means = np.average(G, axis=0, weights=1.0 / noise)
        coef = ReweightedRidge(P.less_means(1.0 / noise), h[used], self.penalty, noise=noise).coef(G - means)
        fitted = P @ coef
        return RobustFit(coef, used, np.average(G - fitted, axis=0, weights=1.0 / noise), fitted)
