"""Text files: commas, semicolons or tabs between values."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.arrow import arrow_column, as_texts, number_column, texts
from ufselect.files.formats import file_format
from ufselect.files.inference import Reading, Texts, any_match, as_kept, why_text
from ufselect.files.outgoing import columns_aside, dense_block, whole_numbers, written_numbers
from ufselect.files.records import TextFile, blocks_of_values, opened_text_file
from ufselect.files.table import (
    ASKED_FOR,
    RaggedError,
    Selection,
    Table,
    UnreadableError,
    check_asked,
    checked_names,
    row_blocks,
    row_labels,
)

_COUNT = "Unnamed: 0"


def read_text(path: Path, asked: Sequence[str], verbose: int = 0) -> Table:
    """Read a table from a text file."""
    file = opened_text_file(path)
    has_names = file.quoted or not _all_numbers(file.fields)
    try:
        return _read(file, has_names, asked, verbose)
    except RaggedError as error:
        if not (has_names and error.is_one_name_short):
            raise
        return _read_with_labels(file, asked, verbose, error)


def _read_with_labels(file: TextFile, asked: Sequence[str], verbose: int, error: RaggedError) -> Table:
    """The table of a file as R writes it: the labels of rows have no place in the header."""
    try:
        fields = ["", *file.fields]
        table = _read(replace(file, fields=fields), True, asked, verbose)
    except RaggedError:
        raise error from None
    if table.reasons.get(_names(fields, True)[-1]) == "empty":  # then all rows may well end with a separator too many
        raise error
    return table


def _read(file: TextFile, has_names: bool, asked: Sequence[str], verbose: int) -> Table:
    names = _names(file.fields if has_names else [""] * len(file.fields), has_names)
    check_asked(asked, names)
    labels = {0} if has_names and not file.fields[0] and len(names) > 1 else set()
    start = file.second if has_names else file.first
    reading = Reading(len(names), labels | {names.index(name) for name in asked})
    for values in blocks_of_values(file, start, verbose):
        reading.add(values)
    if not reading.n_rows:
        raise UnreadableError("has a header but no rows.")
    X, columns = reading.finished(), reading.texts
    columns |= _texts_of(file, start, [int(place) for place in np.flatnonzero(reading.aside) if place not in columns])
    return _with_count_aside(_table(file.path, names, X, reading, columns, asked), names)


def _all_numbers(fields: list[str]) -> bool:
    """Whether the first line is one of data: numbers that do not merely count the columns."""
    if not all(re.match(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$", field, re.ASCII) for field in fields):
        return False
    counts = [[str(place + first) for place in range(len(fields))] for first in (0, 1)]
    return len(fields) == 1 or fields not in counts


def _names(fields: list[str], has_names: bool) -> tuple[str, ...]:
    """Columns without a name are named after their place, but for a first one, which holds the labels of rows."""
    taken = set(fields)
    names = [
        field or (f"column {place}" if f"column {place}" not in taken else f"column {place} without a name")
        for place, field in enumerate(fields, start=1)
    ]
    if has_names and not fields[0] and len(fields) > 1:
        names[0] = ""
    return checked_names(names)


def _texts_of(file: TextFile, start: int, places: list[int]) -> dict[int, Any]:
    """Columns that turned out to be text when part of them had been read as numbers, read again."""
    late = Texts(places, len(file.fields))
    if places:
        for values in blocks_of_values(file, start):
            late.add(values)
    return late.by_column()


def _table(
    path: Path,
    names: tuple[str, ...],
    X: NDArray[np.float64],
    reading: Reading,
    columns: dict[int, Any],
    asked: Sequence[str],
) -> Table:
    aside: dict[str, NDArray[Any]] = {}
    reasons: dict[str, str] = {}
    numeric = ~reading.aside & (reading.flags | reading.numbers)
    for place in np.flatnonzero(~numeric):
        name, column = names[place], columns.get(int(place))
        if column is None:
            aside[name], reasons[name] = np.full(reading.n_rows, np.nan), "empty"
        elif name in asked or not name:
            aside[name] = as_kept(column)
            reasons[name] = ASKED_FOR if name in asked else "no name: taken as row labels"
        else:
            aside[name], reasons[name] = texts(column), why_text(column)
    kept = tuple(names[place] for place in np.flatnonzero(numeric))
    return Table(X, kept, aside, reasons, row_labels(aside), path)


def _with_count_aside(table: Table, names: tuple[str, ...]) -> Table:
    """The table without the index that pandas saves a second time, under a name of its own."""
    if _COUNT not in names[: 1 + (not names[0])] or _COUNT not in table.names:
        return table
    numbers = table.X[:, 0]
    if not any(np.array_equal(numbers, np.arange(first, first + len(numbers))) for first in (0, 1)):
        return table
    aside = table.aside | {_COUNT: numbers.astype(np.int64)}
    aside = {name: aside[name] for name in names if name in aside}
    reasons = table.reasons | {_COUNT: "counts the rows: taken as row labels"}
    return replace(table, X=np.ascontiguousarray(table.X[:, 1:]), names=table.names[1:], aside=aside, reasons=reasons)


def write_text(path: Path, table: Table, selection: Selection) -> None:
    """Write the columns aside and the selected ones as text."""
    delimiter = "\t" if file_format(path) == "tsv" else ","
    aside = {name: _printable(values) for name, values in columns_aside(table).items()}
    places = np.flatnonzero(selection.selected)
    with _packed(path) as file:
        file.write(_header([*aside, *(table.names[place] for place in places)], delimiter))
        _write_rows(file, table.X, places, list(aside.values()), delimiter)


def _write_rows(file: IO[bytes], X: Any, places: NDArray[Any], aside: list[Any], delimiter: str) -> None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    quoting = "needed" if any(_needs_quotes(column, delimiter) for column in aside) else "none"
    options = arrow_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    whole = whole_numbers(X, places)
    for rows in row_blocks((X.shape[0], len(places) + len(aside))):
        block = dense_block(X, rows, places)
        columns = [column[rows] for column in aside]
        columns += [number_column(block[:, place], whole[place]) for place in range(len(places))]
        if len(columns) == 1 and columns[0].null_count:  # a blank line would be no row
            columns = [columns[0].cast(pa.string()).fill_null("NaN")]
        arrow_csv.write_csv(pa.table(columns, names=[str(place) for place in range(len(columns))]), file, options)


def _needs_quotes(column: Any, delimiter: str) -> bool:
    """Whether a text is empty, which alone would be a missing one, or has marks in it that end values."""
    import pyarrow as pa

    return pa.types.is_string(column.type) and any_match(column, f'^$|["\\r\\n{delimiter}]')


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
    """The line of names; quoted where they could be taken for numbers, marks or nothing."""
    unclear = _all_numbers(names) or names[0].startswith("\ufeff") or any("\r" in name for name in names)
    unclear |= len(names) == 1 and (not names[0].strip() or ";" in names[0] or "\t" in names[0])
    text = io.StringIO(newline="")
    writer = csv.writer if not unclear else partial(csv.writer, quoting=csv.QUOTE_ALL)
    writer(text, delimiter=delimiter, lineterminator="\n").writerow(names)
    return text.getvalue().encode("utf-8")


@contextmanager
def _packed(path: Path) -> Iterator[IO[bytes]]:
    with path.open("wb") as raw:
        if path.suffix.casefold() != ".gz":
            yield raw
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed:
            yield packed  # type: ignore[misc]  # a GzipFile serves as any binary file
