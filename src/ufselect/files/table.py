"""The table that every reader returns and every writer takes, and what they share."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect._utils.wording import listed, shortened
from ufselect.files.errors import UnknownColumnsError, UnreadableError
from ufselect.files.registry import check_writable, format_of, imported, known_format

REQUESTED = "requested"
TOO_LONG = "integers too long for a float"
UNNAMED = "no name: taken as row labels"
LARGEST_INTEGER = 2.0**53  # floats skip integers from here on
_BLOCK = 4_000_000  # values per block


@dataclass(frozen=True)
class Table:
    """The numeric columns of a file, and its other columns.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Dense and C-contiguous, or CSR or CSC; float64, or float32 if the file holds float32.
    names : tuple of str
        Unique names of the d columns.
    aside : dict
        Columns that are not features, by name and in the order of the file: those without numbers, and those that the
        caller named.
    reasons : dict
        Why each of them is set aside, in a few words.
    samples : ndarray of shape (n,) or None
        A unique label for each row, if the file has any.
    path : Path
        The file, or the pattern of several files.
    notes : tuple of str
        Sentences on how it was read.
    """

    X: Any
    names: tuple[str, ...]
    aside: dict[str, NDArray[Any]]
    reasons: dict[str, str]
    samples: NDArray[Any] | None
    path: Path
    notes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of numeric columns."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def memory(self) -> int:
        """Size of the numbers in bytes."""
        if sp.issparse(self.X):
            return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)
        return int(self.X.nbytes)


@dataclass(frozen=True)
class Selection:
    """The result of a selector for the columns of a table."""

    scores: NDArray[Any]
    ranking: NDArray[Any]  # 1 is the best column
    n_features: int  # columns ranked up to this number are selected
    record: dict[str, Any] = field(default_factory=dict)  # how it came about, for formats that can hold that
    q_values: NDArray[Any] | None = None  # None if the columns were not tested

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Whether each column is selected."""
        return np.asarray(self.ranking) <= self.n_features


def check_real_numbers(X: Any) -> None:
    """Raise an error if an array does not hold real numbers."""
    if X.dtype.kind not in "biuf":
        kind = "named fields" if X.dtype.names else "complex numbers" if X.dtype.kind == "c" else "text or objects"
        raise UnreadableError(f"holds {kind}, not a table of numbers.")


def in_working_precision(X: Any) -> Any:
    """Return X as float32 if it holds floats of at most that size, else as float64; copied only if necessary."""
    dtype = np.dtype(np.float32 if X.dtype.kind == "f" and X.dtype.itemsize <= 4 else np.float64)
    if sp.issparse(X):
        return X.astype(dtype, copy=False)
    return np.ascontiguousarray(X, dtype=dtype)


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names if they are unique."""
    if len(set(names)) == len(names):
        return tuple(names)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    raise UnreadableError(f"has several columns named {listed(repeated, quoted=True)}; names must be unique.")


def check_aside(aside: Sequence[str], names: Sequence[str]) -> None:
    """Raise an error if a column to set aside is not in the file."""
    known = set(names)
    if unknown := tuple(name for name in aside if name not in known):
        close = difflib.get_close_matches(unknown[0], names, n=3, cutoff=0.5)
        found = listed(close or names, quoted=True)
        hint = f"the closest names are {found}" if close else f"its columns are {found}"
        raise UnknownColumnsError(f"has no column named {shortened(unknown[0])!r}; {hint}.", unknown)


def row_labels(aside: dict[str, NDArray[Any]]) -> NDArray[Any] | None:
    """Return the first text column without missing values or duplicates."""
    for values in aside.values():
        is_text = values.dtype.kind == "O" and all(isinstance(value, str) for value in values)
        if is_text and len(set(values)) == len(values):
            return values
    return None


def with_columns_aside(table: Table, aside: Sequence[str]) -> Table:
    """Return the table with some of its numeric columns set aside."""
    check_aside(aside, [*table.names, *table.aside])
    indices = [index for index, name in enumerate(table.names) if name in aside]
    values = {index: dense_block(table.X, slice(None), np.array([index]))[:, 0] for index in indices}
    return with_values_aside(table, values, REQUESTED)


def with_values_aside(table: Table, values: Mapping[int, NDArray[Any]], reason: str) -> Table:
    """Return the table with these numeric columns set aside, as ``NAME_feature`` if the name is already taken there."""
    if not values:
        return table
    kept = np.setdiff1d(np.arange(len(table.names)), list(values))
    taken = {*table.names, *table.aside}
    moved = {}
    for index, column in values.items():
        name = table.names[index]
        moved[unused_name(name, taken, "_feature") if name in table.aside else name] = column
    X = table.X[:, kept] if sp.issparse(table.X) else np.ascontiguousarray(table.X[:, kept])
    reasons = dict.fromkeys(moved, reason) | table.reasons
    names = tuple(table.names[j] for j in kept)
    return replace(table, X=X, names=names, aside=moved | table.aside, reasons=reasons)


def unused_name(name: str, taken: set[str], ending: str) -> str:
    """Return the name, with the ending as often as makes it differ from those taken, and add it to them."""
    while name in taken:
        name += ending
    taken.add(name)
    return name


def dense_block(X: Any, rows: slice, columns: NDArray[Any]) -> NDArray[Any]:
    """Return some rows of some columns as a dense array."""
    if sp.issparse(X):
        return X[rows][:, columns].toarray() if X.format == "csr" else X[:, columns][rows].toarray()
    return X[rows] if len(columns) == X.shape[1] else X[rows, columns]


def row_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    """Yield slices of rows with a bounded number of values each."""
    step = max(1, _BLOCK // max(1, shape[1]))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def with_long_integers_aside(table: Table, X: NDArray[Any]) -> Table:
    """Return the table without the columns that floats would change, which go aside as they are in X."""
    native = X.dtype.newbyteorder("=")
    long = np.zeros(X.shape[1], dtype=bool)
    for rows in row_blocks(X.shape) if may_be_long(X) else ():
        long |= _changed(X[rows]).any(axis=0)
    values = {index: X[:, index].astype(native) for index in np.flatnonzero(long).tolist()}
    return with_values_aside(table, values, TOO_LONG)


def check_integers_of_sparse(values: NDArray[Any]) -> None:
    """Raise an error if floats would change a value of a sparse matrix, whose columns cannot be told apart yet."""
    changed = values[_changed(values)] if may_be_long(values) else values[:0]
    if len(changed):
        shown = f"such as {changed.flat[0]}"
        raise UnreadableError(f"has integers in a sparse matrix that are too long for a float, {shown}; remove them.")


def may_be_long(values: NDArray[Any]) -> bool:
    """Whether an array has integers beyond 2⁵³, of either sign."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return False
    return max(int(values.max()), -int(values.min())) > LARGEST_INTEGER


def _changed(integers: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a float would change each integer; one that is rounded to 2⁶³ or 2⁶⁴ has no way back."""
    floats = integers.astype(np.float64)
    too_large = floats >= 2.0 ** (64 - (integers.dtype.kind == "i"))
    return too_large | (np.where(too_large, 0, floats).astype(integers.dtype) != integers)


# Writing


def write_table(path: str | Path, table: Table, selection: Selection) -> None:
    """Write the columns set aside, then the selected columns in the order of the file, with their original values.

    Parameters
    ----------
    path : path
        The suffix gives the format. A .h5ad file gets all columns, with ``ufselect_score``, ``ufselect_rank`` and
        ``ufselect_selected`` in ``var``, and everything else that the .h5ad file of the table holds. A .npy file gets
        numbers only. From Parquet to Parquet, columns keep their types, and a data frame its index.
    table : Table
    selection : Selection

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the format is unknown, or cannot hold a name or value.
    """
    check_writable(path)
    imported(format_of(path).writer)(Path(path), table, selection)


def comes_from(table: Table, name: str) -> bool:
    """Whether the table was read from a file of this format."""
    known = known_format(table.path)
    return known is not None and known.name == name


def columns_aside(table: Table, features_apart: bool = False) -> dict[str, NDArray[Any]]:
    """Return the columns set aside by their names in the file, unlike those of features unless it keeps them apart."""
    columns: dict[str, NDArray[Any]] = {}
    features = set() if features_apart else set(table.names)
    taken = set(table.aside) | features
    if comes_from(table, "h5ad") and table.samples is not None:
        columns[unused_name("obs_names", taken, "_1")] = table.samples
    for name, values in table.aside.items():
        columns[unused_name(name, taken, "_obs") if name in features else name] = values
    return columns
