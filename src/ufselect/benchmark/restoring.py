"""The results of a run, read from the files that it wrote: neither its data nor its finished pieces are needed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ufselect.benchmark.data import DataVersion
from ufselect.benchmark.experiment import ALL_FEATURES, RAW, Experiment, Method, identity
from ufselect.benchmark.output import COURSES, DATA, FIGURES, FITS
from ufselect.benchmark.pieces import Fit, Outcome
from ufselect.benchmark.preparing import prepared
from ufselect.benchmark.provenance import RECORD
from ufselect.benchmark.runner import DataSize, Results, Row, Trial, data_size, feature_counts
from ufselect.benchmark.schema import CONVERGENCE, known
from ufselect.datasets import load_dataset

_INTEGERS = ("peak_bytes", "n_iter", "n_clusters", "warnings")
KEYS = ["data", "method", "setting"]


def restored(experiment: Experiment, folder: str | Path) -> tuple[Experiment, Results]:
    """Read the results that ``write_results`` wrote.

    Parameters
    ----------
    experiment : Experiment
        As read from its file.
    folder : path
        The folder of its results.

    Returns
    -------
    experiment : Experiment
        Without the data sets that were not available.
    results : Results

    Raises
    ------
    FileNotFoundError
        If a file is missing. Folders without ``data.parquet`` are from earlier versions; the data sets are read then.
    ValueError
        If a file is damaged, or the experiment no longer has one of the methods.
    """
    files = ResultFiles(Path(folder))
    costs = files.costs()
    record = files.record()
    names = list(dict.fromkeys(costs.data))
    unavailable = tuple(record["unavailable"]) if "unavailable" in record else None
    used = names if unavailable is None else [name for name in experiment.data if name not in unavailable]
    experiment = replace(experiment.narrowed(data=used), unavailable=unavailable or ())
    sizes = files.sizes() or {name: _size_now(experiment, name) for name in names}
    source = _Source(experiment, record, sizes)
    trials = map(source.trial, costs.to_dict("records"))
    fits = list(zip(trials, files.outcomes(costs, experiment.protocol), strict=True))
    return experiment, Results(list(files.rows()), fits, _failed_repeats(fits, costs), sizes)


@dataclass(frozen=True)
class ResultFiles:
    """The files in a folder of results."""

    folder: Path

    def costs(self) -> pd.DataFrame:
        """Return the table of fits."""
        return self._frame(FITS, KEYS)

    def outcomes(self, costs: pd.DataFrame, protocol: str) -> list[Outcome]:
        """Return the outcome of every fit in the table; those of convergence have their best features and course."""
        courses = self._courses(costs) if protocol == CONVERGENCE else [{}] * len(costs)
        return [{**_outcome(row), **course} for row, course in zip(costs.to_dict("records"), courses, strict=True)]

    def rows(self) -> Iterator[Row]:
        """Return all figures."""
        columns = [*KEYS, "count", "metric", "value"]
        return itertools.starmap(Row, self._frame(FIGURES, columns)[columns].itertuples(index=False, name=None))

    def record(self) -> dict[str, Any]:
        """Return the record of the code and data that made the results, empty if there is none."""
        path = self.folder / RECORD
        if not path.is_file():
            return {}
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is damaged: {error}.") from error

    def sizes(self) -> dict[str, DataSize]:
        """Return the sizes of the data sets, empty if they were not stored."""
        if not (self.folder / DATA).is_file():
            return {}
        rows = self._frame(DATA).itertuples(index=False)
        return {row.data: DataSize(row.samples, row.features, row.class_sizes.tolist()) for row in rows}

    def _courses(self, costs: pd.DataFrame) -> list[Outcome]:
        """Return the best features of every fit and how its objective developed."""
        courses = self._frame(COURSES, KEYS)
        if not courses[KEYS].equals(costs[KEYS]):
            raise ValueError(f"{self.folder / COURSES} is damaged: its fits are not those of {FITS}.")
        rows = courses.drop(columns=KEYS).to_dict("records")
        return [{name: _as_list(value) for name, value in row.items() if value is not None} for row in rows]

    def _frame(self, name: str, columns: Sequence[str] = ()) -> pd.DataFrame:
        """Return the table of one file, which has at least these columns."""
        path = self.folder / name
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing; run the experiment first.")
        try:
            frame = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {str(error).rstrip('.')}.") from error
        if missing := [column for column in columns if column not in frame]:
            raise ValueError(f"{path} is damaged: it has no column {missing[0]!r}.")
        return frame


@dataclass(frozen=True)
class _Source:
    """What trials are made of: the experiment, the record of its results, and the sizes of its data."""

    experiment: Experiment
    record: Mapping[str, Any]
    sizes: Mapping[str, DataSize]

    def trial(self, row: Mapping[str, Any]) -> Trial:
        """Return the trial of a row of costs."""
        method, data = self._method(row["method"]), row["data"]
        n_features = self.sizes[data].features
        counts = (n_features,) if method.features == ALL_FEATURES else feature_counts(self.experiment, data, n_features)
        return Trial(data, method, row["setting"], self._fit(method, data, row["setting"], max(counts)), counts)

    def _fit(self, method: Method, data: str, setting: str, n_features: int) -> Fit:
        digest = self.record.get("data", {}).get(data, "")
        version = DataVersion(data, digest, self.experiment.preparation(data))
        parameters = identity({**method.parameters, **json.loads(setting)})
        source = self.record.get("code", {}).get(method.name, "")
        return Fit(version, method.selector, parameters, n_features, source, raw=method.values == RAW)

    def _method(self, name: str) -> Method:
        by_name = {method.name: method for method in self.experiment.methods}
        return by_name[known(name, tuple(by_name), "method", f"{FITS}: ")]


def _outcome(row: Mapping[str, Any]) -> Outcome:
    names = [name for name in row if name not in (*KEYS, "error_of_repeats") and not pd.isna(row[name])]
    return {name: int(row[name]) if name in _INTEGERS else row[name] for name in names}


def _failed_repeats(fits: list[tuple[Trial, Outcome]], costs: pd.DataFrame) -> list[tuple[Trial, str]]:
    errors = costs["error_of_repeats"] if "error_of_repeats" in costs else [None] * len(fits)
    return [(trial, error) for (trial, _), error in zip(fits, errors, strict=True) if isinstance(error, str)]


def _size_now(experiment: Experiment, name: str) -> DataSize:
    return data_size(prepared(load_dataset(name), experiment.preparation(name)))


def _as_list(values: Any) -> list[Any]:
    return [_as_list(value) if isinstance(value, np.ndarray) else value for value in values.tolist()]
