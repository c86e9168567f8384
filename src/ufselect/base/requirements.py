"""What a user requires of a choice: costs and a budget, quotas, weights, limits and distances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np

from ufselect._utils.types import Float, Indices, Mask
from ufselect._utils.wording import counted, shown
from ufselect.base.groups import ColumnGroups, prefixes
from ufselect.columns.tabular import column_indices, is_missing
from ufselect.columns.unit_requirements import UnitRequirements

STATISTICS = {
    "mean": "mean",
    "deviation": "standard deviation",
    "min": "minimum",
    "max": "maximum",
    "nonzero": "share of nonzero values",
}
"""The statistics of columns that may be limited, and what a message calls them."""

_NEEDED = (
    ("budget", "costs"),
    ("at_most", "families"),
    ("at_least", "families"),
    ("positions", "min_distance"),
    ("min_distance", "positions"),
)


@dataclass(frozen=True, eq=False)
class Requirements:
    """What a selection has to meet, besides its number of columns.

    With groups, they are required of groups: the cost of a group is the sum of those of its columns, unless its name
    has a cost; a group with a column outside the limits takes no part. Mappings are from names or indices of columns,
    or from names of groups; a Series counts as a mapping.

    Parameters
    ----------
    costs : array-like or mapping, optional
        What each column costs, not negative. Of exact copies, the cheapest stands for the others.
    budget : float, optional
        What the selected columns may cost together. ``n_features_to_select`` is then the largest number of columns.
    families : array-like, mapping or str, optional
        A label for each column, as for ``groups``; columns without one (None, NaN, not in the mapping) are not limited.
    at_most, at_least : int or mapping, optional
        How many columns may, or must, be selected of every family, or of some by name.
    weights : array-like or mapping, optional
        By what to multiply how much of the learned structure a column carries, positive; 1 for columns that are not in
        a mapping. Only for :class:`ufselect.KernelFSASL`.
    limits : mapping, optional
        From "mean", "deviation", "min", "max" or "nonzero" (the share of values other than 0) of the columns as they
        are given, to a pair (low, high), either of which may be None. Columns outside are excluded, unless they are in
        ``keep``.
    positions : array-like or mapping, optional
        Where each column lies, such as its wavelength; they need not ascend.
    min_distance : float, optional
        Smallest distance between two selected columns, in the unit of the positions.

    Examples
    --------
    >>> from ufselect import KernelFSASL, Requirements
    >>> from ufselect.datasets import make_planted_clusters
    >>> X = make_planted_clusters(120, 4, 10, 30, random_state=0).X
    >>> wanted = Requirements(costs=[1.0] * 10 + [0.1] * 30, budget=4)
    >>> float(KernelFSASL(requirements=wanted).fit(X).cost_) <= 4
    True
    """

    costs: Any = None
    budget: float | None = None
    families: Any = None
    at_most: Any = None
    at_least: Any = None
    weights: Any = None
    limits: Any = None
    positions: Any = None
    min_distance: float | None = None

    @classmethod
    def of(cls, given: Any) -> Requirements:
        """Return requirements as they are, or those of a mapping."""
        if isinstance(given, cls):
            return given
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                near = get_close_matches(str(name), known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."
                raise ValueError(f"requirements: there is no {shown(str(name))!r}; {hint}")
        return cls(**given)


@dataclass(frozen=True, eq=False)
class ColumnRequirements:
    """Requirements in numbers, one for each column; families by number, −1 for none, with their quotas.

    The costs of the columns of a group sum to that of the group.
    """

    costs: Float | None
    budget: float | None
    families: Indices | None
    family_names: Sequence[str]
    at_most: Float
    at_least: Indices
    weights: Float | None
    limits: Mapping[str, tuple[float | None, float | None]]
    positions: Float | None
    min_distance: float | None

    @classmethod
    def of(
        cls, given: Any, n_columns: int, names: Sequence[str] | None, groups: ColumnGroups | None = None
    ) -> ColumnRequirements | None:
        """Check the requirements that a user gives; return a result of this as it is."""
        if given is None or isinstance(given, cls):
            return given
        wanted, keys = Requirements.of(given), _Keys(n_columns, names, groups)
        for name, other in _NEEDED:
            if getattr(wanted, name) is not None and getattr(wanted, other) is None:
                raise ValueError(f"{name} needs {other}.")
        if wanted.families is not None and wanted.at_most is None and wanted.at_least is None:
            raise ValueError("families needs at_most or at_least.")
        if wanted.min_distance is not None and groups is not None:
            raise ValueError("min_distance holds columns apart, so it cannot go with groups.")
        codes, family_names = keys.families(wanted.families)
        at_most = _quotas(wanted.at_most, "at_most", family_names, np.inf)
        at_least = _quotas(wanted.at_least, "at_least", family_names, 0.0)
        for name, most, least in zip(family_names, at_most, at_least, strict=True):
            if least > most:
                raise ValueError(f"at_least={least:g} of family '{shown(name)}' is more than at_most={most:g}.")
        return cls(
            keys.costs(wanted.costs),
            _number(wanted.budget, "budget"),
            codes,
            family_names,
            at_most,
            at_least.astype(np.intp),
            keys.numbers(wanted.weights, "weights", positive=True, otherwise=1.0),
            _limits(wanted.limits),
            keys.numbers(wanted.positions, "positions", signed=True),
            _number(wanted.min_distance, "min_distance"),
        )

    @property
    def restrict_sets(self) -> bool:
        """Whether there is a budget or a quota, so that columns may not be chosen one by one."""
        return self.budget is not None or self.families is not None

    def unit_costs(self, groups: Indices | None) -> Float | None:
        """Return what each column costs, or each group."""
        if self.costs is None or groups is None:
            return self.costs
        return np.bincount(groups, self.costs).astype(np.float64)

    def within_limits(self, statistics: Mapping[str, Float], n_columns: int) -> Mask:
        """Return which columns lie within all limits, given the statistics that are limited."""
        inside = np.ones(n_columns, dtype=bool)
        for name, (low, high) in self.limits.items():
            values = statistics[name]
            inside &= (values >= (-np.inf if low is None else low)) & (values <= (np.inf if high is None else high))
        return inside

    def sentence_of_limits(self, *, of_others: bool = False) -> str:
        """Return that no column is within the limits, or none of those that are not excluded."""
        parts = []
        for name, (low, high) in self.limits.items():
            if low is None or high is None:
                bound = f"of at most {high:g}" if low is None else f"of at least {low:g}"
            else:
                bound = f"between {low:g} and {high:g}"
            parts.append(f"a {STATISTICS[name]} {bound}")
        which = "no column that is not excluded" if of_others else "no column"
        return f"limits: {which} has {' and '.join(parts)}."


@dataclass(frozen=True)
class _Keys:
    """What a user may call columns and groups by."""

    n_columns: int
    names: Sequence[str] | None
    groups: ColumnGroups | None

    def numbers(
        self,
        given: Any,
        parameter: str,
        *,
        positive: bool = False,
        signed: bool = False,
        otherwise: float | None = None,
    ) -> Float | None:
        """Return a checked number for each column."""
        if given is None:
            return None
        mapping = _as_mapping(given)
        if mapping is None:
            values = _array(given, parameter)
            if len(values) != self.n_columns:
                raise ValueError(f"{parameter} has {len(values)} numbers, but X has {self.n_columns} columns.")
        else:
            values = np.full(self.n_columns, np.nan if otherwise is None else otherwise)
            for columns, value in self._of_mapping(mapping, parameter):
                values[columns] = _real(value, parameter)
            missing = np.isnan(values) & ~self._given(mapping, parameter)
            if missing.any():
                raise ValueError(f"{parameter}: no {parameter.removesuffix('s')} for {self._called(missing)}.")
        self._check(values, parameter, positive=positive, signed=signed)
        return values

    def costs(self, given: Any) -> Float | None:
        """Return the cost of each column; those of a group that has a cost share it."""
        mapping = None if given is None else _as_mapping(given)
        if given is None or self.groups is None:
            return self.numbers(given, "costs")
        codes = self.groups.codes
        sizes = np.bincount(codes)
        if mapping is None:
            values = _array(given, "costs")
            if len(values) == len(sizes) != self.n_columns:
                values = (values / sizes)[codes]
            elif len(values) != self.n_columns:
                raise ValueError(
                    f"costs has {len(values)} numbers, but X has {self.n_columns} columns in {len(sizes)} groups."
                )
            self._check(values, "costs")
            return values
        values = np.full(self.n_columns, np.nan)
        by_group = set(self.groups.names) <= {str(key) for key in mapping}
        for key, columns, value in self._named(mapping, "costs", groups_first=by_group):
            values[columns] = _real(value, "costs") / (1 if key is None else len(columns))
        missing = np.isnan(values)
        if missing.any():
            group = codes[np.argmax(missing)]
            raise ValueError(f"costs: no cost for group '{shown(self.groups.names[group])}'.")
        self._check(values, "costs")
        return values

    def families(self, given: Any) -> tuple[Indices | None, list[str]]:
        """Return the family of each column by number, −1 for none, and the names of the families."""
        if given is None:
            return None, []
        mapping = _as_mapping(given)
        labels: list[Any] = [None] * self.n_columns
        if isinstance(given, str):
            labels = list(prefixes(given, self.names, "families"))
        elif mapping is not None:
            for columns, label in self._of_mapping(mapping, "families"):
                for column in columns:
                    labels[column] = label
        elif not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
            raise ValueError('families must be one label for each column, a mapping or "prefix:_".')
        else:
            labels = list(given)
        if len(labels) != self.n_columns:
            raise ValueError(f"families has {len(labels)} labels, but X has {self.n_columns} columns.")
        numbers: dict[str, int] = {}
        codes = np.array(
            [-1 if is_missing(label) else numbers.setdefault(str(label), len(numbers)) for label in labels],
            dtype=np.intp,
        )
        return self._of_whole_groups(codes, list(numbers)), list(numbers)

    def _of_whole_groups(self, codes: Indices, family_names: Sequence[str]) -> Indices:
        """Return families that the columns of a group share; raise an error if they are in different ones."""
        if self.groups is None:
            return codes
        largest = np.full(len(self.groups), -1, dtype=np.intp)
        np.maximum.at(largest, self.groups.codes, codes)
        shared = largest[self.groups.codes]
        differs = (codes >= 0) & (codes != shared)
        if differs.any():
            column = int(np.argmax(differs))
            one, other = (shown(family_names[code]) for code in sorted((codes[column], shared[column])))
            group = shown(self.groups.names[self.groups.codes[column]])
            raise ValueError(f"families: columns of group '{group}' are in different families, '{one}' and '{other}'.")
        return shared

    def _of_mapping(self, mapping: Mapping[Any, Any], parameter: str) -> Iterable[tuple[Indices, Any]]:
        return [(columns, value) for _, columns, value in self._named(mapping, parameter)]

    def _named(
        self, mapping: Mapping[Any, Any], parameter: str, *, groups_first: bool = False
    ) -> list[tuple[str | None, Indices, Any]]:
        """Return what each key names, groups before columns: the name of a group or None, its columns and the value."""
        index = {name: column for column, name in enumerate(self.names or ())}
        of_groups = {name: code for code, name in enumerate(() if self.groups is None else self.groups.names)}
        found: list[tuple[str | None, Indices, Any]] = []
        for key, value in mapping.items():
            if isinstance(key, str) and key in of_groups and (groups_first or key not in index):
                found.append((key, np.flatnonzero(self.groups.codes == of_groups[key]), value))  # type: ignore[union-attr]
            elif isinstance(key, str) and key in index:
                found.append((None, np.array([index[key]]), value))
            else:
                names = None if isinstance(key, Integral) else self.names
                try:
                    found.append((None, column_indices([key], self.n_columns, names), value))
                except ValueError as error:
                    raise ValueError(f"{parameter}: {error}") from None
        return sorted(found, key=lambda each: each[0] is None)

    def _given(self, mapping: Mapping[Any, Any], parameter: str) -> Mask:
        given = np.zeros(self.n_columns, dtype=bool)
        for columns, _ in self._of_mapping(mapping, parameter):
            given[columns] = True
        return given

    def _called(self, columns: Mask) -> str:
        column = int(np.argmax(columns))
        return f"column {column}" if self.names is None else f"column '{shown(str(self.names[column]))}'"

    def _check(self, values: Float, parameter: str, *, positive: bool = False, signed: bool = False) -> None:
        wrong = ~np.isfinite(values)
        if not signed:
            wrong |= (values <= 0.0) if positive else (values < 0.0)
        if wrong.any():
            must = "a finite number" if signed else "a positive number" if positive else "a number of at least 0"
            raise ValueError(
                f"{parameter}: that of {self._called(wrong)} must be {must}, got {values[np.argmax(wrong)]:g}."
            )


def _as_mapping(given: Any) -> Mapping[Any, Any] | None:
    """Return a mapping, or a pandas Series as one; None if it is neither."""
    if isinstance(given, Mapping):
        return given
    return dict(given.items()) if hasattr(given, "items") and hasattr(given, "index") else None


def _array(given: Any, parameter: str) -> Float:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{parameter} must be numbers, one for each column, or a mapping.") from None
    if values.ndim != 1:
        raise ValueError(f"{parameter} must be in one dimension, got {counted(values.ndim, 'dimension')}.")
    return values


def _real(value: Any, parameter: str) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ValueError(f"{parameter}: {shown(repr(value))} is not a number.")
    return float(value)


def _number(value: Any, parameter: str) -> float | None:
    if value is None:
        return None
    number = _real(value, parameter)
    if not 0.0 <= number < np.inf:
        raise ValueError(f"{parameter}={number:g} must be a finite number of at least 0.")
    return number


def _quotas(given: Any, parameter: str, families: Sequence[str], otherwise: float) -> Float:
    """Return the quota of each family."""
    quotas = np.full(len(families), otherwise)
    if given is None:
        return quotas
    mapping = _as_mapping(given)
    if mapping is None:
        quotas[:] = _count(given, parameter)
        return quotas
    numbers = {name: number for number, name in enumerate(families)}
    for key, value in mapping.items():
        if str(key) not in numbers:
            near = get_close_matches(str(key), families, n=1)
            hint = f"; did you mean '{shown(near[0])}'?" if near else "."
            raise ValueError(f"{parameter}: there is no family '{shown(str(key))}'{hint}")
        quotas[numbers[str(key)]] = _count(value, parameter)
    return quotas


def _count(value: Any, parameter: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < 0:
        raise ValueError(f"{parameter}: {shown(repr(value))} is not a whole number of at least 0.")
    return int(value)


def _limits(given: Any) -> dict[str, tuple[float | None, float | None]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError('limits must be a mapping, such as {"mean": (1, 100)}.')
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, bounds in given.items():
        if name not in STATISTICS:
            raise ValueError(f"limits: {shown(repr(name))} is none of {', '.join(map(repr, STATISTICS))}.")
        if isinstance(bounds, str) or not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
            raise ValueError(f"limits: {name} needs a pair (low, high), got {shown(repr(bounds))}.")
        low, high = (None if each is None else _real(each, f"limits: {name}") for each in bounds)
        if any(each is not None and np.isnan(each) for each in (low, high)):
            raise ValueError(f"limits: {name} needs numbers or None, got {shown(repr(bounds))}.")
        if low is not None and high is not None and low > high:
            raise ValueError(f"limits: {name} has a low of {low:g} above its high of {high:g}.")
        found[name] = low, high
    return found


def units_required(
    wanted: ColumnRequirements,
    columns: Indices,
    groups: ColumnGroups | None,
    required: Indices,
    count: int | None,
    *,
    are_found: bool = False,
) -> UnitRequirements:
    """Return what a set of units, columns or groups, has to meet; raise an error if no set does.

    Parameters
    ----------
    wanted : ColumnRequirements
    columns : ndarray of int
        The column of every unit, or the first of a group.
    groups : ColumnGroups, optional
    required : ndarray of int
        The units that are kept.
    count : int or None
        Number of units; the largest one if there is a budget.
    are_found : bool, default=False
        Whether the columns are those found in a test, of which there may be fewer.
    """
    n_families, codes = len(wanted.family_names), None if groups is None else groups.codes
    costs = wanted.unit_costs(codes)
    units = UnitRequirements(
        np.zeros(len(columns)) if costs is None else costs[columns if codes is None else codes[columns]],
        np.inf if wanted.budget is None else wanted.budget,
        np.zeros(len(columns), dtype=np.intp)
        if wanted.families is None
        else np.where(wanted.families < 0, n_families, wanted.families)[columns],
        np.append(wanted.at_least, 0),
        np.append(wanted.at_most, np.inf),
        required,
        count if count is not None and wanted.budget is None else 1,
        len(columns) if count is None else count,
        None if wanted.positions is None else wanted.positions[columns],
        wanted.min_distance or 0.0,
    )
    if are_found and units.fewest > 1:
        most = int(np.minimum(np.bincount(units.families, minlength=n_families + 1), units.at_most).sum())
        units = replace(units, fewest=1 if units.holds_apart else max(min(units.fewest, most), 1))
    _refuse_quotas(units, wanted.family_names, "column" if groups is None else "group", are_found=are_found)
    _refuse_budget(units, "column" if groups is None else "group")
    if not len(units.best_first(np.argsort(units.costs, kind="stable"))):
        others = {
            "at_least": units.at_least.any(),
            "at_most": np.isfinite(units.at_most[:-1]).any(),
            "budget": np.isfinite(units.budget),
            "n_features_to_select": units.fewest > 1,
        }
        also = " and ".join(name for name, is_given in others.items() if is_given)
        raise ValueError(f"min_distance={wanted.min_distance:g}: no columns so far apart also meet {also}.")
    return units


def _refuse_quotas(units: UnitRequirements, families: Sequence[str], unit: str, *, are_found: bool) -> None:
    """Raise an error if a family has too few units, or keep and the number of units leave no room for quotas."""
    n_families = len(families) + 1
    sizes = np.bincount(units.families, minlength=n_families)
    kept = np.bincount(units.families[units.required], minlength=n_families)
    for name, size, least, most, n_kept in zip(families, sizes, units.at_least, units.at_most, kept, strict=False):
        family = f"family '{shown(name)}'"
        if size < least:
            among = " found in the test" if are_found else ""
            raise ValueError(
                f"at_least: {family} has {counted(int(size), unit)}{among}, but {least} {_are(int(least))} required."
            )
        if n_kept > most:
            raise ValueError(f"at_most: {family} may have {counted(int(most), unit)}, but keep contains {n_kept}.")
    needed, most = units.fewest_possible, int(np.minimum(sizes, units.at_most).sum())
    if needed > units.most:
        source = "at_least and keep need" if len(units.required) else "at_least needs"
        raise ValueError(f"n_features_to_select={units.most} is less than the {needed} {unit}s that {source}.")
    if not most:
        raise ValueError(f"at_most leaves no {unit} to select.")
    if units.fewest > most:
        raise ValueError(
            f"n_features_to_select={units.fewest} is more than the {counted(most, unit)} that at_most allows."
        )


def _refuse_budget(units: UnitRequirements, unit: str) -> None:
    """Raise an error if the budget is less than what the cheapest choice costs, whatever its distances."""
    cost = replace(units, positions=None).lowest_cost
    if cost > units.affordable:
        needed = [
            name for name, is_given in (("keep", len(units.required)), ("at_least", units.at_least.any())) if is_given
        ]
        which = f"cheapest {unit}s for {' and '.join(needed)} cost" if needed else f"cheapest {unit} costs"
        raise ValueError(f"budget={units.budget:g} is less than the {cost:g} that the {which}.")


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
