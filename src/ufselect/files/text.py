"""Read and write text files: CSV and TSV."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.arrow import arrow_column, as_texts, number_column, text_array, whole_numbers, written_numbers
from ufselect.files.errors import RaggedError, UnreadableError
from ufselect.files.registry import file_format
from ufselect.files.table import (
    REQUESTED,
    UNNAMED,
    Selection,
    Table,
    check_aside,
    checked_names,
    columns_aside,
    dense_block,
    row_blocks,
    row_labels,
)
from ufselect.files.text_columns import (
    LEADING_ZEROS,
    NUMBER,
    ColumnReader,
    TextColumns,
    any_match,
    identifiers_among,
    numbers_or_text,
    why_text,
)
from ufselect.files.text_dialect import Dialect
from ufselect.files.text_header import judge_first_line, judge_labels
from ufselect.files.text_lines import MARK
from ufselect.files.text_records import Records, StoredRecords, open_text_file

_COUNT = "Unnamed: 0"
_MARKS = '[",;|\t\r\n]'  # readers look for each of these delimiters


def read_text(
    path: Path,
    aside: Sequence[str],
    delimiter: str | None = None,
    decimal: str | None = None,
    na: tuple[str, ...] = (),
    transpose: bool = False,
    encoding: str | None = None,
    header: bool | None = None,
    verbose: int = 0,
) -> Table:
    """Read a table from a text file."""
    with open_text_file(path, delimiter, decimal, na, encoding, verbose) as file:
        table = read_records(file, aside, transpose, header)
    return replace(table, notes=(*file.comments.notes(), *table.notes, *file.dialect.notes()))


def read_records(file: Records, aside: Sequence[str], transpose: bool, header: bool | None) -> Table:
    """Read a table from records, with a name for each column or, as R writes it, for each but the first."""
    found = judge_labels(file, header) if transpose else judge_first_line(file, header)
    read = _read_transposed if transpose else _read
    try:
        table = read(file, found.is_header, aside)
    except RaggedError as error:
        if not (found.is_header and error.is_one_name_short):
            raise
        try:
            table = read(replace(file, fields=["", *file.fields]), True, aside)
        except RaggedError:
            raise error from None
        if _last_is_empty(table, file, transpose):  # each row ends with a delimiter too many
            raise
    return replace(table, notes=found.notes)


def _last_is_empty(table: Table, file: Records, transpose: bool) -> bool:
    if transpose:
        texts = [values[-1] for values in list(table.aside.values())[1:]]  # after the label of the sample
        return bool(np.isnan(table.X[-1]).all()) and all(text is None or text != text for text in texts)
    return table.reasons.get(_names(["", *file.fields], True)[-1]) == "empty"


def _read_transposed(file: Records, has_labels: bool, aside: Sequence[str]) -> Table:
    """Read a table whose rows are features; its text stays in memory."""
    import pyarrow as pa

    labels = [pa.array([field or None for field in file.fields], pa.large_string())] if has_labels else []
    parts = [part.cast(pa.large_string()) for part in file.blocks(after_header=has_labels)]
    if not parts:
        raise UnreadableError("has a header but no rows.")
    values = pa.concat_arrays([*labels, *parts])
    names = values.take(np.arange(0, len(values), len(file.fields))).to_pylist()
    fields = [name or "" for name in names]
    turned = StoredRecords(
        path=file.path, dialect=file.dialect, fields=fields, has_labels=has_labels, values=values, is_transposed=True
    )
    return _read(turned, True, aside)


def _read(file: Records, has_names: bool, aside: Sequence[str]) -> Table:
    has_labels = file.has_labels
    if has_labels is None:
        has_labels = has_names and not file.fields[0] and len(file.fields) > 1
    names = _names(file.fields if has_names else [""] * len(file.fields), has_labels)
    check_aside(aside, names)
    why = {names.index(name): REQUESTED for name in aside}
    if has_labels:
        why.setdefault(0, UNNAMED if not names[0] else "row labels")
    reader = ColumnReader(len(names), set(why), file.dialect)
    for values in file.blocks(after_header=has_names):
        reader.add(values)
    if not reader.n_rows:
        raise UnreadableError("has a header but no rows.")
    X, columns = reader.finish(), reader.texts
    if (padded := np.flatnonzero(reader.padded & reader.numeric)).size:
        indices = np.flatnonzero(reader.numeric)
        written = _texts_of(file, has_names, padded.tolist())
        identifiers = identifiers_among(written, X[:, ~reader.padded[indices]], file.dialect)
        reader.aside[list(identifiers)] = True
        X = np.ascontiguousarray(X[:, reader.numeric[indices]]) if identifiers else X
        columns |= identifiers
        why |= dict.fromkeys(identifiers, LEADING_ZEROS)
    columns |= _texts_of(file, has_names, [j for j in np.flatnonzero(reader.aside).tolist() if j not in columns])
    others, reasons = {}, {}
    for j in np.flatnonzero(~reader.numeric).tolist():
        others[names[j]], reasons[names[j]] = _column_aside(columns.get(j), reader.n_rows, why.get(j), file.dialect)
    numeric = tuple(names[j] for j in np.flatnonzero(reader.numeric))
    return _with_count_aside(Table(X, numeric, others, reasons, row_labels(others), file.path), names)


def _column_aside(column: Any, n_rows: int, why: str | None, dialect: Dialect) -> tuple[NDArray[Any], str]:
    """Return a column that is not a feature, and why it is not."""
    if column is None:
        return np.full(n_rows, np.nan), "empty"
    if why is not None:
        return numbers_or_text(column, dialect), why
    return text_array(column), why_text(column, dialect)


def _names(fields: list[str], has_labels: bool) -> tuple[str, ...]:
    """Return the names of columns, numbered if they have none; an unnamed first column holds row labels."""
    taken = set(fields)
    names = [
        field or (f"column {number}" if f"column {number}" not in taken else f"column {number} without a name")
        for number, field in enumerate(fields, start=1)
    ]
    if has_labels and not fields[0]:
        names[0] = ""
    return checked_names(names)


def _texts_of(file: Records, has_names: bool, indices: list[int]) -> dict[int, Any]:
    """Read columns again that turned out to be text after a part of them was read as numbers."""
    late = TextColumns(indices, len(file.fields))
    if indices:
        for values in file.blocks(after_header=has_names):
            late.add(values)
    return late.by_column()


def _with_count_aside(table: Table, names: tuple[str, ...]) -> Table:
    """Return the table without the index that pandas saves a second time, as a column with a name."""
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
    """Write the columns set aside and the selected ones as text."""
    delimiter = "\t" if file_format(path) == "tsv" else ","
    aside = {name: _printable(values) for name, values in columns_aside(table).items()}
    selected = np.flatnonzero(selection.selected)
    packed = path.suffix.casefold() == ".gz"
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else nullcontext(raw) as file:
        file.write(_header([*aside, *(table.names[index] for index in selected)], delimiter))
        _write_rows(file, table.X, selected, list(aside.values()), delimiter)


def _write_rows(file: Any, X: Any, selected: NDArray[Any], aside: list[Any], delimiter: str) -> None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # A text that is empty, which without quotes means missing, looks like a comment or has special characters
    unclear = f"^$|^{MARK}|{_MARKS}"
    quoting = "needed" if any(pa.types.is_string(c.type) and any_match(c, unclear) for c in aside) else "none"
    options = arrow_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    whole = whole_numbers(X, selected)
    for rows in row_blocks((X.shape[0], len(selected) + len(aside))):
        block = dense_block(X, rows, selected)
        columns = [column[rows] for column in aside]
        columns += [number_column(block[:, j], whole[j]) for j in range(len(selected))]
        if len(columns) == 1 and columns[0].null_count:  # a blank line would not be a row
            columns = [columns[0].cast(pa.string()).fill_null("NaN")]
        arrow_csv.write_csv(pa.table(columns, names=[str(j) for j in range(len(columns))]), file, options)


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
    fields = ['"' + name.replace('"', '""') + '"' if all_unclear or unclear.search(name) else name for name in names]
    return (delimiter.join(fields) + "\n").encode("utf-8")
