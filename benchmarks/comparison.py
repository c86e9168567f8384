"""FSASL and its plain version on the same data: seconds of each step, and whether they solve the same problem."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from data import noisy_clusters
from numpy.typing import NDArray
from plain import PlainFSASL, PlainResult
from sklearn.exceptions import ConvergenceWarning
from steps import seconds_by_step

from ufselect import FSASL
from ufselect.columns.dense import Columns
from ufselect.graphs.self_expression import sparse_self_expression
from ufselect.solvers.l21 import l21_regression

Array = NDArray[Any]


@dataclass(frozen=True)
class TimedFit:
    """Seconds of a fit: the total and each step."""

    total: float
    steps: dict[str, float]


@dataclass(frozen=True)
class Comparison:
    """The times of both fits, their common features, and how well each solves the last subproblems."""

    ours: TimedFit
    plain: TimedFit
    common_features: int
    unconverged: int
    checks: list[tuple[str, float, float]]

    @property
    def ratio(self) -> float:
        """The time of the plain version divided by ours."""
        return self.plain.total / self.ours.total


def warm_up() -> None:
    """Compile or load all functions that a fit calls."""
    X = noisy_clusters(1200, 60, 4)  # large enough for the iterative eigensolver
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for part in (X, X[:40]):
            FSASL(5, n_clusters=4, max_iter=2, tol=0.0).fit(part)


def timed_fit(selector: FSASL, X: Array) -> TimedFit:
    with warnings.catch_warnings(), seconds_by_step() as steps:
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = perf_counter()
        selector.fit(X)
        return TimedFit(perf_counter() - start, dict(steps))


def compare(X: Array, n_clusters: int, max_iter: int, repeats: int = 3) -> Comparison:
    """Fit both for ``max_iter`` iterations; of several fits of ours, return the one with the median time."""
    selector = FSASL(50, n_clusters=n_clusters, n_neighbors=5, max_iter=max_iter, tol=0.0)
    warm_up()
    ours = sorted((timed_fit(selector, X) for _ in range(repeats)), key=lambda fit: fit.total)[repeats // 2]
    plain = PlainFSASL(
        selector.get_params(),
        lasso_gap=_default_tol(sparse_self_expression),
        regression_tol=_default_tol(l21_regression),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        start = perf_counter()
        result = plain.fit(X)
        total = perf_counter() - start
    return Comparison(
        ours,
        TimedFit(total, result.seconds),
        len(np.intersect1d(selector.top_features(50), result.ranking[:50])),
        sum(issubclass(warning.category, ConvergenceWarning) for warning in caught),
        _checks(result),
    )


def _default_tol(solver: Any) -> float:
    return float(inspect.signature(solver).parameters["tol"].default)


def _checks(plain: PlainResult) -> list[tuple[str, float, float]]:
    """Objectives and precision on the last subproblems of the plain version: (description, plain, ours)."""
    Z, alphas, X, Y, gamma = plain.expressed, plain.penalties, plain.X, plain.Y, plain.row_penalty
    S = sparse_self_expression(Z, 0.5, penalties=alphas).S
    W = l21_regression(Columns(np.ascontiguousarray(X)), Y, gamma).coef
    (plain_S, plain_gaps), (our_S, our_gaps) = (_lasso_objectives(Z, part, alphas) for part in (plain.S, S))
    return [
        ("S: Σ‖zᵢ − Zᵀsᵢ‖² + αᵢ‖sᵢ‖₁", plain_S.sum(), our_S.sum()),
        ("S: worst relative duality gap", (plain_gaps / plain_S).max(), (our_gaps / our_S).max()),
        ("W: ‖Y − XW‖² + γ‖W‖₂,₁", *(_regression_objective(X, Y, part, gamma) for part in (plain.W, W))),
        ("W: worst violation, share of γ/2", *(_worst_violation(X, Y, part, gamma) for part in (plain.W, W))),
    ]


def _lasso_objectives(Z: Array, S: sp.csc_array, alphas: Array) -> tuple[Array, Array]:
    """‖zᵢ − Zᵀsᵢ‖² + αᵢ‖sᵢ‖₁ and its duality gap for each sample."""
    residuals = Z - S.T @ Z
    squares = np.sum(residuals**2, axis=1)
    primal = squares + alphas * np.abs(S).sum(axis=0)
    correlations = np.abs(residuals @ Z.T)
    np.fill_diagonal(correlations, 0.0)
    # The dual point of half the problem is the feasible multiple of the residual with the largest dual value.
    along = np.sum(residuals * Z, axis=1)
    scale = np.minimum(along / squares, alphas / 2.0 / correlations.max(axis=1))
    return primal, primal - 2.0 * (scale * along - 0.5 * scale**2 * squares)


def _regression_objective(X: Array, Y: Array, W: Array, gamma: float) -> float:
    return float(np.sum((Y - X @ W) ** 2) + gamma * np.linalg.norm(W, axis=1).sum())


def _worst_violation(X: Array, Y: Array, W: Array, gamma: float) -> float:
    slope = X.T @ (Y - X @ W)
    length = np.linalg.norm(W, axis=1, keepdims=True)
    used = length.ravel() > 0.0
    unit = W[used] / length[used]
    off_used = np.linalg.norm(slope[used] - gamma / 2.0 * unit, axis=1).max(initial=0.0)
    off_unused = (np.linalg.norm(slope[~used], axis=1) - gamma / 2.0).max(initial=0.0)
    return float(max(off_used, off_unused) / (gamma / 2.0))
