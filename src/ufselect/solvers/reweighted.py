"""Ridge regression with a weight for every feature, the step that majorises a row-sparse penalty.

‖wⱼ‖ ≤ ‖wⱼ‖²/(2‖vⱼ‖) + ‖vⱼ‖/2 turns γ‖W‖₂,₁ into γ Σⱼ ‖wⱼ‖²/hⱼ with hⱼ = 2‖vⱼ‖. Everything below uses h
instead of 1/h, so that a zero row stays zero without special treatment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ufselect._backend.columns import Columns, Float
from ufselect._backend.memory import ensure_fits


class ReweightedRidge:
    """W(F) = argmin_W Σᵢ ‖fᵢ − xᵢᵀW‖²/eᵢ + γ Σⱼ ‖wⱼ‖²/hⱼ for any F, by one factorisation of order min(n, d).

    Parameters
    ----------
    X : Columns of shape (n, d)
    inverse_weights : ndarray of shape (d,)
        h, non-negative.
    penalty : float
        γ, positive.
    gram : ndarray of shape (d, d), optional
        XᵀX, if d ≤ n and it is available.
    noise : ndarray of shape (n,), optional
        e, positive; 1 by default.
    """

    def __init__(
        self,
        X: Columns,
        inverse_weights: Float,
        penalty: float,
        *,
        gram: Float | None = None,
        noise: Float | None = None,
    ) -> None:
        self.X, self.h, self.penalty, self.noise = X, inverse_weights, penalty, noise
        n, d = X.shape
        self.by_samples = n < d
        size = min(n, d)
        ensure_fits(
            16 * size**2, f"A regression of {n} samples on {d} features", "reduce the smaller number of the two"
        )
        if self.by_samples:
            # W = HXᵀ(XHXᵀ + γE)⁻¹F
            system = X.row_gram(inverse_weights)
            system[np.diag_indices(n)] += penalty * (1.0 if noise is None else noise)
        else:
            # W = S(SXᵀE⁻¹XS + γI)⁻¹SXᵀE⁻¹F, S = H^(1/2)
            if noise is not None:
                gram = X.gram(weights=1.0 / noise)
            root = np.sqrt(inverse_weights)
            system = root[:, None] * (X.gram() if gram is None else gram) * root
            system[np.diag_indices(d)] += penalty
        system[np.diag_indices(size)] += np.finfo(X.dtype).eps * system.diagonal().max()
        self.factor: Any = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)

    def coef(self, F: Float) -> Float:
        """W(F)."""
        if self.by_samples:
            return self.h[:, None] * self.X.transposed_matmul(cho_solve(self.factor, F, check_finite=False))
        root = np.sqrt(self.h)[:, None]
        target = self.X.transposed_matmul(F if self.noise is None else F / self.noise[:, None])
        return root * cho_solve(self.factor, root * target, check_finite=False)

    def solve(self, V: Float) -> Float:
        """(XᵀE⁻¹X + γH⁻¹)⁻¹V, which for n < d is (HV − HXᵀ(XHXᵀ + γE)⁻¹XHV)/γ."""
        if self.by_samples:
            weighted = self.h[:, None] * V
            inner = cho_solve(self.factor, self.X @ weighted, check_finite=False)
            return (weighted - self.h[:, None] * self.X.transposed_matmul(inner)) / self.penalty
        root = np.sqrt(self.h)[:, None]
        return root * cho_solve(self.factor, root * V, check_finite=False)

    def residual(self, F: Float) -> Float:
        """F − XW(F), which for n < d is γE(XHXᵀ + γE)⁻¹F."""
        if not self.by_samples:
            return F - self.X @ self.coef(F)
        rest = self.penalty * cho_solve(self.factor, F, check_finite=False)
        return rest if self.noise is None else self.noise[:, None] * rest


def inverse_weights(W: Float) -> Float:
    """hⱼ = 2‖wⱼ‖."""
    return 2.0 * np.linalg.norm(W, axis=1)


def row_norm_sum(W: Float) -> float:
    """‖W‖₂,₁."""
    return float(np.linalg.norm(W, axis=1).sum())
