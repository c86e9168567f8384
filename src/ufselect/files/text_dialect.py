"""Find the delimiter and the decimal mark of a text file from its first lines."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ufselect._backend.wording import shortened
from ufselect.files.table import UnreadableError

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "null", "NULL", "None")
DELIMITERS = (",", ";", "\t", "|")
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_INTEGER = re.compile(r"[+-]?\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How a text file separates values and writes numbers."""

    delimiter: str
    decimal: str


class Records(Protocol):
    """The records of a file, all of which have as many fields as the first one."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def dialect(self) -> Dialect:
        """How its numbers are written."""

    @property
    def fields(self) -> list[str]:
        """The fields of the first record."""

    @property
    def has_names(self) -> bool:
        """Whether these are names for certain, whatever they look like."""

    @property
    def first_is_data(self) -> bool:
        """Whether the names stand in a comment, so that the first record is data in any case."""

    def blocks(self, *, after_header: bool) -> Iterator[Any]:
        """Yield Arrow arrays of strings, each with the values of some records one after another."""


_Columns = defaultdict[int, list[str]]


def find_dialect(sample: str, delimiter: str | None = None, decimal: str | None = None) -> Dialect:
    """Return the only dialect that fits the first lines of a file.

    Parameters
    ----------
    sample : str
        The first lines, all of them whole.
    delimiter, decimal : str, optional
        What the caller knows.

    Returns
    -------
    Dialect

    Raises
    ------
    UnreadableError
        If several dialects fit.
    """
    if delimiter is None:
        candidates = [mark for mark in DELIMITERS if mark != decimal]
        lines = _lines_without_quotes(sample, "".join(candidates))
        delimiter = _fitting_delimiter(lines, candidates, decimal)
    if decimal is None:
        decimal = "." if delimiter == "," else _fitting_decimal(sample, delimiter)
    return Dialect(delimiter, decimal)


def fields_of(record: str, delimiter: str) -> list[str]:
    """Return the fields of a record; a line end, which a quoted field may have, does not end it."""
    return next(csv.reader(io.StringIO(record, newline=""), delimiter=delimiter), [])


def any_number(fields: Sequence[str]) -> bool:
    """Whether one of the fields is a number, with either decimal mark."""
    return any(kind.fullmatch(field.strip()) for field in fields for kind in (_INTEGER, _WITH_POINT, _WITH_COMMA))


def _lines_without_quotes(sample: str, delimiters: str) -> list[str]:
    """Return the lines that are not blank, with a letter instead of each quoted value."""
    text = _without_quotes(sample, delimiters) if '"' in sample else sample
    return [line for line in (line.rstrip("\r") for line in text.split("\n")) if line]


def _without_quotes(sample: str, delimiters: str) -> str:
    """Return the text with a letter instead of each quoted value, up to one that is not closed."""
    border = f"[{delimiters}\r\n]"
    text = re.sub(rf'(?:\A|(?<={border}))"[^"]*(?:""[^"]*)*"(?={border}|\Z)', "q", sample)
    if opened := re.search(rf'(?:\A|(?<={border}))"', text):
        text = text[: text.rfind("\n", 0, opened.start()) + 1]
    return text


def _fitting_delimiter(lines: list[str], candidates: list[str], decimal: str | None) -> str:
    """Return the delimiter that fits; if none does, the one in the first line."""
    widths = {mark: [line.count(mark) + 1 for line in lines] for mark in candidates}
    exact = [mark for mark in candidates if lines and widths[mark][0] > 1 and len(set(widths[mark])) == 1]
    short = [mark for mark in candidates if _is_one_name_short(widths[mark])]
    fitting = exact or [mark for mark in short if widths[mark][0] > 1] or short
    if len(fitting) > 1:
        found = " or ".join(f"{mark!r} ({widths[mark][-1]} columns)" for mark in fitting)
        choices = " or ".join(map(repr, fitting))
        raise UnreadableError(
            f"can be split at {found}; pass delimiter={choices} (--delimiter), "
            "and decimal=',' (--decimal ,) for decimal commas."
        )
    if fitting == [","] and decimal is None and _is_one_column_of_decimals(lines):
        raise UnreadableError(
            "holds two columns split at ',' or one with decimal commas; "
            "pass delimiter=',' (--delimiter ,) or decimal=',' (--decimal ,)."
        )
    present = [mark for mark in candidates if lines and mark in lines[0]]
    return (fitting or present or candidates)[0]


def _is_one_name_short(widths: list[int]) -> bool:
    """Whether each row has one value more than the header has names, as R writes row labels."""
    return len(widths) > 1 and set(widths[1:]) == {widths[0] + 1}


def _is_one_column_of_decimals(lines: list[str]) -> bool:
    rows = lines if "," in lines[0] else lines[1:]
    return all(_WITH_COMMA.fullmatch(row.strip()) for row in rows)


def _fitting_decimal(sample: str, delimiter: str) -> str:
    """Return the decimal mark of the numbers; a point if there is none."""
    commas, points, texts = _columns_by_kind(sample, delimiter)
    with_commas = [j for j in commas if len(commas[j]) >= len(texts.get(j, ())) + len(points.get(j, ()))]
    with_points = [j for j in points if len(points[j]) >= len(texts.get(j, ())) + len(commas.get(j, ()))]
    if with_commas and with_points:
        examples = commas[with_commas[0]][0], points[with_points[0]][0]
        raise UnreadableError(
            f"has numbers such as {shortened(examples[0])!r} and {shortened(examples[1])!r}; "
            "pass decimal=',' (--decimal ,) or decimal='.' (--decimal .)."
        )
    return "," if with_commas else "."


def _columns_by_kind(sample: str, delimiter: str) -> tuple[_Columns, _Columns, _Columns]:
    """Return the numbers with a comma, those with a point, and what is not a number, by column."""
    commas, points, texts = _Columns(list), _Columns(list), _Columns(list)
    records = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    with suppress(csv.Error):  # of a quoted value that does not end within the sample
        for record in records:
            for index, field in enumerate(map(str.strip, record)):
                if _WITH_COMMA.fullmatch(field):
                    commas[index].append(field)
                elif _WITH_POINT.fullmatch(field):
                    points[index].append(field)
                elif field not in MISSING and not _INTEGER.fullmatch(field):
                    texts[index].append(field)
    return commas, points, texts
