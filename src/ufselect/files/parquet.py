"""Parquet files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.arrow import arrow_column, number_column, objects, texts
from ufselect.files.outgoing import columns_aside, dense_block
from ufselect.files.table import ASKED_FOR, Selection, Table, check_asked, checked_names, row_labels

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
        X, empty = _numbers(file, kept, n_rows, _precision(schema, kept))
        aside = {name: _values(column) for name, column in _columns(file, [*reasons], n_rows)}
    for name in (name for name, nothing in zip(kept, empty, strict=True) if nothing):
        aside[name], reasons[name] = np.full(n_rows, np.nan), "empty"
    aside = {name: aside[name] for name in names if name in aside}
    reasons = {name: reasons[name] for name in aside}
    if empty.any():
        X, kept = np.ascontiguousarray(X[:, ~empty]), [name for name in kept if name not in aside]
    return Table(X, tuple(kept), aside, reasons, row_labels(aside), path)


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


def _numbers(file: Any, kept: list[str], n_rows: int, dtype: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The columns of numbers side by side, and which of them are empty."""
    X = np.empty((n_rows, len(kept)), dtype=dtype)
    empty = np.zeros(len(kept), dtype=bool)
    for place, (_, column) in enumerate(_columns(file, kept, n_rows)):
        X[:, place] = _floats(column)
        empty[place] = n_rows > 0 and np.isnan(X[0, place]) and bool(np.isnan(X[:, place]).all())
    return X, empty


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

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        column = column.cast(pa.int8() if pa.types.is_boolean(kind) else pa.float64())
    return column.to_numpy()


def _values(column: Any) -> NDArray[Any]:
    """A column kept aside: numbers and dates as such, text and all else as objects."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return texts(column.combine_chunks())
    plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)
    dates = pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)
    if (plain and not (column.null_count and not pa.types.is_floating(kind))) or dates:
        return column.to_numpy()
    return objects(column.to_pylist())


def write_parquet(path: Path, table: Table, selection: Selection) -> None:
    """Write the columns aside and the selected ones."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = {name: arrow_column(values) for name, values in columns_aside(table).items()}
    for place in np.flatnonzero(selection.selected):
        values = dense_block(table.X, slice(None), np.array([place]))[:, 0]
        columns[table.names[place]] = number_column(values, False)
    parquet.write_table(pa.table(list(columns.values()), names=list(columns)), path)
