"""Scales of columns: what a default selection is worth on sets with classes and beside noise, by the scale.

The sets are those of the folder ``UFSELECT_DATA`` and of its subfolders "more" and "many", read and judged as
``experiments/real.toml`` says: a selector gets the columns as they are, k-means standardised ones if units differ.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import DATA_VARIABLE, say, table
from significance import NOISES, noisy
from significance_of_real_data import best_columns, counts_of, prepared_set
from sklearn.base import clone

from ufselect import KernelFSASL
from ufselect.columns.moments import amplitudes, column_spreads, constant_columns
from ufselect.metrics import clustering_agreement

DEFAULT, SPREAD, SPREAD_AND_MEDIAN, AMPLITUDE = "the default", "s", "s + s̃", "s√κ"
DEFAULT_WITH_TEST = "the default, fdr=0.05"
LIMITS = (0.5, 0.75, 1.25, 1.5, 2.0)
GROUPS = {
    "all": lambda _: True,
    "the paper's": lambda each: each.folder == "paper",
    "more": lambda each: each.folder == "more",
    "many": lambda each: each.folder == "many",
    "unlike units": lambda each: each.kind == "unlike",
    "sparse counts": lambda each: each.kind == "sparse",
    "others": lambda each: each.kind == "other",
}
"""Sets whose means are shown."""


@dataclass(frozen=True)
class ColumnSizes:
    """Sizes of the columns of X, none of which is constant."""

    X: Any

    @cached_property
    def _moments(self) -> tuple[Any, Any]:
        return column_spreads(self.X)

    @cached_property
    def dense(self) -> Any:
        """X, dense."""
        return self.X.toarray() if sp.issparse(self.X) else self.X

    @cached_property
    def s(self) -> Any:
        """Standard deviations."""
        return self._moments[1]

    @cached_property
    def span(self) -> Any:
        """Ranges."""
        return np.ptp(self.dense, axis=0).astype(np.float64)

    @cached_property
    def mean_deviation(self) -> Any:
        """Means of absolute deviations."""
        return np.abs(self.dense - self._moments[0]).mean(axis=0)

    @cached_property
    def amplitude(self) -> Any:
        """Amplitudes."""
        return amplitudes(self.X, *self._moments)


def _plus_median(spread: Any) -> Any:
    return spread + np.median(spread)


DIVISORS: dict[str, Callable[[ColumnSizes], Any]] = {
    "nothing": lambda each: np.ones(len(each.s)),
    SPREAD: lambda each: each.s,
    SPREAD_AND_MEDIAN: lambda each: _plus_median(each.s),
    "range, then s + s̃": lambda each: each.span * _plus_median(each.s / each.span),
    "s²/mean deviation": lambda each: each.s**2 / each.mean_deviation,
    "s²/mean deviation, then s + s̃": lambda each: (
        each.s**2 / each.mean_deviation * _plus_median(each.mean_deviation / each.s)
    ),
    AMPLITUDE: lambda each: each.amplitude,
}
"""What columns x, less their means, may be divided by."""


@dataclass(frozen=True)
class Result:
    """ACC and NMI in percent on a set: by divisor, and by what was done to the columns before and divisor."""

    name: str
    folder: str
    kind: str
    octaves: float
    by_divisor: dict[str, tuple[float, float]]
    by_change: dict[tuple[str, str], tuple[float, float]]


def selections_by_scale(n_tables: int = 10, most_columns: int | None = None) -> str | None:
    """Return tables on all sets, on sets whose units were changed and on noise; None without the data."""
    if not os.environ.get(DATA_VARIABLE):
        return None
    folder = Path(os.environ[DATA_VARIABLE])
    folders = {"paper": folder, "more": folder / "more", "many": folder / "many"}
    paths = [(name, path) for name, part in folders.items() for path in sorted(part.glob("*.npz"))]
    results = [found for name, path in paths if (found := _of_set(name, path, most_columns))]
    return "\n\n".join([_means(results), _means_by_change(results), _every_set(results), _beside_noise(n_tables)])


def _of_set(folder: str, path: Path, most_columns: int | None) -> Result | None:
    data, classes = prepared_set(path)
    if classes is None or (most_columns and data.X.shape[1] > most_columns):
        return None
    X = data.X[:, ~constant_columns(data.X)]
    data = data._replace(X=X)
    say(f"scales: {path.stem}")

    def judged(X: Any, divisor: str) -> tuple[float, float]:
        counts = counts_of(X.shape[1])
        selector = KernelFSASL(counts[-1]).fit(X) if divisor == DEFAULT else _fit(X, divisor, counts[-1])
        found = [clustering_agreement(data.judged(best_columns(selector, count)), classes) for count in counts]
        acc, nmi = (100.0 * float(np.mean([each[key] for each in found])) for key in ("acc", "nmi"))
        return acc, nmi

    octaves = float(np.std(np.log2(ColumnSizes(X).amplitude)))
    by_divisor = {divisor: judged(X, divisor) for divisor in (*DIVISORS, DEFAULT)}
    for limit in LIMITS:
        rule = AMPLITUDE if octaves > limit else SPREAD_AND_MEDIAN
        by_divisor[f"{AMPLITUDE} above {limit} octaves"] = by_divisor[rule]
    by_change = {
        (change, divisor): judged(values, divisor)
        for change, values in _in_other_units(X, path.stem)
        for divisor in (SPREAD_AND_MEDIAN, DEFAULT)
    }
    kind = "unlike" if data.standardize else "sparse" if sp.issparse(X) else "other"
    return Result(path.stem, folder, kind, octaves, by_divisor, by_change)


def _fit(X: Any, divisor: str, count: int) -> KernelFSASL:
    factor = 1.0 / DIVISORS[divisor](ColumnSizes(X))
    divided = sp.csr_array(X @ sp.diags_array(factor)) if sp.issparse(X) else X * factor
    return KernelFSASL(count, scale=None).fit(divided)


def _in_other_units(X: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a dense X in other units; zeros would not stay zeros in a sparse one."""
    if sp.issparse(X):
        return
    sizes = ColumnSizes(X)
    powers = np.random.default_rng(list(name.encode())).integers(-3, 4, X.shape[1])
    yield "times 10ᵏ, k from −3 to 3", X * 10.0**powers
    yield "standardised", (X - X.mean(axis=0)) / sizes.s
    yield "divided by its range", X / sizes.span


def _means(results: list[Result]) -> str:
    groups = {label: [each for each in results if belongs(each)] for label, belongs in GROUPS.items()}
    groups = {label: group for label, group in groups.items() if group}
    rows = [
        [divisor, *(_mean([each.by_divisor[divisor] for each in group]) for group in groups.values())]
        for divisor in results[0].by_divisor
    ]
    return table(["divided by", *(f"{label}, {len(group)}" for label, group in groups.items())], rows)


def _means_by_change(results: list[Result]) -> str:
    kinds = ("unlike", "other")
    changed = {kind: [each.by_change for each in results if each.kind == kind] for kind in kinds}
    rows = [
        [*key, *(_mean([by_change[key] for by_change in changed[kind]]) for kind in kinds)]
        for key in changed["unlike"][0]
    ]
    return table(["every column", "divided by", "unlike units", "others"], rows)


def _mean(scores: list[tuple[float, float]]) -> str:
    return _pair(np.mean(scores, axis=0))


def _pair(scores: Any) -> str:
    return f"{scores[0]:.1f} / {scores[1]:.1f}"


def _every_set(results: list[Result]) -> str:
    divisors = (SPREAD, SPREAD_AND_MEDIAN, AMPLITUDE, DEFAULT)
    rows = []
    for each in sorted(results, key=lambda each: each.octaves):
        changed = [_pair(score) for (_, divisor), score in each.by_change.items() if divisor == DEFAULT][:1] or [""]
        scores = [_pair(each.by_divisor[divisor]) for divisor in divisors]
        rows.append([each.name, each.kind, f"{each.octaves:.2f}", *scores, *changed])
    return table(["set", "units", "octaves", *divisors, "the default, columns times 10ᵏ"], rows)


def _beside_noise(n_tables: int) -> str:
    """The share of useful columns among ten, beside louder noise."""
    selectors = {DEFAULT: KernelFSASL(10), DEFAULT_WITH_TEST: KernelFSASL(10, fdr=0.05)}
    rows = []
    for kind in NOISES:
        say(f"scales: {kind}")
        tables = [noisy(np.random.default_rng(seed), kind) for seed in range(n_tables)]
        fits = [[_fit(X, divisor, 10) for X in tables] for divisor in DIVISORS]
        fits += [[clone(selector).fit(X) for X in tables] for selector in selectors.values()]
        shares = [np.mean([fit.get_support()[:10].mean() for fit in by_scale]) for by_scale in fits]
        rows.append([kind, *(f"{share:.2f}" for share in shares)])
    return table([f"ten useful columns beside, {n_tables} tables", *DIVISORS, *selectors], rows)
