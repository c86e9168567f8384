"""Read and write Parquet files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect._utils.wording import shortened
from ufselect.files.arrow import arrow_column, number_column, object_array, text_array
from ufselect.files.errors import UnreadableError
from ufselect.files.table import (
    LARGEST_INTEGER,
    REQUESTED,
    TOO_LONG,
    UNNAMED,
    Selection,
    Table,
    check_aside,
    checked_names,
    dense_block,
    row_labels,
    with_columns_aside,
)
from ufselect.files.writing import columns_aside, comes_from

_BYTES = 32 * 1024 * 1024  # of columns read together
_INDEX = re.compile(r"__index_level_\d+__")
_EMPTY = "empty"


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
