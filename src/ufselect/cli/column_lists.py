"""Lists of columns in text files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from ufselect._backend.wording import counted, listed, shown

if TYPE_CHECKING:
    from ufselect.files import Table

_MOST_NAMED = 3
_MADE_UP = re.compile(r"(x|column )(\d+)")  # names of columns in files without names


@dataclass(frozen=True)
class ColumnList:
    """The different columns of a list, in its order, and the number of those that it repeats."""

    columns: list[int]
    n_repeated: int


def texts_of(paths: Sequence[Path]) -> dict[Path, str]:
    """Read text files, each once."""
    return {path: _text_of(path) for path in paths}


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text file with the names of columns.") from error


def lists_in(texts: Mapping[Path, str], table: Table, reserved: Sequence[str]) -> dict[str, ColumnList]:
    """Return the columns listed in files, by the name of the file; by its path if another row would have that name."""
    names = [path.name for path in texts]
    taken = {*reserved, *(name for name in names if names.count(name) > 1)}
    return {
        str(path.absolute()) if path.name in taken else path.name: _columns_in(text, path, table)
        for path, text in texts.items()
    }


def _columns_in(text: str, path: Path, table: Table) -> ColumnList:
    """Return the columns that a text lists, one name per line or separated by commas.

    Columns of a table without names may be given by the number in the name that they are shown with.
    """
    index = {name: column for column, name in enumerate(table.names)}
    numbers = _made_up_numbers(table.names)
    names = [numbers.get(name, name) for name in _names_in(text, index)]
    if not names:
        raise ValueError(f"{path} has no names of columns.")
    different = dict.fromkeys(names)
    _refuse_others(list(different), path, index, table)
    return ColumnList([index[name] for name in different], len(names) - len(different))


def _made_up_numbers(names: Sequence[str]) -> dict[str, str]:
    """Return the columns by the numbers in their names, if all of these are numbered for want of names."""
    found = [_MADE_UP.fullmatch(name) for name in names]
    if not all(found) or len({match[1] for match in found if match}) > 1:
        return {}
    return {match[2]: match[0] for match in found if match}


def _names_in(text: str, known: Mapping[str, int]) -> Iterator[str]:
    for line in filter(None, map(str.strip, text.split("\n"))):
        if line in known:  # a name may have commas
            yield line
        else:
            yield from filter(None, map(str.strip, _split(line)))


def _split(line: str) -> Sequence[str]:
    try:
        return next(csv.reader([line], skipinitialspace=True))
    except csv.Error:  # longer than any name
        return line.split(",")


def _refuse_others(names: Sequence[str], path: Path, index: Mapping[str, int], table: Table) -> None:
    unknown = [name for name in names if name not in index]
    if not unknown:
        return
    aside = [name for name in unknown if name in table.aside]
    if aside:
        be = "is" if len(aside) == 1 else "are"
        raise ValueError(
            f"{path}: {listed(aside, _MOST_NAMED, quoted=True)} {be} kept aside, and not among the columns."
        )
    near = get_close_matches(unknown[0], table.names, n=1)
    guess = f"; did you mean '{shown(near[0])}'?" if near else "."
    named = listed(unknown, _MOST_NAMED, quoted=True)
    if len(unknown) == 1:
        raise ValueError(f"{path}: there is no column {named} in {table.path.name}{guess}")
    raise ValueError(
        f"{path}: {len(unknown):,} of {counted(len(names), 'name')} are not columns of {table.path.name}: "
        f"{named}{guess}"
    )
