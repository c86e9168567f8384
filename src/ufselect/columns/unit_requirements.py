"""What a set of units (columns, or groups of them) has to meet: a budget, quotas of families, a number, distances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from ufselect._utils.types import Float, Indices, Mask

_ROUNDING = 1e-9
_ROUNDING_OF_DISTANCES = 1e-12


def without_rounding(distance: float, positions: Float | Indices) -> float:
    """Return a smallest distance less what rounding may take from a difference of positions."""
    largest = float(np.abs(positions).max(initial=0.0))
    return max(distance - _ROUNDING_OF_DISTANCES * largest, 0.5 * distance)


def _none() -> Indices:
    return np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class UnitRequirements:
    """What a set of units has to meet.

    Parameters
    ----------
    costs : ndarray of shape (u,)
        Cost of each unit.
    budget : float
        What the units of a set may cost together; inf if there is no budget.
    families : ndarray of int of shape (u,)
        Family of each unit, from 0 on.
    at_least, at_most : ndarray
        Smallest and largest number of units of each family; units without a family are in the last one, 0 to inf.
    required : ndarray of int
        Units that must be in the set, whatever their distances.
    fewest, most : int
        Smallest and largest number of units.
    positions : ndarray of shape (u,), optional
        Where each unit lies.
    min_distance : float
        Smallest distance between two units.
    """

    costs: Float
    budget: float = np.inf
    families: Indices = field(default_factory=_none)
    at_least: Indices = field(default_factory=lambda: np.zeros(1, dtype=np.intp))
    at_most: Float = field(default_factory=lambda: np.array([np.inf]))
    required: Indices = field(default_factory=_none)
    fewest: int = 1
    most: int = 2**62
    positions: Float | None = None
    min_distance: float = 0.0

    def __post_init__(self) -> None:
        if not len(self.families):
            object.__setattr__(self, "families", np.zeros(len(self.costs), dtype=np.intp))

    def __len__(self) -> int:
        return len(self.costs)

    @property
    def fewest_possible(self) -> int:
        """The smallest number of units that are required, or needed by families."""
        required = np.bincount(self.families[self.required], minlength=len(self.at_least))
        return max(self.fewest, int(np.maximum(required, self.at_least).sum()))

    @property
    def affordable(self) -> float:
        """The budget and what rounding may add to a sum of costs."""
        return self.budget * (1.0 + _ROUNDING)

    @cached_property
    def apart(self) -> float:
        """The smallest distance, less what rounding may take from a difference of positions."""
        return 0.0 if self.positions is None else without_rounding(self.min_distance, self.positions)

    @property
    def holds_apart(self) -> bool:
        """Whether distances exclude any pair of units."""
        return self.positions is not None and self.apart > 0.0

    def among(self, units: Indices) -> Self:
        """Return the same requirements of some units only, which contain those required."""
        positions = None if self.positions is None else self.positions[units]
        required = np.flatnonzero(np.isin(units, self.required))
        return replace(
            self, costs=self.costs[units], families=self.families[units], required=required, positions=positions
        )

    @property
    def lowest_cost(self) -> float:
        """What the cheapest set costs that meets all but the budget; 0 if there is none."""
        smallest = replace(self, budget=np.inf, most=self.fewest_possible)
        return self.cost(smallest.best_first(np.argsort(self.costs, kind="stable")))

    def cost(self, units: Indices) -> float:
        """Return what some units cost together."""
        return float(self.costs[units].sum())

    def near(self, unit: int) -> Mask:
        """Return which units are too near to one of them, itself included."""
        assert self.positions is not None
        near: Mask = np.abs(self.positions - self.positions[unit]) < self.apart
        near[unit] = True
        return near

    def met_by(self, units: Indices) -> bool:
        """Whether a set of units meets all requirements."""
        counts = np.bincount(self.families[units], minlength=len(self.at_least))
        return bool(
            self.fewest <= len(units) <= self.most
            and np.all(counts >= self.at_least)
            and np.all(counts <= self.at_most)
            and self.cost(units) <= self.affordable
            and np.all(np.isin(self.required, units))
            and not self._are_near(units)
        )

    def _are_near(self, units: Indices) -> bool:
        if not self.holds_apart:
            return False
        assert self.positions is not None
        places, free = np.sort(self.positions[units]), self.positions[np.setdiff1d(units, self.required)]
        low, high = np.searchsorted(places, free - self.apart, "right"), np.searchsorted(places, free + self.apart)
        return bool(np.any(high - low > 1))

    def taking(self, units: Iterable[int] = ()) -> Taking:
        """Return a choice that has taken the units required, and some more."""
        return Taking(self, units)

    def best_first(self, order: Sequence[int] | Indices) -> Indices:
        """Take units in an order as far as they may be taken: those required, those that families need, the others.

        The result is empty if no set meets the requirements.
        """
        order = np.asarray(order, dtype=np.intp)
        taking = self.taking()
        for only_needed in (True, False):
            for unit in order:
                if taking.open[unit] and (taking.is_needed(unit) or not only_needed):
                    taking.take(unit)
        found = np.array(taking.taken, dtype=np.intp)
        if not self.met_by(found):
            values = np.empty(len(self))
            values[order] = np.linspace(1.0, 0.5, len(order))
            found = self.largest_sum(values)
        return self._needed_first(order[np.isin(order, found)])

    def _needed_first(self, order: Indices) -> Indices:
        """Put the units required first, then the best ones of every family that needs more, then the others."""
        needs = self.at_least - np.bincount(self.families[self.required], minlength=len(self.at_least))
        rank = np.where(np.isin(order, self.required), 0, 2)
        for family in np.flatnonzero(needs > 0):
            members = np.flatnonzero((self.families[order] == family) & (rank == 2))
            rank[members[: needs[family]]] = 1
        return order[np.argsort(rank, kind="stable")]

    def largest_sum(self, values: Float) -> Indices:
        """Return the units that meet the requirements and whose values have the largest sum; none if no set does.

        It solves an integer program, which is only needed where distances go with a smallest number of units:
        without either, taking units one by one finds a set whenever there is one.
        """
        if not self.holds_apart:
            return _none()
        n, n_families = len(self), len(self.at_least)
        rows = [
            sp.csr_array((np.ones(n), (self.families, np.arange(n))), shape=(n_families, n)),
            sp.csr_array(np.ones((1, n))),
            self._windows(),
        ]
        n_windows = rows[2].shape[0]
        low = np.concatenate([self.at_least, [self.fewest], np.full(n_windows, -np.inf)])
        high = np.concatenate([self.at_most, [min(self.most, n)], np.ones(n_windows)])
        if np.isfinite(self.budget):
            unit = max(self.budget, float(self.costs.max()), np.finfo(np.float64).tiny)
            rows.append(sp.csr_array(self.costs[None] / unit))
            low, high = np.append(low, -np.inf), np.append(high, self.budget / unit)
        least, largest = np.zeros(n), np.ones(n)
        for unit in self.required:
            largest[self.near(unit)] = 0.0
        least[self.required] = largest[self.required] = 1.0
        found = milp(
            -values, integrality=np.ones(n), bounds=Bounds(least, largest),
            constraints=LinearConstraint(sp.vstack(rows, format="csr"), low, high), options={"mip_rel_gap": 0.01},
        )  # fmt: skip
        units = _none() if found.x is None else np.flatnonzero(found.x > 0.5)
        return units if self.met_by(units) else _none()

    def _windows(self) -> sp.csr_array:
        """Return a row for every largest set of units, not required, that are too near to each other."""
        assert self.positions is not None
        free = np.setdiff1d(np.arange(len(self)), self.required)
        free = free[np.argsort(self.positions[free], kind="stable")]
        places = self.positions[free]
        ends = np.searchsorted(places, places + self.apart)
        starts = np.flatnonzero((np.diff(ends, prepend=0) > 0) & (ends - np.arange(len(ends)) > 1))
        lengths = ends[starts] - starts
        columns = np.concatenate([_none(), *(free[start : ends[start]] for start in starts)])
        return sp.csr_array(
            (np.ones(len(columns)), (np.repeat(np.arange(len(starts)), lengths), columns)),
            shape=(len(starts), len(self)),
        )


class Taking:
    """Units taken one by one, each such that the requirements can still be met.

    ``open`` holds the units that may be taken next. What families still need is reserved from the budget at the lowest
    cost. With distances that is necessary, but not sufficient.
    """

    def __init__(self, wanted: UnitRequirements, units: Iterable[int] = ()) -> None:
        self._wanted = wanted
        self.taken: list[int] = []
        self.spent = 0.0
        self._counts = np.zeros(len(wanted.at_least), dtype=np.intp)
        self._blocked = np.zeros(len(wanted), dtype=bool)
        needing = np.flatnonzero(wanted.at_least)
        by_cost = np.argsort(wanted.costs, kind="stable")
        self._by_cost = {int(family): by_cost[wanted.families[by_cost] == family] for family in needing}
        self._dearest = np.zeros(len(wanted.at_least))  # the last of the cheapest units that a family still needs
        self._reserved = np.zeros(len(wanted.at_least))
        for unit in dict.fromkeys([*map(int, units), *map(int, wanted.required)]):
            self._add(unit)
        self._update(self._by_cost)

    @property
    def needs(self) -> Indices:
        """How many units each family still needs."""
        return np.maximum(self._wanted.at_least - self._counts, 0)

    @property
    def is_complete(self) -> bool:
        """Whether the units taken are enough."""
        return len(self.taken) >= self._wanted.fewest and not self.needs.any()

    def is_needed(self, unit: int) -> bool:
        """Whether the family of a unit needs more units."""
        family = self._wanted.families[unit]
        return bool(self._counts[family] < self._wanted.at_least[family])

    def take(self, unit: int) -> None:
        """Take a unit."""
        self._add(int(unit))
        self._update(self._by_cost if self._wanted.holds_apart else [int(self._wanted.families[unit])])

    def _add(self, unit: int) -> None:
        self.taken.append(unit)
        self.spent += float(self._wanted.costs[unit])
        self._counts[self._wanted.families[unit]] += 1
        if self._wanted.holds_apart:
            self._blocked |= self._wanted.near(unit)
        self._blocked[unit] = True

    def _update(self, families: Iterable[int]) -> None:
        """Reserve what families need and open the units that the rest allows."""
        wanted, needs = self._wanted, self.needs
        for family in families:
            if family in self._by_cost:
                members = self._by_cost[family]
                cheapest = members[~self._blocked[members]][: needs[family]]
                enough = len(cheapest) == needs[family]
                self._reserved[family] = wanted.costs[cheapest].sum() if enough else np.inf
                self._dearest[family] = wanted.costs[cheapest[-1]] if enough and needs[family] else 0.0
        if not np.isfinite(self._reserved.sum()):
            self.open = np.zeros(len(wanted), dtype=bool)
            return
        may = self._counts < wanted.at_most
        may &= (len(self.taken) + needs.sum() < wanted.most) | (needs > 0)
        spared = np.minimum(wanted.costs, self._dearest[wanted.families])
        rest = wanted.affordable - self.spent - self._reserved.sum()
        self.open = ~self._blocked & may[wanted.families] & (wanted.costs - spared <= rest)
