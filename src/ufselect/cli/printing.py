"""Output on the terminal; control characters in it are always made visible."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import typer

from ufselect._utils.wording import in_one_line, shown, visible

_LONGEST_CELL = 60


def say(sentences: Iterable[str], *, err: bool = False) -> None:
    """Print each sentence on its own line, on standard output or standard error."""
    for sentence in sentences:
        typer.echo(visible(sentence), err=err)


def note(sentence: str) -> None:
    """Print a note on standard error."""
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
