"""Write tables to files."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ufselect.files.formats import file_format
from ufselect.files.table import Selection, Table

_WRITERS = {  # module, function
    "csv": ("write_text", "write_text"),
    "tsv": ("write_text", "write_text"),
    "parquet": ("write_parquet", "write_parquet"),
    "npy": ("write_arrays", "write_npy"),
    "npz": ("write_arrays", "write_npz"),
    "mat": ("write_arrays", "write_mat"),
    "h5ad": ("write_annotated", "write_h5ad"),
}


def check_writable(path: str | Path) -> None:
    """Raise an error if tables are not written in the format of a file, given by its suffix."""
    name = file_format(path)
    if name not in _WRITERS:
        raise ValueError(f"{path} cannot be written: .{name} files are only read; use .csv or .parquet, for example.")


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
    module, function = _WRITERS[file_format(path)]  # imported when needed: each brings a library of its own
    getattr(import_module(f"ufselect.files.{module}"), function)(Path(path), table, selection)
