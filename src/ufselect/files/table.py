"""Tables of numbers, what came with them, and what is asked of them before a fit."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

ASKED_FOR = "asked for"
TOO_LONG = "whole numbers too long for a float"
LARGEST_WHOLE = 2.0**53  # from here on, floats leave out whole numbers
_BLOCK = 4_000_000  # values looked at together


class UnreadableError(ValueError):
    """Why a file cannot be taken, as the end of a sentence that begins with the file's name."""


class RaggedError(UnreadableError):
    """A row has more or fewer values than there are columns."""

    def __init__(self, row: int, found: int, wanted: int) -> None:
        names = f"the header has {wanted} name{'s' * (wanted != 1)}"
        reason = names if row == 1 else f"there should be {wanted}"
        super().__init__(f"has {found} value{'s' * (found != 1)} in row {row} where {reason}.")
        self.is_one_name_short = row == 1 and found == wanted + 1


@dataclass(frozen=True)
class Table:
    """Numbers to choose columns from, and what came with them.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Dense and C-ordered, or compressed sparse rows or columns; float64, or float32 where the file holds that.
    names : tuple of str
        The names of the d columns, all different.
    aside : dict
        Columns that are no numbers, or were asked to be kept aside, by name, in the file's order.
    reasons : dict
        Why each of them is aside, in a few words.
    samples : ndarray of shape (n,) or None
        A label for every row, where the file has one.
    path : Path
        Where the table was read from.
    """

    X: Any
    names: tuple[str, ...]
    aside: dict[str, NDArray[Any]]
    reasons: dict[str, str]
    samples: NDArray[Any] | None
    path: Path

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, number of columns of numbers."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def memory(self) -> int:
        """Bytes that the numbers take."""
        if sp.issparse(self.X):
            return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)
        return int(self.X.nbytes)


@dataclass(frozen=True)
class Selection:
    """What a selector made of a table's columns.

    Parameters
    ----------
    scores : ndarray of shape (d,)
    ranking : ndarray of shape (d,)
        1 is the best column.
    n_features : int
        Columns with a rank up to this one are selected.
    """

    scores: NDArray[Any]
    ranking: NDArray[Any]
    n_features: int

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Whether each column is selected."""
        return np.asarray(self.ranking) <= self.n_features


def in_working_precision(X: Any) -> Any:
    """The numbers as float32 where they are floats of at most that length, else as float64; copied if need be."""
    dtype = np.dtype(np.float32 if X.dtype.kind == "f" and X.dtype.itemsize <= 4 else np.float64)
    if sp.issparse(X):
        return X.astype(dtype, copy=False)
    return np.ascontiguousarray(X, dtype=dtype)


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, where they are all different."""
    if len(set(names)) == len(names):
        return tuple(names)
    twice = [name for name, count in Counter(names).items() if count > 1]
    raise UnreadableError(f"has several columns named {listed(twice)}; names must differ.")


def listed(names: Sequence[str], most: int = 5) -> str:
    """A few names for a message, each short enough to be read."""
    shown = [repr(shortened(name)) for name in names[:most]]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown) + more


def shortened(text: str, most: int = 40) -> str:
    """The text, or its beginning where it is long."""
    return text if len(text) <= most else text[: most - 1] + "…"


def check_asked(asked: Sequence[str], names: Sequence[str]) -> None:
    """Refuse names to be kept aside that the file does not have."""
    known = set(names)
    for name in asked:
        if name not in known:
            near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
            hint = f"; the nearest names are {listed(near)}" if near else f"; its columns are {listed(names)}"
            raise UnreadableError(f"has no column named {shortened(name)!r}{hint}.")


def row_labels(aside: dict[str, NDArray[Any]]) -> NDArray[Any] | None:
    """The first text column whose values are all there and all different."""
    for values in aside.values():
        is_text = values.dtype.kind == "O" and all(isinstance(value, str) for value in values)
        if is_text and len(set(values)) == len(values):
            return values
    return None


def missing_values(table: Table) -> dict[str, int]:
    """The number of missing values by column, of columns that have some."""
    return _named_counts(table, np.isnan)


def infinite_values(table: Table) -> dict[str, int]:
    """The number of infinite values by column, of columns that have some."""
    return _named_counts(table, np.isinf)


def with_medians(table: Table) -> Table:
    """The table with missing values replaced by the median of the column's other values.

    The zeros that a sparse matrix does not store count as values.

    Raises
    ------
    ValueError
        If a column has no other values.
    """
    places = np.flatnonzero(_counts(table.X, np.isnan))
    if not len(places):
        return table
    X = table.X.tocsc(copy=True) if sp.issparse(table.X) else table.X.copy()
    for place in places:
        column = X.data[X.indptr[place] : X.indptr[place + 1]] if sp.issparse(X) else X[:, place]
        missing = np.isnan(column)
        column[missing] = _median(column[~missing], table.shape[0] - len(column), table.names[place])
    return replace(table, X=X.asformat(table.X.format) if sp.issparse(X) else X)


def with_logarithms(table: Table) -> Table:
    """The table with log(1 + x) in place of x; a sparse matrix stays sparse.

    Raises
    ------
    ValueError
        If a value is negative.
    """
    negative = np.flatnonzero(_counts(table.X, lambda values: values < 0))
    if len(negative):
        column = table.X[:, [negative[0]]]
        value = np.nanmin(column.data if sp.issparse(column) else column)
        raise ValueError(
            f"Column {shortened(table.names[negative[0]])!r} has the negative value {value:g}; "
            "logarithms need values of zero or more."
        )
    if not sp.issparse(table.X):
        return replace(table, X=np.log1p(table.X))
    X = table.X.copy()
    np.log1p(X.data, out=X.data)
    return replace(table, X=X)


def _median(others: NDArray[Any], n_zeros: int, name: str) -> Any:
    if len(others) + n_zeros == 0:
        raise ValueError(f"Column {shortened(name)!r} has no values at all; keep it aside or remove it.")
    return np.median(np.concatenate([others, np.zeros(n_zeros, others.dtype)]))


def _named_counts(table: Table, test: Callable[[Any], Any]) -> dict[str, int]:
    counts = _counts(table.X, test)
    return {table.names[place]: int(counts[place]) for place in np.flatnonzero(counts)}


def _counts(X: Any, test: Callable[[Any], Any]) -> NDArray[np.int64]:
    """How many values of each column pass the test, which zero must not."""
    if sp.issparse(X):
        columns = X.indices if X.format == "csr" else np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        return np.bincount(columns[test(X.data)], minlength=X.shape[1])
    counts = np.zeros(X.shape[1], dtype=np.int64)
    for rows in row_blocks(X.shape):
        counts += np.count_nonzero(test(X[rows]), axis=0)
    return counts


def row_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    """Slices of rows that hold a bounded number of values each."""
    step = max(1, _BLOCK // max(1, shape[1]))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)
