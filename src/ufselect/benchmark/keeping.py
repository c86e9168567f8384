"""Figures in a folder of results that need not be found again: the same code made them, from the same data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ufselect.benchmark.experiment import Experiment
from ufselect.benchmark.pieces import Outcome
from ufselect.benchmark.provenance import RECORD, basis, record_of
from ufselect.benchmark.restoring import KEYS, ResultFiles
from ufselect.benchmark.runner import STABILITY, Finished, Row, Trial

_Key = tuple[str, str, str]  # data set, method and setting


def kept_trials(experiment: Experiment, trials: Sequence[Trial], folder: str | Path) -> dict[Trial, Finished]:
    """Return what a folder of results has of the trials of an experiment.

    A trial is kept if code, data, parameters and judgement are the same now as in the record of the results, its fit
    succeeded, and all of its figures are there. Settings and methods that the experiment has beyond it do not matter.

    Parameters
    ----------
    experiment : Experiment
        The whole experiment, or a part of it.
    trials : sequence of Trial
        Those planned, see :func:`~.runner.planned_trials`.
    folder : path
        Where ``write_results`` wrote the results.

    Returns
    -------
    dict
        Empty if a file is missing.

    Raises
    ------
    ValueError
        If a file is damaged.
    """
    files = ResultFiles(Path(folder))
    same = _same_basis(files, record_of(experiment, trials), trials)
    if not same:
        return {}
    try:
        before = _Before.read(files, experiment.protocol)
    except FileNotFoundError:
        return {}
    found = {trial: before.finished(trial, experiment.measures) for trial in same}
    return {trial: finished for trial, finished in found.items() if finished is not None}


def _same_basis(files: ResultFiles, now: Mapping[str, Any], trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials whose figures would be the same as in the record, if they are there."""
    if not (record := files.record()):
        return []
    pairs = {(trial.data, trial.method.name) for trial in trials}
    try:
        same = {pair for pair in pairs if basis(record, *pair) == basis(now, *pair)}
    except (KeyError, TypeError, AttributeError) as error:
        path = files.folder / RECORD
        raise ValueError(f"{path} is damaged, so it is not known which code made these results.") from error
    known = (trial for trial in trials if trial.fit.source)  # code that only the workers have may have changed
    return [trial for trial in known if (trial.data, trial.method.name) in same]


@dataclass(frozen=True)
class _Before:
    """The outcomes of all fits in a folder of results, and their figures by number of features and metric."""

    outcomes: Mapping[_Key, Outcome]
    figures: Mapping[_Key, Mapping[tuple[int, str], Row]]

    @classmethod
    def read(cls, files: ResultFiles, protocol: str) -> _Before:
        costs = files.costs()
        keys = costs[KEYS].itertuples(index=False, name=None)
        outcomes = dict(zip(keys, files.outcomes(costs, protocol), strict=True))
        figures: dict[_Key, dict[tuple[int, str], Row]] = {}
        for row in files.rows():
            figures.setdefault((row.data, row.method, row.setting), {})[row.count, row.metric] = row
        return cls(outcomes, figures)

    def finished(self, trial: Trial, measures: Sequence[str]) -> Finished | None:
        """Return what was found, None unless it is whole and of the same numbers of features and measures."""
        key = trial.data, trial.method.name, trial.setting
        outcome, figures = self.outcomes.get(key), self.figures.get(key, {})
        wanted = [(count, metric) for count in trial.counts for metric in measures]
        if trial.repeats:
            wanted.append((trial.middle_count, STABILITY))
        if outcome is None or "error" in outcome or set(wanted) != set(figures):
            return None
        return Finished([figures[each] for each in dict.fromkeys(wanted)], outcome)
