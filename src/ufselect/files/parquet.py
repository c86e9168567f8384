"""Parquet files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.arrow import arrow_column, number_column, objects, texts
from ufselect.files.outgoing import columns_aside, dense_block
from ufselect.files.table import (
    ASKED_FOR,
    LARGEST_WHOLE,
    TOO_LONG,
    Selection,
    Table,
    check_asked,
    checked_names,
    row_labels,
)

_COLUMNS = 32 * 1024 * 1024  # bytes of columns read together
_INDEX = re.compile(r"__index_level_\d+__")


def read_parquet(path: Path, asked: Sequence[str]) -> Table:
    """Read a table from a Parquet file."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        names = checked_names(schema.names)
        check_asked(asked, names)
        n_rows = file.metadata.num_rows
        reasons = {name: why for name in names if (why := _why_aside(name, schema, asked))}
        kept = [name for name in names if name not in reasons]
        X, late = _numbers(file, kept, n_rows, _precision(schema, kept))
        reasons = {name: why for name in names if (why := (reasons | late).get(name))}
        aside = {name: _values(column, reasons[name]) for name, column in _columns(file, [*reasons], n_rows)}
    if late:
        X = np.ascontiguousarray(X[:, [name not in late for name in kept]])
    return Table(X, tuple(name for name in kept if name not in late), aside, reasons, row_labels(aside), path)


def _why_aside(name: str, schema: Any, asked: Sequence[str]) -> str | None:
    """Why a column is not one of numbers to choose from; None where it is."""
    if name in asked:
        return ASKED_FOR
    if _INDEX.fullmatch(name):
        return "no name: taken as row labels"
    if name in _index_of_frame(schema):
        return "row labels"
    return _why_no_numbers(schema.field(name).type)


def _index_of_frame(schema: Any) -> list[str]:
    """The columns that are the index of a pandas data frame."""
    described = schema.pandas_metadata or {}
    return [column for column in described.get("index_columns", ()) if isinstance(column, str)]


def _why_no_numbers(kind: Any) -> str | None:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return None
    if types.is_null(kind):
        return "empty"
    if types.is_temporal(kind):
        return "dates"
    return "nested values" if types.is_nested(kind) else "text"


def _precision(schema: Any, kept: list[str]) -> Any:
    from pyarrow import types

    kinds = [schema.field(name).type for name in kept]
    short = bool(kinds) and all(types.is_float32(kind) or types.is_float16(kind) for kind in kinds)
    return np.float32 if short else np.float64


def _numbers(file: Any, kept: list[str], n_rows: int, dtype: Any) -> tuple[NDArray[Any], dict[str, str]]:
    """The columns of numbers side by side, and why some of them are none after all."""
    X = np.empty((n_rows, len(kept)), dtype=dtype)
    reasons = {}
    for place, (name, column) in enumerate(_columns(file, kept, n_rows)):
        X[:, place] = _floats(column)
        if n_rows and np.isnan(X[0, place]) and np.isnan(X[:, place]).all():
            reasons[name] = "empty"
        elif _any_too_long(column):
            reasons[name] = TOO_LONG
    return X, reasons


def _columns(file: Any, names: list[str], n_rows: int) -> Iterator[tuple[str, Any]]:
    """Arrow columns by name, of which few are in memory at a time."""
    step = max(1, _COLUMNS // (8 * max(1, n_rows)))
    for start in range(0, len(names), step):
        some = names[start : start + step]
        part = file.read(columns=some, use_threads=len(some) > 1)
        for name in some:
            yield name, part.column(name)


def _floats(column: Any) -> NDArray[Any]:
    import pyarrow as pa

    column = _plain(column)
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        column = column.cast(pa.int8() if pa.types.is_boolean(kind) else pa.float64())
    return column.to_numpy()


def _any_too_long(column: Any) -> bool:
    """Whether a whole number of the column is not one of those that floats know."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _plain(column)
    if column.type not in (pa.int64(), pa.uint64()):
        return False
    ends = pc.min_max(column).as_py()
    if max(abs(end or 0) for end in ends.values()) < LARGEST_WHOLE:
        return False
    return any(int(float(value)) != value for value in column.drop_null().unique().to_pylist())


def _plain(column: Any) -> Any:
    """The column without a dictionary."""
    from pyarrow import types

    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def _values(column: Any, reason: str) -> NDArray[Any]:
    """A column kept aside: numbers and dates as such, text and all else as objects."""
    import pyarrow as pa

    if reason == "empty":
        return np.full(len(column), np.nan)
    column = _plain(column)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return texts(column.combine_chunks())
    plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)
    dates = pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)
    if (plain and not (column.null_count and not pa.types.is_floating(kind))) or dates:
        return column.to_numpy()
    return objects(column.to_pylist())


def write_parquet(path: Path, table: Table, selection: Selection) -> None:
    """Write the columns aside and the selected ones; those of a Parquet file keep their types and their index."""
    import pyarrow as pa
    from pyarrow import parquet

    aside = columns_aside(table)
    places = {table.names[place]: int(place) for place in np.flatnonzero(selection.selected)}
    columns, metadata = _unchanged_columns(table, aside, places)
    for name, values in aside.items():
        columns.setdefault(name, arrow_column(values))
    for name, place in places.items():
        columns.setdefault(name, number_column(_numbers_at(table, place), False))
    names = [*aside, *places]
    outgoing = pa.table([columns[name] for name in names], names=names)
    parquet.write_table(outgoing.replace_schema_metadata(metadata), path)


def _numbers_at(table: Table, place: int) -> NDArray[Any]:
    return dense_block(table.X, slice(None), np.array([place]))[:, 0]


def _unchanged_columns(
    table: Table, aside: dict[str, NDArray[Any]], places: dict[str, int]
) -> tuple[dict[str, Any], dict[bytes, bytes]]:
    """The columns that a Parquet file, from which the table came, still has as they are; and what it says of them."""
    import pyarrow as pa
    from pyarrow import parquet

    if table.path.suffix.casefold() not in (".parquet", ".pq"):
        return {}, {}
    try:
        with parquet.ParquetFile(table.path) as file:
            known = [name for name in (*aside, *places) if file.schema_arrow.names.count(name) == 1]
            columns = {}
            for name, column in _columns(file, known, table.shape[0]):
                if name in aside and _holds(column, aside[name], table.reasons.get(name, "")):
                    columns[name] = column
                if name in places and _equals(column, _numbers_at(table, places[name])):
                    columns[name] = column
            return columns, _metadata_of(file.schema_arrow, columns)
    except (OSError, pa.ArrowException):  # the source is gone or another file now: the table has all that is needed
        return {}, {}


def _holds(column: Any, values: NDArray[Any], reason: str) -> bool:
    """Whether the column is where values aside came from."""
    return bool(arrow_column(_values(column, reason)).equals(arrow_column(values)))


def _equals(column: Any, numbers: NDArray[Any]) -> bool:
    if _why_no_numbers(column.type):
        return False
    return np.array_equal(_floats(column).astype(numbers.dtype), numbers, equal_nan=True)


def _metadata_of(schema: Any, columns: dict[str, Any]) -> dict[bytes, bytes]:
    """What the file says of itself; of what pandas says, only that on these columns."""
    metadata = dict(schema.metadata or {})
    if b"pandas" in metadata:
        described = json.loads(metadata[b"pandas"])
        described["columns"] = [each for each in described["columns"] if each.get("field_name") in columns]
        index = described["index_columns"]
        described["index_columns"] = [each for each in index if not isinstance(each, str) or each in columns]
        metadata[b"pandas"] = json.dumps(described).encode()
    return metadata
