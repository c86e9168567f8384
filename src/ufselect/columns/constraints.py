"""What a ranking has to respect: how many columns are wanted, which come first, how far apart they are, quotas."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ufselect._utils.types import Float, Indices, Mask
from ufselect.columns.unit_requirements import UnitRequirements, without_rounding


class Arrangement(NamedTuple):
    """Columns in the order of selection; only the first ``n_open`` of them are far enough apart."""

    order: Indices
    n_open: int


@dataclass(frozen=True)
class Constraints:
    """How many columns are to be selected, and what a ranking has to respect.

    Parameters
    ----------
    count : int or None
        Number of columns to select; None if the data decide. Columns that would leave too few others at
        ``min_distance`` are not selected.
    first : ndarray of int
        Columns that are selected before all others.
    positions : ndarray of shape (d,), optional
        Positions of the columns, between which distances are measured; by default 0, 1, …
    min_distance : float
        Smallest distance between two selected columns, except between two of ``first``.
    groups : ndarray of int of shape (d,), optional
        The group of each column, from 0 on, if some have several columns. Then ``count`` is of groups, and the columns
        of a group follow each other.
    within : UnitRequirements, optional
        What the selected columns have to meet together, or the selected groups.
    weights : ndarray of shape (d,), optional
        By what to multiply how much of a structure a column carries.
    leading : ndarray of int, optional
        Those of ``first`` that come before the others of them; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.columns.constraints import Constraints
    >>> Constraints(2, first=np.array([3]), min_distance=2).arranged(np.array([0, 2, 1, 3]))
    Arrangement(order=array([3, 0, 2, 1]), n_open=2)
    """

    count: int | None = None
    first: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    positions: Indices | Float | None = None
    min_distance: float = 1
    groups: Indices | None = None
    within: UnitRequirements | None = None
    weights: Float | None = None
    leading: Indices | None = None

    @property
    def n_leading(self) -> int:
        """Number of columns that come before all others, whatever they add."""
        return len(self.first if self.leading is None else self.leading)

    @property
    def n_columns(self) -> int | None:
        """Number of columns to select, of groups of mean size if there are any; None if the data decide."""
        if self.count is None or self.groups is None:
            return self.count
        return round(self.count * len(self.groups) / (int(self.groups.max()) + 1))

    @property
    def holds_apart(self) -> bool:
        """Whether columns have to be far enough from each other."""
        return self.min_distance > 1 or self.positions is not None

    def distance_weights(self) -> Float | None:
        """Return 1/√m for every column of a group of m, which then counts like one column; None without groups."""
        if self.groups is None:
            return None
        return np.asarray(1.0 / np.sqrt(np.bincount(self.groups)[self.groups]))

    def ends(self, order: Indices) -> Indices:
        """Return the numbers of columns, in an order, that are of whole groups."""
        if self.groups is None:
            return np.arange(1, len(order) + 1)
        codes = self.groups[order]
        return np.flatnonzero(np.append(codes[1:] != codes[:-1], True)) + 1

    def choosing(self, d: int) -> Choosing:
        """Return a choice among d columns, none of which is taken yet."""
        return Choosing(self, d)

    def most_apart(self, d: int) -> int:
        """Return the largest number of d columns that can be selected together."""
        return self.choosing(d).most

    def arranged(self, order: Indices) -> Arrangement:
        """Take columns best first as far as they may be taken; the others follow in their order."""
        if self.within is not None:
            return self._arranged_within(order, self.within)
        if len(self.first) == 0 and not self.holds_apart:
            return Arrangement(order, len(order))
        choosing = self.choosing(len(order))
        # The last pass takes columns that would have left too few others, once there are enough.
        passes = (order[np.isin(order, self.first)], order, order)
        taken = [int(column) for columns in passes for column in columns if choosing.takes(int(column))]
        return Arrangement(np.array([*taken, *order[~np.isin(order, taken)]], dtype=np.intp), len(taken))

    def _arranged_within(self, order: Indices, within: UnitRequirements) -> Arrangement:
        """Take units best first as far as the requirements allow, those that families need before the others."""
        codes = np.arange(len(order)) if self.groups is None else self.groups
        units = np.array(list(dict.fromkeys(codes[order].tolist())), dtype=np.intp)
        taken = within.best_first(units)
        places = np.full(len(units), len(units))
        places[taken] = np.arange(len(taken))
        arranged = order[np.argsort(places[codes[order]], kind="stable")]
        return Arrangement(arranged, int(np.count_nonzero(places[codes] < len(taken))))


class Choosing:
    """Columns taken one by one, each such that the wanted number of columns can still be reached.

    Columns far enough from all that are taken lie in gaps between these. A gap holds the most columns if the first
    possible one is taken again and again. A column is too near to two of these at most and thus costs the room of one
    other at most. So every column in a gap is open as long as there is room to spare.
    """

    def __init__(self, wanted: Constraints, d: int) -> None:
        positions = np.arange(d) if wanted.positions is None else wanted.positions
        # Within, columns are numbered by ascending position, their place.
        by_position = np.argsort(positions, kind="stable")
        self._place = np.argsort(by_position, kind="stable")
        positions = positions[by_position]
        distance = without_rounding(wanted.min_distance, positions)
        # The columns too near to column j, itself included, are those from low[j] to high[j], exclusive.
        self._low = np.searchsorted(positions, positions - distance, side="right")
        self._high = np.searchsorted(positions, positions + distance, side="left")
        first = self._place[wanted.first]
        self._first = set(first.tolist())  # those not taken yet; their gaps are known already
        self._leading = set((first if wanted.leading is None else self._place[wanted.leading]).tolist())
        self._taken = sorted(self._first)
        self._far = np.ones(d, dtype=bool)
        for column in self._taken:
            self._far[self._low[column] : self._high[column]] = False
        counts = wanted.count is not None and wanted.holds_apart
        self._spare = self.most - (wanted.count or 0) if counts else -1
        # A number that is impossible from the start, which fit refuses, restricts nothing.
        self._lacking = (wanted.count or 0) - len(self._first) if self._spare >= 0 else 0
        self._open = np.zeros(d, dtype=bool)
        self._open[list(self._leading or self._first)] = True
        if not self._first:
            self._open_others()

    @property
    def open(self) -> Mask:
        """The columns that may be taken next."""
        return self._open[self._place]

    @property
    def most(self) -> int:
        """Largest number of columns that can be taken together, with those taken."""
        gaps = [self._gap(place) for place in range(len(self._taken) + 1)]
        return len(self._taken) + sum(int(self._most_between(*gap)) for gap in gaps)

    def takes(self, column: int) -> bool:
        """Take a column if it is open, and return whether it was."""
        is_open = bool(self._open[self._place[column]])
        if is_open:
            self.take(column)
        return is_open

    def take(self, column: int) -> None:
        """Take a column; the first ones come before all others."""
        self._take(int(self._place[column]))

    def _take(self, column: int) -> None:
        if self._first:
            self._first.discard(column)
            self._leading.discard(column)
            self._open[column] = False
            if not self._first:
                self._open_others()
            elif not self._leading:
                self._open[list(self._first)] = True
            return
        place = bisect_left(self._taken, column)
        gap = self._gap(place)
        self._taken.insert(place, column)
        self._far[self._low[column] : self._high[column]] = False
        self._open[self._low[column] : self._high[column]] = False
        if self._lacking:
            self._leave_enough(column, place, gap)

    def _leave_enough(self, column: int, place: int, gap: tuple[int, int]) -> None:
        """Close the columns after which too few others could follow, now that a column in a gap is taken."""
        cost = int(self._cost(np.intp(column), *gap))
        self._spare -= cost
        self._lacking -= 1
        if cost or not self._lacking:
            self._open_others()
        elif self._spare == 0:
            self._close_costly((place, place + 1))

    def _open_others(self) -> None:
        """Open all columns in gaps, or those that cost no room if there is none to spare."""
        self._open = self._far.copy()
        if self._lacking and self._spare == 0:
            self._close_costly(range(len(self._taken) + 1))

    def _close_costly(self, places: Iterable[int]) -> None:
        for start, stop in map(self._gap, places):
            self._open[start:stop] = self._cost(np.arange(start, stop), start, stop) == 0

    def _cost(self, column: Any, start: int, stop: int) -> Any:
        """Return by how much less others fit into a gap, besides the place of a column itself, if it is taken."""
        beside = self._most_between(start, self._low[column]) + self._most_between(self._high[column], stop)
        return self._most_between(start, stop) - 1 - beside

    def _gap(self, place: int) -> tuple[int, int]:
        """Return the first and the last column, exclusive, of the gap before the column taken at a place."""
        start = self._high[self._taken[place - 1]] if place else 0
        stop = self._low[self._taken[place]] if place < len(self._taken) else len(self._far)
        return int(start), max(int(start), int(stop))

    def _most_between(self, start: Any, stop: Any) -> Any:
        """Return the largest number of columns far enough apart, from a start to a stop, exclusive."""
        column = np.asarray(start)
        number = (column < stop).astype(np.intp)
        for power, jump in reversed(list(enumerate(self._jumps))):
            ahead = jump[column]
            number += (ahead < stop).astype(np.intp) << power
            column = np.where(ahead < stop, ahead, column)
        return number

    @cached_property
    def _jumps(self) -> list[Indices]:
        """Entry k has the column after 2ᵏ steps, each to the first one far enough from the last; d is the end."""
        d = len(self._far)
        jumps = [np.append(self._high, d)]
        while jumps[-1][0] < d:
            jumps.append(jumps[-1][jumps[-1]])
        return jumps
