"""Reweighted problems, which majorise a row-sparse penalty, and the systems that they lead to.

‖wⱼ‖ ≤ ‖wⱼ‖²/(2‖vⱼ‖) + ‖vⱼ‖/2 turns γ‖W‖₂,₁ into γ Σⱼ ‖wⱼ‖²/hⱼ with hⱼ = 2‖vⱼ‖. Everything below uses h
instead of 1/h, so that a zero row stays zero without special treatment.

- Ridge regression with a weight for every feature.
- Projections that are smooth on a graph, FSASL's W without regression: minimise tr(WᵀXᵀLXW) + γ‖W‖₂,₁ subject to
  WᵀXᵀXW = I. The majoriser is minimised by the c smallest λ of (XᵀLX + γD)w = λXᵀXw, D = diag(1/hⱼ).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from ufselect._utils.memory import ensure_fits
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns, column_blocks

_ROUNDINGS = 10.0
_ACCURACY = float(np.sqrt(np.finfo(np.float64).eps))  # such an error of a minimiser changes the minimum by rounding
_WORTH_A_COPY = 0.7  # share of the columns up to which a copy of fewer ones saves time
_RANK_TOLERANCE = 1e-12

Argument = TypeVar("Argument")
Value = TypeVar("Value")


def inverse_weights(W: Float) -> Float:
    """hⱼ = 2‖wⱼ‖."""
    return 2.0 * np.linalg.norm(W, axis=1)


def row_norm_sum(W: Float) -> float:
    """‖W‖₂,₁."""
    return float(np.linalg.norm(W, axis=1).sum())


def even_row_norms(X: Columns, count: int) -> Float:
    """Return equal initial row norms such that tr(WᵀXᵀXW) = c for uncorrelated columns."""
    return np.full(X.shape[1], np.sqrt(count / X.squared_norms().sum()))


class ReweightedRidge:
    """W(F) = argmin_W ‖F − XW‖² + γ Σⱼ ‖wⱼ‖²/hⱼ for any F, h ≥ 0, by one factorisation of order min(n, d).

    ``gram`` is XᵀX, if d ≤ n and it is available; ``shared`` is what regressions on the same X have in common, if n <
    d.
    """

    def __init__(
        self,
        X: Columns,
        inverse_weights: Float,
        penalty: float,
        *,
        gram: Float | None = None,
        shared: SharedColumns | None = None,
    ) -> None:
        self.X, self.h, self.penalty = X, inverse_weights, penalty
        n, d = X.shape
        self.by_samples = n < d
        n_bytes = 16 * min(n, d) ** 2
        ensure_fits(n_bytes, f"A regression of {n} samples on {d} features", "reduce the smaller number of the two")
        if self.by_samples:
            # W = HXᵀ(XHXᵀ + γI)⁻¹F
            self.system = KernelSystem(X, inverse_weights, np.full(n, penalty), shared=shared)
        else:
            # W = S(SXᵀXS + γI)⁻¹SXᵀF, S = H^(1/2)
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
        return self._coef_of_dual(dual), F - self.penalty * dual

    def coef(self, F: Float) -> Float:
        """W(F)."""
        return self._coef_of_dual(self.system.solve(F)) if self.by_samples else self.solve(self.X.transposed_matmul(F))

    def solve(self, V: Float) -> Float:
        """(XᵀX + γH⁻¹)⁻¹V, for d ≤ n."""
        root = np.sqrt(self.h)[:, None]
        return root * cho_solve(self.factor, root * V, check_finite=False)

    def residual(self, F: Float) -> Float:
        """F − XW(F), which for n < d is γ(XHXᵀ + γI)⁻¹F."""
        return self.penalty * self.system.solve(F) if self.by_samples else F - self.X @ self.coef(F)

    def _coef_of_dual(self, dual: Float) -> Float:
        return self.h[:, None] * self.X.transposed_matmul(dual)


class KernelSystem:
    """Y(F) = (XHXᵀ + Γ)⁻¹F for any F, with diagonal H ≥ 0 and Γ > 0.

    Row-sparse methods solve such systems again and again with an H that concentrates on few columns. Solutions have a
    relative error of about δ = 1.5e-8 (1e-6 in single precision). They minimise a function, which such an error changes
    by δ², less than rounding. Columns that together change the solution by less are left out: if D are those with
    Σ hⱼ‖xⱼ‖² ≤ δ min γᵢ, then X_D H_D X_Dᵀ ≼ δ min γᵢ I ≼ δ(XHXᵀ + Γ).

    ``weights`` and ``shift`` are the diagonals of H and Γ, ``shared`` is what systems with the same X have in common,
    and ``intercept`` says whether :meth:`solve_with_intercept` will be called.
    """

    def __init__(
        self,
        X: Columns,
        weights: Float,
        shift: Float,
        *,
        shared: SharedColumns | None = None,
        intercept: bool = False,
    ) -> None:
        shared = SharedColumns(X) if shared is None else shared
        masses = weights * shared.squared_norms
        # The weight of a column of ones, whose eigenvalue is the mean of the others.
        constant = float(masses.sum() + shift.sum()) / len(shift) ** 2 if intercept else 0.0
        used = heaviest(masses, solution_accuracy(X) * shift.min())
        if 2 * len(used) <= X.shape[1]:  # a copy of more columns would cost more than it saves
            used, X = shared.containing(used)
            weights = weights[used]
        # A product of a matrix with its own transpose takes half the time of any other.
        system = X.scaled(np.sqrt(weights)).row_gram()
        system += constant
        diagonal = np.diag_indices(len(system))
        system[diagonal] += shift
        system[diagonal] += np.finfo(X.dtype).eps * system.diagonal().max()
        with threads_for(len(system) ** 3 / 3.0):
            self._factor: Any = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, F: Float) -> Float:
        """Y(F)."""
        return np.asarray(cho_solve(self._factor, F, check_finite=False))

    def solve_with_intercept(self, F: Float) -> tuple[Float, Float]:
        """Y and b with (XHXᵀ + Γ)Y = F − 1bᵀ and 1ᵀY = 0.

        As Y sums to zero, a multiple of 11ᵀ may be added to the system. Without it, the system would be nearly
        singular if X is centred and Γ is small.
        """
        solved = self.solve(np.column_stack([F, np.ones(len(F))]))
        for_target, for_ones = solved[:, :-1], solved[:, -1]
        b = for_target.sum(axis=0) / for_ones.sum()
        return for_target - np.outer(for_ones, b), b


class SharedColumns:
    """What systems with the same X and different weights have in common, to be computed once."""

    def __init__(self, X: Columns) -> None:
        self.X = X
        self._index: Indices = np.arange(X.shape[1])
        self._part = X

    @cached_property
    def squared_norms(self) -> Float:
        """‖xⱼ‖² of every column."""
        return self.X.squared_norms()

    def containing(self, used: Indices, share: float = _WORTH_A_COPY) -> tuple[Indices, Columns]:
        """Return some columns and their indices; those given are among them, and more than a share of them."""
        if len(used) <= share * len(self._index) or not np.isin(used, self._index, assume_unique=True).all():
            self._index, self._part = used, self.X.subset(used)
        return self._index, self._part


def solution_accuracy(X: Columns) -> float:
    """The relative error that solutions may have."""
    return max(_ACCURACY, _ROUNDINGS * float(np.finfo(X.dtype).eps))


def heaviest(masses: Float, negligible: float) -> Indices:
    """Indices of all columns but the lightest, which together weigh no more than is negligible."""
    order = np.argsort(masses, kind="stable")
    n_left_out = int(np.searchsorted(np.cumsum(masses[order]), negligible, side="right"))
    return np.sort(order[n_left_out:])


class Remembered(Generic[Argument, Value]):
    """A function of one argument that is not computed again for the same object."""

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


def smoother_projection(
    X: Columns, L: Any, row_norms: Float, penalty: float, count: int, *, gram: Float | None = None
) -> Float:
    """Take one majorisation step for W, which never raises tr(WᵀXᵀLXW) + γ‖W‖₂,₁.

    ``row_norms`` are the ‖vⱼ‖ of the current W, and ``gram`` is XᵀX, if n ≥ d and it is available. The W returned has
    (XW)ᵀXW = I, and ``count`` columns or as many as the rank of X.
    """
    if X.shape[0] < X.shape[1]:
        return _by_samples(X, L, 2.0 * row_norms, penalty, count)
    return _by_features(X, L, 2.0 * row_norms, penalty, count, gram)


def _by_features(X: Columns, L: Any, inverse_weights: Float, penalty: float, count: int, gram: Float | None) -> Float:
    """For n ≥ d: with w = D^(-1/2)v and X̃ = XD^(-1/2), solve X̃ᵀX̃v = θ(X̃ᵀLX̃ + γI)v for the largest θ = 1/λ.

    The matrix on the right is positive definite, so XᵀX may be singular.
    """
    used = np.flatnonzero(inverse_weights)
    root = np.sqrt(inverse_weights[used])
    gram = X.gram(used) if gram is None else gram[np.ix_(used, used)]
    smoothness = column_smoothness(X, L)[np.ix_(used, used)]
    v, theta = _largest_pairs(root[:, None] * gram * root, root[:, None] * smoothness * root, penalty, count)
    W = np.zeros((X.shape[1], len(theta)))
    W[used] = root[:, None] * v / np.sqrt(theta)
    return W


def column_smoothness(X: Columns, L: Any) -> Float:
    """Return XᵀLX as a dense (d, d) array, in blocks of columns so that a sparse X is never dense as a whole."""
    product = np.hstack([X.transposed_matmul(L @ columns) for _, columns in column_blocks(X)])
    return (product + product.T) / 2.0


def _by_samples(X: Columns, L: Any, inverse_weights: Float, penalty: float, count: int) -> Float:
    """For d > n: with XD⁻¹Xᵀ = QΛQᵀ, Σ = Λ^½ and w = D⁻¹XᵀQΣ⁻¹u, solve Λu = θ(ΣQᵀLQΣ + γI)u for the largest θ."""
    squares, Q = np.linalg.eigh(X.row_gram(inverse_weights))
    kept = squares > _RANK_TOLERANCE * squares[-1]
    squares, Q = squares[kept], Q[:, kept]
    sigma = np.sqrt(squares)
    smoothness = Q.T @ (L @ Q)
    smoothness = (smoothness + smoothness.T) / 2.0
    u, theta = _largest_pairs(np.diag(squares), sigma[:, None] * smoothness * sigma, penalty, count)
    return inverse_weights[:, None] * X.transposed_matmul(Q @ (u / sigma[:, None])) / np.sqrt(theta)


def _largest_pairs(left: Float, smoothness: Float, penalty: float, count: int) -> tuple[Float, Float]:
    """Return the vectors of the largest positive θ in left·v = θ(smoothness + γI)v, and θ, in descending order."""
    size = len(left)
    # A γ that is smaller than the rounding errors of the first term would not make the matrix positive definite.
    rounding = size * float(np.finfo(np.float64).eps * np.diagonal(smoothness).max(initial=0.0))
    right = smoothness + max(penalty, rounding) * np.eye(size)
    theta, v = eigh(left, right, subset_by_index=[max(size - count, 0), size - 1])
    positive = theta > _RANK_TOLERANCE * theta[-1]
    return v[:, positive][:, ::-1], theta[positive][::-1]
