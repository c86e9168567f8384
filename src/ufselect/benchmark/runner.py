"""Runs an experiment: the missing pieces, on the given number of processes or machines, each stored when it is done."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ufselect._utils.naming import names_a_module
from ufselect._utils.progress import with_progress
from ufselect.benchmark.data import current_version, load_version
from ufselect.benchmark.experiment import ALL_FEATURES, RAW, Experiment, Method, identity
from ufselect.benchmark.pieces import Draw, Fit, Judgement, Outcome, Piece, judgement_of
from ufselect.benchmark.preparing import Prepared
from ufselect.benchmark.selecting import selector_folder, selector_named, selector_source
from ufselect.benchmark.store import Store
from ufselect.datasets import default_feature_counts
from ufselect.metrics import selection_stability

STABILITY = "stability"


@dataclass(frozen=True)
class Trial:
    """A method with one setting on one data set, and the numbers of features at which it is judged.

    ``repeats`` are the same fit on some of the samples, to measure the stability.
    """

    data: str
    method: Method
    setting: str
    fit: Fit
    counts: tuple[int, ...]
    repeats: tuple[Fit, ...] = ()

    @property
    def middle_count(self) -> int:
        """The number of features at which stability is measured."""
        counts = sorted(set(self.counts))
        return counts[len(counts) // 2]


@dataclass(frozen=True)
class Row:
    """One figure of a run."""

    data: str
    method: str
    setting: str
    count: int
    metric: str
    value: float


class DataSize(NamedTuple):
    """The size of a data set as it is used."""

    samples: int
    features: int
    class_sizes: list[int]


@dataclass(frozen=True)
class Finished:
    """The figures of a trial, the outcome of its fit, and the first error of fits on some of the samples."""

    rows: list[Row]
    outcome: Outcome
    error_of_repeats: str | None = None


@dataclass(frozen=True)
class Results:
    """All figures of a run, the outcome of every fit, errors of fits on some of the samples, and sizes of the data."""

    rows: list[Row]
    fits: list[tuple[Trial, Outcome]]
    failed_repeats: list[tuple[Trial, str]] = field(default_factory=list)
    sizes: dict[str, DataSize] = field(default_factory=dict)


def planned_trials(experiment: Experiment) -> list[Trial]:
    """Return the trials of an experiment, in the order of its file.

    The data are read and the code of the selectors is hashed now: later changes are noticed when a piece runs.

    Raises
    ------
    ValueError
        If a selector of ours does not exist; a "package.module:name" may be known to the workers only.
    """
    for method in experiment.methods:
        if not names_a_module(method.selector):
            selector_named(method.selector)
    selectors = {method.selector for method in experiment.methods}
    sources = {selector: (selector_source(selector), selector_folder(selector)) for selector in selectors}
    return [trial for data in experiment.data for trial in _trials_on(experiment, data, sources)]


def run_experiment(
    experiment: Experiment,
    store: Store,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    finished_only: bool = False,
    kept: Mapping[Trial, Finished] | None = None,
) -> Results:
    """Run the pieces that are not in the store and return all figures.

    Parameters
    ----------
    experiment : Experiment
    store : Store
        Finished pieces are added one by one; those that are in it are not run again.
    n_jobs : int or None
        Number of processes. Within ``joblib.parallel_config`` the workers of that backend are used, for example
        those of a Dask cluster.
    verbose : int
        1 shows a progress bar.
    finished_only : bool
        Run nothing; return the figures of what is in the store and of what is kept.
    kept : mapping, optional
        Trials that are not run, and what they found before, see :func:`~.keeping.kept_trials`.

    Returns
    -------
    Results
    """
    trials = planned_trials(experiment)
    finished = dict(kept or {})
    work = _Work(store, n_jobs, verbose, finished_only)
    finished |= _run_trials(experiment, [trial for trial in trials if trial not in finished], work)
    return _results(finished, trials)


def _run_trials(experiment: Experiment, trials: Sequence[Trial], work: _Work) -> dict[Trial, Finished]:
    """Return what is found by the trials whose pieces are all finished: every one unless the work is to run nothing."""
    repeats = itertools.chain(*(trial.repeats for trial in trials))
    fits = work.outcomes(itertools.chain((trial.fit for trial in trials), repeats), f"{experiment.name}: fits")
    pieces = {trial: _judgements(experiment, trial, fits.get(trial.fit.key, {})) for trial in trials}
    judged = work.outcomes(
        itertools.chain(*(of_trial.values() for of_trial in pieces.values())), f"{experiment.name}: judgements"
    )
    return {
        trial: _finished_trial(trial, of_trial, fits, judged)
        for trial, of_trial in pieces.items()
        if trial.fit.key in fits and all(piece.key in judged for piece in of_trial.values())
    }


def _finished_trial(
    trial: Trial, pieces: Mapping[int, Judgement], fits: Mapping[str, Outcome], judged: Mapping[str, Outcome]
) -> Finished:
    rows = [
        Row(trial.data, trial.method.name, trial.setting, count, metric, value)
        for count, piece in pieces.items()
        for metric, value in judged[piece.key].items()
    ]
    return Finished([*rows, *_stability(trial, fits)], fits[trial.fit.key], _error_of_repeats(trial, fits))


def _results(finished: Mapping[Trial, Finished], trials: Sequence[Trial]) -> Results:
    """Return the results of the finished ones of the trials; stability comes last."""
    found = [(trial, finished[trial]) for trial in trials if trial in finished]
    rows = sorted((row for _, each in found for row in each.rows), key=lambda row: row.metric == STABILITY)
    failed = {trial: each.error_of_repeats for trial, each in found if each.error_of_repeats is not None}
    versions = {trial.data: trial.fit.data for trial, _ in found}
    sizes = {data: data_size(load_version(version)) for data, version in versions.items()}
    return Results(rows, [(trial, each.outcome) for trial, each in found], list(failed.items()), sizes)


def data_size(data: Prepared) -> DataSize:
    """Return the size of a data set after its preparation."""
    n_samples, n_features = data.X.shape
    return DataSize(n_samples, n_features, np.bincount(data.y).tolist())


def _stability(trial: Trial, fits: Mapping[str, Outcome]) -> Iterator[Row]:
    """Yield the agreement of the fits on some of the samples, unless one is missing or failed."""
    found = [fits[piece.key]["order"] for piece in trial.repeats if "order" in fits.get(piece.key, {})]
    if found and len(found) == len(trial.repeats):
        count, n_features = trial.middle_count, load_version(trial.fit.data).X.shape[1]
        value = selection_stability([order[:count] for order in found], n_features)
        yield Row(trial.data, trial.method.name, trial.setting, count, STABILITY, value)


def _error_of_repeats(trial: Trial, fits: Mapping[str, Outcome]) -> str | None:
    """Return the first error of fits on some of the samples; None if the fit on all of them failed, too."""
    if "error" in fits[trial.fit.key]:
        return None
    outcomes = (fits.get(piece.key, {}) for piece in trial.repeats)
    return next((outcome["error"] for outcome in outcomes if "error" in outcome), None)


def _trials_on(experiment: Experiment, data: str, sources: dict[str, tuple[str, str]]) -> Iterator[Trial]:
    version = current_version(data, experiment.preparation(data))
    n_features = load_version(version).X.shape[1]
    for method in experiment.methods_for(data):
        all_features = method.features == ALL_FEATURES
        counts = (n_features,) if all_features else feature_counts(experiment, data, n_features)
        for setting in experiment.settings(method, data):
            parameters = identity({**method.parameters, **setting})
            fit = Fit(
                version, method.selector, parameters, max(counts), *sources[method.selector], method.values == RAW
            )
            yield Trial(data, method, identity(setting), fit, counts, _repeats(experiment, method, fit))


def _repeats(experiment: Experiment, method: Method, fit: Fit) -> tuple[Fit, ...]:
    measured = experiment.stability
    if measured is None or not method.stability or method.features == ALL_FEATURES:
        return ()
    return tuple(replace(fit, draw=Draw(measured.samples, index)) for index in range(measured.fits))


def feature_counts(experiment: Experiment, data: str, n_features: int) -> tuple[int, ...]:
    """Return the numbers of features at which selections from a data set are judged; one may be listed twice.

    Raises
    ------
    ValueError
        If the data set has fewer features than any of them.
    """
    counts = experiment.counts_of.get(data) or experiment.counts or default_feature_counts(data, n_features)
    if min(counts) > n_features:
        listed = ", ".join(map(str, counts))
        raise ValueError(f"{data} has only {n_features} features, fewer than any number to select: {listed}.")
    return tuple(count for count in counts if count <= n_features)


def judgements_of(experiment: Experiment, trial: Trial, order: Sequence[int]) -> dict[int, Judgement]:
    """Return the pieces that judge a ranking, by the number of features."""
    return {
        count: judgement_of(trial.fit.data, order, count, experiment.measures, experiment.n_runs)
        for count in trial.counts
    }


def _judgements(experiment: Experiment, trial: Trial, outcome: Outcome) -> dict[int, Judgement]:
    return judgements_of(experiment, trial, outcome["order"]) if "order" in outcome else {}


@dataclass(frozen=True)
class _Work:
    """The store of outcomes, and how missing ones are computed."""

    store: Store
    n_jobs: int | None
    verbose: int
    finished_only: bool

    def outcomes(self, pieces: Iterable[Piece], description: str) -> dict[str, Outcome]:
        """Return the outcomes of the pieces by key; each is run once unless it is in the store."""
        unique = {piece.key: piece for piece in pieces}
        found = self.store.find(unique)
        missing = [piece for key, piece in unique.items() if key not in found]
        if self.finished_only or not missing:
            return found
        finished = _finished(missing, self.n_jobs)
        for key, outcome in with_progress(finished, len(missing), self.verbose, description):
            if "error" not in outcome:  # failed fits are tried again next time
                self.store.add(key, outcome)
            found[key] = outcome
        return found


def _finished(pieces: Sequence[Piece], n_jobs: int | None) -> Iterator[tuple[str, Outcome]]:
    """Run the pieces; yield each as soon as it is finished, in any order."""
    if (client := getattr(get_active_backend()[0], "client", None)) is not None:
        return _finished_on_dask(pieces, client)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    finished: Iterator[tuple[str, Outcome]] = parallel(delayed(_run)(piece) for piece in pieces)
    return finished


def _finished_on_dask(pieces: Sequence[Piece], client: Any) -> Iterator[tuple[str, Outcome]]:
    """Run the pieces on a cluster; joblib's Dask backend hangs on a piece that kills every worker."""
    from distributed import KilledWorker, as_completed

    deadly = []
    for future in as_completed(client.map(_run, pieces, pure=False)):
        try:
            yield future.result()
        except KilledWorker as error:
            deadly.append(error)
    if deadly:
        raise MemoryError(f"{len(deadly)} pieces killed every worker that ran them, perhaps out of memory: {deadly[0]}")


def _run(piece: Piece) -> tuple[str, Outcome]:
    return piece.key, piece.run()
