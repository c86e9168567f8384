"""The units (columns, or groups of them) that agree best with a structure among all sets that meet requirements.

As in :mod:`ufselect.solvers.alignment`, a set F of units has the alignment Σ_{u∈F} aᵤ / √(Σ_{u,v∈F} Hᵤᵥ), up to the
norm of the structure. It does not rise with every unit, so that the best choice may leave money over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ufselect._utils.types import Float, Indices, Mask
from ufselect.columns.dense import Columns
from ufselect.columns.unit_requirements import UnitRequirements
from ufselect.solvers.alignment import POWER, own_products

MOST_ENUMERATED = 15
"""Largest number of units of which all sets are compared."""

_MOST_CANDIDATES = 400
_MOST_ROUNDS = 4
_MOST_EXCHANGED = 3000
_MOST_SHAKEN = 12
_MOST_SHAKEN_TO_THE_END = 100  # units; of more, a set grown anew has to be better by more than rounding
_IMPROVEMENT_OF_MANY = 1e-3
_STEPS_PAST_PEAK = 32
_COLUMNS_AT_ONCE = 64
_IMPROVEMENT = 1e-9
_TINY = float(np.finfo(np.float64).tiny)


def best_choice(
    a: Float,
    H: Float,
    wanted: UnitRequirements,
    *,
    chance: Float | None = None,
    starts: Iterable[Indices] = (),
    enumerate_up_to: int = MOST_ENUMERATED,
) -> Indices:
    """Return the units that meet the requirements and have the largest Σa/√ΣH; none if no set meets them.

    Of few units all sets are compared. Of more, units are taken one by one from several starts, then added, dropped
    and exchanged as long as that helps.

    Parameters
    ----------
    a : ndarray of shape (u,)
        What each unit carries of the structure.
    H : ndarray of shape (u, u)
        Squared norms of the products of units.
    wanted : UnitRequirements
    chance : ndarray, optional
        Entry m is subtracted from the alignment of m units, the last one from that of more.
    starts : iterable of ndarray of int
        Further sets that meet the requirements, to start from.
    enumerate_up_to : int, default=15
        Largest number of units of which all sets are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.columns.unit_requirements import UnitRequirements
    >>> wanted = UnitRequirements(costs=np.array([3.0, 1.0, 1.0]), budget=2.0)
    >>> best_choice(np.array([2.0, 1.0, 1.0]), np.eye(3), wanted)
    array([1, 2])
    """
    problem = _Problem(a, H, wanted, _no_chance(chance))
    return problem.best_of_all() if len(a) <= enumerate_up_to else problem.best_found(starts)


class _Problem:
    """Units with what they carry, the products between them, and what a set has to meet."""

    def __init__(self, a: Float, H: Float, wanted: UnitRequirements, chance: Float) -> None:
        self.a, self.H, self.wanted, self._chance = a, H, wanted, chance
        self._own = np.diag(H)
        self._fixed = np.zeros(len(a), dtype=bool)
        self._fixed[wanted.required] = True
        self._at_most, self._at_least = wanted.at_most[wanted.families], wanted.at_least[wanted.families]

    @cached_property
    def _near(self) -> Float | None:
        if not self.wanted.holds_apart:
            return None
        near = np.array([self.wanted.near(unit) for unit in range(len(self.a))], dtype=np.float64)
        np.fill_diagonal(near, 0.0)
        near[np.ix_(self._fixed, self._fixed)] = 0.0
        return near

    def values(self, carried: Any, total: Any, n_units: Any) -> Float:
        """Return the alignment of sets, less that by chance, given both sums and the number of units."""
        by_chance = self._chance[np.minimum(n_units, len(self._chance) - 1)]
        return np.asarray(carried / np.sqrt(np.maximum(total, _TINY)) - by_chance)

    def value(self, units: Indices) -> float:
        """Return the alignment of a set, less that by chance."""
        return float(self.values(self.a[units].sum(), self.H[np.ix_(units, units)].sum(), len(units)))

    def best_of_all(self) -> Indices:
        """Return the best of all sets; of those that differ by rounding the cheapest."""
        n, wanted = len(self.a), self.wanted
        sets = (np.arange(1, 2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
        counts = sets @ np.eye(len(wanted.at_least))[wanted.families]
        sizes, costs = sets.sum(axis=1), sets @ wanted.costs
        met = (sizes >= wanted.fewest) & (sizes <= wanted.most) & (costs <= wanted.affordable)
        met &= np.all((counts >= wanted.at_least) & (counts <= wanted.at_most), axis=1)
        met &= np.all(sets[:, wanted.required] == 1.0, axis=1)
        if self._near is not None:
            met &= np.sum(sets @ self._near * sets, axis=1) == 0.0
        sets, costs, sizes = sets[met], costs[met], sizes[met].astype(np.intp)
        if not len(sets):
            return np.empty(0, dtype=np.intp)
        values = self.values(sets @ self.a, np.sum(sets @ self.H * sets, axis=1), sizes)
        best = np.flatnonzero(values >= values.max() - _IMPROVEMENT * abs(values.max()))
        return np.flatnonzero(sets[best[np.argmin(costs[best])]])

    def best_found(self, starts: Iterable[Indices]) -> Indices:
        """Return the best set that is found by growing sets and exchanging their units."""
        alone = self.a / np.sqrt(np.maximum(self._own, _TINY))
        first = self.wanted.best_first(np.argsort(-alone, kind="stable"))
        if not len(first):
            return first
        grown = [self._grown([], power) for power in self._powers]
        for unit in np.argsort(-alone, kind="stable")[:_MOST_SHAKEN]:
            if self.wanted.taking().open[unit]:
                grown += [self._grown([int(unit)], power, exponent=2.0) for power in self._powers]
        found = [each for each in (*starts, first, *grown) if each is not None and self.wanted.met_by(each)]
        distinct = {tuple(np.sort(each)): each for each in found}
        ranked = sorted(distinct.values(), key=self.value, reverse=True)
        return self.shaken(max((self.exchanged(each) for each in ranked[:3]), key=self.value))

    @property
    def _powers(self) -> tuple[float, ...]:
        """Powers of the cost by which the gain of a unit is divided."""
        return (0.0, 0.5, 1.0) if np.isfinite(self.wanted.budget) else (0.0,)

    def _grown(
        self, start: Sequence[int], power: float, without: int | None = None, exponent: float = POWER
    ) -> Indices | None:
        """Take the units that raise (Σa)^p/ΣH most, per cost to a power, in turn; return the best set on the way."""
        taking = self.wanted.taking(start)
        taken = np.array(taking.taken, dtype=np.intp)
        carried, overlap = float(self.a[taken].sum()), self.H[:, taken].sum(axis=1)
        total = float(overlap[taken].sum())
        prices = _prices(self.wanted.costs) ** power
        best, highest, since = None, -np.inf, 0
        while since <= 2 * len(taking.taken) // 3 + _STEPS_PAST_PEAK:
            since += 1
            if taking.is_complete and taking.taken:
                value = float(self.values(carried, total, len(taking.taken)))
                if value > highest:
                    best, highest, since = len(taking.taken), value, 0
            may_follow = taking.open if without is None else taking.open & (np.arange(len(self.a)) != without)
            if not may_follow.any():
                break
            added = 2.0 * overlap + self._own
            gains = (carried + self.a) ** exponent / np.maximum(total + added, _TINY)
            gains -= carried**exponent / max(total, _TINY)
            gains = np.where(gains > 0.0, gains / prices, gains)
            unit = int(np.argmax(np.where(may_follow, gains, -np.inf)))
            carried, total = carried + self.a[unit], total + added[unit]
            overlap = overlap + self.H[:, unit]
            taking.take(unit)
        return None if best is None else np.array(taking.taken[:best], dtype=np.intp)

    def exchanged(self, units: Indices) -> Indices:
        """Add, drop or exchange the unit that raises the alignment most, as long as any does."""
        inside = np.zeros(len(self.a), dtype=bool)
        inside[units] = True
        value = self.value(units)
        while True:
            found, dropped, added = self._best_move(inside)
            if found <= value + _IMPROVEMENT * abs(value):
                return np.flatnonzero(inside)
            value = found
            if dropped is not None:
                inside[dropped] = False
            if added is not None:
                inside[added] = True

    def _best_move(self, inside: Mask) -> tuple[float, int | None, int | None]:
        """Return the value after the best move, the unit that it drops and the unit that it adds."""
        wanted, units, others = self.wanted, np.flatnonzero(inside), np.flatnonzero(~inside)
        overlap = self.H[:, units].sum(axis=1)
        carried, total, spent, n = self.a[units].sum(), overlap[units].sum(), wanted.costs[units].sum(), len(units)
        counts = np.bincount(wanted.families[units], minlength=len(wanted.at_least))[wanted.families]
        free = units[~self._fixed[units]]
        less, more = self._own[free] - 2.0 * overlap[free], self._own[others] + 2.0 * overlap[others]
        may_go, may_come = counts[free] > self._at_least[free], counts[others] < self._at_most[others]
        near = 0.0 if self._near is None else self._near[:, units].sum(axis=1)[others]
        moves: list[tuple[float, int | None, int | None]] = [(-np.inf, None, None)]
        if n < wanted.most and len(others):
            met = may_come & (near == 0.0) & (spent + wanted.costs[others] <= wanted.affordable)
            values = np.where(met, self.values(carried + self.a[others], total + more, n + 1), -np.inf)
            moves.append((float(values.max()), None, int(others[np.argmax(values)])))
        if n > max(wanted.fewest, 1) and len(free):
            values = np.where(may_go, self.values(carried - self.a[free], total + less, n - 1), -np.inf)
            moves.append((float(values.max()), int(free[np.argmax(values)]), None))
        if len(others) and len(free):
            met = wanted.costs[others] - wanted.costs[free][:, None] <= wanted.affordable - spent
            met &= may_go[:, None] & may_come | (wanted.families[free][:, None] == wanted.families[others])
            between = np.ix_(free, others)
            if self._near is not None:
                met &= near - self._near[between] == 0.0
            totals = total + less[:, None] + more - 2.0 * self.H[between]
            values = np.where(met, self.values(carried - self.a[free][:, None] + self.a[others], totals, n), -np.inf)
            row, column = np.unravel_index(int(np.argmax(values)), values.shape)
            moves.append((float(values[row, column]), int(free[row]), int(others[column])))
        return max(moves, key=lambda move: move[0])

    def shaken(self, units: Indices) -> Indices:
        """Grow sets anew around the set: without one of its units, or with another one, and exchange units of these."""
        value, improved = self.value(units), True
        least = _IMPROVEMENT if len(self.a) <= _MOST_SHAKEN_TO_THE_END else _IMPROVEMENT_OF_MANY
        while improved:
            improved = False
            for changed in self._neighbours(units):
                other = self.exchanged(changed)
                if self.value(other) > value + least * abs(value):
                    units, value, improved = other, self.value(other), True
                    break
        return units

    def _neighbours(self, units: Indices) -> Iterable[Indices]:
        """Yield sets that meet the requirements: without a unit that adds little, or with one that might add more."""
        overlap = self.H[:, units].sum(axis=1)
        merits = self.a / np.sqrt(np.maximum(2.0 * overlap + self._own, _TINY))
        free = units[~self._fixed[units]]
        for unit in free[np.argsort(merits[free], kind="stable")][:_MOST_SHAKEN]:
            for power in self._powers:
                changed = self._grown([int(each) for each in units if each != unit], power, without=int(unit))
                if changed is not None and self.wanted.met_by(changed):
                    yield changed
        others = np.setdiff1d(np.arange(len(self.a)), units)
        for unit in others[np.argsort(-merits[others], kind="stable")][:_MOST_SHAKEN]:
            taking = self.wanted.taking()
            if taking.open[unit]:
                taking.take(int(unit))
                for each in free[np.argsort(-merits[free], kind="stable")]:
                    if taking.open[each]:
                        taking.take(int(each))
                for power in self._powers:
                    changed = self._grown(taking.taken, power)
                    if changed is not None and self.wanted.met_by(changed):
                        yield changed


class UnitsOfColumns:
    """The columns of X, or groups of them, by what they carry of a structure; products are computed as needed.

    Parameters
    ----------
    X : Columns of shape (n, d)
    carried : ndarray of shape (d,)
        ‖Tᵀx‖² of every column, times its weight if there are weights.
    groups : ndarray of int of shape (d,), optional
    gram : ndarray of shape (d, d), optional
        XᵀX, if available.
    """

    def __init__(self, X: Columns, carried: Float, groups: Indices | None, gram: Float | None = None) -> None:
        self._X, self._gram = X, gram
        self._codes = np.arange(X.shape[1]) if groups is None else groups
        self._carried = np.bincount(self._codes, carried).astype(np.float64)
        self._own = X.squared_norms() ** 2 if groups is None else own_products(X, groups, gram)

    def columns_of(self, units: Indices) -> Indices:
        """Return the columns of some units, in the order of units."""
        columns = np.flatnonzero(np.isin(self._codes, units))
        places = np.empty(len(self._carried), dtype=np.intp)
        places[units] = np.arange(len(units))
        return columns[np.argsort(places[self._codes[columns]], kind="stable")]

    def best(self, wanted: UnitRequirements, *, chance: Float | None = None, starts: Sequence[Indices] = ()) -> Indices:
        """Return the best choice of :func:`best_choice`; none if no set meets the requirements.

        Of many units some candidates are compared: those that are best by themselves, alone and per cost, and from
        then on those that add most to the last choice, until none of them changes it.
        """
        alone = self._carried / np.sqrt(np.maximum(self._own, _TINY))
        if len(wanted) <= _MOST_CANDIDATES:
            return best_choice(
                self._carried, self._products(np.arange(len(wanted))), wanted, chance=chance, starts=starts
            )
        order = np.argsort(-alone, kind="stable")
        least = replace(wanted, most=wanted.fewest_possible)
        first = least.best_first(order)
        if not len(first) or len(first) > _MOST_EXCHANGED:
            return first
        per_cost = np.argsort(-alone / _prices(wanted.costs), kind="stable")
        candidates = _joined(first, order[: _MOST_CANDIDATES // 2], per_cost[: _MOST_CANDIDATES // 2], *starts)
        best, value = np.empty(0, dtype=np.intp), -np.inf
        for _ in range(_MOST_ROUNDS):
            H = self._products(candidates)
            problem = _Problem(self._carried[candidates], H, wanted.among(candidates), _no_chance(chance))
            places = [np.flatnonzero(np.isin(candidates, each)) for each in starts]
            known = np.flatnonzero(np.isin(candidates, best))
            found = problem.exchanged(known) if len(known) else problem.best_found(places)
            best, last, value = candidates[found], value, problem.value(found)
            if value <= last + _IMPROVEMENT * abs(last):
                break
            candidates = _joined(candidates, *self._adding_most(best, wanted.costs))
        return best

    def _products(self, units: Indices) -> Float:
        """Return H of some units, in ascending order."""
        columns = np.flatnonzero(np.isin(self._codes, units))
        columns = columns[np.argsort(self._codes[columns], kind="stable")]
        gram = self._X.subset(columns).gram() if self._gram is None else self._gram[np.ix_(columns, columns)]
        squares = np.asarray(gram, dtype=np.float64) ** 2
        if len(columns) == len(units):
            return squares
        starts = np.flatnonzero(np.diff(self._codes[columns], prepend=-1))
        return np.asarray(np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1))

    def _adding_most(self, chosen: Indices, costs: Float) -> tuple[Indices, Indices]:
        """Return the units that raise the alignment of those chosen most, alone and per cost."""
        overlap = np.zeros(len(self._codes))
        columns = self.columns_of(chosen)
        for start in range(0, len(columns), _COLUMNS_AT_ONCE):
            part = columns[start : start + _COLUMNS_AT_ONCE]
            overlap += np.sum(self._X.transposed_matmul(self._X.columns(part)) ** 2, axis=1)
        added = np.bincount(self._codes, overlap)
        carried, total = self._carried[chosen].sum(), added[chosen].sum()
        values = (carried + self._carried) / np.sqrt(np.maximum(total + 2.0 * added + self._own, _TINY))
        merits = self._carried / np.sqrt(np.maximum(2.0 * added + self._own, _TINY))
        merits /= _prices(costs)
        most = _MOST_CANDIDATES // 4
        return np.argsort(-values, kind="stable")[:most], np.argsort(-merits, kind="stable")[:most]


def _joined(*units: Indices) -> Indices:
    return np.unique(np.concatenate(units))


def _prices(costs: Float) -> Float:
    """Return costs to divide by: what is free costs next to nothing, and one if all is free."""
    largest = float(costs.max(initial=0.0))
    return costs + _IMPROVEMENT * largest if largest > 0.0 else np.ones(len(costs))


def _no_chance(chance: Float | None) -> Float:
    return np.zeros(1) if chance is None else chance
