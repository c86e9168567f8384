"""Ridge regression with weights for features and for samples, solved again and again while few features stay in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from ufselect._utils.memory import ensure_fits
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns
from ufselect.solvers.reweighted import SharedColumns, heaviest, solution_accuracy

_WORTH_A_COPY = 0.9  # the system takes the square of the number of columns, a copy of them is linear
_LEFT = 0.01  # of the distance to the minimiser, 1e-4 of the decrease
_FEWEST_COLUMNS = 100  # whose factor takes longer than a few calls of functions
_FEWEST_STEPS = 6  # as long as which a factor must take to be kept
_TOO_STRONG = 1e12  # a column for a factor in single precision


class RobustFit(NamedTuple):
    """W of the columns in use, their indices, b, and PW."""

    coef: Float
    used: Indices
    intercept: Float
    fitted: Float


class Known(NamedTuple):
    """W of all columns, which may be near to the solution, and PW."""

    W: Float
    fitted: Float


class RobustRidge:
    """W and b that minimise Σᵢ ‖gᵢ − b − pᵢW‖²/eᵢ + γ Σⱼ ‖wⱼ‖²/hⱼ, for G, e and h that change from call to call.

    Columns are left out that together change the solution by less than its error may be, as in :class:`KernelSystem`.
    If D are those with Σ hⱼ‖pⱼ‖² ≤ δγ min eᵢ, then P_D H_D P_Dᵀ ≼ δγE.

    If a W is known, conjugate gradients go from there to the solution, but for 1 % of the way. They are preconditioned
    by the factor of an earlier system as long as that takes less time than another factor. If P is not centred, b = 0.
    """

    def __init__(self, P: Columns, penalty: float, shared: SharedColumns) -> None:
        self.P, self.penalty, self._shared = P, penalty, shared
        self._kept: _KeptFactor | None = None

    def columns_in_use(self, h: Float, noise: Float) -> Indices:
        """Indices of all columns but those that are left out; at least one."""
        masses = h * self._shared.squared_norms
        used = heaviest(masses, solution_accuracy(self.P) * self.penalty * float(noise.min()))
        return used if len(used) else np.array([np.argmax(masses)])

    def fit(self, G: Float, h: Float, noise: Float, used: Indices, known: Known | None = None) -> RobustFit:
        """Regress on the columns in use, exactly if no W is known."""
        used, P = self._shared.containing(used, _WORTH_A_COPY)
        system = _System(P, h[used], self.penalty * noise)
        V = None
        if known is not None and self._kept is not None and self._kept.serves(P):
            V = self._kept.solution_near(system, G, known.W[used], known.fitted)
        if V is None:
            self._kept = _KeptFactor(system, G.shape[1])
            V = self._kept.solution(system.slopes(G))
            self._kept.shorten()
        coef = system.root * V
        fitted = P @ coef
        return RobustFit(coef, used, system.means(G - fitted), fitted)


class _System:
    """(I + SPᵀE⁻¹CPS)V = SPᵀE⁻¹CG for W = SV, S = H^(1/2); C subtracts means with weights 1/e if P is centred.

    E includes γ.
    """

    def __init__(self, P: Columns, h: Float, noise: Float) -> None:
        self.P, self.h = P, h
        self.root, self.weights = np.sqrt(h)[:, None], 1.0 / noise
        self.n_products = 0

    def means(self, G: Float) -> Float:
        """The intercept, if G is all that it has to explain."""
        return np.average(G, axis=0, weights=self.weights) if self.P.centered else np.zeros(G.shape[1])

    def slopes(self, G: Float) -> Float:
        """SPᵀE⁻¹CG."""
        return self.root * self.P.transposed_matmul(self.weights[:, None] * (G - self.means(G)))

    def apply(self, V: Float) -> Float:
        """(I + SPᵀE⁻¹CPS)V."""
        self.n_products += 1
        return V + self.slopes(self.P @ (self.root * V))

    def matrix(self) -> Float:
        """I + SPᵀE⁻¹CPS."""
        n, size = self.P.shape
        ensure_fits(16 * size**2, f"A regression of {n} samples on {size} features", "reduce the smaller number")
        P = self.P.less_means(self.weights) if self.P.centered else self.P
        matrix = self.root * P.gram(weights=self.weights)
        matrix *= self.root[:, 0]
        matrix[np.diag_indices(size)] += 1.0
        return matrix


class _KeptFactor:
    """The Cholesky factor of a system, for its own solution and as a preconditioner of those that follow."""

    def __init__(self, system: _System, n_targets: int) -> None:
        matrix = system.matrix()
        self.P, self.h, self.sum_of_weights = system.P, system.h, system.weights.sum()
        self.strengths = matrix.diagonal() - 1.0
        matrix[np.diag_indices(len(matrix))] += np.finfo(system.P.dtype).eps * matrix.diagonal().max()
        with threads_for(len(matrix) ** 3 / 3.0):
            self.factor, _ = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        n, size = system.P.shape
        # In steps of conjugate gradients: multiplications, of which those in single precision count half.
        self.price = (n * size + size**2 / 3.0) / (n_targets * (2.0 * n + size))
        self.spent, self.n_solutions = self.price, 1
        self.is_worth_keeping = (
            size >= _FEWEST_COLUMNS and self.price >= _FEWEST_STEPS and self.strengths.max() < _TOO_STRONG
        )

    def shorten(self) -> None:
        """Keep single precision, which is enough for a preconditioner."""
        if self.is_worth_keeping:
            self.factor, self.coarse = self.factor.astype(np.float32), _in_single_precision(self.P)

    def serves(self, P: Columns) -> bool:
        """Whether it is a good preconditioner for systems with these columns."""
        return self.is_worth_keeping and self.P is P

    def solution(self, F: Float) -> Float:
        """Solve the system of this factor."""
        right = F.astype(self.factor.dtype, copy=False)
        return np.asarray(cho_solve((self.factor, True), right, check_finite=False), dtype=np.float64)

    def solution_near(self, system: _System, G: Float, W: Float, fitted: Float) -> Float | None:
        """Solve another system, beginning at a W with known PW; None if that would take too many steps."""
        V = np.divide(W, system.root, out=np.zeros_like(W), where=system.root > 0.0)
        rest = system.slopes(G - fitted) - V
        unit = max(float(np.abs(rest).max()), np.finfo(np.float64).tiny)
        units = self._change_of_units(system)
        coarse = _System(self.coarse, system.h, 1.0 / system.weights)
        change = _conjugate_gradients(
            coarse.apply, lambda R: self.solution(R / units) / units, rest / unit, _LEFT, int(self.price / 2.0)
        )
        self._account(coarse.n_products + 1)
        return None if change is None else V + unit * change

    def _change_of_units(self, system: _System) -> Float:
        """Factors of the rows and columns with which the diagonal is about that of another system."""
        growth = np.divide(system.h, self.h, out=np.ones_like(self.h), where=self.h > 0.0)
        growth *= system.weights.sum() / self.sum_of_weights
        return np.sqrt((1.0 + growth * self.strengths) / (1.0 + self.strengths))[:, None]

    def _account(self, n_steps: int) -> None:
        """Another factor is due when a solution takes more steps than all have on average, this factor included."""
        self.spent, self.n_solutions = self.spent + n_steps, self.n_solutions + 1
        self.is_worth_keeping = n_steps <= self.spent / self.n_solutions


def _conjugate_gradients(
    apply: Callable[[Float], Float], precondition: Callable[[Float], Float], F: Float, tol: float, max_iter: int
) -> Float | None:
    """Solve AY = F for all columns of F at once; None if that takes more than ``max_iter`` steps.

    It stops when rᵀP⁻¹r ≤ tol² fᵀP⁻¹f for the residual r of every column f. For P ≼ A ≼ κP, the error relative to
    the solution, both in the norm of A, is then at most √κ tol.
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


def _in_single_precision(X: Columns) -> Columns:
    """Return the same columns in single precision; sparse ones stay, as centring them is a difference of products."""
    if sp.issparse(X.values) or X.dtype == np.float32:
        return X
    return Columns(X.values.astype(np.float32), centered=X.centered)
