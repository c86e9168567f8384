"""The lines of text files: text in any encoding as UTF-8, and comment lines, which begin with # and are no records."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from ufselect._utils.wording import counted, shortened
from ufselect.files.errors import UnreadableError
from ufselect.files.text_dialect import DELIMITERS, EXCEL_ERRORS, MISSING, any_number, fields_of

_BLOCK = 1024 * 1024  # bytes that are decoded together
_LARGEST_IN_MEMORY = 16 * _BLOCK  # of decoded text
_BYTE_ORDER_MARKS = {  # UTF-32 first: its mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CONTROLS_OF_LATIN1 = bytes(range(0x80, 0xA0))  # letters and quotes in Windows, nothing in Latin-1
MARK = "#"
_MARK = MARK.encode()
_ERROR_FIRST = re.compile(f"(?:{'|'.join(map(re.escape, EXCEL_ERRORS))})[ ]*(?:[{''.join(DELIMITERS)}\r\n]|$)".encode())


def check_encoding(encoding: str) -> None:
    """Raise an error if Python knows no encoding of text by this name."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)
    except (LookupError, ValueError):
        raise ValueError(
            f"encoding={shortened(encoding)!r} is not known; examples are 'utf-8', 'latin-1', 'cp1252' and 'utf-16'."
        ) from None


@contextmanager
def as_utf8(stream: IO[bytes], encoding: str | None) -> Iterator[Any]:
    """Yield a seekable stream with the same text in UTF-8; without an encoding, the byte order mark gives it."""
    if encoding is None:
        start = stream.read(4)
        stream.seek(0)
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if start.startswith(mark)), "utf-8")
    if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
        yield stream
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    with SpooledTemporaryFile(max_size=_LARGEST_IN_MEMORY) as decoded:
        try:
            while data := stream.read(_BLOCK):
                decoded.write(decoder.decode(data).encode())
            decoded.write(decoder.decode(b"", True).encode())
        except UnicodeError as error:
            raise UnreadableError(f"is not {encoding} text; pass another encoding (--encoding).") from error
        decoded.seek(0)
        yield decoded


def why_not_utf8(text: bytes) -> str:
    """Return the end of a sentence on a file of which this text is a part, and is not UTF-8."""
    likely = "latin-1" if text == text.translate(None, _CONTROLS_OF_LATIN1) else "cp1252"
    return f"is not UTF-8 text; pass its encoding, for example encoding={likely!r} (--encoding {likely})."


def refuse_null_characters(text: bytes) -> None:
    """Raise an error if the first line of a file has null characters, as UTF-16 without a byte order mark does."""
    if b"\0" in text:
        likely = "utf-16-be" if text.startswith(b"\0") else "utf-16-le"
        raise UnreadableError(
            f"has null characters, as if it were UTF-16; pass encoding={likely!r} (--encoding {likely})."
        )


@dataclass
class Comments:
    """The comment lines of a file."""

    n_before: int = 0  # the first record
    between: bool = True  # whether lines between records that begin with # may be comments, too
    n_between: int = 0  # in the last pass through the file

    def notes(self) -> tuple[str, ...]:
        """Return a sentence on what was skipped; none if nothing was."""
        count = self.n_before + self.n_between
        verb = "was" if count == 1 else "were"
        return (f"{counted(count, 'comment line')} {verb} skipped.",) if count else ()

    def removed(self, data: bytes, delimiter: str, n_fields: int) -> bytes:
        """Return text that starts with a record or a comment without its whole comment lines."""
        if not self.between or not (data.startswith(_MARK) or b"\n" + _MARK in data):
            return data
        kept, n_quotes = [], 0
        for line in io.BytesIO(data):
            is_comment_line = line.startswith(_MARK) and line.endswith(b"\n") and n_quotes % 2 == 0
            if is_comment_line and not _is_record(line, delimiter, n_fields):
                self.n_between += 1
                continue
            kept.append(line)
            n_quotes += line.count(b'"')
        return b"".join(kept)

    def skipped(self, lines: Iterable[str], delimiter: str, n_fields: int) -> Iterator[list[str]]:
        """Yield the records of a file; quotes in comments and comments in quotes do no harm."""
        at_start = True

        def others() -> Iterator[str]:
            nonlocal at_start
            for line in lines:
                is_marked = self.between and at_start and line.startswith(MARK)
                if is_marked and not _is_record(line.encode(), delimiter, n_fields):
                    self.n_between += 1
                    continue
                at_start = False
                yield line

        for record in csv.reader(others(), delimiter=delimiter):
            at_start = True
            yield record


def is_comment(line: bytes) -> bool:
    """Whether a line begins with #, and not with an error of Excel as its first field."""
    return line.startswith(_MARK) and not _ERROR_FIRST.match(line)


def _is_record(line: bytes, delimiter: str, n_fields: int) -> bool:
    """Whether a line that begins with # is a record: unlike repeated names, it has a number or a missing value."""
    if not is_comment(line):
        return True
    if n_fields < 2 or line.count(delimiter.encode()) < n_fields - 1 or line.count(b'"') % 2:
        return False
    try:
        fields = fields_of(line.decode("utf-8", "replace"), delimiter)
    except csv.Error:
        return False
    return len(fields) == n_fields and (any_number(fields[1:]) or any(field.strip() in MISSING for field in fields[1:]))


def names_in_comment(comment: str, record: str, delimiter: str) -> list[str] | None:
    """Return the names in the last comment line, as many as the record has values, one of them a number; or None."""
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
