"""Comment lines of text files: those that begin with #."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ufselect._backend.wording import counted
from ufselect.files.text_dialect import DELIMITERS, any_number, fields_of

MARK = "#"
_MARK = MARK.encode()


@dataclass
class Comments:
    """The comment lines of a file.

    Parameters
    ----------
    n_before : int
        Number of comment lines before the first record.
    between : bool
        Whether lines between records that begin with # are comments, too.
    n_between : int
        Number of them in the last pass through the file.
    """

    n_before: int = 0
    between: bool = True
    n_between: int = 0

    def notes(self) -> tuple[str, ...]:
        """Return a sentence on what was skipped; none if nothing was."""
        count = self.n_before + self.n_between
        verb = "was" if count == 1 else "were"
        return (f"{counted(count, 'comment line')} {verb} skipped.",) if count else ()

    def removed(self, data: bytes) -> bytes:
        """Return text that starts with a record or a comment without its whole comment lines."""
        if not self.between or not (data.startswith(_MARK) or b"\n" + _MARK in data):
            return data
        kept, start, n_quotes = [], 0, 0
        at = _mark_from(data, 0)
        while at >= 0:
            kept.append(data[start:at])
            n_quotes += data.count(b'"', start, at)
            start = at
            if n_quotes % 2:  # a line of a quoted value
                at = _mark_from(data, at + 1)
                continue
            end = data.find(b"\n", at) + 1
            if not end:  # not a whole line
                break
            self.n_between += 1
            start, at = end, _mark_from(data, end)
        return b"".join([*kept, data[start:]])

    def skipped(self, lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
        """Yield the records of a file; quotes in comments and comments in quotes do no harm."""
        at_start = True

        def others() -> Iterator[str]:
            nonlocal at_start
            for line in lines:
                if self.between and at_start and line.startswith(MARK):
                    self.n_between += 1
                    continue
                at_start = False
                yield line

        for record in csv.reader(others(), delimiter=delimiter):
            at_start = True
            yield record


def is_comment(line: bytes) -> bool:
    """Whether a line begins with #."""
    return line.startswith(_MARK)


def names_in_comment(comment: str, record: str, delimiter: str) -> list[str] | None:
    """Return the names in the last comment line before the first record, or None if it is a comment indeed.

    It holds names if there are as many as the record has values, at least two, and one of the values is a number: then
    the record itself is not a line of names.
    """
    try:
        names = fields_of(comment.lstrip(MARK).lstrip(" "), delimiter)
        values = fields_of(record, delimiter)
    except csv.Error:  # of a field longer than any name, or of a whole record if the delimiter is another one
        return None
    return names if len(names) == len(values) > 1 and any_number(values) else None


def delimiter_of_comment(comment: str, record: str, decimal: str | None) -> str | None:
    """Return the only delimiter that makes the last comment line before the first record a line of names."""
    candidates = [mark for mark in DELIMITERS if mark != decimal and names_in_comment(comment, record, mark)]
    return candidates[0] if len(candidates) == 1 else None


def _mark_from(data: bytes, start: int) -> int:
    """Return where the first line that begins with # starts, from this position on, or −1."""
    if data.startswith(_MARK, start) and data[start - 1 : start] in (b"\n", b""):
        return start
    return data.find(b"\n" + _MARK, start) + 1 or -1
