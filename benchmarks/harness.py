"""The speed of the evaluation harness: settings per minute on one and two cores, and k-means against scikit-learn."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from data import public_set
from joblib import Parallel, delayed
from processes import say
from report import number, table
from sklearn.cluster import KMeans
from ufselect.benchmark.pieces import Fit, Judgement, judgement_of

from ufselect.benchmark.experiment import Experiment, read_experiment
from ufselect.benchmark.protocol import MAX_ITER, kmeans_starts
from ufselect.benchmark.runner import planned_trials, run_experiment
from ufselect.benchmark.store import Store
from ufselect.solvers.kmeans import kmeans_labels

PUBLISHED = Path(__file__).parents[1] / "experiments" / "published.toml"
LEAST_RATIO = 5
_REPEATS = 15


def settings_per_minute(n_settings: int) -> str | None:
    """Settings per minute for an evenly thinned grid of FSASL on JAFFE: fits, judgements and the whole run."""
    if public_set("JAFFE") is None:
        return None
    experiment = read_experiment(PUBLISHED).narrowed(data=["JAFFE"], methods=["FSASL"], settings=n_settings)
    fits = [trial.fit for trial in planned_trials(experiment)]
    outcomes = _run(fits, 1)
    judgements = list(dict.fromkeys(_judgements(experiment, outcomes)))
    rows = []
    for n_jobs in (1, 2):
        say(f"harness: {len(fits)} settings on JAFFE, {n_jobs} processes")
        _run([*fits[:2], *judgements[:2]], n_jobs)  # starts the processes and loads compiled code
        seconds = [_seconds(fits, n_jobs), _seconds(judgements, n_jobs), _seconds_of_run(experiment, n_jobs)]
        rows.append([n_jobs, *(number(60.0 * len(fits) / taken) for taken in seconds)])
    what = f"{len(fits)} of the 605 settings of FSASL on JAFFE; 20 runs of k-means on {len(judgements)} feature sets"
    head = ["cores", "fits per minute", "settings judged per minute", "settings per minute, both"]
    return f"{what}.\n\n{table(head, rows)}"


def _judgements(experiment: Experiment, outcomes: Sequence[dict[str, Any]]) -> Iterator[Judgement]:
    for trial, outcome in zip(planned_trials(experiment), outcomes, strict=True):
        for count in trial.counts:
            yield judgement_of(trial.fit.data, outcome["order"], count, experiment.measures, experiment.n_runs)


def _run(pieces: Sequence[Fit | Judgement], n_jobs: int) -> list[dict[str, Any]]:
    return list(Parallel(n_jobs=n_jobs, batch_size=1)(delayed(piece.run)() for piece in pieces))


def _seconds(pieces: Sequence[Fit | Judgement], n_jobs: int) -> float:
    start = perf_counter()
    _run(pieces, n_jobs)
    return perf_counter() - start


def _seconds_of_run(experiment: Experiment, n_jobs: int) -> float:
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder, "pieces.sqlite")) as store:
        start = perf_counter()
        run_experiment(experiment, store, n_jobs=n_jobs)
        return perf_counter() - start


def kmeans_beside_sklearn(n_columns: int = 50) -> str | None:
    """Twenty runs of k-means on columns of COIL from the same starts: one call of ours, twenty of scikit-learn's."""
    found = public_set("COIL")
    if found is None:
        return None
    say("harness: k-means on COIL")
    columns = np.random.default_rng(0).permutation(found.X.shape[1])[:n_columns]
    X = np.ascontiguousarray(found.X[:, columns])
    starts = kmeans_starts(len(X), found.n_classes)
    ours, theirs = kmeans_labels(X, starts), _sklearn_labels(X, starts)  # also a warm-up of both
    times = np.array([(_timed(kmeans_labels, X, starts), _timed(_sklearn_labels, X, starts)) for _ in range(_REPEATS)])
    a, b = np.median(times, axis=0)
    head = [f"COIL, {n_columns} columns, 20 runs; median of {_REPEATS}", "ms"]
    rows = [
        ["20 calls of scikit-learn's KMeans", number(1e3 * b)],
        ["one call of `kmeans_labels`", number(1e3 * a)],
        ["ratio", f"**{number(np.median(times[:, 1] / times[:, 0]))}**"],
        ["labels that differ", int(np.sum(ours != theirs))],
    ]
    return f"{table(head, rows)}\n\nRequired: at least {LEAST_RATIO} times faster."


def _sklearn_labels(X: Any, starts: Any) -> Any:
    make = [
        KMeans(len(start), init=X[start], n_init=1, max_iter=MAX_ITER, tol=0.0, algorithm="lloyd") for start in starts
    ]
    return np.array([kmeans.fit(X).labels_ for kmeans in make])


def _timed(call: Any, *arguments: Any) -> float:
    start = perf_counter()
    call(*arguments)
    return perf_counter() - start
