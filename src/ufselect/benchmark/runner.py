"""Runs an experiment: what is not yet done, on as many processes or machines as there are, kept as it comes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ufselect._backend.progress import with_progress
from ufselect.benchmark.experiment import ALL_FEATURES, Experiment, Method, identity
from ufselect.benchmark.pieces import Fit, Judgement, Outcome, Piece, judgement_of, names_a_module, selector_named
from ufselect.benchmark.store import Store
from ufselect.datasets import dataset_names, default_feature_counts, load_dataset


@dataclass(frozen=True)
class Trial:
    """A method with one setting on one data set, and the numbers of features that it is judged at."""

    data: str
    method: Method
    setting: str
    fit: Fit
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One figure of a run."""

    data: str
    method: str
    setting: str
    count: int
    metric: str
    value: float


@dataclass(frozen=True)
class Results:
    """All figures of a run, and what every fit cost and came to."""

    rows: list[Row]
    fits: list[tuple[Trial, Outcome]]


def planned_trials(experiment: Experiment) -> list[Trial]:
    """Everything that an experiment asks for, in the order of its file.

    Raises
    ------
    ValueError
        If a selector's name is none of ours; others may be known to the workers alone.
    """
    for method in experiment.methods:
        if not names_a_module(method.selector):
            selector_named(method.selector)
    return [
        _trial(experiment, data, method, setting)
        for data in experiment.data
        for method in experiment.methods_for(data)
        for setting in experiment.settings(method, data)
    ]


def run_experiment(
    experiment: Experiment, store: Store, *, n_jobs: int | None = None, verbose: int = 0, finished_only: bool = False
) -> Results:
    """Do what is missing and gather all figures.

    Parameters
    ----------
    experiment : Experiment
    store : Store
        Every finished piece goes in at once; what is in it is not done again.
    n_jobs : int or None
        Processes; within ``joblib.parallel_config`` that backend's workers are used, such as a Dask cluster's.
    verbose : int
        1 shows a progress bar with the time left.
    finished_only : bool
        Run nothing; gather what is finished.

    Returns
    -------
    Results
    """
    trials = planned_trials(experiment)
    work = _Work(store, n_jobs, verbose, finished_only)
    fits = work.outcomes((trial.fit for trial in trials), f"{experiment.name}: fits")
    pieces = {trial: _judgements(experiment, trial, fits.get(trial.fit.key, {})) for trial in trials}
    judged = work.outcomes(
        itertools.chain(*(of_trial.values() for of_trial in pieces.values())), f"{experiment.name}: judgements"
    )
    whole = [
        trial for trial in trials if trial.fit.key in fits and all(p.key in judged for p in pieces[trial].values())
    ]
    rows = [
        Row(trial.data, trial.method.name, trial.setting, count, metric, value)
        for trial in whole
        for count, piece in pieces[trial].items()
        for metric, value in judged[piece.key].items()
    ]
    return Results(rows, [(trial, fits[trial.fit.key]) for trial in whole])


def _trial(experiment: Experiment, data: str, method: Method, setting: dict[str, Any]) -> Trial:
    n_features = load_dataset(data).X.shape[1]
    everything = method.features == ALL_FEATURES
    counts = (n_features,) if everything else feature_counts(experiment, data, n_features)
    parameters = identity({**method.parameters, **setting})
    fit = Fit(_anywhere(data), method.selector, parameters, max(counts))
    return Trial(data, method, identity(setting), fit, counts)


def _anywhere(data: str) -> str:
    """The name of a data set, or the path of one's own from the root: workers may be in other folders."""
    return data if data in dataset_names() else str(Path(data).absolute())


def feature_counts(experiment: Experiment, data: str, n_features: int) -> tuple[int, ...]:
    """The numbers of features that selections from that data set are judged at; one may stand twice.

    Raises
    ------
    ValueError
        If the data set has fewer features than any of them.
    """
    counts = experiment.counts_of.get(data) or experiment.counts or default_feature_counts(data, n_features)
    if min(counts) > n_features:
        asked = ", ".join(map(str, counts))
        raise ValueError(f"{data} has {n_features} features, which is less than any number asked for: {asked}.")
    return tuple(count for count in counts if count <= n_features)


def _judgements(experiment: Experiment, trial: Trial, outcome: Outcome) -> dict[int, Judgement]:
    """For each number of features the piece that judges so many of the best; none where the fit failed."""
    if "order" not in outcome:
        return {}
    return {
        count: judgement_of(trial.fit.data, outcome["order"], count, experiment.measures, experiment.n_runs)
        for count in trial.counts
    }


@dataclass(frozen=True)
class _Work:
    """Where outcomes are kept, and who works out the missing ones, if anybody."""

    store: Store
    n_jobs: int | None
    verbose: int
    finished_only: bool

    def outcomes(self, pieces: Iterable[Piece], description: str) -> dict[str, Outcome]:
        """What the pieces came to, each run once unless the store has it already."""
        unique = {piece.key: piece for piece in pieces}
        found = self.store.find(unique)
        missing = [piece for key, piece in unique.items() if key not in found]
        if self.finished_only or not missing:
            return found
        finished = _finished(missing, self.n_jobs)
        for key, outcome in with_progress(finished, len(missing), self.verbose, description):
            if "error" not in outcome:  # what failed is tried again next time
                self.store.add(key, outcome)
            found[key] = outcome
        return found


def _finished(pieces: Sequence[Piece], n_jobs: int | None) -> Iterator[tuple[str, Outcome]]:
    """Run the pieces, each handed over as soon as it is finished, in whatever order."""
    if (client := getattr(get_active_backend()[0], "client", None)) is not None:
        return _finished_on_dask(pieces, client)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    finished: Iterator[tuple[str, Outcome]] = parallel(delayed(_run)(piece) for piece in pieces)
    return finished


def _finished_on_dask(pieces: Sequence[Piece], client: Any) -> Iterator[tuple[str, Outcome]]:
    """The same on a cluster's workers; joblib's own way waits for ever for a piece that no worker survives."""
    from distributed import KilledWorker, as_completed

    deadly = []
    for future in as_completed(client.map(_run, pieces, pure=False)):  # type: ignore[no-untyped-call]
        try:
            yield future.result()
        except KilledWorker as error:
            deadly.append(error)
    if deadly:
        what = f"{len(deadly)} pieces ended all workers that took them, perhaps for want of memory"
        raise MemoryError(f"{what}: {deadly[0]}")


def _run(piece: Piece) -> tuple[str, Outcome]:
    return piece.key, piece.run()
