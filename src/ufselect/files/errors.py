"""Errors of files: every failure becomes one sentence that names the file and the cause."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ufselect.files.registry import format_of


class UnreadableError(ValueError):
    """Why a file cannot be read, as the end of a sentence that starts with the name of the file."""


class UnknownColumnsError(UnreadableError):
    """Columns that are to be set aside are not in the file."""

    def __init__(self, reason: str, unknown: tuple[str, ...]) -> None:
        super().__init__(reason)
        self.unknown = unknown


class RaggedError(UnreadableError):
    """A row has more or fewer values than there are columns."""

    def __init__(self, row: int, n_found: int, n_expected: int) -> None:
        names = f"the header has {n_expected} name{'s' * (n_expected != 1)}"
        expected = names if row == 1 else f"there are {n_expected} columns"
        super().__init__(f"has {n_found} value{'s' * (n_found != 1)} in row {row}, but {expected}.")
        self.is_one_name_short = row == 1 and n_found == n_expected + 1


def check_file(path: str | Path) -> None:
    """Raise an error if the file does not exist, is empty or is not a regular file; it is not opened."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: permission denied.") from None
    except OSError as error:
        raise OSError(f"{path} cannot be opened: {(error.strerror or 'unknown cause').lower()}.") from error
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    if not stat.S_ISREG(status.st_mode):  # opening a pipe waits until another process writes to it
        raise OSError(f"{path} is not a regular file; save the data to a file first.")
    if not status.st_size:
        raise ValueError(f"{path} is empty.")


@contextmanager
def errors_named(path: str | Path, name: str = "") -> Iterator[None]:
    """Turn any error of a reader into one sentence that names the file, as ``name`` if that is given."""
    name = name or str(path)
    try:
        yield
    except MemoryError:
        raise
    except PermissionError:
        raise PermissionError(f"{name} cannot be read: permission denied.") from None
    except ImportError as error:
        raise ValueError(f"Reading {name} requires {error.name}: pip install {error.name}.") from error
    except UnreadableError as error:
        raise ValueError(f"{name} {error}") from error
    except Exception as error:  # libraries raise anything for damaged files
        title = format_of(path).title
        raise ValueError(f"{name} cannot be read as {title}: the file is damaged or incomplete.") from error
