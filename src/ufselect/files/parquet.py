"""Read and write Parquet files; several are one table, in memory or as a Dask array that is read in parts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect._utils.memory import ensure_fits
from ufselect._utils.wording import counted, shortened
from ufselect.files.arrow import arrow_column, number_column, object_array, text_array
from ufselect.files.errors import UnreadableError, check_file, errors_named
from ufselect.files.registry import file_format
from ufselect.files.table import (
    LARGEST_INTEGER,
    REQUESTED,
    TOO_LONG,
    UNNAMED,
    Selection,
    Table,
    check_aside,
    checked_names,
    columns_aside,
    comes_from,
    dense_block,
    row_labels,
    with_columns_aside,
)

_BYTES = 32 * 1024 * 1024  # of columns read together
_INDEX = re.compile(r"__index_level_\d+__")
_EMPTY = "empty"
_FEWEST_BYTES = 2**26  # of a part, unless a file is smaller
_SAME = "all files must have the same columns"


def read_parquet(path: Path, aside: Sequence[str], transpose: bool = False) -> Table:
    """Read a table from a Parquet file."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        if transpose:
            return with_columns_aside(_transposed_table(path, file), aside)
        return _table(path, file, aside)


def _table(path: Path, file: Any, aside: Sequence[str]) -> Table:
    numeric, reasons = features_of(file.schema_arrow, aside)
    X, late = _numbers(file, numeric)
    reasons = {name: why for name in file.schema_arrow.names if (why := (reasons | late).get(name))}
    others = {name: column_values(column, reasons[name]) for name, column in columns_of(file, [*reasons])}
    if late:
        X = np.ascontiguousarray(X[:, [name not in late for name in numeric]])
    return Table(X, tuple(name for name in numeric if name not in late), others, reasons, row_labels(others), path)


def features_of(schema: Any, aside: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the names of the numeric columns, and why the others are no features."""
    names = checked_names(schema.names)
    check_aside(aside, names)
    reasons = {name: why for name in names if (why := _why_aside(name, schema, aside))}
    return [name for name in names if name not in reasons], reasons


def _transposed_table(path: Path, file: Any) -> Table:
    """Return the table of a file whose rows are features, named by its index or its first column."""
    schema = file.schema_arrow
    names = checked_names(schema.names)
    index = _index_of_frame(schema)
    key = index[0] if len(index) == 1 else names[0]
    samples = [name for name in names if name != key]
    X, late = _numbers(file, [name for name in samples if not why_not_numeric(schema.field(name).type)])
    for name in samples:
        if why := why_not_numeric(schema.field(name).type) or late.get(name):
            raise UnreadableError(f"has a column {shortened(name)!r} ({why}) that cannot be the values of a sample.")
    features = next(columns_of(file, [key]))[1].to_pylist()
    if any(value is None for value in features):
        raise UnreadableError("has a feature without a name.")
    features = [value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value) for value in features]
    labels = object_array(samples)
    name = "" if _INDEX.fullmatch(key) else key
    reasons = {name: "row labels" if name else UNNAMED}
    return Table(np.ascontiguousarray(X.T), checked_names(features), {name: labels}, reasons, labels, path)


def _why_aside(name: str, schema: Any, aside: Sequence[str]) -> str | None:
    """Return why a column is not a feature, or None if it is."""
    if name in aside:
        return REQUESTED
    if _INDEX.fullmatch(name):
        return UNNAMED
    if name in _index_of_frame(schema):
        return "row labels"
    return why_not_numeric(schema.field(name).type)


def _index_of_frame(schema: Any) -> list[str]:
    """Return the columns that are the index of a pandas data frame."""
    described = schema.pandas_metadata or {}
    return [column for column in described.get("index_columns", ()) if isinstance(column, str)]


def why_not_numeric(kind: Any) -> str | None:
    """Return what a column of this Arrow type holds instead of numbers, or None if it holds numbers."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return None
    if types.is_null(kind):
        return _EMPTY
    if types.is_temporal(kind):
        return "dates"
    return "nested values" if types.is_nested(kind) else "text"


def _numbers(file: Any, names: list[str]) -> tuple[NDArray[Any], dict[str, str]]:
    """Return these columns as a matrix, and why some of them cannot be features after all."""
    X = np.empty((file.metadata.num_rows, len(names)), dtype=precision_of(file.schema_arrow, names))
    reasons = fill_numbers(X, file, names)
    return X, reasons | empty_columns(X, names)


def fill_numbers(X: NDArray[Any], file: Any, names: list[str]) -> dict[str, str]:
    """Write these columns of a file to a matrix; return which of them a float would change, and why."""
    reasons = {}
    for index, (name, column) in enumerate(columns_of(file, names)):
        X[:, index] = floats(column)
        if why := _why_too_long(column):
            reasons[name] = why
    return reasons


def empty_columns(X: NDArray[Any], names: Sequence[str]) -> dict[str, str]:
    """Return the columns of a matrix in which all values are missing, each with that reason."""
    candidates = np.flatnonzero(np.isnan(X[:1]).any(axis=0)).tolist()
    empty = [index for index in candidates if np.isnan(X[:, index]).all()]
    return {names[index]: _EMPTY for index in empty}


def precision_of(schema: Any, names: list[str]) -> Any:
    """Return float32 if all of these columns hold floats of at most that size, else float64."""
    from pyarrow import types

    kinds = [schema.field(name).type for name in names]
    single = bool(kinds) and all(types.is_float32(kind) or types.is_float16(kind) for kind in kinds)
    return np.float32 if single else np.float64


def columns_of(file: Any, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield Arrow columns by name, with few of them in memory at a time."""
    step = max(1, _BYTES // (8 * max(1, file.metadata.num_rows)))
    for start in range(0, len(names), step):
        some = names[start : start + step]
        part = file.read(columns=some, use_threads=len(some) > 1)
        for name in some:
            yield name, part.column(name)


def floats(column: Any) -> NDArray[Any]:
    """Return a numeric Arrow column as floats, NaN for nulls."""
    import pyarrow as pa

    column = without_dictionary(column)
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        column = column.cast(pa.int8() if pa.types.is_boolean(kind) else pa.float64())
    return column.to_numpy()


def _why_too_long(column: Any) -> str | None:
    """Return why a float would change the large numbers of a column, or None if it keeps them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = without_dictionary(column)
    is_decimal = pa.types.is_decimal(column.type)
    if not is_decimal and column.type not in (pa.int64(), pa.uint64()):
        return None
    ends = pc.min_max(column).as_py()
    if max(abs(end or 0) for end in ends.values()) < LARGEST_INTEGER:
        return None
    for value in map(Decimal, column.drop_null().unique().to_pylist()):
        # A float keeps it exactly or, if it is a decimal, as it is written; small ones may be rounded.
        kept = Decimal(float(value)), Decimal(repr(float(value)) if is_decimal else float(value))
        if abs(value) >= LARGEST_INTEGER and value not in kept:
            return "decimals too long for a float" if is_decimal else TOO_LONG
    return None


def without_dictionary(column: Any) -> Any:
    """Return an Arrow column with its values in place of their codes."""
    from pyarrow import types

    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def column_values(column: Any, reason: str) -> NDArray[Any]:
    """Return a column set aside: numbers and dates unchanged, text and anything else as objects."""
    import pyarrow as pa

    if reason == _EMPTY:
        return np.full(len(column), np.nan)
    column = without_dictionary(column)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return text_array(column.combine_chunks())
    plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)
    dates = pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)
    if (plain and not (column.null_count and not pa.types.is_floating(kind))) or dates:
        return column.to_numpy()
    return object_array(column.to_pylist())


# Several files, or one in parts


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
    X, late = _numbers_of_files(pattern, files, paths)
    reasons = files.reasons | late
    columns = _columns_aside(paths, [*reasons], [*files.names, *files.reasons])
    others = {name: column_values(column, reasons[name]) for name, column in columns.items()}
    if late:
        X = np.ascontiguousarray(X[:, [name not in late for name in files.names]])
    names = tuple(name for name in files.names if name not in late)
    notes = (f"{counted(files.n_files, 'file')} {'was' if files.n_files == 1 else 'were'} read.",)
    return Table(X, names, others, reasons, row_labels(others), pattern, notes)


def _numbers_of_files(pattern: Path, files: ParquetParts, paths: Sequence[Path]) -> tuple[NDArray[Any], dict[str, str]]:
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


# Writing


def write_parquet(path: Path, table: Table, selection: Selection) -> None:
    """Write the columns set aside and the selected ones; columns of a Parquet file keep their types and index."""
    import pyarrow as pa
    from pyarrow import parquet

    aside = columns_aside(table)
    selected = {table.names[index]: int(index) for index in np.flatnonzero(selection.selected)}
    columns, metadata = _unchanged_columns(table, aside, selected)
    for name, values in aside.items():
        columns.setdefault(name, arrow_column(values))
    for name, index in selected.items():
        columns.setdefault(name, number_column(_numbers_at(table, index), False))
    names = [*aside, *selected]
    written = pa.table([columns[name] for name in names], names=names)
    parquet.write_table(written.replace_schema_metadata(metadata), path)


def _numbers_at(table: Table, index: int) -> NDArray[Any]:
    return dense_block(table.X, slice(None), np.array([index]))[:, 0]


def _unchanged_columns(
    table: Table, aside: dict[str, NDArray[Any]], selected: dict[str, int]
) -> tuple[dict[str, Any], dict[bytes, bytes]]:
    """Return the columns that the Parquet file of the table still holds unchanged, and its metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    if not comes_from(table, "parquet"):
        return {}, {}
    try:
        with parquet.ParquetFile(table.path) as file:
            if file.metadata.num_rows != table.shape[0]:  # another file by now, or one that was transposed
                return {}, {}
            known = [name for name in (*aside, *selected) if file.schema_arrow.names.count(name) == 1]
            columns = {}
            for name, column in columns_of(file, known):
                if name in aside and _holds(column, aside[name], table.reasons.get(name, "")):
                    columns[name] = column
                if name in selected and _holds(column, _numbers_at(table, selected[name]), None):
                    columns[name] = column
            return columns, _metadata_of(file.schema_arrow, columns)
    except (OSError, pa.ArrowException):  # the file is gone or different now, but the table holds all that is needed
        return {}, {}


def _holds(column: Any, values: NDArray[Any], reason: str | None) -> bool:
    """Whether a column of the file has these values, of a feature unless there is a reason why it is none."""
    if reason is not None:
        return bool(arrow_column(column_values(column, reason)).equals(arrow_column(values)))
    if why_not_numeric(column.type):
        return False
    return np.array_equal(floats(column).astype(values.dtype), values, equal_nan=True)


def _metadata_of(schema: Any, columns: dict[str, Any]) -> dict[bytes, bytes]:
    """Return the metadata of the file; what pandas wrote there is limited to these columns."""
    metadata = dict(schema.metadata or {})
    if b"pandas" in metadata:
        described = json.loads(metadata[b"pandas"])
        described["columns"] = [each for each in described["columns"] if each.get("field_name") in columns]
        index = described["index_columns"]
        described["index_columns"] = [each for each in index if not isinstance(each, str) or each in columns]
        metadata[b"pandas"] = json.dumps(described).encode()
    return metadata
