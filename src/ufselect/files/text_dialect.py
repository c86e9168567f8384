"""Find the delimiter and the decimal mark of a text file from its first lines."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from ufselect._utils.wording import shortened
from ufselect.files.errors import UnreadableError

EXCEL_ERRORS = (
    "#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#GETTING_DATA",
)  # fmt: skip
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "null", "NULL", "None", *EXCEL_ERRORS)
DELIMITERS = (",", ";", "\t", "|")
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
GROUPED = {  # by the mark that separates thousands
    ",": r"^[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?$",
    ".": r"^[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?$",
}
_WITH_COMMAS, _WITH_POINTS = re.compile(GROUPED[","]), re.compile(GROUPED["."])
_QUOTED_WITH_COMMA = re.compile(r'"\s*[+-]?[1-9]\d{0,2},\d{3}')
_INTEGER = re.compile(r"[+-]?\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How a file separates values, and writes numbers and missing values."""

    delimiter: str
    decimal: str
    thousands: str = ""  # the mark between groups of three digits, unless it might be a decimal mark
    example: str = ""  # a number with such a mark that was found rather than asked for
    is_fixed: bool = False  # whether the format itself knows numbers, as that of sheets does
    na: tuple[str, ...] = ()  # further texts that mean a missing value

    @property
    def is_plain(self) -> bool:
        """Whether Arrow can parse the numbers as they are written."""
        return self.decimal == "." and not self.na

    def normalized(self, values: Any) -> Any:
        """Return the values as Arrow parses numbers, without blanks around them, null if they are missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        trimmed = pc.utf8_trim_whitespace(values)
        present = pc.if_else(pc.is_in(trimmed, pa.array([*MISSING, *self.na])), None, trimmed)
        if self.thousands and pc.any(pc.match_substring(present, self.thousands)).as_py():
            grouped = pc.match_substring_regex(present, GROUPED[self.thousands])
            present = pc.if_else(grouped, pc.replace_substring(present, self.thousands, ""), present)
        if self.decimal == ".":
            return present
        pointless = pc.replace_substring(present, ".", "'")  # 1.5 is not a number here
        return pc.replace_substring(pointless, ",", ".")

    def notes(self) -> tuple[str, ...]:
        """Return a sentence on thousands separators that were found; none if there are none."""
        marks = {",": "Commas", ".": "Points"}
        if not self.example:
            return ()
        return (f"{marks[self.thousands]} in numbers such as {self.example} were read as thousands separators.",)


def find_dialect(sample: str, delimiter: str | None = None, decimal: str | None = None) -> Dialect:
    """Return the only dialect that fits the first lines of a file, all of them whole, and what the caller knows."""
    if delimiter is None:
        candidates = [mark for mark in DELIMITERS if mark != decimal]
        text = _without_quotes(sample, "".join(candidates)) if '"' in sample else sample
        lines = [line for line in (line.rstrip("\r") for line in text.split("\n")) if line]
        delimiter = _fitting_delimiter(lines, candidates, decimal)
    if decimal is not None:
        return Dialect(delimiter, decimal, "," if decimal == "." else ".")
    if delimiter == "," and not _QUOTED_WITH_COMMA.search(sample):
        return Dialect(delimiter, ".")
    return _with_fitting_decimal(sample, delimiter)


def fields_of(record: str, delimiter: str) -> list[str]:
    """Return the fields of a record; a line end, which a quoted field may have, does not end it."""
    return next(csv.reader(io.StringIO(record, newline=""), delimiter=delimiter), [])


def any_number(fields: Sequence[str]) -> bool:
    """Whether one of the fields is a number, with either decimal mark."""
    return any(kind.fullmatch(field.strip()) for field in fields for kind in (_INTEGER, _WITH_POINT, _WITH_COMMA))


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
    # R writes row labels without a name: each row has one value more than the header.
    short = [mark for mark, (first, *rows) in widths.items() if rows and set(rows) == {first + 1}] if lines else []
    fitting = exact or [mark for mark in short if widths[mark][0] > 1] or short
    if len(fitting) > 1:
        found = " or ".join(f"{mark!r} ({widths[mark][-1]} columns)" for mark in fitting)
        choices = " or ".join(map(repr, fitting))
        raise UnreadableError(
            f"can be split at {found}; pass delimiter={choices} (--delimiter), "
            "and decimal=',' (--decimal ,) for decimal commas."
        )
    rows = lines if lines and "," in lines[0] else lines[1:]
    if fitting == [","] and decimal is None and all(_WITH_COMMA.fullmatch(row.strip()) for row in rows):
        raise UnreadableError(
            "holds two columns split at ',' or one with decimal commas; "
            "pass delimiter=',' (--delimiter ,) or decimal=',' (--decimal ,)."
        )
    present = [mark for mark in candidates if lines and mark in lines[0]]
    return (fitting or present or candidates)[0]


class _Marked(NamedTuple):
    """Numbers with one of the two marks, of columns in which they prevail."""

    numbers: list[tuple[int, str]]  # column and text
    are_decimals: bool  # whether one of them has a decimal mark for certain
    are_thousands: bool  # whether one of them has a thousands separator for certain
    example: str  # one of them, preferably one that has one meaning only


def _with_fitting_decimal(sample: str, delimiter: str) -> Dialect:
    """Return the dialect with the decimal mark of the numbers, a point if there is none, and thousands separators."""
    commas, points = _marked_numbers(sample, delimiter)
    if delimiter == "," and commas.are_decimals:  # which columns of text will tell
        return Dialect(delimiter, ".")
    with_comma = commas.are_decimals or points.are_thousands
    with_point = points.are_decimals or commas.are_thousands
    if commas.numbers and points.numbers and (with_comma == with_point or (with_comma and not points.are_thousands)):
        raise UnreadableError(
            f"has numbers such as {shortened(commas.numbers[0][1])!r} and {shortened(points.numbers[0][1])!r}; "
            "pass decimal=',' (--decimal ,) or decimal='.' (--decimal .)."
        )
    if with_comma:
        return Dialect(delimiter, ",", "." if points.numbers else "", points.example)
    if commas.numbers and not with_point:
        raise UnreadableError(_why_ambiguous(commas, sample, delimiter))
    return Dialect(delimiter, ".", "," if commas.numbers else "", commas.example)


def _why_ambiguous(commas: _Marked, sample: str, delimiter: str) -> str:
    column, text = commas.numbers[0]
    first = next(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter))
    name = first[column] if column < len(first) and not any_number([first[column]]) else f"column {column + 1}"
    name = name.encode("latin-1").decode("utf-8", "replace")  # as which the sample was not read
    whole, decimal = text.replace(",", ""), text.replace(",", ".")
    advice = "pass decimal='.' (--decimal .)"
    if delimiter != ",":
        advice += " or decimal=',' (--decimal ,)"
    return f"has {text!r} in {shortened(name)!r}, which may mean {whole} or {decimal}; {advice}."


def _marked_numbers(sample: str, delimiter: str) -> tuple[_Marked, _Marked]:
    """Return the numbers with a comma and those with a point."""
    commas, points, texts = (defaultdict[int, list[str]](list) for _ in range(3))  # by column
    records = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    with suppress(csv.Error):  # of a quoted value that does not end within the sample
        for record in records:
            for index, field in enumerate(map(str.strip, record)):
                if _WITH_COMMA.fullmatch(field) or _WITH_COMMAS.fullmatch(field):
                    commas[index].append(field)
                elif _WITH_POINT.fullmatch(field) or _WITH_POINTS.fullmatch(field):
                    points[index].append(field)
                elif field not in MISSING and not _INTEGER.fullmatch(field):
                    texts[index].append(field)

    def prevailing(some: dict[int, list[str]], others: dict[int, list[str]], grouped: re.Pattern[str]) -> _Marked:
        columns = (j for j in some if len(some[j]) >= len(texts.get(j, ())) + len(others.get(j, ())))
        numbers = [(j, text) for j in columns for text in some[j]]
        fitting = [text for _, text in numbers if grouped.fullmatch(text)]
        thousands = [text for text in fitting if text.count(",") + text.count(".") > 1]
        example = shortened((thousands or [text for _, text in numbers] or [""])[0])
        return _Marked(numbers, len(fitting) < len(numbers), bool(thousands), example)

    return prevailing(commas, points, _WITH_COMMAS), prevailing(points, commas, _WITH_POINTS)
