"""A folder of results: the record of what made it, and its figures, read without the data and the store."""

from __future__ import annotations

import itertools
import json
import platform
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ufselect
from ufselect.benchmark.data import Preparation
from ufselect.benchmark.experiment import CONVERGENCE, Experiment, Method, Quick, Stability, with_tuples
from ufselect.benchmark.fits import Outcome
from ufselect.benchmark.runner import DataSize, Results, Row, Trial, counts_of

RECORD, FIGURES, FITS = "made_by.json", "figures.parquet", "fits.parquet"
DATA, COURSES = "data.parquet", "courses.parquet"

_KEYS = ["data", "method", "setting"]
_INTEGERS = ("peak_bytes", "n_iter", "n_clusters", "warnings")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def record_text(experiment: Experiment, results: Results) -> str:
    """Return what made the results as JSON: commit, versions, processor, digests of the data, and the experiment."""
    record = {
        "commit": current_commit(),
        "ufselect": ufselect.__version__,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES},
        "processor": processor(),
        "data": results.digests,
        "experiment": asdict(experiment),
    }
    return json.dumps(record, indent=1, ensure_ascii=False, default=list) + "\n"  # a grid may be a range


def current_commit() -> str | None:
    """Return the commit of the package's code, marked if files were changed since; None outside of a repository."""
    package = Path(__file__).parents[1]

    def answer(*command: str) -> str:
        return subprocess.run(["git", *command], cwd=package, capture_output=True, text=True, check=True).stdout.strip()

    try:
        answer("ls-files", "--error-unmatch", Path(__file__).as_posix())
        changed = answer("status", "--porcelain", "--", ".")
        return answer("rev-parse", "HEAD") + (" and changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):  # no Git, or installed from an archive
        return None


def processor() -> str:
    """Return the name of the processor."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _recorded_experiment(record: dict[str, Any]) -> Experiment:
    """Return the experiment in a record."""
    content = with_tuples(record["experiment"])
    content["methods"] = tuple(Method(**with_tuples(each)) for each in content["methods"])
    content["preparations"] = {name: Preparation(**each) for name, each in content["preparations"].items()}
    content["quick"] = Quick(**with_tuples(content["quick"]))
    content["stability"] = content["stability"] and Stability(**content["stability"])
    content["counts_of"] = with_tuples(content["counts_of"])
    return Experiment(**content)


def read_results(folder: str | Path) -> tuple[Experiment, Results]:
    """Read the results that ``write_results`` wrote, and the experiment as it was then."""
    folder = Path(folder)
    table = _frame(folder / FITS, _KEYS)
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        experiment, digests = _recorded_experiment(record), dict(record["data"])
    except FileNotFoundError:
        raise FileNotFoundError(f"{folder / RECORD} is missing; run the experiment first.") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{folder / RECORD} is damaged: {error}.") from error
    sizes = {
        row.data: DataSize(row.samples, row.features, row.class_sizes.tolist())
        for row in _frame(folder / DATA, ["data", "samples", "features", "class_sizes"]).itertuples()
    }
    methods = {method.name: method for method in experiment.methods}
    courses: list[Outcome] = [{}] * len(table)
    if experiment.protocol == CONVERGENCE:
        courses = _courses(folder / COURSES, table)
    results = Results(sizes=sizes, digests=digests)
    for row, course in zip(table.to_dict("records"), courses, strict=True):
        method = methods[row["method"]]
        counts = counts_of(experiment, method, row["data"], sizes[row["data"]].features)
        trial = Trial(row["data"], method, row["setting"], counts)
        results.fits.append((trial, {**_outcome(row), **course}))
        if isinstance(failure := row.get("error_of_repeats"), str):
            results.failed_repeats.append((trial, failure))
    columns = [*_KEYS, "count", "metric", "value"]
    figures = _frame(folder / FIGURES, columns)
    results.rows += itertools.starmap(Row, figures[columns].itertuples(index=False, name=None))
    return experiment, results


def _frame(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return the table of one file, which has at least these columns."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; run the experiment first.")
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {str(error).rstrip('.')}.") from error
    if missing := [column for column in columns if column not in frame]:
        raise ValueError(f"{path} is damaged: it has no column {missing[0]!r}.")
    return frame


def _courses(path: Path, table: pd.DataFrame) -> list[Outcome]:
    """Return the best features of every fit and how its objective developed."""
    courses = _frame(path, _KEYS)
    if not courses[_KEYS].equals(table[_KEYS]):
        raise ValueError(f"{path} is damaged: its fits are not those of {FITS}.")
    rows = courses.drop(columns=_KEYS).to_dict("records")
    return [{name: _as_list(value) for name, value in row.items() if value is not None} for row in rows]


def _outcome(row: dict[str, Any]) -> Outcome:
    names = [name for name in row if name not in (*_KEYS, "error_of_repeats") and not pd.isna(row[name])]
    return {name: int(row[name]) if name in _INTEGERS else row[name] for name in names}


def _as_list(values: Any) -> list[Any]:
    return [_as_list(value) if isinstance(value, np.ndarray) else value for value in values.tolist()]
