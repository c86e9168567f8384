"""Read Excel workbooks: one sheet, as if it were a text file."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ufselect._utils.memory import ensure_fits
from ufselect._utils.wording import listed
from ufselect.files.errors import UnreadableError
from ufselect.files.table import Table
from ufselect.files.text import read_records
from ufselect.files.text_dialect import EXCEL_ERRORS, Dialect
from ufselect.files.text_records import StoredRecords

_OLD_FILE = b"\xd0\xcf\x11\xe0"  # of .xls files, and of workbooks with a password


def read_sheet(
    path: Path,
    aside: Sequence[str],
    na: tuple[str, ...] = (),
    transpose: bool = False,
    sheet: str | None = None,
    header: bool | None = None,
) -> Table:
    """Read a table from a sheet of a workbook; columns that have neither a name nor a value are left out."""
    import pyarrow as pa

    with path.open("rb") as file:
        if file.read(len(_OLD_FILE)) == _OLD_FILE:
            raise UnreadableError("has a password or is an old .xls file; save it as .xlsx without a password.")
    rows = _rows(path, sheet)
    used = sorted({column for row in rows for column, value in enumerate(row) if _as_text(value) is not None})
    if not used:
        raise UnreadableError("has an empty sheet; choose another one with sheet (--sheet).")
    ensure_fits(8 * len(rows) * len(used), f"The numbers of {path}", "remove empty rows and columns")
    texts = (_as_text(row[column]) if column < len(row) else None for row in rows for column in used)
    values = pa.array(texts, pa.large_string())
    records = StoredRecords(
        path=path,
        dialect=Dialect("\t", ".", is_fixed=True, na=na),
        fields=[text or "" for text in values[: len(used)].to_pylist()],
        has_names=all(isinstance(value, str) for value in rows[0]),
        values=values,
    )
    return read_records(records, aside, transpose, header)


def _rows(path: Path, sheet: str | None) -> list[tuple[Any, ...]]:
    """Return the values of the rows that are not blank."""
    from openpyxl import load_workbook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it does not know, such as rules for input, does no harm here
        book = load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            sheets = {found.title: found for found in book.worksheets}
            if not sheets:
                raise UnreadableError("has no sheet with cells.")
            if sheet is not None and sheet not in sheets:
                raise UnreadableError(f"has no sheet {sheet!r}; its sheets are {listed(list(sheets), quoted=True)}.")
            found = book.worksheets[0] if sheet is None else sheets[sheet]
            found.reset_dimensions()  # some programs write wrong ones
            return [row for row in found.iter_rows(values_only=True) if any(_as_text(value) for value in row)]
        finally:
            book.close()


def _as_text(value: Any) -> str | None:
    """Return a value as a text file would have it; None if a cell is empty or an error, or a formula has no value."""
    if value is None or value == "" or (isinstance(value, str) and value in EXCEL_ERRORS):
        return None
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    return str(value)  # of a float, the shortest text that reads as the same float
