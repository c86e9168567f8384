"""ufselect against skfeature-chappers: seconds and ratios of the methods that both implement.

Each method is called the way its library expects. Both libraries get the same data and the same numbers of neighbours,
clusters, selected features and iterations; README.md explains how. The time of skfeature includes building its graph.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from io import StringIO
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from common import (
    DATA_VARIABLE,
    Outcome,
    ended_after,
    noisy_clusters,
    number,
    outcome_in_fresh_process,
    public_set,
    say,
    table,
)
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

Array = NDArray[Any]

LEAST_RATIO = 1
LEAST_MEAN_RATIO = 5
METHODS = ("LaplacianScore", "SPEC", "TraceRatio", "MCFS", "UDFS", "NDFS")
SYNTHETIC = "synthetic"
N_NEIGHBORS = 5
N_FEATURES = 50
_MOST_FITS, _ENOUGH_SECONDS = 5, 3.0
_PEER_LOOP = 1000  # iterations of UDFS and NDFS, a constant in skfeature


@dataclass(frozen=True)
class Pair:
    """One method on one data set in both libraries."""

    method: str
    data: str
    peer: Outcome
    ours: Outcome
    time_limit: float

    @property
    def ratio(self) -> float | None:
        """The time of skfeature divided by that of ufselect; a lower bound if skfeature exceeded the time limit."""
        if self.ours.values is None or self.peer.problem:
            return None
        peer_seconds = self.peer.values["seconds"] if self.peer.values else self.time_limit
        return peer_seconds / self.ours.values["seconds"]

    def row(self) -> list[str]:
        """Iterations and seconds of both libraries, their ratio, and the number of common features."""
        bound = "> " if self.peer.out_of_time else ""
        return [
            self.method,
            f"{_cell(self.peer, 'iterations')} / {_cell(self.ours, 'iterations')}",
            self._seconds(self.peer),
            self._seconds(self.ours),
            "" if self.ratio is None else f"{bound}{number(self.ratio)}",
            self._common(),
        ]

    def _seconds(self, outcome: Outcome) -> str:
        if outcome.values:
            return number(outcome.values["seconds"])
        return f"> {number(self.time_limit)}" if outcome.out_of_time else outcome.problem

    def _common(self) -> str:
        if self.ours.values is None or self.peer.values is None:
            return ""
        return str(len({*self.ours.values["best"]} & {*self.peer.values["best"]}))


def compare_with_skfeature(iterations: dict[str, int], threads: int, time_limit: float) -> str | None:
    """Tables of all methods on the available data sets; None without skfeature or without data."""
    if find_spec("skfeature") is None:
        print("peers skipped: skfeature-chappers is not installed (pip install '.[bench]').\n")
        return None
    pairs: list[Pair] = []
    texts: list[str] = []
    for data, max_iter in iterations.items():
        whole = task(data, max_iter)
        if whole is None:
            print(f"{data} skipped: {DATA_VARIABLE} names no folder with {data}.npz.\n")
            continue
        of_this_set = [_pair(method, data, max_iter, threads, time_limit) for method in METHODS]
        pairs += of_this_set
        texts.append(_table_of(whole, data, of_this_set))
    return "\n\n".join([*texts, _summary(pairs)]) if pairs else None


def _pair(method: str, data: str, max_iter: int, threads: int, time_limit: float) -> Pair:
    """Run skfeature first: if it stops early, ufselect runs the same number of iterations."""

    def outcome(library: str, max_iter: int) -> Outcome:
        say(f"peers: {method} of {library} on {data}")
        found = outcome_in_fresh_process(
            "peer", threads, library=library, method=method, data=data, max_iter=max_iter, time_limit=time_limit
        )
        say(
            "    "
            + (f"{number(found.values['seconds'])} s" if found.values else found.problem or "over the time limit")
        )
        return found

    peer = outcome("skfeature", max_iter)
    taken = peer.values["iterations"] if peer.values else 0
    return Pair(method, data, peer, outcome("ufselect", taken or max_iter), time_limit)


def _table_of(whole: Task, data: str, pairs: list[Pair]) -> str:
    n, d = whole.X.shape
    header = [
        f"{data} ({n} × {d}, c = {whole.n_clusters})",
        "iterations, skfeature / ufselect",
        "skfeature, s",
        "ufselect, s",
        "skfeature / ufselect",
        f"in common of {N_FEATURES}",
    ]
    return table(header, [pair.row() for pair in pairs])


def _summary(pairs: list[Pair]) -> str:
    """The smallest ratio and the geometric mean, beside the requirements."""
    ratios = {f"{pair.method}, {pair.data}": pair.ratio for pair in pairs if pair.ratio is not None}
    bound = "> " if any(pair.peer.out_of_time for pair in pairs if pair.ratio is not None) else ""
    rows = []
    if ratios:
        where, smallest = min(ratios.items(), key=lambda item: item[1])
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        rows = [
            [f"smallest ratio ({where})", number(smallest), f"≥ {LEAST_RATIO}"],
            [
                f"geometric mean of {len(ratios)} of {len(pairs)} ratios",
                f"**{bound}{number(mean)}**",
                f"≥ {LEAST_MEAN_RATIO}",
            ],
        ]
    return table(["measure", "value", "required"], rows) + f"\n\nskfeature-chappers {version('skfeature-chappers')}."


def _cell(outcome: Outcome, key: str) -> str:
    return str(outcome.values[key] or "–") if outcome.values else "–"


class Task(NamedTuple):
    """The data and the number of clusters; iterative methods run ``max_iter`` iterations."""

    X: Array
    n_clusters: int
    max_iter: int


class Selection(NamedTuple):
    """The best features, best first, and the number of iterations (0 if the method is not iterative)."""

    best: Array
    iterations: int


def task(data: str, max_iter: int) -> Task | None:
    """The public data set of that name, or a small synthetic one; None if it is not available.

    The data are scaled by one factor so that the mean squared distance to the neighbours is 1: the trace ratio of
    skfeature uses a heat kernel exp(−‖xᵢ − xⱼ‖²/2) of fixed width.
    """
    if data == SYNTHETIC:
        X, n_clusters = noisy_clusters(300, 200, 5), 5
    else:
        found = public_set(data)
        if found is None:
            return None
        X, n_clusters = found.X, found.n_classes
    distances, _ = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(X).kneighbors()
    return Task(X / np.sqrt(np.mean(distances**2)), n_clusters, max_iter)


def timed_method(library: str, method: str, data: str, max_iter: int, time_limit: float) -> dict[str, Any]:
    """Median seconds of up to five fits after a warm-up on slices, the number of iterations and the best features."""
    fit = {"skfeature": peer_fit, "ufselect": our_fit}[library](method)
    whole = task(data, max_iter)
    for part in _slices(whole):
        fit(part)
    seconds: list[float] = []
    while len(seconds) < _MOST_FITS and sum(seconds) < _ENOUGH_SECONDS:
        with ended_after(time_limit):
            start = perf_counter()
            selection = fit(whole)
            seconds.append(perf_counter() - start)
    return {
        "seconds": float(np.median(seconds)),
        "iterations": selection.iterations,
        "best": selection.best.tolist(),
    }


def _slices(whole: Task) -> Iterator[Task]:
    """All samples with few features, and few samples with more features."""
    n, d = whole.X.shape
    for rows, columns in ((1, d // 80), (n // 60, d // 200)):
        yield whole._replace(X=whole.X[:: max(rows, 1), :: max(columns, 1)].copy(), max_iter=2)


def our_fit(method: str) -> Callable[[Task], Selection]:
    """A function that selects with ufselect."""
    return partial(_our_selection, method)


def _our_selection(method: str, task: Task) -> Selection:
    import ufselect

    c = task.n_clusters
    alternating = {"n_clusters": c, "center": False, "max_iter": task.max_iter, "tol": 0.0}
    parameters: dict[str, dict[str, Any]] = {
        "LaplacianScore": {},
        "SPEC": {"criterion": "phi2", "affinity": "neighbors", "n_clusters": c},
        "TraceRatio": {},
        # As in skfeature: c eigenvectors in addition to the trivial one, and 50 coefficients for each.
        "MCFS": {"n_clusters": c + 1, "n_nonzero": N_FEATURES},
        "UDFS": alternating,
        "NDFS": {**alternating, "update": "published", "random_state": 0},
    }
    selector = getattr(ufselect, method)(N_FEATURES, n_neighbors=N_NEIGHBORS, scale=None, **parameters[method])
    selector.fit(task.X)
    return Selection(selector.top_features(N_FEATURES), getattr(selector, "n_iter_", 0))


def peer_fit(method: str) -> Callable[[Task], Selection]:
    """A function that selects with skfeature."""
    return {
        "LaplacianScore": _peer_laplacian_score,
        "SPEC": _peer_spec,
        "TraceRatio": _peer_trace_ratio,
        "MCFS": _peer_mcfs,
        "UDFS": _peer_udfs,
        "NDFS": _peer_ndfs,
    }[method]


def _peer_laplacian_score(task: Task) -> Selection:
    from skfeature.function.similarity_based.lap_score import lap_score

    return Selection(lap_score(task.X, mode="index", W=_peer_graph(task.X))[:N_FEATURES], 0)


def _peer_spec(task: Task) -> Selection:
    from skfeature.function.similarity_based.SPEC import spec

    # skfeature puts the largest φ₂ first; in the paper, the best feature has the smallest.
    scores = spec(task.X, mode="raw", style=0, W=_peer_graph(task.X))
    return Selection(np.argsort(scores)[:N_FEATURES], 0)


def _peer_trace_ratio(task: Task) -> Selection:
    from skfeature.function.similarity_based.trace_ratio import trace_ratio

    # style="laplacian" uses no classes; its graph has 5 neighbours and a heat kernel. It stops at convergence.
    with redirect_stdout(StringIO()) as log:
        best = trace_ratio(task.X, None, n_selected_features=N_FEATURES, mode="index", style="laplacian", verbose=True)
    return Selection(best, _iterations(log))


def _peer_mcfs(task: Task) -> Selection:
    from skfeature.function.sparse_learning_based.MCFS import mcfs

    graph = _peer_graph(task.X)
    best = mcfs(task.X, n_selected_features=N_FEATURES, mode="index", W=graph, n_clusters=task.n_clusters)
    return Selection(best[:N_FEATURES], 0)


def _peer_udfs(task: Task) -> Selection:
    from skfeature.function.sparse_learning_based import UDFS

    with _shortened_loop(UDFS, task.max_iter), redirect_stdout(StringIO()) as log:
        best = UDFS.udfs(task.X, mode="index", k=N_NEIGHBORS, n_clusters=task.n_clusters, verbose=True)
    return Selection(best[:N_FEATURES], _iterations(log))


def _peer_ndfs(task: Task) -> Selection:
    from skfeature.function.sparse_learning_based import NDFS

    np.random.seed(0)  # noqa: NPY002 - its k-means uses the global state
    with _shortened_loop(NDFS, task.max_iter), redirect_stdout(StringIO()) as log:
        best = NDFS.ndfs(task.X, mode="index", W=_peer_graph(task.X), n_clusters=task.n_clusters, verbose=True)
    return Selection(best[:N_FEATURES], _iterations(log))


def _peer_graph(X: Array) -> Any:
    from skfeature.utility.construct_W import construct_W

    return construct_W(X, metric="euclidean", neighbor_mode="knn", weight_mode="heat_kernel", k=N_NEIGHBORS, t=1.0)


@contextmanager
def _shortened_loop(module: ModuleType, max_iter: int) -> Iterator[None]:
    """Shorten the module's loop over iterations, a ``range`` of a constant, to ``max_iter``."""

    def shortened(*bounds: int) -> range:
        return builtins.range(max_iter) if bounds == (_PEER_LOOP,) else builtins.range(*bounds)

    module.range = shortened  # type: ignore[attr-defined]
    try:
        yield
    finally:
        del module.range


def _iterations(log: StringIO) -> int:
    """The number of iterations that skfeature reports."""
    return log.getvalue().count("obj at iter")
