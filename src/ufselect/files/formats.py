"""Which files there are, and the way into and out of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ufselect.files.arrow import give_memory_back
from ufselect.files.table import Selection, Table, UnreadableError, shortened

FORMATS = "files may be .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .npy, .npz, .mat (up to version 7) or .h5ad."


@dataclass(frozen=True)
class _Format:
    suffixes: tuple[str, ...]
    title: str
    module: str
    reader: str
    writer: str
    options: tuple[str, ...] = ()


_KNOWN = {
    "csv": _Format((".csv", ".csv.gz"), "CSV", "text", "read_text", "write_text", ("verbose",)),
    "tsv": _Format((".tsv", ".tsv.gz"), "TSV", "text", "read_text", "write_text", ("verbose",)),
    "parquet": _Format((".parquet", ".pq"), "Parquet", "parquet", "read_parquet", "write_parquet"),
    "npy": _Format((".npy",), "NumPy array", "arrays", "read_npy", "write_npy"),
    "npz": _Format((".npz",), "NumPy archive", "arrays", "read_npz", "write_npz"),
    "mat": _Format((".mat",), "MATLAB file", "matlab", "read_mat", "write_mat"),
    "h5ad": _Format((".h5ad",), "AnnData", "annotated", "read_h5ad", "write_h5ad", ("layer",)),
}


def file_format(path: str | Path) -> str:
    """The format of a file, told by its suffix.

    Parameters
    ----------
    path : path
        The file need not exist.

    Returns
    -------
    {"csv", "tsv", "parquet", "npy", "npz", "mat", "h5ad"}

    Raises
    ------
    ValueError
        If there is no such format.

    Examples
    --------
    >>> from ufselect.files import file_format
    >>> file_format("samples/cells.CSV.gz")
    'csv'
    """
    name = Path(path).name.casefold()
    for kind, known in _KNOWN.items():
        if any(name.endswith(suffix) and name != suffix for suffix in known.suffixes):
            return kind
    raise ValueError(f"{path} has an ending that is not known; {FORMATS}")


def read_table(path: str | Path, *, aside: Sequence[str] = (), layer: str | None = None, verbose: int = 0) -> Table:
    r"""Read a table, numbers and other columns apart.

    Parameters
    ----------
    path : path
        Its suffix tells the format. Nothing is ever unpickled.
    aside : sequence of str, default=()
        Names of columns that are no features, though they may be numbers.
    layer : str, optional
        Take this layer of a .h5ad file in place of its X.
    verbose : int, default=0
        With 1, a text file that takes longer than a second shows a progress bar on standard error.

    Returns
    -------
    Table

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it does not hold a table of numbers; one sentence that names the file and the cause.

    Notes
    -----
    A column of a text file is one of numbers if all its values are numbers, or all are true or false; empty fields, NA,
    N/A, n/a, NaN, nan, -nan, null, NULL and None are missing values. The first line holds the names, unless all its
    fields are numbers, none is quoted, and they do not merely count the columns from 0 or 1: then the names are
    ``column 1``, ``column 2`` and so on. Where every row has one value more than there are names, as R writes it, or
    the first name is empty, or it is ``Unnamed: 0`` and the column counts the rows, the first column holds row labels.

    A column of a text or Parquet file with a whole number that a float would change is kept aside.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ufselect.files import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cells.csv")
    ...     size = path.write_text("cell,width,height\na,1.5,2\nb,NA,3\n")
    ...     table = read_table(path)
    >>> table.names, table.reasons
    (('width', 'height'), {'cell': 'text'})
    """
    known = _KNOWN[file_format(path)]
    if layer is not None and "layer" not in known.options:
        raise ValueError(f"Only .h5ad files have layers, and {path} is none.")
    _check_file(path)
    given = {"layer": layer, "verbose": verbose}
    options = {name: given[name] for name in known.options}
    try:
        table: Table = _function(known, known.reader)(Path(path), tuple(aside), **options)
        _check_table(table)
    except MemoryError:
        raise
    except ImportError as error:
        raise ValueError(f"{path} cannot be read without {error.name}: pip install {error.name}.") from error
    except UnreadableError as error:
        raise ValueError(f"{path} {error}") from error
    except Exception as error:  # readers of broken files fail with whatever they stumble on
        raise ValueError(f"{path} cannot be read as {known.title}: the file is damaged or incomplete.") from error
    give_memory_back()
    return table


def write_table(path: str | Path, table: Table, selection: Selection) -> None:
    """Write the columns kept aside, then the selected columns in the file's order, with the values as they were read.

    Parameters
    ----------
    path : path
        Its suffix tells the format. A .h5ad file gets all columns, with ``ufselect_score``, ``ufselect_rank`` and
        ``ufselect_selected`` in ``var``, and, where the table came from such a file, all else that was in it; a .npy
        file gets numbers only. From Parquet to Parquet, columns keep their types, and a data frame its index.
    table : Table
    selection : Selection

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the format is not known, or cannot hold a name or value.
    """
    known = _KNOWN[file_format(path)]
    _function(known, known.writer)(Path(path), table, selection)


def _function(known: _Format, name: str) -> Callable[..., Any]:
    """Modules are imported when their format is met: each brings a library that the others do without."""
    return getattr(import_module(f"ufselect.files.{known.module}"), name)


def _check_file(path: str | Path) -> None:
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    try:
        with open(path, "rb") as file:
            empty = not file.read(1)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except PermissionError:
        raise PermissionError(f"{path} may not be read: permission denied.") from None
    except OSError as error:
        raise OSError(f"{path} cannot be opened: {(error.strerror or 'unknown cause').lower()}.") from error
    if empty:
        raise ValueError(f"{path} is empty.")


def _check_table(table: Table) -> None:
    if not table.names:
        reasons = "; ".join(f"{shortened(name)!r}: {reason}" for name, reason in list(table.reasons.items())[:3])
        raise UnreadableError(f"has no column of numbers{f' ({reasons})' if reasons else ''}.")
    if not table.shape[0]:
        raise UnreadableError("has columns but no rows.")
