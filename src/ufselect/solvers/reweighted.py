"""Ridge regression with a weight for every feature, the step that majorises a row-sparse penalty.

‖wⱼ‖ ≤ ‖wⱼ‖²/(2‖vⱼ‖) + ‖vⱼ‖/2 turns γ‖W‖₂,₁ into γ Σⱼ ‖wⱼ‖²/hⱼ with hⱼ = 2‖vⱼ‖. Everything below uses h
instead of 1/h, so that a zero row stays zero without special treatment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ufselect._utils.memory import ensure_fits
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float
from ufselect.columns.dense import Columns
from ufselect.solvers.kernel_system import KernelSystem, SharedColumns

Argument = TypeVar("Argument")
Value = TypeVar("Value")


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
    shared : SharedColumns, optional
        What regressions on the same X have in common, if n < d.
    many_targets : bool, default=False
        Whether W(F) is wanted for many F, as in an eigensolver.
    """

    def __init__(
        self,
        X: Columns,
        inverse_weights: Float,
        penalty: float,
        *,
        gram: Float | None = None,
        noise: Float | None = None,
        shared: SharedColumns | None = None,
        many_targets: bool = False,
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
            shift = penalty * (np.ones(n) if noise is None else noise)
            self.system = KernelSystem(X, inverse_weights, shift, shared=shared, many_targets=many_targets)
        else:
            # W = S(SXᵀE⁻¹XS + γI)⁻¹SXᵀE⁻¹F, S = H^(1/2)
            if noise is not None:
                gram = X.gram(weights=1.0 / noise)
            root = np.sqrt(inverse_weights)
            system = root[:, None] * (X.gram() if gram is None else gram)
            system *= root
            system[np.diag_indices(d)] += penalty
            system[np.diag_indices(d)] += np.finfo(X.dtype).eps * system.diagonal().max()
            with threads_for(d**3 / 3.0):
                self.factor: Any = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)

    def fit(self, F: Float) -> tuple[Float, Float]:
        """W(F) and XW(F)."""
        if not self.by_samples:
            W = self.coef(F)
            return W, self.X @ W
        dual = self.system.solve(F)
        return self._coef_of_dual(dual), F - self._residual_of_dual(dual)

    def coef(self, F: Float) -> Float:
        """W(F)."""
        if self.by_samples:
            return self._coef_of_dual(self.system.solve(F))
        root = np.sqrt(self.h)[:, None]
        target = self.X.transposed_matmul(F if self.noise is None else F / self.noise[:, None])
        return root * cho_solve(self.factor, root * target, check_finite=False)

    def solve(self, V: Float) -> Float:
        """(XᵀE⁻¹X + γH⁻¹)⁻¹V, which for n < d is (HV − HXᵀ(XHXᵀ + γE)⁻¹XHV)/γ."""
        if self.by_samples:
            weighted = self.h[:, None] * V
            return (weighted - self._coef_of_dual(self.system.solve(self.X @ weighted))) / self.penalty
        root = np.sqrt(self.h)[:, None]
        return root * cho_solve(self.factor, root * V, check_finite=False)

    def residual(self, F: Float) -> Float:
        """F − XW(F), which for n < d is γE(XHXᵀ + γE)⁻¹F."""
        if not self.by_samples:
            return F - self.X @ self.coef(F)
        return self._residual_of_dual(self.system.solve(F))

    def _coef_of_dual(self, dual: Float) -> Float:
        return self.h[:, None] * self.X.transposed_matmul(dual)

    def _residual_of_dual(self, dual: Float) -> Float:
        return self.penalty * (dual if self.noise is None else self.noise[:, None] * dual)


class Remembered(Generic[Argument, Value]):
    """A function of one argument that is not computed again for the same object.

    Parameters
    ----------
    function : callable
    """

    def __init__(self, function: Callable[[Argument], Value]) -> None:
        self._function = function
        self._last: tuple[Argument, Value] | None = None

    def __call__(self, argument: Argument) -> Value:
        """The value of the function."""
        if self._last is None or self._last[0] is not argument:
            self.remember(argument, self._function(argument))
        assert self._last is not None
        return self._last[1]

    def remember(self, argument: Argument, value: Value) -> None:
        """Note a value that is known otherwise."""
        self._last = argument, value


def inverse_weights(W: Float) -> Float:
    """hⱼ = 2‖wⱼ‖."""
    return 2.0 * np.linalg.norm(W, axis=1)


def row_norm_sum(W: Float) -> float:
    """‖W‖₂,₁."""
    return float(np.linalg.norm(W, axis=1).sum())
