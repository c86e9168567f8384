"""Write the selected columns of a table to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ufselect.files.registry import check_writable, format_of, known_format
from ufselect.files.table import Selection, Table, unused_name


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
    format_of(path).write(Path(path), table, selection)


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
