"""Write HDF5 files to disks that may be full.

If HDF5 cannot write what it holds when a file is closed, it tries again when the process ends, and crashes. So it never
learns of such an error: it writes to a file object that remembers the error, which is raised once HDF5 has closed it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PAGE = 4096
_LARGEST_KEPT = 1 << 20


@contextmanager
def opened_for_writing(path: Path, mode: str) -> Iterator[Any]:
    """Open an HDF5 file, new ("w") or as it is ("r+").

    Raises
    ------
    OSError
        If something could not be written.
    """
    import h5py

    with _Uncomplaining(path, "w+" if mode == "w" else mode) as stream:
        try:
            with h5py.File(stream, mode) as file:
                yield file
        except Exception:
            if stream.error is None:
                raise  # else it may have read what was never written
        if stream.error is not None:
            raise stream.error


class _Uncomplaining(io.FileIO):
    """A file that remembers the first error of the disk instead of raising it, and keeps in memory what follows.

    HDF5 reads its own structures again, and would crash on what was never written. It does not read values again, so
    that large pieces, which can only be values, are not kept.
    """

    def __init__(self, path: Path, mode: str) -> None:
        super().__init__(path, mode)
        self.error: OSError | None = None
        self._pages: dict[int, bytearray] = {}

    def write(self, data: Any) -> int:
        """Write all of the data; the system may take only a part at a time."""
        content, start = memoryview(data).cast("B"), self.tell()
        left = content
        try:
            while left and self.error is None:
                left = left[super().write(left) :]
        except OSError as error:
            self.error = error
        if self.error is not None and len(content) <= _LARGEST_KEPT:
            for number, within, part in _parts(start, len(content)):
                self._page(number)[within] = content[part]
        self.seek(start + len(content))
        return len(content)

    def readinto(self, buffer: Any) -> int:
        """Read from the file, or what was kept instead of it."""
        content, start = memoryview(buffer).cast("B"), self.tell()
        n_read = super().readinto(buffer)
        for number, within, part in _parts(start, len(content)) if self._pages else ():
            if number in self._pages:
                content[part] = self._pages[number][within]
        return len(content) if self._pages else n_read or 0

    def truncate(self, size: int | None = None) -> int:
        """Change the size of the file."""
        try:
            return super().truncate(size) if self.error is None else size or 0
        except OSError as error:
            self.error = error
            return size or 0

    def _page(self, number: int) -> bytearray:
        if number not in self._pages:
            page = bytearray(_PAGE)
            self.seek(number * _PAGE)
            super().readinto(page)
            self._pages[number] = page
        return self._pages[number]


def _parts(start: int, size: int) -> Iterator[tuple[int, slice, slice]]:
    """Yield the pages that a range of bytes is on, where it is on each, and which part of the range that is."""
    for number in range(start // _PAGE, -(-(start + size) // _PAGE)):
        first, last = max(start, number * _PAGE), min(start + size, (number + 1) * _PAGE)
        yield number, slice(first - number * _PAGE, last - number * _PAGE), slice(first - start, last - start)
