"""Columns named on the command line or in files: those to keep, to exclude, to evaluate."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import counted, listed, shown
from ufselect.cli.options import ColumnOptions

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.base.groups import ColumnGroups
    from ufselect.cli.reading import LoadedTable

_ACTIONS = {"keep": "Kept regardless of their score", "exclude": "Excluded"}
_MOST_NAMED = 3
_PLURALS = {"family": "families"}
_NUMBERED = re.compile(r"(x|column )(\d+)")  # names of columns in files without names


@dataclass(frozen=True)
class ColumnChoice:
    """Names and patterns of the columns to keep and to exclude, the column of batches, and groups of columns."""

    keep: Sequence[str] = ()
    exclude: Sequence[str] = ()
    batch: str = ""
    groups: str | Mapping[str, str] = ""

    @classmethod
    def of(cls, options: ColumnOptions, data: Path) -> ColumnChoice:
        """Read the files of names; raise an error before the table is read if one cannot be."""
        keep, exclude = list(options.keep or ()), list(options.exclude or ())
        if options.keep_file is not None:
            keep += names_in_file(options.keep_file, "--keep-file")
        if options.exclude_file is not None:
            exclude += names_in_file(options.exclude_file, "--exclude-file")
        return cls(keep, exclude, options.batch, labels_of_columns(options.groups, "--groups", "group", data))

    @property
    def aside(self) -> tuple[str, ...]:
        """Names of columns that are not features."""
        return (self.batch,) if self.batch else ()

    def batches(self, loaded: LoadedTable) -> Any:
        """Return the batch of every sample, or None."""
        return loaded.table.aside[self.batch] if self.batch else None

    def groups_of(self, loaded: LoadedTable) -> ColumnGroups | None:
        """Return the groups of the variables, if given."""
        from ufselect.base.groups import ColumnGroups

        variables, given = list(loaded.columns_of_variables), self.groups
        if not isinstance(given, str):
            given = {name: group for name, group in given.items() if name not in loaded.aside}
        try:
            return ColumnGroups.of(given or None, len(variables), variables)
        except ValueError as error:
            reason = str(error).removeprefix("groups: ").rstrip(".")
            raise typer.BadParameter(reason, param_hint="--groups") from error

    def indices(self, loaded: LoadedTable) -> dict[str, Any]:
        """Return the columns to keep and to exclude, and the groups by column, each if given.

        The columns of a category are a group. Raise an error if wishes contradict each other.
        """
        names, columns, groups = loaded.names, loaded.columns_of_variables, self.groups_of(loaded)
        variables, aside = list(columns), loaded.aside
        wanted = {"keep": list(self.keep), "exclude": _not_only_aside(self.exclude, variables, aside)}
        matching = {
            option: [variables[j] for j in _with_whole_groups(texts, variables, aside, groups, f"--{option}")]
            for option, texts in wanted.items()
            if texts
        }
        found: dict[str, Any] = {
            option: [column for name in matched for column in columns[name]] for option, matched in matching.items()
        }
        keep = matching.get("keep", [])
        if both := sorted(set(keep) & set(matching.get("exclude", ()))):
            raise typer.BadParameter(f"column '{shown(both[0])}' is in --exclude as well", param_hint="--keep")
        if groups is None and (useless := _why_useless(keep, loaded)):
            raise typer.BadParameter(useless, param_hint="--keep")
        if groups is not None or loaded.groups is not None:
            codes = range(len(variables)) if groups is None else groups.codes
            of_variables = {name: variables[code] if groups is None else groups.names[code]
                            for name, code in zip(variables, codes, strict=True)}  # fmt: skip
            found["groups"] = {
                j: of_variables[name] for j, name in enumerate(loaded.variables) if of_variables[name] != names[j]
            }
        return found

    def apply(self, selector: BaseSelector, loaded: LoadedTable) -> list[str]:
        """Set the parameters of a selector, and return sentences on what they do."""
        found = self.indices(loaded)
        if (lacking := self._first_lacking(selector, found)) is not None:
            raise typer.BadParameter(_why_refused(selector, lacking), param_hint=f"--{lacking}")
        _set_known(selector, found)
        self._ensure_enough(selector, found, loaded)
        return self._notes(found, loaded)

    def apply_to_all(self, selectors: Mapping[str, Any], loaded: LoadedTable) -> tuple[list[str], dict[str, str]]:
        """Set the parameters of all selectors that have them; return sentences, and why the others cannot take part."""
        found = self.indices(loaded)
        refused = {}
        for name, selector in selectors.items():
            if (lacking := self._first_lacking(selector, found)) is not None:
                refused[name] = f"{_why_refused(selector, lacking)}."
            else:
                _set_known(selector, found)
                self._ensure_enough(selector, found, loaded)
        if len(refused) == len(selectors):
            raise ValueError(f"no method could be fitted: {' '.join(dict.fromkeys(refused.values()))}")
        return self._notes(found, loaded), refused

    def _first_lacking(self, selector: Any, found: Mapping[str, Any]) -> str | None:
        """Return the first parameter asked for that a selector, or any other object that is fitted, does not have."""
        asked = [name for name in found if name != "groups" or self.groups]  # not those of categories
        return next((name for name in asked if name not in _parameters(selector)), None)

    def _ensure_enough(self, selector: Any, found: Mapping[str, Any], loaded: LoadedTable) -> None:
        """Raise an error if more variables are to be selected than there are."""
        count = _parameters(selector).get("n_features_to_select")
        n_excluded = len({loaded.variables[column] for column in found.get("exclude", ())})
        n_left = len(set(loaded.variables)) - n_excluded
        if self.groups or not isinstance(count, int) or count <= n_left:
            return
        apart = {"excluded": n_excluded, "set aside": len(loaded.aside)}
        why = " and ".join(f"{n:,} {'is' if n == 1 else 'are'} {how}" for how, n in apart.items() if n)
        reason = f"{count:,} is more than the {counted(n_left, 'column')} to select from{why and f'; {why}'}"
        raise typer.BadParameter(reason, param_hint="--features")

    def _notes(self, found: Mapping[str, Any], loaded: LoadedTable) -> list[str]:
        """Return sentences on how many columns are kept and excluded, and are in groups."""
        counts = {name: len({loaded.variables[column] for column in found[name]}) for name in _ACTIONS if name in found}
        notes = [f"{_ACTIONS[name]}: {counted(count, 'column')}." for name, count in counts.items()]
        if self.groups:
            n_groups = len(set(found["groups"].values()))
            notes.append(f"Selected as a whole: {counted(n_groups, 'group')} of columns.")
        return notes


def _parameters(selector: Any) -> Mapping[str, Any]:
    return selector.get_params() if hasattr(selector, "get_params") else {}


def _set_known(selector: Any, found: Mapping[str, Any]) -> None:
    known = _parameters(selector)
    if given := {name: value for name, value in found.items() if name in known}:
        selector.set_params(**given)


def _why_refused(selector: Any, parameter: str) -> str:
    return f"{type(selector).__name__} has no parameter {parameter}"


def _not_only_aside(texts: Sequence[str], variables: Sequence[str], aside: Mapping[str, Any]) -> list[str]:
    """Return the names and patterns without those of columns that are set aside: to exclude these changes nothing."""
    from ufselect.columns.tabular import columns_matching

    names = [*variables, *aside]
    found = columns_matching(parts_of(texts, names), names)
    return [text for text, columns in found.items() if not columns or min(columns) < len(variables)]


def _why_useless(keep: Sequence[str], loaded: LoadedTable) -> str | None:
    """Return why some variables cannot be kept: one is constant, or a copy of another; None if they can."""
    from ufselect.base.screening import why_useless

    columns = loaded.columns_of_variables
    single = [name for name in keep if len(columns[name]) == 1]
    for each in loaded.roles:
        if each.name in single and each.role == "category":
            column = loaded.X[:, columns[each.name][0]]
            if column.min() == column.max():
                few = len(set(loaded.table.aside.get(each.name, ()))) <= 1
                why = "constant" if few else "no category: its values are nearly all different"
                return f"column '{shown(each.name)}' is {why}"
    return why_useless(loaded.X[:, [columns[name][0] for name in single]], single) if single else None


def by_variable(variables: Sequence[str]) -> dict[str, list[int]]:
    """Return the columns of each variable, given the variable of each column."""
    found: dict[str, list[int]] = {}
    for column, variable in enumerate(variables):
        found.setdefault(variable, []).append(column)
    return found


def matching_columns(texts: Sequence[str], names: Sequence[str], aside: Mapping[str, Any], option: str) -> list[int]:
    """Return the indices of the columns that names or shell patterns, also several separated by commas, stand for."""
    from ufselect.columns.tabular import columns_matching, is_pattern

    found = columns_matching(parts_of(texts, names), names)
    for text, columns in found.items():
        if not columns:
            reason = f"no column matches '{shown(text)}'" if is_pattern(text) else why_not_a_column(text, names, aside)
            raise typer.BadParameter(reason, param_hint=option)
    if not found:
        raise typer.BadParameter("no column is given", param_hint=option)
    return list(dict.fromkeys(column for columns in found.values() for column in columns))


def parts_of(texts: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the names and patterns that texts hold, separated by commas unless a text is a name with commas."""
    known = set(names)
    parts = [part.strip() for text in texts for part in ([text] if text in known else text.split(","))]
    return [part for part in parts if part]


def _with_whole_groups(
    texts: Sequence[str], names: Sequence[str], aside: Mapping[str, Any], groups: ColumnGroups | None, option: str
) -> list[int]:
    """Return the indices of columns and of those in their groups, which may be named as well."""
    if groups is None:
        return matching_columns(texts, names, aside, option)
    matching = matching_columns(texts, [*names, *groups.names], aside, option)
    codes = groups.codes.tolist()
    chosen = {(codes[index] if index < len(names) else index - len(names)) for index in matching}
    return [column for column, code in enumerate(codes) if code in chosen]


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


def labels_of_columns(text: str, option: str, what: str, data: Path) -> str | dict[str, str]:
    """Return the label of each column that a file or var has one for; what stands for prefixes is returned as it is."""
    return text if not text or text.startswith("prefix:") else values_of_columns(text, option, what, data)


def values_of_columns(text: str, option: str, what: str, data: Path) -> dict[str, str]:
    """Return what a file says of columns, or, of those of an .h5ad file, a column of its var: texts by name."""
    kind, separator, key = text.partition(":")
    if kind == "var" and separator:
        return _values_in_var(data, key, option)
    return pairs_in_file(Path(text), option, what)


def _values_in_var(data: Path, key: str, option: str) -> dict[str, str]:
    """Return a column of var of an AnnData file, without missing values."""
    from ufselect.files.annotated import read_var
    from ufselect.files.errors import errors_named
    from ufselect.files.registry import known_format

    known = known_format(data)
    if known is None or not known.annotates:
        raise typer.BadParameter(f"{data} is no .h5ad file, so it has no var", param_hint=option)
    with errors_named(data):
        return {name: str(value) for name, value in read_var(data, key).items()}


def pairs_in_file(path: Path, option: str, what: str) -> dict[str, str]:
    """Return what a file with lines COLUMN,``what`` says of each column.

    A first line that ends with the name of ``what`` does not count. Semicolons and tabs may stand for commas.
    """
    lines = names_in_file(path, option)
    rows = next(filter(_are_pairs, (_fields(lines, delimiter) for delimiter in ",;\t")), _fields(lines, ","))
    if rows[0] and rows[0][-1].casefold() == what:
        del rows[0]
    pairs: dict[str, str] = {}
    for row in rows:
        name, value = row if len(row) == 2 else ("", "")
        if not (name and value):
            reason = f"{shown(str(path))} has the line '{shown(','.join(row))}' instead of COLUMN,{what.upper()}"
            raise typer.BadParameter(reason, param_hint=option)
        if pairs.setdefault(name, value) != value:
            reason = f"{shown(str(path))} has two {_PLURALS.get(what, f'{what}s')} for '{shown(name)}'"
            raise typer.BadParameter(reason, param_hint=option)
    return pairs


def _fields(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
    except csv.Error:  # a field longer than any name
        rows = [line.split(delimiter) for line in lines]
    return [[field.strip() for field in row] for row in rows]


def _are_pairs(rows: Sequence[Sequence[str]]) -> bool:
    return all(len(row) == 2 for row in rows)


@dataclass(frozen=True)
class ColumnList:
    """The different columns of a list, in its order; the number of duplicates; names that are no columns or features.

    For near copies in it, other columns stand.
    """

    columns: list[int]
    n_duplicates: int
    unknown: Sequence[str] = ()
    aside: Sequence[str] = ()
    copies: Sequence[str] = ()


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
    index, aside, originals = loaded.columns_of_variables, loaded.aside, loaded.originals
    numbered, numbers = [_NUMBERED.fullmatch(name) for name in index], {}
    if all(numbered) and len({match[1] for match in numbered if match}) == 1:  # the file has no names
        numbers = {match[2]: match[0] for match in numbered if match}
    given = [[line] if line in index else names_in_line(line) for line in lines]  # a name may have commas
    names = [numbers.get(name, name) for several in given for name in several]
    if not names:
        raise typer.BadParameter(f"{shown(str(path))} contains no names", param_hint=option)
    different = dict.fromkeys(names)
    features = dict.fromkeys(meant for name in different if (meant := originals.get(name, name)) in index)
    unknown = [name for name in different if name not in index and name not in aside]
    if not features:
        if len(different) == 1 or not unknown:
            reason = why_not_a_column(next(iter(different)), list(index), aside)
        else:
            named = listed(list(different), _MOST_NAMED, quoted=True)
            reason = (
                f"none of {counted(len(different), 'name')} is a column: {named}{guess_at(unknown[0], list(index))}"
            )
        raise typer.BadParameter(f"{shown(str(path))}: {reason}", param_hint=option)
    columns = [column for name in features for column in index[name]]
    copies = [name for name in different if originals.get(name) in index]
    others = [name for name in different if name in aside and name not in copies]
    return ColumnList(columns, len(names) - len(different), unknown, others, copies)


def names_in_line(line: str) -> Sequence[str]:
    """Return the names in a line, which are separated by commas."""
    try:
        parts = next(csv.reader([line], skipinitialspace=True))
    except csv.Error:  # longer than any name
        parts = line.split(",")
    return [part.strip() for part in parts if part.strip()]
