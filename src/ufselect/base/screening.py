"""Which columns take part in a fit: not the constant ones, one of several copies, and no excluded ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ufselect._utils.types import Float, Indices, Mask
from ufselect._utils.wording import shown
from ufselect.base.groups import ColumnGroups
from ufselect.base.requirements import ColumnRequirements, units_required
from ufselect.columns.constraints import Constraints
from ufselect.columns.in_memory import first_equal_columns
from ufselect.columns.moments import column_extremes, constant_columns
from ufselect.columns.tabular import column_indices


class KeepExclude(NamedTuple):
    """Columns that must be selected and columns that must not, by index, and the groups of columns if there are any."""

    keep: Indices
    exclude: Indices
    groups: ColumnGroups | None = None
    requirements: ColumnRequirements | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of a selector."""
        keep, exclude = self.keep.tolist() or None, self.exclude.tolist() or None
        return {"keep": keep, "exclude": exclude, "groups": self.groups, "requirements": self.requirements}

    def within_limits(self, statistics: Callable[[Iterable[str]], Mapping[str, Float]], n_columns: int) -> KeepExclude:
        """Exclude columns outside the limits of the requirements, with their groups, unless they are kept.

        Raise an error if no column is left.
        """
        wanted = self.requirements
        if wanted is None or not wanted.limits:
            return self
        inside = wanted.within_limits(statistics(wanted.limits), n_columns)
        outside = np.setdiff1d(np.flatnonzero(~inside), self.keep)
        if self.groups is not None:
            outside = np.setdiff1d(self.groups.with_members_of(outside), self.keep)
        exclude = np.union1d(self.exclude, outside)
        if len(exclude) == n_columns:
            raise ValueError(wanted.sentence_of_limits(of_others=bool(len(self.exclude))))
        return self._replace(exclude=exclude, requirements=replace(wanted, limits={}))

    @property
    def unit(self) -> str:
        """What is counted: features, or groups of them."""
        return "feature" if self.groups is None else "group"

    def count(self, columns: Indices) -> int:
        """Return the number of columns, or of groups if there are any."""
        return len(columns if self.groups is None else np.unique(self.groups.codes[columns]))


def keep_exclude_of(selector: Any, n_features: int, names: Sequence[str] | None) -> KeepExclude:
    """Return the columns that a selector keeps and excludes, and its groups, which are kept and excluded as a whole.

    Those of a fitted selector that are outside its limits are excluded. Raise an error if columns are both kept and
    excluded.
    """
    groups = ColumnGroups.of(getattr(selector, "groups", None), n_features, names)
    keep, exclude = (
        columns_named(getattr(selector, name, None), name, n_features, names, groups) for name in ("keep", "exclude")
    )
    both = np.intersect1d(keep, exclude)
    if len(both):
        code = 0 if groups is None else groups.codes[both[0]]
        if groups is not None and np.count_nonzero(groups.codes == code) > 1:
            raise ValueError(f"keep and exclude both contain columns of group '{shown(groups.names[code])}'.")
        raise ValueError(f"Column {called(both[0], names)} is in keep and in exclude.")
    if len(exclude) == n_features:
        raise ValueError(f"exclude contains all {n_features} columns.")
    requirements = ColumnRequirements.of(getattr(selector, "requirements", None), n_features, names, groups)
    if requirements is not None and hasattr(selector, "outside_limits_"):
        exclude = np.union1d(exclude, selector.outside_limits_)
        requirements = replace(requirements, limits={})
    return KeepExclude(keep, exclude, groups, requirements)


def columns_named(
    given: Any, parameter: str, n_features: int, names: Sequence[str] | None, groups: ColumnGroups | None = None
) -> Indices:
    """Return the columns that a parameter names, by index, with all columns of their groups.

    Raise an error that names the parameter.
    """
    if given is None:
        return np.empty(0, dtype=np.intp)
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable):
        raise ValueError(f"{parameter}={given!r} is no list of columns.")
    try:
        if groups is None:
            return np.unique(column_indices(given, n_features, names))
        return groups.with_members_of(column_indices(groups.replacing_names(given, names), n_features, names))
    except ValueError as error:
        raise ValueError(f"{parameter}: {error}") from None


def why_useless(kept: Any, names: Sequence[str]) -> str | None:
    """Return why some columns of a matrix cannot be kept: one is constant, or a copy of another; None if they can."""
    extremes = column_extremes(kept)
    constant = constant_columns(kept, extremes)
    if constant.any():
        return f"column {called(int(constant.argmax()), names)} is constant"
    for column, first in enumerate(first_equal_columns(kept, extremes)):
        if first != column:
            return f"column {called(column, names)} is an exact copy of {called(first, names)}; keep one of them"
    return None


def called(column: int, names: Sequence[str] | None) -> str:
    """Return what a message calls a column: its name in quotes, or its index."""
    return str(column) if names is None else f"'{shown(str(names[column]))}'"


@dataclass(frozen=True)
class Screening:
    """Which columns are constant, copies of others, kept or excluded, and so which take part in a fit.

    ``first`` holds the index of the first column with the same values, which may be the column itself.
    """

    constant: Mask
    first: Indices
    keep_exclude: KeepExclude
    names: Sequence[str] | None = None
    left_out: Mask | None = None

    def __post_init__(self) -> None:
        kept, groups = self.keep_exclude.keep, self.groups
        if groups is not None:  # of a group it is enough that one column takes part
            takes_part = kept[~self.constant[kept] & (self.originals[kept] == kept)]
            kept = kept[~np.isin(groups[kept], groups[takes_part])]
        if self.constant[kept].any():
            raise ValueError(f"keep contains {self._called(kept[self.constant[kept]][0])}, a constant column.")
        copies = kept[self.originals[kept] != kept]
        if len(copies):
            original = self._called(self.originals[copies[0]])
            raise ValueError(f"keep contains {self._called(copies[0])}, an exact copy of {original}: keep one of them.")
        if not len(self.informative):
            raise ValueError("All columns that are not excluded are constant.")

    @property
    def groups(self) -> Indices | None:
        """The group of every column, if there are groups."""
        return None if self.keep_exclude.groups is None else self.keep_exclude.groups.codes

    @property
    def requirements(self) -> ColumnRequirements | None:
        """What the selection has to meet."""
        return self.keep_exclude.requirements

    @cached_property
    def originals(self) -> Indices:
        """Index of the column that stands for its copies: one that is kept, or else the first that is not excluded.

        If columns have costs, it is the cheapest of these.
        """
        d = len(self.first)
        if np.array_equal(self.first, np.arange(d)):
            return self.first
        preference = np.ones(d, dtype=np.intp)
        preference[self.keep_exclude.keep], preference[self.keep_exclude.exclude] = 0, 2
        costs = None if self.requirements is None else self.requirements.costs
        order = np.lexsort((np.arange(d), np.zeros(d) if costs is None else costs, preference, self.first))
        stands_for = np.full(d, -1, dtype=np.intp)
        values, places = np.unique(self.first[order], return_index=True)
        stands_for[values] = order[places]
        return stands_for[self.first]

    @cached_property
    def informative(self) -> Indices:
        """Indices of the columns that take part in the fit."""
        takes_part = ~self.constant & (self.originals == np.arange(len(self.first)))
        takes_part[self.keep_exclude.exclude] = False
        if self.left_out is not None:
            takes_part[self.left_out] = False
        return np.flatnonzero(takes_part)

    def among(self, found: Mask) -> Screening:
        """Leave out columns that are not found, unless they are kept; if nothing is found, nothing is left out."""
        if not found[self.informative].any():
            return self
        if self.groups is not None:
            found = np.isin(self.groups, self.groups[self.informative[found[self.informative]]])
        left_out = ~found
        left_out[self.keep_exclude.keep] = False
        return replace(self, left_out=left_out)

    @cached_property
    def copies(self) -> Indices:
        """For every column the index of the column that it is a copy of; −1 if it is constant or no copy."""
        is_copy = ~self.constant & (self.originals != np.arange(len(self.first)))
        return np.where(is_copy, self.originals, -1)

    def constraints(self, count: int | None, min_distance: int) -> Constraints:
        """Return what a ranking of the informative columns has to respect."""
        kept = np.flatnonzero(np.isin(self.informative, self.keep_exclude.keep))
        groups, n_units = None, len(self.informative)
        if self.groups is not None:
            names, codes = np.unique(self.groups[self.informative], return_inverse=True)
            n_units, groups = len(names), None if len(names) == n_units else codes
        most = None if count is None else min(count, n_units)
        wanted, positions = self.requirements, self.informative if min_distance > 1 else None
        constraints = Constraints(most, kept, positions, min_distance, groups)
        return constraints if wanted is None else self._with_requirements(constraints, wanted)

    def _with_requirements(self, constraints: Constraints, wanted: ColumnRequirements) -> Constraints:
        """Return constraints with requirements, of the informative columns; raise an error if they cannot be met."""
        index = self.informative
        if wanted.weights is not None:
            constraints = replace(constraints, weights=wanted.weights[index])
        if wanted.min_distance:
            assert wanted.positions is not None
            constraints = replace(constraints, positions=wanted.positions[index], min_distance=wanted.min_distance)
        if not wanted.restrict_sets:
            return constraints
        codes = np.arange(len(index)) if constraints.groups is None else constraints.groups
        units = np.unique(codes, return_index=True)[1]  # the first column of each
        columns, required = index[units], np.unique(codes[constraints.first])
        found, groups = self.left_out is not None, self.keep_exclude.groups
        within = units_required(wanted, columns, groups, required, constraints.count, are_found=found)
        return replace(constraints, within=within)

    def ranks(self, order: Indices) -> Indices:
        """Return the ranks of all columns, given the order of the informative ones.

        Copies follow all others, constant columns follow copies, and excluded columns come last.
        """
        d = len(self.first)
        ranks = np.full(d, d, dtype=np.intp)
        ranks[self.informative[order]] = np.arange(len(order))
        copies = np.flatnonzero(self.copies >= 0)
        copies = copies[np.argsort(ranks[self.copies[copies]], kind="stable")]
        rest = np.concatenate([copies, np.flatnonzero(self.constant)])
        rest = rest[~np.isin(rest, self.keep_exclude.exclude)]
        ranks[np.concatenate([rest, self.keep_exclude.exclude])] = np.arange(len(order), d)
        return ranks + 1

    def length_of(self, ranks: Indices, n_groups: int) -> int:
        """Return how many columns the best groups have that take part, given the ranks of all columns.

        If there are not so many groups with such columns, copies and constant columns follow, up to the first of the
        last group.
        """
        assert self.groups is not None
        codes = self.groups[np.argsort(ranks)]
        firsts = np.sort(np.unique(codes, return_index=True)[1])
        if n_groups < len(firsts) and firsts[n_groups] <= len(self.informative):
            return int(firsts[n_groups])
        return max(int(firsts[n_groups - 1]) + 1, len(self.informative))

    def _called(self, column: Any) -> str:
        return f"column {called(int(column), self.names)}"
