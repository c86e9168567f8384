"""Runs an experiment: what is not yet done, on as many processes or machines as there are, kept as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed

from ufselect.benchmark.experiment import ALL_FEATURES, Experiment, Method, identity
from ufselect.benchmark.pieces import Fit, Judgement, Outcome, Piece, judgement_of
from ufselect.benchmark.store import Store
from ufselect.datasets import default_feature_counts, load_dataset


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
    """Everything that an experiment asks for, in the order of its file."""
    return [
        _trial(experiment, data, method, setting)
        for data in experiment.data
        for method in experiment.methods_for(data)
        for setting in experiment.settings(method, data)
    ]


def run_experiment(experiment: Experiment, store: Store, *, n_jobs: int | None = None, verbose: int = 0) -> Results:
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

    Returns
    -------
    Results
    """
    trials = planned_trials(experiment)
    fits = _done((trial.fit for trial in trials), store, n_jobs, verbose, f"{experiment.name}: fits")
    judged = [
        (trial, count, _judgement(experiment, trial, fits[trial.fit.key], count))
        for trial in trials
        if "order" in fits[trial.fit.key]
        for count in dict.fromkeys(trial.counts)
    ]
    found = _done((piece for _, _, piece in judged), store, n_jobs, verbose, f"{experiment.name}: judgements")
    rows = [
        Row(trial.data, trial.method.name, trial.setting, count, metric, value)
        for trial, count, piece in judged
        for metric, value in found[piece.key].items()
    ]
    return Results(rows, [(trial, fits[trial.fit.key]) for trial in trials])


def _trial(experiment: Experiment, data: str, method: Method, setting: dict[str, Any]) -> Trial:
    n_features = load_dataset(data).X.shape[1]
    counts = feature_counts(experiment, data, n_features)
    if method.features == ALL_FEATURES:
        counts = (n_features,)
    parameters = identity({**method.parameters, **setting})
    return Trial(data, method, identity(setting), Fit(data, method.selector, parameters, max(counts)), counts)


def feature_counts(experiment: Experiment, data: str, n_features: int) -> tuple[int, ...]:
    """The numbers of features that selections from that data set are judged at; one may stand twice."""
    counts = experiment.counts_of.get(data) or experiment.counts or default_feature_counts(data, n_features)
    return tuple(count for count in counts if count <= n_features)


def _judgement(experiment: Experiment, trial: Trial, outcome: Outcome, count: int) -> Judgement:
    return judgement_of(trial.data, outcome["order"], count, experiment.measures, experiment.n_runs)


def _done(
    pieces: Iterable[Piece], store: Store, n_jobs: int | None, verbose: int, description: str
) -> dict[str, Outcome]:
    """What all pieces came to; those that the store does not have are run first."""
    unique = {piece.key: piece for piece in pieces}
    found = store.find(unique)
    missing = [piece for key, piece in unique.items() if key not in found]
    for key, outcome in _with_bar(_finished(missing, n_jobs), len(unique), len(found), verbose, description):
        store.add(key, outcome)
        found[key] = outcome
    return found


def _finished(pieces: Sequence[Piece], n_jobs: int | None) -> Iterator[tuple[str, Outcome]]:
    """Run the pieces, each handed over as soon as it is finished, in whatever order."""
    if not pieces:
        return iter(())
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    finished: Iterator[tuple[str, Outcome]] = parallel(delayed(_run)(piece) for piece in pieces)
    return finished


def _run(piece: Piece) -> tuple[str, Outcome]:
    return piece.key, piece.run()


def _with_bar(
    finished: Iterator[tuple[str, Outcome]], total: int, done_before: int, verbose: int, description: str
) -> Iterator[tuple[str, Outcome]]:
    if not verbose:
        yield from finished
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, initial=done_before, desc=description, unit="piece", smoothing=0.05) as bar:
        for outcome in finished:
            bar.update()
            yield outcome
