"""Text in any encoding, read as UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import IO, Any

from ufselect._utils.wording import shortened
from ufselect.files.table import UnreadableError

_BLOCK = 1024 * 1024  # bytes that are decoded together
_MARKS = {  # UTF-32 first: its mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SAME = ("utf-8", "utf-8-sig")  # read as they are
_CONTROLS_OF_LATIN1 = bytes(range(0x80, 0xA0))  # letters and quotes in Windows, nothing in Latin-1


def check_encoding(encoding: str) -> None:
    """Raise an error if Python knows no encoding of text by this name."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)
    except (LookupError, ValueError):
        raise ValueError(
            f"encoding={shortened(encoding)!r} is not known; examples are 'utf-8', 'latin-1', 'cp1252' and 'utf-16'."
        ) from None


def as_utf8(stream: IO[bytes], encoding: str | None) -> Any:
    """Return a stream with the same text in UTF-8.

    Parameters
    ----------
    stream : binary file
        Open at its start. It can go back to it.
    encoding : str or None
        The encoding of the stream. None is UTF-16 or UTF-32 if the stream begins with their byte order mark, else
        UTF-8.

    Returns
    -------
    binary file
        The stream itself if it is in UTF-8.
    """
    if encoding is None:
        encoding = _marked_encoding(stream)
    if encoding is None or codecs.lookup(encoding).name in _SAME:
        return stream
    return io.BufferedReader(_Decoded(stream, encoding), _BLOCK)


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


def _marked_encoding(stream: IO[bytes]) -> str | None:
    start = stream.read(max(map(len, _MARKS)))
    stream.seek(0)
    return next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)


class _Decoded(io.RawIOBase):
    """The text of a stream as UTF-8. It goes back only by starting again, as a compressed file does."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream, self._encoding = stream, encoding
        self._start()

    def _start(self) -> None:
        self._stream.seek(0)
        self._decoder = codecs.getincrementaldecoder(self._encoding)()
        self._rest = memoryview(b"")
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("only positions from the start are known")
        if offset < self._position:
            self._start()
        while self._position < offset and self._fill():
            self._take(offset - self._position)
        return self._position

    def readinto(self, buffer: Any) -> int:
        self._fill()
        taken = self._take(len(buffer))
        buffer[: len(taken)] = taken
        return len(taken)

    def _take(self, size: int) -> memoryview:
        taken, self._rest = self._rest[:size], self._rest[size:]
        self._position += len(taken)
        return taken

    def _fill(self) -> bool:
        """Decode more if nothing is left; return whether there is text."""
        ended = False
        while not self._rest and not ended:
            data = self._stream.read(_BLOCK)
            ended = not data
            try:
                self._rest = memoryview(self._decoder.decode(data, ended).encode("utf-8"))
            except UnicodeError as error:
                raise UnreadableError(f"is not {self._encoding} text; pass another encoding (--encoding).") from error
        return bool(self._rest)
