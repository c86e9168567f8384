"""Lists of columns in text files."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ufselect._utils.wording import counted, listed, shown
from ufselect.cli.panel import guess_at, names_in_file, why_not_a_column

if TYPE_CHECKING:
    from ufselect.files import Table

_OPTION = "--columns"
_MOST_NAMED = 3
_MADE_UP = re.compile(r"(x|column )(\d+)")  # names of columns in files without names


@dataclass(frozen=True)
class ColumnList:
    """The different columns of a list, in its order; the number of those that it repeats; names that are no columns."""

    columns: list[int]
    n_repeated: int
    unknown: Sequence[str] = ()


def lines_in(paths: Sequence[Path]) -> dict[Path, list[str]]:
    """Read files of names, each once; raise an error before the table is read if one cannot be."""
    return {path: names_in_file(path, _OPTION) for path in paths}


def lists_in(lines: Mapping[Path, Sequence[str]], table: Table, reserved: Sequence[str]) -> dict[str, ColumnList]:
    """Return the columns listed in files, by the name of the file; by its path if another row would have that name."""
    names = [path.name for path in lines]
    taken = {*reserved, *(name for name in names if names.count(name) > 1)}
    return {
        str(path.absolute()) if path.name in taken else path.name: _columns_in(several, path, table)
        for path, several in lines.items()
    }


def _columns_in(lines: Sequence[str], path: Path, table: Table) -> ColumnList:
    """Return the columns that lines of one name, or of several separated by commas, stand for.

    Columns of a table without names may be given by the number in the name that they are shown with.
    """
    index = {name: column for column, name in enumerate(table.names)}
    numbers = _made_up_numbers(table.names)
    names = [numbers.get(name, name) for line in lines for name in _names_in(line, index)]
    if not names:
        raise typer.BadParameter(f"{shown(str(path))} contains no names", param_hint=_OPTION)
    different = dict.fromkeys(names)
    unknown = [name for name in different if name not in index]
    aside = [name for name in unknown if name in table.aside]
    if aside or len(unknown) == len(different):
        reason = f"{shown(str(path))}: {_why_not(aside or unknown, table)}"
        raise typer.BadParameter(reason, param_hint=_OPTION)
    known = [index[name] for name in different if name in index]
    return ColumnList(known, len(names) - len(different), unknown)


def _made_up_numbers(names: Sequence[str]) -> dict[str, str]:
    """Return the columns by the numbers in their names, if all of these are numbered for want of names."""
    found = [_MADE_UP.fullmatch(name) for name in names]
    if not all(found) or len({match[1] for match in found if match}) > 1:
        return {}
    return {match[2]: match[0] for match in found if match}


def _names_in(line: str, known: Mapping[str, int]) -> Sequence[str]:
    if line in known:  # a name may have commas
        return [line]
    try:
        parts = next(csv.reader([line], skipinitialspace=True))
    except csv.Error:  # longer than any name
        parts = line.split(",")
    return [part.strip() for part in parts if part.strip()]


def _why_not(names: Sequence[str], table: Table) -> str:
    """Return why none of the names is that of a column."""
    if len(names) == 1 or names[0] in table.aside:
        return why_not_a_column(names[0], table.names, table.aside)
    named = listed(names, _MOST_NAMED, quoted=True)
    return f"none of {counted(len(names), 'name')} is a column: {named}{guess_at(names[0], table.names)}"
