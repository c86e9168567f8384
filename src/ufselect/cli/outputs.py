"""Files that a command writes: all of them, or none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import typer

from ufselect._backend.writing import whole_file


def ensure_table_can_be_written(path: Path | None, data: Path) -> None:
    """Raise before any work is done where a table could not be written at the end."""
    if path is not None:
        _refuse_other_formats(path)
        ensure_can_be_written(path, data, "--output")


def ensure_can_be_written(path: Path | None, data: Path, option: str, *, suffix: str = "") -> None:
    """Raise before any work is done where a file could not be written at the end."""
    if path is None:
        return
    if suffix and path.suffix.casefold() != suffix:
        raise typer.BadParameter(f"{path} does not end in {suffix}", param_hint=option)
    if path.exists() and data.exists() and path.samefile(data):
        raise typer.BadParameter(f"{path} is the file that is read", param_hint=option)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no ordinary file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path} may not be written: permission denied.")


def write_all(tables: Mapping[Path, Callable[[Path], None]], pages: Mapping[Path, str]) -> None:
    """Write every file; none appears before all are written."""
    with ExitStack() as files:
        for path, write in tables.items():
            with _failure_told(path):
                write(files.enter_context(whole_file(path)))
        for path, page in pages.items():
            with _failure_told(path):
                files.enter_context(whole_file(path)).write_text(page, encoding="utf-8", errors="replace")


@contextmanager
def _failure_told(path: Path) -> Iterator[None]:
    """Name the file and the cause where the system refuses to write: libraries tell it in as many ways."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        if isinstance(error, OSError):
            number = error.errno
        elif told := re.search(r"errno = (\d+)", str(error)):  # HDF5, and in the middle of a sentence
            number = int(told[1])
        else:
            raise
        cause = os.strerror(number).lower() if number else "it could not be written to its end"
        raise OSError(f"{path} could not be written: {cause}.") from error


def _refuse_other_formats(path: Path) -> None:
    from ufselect.files import file_format

    try:
        if file_format(path) == "h5ad" and find_spec("anndata") is None:
            raise ModuleNotFoundError(f"{path} cannot be written without anndata: pip install anndata.")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from error
