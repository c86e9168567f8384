"""Write Parquet files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.arrow import arrow_column, number_column
from ufselect.files.read_parquet import column_values, columns_of, floats, why_not_numeric
from ufselect.files.table import Selection, Table, dense_block
from ufselect.files.write_columns import columns_aside, comes_from


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
                if name in selected and _equals(column, _numbers_at(table, selected[name])):
                    columns[name] = column
            return columns, _metadata_of(file.schema_arrow, columns)
    except (OSError, pa.ArrowException):  # the file is gone or different now, but the table holds all that is needed
        return {}, {}


def _holds(column: Any, values: NDArray[Any], reason: str) -> bool:
    """Whether a column of the file is where values set aside come from."""
    return bool(arrow_column(column_values(column, reason)).equals(arrow_column(values)))


def _equals(column: Any, numbers: NDArray[Any]) -> bool:
    if why_not_numeric(column.type):
        return False
    return np.array_equal(floats(column).astype(numbers.dtype), numbers, equal_nan=True)


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
