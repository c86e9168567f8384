"""Files that a command writes: all of them, or none."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import typer

from ufselect._backend.writing import whole_file


def ensure_can_be_written(path: Path | None, data: Path, *, table: bool) -> None:
    """Raise before any work is done where a file could not be written at the end."""
    if path is None:
        return
    if table:
        _refuse_other_formats(path)
    if path.exists() and data.exists() and path.samefile(data):
        raise typer.BadParameter(f"{path} is the file that is read", param_hint="--output" if table else "--report")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path} may not be written: permission denied.")


def write_all(tables: Mapping[Path, Callable[[Path], None]], pages: Mapping[Path, str]) -> None:
    """Write every file; none appears before all are written."""
    with ExitStack() as files:
        for path, write in tables.items():
            write(files.enter_context(whole_file(path)))
        for path, page in pages.items():
            files.enter_context(whole_file(path)).write_text(page, encoding="utf-8", errors="replace")


def _refuse_other_formats(path: Path) -> None:
    from ufselect.files import file_format

    try:
        if file_format(path) == "h5ad" and find_spec("anndata") is None:
            raise ModuleNotFoundError(f"{path} cannot be written without anndata: pip install anndata.")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from error
