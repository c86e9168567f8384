"""Write text files: CSV and TSV."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.arrow import arrow_column, as_texts, number_column, whole_numbers, written_numbers
from ufselect.files.formats import file_format, is_gzipped
from ufselect.files.table import Selection, Table, dense_block, row_blocks
from ufselect.files.text_columns import NUMBER, any_match
from ufselect.files.text_comments import MARK
from ufselect.files.write_columns import columns_aside

_MARKS = '[",;|\t\r\n]'  # readers look for each of these delimiters


def write_text(path: Path, table: Table, selection: Selection) -> None:
    """Write the columns set aside and the selected ones as text."""
    delimiter = "\t" if file_format(path) == "tsv" else ","
    aside = {name: _printable(values) for name, values in columns_aside(table).items()}
    selected = np.flatnonzero(selection.selected)
    with _compressed(path) as file:
        file.write(_header([*aside, *(table.names[index] for index in selected)], delimiter))
        _write_rows(file, table.X, selected, list(aside.values()), delimiter)


def _write_rows(file: IO[bytes], X: Any, selected: NDArray[Any], aside: list[Any], delimiter: str) -> None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    quoting = "needed" if any(_needs_quotes(column) for column in aside) else "none"
    options = arrow_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    whole = whole_numbers(X, selected)
    for rows in row_blocks((X.shape[0], len(selected) + len(aside))):
        block = dense_block(X, rows, selected)
        columns = [column[rows] for column in aside]
        columns += [number_column(block[:, j], whole[j]) for j in range(len(selected))]
        if len(columns) == 1 and columns[0].null_count:  # a blank line would not be a row
            columns = [columns[0].cast(pa.string()).fill_null("NaN")]
        arrow_csv.write_csv(pa.table(columns, names=[str(j) for j in range(len(columns))]), file, options)


def _needs_quotes(column: Any) -> bool:
    """Whether a text is empty, which without quotes means missing, looks like a comment or has special characters."""
    import pyarrow as pa

    return pa.types.is_string(column.type) and any_match(column, f"^$|^{MARK}|{_MARKS}")


def _printable(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    if values.dtype.kind == "f":
        return written_numbers(values)
    column = arrow_column(values)
    plain = (pa.types.is_string, pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_temporal)
    if any(test(column.type) for test in plain) and not pa.types.is_duration(column.type):
        return column
    return pa.array(as_texts(values), pa.string())


def _header(names: list[str], delimiter: str) -> bytes:
    """Return the line of names, with quotes around those that could be taken for something else."""
    all_unclear = names[0].startswith("\ufeff") or (len(names) == 1 and not names[0].strip())
    unclear = re.compile(f"^{MARK}|{_MARKS}|^\\s*(?:{NUMBER[1:-1]})\\s*$")
    fields = [_quoted(name) if all_unclear or unclear.search(name) else name for name in names]
    return (delimiter.join(fields) + "\n").encode("utf-8")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _compressed(path: Path) -> Iterator[IO[bytes]]:
    with path.open("wb") as raw:
        if not is_gzipped(path):
            yield raw
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed:
            yield packed  # type: ignore[misc]  # a GzipFile serves as any binary file
