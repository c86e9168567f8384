"""What goes out of a table into a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.arrow import arrow_column, number_column
from ufselect.files.table import LARGEST_WHOLE, Table, in_working_precision, row_blocks


def comes_from_h5ad(table: Table) -> bool:
    """Whether the table was read from a .h5ad file."""
    return table.path.suffix.casefold() == ".h5ad"


def columns_aside(table: Table, apart: bool = False) -> dict[str, NDArray[Any]]:
    """The columns aside by the names they get in a file, which differ from those of features unless these are apart."""
    columns: dict[str, NDArray[Any]] = {}
    taken = set(table.aside) if apart else set(table.aside) | set(table.names)
    if comes_from_h5ad(table) and table.samples is not None:
        columns[_free("obs_names", taken, "_1")] = table.samples
    features = set() if apart else set(table.names)
    for name, values in table.aside.items():
        columns[_free(name, taken, "_obs") if name in features else name] = values
    return columns


def _free(name: str, taken: set[str], ending: str) -> str:
    while name in taken:
        name += ending
    taken.add(name)
    return name


def dense_block(X: Any, rows: slice, places: NDArray[Any]) -> NDArray[Any]:
    """Some rows of some columns, made dense."""
    if sp.issparse(X):
        return X[rows][:, places].toarray() if X.format == "csr" else X[:, places][rows].toarray()
    return X[rows] if len(places) == X.shape[1] else X[rows, places]


def selected_columns(table: Table, places: NDArray[Any]) -> Any:
    """The columns at these places; sparse ones stay sparse."""
    return table.X if len(places) == table.X.shape[1] else table.X[:, places]


def whole_numbers(X: Any, places: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether all values of each of these columns are whole numbers, none too large or a zero with a sign."""
    whole = np.ones(len(places), dtype=bool)
    for rows in row_blocks((X.shape[0], len(places))):
        block = dense_block(X, rows, places)
        fine = (block == np.rint(block)) & (np.abs(block) < LARGEST_WHOLE) & ~((block == 0) & np.signbit(block))
        whole &= (fine | np.isnan(block)).all(axis=0)
    return whole


def written_numbers(values: NDArray[Any]) -> Any:
    """The Arrow array of a column aside that is written to a text file."""
    if values.dtype.kind != "f":
        return arrow_column(values)
    values = in_working_precision(values)
    return number_column(values, bool(whole_numbers(values[:, None], np.array([0]))[0]))
