"""Standard input as a file, which readers can read twice."""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

MARK = "-"
"""The path that means standard input."""

NAME = "standard input"

_SUFFIXES = {
    b"PAR1": ".parquet",
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
    b"MATLAB 5.0": ".mat",
    b"\x1f\x8b": ".csv.gz",
    b"\x89HDF\r\n\x1a\n": ".h5ad",
}


@contextmanager
def stored_input() -> Iterator[Path]:
    """Yield a file with everything that standard input holds; its suffix says what that is, text by default.

    Raises
    ------
    OSError
        If standard input is closed or a terminal.
    ValueError
        If it is empty or holds an AnnData file.
    """
    with TemporaryDirectory(prefix="ufselect-") as folder:
        stored = Path(folder, NAME)
        with stored.open("wb") as file:
            shutil.copyfileobj(_stream(), file)
        yield stored.rename(stored.with_name(NAME + _suffix(stored)))


def _stream() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.closed:
        raise OSError(f"{NAME} is closed; pipe a file into the command, or give its name.")
    if sys.stdin.isatty():
        raise OSError(f"{NAME} is a terminal; pipe a file into the command, or give its name.")
    return sys.stdin.buffer


def _suffix(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(max(map(len, _SUFFIXES)))
    if not start:
        raise ValueError(f"{NAME} is empty.")
    suffix = next((suffix for mark, suffix in _SUFFIXES.items() if start.startswith(mark)), ".csv")
    if suffix == ".h5ad":
        raise ValueError(f"{NAME} is an AnnData file, which cannot be read from there; give the name of the file.")
    return ".xlsx" if suffix == ".npz" and _is_workbook(path) else suffix


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False
