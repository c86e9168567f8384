"""ufselect against library calls: FSASL as a good user would write it in an afternoon, and scikit-learn's k-means.

``PlainFSASL`` solves the same problems as ``FSASL(spread="row")``: raw columns, W by regression, S and P, one μ for
each row (which gives P a closed form), penalties recalibrated in every iteration, features ranked by ‖wⱼ‖. Whenever a
library offers a choice (subset of eigenvectors, warm starts, memory order), the faster option is used.
"""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import DATA_VARIABLE, noisy_clusters, number, public_set, say, table
from numpy.typing import NDArray
from scipy.linalg import eigh, orthogonal_procrustes
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, MultiTaskLasso
from sklearn.neighbors import NearestNeighbors

from ufselect import FSASL
from ufselect.columns.dense import Columns
from ufselect.graphs.self_expression import sparse_self_expression
from ufselect.metrics import MAX_ITER, kmeans_starts
from ufselect.selectors import fsasl
from ufselect.solvers.kmeans import kmeans_labels
from ufselect.solvers.l21 import l21_regression

Array = NDArray[Any]

LEAST_RATIO = 20
LEAST_KMEANS_RATIO = 5
FUNCTIONS_OF_STEP = {
    "S": ("sparse_self_expression",),
    "P": ("adaptive_neighbors",),
    "eigen": ("smallest_of_structure",),
    "W": ("l21_regression",),
    "ranking": ("rank_by_row_norm",),
}
STEPS = list(FUNCTIONS_OF_STEP)
_MOST_SWEEPS = 10_000
_REPEATS = 15


def compare_with_plain(iterations: dict[str, int]) -> str | None:
    """FSASL and its plain version on the public data sets, or on a small synthetic one without names."""
    rows, checks = [], []
    for name, X, n_clusters, max_iter in _sets_to_compare(iterations):
        say(f"{name}: {X.shape[0]} × {X.shape[1]}, c = {n_clusters}, {max_iter} iterations, both versions")
        comparison = compare(X, n_clusters, max_iter)
        rows += _rows_of_comparison(
            f"{name} ({X.shape[0]} × {X.shape[1]}, c = {n_clusters}, {max_iter} iterations)", comparison
        )
        checks += _rows_of_checks(name, comparison)
    if not rows:
        return None
    return "\n\n".join(
        [
            table(["seconds", "version", *STEPS, "other", "total", "plain / ufselect"], rows),
            f"Required: at least {LEAST_RATIO} times faster. Both versions solve the same problem:",
            table(["check", "plain", "ufselect"], checks),
        ]
    )


def _sets_to_compare(iterations: dict[str, int]) -> Iterator[tuple[str, Array, int, int]]:
    for name, max_iter in iterations.items():
        found = public_set(name)
        if found is None:
            print(f"{name} skipped: {DATA_VARIABLE} names no folder with {name}.npz.\n")
        else:
            yield name, found.X, found.n_classes, max_iter
    if not iterations:
        yield "synthetic", noisy_clusters(300, 200, 5), 5, 2


def _rows_of_comparison(label: str, comparison: Comparison) -> list[list[str]]:
    def cells(fit: TimedFit) -> list[str]:
        steps = [fit.steps.get(step, 0.0) for step in STEPS]
        return [number(seconds) for seconds in (*steps, max(fit.total - sum(steps), 0.0), fit.total)]

    ratios = [comparison.plain.steps[s] / comparison.ours.steps[s] for s in STEPS]
    return [
        [label, "plain", *cells(comparison.plain), ""],
        ["", "ufselect", *cells(comparison.ours), f"**{number(comparison.ratio)}**"],
        ["", "ratio", *(number(ratio) for ratio in ratios), "", number(comparison.ratio), ""],
    ]


def _rows_of_checks(name: str, comparison: Comparison) -> list[list[str]]:
    return [
        [f"{name}: common features among the best 50", comparison.common_features, comparison.common_features],
        [f"{name}: scikit-learn fits that did not converge", comparison.unconverged, ""],
        *([f"{name}, {what}", f"{plain:.6g}", f"{ours:.6g}"] for what, plain, ours in comparison.checks),
    ]


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
            FSASL(5, n_clusters=4, spread="row", max_iter=2, tol=0.0).fit(part)


def timed_fit(selector: FSASL, X: Array) -> TimedFit:
    with warnings.catch_warnings(), seconds_by_step() as steps:
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = perf_counter()
        selector.fit(X)
        return TimedFit(perf_counter() - start, dict(steps))


def compare(X: Array, n_clusters: int, max_iter: int, repeats: int = 3) -> Comparison:
    """Fit both for ``max_iter`` iterations; of several fits of ours, return the one with the median time."""
    selector = FSASL(50, n_clusters=n_clusters, n_neighbors=5, spread="row", max_iter=max_iter, tol=0.0)
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


@contextmanager
def seconds_by_step() -> Iterator[Counter[str]]:
    """Count the seconds that each step takes while the context is open."""
    seconds: Counter[str] = Counter()
    step_of = {name: step for step, names in FUNCTIONS_OF_STEP.items() for name in names}
    originals = {name: getattr(fsasl, name) for name in step_of}
    for name, function in originals.items():
        setattr(fsasl, name, _with_timer(function, step_of[name], seconds))
    try:
        yield seconds
    finally:
        for name, function in originals.items():
            setattr(fsasl, name, function)


def _with_timer(function: Callable[..., Any], step: str, seconds: Counter[str]) -> Callable[..., Any]:
    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[step] += perf_counter() - start

    return timed


@dataclass(frozen=True)
class PlainResult:
    """Features from best to worst, seconds of each step, and the last subproblems with their solutions."""

    ranking: Array
    seconds: dict[str, float]
    X: Array
    expressed: Array
    penalties: Array
    S: sp.csc_array
    Y: Array
    row_penalty: float
    W: Array


class PlainFSASL:
    """A straightforward FSASL.

    Parameters
    ----------
    params : dict
        ``FSASL(...).get_params()``. ``n_clusters``, ``n_neighbors`` and ``n_features_to_select`` must be numbers.
    lasso_gap : float
        Duality gap of each lasso relative to its objective, as in ufselect.
    regression_tol : float
        Violation of the optimality conditions of W as a share of γ/2, as in ufselect.
    """

    def __init__(self, params: dict[str, Any], *, lasso_gap: float, regression_tol: float) -> None:
        self.params = params
        # scikit-learn stops at gap <= tol‖y‖², ufselect at gap <= lasso_gap·objective. The point ay is dual feasible,
        # so the objective is at least a(1 − a/2)‖y‖², and not much larger if the sample is well expressed.
        a = params["self_expression_penalty"]
        lasso_tol = lasso_gap * a * (1.0 - a / 2.0)
        self.lasso = Lasso(fit_intercept=False, copy_X=False, warm_start=True, tol=lasso_tol, max_iter=_MOST_SWEEPS)
        # Let h = γ/2. If all conditions hold up to εh, the gap of ½‖Y−XW‖² + h‖W‖₂,₁ is at most 2εh‖W‖₂,₁, up to ε²,
        # and h‖W‖₂,₁ <= ½‖Y‖². So ufselect's criterion implies scikit-learn's gap <= ε‖Y‖², which is looser.
        self.regression = MultiTaskLasso(
            fit_intercept=False, copy_X=False, warm_start=True, tol=regression_tol, max_iter=_MOST_SWEEPS
        )
        self.seconds: Counter[str] = Counter()

    def fit(self, X: Array) -> PlainResult:
        """Rank the columns of X."""
        informative = np.flatnonzero(np.ptp(X, axis=0))
        X = np.asfortranarray(X[:, informative], dtype=np.float64)
        n = X.shape[0]
        S: sp.csc_array = sp.csc_array((n, n))
        Y = self._target(self.params["local_weight"] * self._neighbor_laplacian(X), None)
        W, gamma = self._weights(X, Y)
        for _ in range(self.params["max_iter"]):
            Z = X @ W
            S, penalties = self._self_expression(Z, S)
            local = self.params["local_weight"] * self._neighbor_laplacian(Z)
            unexpressed = sp.csr_array(sp.eye_array(n) - S)
            Y = self._target(unexpressed @ unexpressed.T + local, Y)
            W, gamma = self._weights(X, Y)
        with self._timed("ranking"):
            order = np.argsort(-np.linalg.norm(W, axis=1), kind="stable")
        return PlainResult(informative[order], dict(self.seconds), X, Z, penalties, S, Y, gamma, W)

    def _self_expression(self, Z: Array, start: sp.csc_array) -> tuple[sp.csc_array, Array]:
        """S and the αᵢ: one lasso per sample, with that sample set to zero in the dictionary."""
        with self._timed("S"):
            n, c = Z.shape
            correlations = np.abs(Z @ Z.T)
            np.fill_diagonal(correlations, 0.0)
            alphas = 2.0 * self.params["self_expression_penalty"] * correlations.max(axis=1)
            dictionary = Z.T.copy(order="F")
            columns = []
            for i in range(n):
                dictionary[:, i] = 0.0
                self.lasso.alpha = alphas[i] / 2.0 / c  # scikit-learn divides the squares by 2c
                self.lasso.coef_ = start[:, [i]].toarray().ravel()
                columns.append(sp.csc_array(self.lasso.fit(dictionary, Z[i]).coef_[:, None]))
                dictionary[:, i] = Z[i]
            return sp.hstack(columns, format="csc"), alphas

    def _neighbor_laplacian(self, Z: Array) -> sp.csr_array:
        """L_P, with P in closed form."""
        with self._timed("P"):
            n, k = Z.shape[0], self.params["n_neighbors"]
            distances, index = NearestNeighbors(n_neighbors=k + 1).fit(Z).kneighbors()
            nearness = distances[:, k:] ** 2 - distances[:, :k] ** 2
            P = nearness / nearness.sum(axis=1, keepdims=True)
            graph = sp.csr_array((P.ravel(), index[:, :k].ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
            affinity = (graph + graph.T) / 2.0
            return sp.csr_array(sp.diags_array(affinity.sum(axis=1)) - affinity)

    def _target(self, L: sp.csr_array, last: Array | None) -> Array:
        """Y: the c eigenvectors of the smallest eigenvalues, rotated towards the last ones for better warm starts."""
        with self._timed("eigen"):
            _, Y = eigh(L.toarray(), subset_by_index=[0, self.params["n_clusters"] - 1], overwrite_a=True)
            return Y if last is None else Y @ orthogonal_procrustes(Y, last)[0]

    def _weights(self, X: Array, Y: Array) -> tuple[Array, float]:
        """W and γ."""
        with self._timed("W"):
            gamma = self.params["row_penalty"] * 2.0 * np.linalg.norm(X.T @ Y, axis=1).max()
            self.regression.alpha = gamma / 2.0 / X.shape[0]  # scikit-learn divides the squares by 2n
            return self.regression.fit(X, Y).coef_.T.copy(), gamma

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.seconds[step] += perf_counter() - start


def kmeans_beside_sklearn(n_columns: int = 50) -> str | None:
    """Twenty runs of k-means on columns of COIL from the same starts: one call here, twenty of scikit-learn."""
    found = public_set("COIL")
    if found is None:
        return None
    say("k-means on COIL")
    columns = np.random.default_rng(0).permutation(found.X.shape[1])[:n_columns]
    X = np.ascontiguousarray(found.X[:, columns])
    starts = kmeans_starts(len(X), found.n_classes)
    ours, theirs = kmeans_labels(X, starts), _sklearn_labels(X, starts)  # also a warm-up of both
    times = np.array(
        [(_seconds(kmeans_labels, X, starts), _seconds(_sklearn_labels, X, starts)) for _ in range(_REPEATS)]
    )
    a, b = np.median(times, axis=0)
    head = [f"COIL, {n_columns} columns, 20 runs; median of {_REPEATS}", "ms"]
    rows = [
        ["20 calls of scikit-learn's KMeans", number(1e3 * b)],
        ["one call of `kmeans_labels`", number(1e3 * a)],
        ["ratio", f"**{number(np.median(times[:, 1] / times[:, 0]))}**"],
        ["labels that differ", int(np.sum(ours != theirs))],
    ]
    return f"{table(head, rows)}\n\nRequired: at least {LEAST_KMEANS_RATIO} times faster."


def _sklearn_labels(X: Any, starts: Any) -> Any:
    make = [
        KMeans(len(start), init=X[start], n_init=1, max_iter=MAX_ITER, tol=0.0, algorithm="lloyd") for start in starts
    ]
    return np.array([kmeans.fit(X).labels_ for kmeans in make])


def _seconds(call: Any, *arguments: Any) -> float:
    start = perf_counter()
    call(*arguments)
    return perf_counter() - start
