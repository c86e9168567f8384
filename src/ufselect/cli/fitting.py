"""From a file and options to a fitted selector, with sentences on what was done and why."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

import ufselect
from ufselect.cli.options import Impute, Scale
from ufselect.cli.parameters import as_literal, method_named, when_auto
from ufselect.cli.printing import listed, percent

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.files import Table

_LEAST_WORKING_MEMORY, _MOST_WORKING_MEMORY = 64, 1024


@dataclass(frozen=True)
class Source:
    """Which numbers to read, and what to do to them before any method sees them."""

    path: Path
    aside: Sequence[str] = ()
    impute: Impute | None = None
    scale: Scale | None = None
    layer: str = ""


@dataclass(frozen=True)
class Numbers:
    """A table as it was read, its numbers as the methods get them, and what was done on the way."""

    table: Table
    X: Any
    notes: list[str]


def read_numbers(source: Source) -> Numbers:
    """Read a file; missing values and infinite ones are refused by the names of their columns."""
    from ufselect.files import infinite_values, missing_values, read_table, with_logarithms, with_medians

    table = read_table(source.path, aside=source.aside, layer=source.layer or None, verbose=1)
    notes = [_what_was_read(table), *_what_is_aside(table)]
    if infinite := infinite_values(table):
        raise ValueError(f"{_columns_with('infinite', infinite)}; replace them, or keep the column aside (--aside).")
    ready = table
    if missing := missing_values(table):
        if source.impute is None:
            raise ValueError(f"{_columns_with('missing', missing)}; --impute median fills them in.")
        ready = with_medians(table)
        notes.append(f"{_columns_with('missing', missing)}, replaced by the medians of their columns.")
    if source.scale is Scale.log1p:
        ready = with_logarithms(ready)
        notes.append("Every number x was replaced by log(1 + x); the columns keep the variance that they then have.")
    return Numbers(table, ready.X, notes)


def make_selector(
    method: str,
    *,
    features: str = "auto",
    clusters: str = "auto",
    scale: Scale | None = None,
    seed: int = 0,
    jobs: int = 1,
    parameters: Mapping[str, Any] | None = None,
    strict: bool = True,
) -> BaseSelector:
    """A selector by its name and the options of a command, checked before anything is read.

    ``strict`` refuses options that the method does not take; otherwise it goes without them.
    """
    name = method_named(method)
    cls = getattr(ufselect, name)
    taken = inspect.signature(cls).parameters
    _refuse_what_is_not_taken(name, taken, clusters if strict else "auto", scale if strict else None)
    shared = {
        "n_features_to_select": _as_number(features),
        "n_clusters": _as_number(clusters),
        "random_state": seed,
        "n_jobs": jobs,
        "scale": "standard" if scale in (None, Scale.standard) else None,
        "verbose": 1,
    }
    selector = cls(**{key: value for key, value in shared.items() if key in taken}, **(parameters or {}))
    selector._validate_params()
    return selector


def _as_number(text: str) -> Any:
    """A number where the text says one; truth values, which count as numbers in Python, are not meant."""
    value = as_literal(text)
    return text if isinstance(value, bool) else value


def fit_timed(selector: BaseSelector, X: Any) -> float:
    """Fit, with the seconds counted on the terminal; the seconds it took."""
    from ufselect._backend.progress import waiting

    start = perf_counter()
    with modest_resources(selector, X), waiting(type(selector).__name__):
        selector.fit(X)
    return perf_counter() - start


@contextmanager
def modest_resources(selector: BaseSelector, X: Any) -> Iterator[None]:
    """Blocks of work that leave room for the data, and one thread unless more are asked for.

    NumPy's and SciPy's own threads wait for each other, on a busy machine many times longer than they save.
    """
    from sklearn import config_context
    from threadpoolctl import threadpool_limits

    threads = 1 if getattr(selector, "n_jobs", 1) == 1 else None
    with threadpool_limits(threads), config_context(working_memory=_working_memory(X)):
        yield


def _working_memory(X: Any) -> int:
    """MB for blocks of work: scikit-learn's own gigabyte would be most of what a fit of a small file holds.

    Half the data's size will do, but the greedy choice keeps a number a column for every column taken, and must not end
    sooner than in a fit from Python.
    """
    n, d = X.shape
    needed = max((X.nnz if hasattr(X, "nnz") else n * d) // 2, d * (d + 1)) * 8 // 2**20
    return min(max(needed, _LEAST_WORKING_MEMORY), _MOST_WORKING_MEMORY)


def choices_made(selector: BaseSelector) -> list[str]:
    """How many clusters and columns there are, and why so many."""
    sentences = [f"Columns: {selector.n_features_:,}, {_why(selector, 'n_features_to_select')}."]
    if hasattr(selector, "n_clusters_"):
        sentences.insert(0, f"Clusters: {selector.n_clusters_:,}, {_why(selector, 'n_clusters')}.")
    return sentences


def what_is_kept(selector: BaseSelector) -> str:
    """The share of the learned structure that the selected columns keep, beside what all could; empty without one."""
    from ufselect._ranking import SUFFICIENT_SHARE
    from ufselect.inspection import structure_kept

    kept = structure_kept(selector)
    if kept is None:
        return ""
    auto = selector.n_features_to_select == "auto"
    # "auto" stops at 95 % of what all columns explain, so these explain kept/0.95 at the most.
    of_all = f" (all columns {percent(min(kept / SUFFICIENT_SHARE, 1.0))} at the most)" if auto else ""
    return f"{percent(kept)} of the learned structure{of_all}"


def _why(selector: BaseSelector, parameter: str) -> str:
    given = getattr(selector, parameter)
    if given == "auto":
        reason = when_auto(type(selector), parameter)
        return reason.replace("features", "columns") if parameter != "n_clusters" else f"read off {reason}"
    return f"{given:g} of all as asked" if isinstance(given, float) else "as asked"


def _refuse_what_is_not_taken(name: str, taken: Mapping[str, Any], clusters: str, scale: Scale | None) -> None:
    if "n_clusters" not in taken and clusters != "auto":
        raise typer.BadParameter(f"{name} does not count clusters", param_hint="--clusters")
    own = {"MaxVariance": "takes columns as they are", "RUFS": "maps every column onto 0 to 1"}
    refused = {"MaxVariance": (Scale.standard,), "RUFS": (Scale.standard, Scale.none)}
    if scale in refused.get(name, ()):
        raise typer.BadParameter(f"{name} {own[name]}", param_hint="--scale")


def _what_was_read(table: Table) -> str:
    from scipy.sparse import issparse

    n, d = table.shape
    kind = "sparse, " if issparse(table.X) else ""
    return f"{table.path.name}: {n:,} samples × {d:,} columns of numbers ({kind}{table.memory / 1e6:,.1f} MB)."


def _what_is_aside(table: Table) -> list[str]:
    if not table.aside:
        return []
    return [f"Kept aside: {listed([f'{name} ({table.reasons[name]})' for name in table.aside])}."]


def _columns_with(what: str, counts: Mapping[str, int]) -> str:
    values = sum(counts.values())
    plural = "value" if values == 1 else "values"
    return f"{values:,} {what} {plural} in {listed([f'{name} ({count:,})' for name, count in counts.items()])}"
