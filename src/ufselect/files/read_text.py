"""Read text files: CSV and TSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.arrow import texts
from ufselect.files.table import (
    REQUESTED,
    UNNAMED,
    RaggedError,
    Table,
    UnreadableError,
    check_aside,
    checked_names,
    row_labels,
)
from ufselect.files.text_columns import ColumnReader, Notation, TextColumns, as_kept, why_text
from ufselect.files.text_dialect import Records
from ufselect.files.text_header import judge_first_line, judge_labels
from ufselect.files.text_padding import LEADING_ZEROS, identifiers_among
from ufselect.files.text_records import TextFile, open_text_file
from ufselect.files.text_transposed import TransposedFile, transposed

_COUNT = "Unnamed: 0"


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
    file = open_text_file(path, delimiter, decimal, encoding, verbose)
    table = read_records(file, aside, na, transpose, header)
    return replace(table, notes=(*file.comments.notes(), *table.notes, *file.dialect.notes()))


def read_records(
    file: Records, aside: Sequence[str], na: tuple[str, ...], transpose: bool, header: bool | None
) -> Table:
    """Read a table from the records of a file."""
    found = judge_labels(file, na, header) if transpose else judge_first_line(file, na, header)
    if transpose:
        table = _read(transposed(file, found.is_header), True, aside, na)
    else:
        table = _read_samples(file, found.is_header, aside, na)
    return replace(table, notes=found.notes)


def _read_samples(file: Records, has_names: bool, aside: Sequence[str], na: tuple[str, ...]) -> Table:
    """Read a file whose rows are samples, with a name for each column or, as R writes it, for each but the first."""
    try:
        return _read(file, has_names, aside, na)
    except RaggedError as error:
        if not (has_names and error.is_one_name_short and isinstance(file, TextFile)):
            raise
        return _read_with_labels(file, aside, na, error)


def _read_with_labels(file: TextFile, aside: Sequence[str], na: tuple[str, ...], error: RaggedError) -> Table:
    """Read a file as R writes it, without a name for the row labels."""
    try:
        fields = ["", *file.fields]
        table = _read(replace(file, fields=fields), True, aside, na)
    except RaggedError:
        raise error from None
    if table.reasons.get(_names(fields, True)[-1]) == "empty":  # each row ends with a delimiter too many
        raise error
    return table


def _read(file: Records, has_names: bool, aside: Sequence[str], na: tuple[str, ...]) -> Table:
    has_labels = _has_row_labels(file, has_names)
    names = _names(file.fields if has_names else [""] * len(file.fields), has_labels)
    check_aside(aside, names)
    why = {names.index(name): REQUESTED for name in aside}
    if has_labels:
        why.setdefault(0, UNNAMED if not names[0] else "row labels")
    notation = Notation(file.dialect, na)
    reader = ColumnReader(len(names), set(why), notation)
    for values in file.blocks(after_header=has_names):
        reader.add(values)
    if not reader.n_rows:
        raise UnreadableError("has a header but no rows.")
    X, columns = reader.finish(), reader.texts
    if (padded := np.flatnonzero(reader.padded & reader.numeric)).size:
        X, identifiers = _without_identifiers(X, reader, _texts_of(file, has_names, padded.tolist()), notation)
        columns |= identifiers
        why |= dict.fromkeys(identifiers, LEADING_ZEROS)
    columns |= _texts_of(file, has_names, [j for j in np.flatnonzero(reader.aside).tolist() if j not in columns])
    others, reasons = {}, {}
    for j in np.flatnonzero(~reader.numeric).tolist():
        others[names[j]], reasons[names[j]] = _column_aside(columns.get(j), reader.n_rows, why.get(j), notation)
    numeric = tuple(names[j] for j in np.flatnonzero(reader.numeric))
    return _with_count_aside(Table(X, numeric, others, reasons, row_labels(others), file.path), names)


def _without_identifiers(
    X: NDArray[np.float64], reader: ColumnReader, padded: dict[int, Any], notation: Notation
) -> tuple[NDArray[np.float64], dict[int, Any]]:
    """Set columns with leading zeros aside that are identifiers; return the others, and those as they are written."""
    indices = np.flatnonzero(reader.numeric)
    identifiers = identifiers_among(padded, X[:, ~reader.padded[indices]], notation)
    if not identifiers:
        return X, identifiers
    reader.aside[list(identifiers)] = True
    return np.ascontiguousarray(X[:, reader.numeric[indices]]), identifiers


def _column_aside(column: Any, n_rows: int, why: str | None, notation: Notation) -> tuple[NDArray[Any], str]:
    """Return a column that is not a feature, and why it is not."""
    if column is None:
        return np.full(n_rows, np.nan), "empty"
    if why is not None:
        return as_kept(column, notation), why
    return texts(column), why_text(column, notation)


def _has_row_labels(file: Records, has_names: bool) -> bool:
    """Whether the first column labels the rows: it has no name, or a transposed file says so."""
    if isinstance(file, TransposedFile):
        return file.has_labels
    return has_names and not file.fields[0] and len(file.fields) > 1


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
