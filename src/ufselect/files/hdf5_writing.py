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
    """A file that remembers the first error of the disk instead of raising it."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        """Write all of the data; the system may take only a part at a time."""
        left = memoryview(data).cast("B")
        try:
            while left:
                left = left[super().write(left) :]
        except OSError as error:
            self.error = self.error or error
        return memoryview(data).nbytes

    def truncate(self, size: int | None = None) -> int:
        """Change the size of the file."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0
