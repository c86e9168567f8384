"""The files that a command writes: all of them, or none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import typer

from ufselect._utils.atomic_files import whole_file
from ufselect.cli.interruptions import raise_if_interrupted


def ensure_table_can_be_written(path: Path | None, data: Path) -> None:
    """Raise an error before any work is done if a table could not be written at the end."""
    if path is not None:
        _refuse_other_formats(path)
        ensure_can_be_written(path, data, "--output")


def ensure_can_be_written(path: Path | None, data: Path, option: str, *, suffix: str = "") -> None:
    """Raise an error before any work is done if a file could not be written at the end."""
    if path is None:
        return
    if suffix and path.suffix.casefold() != suffix:
        raise typer.BadParameter(f"{path} does not end in {suffix}", param_hint=option)
    if path.exists():
        if any(path.samefile(file) for file in _files(data)):
            raise typer.BadParameter(f"{path} is the input file", param_hint=option)
        _refuse_to_replace(path)
    _refuse_other_folders(path)


def _files(data: Path) -> list[Path]:
    """Return the files to read, as far as they exist."""
    from ufselect.files import is_pattern, paths_matching

    return paths_matching(data) if is_pattern(data) else [data] if data.exists() else []


def _refuse_to_replace(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    if not path.is_file():
        raise OSError(f"{path} is not a regular file.")
    # The mode rather than os.access: the superuser may write to any file, and still means it to be read-only.
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(f"{path} is read-only.")


def _refuse_other_folders(path: Path) -> None:
    """Refuse a folder that does not exist or cannot be written to; that of its target if the path is a link."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(f"{path} cannot be written: it is a link that leads back to itself.")
    if not target.parent.is_dir():
        missing = f"it is a link to {target}, and " if path.is_symlink() else ""
        folder = target.parent if path.is_symlink() else path.parent
        raise FileNotFoundError(f"{path} cannot be written: {missing}there is no folder {folder}.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: permission denied.")


def write_all(tables: Mapping[Path, Callable[[Path], None]], pages: Mapping[Path, str]) -> None:
    """Write every file; none appears before all are written."""
    raise_if_interrupted()
    with ExitStack() as files:
        for path, write in tables.items():
            with _failure_named(path):
                write(files.enter_context(whole_file(path)))
        for path, page in pages.items():
            with _failure_named(path):
                files.enter_context(whole_file(path)).write_text(page, encoding="utf-8", errors="replace")


@contextmanager
def _failure_named(path: Path) -> Iterator[None]:
    """Name the file and the cause if writing fails: every library words it differently."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        if isinstance(error, OSError):
            number = error.errno
        elif found := re.search(r"errno = (\d+)", str(error)):  # HDF5, in the middle of a sentence
            number = int(found[1])
        else:
            raise
        cause = os.strerror(number).lower() if number else "the file is incomplete"
        raise OSError(f"{path} could not be written: {cause}.") from error


def _refuse_other_formats(path: Path) -> None:
    from ufselect.files import check_writable

    try:
        check_writable(path)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from error
