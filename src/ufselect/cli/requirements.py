"""What is required of the selected columns together, from options and files to the parameter of a selector."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import counted, shown
from ufselect.cli.columns import labels_of_columns, values_of_columns
from ufselect.cli.options import RequirementOptions

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.base.groups import ColumnGroups
    from ufselect.base.requirements import ColumnRequirements, Requirements
    from ufselect.cli.reading import LoadedTable

_OPTIONS = {"limits": "--limit"}  # of fields that are called otherwise
_BY_NAME = "names"  # the numbers in the names of columns are their positions
_NUMBER = re.compile(r"(?:(?<!\w)[-+])?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class NamedRequirements:
    """Fields of ``Requirements``, by the names of columns and groups; a header may have a text for a number.

    ``sources`` are the files or columns of var that they are from.
    """

    fields: Mapping[str, Any]
    sources: Mapping[str, str]

    @classmethod
    def of(
        cls, options: RequirementOptions, parameters: Mapping[str, Any], data: Path
    ) -> tuple[NamedRequirements, dict[str, Any]]:
        """Read the files; raise an error before the table is read if one cannot be, or an option needs another one.

        The parameters of the method are returned as well, without the smallest distance if it is one of positions.
        """
        _check_together(options, parameters)
        in_unit = {"min_distance"} if options.positions else set()
        found: dict[str, Any] = {
            "costs": _numbers_of_columns(options.costs, "--costs", "cost", data),
            "budget": options.budget,
            "families": labels_of_columns(options.families, "--families", "family", data) or None,
            "at_most": _by_family(options.at_most, "--at-most"),
            "at_least": _by_family(options.at_least, "--at-least"),
            "weights": _numbers_of_columns(options.weights, "--weights", "weight", data),
            "limits": dict(map(_limit, options.limit or ())) or None,
            "positions": _BY_NAME
            if options.positions == _BY_NAME
            else _numbers_of_columns(options.positions, "--positions", "position", data),
            **{name: parameters[name] for name in in_unit},
        }
        others = {name: value for name, value in parameters.items() if name not in in_unit}
        sources = {
            name: getattr(options, name)
            for name in ("costs", "families", "weights", "positions")
            if isinstance(found[name], Mapping)
        }
        return cls({name: value for name, value in found.items() if value is not None}, sources), others

    def __contains__(self, field: str) -> bool:
        return field in self.fields

    def apply(self, selector: BaseSelector, loaded: LoadedTable, groups: ColumnGroups | None) -> list[str]:
        """Set the parameters of a selector, and return sentences on what they do."""
        if not self.fields:
            return []
        if "requirements" not in selector.get_params():
            reason = f"{type(selector).__name__} has no parameter requirements"
            raise typer.BadParameter(reason, param_hint=_option_of(next(iter(self.fields))))
        excluded = set(selector.get_params().get("exclude") or ())
        required = self._of_variables(loaded, groups, excluded)
        outside = _outside_limits(required, loaded)
        kept, notes = {loaded.variables[column] for column in selector.get_params().get("keep") or ()}, []
        if outside := _whole_groups(outside, groups, loaded) - _whole_groups(kept, groups, loaded):
            columns = loaded.columns_of_variables
            excluded.update(column for name in outside for column in columns[name])
            if len(excluded) == len(loaded.variables):
                reason = required.sentence_of_limits().removeprefix("limits: ").rstrip(".")
                raise typer.BadParameter(reason, param_hint=_option_of("limits"))
            notes = [f"Outside the limits, and excluded: {counted(len(outside), 'column')}."]
            selector.set_params(exclude=sorted(excluded))
        given = {name: value for name, value in self.fields.items() if name != "limits"}
        selector.set_params(requirements=_of_columns(required, given, loaded) if given else None)
        return notes

    def _of_variables(self, loaded: LoadedTable, groups: ColumnGroups | None, excluded: set[int]) -> ColumnRequirements:
        """Return the requirements by the number of each variable; those that are excluded need no cost or position."""
        from ufselect.base.requirements import ColumnRequirements, Requirements

        columns = loaded.columns_of_variables
        variables = list(columns)
        left_out = [name for name in variables if excluded.issuperset(columns[name])]
        known = {*variables, *(() if groups is None else groups.names)}
        given = dict(self.fields)
        if given.get("positions") == _BY_NAME:
            given["positions"] = _numbers_in_names([name for name in variables if name not in left_out])
        for field in ("costs", "families", "weights", "positions"):
            if isinstance(given.get(field), Mapping):
                given[field] = dict(self._known(field, given[field], known, loaded.aside))
        for field in ("costs", "positions"):
            if field in given:
                given[field] = dict.fromkeys(left_out, 0.0) | given[field]
        try:
            required = ColumnRequirements.of(Requirements(**given), len(variables), variables, groups)
        except ValueError as error:
            field = next((name for name in given if str(error).startswith(name)), "")
            if not field:
                raise
            raise self._refused(field, str(error).removeprefix(f"{field}: ").rstrip(".")) from error
        assert required is not None  # since some are given
        return required

    def _known(
        self, field: str, values: Mapping[str, Any], known: set[str], aside: Mapping[str, str]
    ) -> Iterator[tuple[str, Any]]:
        """Yield the values of a field without those of columns that are set aside, and without a header."""
        for name, value in values.items():
            if field != "families" and isinstance(value, str):
                if name in known:
                    raise self._refused(field, f"that of '{shown(name)}' is '{shown(value)}', not a number")
            elif name in known or name not in aside:
                yield name, value

    def _refused(self, field: str, reason: str) -> typer.BadParameter:
        """Return an error that names the option, and the file if there is one."""
        source = self.sources.get(field)
        return typer.BadParameter(
            reason if source is None else f"{shown(source)}: {reason}", param_hint=_option_of(field)
        )


def _outside_limits(required: ColumnRequirements, loaded: LoadedTable) -> set[str]:
    """Return the variables whose values in the file are outside the limits; categories have none."""
    from ufselect.inspection.requirements import within_limits

    place = {name: number for number, name in enumerate(loaded.table.names)}
    categories = {each.name for each in loaded.roles if each.role == "category"}
    names = [name for name in loaded.columns_of_variables if name in place and name not in categories]
    if not required.limits or not names:
        return set()
    inside = within_limits(loaded.table.X, required)
    return {name for name in names if not inside[place[name]]}


def _whole_groups(names: set[str], groups: ColumnGroups | None, loaded: LoadedTable) -> set[str]:
    """Return all variables of the groups of some variables."""
    if groups is None:
        return names
    variables = list(loaded.columns_of_variables)
    codes = {code for name, code in zip(variables, groups.codes.tolist(), strict=True) if name in names}
    return {name for name, code in zip(variables, groups.codes.tolist(), strict=True) if code in codes}


def _of_columns(required: ColumnRequirements, given: Mapping[str, Any], loaded: LoadedTable) -> Requirements:
    """Return requirements of the columns of X, given those of the variables; the columns of one share its cost."""
    import numpy as np

    from ufselect import Requirements

    place = {name: number for number, name in enumerate(loaded.columns_of_variables)}
    variable = np.array([place[name] for name in loaded.variables])
    of_columns: dict[str, Any] = {}
    for name in ("costs", "weights", "positions"):
        if (values := getattr(required, name)) is not None:
            shares = np.bincount(variable) if name == "costs" else np.ones(len(place))
            of_columns[name] = (values / shares)[variable].tolist()
    if required.families is not None:
        codes = enumerate(required.families[variable].tolist())
        of_columns["families"] = {column: required.family_names[code] for column, code in codes if code >= 0}
    return Requirements(**dict(given) | of_columns)


def _option_of(field: str) -> str:
    return _OPTIONS.get(field, f"--{field.replace('_', '-')}")


def _check_together(options: RequirementOptions, parameters: Mapping[str, Any]) -> None:
    """Raise an error if an option is given without the one that it needs, or with a value that cannot be."""
    budget: Any = options.budget
    distance: Any = parameters.get("min_distance")
    quotas = {"--at-most": options.at_most, "--at-least": options.at_least}
    lacking: dict[tuple[str, str], Any] = {
        ("--budget", "--costs, with what each column costs"): budget is not None and not options.costs,
        ("--families", "--at-most or --at-least"): options.families and not any(quotas.values()),
        ("--positions", "--min-distance, in their unit"): options.positions and distance is None,
    }
    lacking |= {
        (option, "--families, with the family of each column"): given and not options.families
        for option, given in quotas.items()
    }
    for (option, other), is_lacking in lacking.items():
        if is_lacking:
            raise typer.BadParameter(f"add {other}", param_hint=option)
    if budget is not None and not (math.isfinite(budget) and budget >= 0.0):
        raise typer.BadParameter(f"{budget:g} is not a number from 0 on", param_hint="--budget")
    if options.positions and not (type(distance) in (int, float) and math.isfinite(distance) and distance > 0):
        raise typer.BadParameter(f"{distance!r} is not a number above 0", param_hint="--min-distance")


def _numbers_of_columns(text: str, option: str, what: str, data: Path) -> dict[str, float | str] | None:
    """Return the numbers of columns in a file or in var; None if none is named. The first line may be a header."""
    if not text:
        return None
    found: dict[str, float | str] = {}
    for name, value in values_of_columns(text, option, what, data).items():
        number = _as_number(value)
        if number is None and found:
            reason = f"{shown(text)} has '{shown(value)}' for '{shown(name)}', not a number"
            raise typer.BadParameter(reason, param_hint=option)
        found[name] = value if number is None else number
    return found


def _as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _by_family(texts: Sequence[str] | None, option: str) -> int | dict[str, int] | None:
    """Return a number for all families, or one for each of those named."""
    if not texts:
        return None
    if len(texts) == 1 and texts[0].strip().isdecimal():
        return int(texts[0])
    found: dict[str, int] = {}
    for part in (part for text in texts for part in re.split(r"(?<=\d),", text)):  # a name may have commas
        name, _, number = part.rpartition("=")
        if not name.strip() or not number.strip().isdecimal():
            raise typer.BadParameter(f"'{shown(part)}' is not a number or FAMILY=NUMBER", param_hint=option)
        found[name.strip()] = int(number)
    return found


def _limit(text: str) -> tuple[str, tuple[float | None, float | None]]:
    """Return a statistic and its smallest and largest value, None if there is none."""
    from ufselect.base.requirements import STATISTICS

    name, _, ends = text.partition("=")
    low, separator, high = (each.strip() for each in ends.partition(":"))
    numbers = [_as_number(end) for end in (low, high)]
    are_numbers = all(number is not None or not end for number, end in zip(numbers, (low, high), strict=True))
    if name.strip() not in STATISTICS or not separator or not (low or high) or not are_numbers:
        reason = f"'{shown(text)}' is not STATISTIC=LOW:HIGH with one of {', '.join(STATISTICS)}"
        raise typer.BadParameter(reason, param_hint="--limit")
    return name.strip(), (numbers[0], numbers[1])


def _numbers_in_names(names: Sequence[str]) -> dict[str, float]:
    """Return the number in each name; raise an error unless all that stands around the numbers is the same."""
    around = {name: _NUMBER.sub("\0", name) for name in names}
    usual = Counter(around.values()).most_common(1)[0][0]
    for name in names:
        if around[name] != usual or usual.count("\0") != 1:
            example = next(each for each in names if around[each] == usual)
            like = "" if name == example else f", as '{shown(example)}' has"
            reason = f"the name '{shown(name)}' has no single number between the same texts{like}; give a file"
            raise typer.BadParameter(reason, param_hint="--positions")
    return {name: float(_NUMBER.findall(name)[0]) for name in names}
