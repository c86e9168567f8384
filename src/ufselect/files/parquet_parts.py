"""Several Parquet files as one table, in memory or as a Dask array that is read in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect._utils.memory import ensure_fits
from ufselect._utils.wording import counted, shortened
from ufselect.files.errors import UnreadableError, check_file, errors_named
from ufselect.files.parquet import (
    column_values,
    columns_of,
    empty_columns,
    features_of,
    fill_numbers,
    floats,
    precision_of,
    without_dictionary,
)
from ufselect.files.registry import file_format
from ufselect.files.table import Table, row_labels

_FEWEST_BYTES = 2**26  # of a part, unless a file is smaller
_SAME = "all files must have the same columns"


@dataclass(frozen=True)
class Part:
    """Some row groups of a file, unread."""

    path: Path
    groups: tuple[int, ...]
    n_rows: int

    def read(self, names: Sequence[str], dtype: Any) -> NDArray[Any]:
        """Return some columns as a matrix."""
        from pyarrow import parquet

        with errors_named(self.path), parquet.ParquetFile(self.path) as file:
            table = file.read_row_groups(list(self.groups), columns=list(names), use_threads=False)
            X = np.empty((self.n_rows, len(names)), dtype=dtype)
            for index, name in enumerate(names):
                X[:, index] = floats(table.column(name))
        return X


@dataclass(frozen=True)
class ParquetParts:
    """The numeric columns of Parquet files with the same columns, and the parts to read them in."""

    parts: tuple[Part, ...]  # in the order of the files' names
    names: tuple[str, ...]  # of the numeric columns
    dtype: Any  # float32 if all of them are, else float64
    reasons: dict[str, str]  # why other columns are no features, by name
    n_files: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of numeric columns."""
        return sum(part.n_rows for part in self.parts), len(self.names)


def parquet_parts(pattern: str | Path, *, aside: Sequence[str] = ()) -> ParquetParts:
    """Look at Parquet files, given by a file, folder or pattern such as ``parts/*.parquet``, without their values."""
    paths = paths_matching(Path(pattern))
    files = [_parts_of_file(path, aside) for path in paths]
    for path, other in zip(paths, files, strict=True):
        _check_alike(path, other, paths[0], files[0])
    parts = tuple(part for each in files for part in each.parts)
    if not any(part.n_rows for part in parts):
        raise ValueError(f"{pattern} has columns but no rows.")
    return replace(files[0], parts=parts, n_files=len(paths))


def paths_matching(pattern: Path) -> list[Path]:
    """Return the Parquet files that match a pattern or are in a folder, in the order of their names."""
    if pattern.is_dir():
        pattern = pattern / "*.parquet"
    paths = sorted(Path(found) for found in glob(str(pattern))) if has_magic(str(pattern)) else [pattern]
    if not paths:
        raise FileNotFoundError(f"No file matches {pattern}.")
    for path in paths:
        if file_format(path) != "parquet":
            raise ValueError(f"{path} is not a Parquet file; only Parquet files are read together or in parts.")
    return paths


def _parts_of_file(path: Path, aside: Sequence[str]) -> ParquetParts:
    """Return what the footer of a file says; row groups that follow each other are joined to parts of enough rows."""
    from pyarrow import parquet

    check_file(path)
    with errors_named(path), parquet.ParquetFile(path) as file:
        names, reasons = features_of(file.schema_arrow, aside)
        if not names:
            raise UnreadableError("has no numeric column.")
        dtype = precision_of(file.schema_arrow, names)
        lengths = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    fewest_rows = -(-_FEWEST_BYTES // (len(names) * np.dtype(dtype).itemsize))
    parts: list[Part] = []
    groups: list[int] = []
    n_rows = 0
    for group, length in enumerate(lengths):
        groups.append(group)
        n_rows += length
        if n_rows >= fewest_rows or group == len(lengths) - 1:
            parts.append(Part(path, tuple(groups), n_rows))
            groups, n_rows = [], 0
    return ParquetParts(tuple(parts), tuple(names), dtype, reasons, 1)


def _check_alike(path: Path, other: ParquetParts, first_path: Path, first: ParquetParts) -> None:
    """Raise an error if a file has other numeric columns than the first one, or in another precision."""
    expected, found = set(first.names), set(other.names)
    missing = [name for name in first.names if name not in found]
    if expected != found:
        name = shortened(missing[0] if missing else next(name for name in other.names if name not in expected))
        difference = f"no numeric column {name!r}" if missing else f"a column {name!r}"
        raise ValueError(f"{path} has {difference}, unlike {first_path}; {_SAME}.")
    if other.dtype != first.dtype:
        raise ValueError(f"{path} and {first_path} differ in precision; all files must have the same types.")


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
            for name in set(names).symmetric_difference(file.schema_arrow.names):
                difference = f"{'no' if name in names else 'a'} column {shortened(name)!r}"
                raise UnreadableError(f"has {difference}, unlike {paths[0]}; {_SAME}.")
            for name, column in columns_of(file, wanted):
                found[name].append(without_dictionary(column))
    return {name: _joined(name, columns, paths) for name, columns in found.items()}


def _joined(name: str, columns: Sequence[Any], paths: Sequence[Path]) -> Any:
    import pyarrow as pa

    kinds = [column.type for column in columns if not pa.types.is_null(column.type)] or [pa.null()]
    for column, path in zip(columns, paths, strict=True):
        if column.type not in (kinds[0], pa.null()):
            kind, other = column.type, kinds[0]
            raise ValueError(f"{path} has {shortened(name)!r} as {kind}, another file as {other}; {_SAME} and types.")
    return pa.chunked_array([chunk for column in columns for chunk in column.cast(kinds[0]).chunks], kinds[0])


def array_of_parts(files: ParquetParts) -> Any:
    """Return a Dask array of the numeric columns, each block of which is a part of a file."""
    import dask
    import dask.array as da

    blocks = [
        da.from_delayed(
            dask.delayed(part.read, pure=False)(files.names, files.dtype),
            shape=(part.n_rows, len(files.names)),
            dtype=files.dtype,
        )
        for part in files.parts
        if part.n_rows
    ]
    return da.concatenate(blocks, axis=0)
