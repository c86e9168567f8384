"""What goes to the screen."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from unicodedata import category

import typer

_LONGEST_NAME = 60
_MOST_NAMES = 8
_ACTING = ("Cc", "Cs", "Zl", "Zp")


def shown(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name in one line of a terminal: control characters made visible, the end of a long one cut off."""
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in name[: longest + 1])
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def in_one_line(name: str) -> str:
    """A whole name that ends where its line does: control characters, which could also act, made visible."""
    return "".join(repr(letter)[1:-1] if category(letter) in _ACTING else letter for letter in name)


def listed(names: Sequence[str], most: int = _MOST_NAMES) -> str:
    """Names in a sentence; of many the first, and how many there are."""
    text = ", ".join(shown(name) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most:,} more"


def say(sentences: Iterable[str], *, err: bool = False) -> None:
    """Print sentences, each in a line, on standard output or on standard error."""
    for sentence in sentences:
        typer.echo(sentence, err=err)


def print_table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, left: Sequence[int] = (), longest: int = _LONGEST_NAME
) -> None:
    """Print cells in columns, numbers to the right, those named by ``left`` to the left."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1), collapse_padding=True)
    for place, header in enumerate(headers):
        table.add_column(Text(header), justify="left" if place in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(shown(cell, longest)) for cell in row))
    wide = None if sys.stdout.isatty() else 1000  # a file or a pipe has no edge
    Console(highlight=False, width=wide).print(table)


def percent(share: float | None, digits: int = 0) -> str:
    """A share as a percentage; a dash where there is none."""
    return "–" if share is None else f"{100.0 * share:.{digits}f} %"
