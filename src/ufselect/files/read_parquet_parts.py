"""Read several Parquet files as one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect._utils.memory import ensure_fits
from ufselect._utils.wording import counted, shortened
from ufselect.files.parquet_parts import ParquetParts, parquet_parts
from ufselect.files.read import errors_named
from ufselect.files.read_parquet import column_values, columns_of, empty_columns, fill_numbers, without_dictionary
from ufselect.files.table import Table, UnreadableError, row_labels

_SAME = "all files must have the same columns"


def read_parquet_parts(pattern: Path, aside: Sequence[str], transpose: bool = False) -> Table:
    """Read a table from all files that match a pattern, in the order of their names."""
    if transpose:
        raise ValueError(f"transpose=True does not apply to {pattern}: only a single file can be transposed.")
    files = parquet_parts(pattern, aside=aside)
    paths = list(dict.fromkeys(part.path for part in files.parts))
    X, late = _numbers(pattern, files, paths)
    reasons = files.reasons | late
    columns = _columns_aside(paths, [*reasons], [*files.names, *files.reasons])
    others = {name: column_values(column, reasons[name]) for name, column in columns.items()}
    if late:
        X = np.ascontiguousarray(X[:, [name not in late for name in files.names]])
    names = tuple(name for name in files.names if name not in late)
    notes = (f"{counted(files.n_files, 'file')} {'was' if files.n_files == 1 else 'were'} read.",)
    return Table(X, names, others, reasons, row_labels(others), pattern, notes)


def _numbers(pattern: Path, files: ParquetParts, paths: Sequence[Path]) -> tuple[NDArray[Any], dict[str, str]]:
    """Return the numeric columns as a matrix, and why some of them cannot be features after all."""
    from pyarrow import parquet

    n_bytes = files.shape[0] * files.shape[1] * np.dtype(files.dtype).itemsize
    ensure_fits(n_bytes, f"The numbers of {pattern}", "ufselect select --dask local reads them block by block")
    X = np.empty(files.shape, dtype=files.dtype)
    start, reasons = 0, dict[str, str]()
    for path in paths:
        with errors_named(path), parquet.ParquetFile(path) as file:
            stop = start + file.metadata.num_rows
            reasons |= fill_numbers(X[start:stop], file, list(files.names))
            start = stop
    return X, reasons | empty_columns(X, files.names)


def _columns_aside(paths: Sequence[Path], wanted: list[str], names: Sequence[str]) -> dict[str, Any]:
    """Return columns of all files by name; raise an error if a file has other columns, or others in type."""
    from pyarrow import parquet

    found: dict[str, list[Any]] = {name: [] for name in wanted}
    for path in paths:
        with errors_named(path), parquet.ParquetFile(path) as file:
            _check_columns(file.schema_arrow.names, names, paths[0])
            for name, column in columns_of(file, wanted):
                found[name].append(without_dictionary(column))
    return {name: _joined(name, columns, paths) for name, columns in found.items()}


def _check_columns(found: Sequence[str], expected: Sequence[str], first: Path) -> None:
    """Raise an error if a file has other columns than the first one."""
    for name in set(expected).symmetric_difference(found):
        difference = f"{'no' if name in expected else 'a'} column {shortened(name)!r}"
        raise UnreadableError(f"has {difference}, unlike {first}; {_SAME}.")


def _joined(name: str, columns: Sequence[Any], paths: Sequence[Path]) -> Any:
    import pyarrow as pa

    kinds = [column.type for column in columns if not pa.types.is_null(column.type)] or [pa.null()]
    for column, path in zip(columns, paths, strict=True):
        if column.type not in (kinds[0], pa.null()):
            kind, other = column.type, kinds[0]
            raise ValueError(f"{path} has {shortened(name)!r} as {kind}, another file as {other}; {_SAME} and types.")
    return pa.chunked_array([chunk for column in columns for chunk in column.cast(kinds[0]).chunks], kinds[0])
