"""Runs an experiment: what is missing, on the given number of processes or machines, each stored when it is done."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ufselect._utils.naming import names_a_module
from ufselect._utils.progress import with_progress
from ufselect.benchmark.data import current_version, load_version
from ufselect.benchmark.experiment import ALL_FEATURES, RAW, Experiment, Method, identity
from ufselect.benchmark.fits import Draw, Evaluation, Fit, Outcome, evaluation_of, fit_of, selector_named
from ufselect.benchmark.store import Store
from ufselect.datasets import default_feature_counts
from ufselect.metrics import selection_stability

STABILITY = "stability"

Task = Fit | Evaluation  # can be done once, at any time, by any worker; its outcome can be written as JSON


@dataclass(frozen=True)
class Trial:
    """A method with one setting on one data set, and the numbers of features at which it is evaluated."""

    data: str
    method: Method
    setting: str
    counts: tuple[int, ...]

    @property
    def middle_count(self) -> int:
        """The number of features at which stability is measured."""
        counts = sorted(set(self.counts))
        return counts[len(counts) // 2]


class Plan(NamedTuple):
    """The fit of a trial, and the same fit on some of the samples, to measure the stability."""

    trial: Trial
    fit: Fit
    repeats: tuple[Fit, ...] = ()


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


@dataclass
class Results:
    """All figures of a run, the outcome of every fit, errors of fits on some samples, and the data sets by name."""

    rows: list[Row] = field(default_factory=list)
    fits: list[tuple[Trial, Outcome]] = field(default_factory=list)
    failed_repeats: list[tuple[Trial, str]] = field(default_factory=list)
    sizes: dict[str, DataSize] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)


def run_experiment(
    experiment: Experiment, store: Store, *, n_jobs: int | None = None, verbose: int = 0, finished_only: bool = False
) -> Results:
    """Run what is not in the store, where outcomes are added one by one, and return all figures.

    Within ``joblib.parallel_config`` the workers of that backend are used, for example those of a Dask cluster. With
    ``finished_only``, nothing is run.
    """
    outcomes = partial(_outcomes, experiment.name, store, n_jobs, verbose, finished_only)
    plans = planned(experiment)
    fits = outcomes("fits", itertools.chain(*((plan.fit, *plan.repeats) for plan in plans)))
    of_plans = [evaluations_of(experiment, plan, fits.get(plan.fit.key, {})) for plan in plans]
    evaluated = outcomes("evaluations", itertools.chain(*(each.values() for each in of_plans)))

    results, stability = Results(), []
    for plan, evaluations in zip(plans, of_plans, strict=True):
        trial, fit, _ = plan
        if fit.key not in fits or any(each.key not in evaluated for each in evaluations.values()):
            continue
        results.fits.append((trial, fits[fit.key]))
        for count, each in evaluations.items():
            for metric, value in evaluated[each.key].items():
                results.rows.append(Row(trial.data, trial.method.name, trial.setting, count, metric, value))
        if trial.data not in results.sizes:
            data = load_version(fit.data)
            n_samples, n_features = data.X.shape
            results.sizes[trial.data] = DataSize(n_samples, n_features, np.bincount(data.y).tolist())
            results.digests[trial.data] = fit.data.digest
        found, error = _stability(plan, fits, results.sizes[trial.data].features)
        stability += found
        if error is not None and "error" not in fits[fit.key]:
            results.failed_repeats.append((trial, error))
    results.rows += stability
    return results


def _stability(plan: Plan, fits: Mapping[str, Outcome], n_features: int) -> tuple[list[Row], str | None]:
    """Return the agreement of the fits on some of the samples, unless one is missing or failed; and the first error."""
    trial, count = plan.trial, plan.trial.middle_count
    repeated = [fits[fit.key] for fit in plan.repeats if fit.key in fits]
    orders = [outcome["order"][:count] for outcome in repeated if "order" in outcome]
    error = next((outcome["error"] for outcome in repeated if "error" in outcome), None)
    if not orders or len(orders) < len(plan.repeats):
        return [], error
    value = selection_stability(orders, n_features)
    return [Row(trial.data, trial.method.name, trial.setting, count, STABILITY, value)], error


def planned(experiment: Experiment) -> list[Plan]:
    """Return the trials of an experiment with their fits, in the order of its file.

    The data are read and the code of the selectors is hashed now: later changes are noticed when a fit runs.
    """
    for method in experiment.methods:
        if not names_a_module(method.selector):  # which may be known to the workers only
            selector_named(method.selector)
    return [plan for data in experiment.data for plan in _planned_on(experiment, data)]


def _planned_on(experiment: Experiment, data: str) -> Iterator[Plan]:
    version = current_version(data, experiment.preparation(data))
    n_features = load_version(version).X.shape[1]
    for method in experiment.methods_for(data):
        counts = counts_of(experiment, method, data, n_features)
        draws = experiment.stability
        if draws is None or not method.stability or method.features == ALL_FEATURES:
            draws = None
        for setting in experiment.settings(method, data):
            parameters = identity({**method.parameters, **setting})
            fit = fit_of(version, method.selector, parameters, max(counts), raw=method.values == RAW)
            repeats = [replace(fit, draw=Draw(draws.samples, index)) for index in range(draws.fits)] if draws else []
            yield Plan(Trial(data, method, identity(setting), counts), fit, tuple(repeats))


def counts_of(experiment: Experiment, method: Method, data: str, n_features: int) -> tuple[int, ...]:
    """Return the numbers of features at which a method is evaluated on a data set; one may be listed twice."""
    if method.features == ALL_FEATURES:
        return (n_features,)
    counts = experiment.counts_of.get(data) or experiment.counts or default_feature_counts(data, n_features)
    if min(counts) > n_features:
        listed = ", ".join(map(str, counts))
        raise ValueError(f"{data} has only {n_features} features, fewer than any number to select: {listed}.")
    return tuple(count for count in counts if count <= n_features)


def evaluations_of(experiment: Experiment, plan: Plan, outcome: Outcome) -> dict[int, Evaluation]:
    """Return the evaluations of a fit by the number of features; none if it failed."""
    evaluation = partial(evaluation_of, measures=experiment.measures, n_runs=experiment.n_runs)
    counts = plan.trial.counts if "order" in outcome else ()
    return {count: evaluation(plan.fit.data, outcome["order"], count) for count in counts}


def _outcomes(
    name: str, store: Store, n_jobs: int | None, verbose: int, finished_only: bool, what: str, tasks: Iterable[Task]
) -> dict[str, Outcome]:
    """Return the outcomes of the tasks by key; each is run once unless it is in the store."""
    unique = {task.key: task for task in tasks}
    found = store.find(unique)
    missing = [task for key, task in unique.items() if key not in found]
    if missing and not finished_only:
        finished = _finished(missing, n_jobs)
        for key, outcome in with_progress(finished, len(missing), verbose, f"{name}: {what}", what.rstrip("s")):
            if "error" not in outcome and unique[key].code:  # failed fits are tried again next time
                store.add(key, outcome)
            found[key] = outcome
    return found


def _finished(tasks: Sequence[Task], n_jobs: int | None) -> Iterator[tuple[str, Outcome]]:
    """Run the tasks; yield each as soon as it is finished, in any order."""
    if (client := getattr(get_active_backend()[0], "client", None)) is not None:
        return _finished_on_dask(tasks, client)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    finished: Iterator[tuple[str, Outcome]] = parallel(delayed(_run)(task) for task in tasks)
    return finished


def _finished_on_dask(tasks: Sequence[Task], client: Any) -> Iterator[tuple[str, Outcome]]:
    """Run the tasks on a cluster; joblib's Dask backend hangs on a task that kills every worker."""
    from distributed import KilledWorker, as_completed

    deadly = []
    for future in as_completed(client.map(_run, tasks, pure=False)):
        try:
            yield future.result()
        except KilledWorker as error:
            deadly.append(error)
    if deadly:
        raise MemoryError(f"{len(deadly)} tasks killed every worker that ran them, perhaps out of memory: {deadly[0]}")


def _run(task: Task) -> tuple[str, Outcome]:
    return task.key, task.run()
