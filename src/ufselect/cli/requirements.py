"""What is required of the selected columns together, from options and files to the parameter of a selector."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import counted, shown
from ufselect.cli.columns import guess_at, labels_of_columns, values_of_columns
from ufselect.cli.options import RequirementOptions

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.base.groups import ColumnGroups
    from ufselect.cli.reading import LoadedTable

_OPTIONS = {  # of the fields below
    "costs": "--costs",
    "families": "--families",
    "weights": "--weights",
    "limits": "--limit",
    "positions": "--positions",
}
_STATISTICS = ("mean", "deviation", "min", "max", "nonzero")
_BY_NAME = "names"  # the numbers in the names of columns are their positions
_NUMBER = re.compile(r"(?:(?<!\w)[-+])?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class ColumnRequirements:
    """What options and files require, by the names of columns or groups; a header may have a text for a number."""

    costs: Mapping[str, float | str] | None = None
    budget: float | None = None
    families: str | Mapping[str, str] = ""
    at_most: int | Mapping[str, int] | None = None
    at_least: int | Mapping[str, int] | None = None
    weights: Mapping[str, float | str] | None = None
    limits: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    positions: str | Mapping[str, float | str] | None = None
    min_distance: float | None = None  # in the unit of positions

    @classmethod
    def of(
        cls, options: RequirementOptions, parameters: Mapping[str, Any], data: Path
    ) -> tuple[ColumnRequirements, dict[str, Any]]:
        """Read the files; raise an error before the table is read if one cannot be, or an option needs another one.

        The parameters of the method are returned as well, without the smallest distance if it is one of positions.
        """
        _check_together(options, parameters)
        positions: Any = options.positions or None
        if positions not in (None, _BY_NAME):
            positions = _numbers_of_columns(positions, "--positions", "position", data)
        found = cls(
            _numbers_of_columns(options.costs, "--costs", "cost", data, least=0.0),
            options.budget,
            labels_of_columns(options.families, "--families", "family", data),
            _by_family(options.at_most, "--at-most"),
            _by_family(options.at_least, "--at-least"),
            _numbers_of_columns(options.weights, "--weights", "weight", data, least=math.ulp(0.0)),
            dict(map(_limit, options.limit or ())),
            positions,
            parameters["min_distance"] if positions else None,
        )
        return found, {name: value for name, value in parameters.items() if not (positions and name == "min_distance")}

    def apply(self, selector: BaseSelector, loaded: LoadedTable, groups: ColumnGroups | None) -> list[str]:
        """Set the parameters of a selector, and return sentences on what they do."""
        from ufselect import Requirements

        if not (given := [option for name, option in _OPTIONS.items() if getattr(self, name)]):
            return []
        if "requirements" not in selector.get_params():
            raise typer.BadParameter(f"{type(selector).__name__} has no parameter requirements", param_hint=given[0])
        places = Places(loaded, groups, frozenset(selector.get_params().get("exclude") or ()))
        notes = self._leave_out(selector, loaded, places) if self.limits else []
        families = self._families(places)
        selector.set_params(
            requirements=Requirements(
                costs=self._costs(places),
                budget=self.budget,
                families=families,
                at_most=_checked_families(self.at_most, families, "--at-most"),
                at_least=_checked_families(self.at_least, families, "--at-least"),
                weights=self._weights(places),
                positions=self._positions(places),
                min_distance=self.min_distance,
            )
        )
        return notes

    def _costs(self, places: Places) -> Any:
        """Return costs that sum to those of groups: the first column of each has the cost of the group."""
        if self.costs is None:
            return None
        import numpy as np

        found, known = np.zeros(places.n_columns), set[int]()
        for name, columns, cost in places.numbers(self.costs, "--costs", "cost"):
            if twice := known.intersection(columns):
                reason = f"'{shown(name)}' and '{shown(places.variable_of(min(twice)))}' have costs, one as part of the other"
                raise typer.BadParameter(reason, param_hint="--costs")
            known.update(columns)
            found[columns[0]] = cost
        places.check_all(known, "--costs", "cost")
        return found

    def _weights(self, places: Places) -> Any:
        if self.weights is None:
            return None
        import numpy as np

        found = np.ones(places.n_columns)
        for _, columns, weight in places.numbers(self.weights, "--weights", "weight"):
            found[columns] = weight
        return found

    def _families(self, places: Places) -> dict[int, str] | None:
        if not self.families:
            return None
        if not isinstance(self.families, str):
            of_names = ((places.columns_of(name, "--families"), label) for name, label in self.families.items())
            return {column: label for columns, label in of_names for column in columns}
        separator, names = self.families.removeprefix("prefix:"), places.of_variables
        within = [name for name in names if separator and name.find(separator) > 0]
        if not within:
            reason = f"{self.families!r} finds no family: no column has {separator!r} within its name"
            raise typer.BadParameter(reason, param_hint="--families")
        return {column: name.partition(separator)[0] for name in within for column in names[name]}

    def _positions(self, places: Places) -> Any:
        if self.positions is None:
            return None
        import numpy as np

        if isinstance(self.positions, str):
            numbers: Mapping[str, float | str] = _numbers_in_names(places.open_variables)
        else:
            numbers = self.positions
        found = np.zeros(places.n_columns)
        known = set[int]()
        for _, columns, position in places.numbers(numbers, "--positions", "position"):
            found[columns] = position
            known.update(columns)
        places.check_all(known, "--positions", "position")
        return found


@dataclass(frozen=True)
class Places:
    """Which columns of X the names of variables and of groups stand for."""

    loaded: LoadedTable
    groups: ColumnGroups | None
    excluded: frozenset[int]

    @property
    def n_columns(self) -> int:
        """Number of columns of X."""
        return len(self.loaded.variables)

    @cached_property
    def of_variables(self) -> Mapping[str, list[int]]:
        """The columns of each variable."""
        return self.loaded.columns_of_variables

    @cached_property
    def of_groups(self) -> Mapping[str, list[int]]:
        """The columns of each group, if there are groups."""
        found: dict[str, list[int]] = {}
        if self.groups is not None:
            for columns, code in zip(self.of_variables.values(), self.groups.codes.tolist(), strict=True):
                found.setdefault(self.groups.names[code], []).extend(columns)
        return found

    @property
    def open_variables(self) -> list[str]:
        """The variables that are not excluded."""
        return [name for name, columns in self.of_variables.items() if not self.excluded.issuperset(columns)]

    def columns_of(self, name: str, option: str) -> list[int]:
        """Return the columns that a name stands for, none if it is set aside; raise an error if it is unknown."""
        found = self.of_variables.get(name) or self.of_groups.get(name)
        if found is None and name not in self.loaded.aside:
            reason = f"there is no column '{shown(name)}'{guess_at(name, [*self.of_variables, *self.of_groups])}"
            raise typer.BadParameter(reason, param_hint=option)
        return found or []

    def numbers(
        self, numbers: Mapping[str, float | str], option: str, what: str
    ) -> Iterator[tuple[str, list[int], float]]:
        """Yield the names that are of columns or groups, with their columns and numbers."""
        for name, number in numbers.items():
            if isinstance(number, str):  # in the first line, which may be a header
                if name in self.of_variables or name in self.of_groups:
                    raise typer.BadParameter(f"the {what} of '{shown(name)}' is no number: '{shown(number)}'", param_hint=option)
            elif columns := self.columns_of(name, option):
                yield name, columns, number

    def check_all(self, known: Set[int], option: str, what: str) -> None:
        """Raise an error if a column has no number, unless it is excluded."""
        for column, variable in enumerate(self.loaded.variables):
            if column not in known and column not in self.excluded:
                raise typer.BadParameter(f"there is no {what} for '{shown(variable)}'", param_hint=option)


def _check_together(options: RequirementOptions, parameters: Mapping[str, Any]) -> None:
    """Raise an error if an option is given without the one that it needs, or with a value that cannot be."""
    budget, distance = options.budget, parameters.get("min_distance")
    quotas = {"--at-most": options.at_most, "--at-least": options.at_least}
    needs = {
        ("--budget", "--costs, with what each column costs"): budget is not None and not options.costs,
        ("--families", "--at-most or --at-least"): options.families and not any(quotas.values()),
        ("--positions", "--min-distance, in their unit"): options.positions and distance is None,
    }
    needs |= {
        (option, "--families, with the family of each column"): given and not options.families
        for option, given in quotas.items()
    }
    for (option, other), lacking in needs.items():
        if lacking:
            raise typer.BadParameter(f"add {other}", param_hint=option)
    if budget is not None and not (math.isfinite(budget) and budget >= 0.0):
        raise typer.BadParameter(f"{budget:g} is not a number from 0 on", param_hint="--budget")
    if options.positions and not (type(distance) in (int, float) and math.isfinite(distance) and distance > 0):
        raise typer.BadParameter(f"{distance!r} is not a number above 0", param_hint="--min-distance")


def _numbers_of_columns(
    text: str, option: str, what: str, data: Path, *, least: float = -math.inf
) -> dict[str, float | str] | None:
    """Return the numbers of columns in a file or in var; None if none is named. The first line may be a header."""
    if not text:
        return None
    found: dict[str, float | str] = {}
    for index, (name, value) in enumerate(values_of_columns(text, option, what, data).items()):
        number = _as_number(value)
        if number is None and index == 0:
            found[name] = value
        elif number is None or number < least:
            kind = "a number" if number is None else "a number above 0" if least > 0.0 else "a number from 0 on"
            reason = f"the {what} of '{shown(name)}' in {shown(text)} is '{shown(value)}', not {kind}"
            raise typer.BadParameter(reason, param_hint=option)
        else:
            found[name] = number
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
    # A name may have commas.
    for part in (part for text in texts for part in re.split(r"(?<=\d),(?=[^=]+=)", text)):
        name, _, number = part.rpartition("=")
        if not name.strip() or not number.strip().isdecimal():
            raise typer.BadParameter(f"'{shown(part)}' is not a number or FAMILY=NUMBER", param_hint=option)
        found[name.strip()] = int(number)
    return found


def _checked_families(
    numbers: int | Mapping[str, int] | None, families: Mapping[int, str] | None, option: str
) -> int | Mapping[str, int] | None:
    """Return the numbers of columns; raise an error if one is of a family that does not exist."""
    for name in numbers if isinstance(numbers, Mapping) else ():
        known = sorted(set((families or {}).values()))
        if name not in known:
            raise typer.BadParameter(f"there is no family '{shown(name)}'{guess_at(name, known)}", param_hint=option)
    return numbers


def _limit(text: str) -> tuple[str, tuple[float | None, float | None]]:
    """Return a statistic and its smallest and largest value, None if there is none."""
    name, _, ends = text.partition("=")
    low, separator, high = (each.strip() for each in ends.partition(":"))
    numbers = [_as_number(end) for end in (low, high)]
    are_numbers = all(number is not None or not end for number, end in zip(numbers, (low, high), strict=True))
    if name.strip() not in _STATISTICS or not separator or not (low or high) or not are_numbers:
        reason = f"'{shown(text)}' is not STATISTIC=LOW:HIGH with one of {', '.join(_STATISTICS)}"
        raise typer.BadParameter(reason, param_hint="--limit")
    return name.strip(), (numbers[0], numbers[1])


def _numbers_in_names(names: Sequence[str]) -> dict[str, float | str]:
    """Return the number in each name; raise an error unless all that stands around the numbers is the same."""
    around = {name: _NUMBER.sub("\0", name) for name in names}
    usual = Counter(around.values()).most_common(1)[0][0]
    example = next(name for name in names if around[name] == usual)
    for name in names:
        if around[name] != usual or usual.count("\0") != 1:
            like = "" if name == example else f" as '{shown(example)}' has"
            reason = f"the name '{shown(name)}' has no number with the same text around it{like}; exclude it, or give a file"
            raise typer.BadParameter(reason, param_hint="--positions")
    return {name: float(_NUMBER.findall(name)[0]) for name in names}
