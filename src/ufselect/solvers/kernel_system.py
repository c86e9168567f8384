"""Systems with a weighted kernel of the samples, (XHXᵀ + Γ)Y = F with diagonal H ≥ 0 and Γ > 0.

Row-sparse methods solve them again and again with an H that concentrates on few columns. XHXᵀ, which takes n²d
operations, is then not worth forming: a few strong columns are treated exactly, by a system of their own number, and
conjugate gradients add the weak ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns

_MOST_STEPS = 15  # take no longer than forming the kernel
_ROUNDINGS = 10.0
_ACCURACY = float(np.sqrt(np.finfo(np.float64).eps))  # such an error of a minimiser changes the minimum by rounding
_WEAK = 0.3
_TOO_HEAVY = 50.0
_FEW = 0.7


class KernelSystem:
    """Y(F) = (XHXᵀ + Γ)⁻¹F for any F.

    Solutions have a relative error of about δ = 1.5e-8 (1e-6 in single precision). They minimise a function, which such
    an error changes by δ², less than rounding. Columns that together change the solution by less are left out: if D are
    those with Σ hⱼ‖xⱼ‖² ≤ δ min γᵢ, then X_D H_D X_Dᵀ ≼ δ min γᵢ I ≼ δ(XHXᵀ + Γ).

    Parameters
    ----------
    X : Columns of shape (n, d)
    weights : ndarray of shape (d,)
        Diagonal of H, non-negative.
    shift : ndarray of shape (n,)
        Diagonal of Γ, positive.
    shared : SharedColumns, optional
        What systems with the same X have in common.
    intercept : bool, default=False
        Whether solutions have an intercept; see :meth:`solve_with_intercept`.
    many_targets : bool, default=False
        Whether solutions for so many F are wanted that forming XHXᵀ is worth it.
    """

    def __init__(
        self,
        X: Columns,
        weights: Float,
        shift: Float,
        *,
        shared: SharedColumns | None = None,
        intercept: bool = False,
        many_targets: bool = False,
    ) -> None:
        shared = SharedColumns(X) if shared is None else shared
        self._shift = shift
        masses = weights * shared.squared_norms
        used = heaviest(masses, solution_accuracy(X) * shift.min())
        # The weight of a column of ones, whose eigenvalue is the mean of the others.
        self._constant = float(masses.sum() + shift.sum()) / len(shift) ** 2 if intercept else 0.0
        if 2 * len(used) <= X.shape[1]:  # a copy of more columns would cost more than it saves
            used, X = shared.containing(used)
            weights, masses = weights[used], masses[used]
        self._X, self._weights = X, weights
        self._quick: _FewColumnsSystem | _SplitSystem | None = None
        # Otherwise, the inverse would be a difference of terms that are far larger than itself.
        if masses.sum() + self._constant * len(shift) <= shift.min() / np.sqrt(np.finfo(X.dtype).eps):
            if X.shape[1] <= _FEW * X.shape[0] and not intercept and np.ptp(shift) == 0.0:
                self._quick = _FewColumnsSystem(X, shared.gram, weights, float(shift[0]))
            elif not many_targets:
                self._quick = self._split_by_strength(masses)

    def solve(self, F: Float) -> Float:
        """Y(F)."""
        if self._quick is not None:
            solution = self._quick.solve(F)
            if solution is not None:
                return solution
            self._quick = None
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

    @cached_property
    def _factor(self) -> Any:
        # A product of a matrix with its own transpose takes half the time of any other.
        system = self._X.scaled(np.sqrt(self._weights)).row_gram()
        system += self._constant
        diagonal = np.diag_indices(len(system))
        system[diagonal] += self._shift
        system[diagonal] += np.finfo(self._X.dtype).eps * system.diagonal().max()
        with threads_for(len(system) ** 3 / 3.0):
            return cho_factor(system, lower=True, overwrite_a=True, check_finite=False)

    def _split_by_strength(self, masses: Float) -> _SplitSystem | None:
        """The system with its strong columns apart, or None if conjugate gradients could be slow."""
        smallest = float(self._shift.min())
        strong = heaviest(masses, _WEAK * smallest, self._X.shape[0] // 2)
        # ‖X_w H_w X_wᵀ‖ ≤ Σ hⱼ‖xⱼ‖² over the weak columns, and far less if they are not all alike.
        if masses.sum() - masses[strong].sum() > _TOO_HEAVY * smallest:
            return None
        return _SplitSystem(self._X, self._weights, self._shift, self._constant, strong)


class SharedColumns:
    """What systems with the same X and different weights have in common, to be computed once.

    Parameters
    ----------
    X : Columns of shape (n, d)
    """

    def __init__(self, X: Columns) -> None:
        self.X = X
        self._index: Indices = np.arange(X.shape[1])
        self._part = X
        self._gram: Float | None = None

    @cached_property
    def squared_norms(self) -> Float:
        """‖xⱼ‖² of every column."""
        return self.X.squared_norms()

    def containing(self, used: Indices, share: float = _FEW) -> tuple[Indices, Columns]:
        """Indices of some columns, those given among them, and these columns; more than a share of them are given."""
        if len(used) <= share * len(self._index) or not np.isin(used, self._index, assume_unique=True).all():
            self._index, self._part, self._gram = used, self.X.subset(used), None
        return self._index, self._part

    @property
    def gram(self) -> Float:
        """XᵀX of the columns that :meth:`containing` last returned."""
        if self._gram is None:
            self._gram = self._part.gram()
        return self._gram


class _FewColumnsSystem:
    """(XHXᵀ + γI)⁻¹ = (I − XH^(1/2)(H^(1/2)XᵀXH^(1/2) + γI)⁻¹H^(1/2)Xᵀ)/γ, for fewer columns than samples."""

    def __init__(self, X: Columns, gram: Float, weights: Float, shift: float) -> None:
        self.X, self.shift = X, shift
        self.root = np.sqrt(weights)[:, None]
        small = self.root * gram * self.root.T
        small[np.diag_indices(len(small))] += shift
        with threads_for(len(small) ** 3 / 3.0):
            self.factor = cho_factor(small, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, F: Float) -> Float:
        inner = cho_solve(self.factor, self.root * self.X.transposed_matmul(F), check_finite=False)
        return np.asarray((F - self.X @ (self.root * inner)) / self.shift)


class _SplitSystem:
    """Conjugate gradients for XHXᵀ + Γ, preconditioned by its part of the strong columns.

    With Z = Γ^(-1/2)X_s H_s^(1/2), the preconditioner Γ^(1/2)(ZZᵀ + I)Γ^(1/2) has the inverse
    Γ^(-1/2)(I − Z(ZᵀZ + I)⁻¹Zᵀ)Γ^(-1/2).
    """

    def __init__(self, X: Columns, weights: Float, shift: Float, constant: float, strong: Indices) -> None:
        self.X, self.weights, self.shift, self.constant = X, weights, shift, constant
        self.root = np.sqrt(shift)[:, None]
        self.Z = np.column_stack([X.columns(strong) * np.sqrt(weights[strong]), np.full(len(shift), np.sqrt(constant))])
        self.Z /= self.root
        with threads_for(float(self.Z.size) * self.Z.shape[1]):
            small = self.Z.T @ self.Z
        small[np.diag_indices(len(small))] += 1.0
        with threads_for(len(small) ** 3 / 3.0):
            self.factor = cho_factor(small, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, F: Float) -> Float | None:
        """Y, or None if conjugate gradients do not get there."""
        return conjugate_gradients(self._apply, self._precondition, F, solution_accuracy(self.X), _MOST_STEPS)

    def _apply(self, V: Float) -> Float:
        image = self.X @ (self.weights[:, None] * self.X.transposed_matmul(V)) + self.shift[:, None] * V
        return image + self.constant * V.sum(axis=0)

    def _precondition(self, V: Float) -> Float:
        V = V / self.root
        inner = cho_solve(self.factor, self.Z.T @ V, check_finite=False)
        return np.asarray((V - self.Z @ inner) / self.root)


def conjugate_gradients(
    apply: Callable[[Float], Float], precondition: Callable[[Float], Float], F: Float, tol: float, max_iter: int
) -> Float | None:
    """Solve AY = F for all columns of F at once; None if that takes more than ``max_iter`` steps.

    It stops when rᵀP⁻¹r ≤ tol² fᵀP⁻¹f for the residual r of every column f. For P ≼ A ≼ κP, the error relative to
    the solution, both in the norm of A, is then at most √κ tol.

    Parameters
    ----------
    apply : callable
        V ↦ AV, A symmetric and positive definite.
    precondition : callable
        V ↦ P⁻¹V.
    F : ndarray of shape (n, c)
    tol : float
    max_iter : int

    Returns
    -------
    ndarray of shape (n, c) or None
    """
    Y, R = np.zeros_like(F), F.copy()
    Z = precondition(R)
    direction = Z
    lengths = np.einsum("ij,ij->j", R, Z)
    enough = tol**2 * lengths
    for _ in range(max_iter):
        moving = lengths > enough
        if not moving.any():
            return Y
        image = apply(direction)
        curvature = np.einsum("ij,ij->j", direction, image)
        step = np.where(moving, lengths / np.where(moving, curvature, 1.0), 0.0)
        Y, R = Y + step * direction, R - step * image
        Z = precondition(R)
        before, lengths = lengths, np.where(moving, np.einsum("ij,ij->j", R, Z), lengths)
        direction = Z + np.where(moving, lengths / np.where(moving, before, 1.0), 0.0) * direction
    return None


def solution_accuracy(X: Columns) -> float:
    """The relative error that solutions may have."""
    return max(_ACCURACY, _ROUNDINGS * float(np.finfo(X.dtype).eps))


def heaviest(masses: Float, negligible: float, most: int | None = None) -> Indices:
    """Indices of at most ``most`` columns: all but the lightest, which together weigh no more than is negligible."""
    order = np.argsort(masses, kind="stable")
    n_left_out = int(np.searchsorted(np.cumsum(masses[order]), negligible, side="right"))
    if most is not None:
        n_left_out = max(n_left_out, len(masses) - most)
    return np.sort(order[n_left_out:])
