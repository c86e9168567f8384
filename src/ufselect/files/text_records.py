"""Text files as blocks of whole rows, with all values of a block in one Arrow array.

The CSV reader of Arrow builds one array per column and block, which for 20,000 columns takes more memory than the
numbers themselves. Here, delimiters are replaced by line ends, and Arrow reads a file with one column.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ufselect._utils.wording import visible
from ufselect.files.errors import RaggedError, UnreadableError
from ufselect.files.registry import file_format
from ufselect.files.text_dialect import Dialect, fields_of, find_dialect
from ufselect.files.text_lines import (
    Comments,
    as_utf8,
    delimiter_of_comment,
    is_comment,
    names_in_comment,
    refuse_null_characters,
    why_not_utf8,
)

_BLOCK = 4 * 1024 * 1024  # bytes of text
_SAMPLE = 1024 * 1024  # bytes of text in which the dialect is found, and lines
_SAMPLE_LINES = 300
_VALUES = 200_000  # values per block of records that are read one by one or in memory
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_QUOTE, _LINE_FEED, _RETURN = b'"\n\r'


class _IrregularError(Exception):
    """Quotes or line ends that only a reader of single characters understands."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """The records of a file, all of which have as many fields as the first one."""

    path: Path
    dialect: Dialect
    fields: list[str]  # of the first record
    has_names: bool = False  # whether these are names for certain, whatever they look like
    first_is_data: bool = False  # whether the names are in a comment, so that the first record is data in any case
    has_labels: bool | None = None  # whether the first field of each record is its label, if that is known

    def blocks(self, *, after_header: bool) -> Iterator[Any]:
        """Yield Arrow arrays of strings, each with the values of some records one after another."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class StoredRecords(Records):
    """Records in memory, one after another; or one after another all values of each field, as in a transposed file."""

    values: Any
    is_transposed: bool = False

    def blocks(self, *, after_header: bool) -> Iterator[Any]:
        """Yield Arrow arrays of strings, each with the values of some records one after another."""
        n_fields = len(self.fields)
        n_records = len(self.values) // n_fields
        step = max(1, _VALUES // n_fields)
        for start in range(int(after_header), n_records, step):
            records = np.arange(start, min(start + step, n_records))[:, None]
            fields = np.arange(n_fields)
            places = records + n_records * fields if self.is_transposed else n_fields * records + fields
            yield self.values.take(places.ravel())


@dataclass(frozen=True, kw_only=True)
class TextFile(Records):
    """A text file that is open: its text as UTF-8, and where data start with the first record and after it."""

    raw: IO[bytes]
    stream: Any
    first: int
    second: int
    comments: Comments
    verbose: int = 0

    def blocks(self, *, after_header: bool) -> Iterator[Any]:
        """Yield Arrow arrays of strings, each with the values of some records one after another."""
        start, n_rows, n_comments = self.second if after_header else self.first, 0, 0
        self.comments.n_between = 0
        self.stream.seek(start)
        with self._bar() as show:
            try:
                for block, end in _whole_records(self.stream, self):
                    values = _flat_values(block, self, n_rows)
                    n_rows += len(values) // len(self.fields)
                    start, n_comments = end, self.comments.n_between
                    show(self.raw.tell())
                    yield values
            except _IrregularError:
                self.stream.seek(start)
                self.comments.n_between = n_comments
                yield from _one_by_one(self.stream, self, n_rows)

    @contextmanager
    def _bar(self) -> Iterator[Callable[[int], object]]:
        """Yield a function to call with the number of bytes read; the first second shows nothing."""
        if not self.verbose:
            yield lambda _: None
            return
        from tqdm import tqdm  # only imported if it is shown

        size, delay = self.path.stat().st_size, float(os.environ.get("TQDM_DELAY", "1"))
        title = f"Reading {visible(self.path.name)}"
        with tqdm(total=size, desc=title, unit="B", unit_scale=True, delay=delay, leave=False) as bar:
            yield lambda n_bytes: bar.update(n_bytes - bar.n)


@contextmanager
def open_text_file(
    path: Path, delimiter: str | None, decimal: str | None, na: tuple[str, ...], encoding: str | None, verbose: int
) -> Iterator[TextFile]:
    """Open a text file, and find its dialect and its first record, which gives the number of columns."""
    with (
        path.open("rb") as raw,
        gzip.open(raw) if path.suffix.casefold() == ".gz" else nullcontext(raw) as plain,
        as_utf8(plain, encoding) as stream,  # type: ignore[arg-type]  # a GzipFile serves as any binary file
    ):
        start = len(_BYTE_ORDER_MARK) if stream.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK else 0
        stream.seek(start)
        n_comments, comment = _comments_before(stream, start)
        record = _first_record(stream)
        end = stream.tell()
        lines = list(_first_lines(stream))
        text, last_comment = _checked_text(record), comment.decode("utf-8", "replace")
        # If all other lines begin with #, as a column of colours does, they are records.
        comments = Comments(n_comments, between=not all(is_comment(line) for line in lines if line.strip()))
        sample = record + b"".join(line for line in lines if not (comments.between and is_comment(line)))
        if delimiter is None:
            delimiter = "\t" if file_format(path) == "tsv" else delimiter_of_comment(last_comment, text, decimal)
        dialect = find_dialect(sample.decode("latin-1"), delimiter, decimal)  # in which ASCII stays ASCII
        first = end - len(record)
        names = names_in_comment(last_comment, text, dialect.delimiter)
        if names:
            _decoded(comment)  # raises an error if the names are not UTF-8
            comments.n_before -= 1
        yield TextFile(
            path=path,
            dialect=replace(dialect, na=na),
            fields=names or fields_of(text, dialect.delimiter),
            has_names=bool(names) or '"' in text,
            first_is_data=bool(names),
            raw=raw,
            stream=stream,
            first=first,
            second=first if names else end,
            comments=comments,
            verbose=verbose,
        )


def _checked_text(record: bytes) -> str:
    """Return the text of the first record if there is any."""
    if not record:
        raise UnreadableError("is empty.")
    refuse_null_characters(record)
    text = _decoded(record)
    if "\r" in text.rstrip("\r\n") and '"' not in text:
        raise UnreadableError("has carriage returns as line ends; save it with ordinary line ends.")
    return text


def _comments_before(stream: IO[bytes], start: int) -> tuple[int, bytes]:
    """Move to the first line that is neither blank nor a comment, if any; return how many comments, and the last."""
    count, last, position = 0, b"", start
    while line := stream.readline():
        if is_comment(line):
            count, last = count + 1, line
        elif line.strip():
            stream.seek(position)
            return count, last
        position += len(line)
    stream.seek(start)
    return 0, b""


def _first_record(stream: IO[bytes]) -> bytes:
    """Return the first record that is not blank, with all lines of its quoted values."""
    line = stream.readline()
    while line and not line.strip():
        line = stream.readline()
    record = [line]
    while sum(part.count(b'"') for part in record) % 2 and record[-1]:
        record.append(stream.readline())
    return b"".join(record)


def _first_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the next lines, all of them whole and few enough to be looked at quickly."""
    size = 0
    for line in islice(stream, _SAMPLE_LINES):
        yield line
        size += len(line)
        if size >= _SAMPLE:
            break


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableError(why_not_utf8(line)) from error


def _whole_records(stream: IO[bytes], file: TextFile) -> Iterator[tuple[bytes, int]]:
    """Yield blocks that end with a record, without comments, and where the next ones start."""
    delimiter, rest = file.dialect.delimiter, b""

    def without_comments(data: bytes) -> bytes:
        return file.comments.removed(data, delimiter, len(file.fields))

    while data := stream.read(max(_BLOCK, len(rest))):
        data = without_comments(rest + data)
        end = _end_of_last_record(data)
        rest = data[end:]
        if end:
            yield data[:end], stream.tell() - len(rest)
        else:
            _checked_quotes(_bytes(data), delimiter)  # or one that is not closed takes everything
    if rest := without_comments(rest if rest.endswith(b"\n") or not rest else rest + b"\n"):
        yield rest, stream.tell()


def _end_of_last_record(data: bytes) -> int:
    """Return the index after the last line end with an even number of quotes before it."""
    end = data.rfind(b"\n") + 1
    n_quotes = data.count(b'"', 0, end)
    while end and n_quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        n_quotes -= data.count(b'"', before, end)
        end = before
    return end


def _bytes(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)


def _checked_quotes(text: NDArray[np.uint8], delimiter: str) -> NDArray[np.intp]:
    """Return where quotes are; raise an error if they are not at the ends of values, or doubled."""
    quotes = np.flatnonzero(text == _QUOTE)
    borders = _bytes(b'"\n\r' + delimiter.encode())
    opening, closing = quotes[0::2], quotes[1::2]
    before, after = text[opening[opening > 0] - 1], text[np.minimum(closing + 1, len(text) - 1)]
    if not (np.isin(before, borders).all() and np.isin(after, borders).all()):
        raise _IrregularError
    return quotes


def _flat_values(block: bytes, file: TextFile, n_before: int) -> Any:
    """Return the values of a block of whole records."""
    text, quoted, delimiter = np.array(_bytes(block)), b'"' in block, file.dialect.delimiter
    separators = np.flatnonzero((text == ord(delimiter)) | (text == _LINE_FEED))
    if quoted:
        quotes = _checked_quotes(text, delimiter)
        if len(quotes) % 2:
            raise UnreadableError("has a quote that is not closed.")
        separators = separators[np.searchsorted(quotes, separators) % 2 == 0]
    ends = text[separators] == _LINE_FEED
    if block.startswith((b"\n", b"\r\n")) or b"\n\n" in block or b"\n\r\n" in block:
        blank = _blank_rows(text, separators, ends)
        if len(blank):
            return _flat_values(np.delete(text, blank).tobytes(), file, n_before)
    lengths = np.diff(np.flatnonzero(ends), prepend=-1)
    if len(wrong := np.flatnonzero(lengths != len(file.fields))):
        raise RaggedError(n_before + int(wrong[0]) + 1, int(lengths[wrong[0]]), len(file.fields))
    text[separators[~ends]] = _LINE_FEED
    values = _strings(text, delimiter, quoted)
    if len(values) != len(lengths) * len(file.fields):
        raise _IrregularError
    return values


def _blank_rows(text: NDArray[np.uint8], separators: NDArray[np.intp], ends: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the indices of the characters of empty rows."""
    starts = np.concatenate([[0], separators[:-1] + 1])
    alone = ends & np.concatenate([[True], ends[:-1]])
    bare = separators[alone & (separators == starts)]
    with_return = separators[alone & (separators == starts + 1) & (text[starts] == _RETURN)]
    return np.concatenate([bare, with_return - 1, with_return])


def _strings(text: NDArray[np.uint8], delimiter: str, quoted: bool) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if not len(text):
        return pa.array([], pa.string())
    try:
        column = arrow_csv.read_csv(
            pa.BufferReader(text),
            read_options=arrow_csv.ReadOptions(column_names=["value"], block_size=len(text) + 1, use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=quoted, ignore_empty_lines=False
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={"value": pa.string()},
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        )
    except pa.ArrowInvalid:
        _decoded(text.tobytes())
        raise
    return column.column(0).combine_chunks()


def _one_by_one(stream: IO[bytes], file: TextFile, n_before: int) -> Iterator[Any]:
    """Yield the same with Python's reader, which looks at each character."""
    import pyarrow as pa

    n_columns = len(file.fields)
    lines = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    try:
        rows = _checked_records(file.comments.skipped(lines, file.dialect.delimiter, n_columns), n_columns, n_before)
        while some := list(islice(rows, max(1, _VALUES // n_columns))):
            yield pa.array((value or None for value in chain.from_iterable(some)), pa.string())
    except UnicodeDecodeError as error:
        raise UnreadableError(why_not_utf8(error.object)) from error
    finally:
        lines.detach()


def _checked_records(records: Iterable[list[str]], n_columns: int, n_before: int) -> Iterator[list[str]]:
    for row, record in enumerate(filter(None, records), start=n_before + 1):
        if len(record) != n_columns:
            raise RaggedError(row, len(record), n_columns)
        yield record
