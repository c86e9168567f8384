"""Columns named on the command line or in files: those to keep, to exclude, to evaluate."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import counted, listed, shown
from ufselect.cli.options import ColumnOptions

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.cli.reading import LoadedTable

_ACTIONS = {"keep": "Kept regardless of their score", "exclude": "Excluded"}
_MOST_NAMED = 3
_NUMBERED = re.compile(r"(x|column )(\d+)")  # names of columns in files without names


@dataclass(frozen=True)
class ColumnChoice:
    """Names and patterns of the columns to keep and to exclude, and the column of batches."""

    keep: Sequence[str] = ()
    exclude: Sequence[str] = ()
    batch: str = ""

    @classmethod
    def of(cls, options: ColumnOptions) -> ColumnChoice:
        """Read the files of names; raise an error before the table is read if one cannot be."""
        keep, exclude = list(options.keep or ()), list(options.exclude or ())
        if options.keep_file is not None:
            keep += names_in_file(options.keep_file, "--keep-file")
        if options.exclude_file is not None:
            exclude += names_in_file(options.exclude_file, "--exclude-file")
        return cls(keep, exclude, options.batch)

    @property
    def aside(self) -> tuple[str, ...]:
        """Names of columns that are not features."""
        return (self.batch,) if self.batch else ()

    def batches(self, loaded: LoadedTable) -> Any:
        """Return the batch of every sample, or None."""
        return loaded.table.aside[self.batch] if self.batch else None

    def indices(self, loaded: LoadedTable) -> dict[str, list[int]]:
        """Return the columns to keep and to exclude, if given; raise an error if they contradict each other."""
        from ufselect.base.screening import why_useless

        names, columns = loaded.names, loaded.columns_of_variables
        variables, known, aside = list(columns), set(columns), loaded.aside
        found = {}
        for option, texts in {"keep": self.keep, "exclude": self.exclude}.items():
            # To exclude a column that is set aside changes nothing.
            texts = [text for text in texts if option == "keep" or text in known or text not in aside]
            if texts:
                matching = matching_columns(texts, variables, aside, f"--{option}")
                found[option] = [column for variable in matching for column in columns[variables[variable]]]
        keep = found.get("keep", [])
        if both := sorted(set(keep) & set(found.get("exclude", ()))):
            reason = f"column '{shown(names[both[0]])}' is in --exclude as well"
            raise typer.BadParameter(reason, param_hint="--keep")
        if keep and (useless := why_useless(loaded.X[:, keep], [names[column] for column in keep])):
            raise typer.BadParameter(useless, param_hint="--keep")
        return found

    def apply(self, selector: BaseSelector, loaded: LoadedTable) -> list[str]:
        """Set the parameters of a selector, and return sentences on what they do."""
        found = self.indices(loaded)
        if (lacking := _first_lacking(selector, found)) is not None:
            raise typer.BadParameter(_why_refused(selector, lacking), param_hint=f"--{lacking}")
        if loaded.groups is not None and "groups" in selector.get_params():
            selector.set_params(groups=loaded.groups)
        if found:
            selector.set_params(**found)
        return notes_on_choice(found)

    def apply_to_all(self, selectors: Mapping[str, Any], loaded: LoadedTable) -> tuple[list[str], dict[str, str]]:
        """Set the parameters of all selectors that have them; return sentences, and why the others cannot take part."""
        found = self.indices(loaded)
        refused = {}
        for name, selector in selectors.items():
            if (lacking := _first_lacking(selector, found)) is not None:
                refused[name] = f"{_why_refused(selector, lacking)}."
            elif found:
                selector.set_params(**found)
        if len(refused) == len(selectors):
            raise ValueError(f"no method could be fitted: {' '.join(dict.fromkeys(refused.values()))}")
        return notes_on_choice(found), refused


def notes_on_choice(found: Mapping[str, Sequence[int]]) -> list[str]:
    """Return sentences on how many columns are kept and excluded."""
    return [f"{_ACTIONS[option]}: {counted(len(columns), 'column')}." for option, columns in found.items()]


def _first_lacking(selector: Any, found: Mapping[str, Any]) -> str | None:
    """Return the first parameter that a selector, or any other object that is fitted, does not have."""
    known = selector.get_params() if hasattr(selector, "get_params") else ()
    return next((name for name in found if name not in known), None)


def _why_refused(selector: Any, parameter: str) -> str:
    return f"{type(selector).__name__} has no parameter {parameter}"


def matching_columns(texts: Sequence[str], names: Sequence[str], aside: Mapping[str, Any], option: str) -> list[int]:
    """Return the indices of the columns that names or shell patterns, also several separated by commas, stand for."""
    from ufselect.columns.tabular import columns_matching, is_pattern

    known = set(names)
    parts = [part.strip() for text in texts for part in ([text] if text in known else text.split(","))]
    found = columns_matching([part for part in parts if part], names)
    for text, columns in found.items():
        if not columns:
            reason = f"no column matches '{shown(text)}'" if is_pattern(text) else why_not_a_column(text, names, aside)
            raise typer.BadParameter(reason, param_hint=option)
    if not found:
        raise typer.BadParameter("no column is given", param_hint=option)
    return list(dict.fromkeys(column for columns in found.values() for column in columns))


def why_not_a_column(name: str, names: Sequence[str], aside: Mapping[str, str]) -> str:
    """Return why a name is not that of a column, and which name may have been meant."""
    if name in aside:
        return f"column '{shown(name)}' is set aside ({aside[name]}) and takes no part in the selection"
    return f"there is no column '{shown(name)}'{guess_at(name, names)}"


def guess_at(name: str, names: Sequence[str]) -> str:
    """Return which name may have been meant, as the end of a sentence; nothing if none is similar."""
    near = get_close_matches(name, names, n=1)
    return f"; did you mean '{shown(near[0])}'?" if near else ""


def names_in_file(path: Path, option: str) -> list[str]:
    """Return the names in a file, one per line; empty lines and lines that begin with # do not count."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise typer.BadParameter(f"{shown(str(path))} cannot be read: {reason}", param_hint=option) from error
    names = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not names:
        raise typer.BadParameter(f"{shown(str(path))} contains no names", param_hint=option)
    return names


@dataclass(frozen=True)
class ColumnList:
    """The different columns of a list, in its order; the number of duplicates; names that are no columns."""

    columns: list[int]
    n_duplicates: int
    unknown: Sequence[str] = ()


def column_lists(
    lines: Mapping[Path, Sequence[str]], loaded: LoadedTable, reserved: Sequence[str], option: str
) -> dict[str, ColumnList]:
    """Return the columns listed in files, by the name of the file; by its path if another row would have that name."""
    names = [path.name for path in lines]
    taken = {*reserved, *(name for name in names if names.count(name) > 1)}
    return {
        str(path.absolute()) if path.name in taken else path.name: _column_list(several, path, loaded, option)
        for path, several in lines.items()
    }


def _column_list(lines: Sequence[str], path: Path, loaded: LoadedTable, option: str) -> ColumnList:
    """Return the columns that lines of one name, or of several separated by commas, stand for."""
    index, aside = loaded.columns_of_variables, loaded.aside
    numbered, numbers = [_NUMBERED.fullmatch(name) for name in index], {}
    if all(numbered) and len({match[1] for match in numbered if match}) == 1:  # the file has no names
        numbers = {match[2]: match[0] for match in numbered if match}
    given = [[line] if line in index else names_in_line(line) for line in lines]  # a name may have commas
    names = [numbers.get(name, name) for several in given for name in several]
    if not names:
        raise typer.BadParameter(f"{shown(str(path))} contains no names", param_hint=option)
    different = dict.fromkeys(names)
    unknown = [name for name in different if name not in index]
    refused = [name for name in unknown if name in aside]
    if refused or len(unknown) == len(different):
        if len(unknown) == 1 or refused:
            reason = why_not_a_column((refused or unknown)[0], list(index), aside)
        else:
            named = listed(unknown, _MOST_NAMED, quoted=True)
            reason = f"none of {counted(len(unknown), 'name')} is a column: {named}{guess_at(unknown[0], list(index))}"
        raise typer.BadParameter(f"{shown(str(path))}: {reason}", param_hint=option)
    columns = [column for name in different for column in index.get(name, ())]
    return ColumnList(columns, len(names) - len(different), unknown)


def names_in_line(line: str) -> Sequence[str]:
    """Return the names in a line, which are separated by commas."""
    try:
        parts = next(csv.reader([line], skipinitialspace=True))
    except csv.Error:  # longer than any name
        parts = line.split(",")
    return [part.strip() for part in parts if part.strip()]
