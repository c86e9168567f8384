"""What a command puts out: sentences and tables on the terminal, and files, all of them or none."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from time import perf_counter
from types import FrameType

import typer

from ufselect._utils.atomic_files import whole_file
from ufselect._utils.wording import in_one_line, shown, visible

_LONGEST_CELL = 60
_interrupted = Event()


def say(sentences: Iterable[str], *, err: bool = False) -> None:
    """Print each sentence on its own line, control characters made visible, to standard output or standard error."""
    for sentence in sentences:
        typer.echo(visible(sentence), err=err)


def note(sentence: str) -> None:
    """Print a note to standard error."""
    say([f"Note: {in_one_line(sentence)}"], err=True)


def print_table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, left: Sequence[int] = (), longest: int = _LONGEST_CELL
) -> None:
    """Print a table; the columns whose indices are in ``left`` are aligned left, the others right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1), collapse_padding=True)
    for index, header in enumerate(headers):
        justify = "left" if index in left else "right"
        table.add_column(Text(shown(header)), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(shown(cell, longest)) for cell in row))
    width = None if sys.stdout.isatty() else 1000  # a file or a pipe has no edge
    Console(highlight=False, width=width).print(table)


def time_and_memory(since: float) -> str:
    """Return the time since then, as of ``perf_counter``, and the peak memory so far."""
    from ufselect._utils.memory import peak_memory

    peak = peak_memory()
    memory = "an unknown amount" if peak is None else f"{peak / 1e6:,.0f} MB"
    return f"{perf_counter() - since:,.1f} s and {memory} of memory"


def raise_on_signals() -> None:
    """Raise ``KeyboardInterrupt`` on SIGINT, SIGTERM and SIGHUP, unless they are ignored or handled already."""

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a signal handler
        _interrupted.set()
        raise KeyboardInterrupt

    def report_unless_interrupted(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):  # within a finalizer: `write_all` raises it
            sys.__unraisablehook__(unraisable)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP, and nohup ignores it
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)
    sys.unraisablehook = report_unless_interrupted


def ensure_table_can_be_written(path: Path | None, data: Path) -> None:
    """Raise an error before any work is done if a table could not be written at the end."""
    if path is None:
        return
    from ufselect.files import check_writable

    try:
        check_writable(path)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from error
    ensure_can_be_written(path, data, "--output")


def ensure_can_be_written(path: Path | None, data: Path, option: str, *, suffix: str = "") -> None:
    """Raise an error before any work is done if a file could not be written at the end."""
    if path is None:
        return
    if suffix and path.suffix.casefold() != suffix:
        raise typer.BadParameter(f"{path} does not end in {suffix}", param_hint=option)
    if path.exists():
        from ufselect.files import is_pattern, paths_matching

        inputs = paths_matching(data) if is_pattern(data) else [data] if data.exists() else []
        if any(path.samefile(file) for file in inputs):
            raise typer.BadParameter(f"{path} is the input file", param_hint=option)
        _ensure_replaceable(path)
    target = Path(os.path.realpath(path))  # a link is written to where it leads
    if target.is_symlink():
        raise OSError(f"{path} cannot be written: it is a link that leads back to itself.")
    if not target.parent.is_dir():
        missing = f"it is a link to {target}, and " if path.is_symlink() else ""
        folder = target.parent if path.is_symlink() else path.parent
        raise FileNotFoundError(f"{path} cannot be written: {missing}there is no folder {folder}.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: permission denied.")


def _ensure_replaceable(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    if not path.is_file():
        raise OSError(f"{path} is not a regular file.")
    # The mode rather than os.access: the superuser may write to any file, and still means it to be read-only.
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(f"{path} is read-only.")


def needs_values(output: Path | None, data: Path) -> bool:
    """Whether the output has values of the table, rather than a copy of everything in the input file."""
    from ufselect.files.registry import known_format

    known = output and known_format(output)
    return output is not None and not (known and known.annotates and known is known_format(data))


def write_all(tables: Mapping[Path, Callable[[Path], None]], pages: Mapping[Path, str]) -> None:
    """Write every file; none appears before all are written."""
    if _interrupted.is_set():  # Python discards exceptions within finalizers
        raise KeyboardInterrupt
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
