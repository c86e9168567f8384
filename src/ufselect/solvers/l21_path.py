"""Row-sparse regression with a given number of rows instead of a penalty, and with an exact fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ufselect._utils.memory import ensure_fits
from ufselect._utils.types import Float
from ufselect.columns.dense import Columns
from ufselect.solvers.l21 import Solution, l21_regression
from ufselect.solvers.penalties import smallest_penalty_for_zero

_SMALLEST_SHARE = 1e-3
_SHRINKAGE = 0.9
_MOST_BISECTIONS = 30
_MOST_STEPS, _SMALLEST_DECREASE = 2000, 1e-8  # of an exact fit
_TIGHT = 1e-7
_RANK_TOLERANCE = 1e-12


class EntryPath(NamedTuple):
    """The penalties at which the rows enter, as shares of γ_max, and the solution at the end of the path."""

    entries: Float
    coef: Float
    share: float
    converged: bool


def l21_path(X: Columns, Y: Float, n_rows: int, *, gram: Float | None = None) -> EntryPath:
    """Follow the solutions of ‖Y − XW‖² + γ‖W‖₂,₁ from γ_max down until ``n_rows`` rows of W have been nonzero.

    γ decreases by a tenth at a time, with warm starts; the path ends at 0.001 γ_max if fewer rows enter. The entry of a
    row between two values of γ is interpolated by ‖xⱼᵀR‖ at the larger one, that is, by how close it is to entering; so
    is the entry, below the last γ, of a row that never enters. ``gram`` is XᵀX, if available.
    """
    largest = smallest_penalty_for_zero(X, Y)
    W = np.zeros((X.shape[1], Y.shape[1]))
    entries = np.zeros(X.shape[1])
    share, converged = 1.0, True
    while np.count_nonzero(entries) < n_rows and share > _SMALLEST_SHARE:
        nearness = _nearness(X, Y, W, share * largest)
        before, share = share, _SHRINKAGE * share
        found = l21_regression(X, Y, share * largest, gram=gram, warm_start=W)
        W, converged = found.coef, converged and found.converged
        new = _without_copies(X, W.any(axis=1) & (entries == 0.0), entries > 0.0)
        entries[new] = share + (before - share) * nearness[new]
    outside = entries == 0.0
    entries[outside] = share * _nearness(X, Y, W, share * largest)[outside]
    return EntryPath(entries, W, share, converged)


def _without_copies(X: Columns, new: npt.NDArray[np.bool_], entered: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the new rows whose columns are not multiples of an entered column or of an earlier new one."""
    if not new.any():
        return new
    index = np.concatenate([np.flatnonzero(entered), np.flatnonzero(new)])
    gram = X.gram(index)
    norms = np.sqrt(np.diag(gram))
    alike = np.abs(gram) >= (1.0 - 1e-10) * np.outer(norms, norms)
    copies = np.tril(alike, -1).any(axis=1)
    distinct = new.copy()
    distinct[index[copies]] = False
    return distinct


def _nearness(X: Columns, Y: Float, W: Float, penalty: float) -> Float:
    """‖xⱼᵀ(Y − XW)‖ as a share of γ/2, at which row j enters."""
    slope = np.linalg.norm(X.transposed_matmul(Y - X @ W), axis=1)
    return np.minimum(slope / (penalty / 2.0), 1.0)


def l21_regression_of_size(X: Columns, Y: Float, n_rows: int, *, gram: Float | None = None) -> Solution:
    """Solve the row-sparse regression with ``n_rows`` nonzero rows, up to a tenth more or less.

    The penalty is found by bisection on a logarithmic scale; if no penalty gives that number, the closest is used.
    """
    largest = smallest_penalty_for_zero(X, Y)
    low, high = np.log(_SMALLEST_SHARE), 0.0
    tol = max(_TIGHT, 100.0 * np.finfo(X.dtype).eps)
    best: Solution | None = None
    miss = np.inf
    for _ in range(_MOST_BISECTIONS):
        middle = (low + high) / 2.0
        start = None if best is None else best.coef
        # Solved tightly, because the number of zero rows decides where to continue.
        found = l21_regression(X, Y, np.exp(middle) * largest, gram=gram, warm_start=start, tol=tol)
        used = int(np.count_nonzero(found.coef.any(axis=1)))
        if best is None or abs(used - n_rows) < miss:
            best, miss = found, abs(used - n_rows)
        if miss <= n_rows / 10.0 or high - low < 1e-3:
            break
        low, high = (low, middle) if used < n_rows else (middle, high)
    assert best is not None
    return best


def l21_interpolation(X: Columns, Y: Float) -> Solution:
    """Minimise ‖A‖₂,₁ subject to XA = Y, for fewer samples than features; a ValueError says if there is no such A.

    Each step minimises the majoriser Σⱼ ‖aⱼ‖²/(2gⱼ), gⱼ the last ‖aⱼ‖: A = G Xᵀ(X G Xᵀ)⁺Y.
    It never raises ‖A‖₂,₁ and keeps XA = Y.
    """
    n = X.shape[0]
    ensure_fits(24 * n**2, f"An exact fit of {n} samples", "use exact=False")
    A = _interpolated(X, Y, np.ones(X.shape[1]))
    misfit = float(np.linalg.norm(X @ A - Y) / np.linalg.norm(Y))
    if misfit > 1e-6:
        raise ValueError(f"no combination of the features equals the embedding: the relative error is {misfit:.1%}.")
    for _ in range(_MOST_STEPS):
        norms = np.linalg.norm(A, axis=1)
        A = _interpolated(X, Y, norms)
        length = float(np.linalg.norm(A, axis=1).sum())
        if float(norms.sum()) - length <= _SMALLEST_DECREASE * length:
            return Solution(A, True)
    return Solution(A, False)


def _interpolated(X: Columns, Y: Float, norms: Float) -> Float:
    values, vectors = np.linalg.eigh(X.row_gram(norms))
    kept = values > _RANK_TOLERANCE * values[-1]
    vectors, values = vectors[:, kept], values[kept]
    return norms[:, None] * X.transposed_matmul(vectors @ ((vectors.T @ Y) / values[:, None]))
