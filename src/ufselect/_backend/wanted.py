"""What a ranking has to respect: how many columns are wanted, which come first, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.intp]


def _none() -> Indices:
    return np.empty(0, dtype=np.intp)


class Arrangement(NamedTuple):
    """Columns in the order of selection; only the first ``n_open`` of them are far enough apart."""

    order: Indices
    n_open: int


@dataclass(frozen=True)
class Wanted:
    """How many columns are to be selected, and what a ranking has to respect.

    Parameters
    ----------
    count : int or None
        Number of columns to select; None if the data decide.
    first : ndarray of int
        Columns that are selected before all others.
    positions : ndarray of int of shape (d,), optional
        Ascending positions of the columns, between which distances are measured; by default 0, 1, …
    min_distance : int
        Smallest distance between two selected columns, except between two of ``first``.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect._backend.wanted import Wanted
    >>> Wanted(2, first=np.array([3]), min_distance=2).arranged(np.array([0, 2, 1, 3]))
    Arrangement(order=array([3, 0, 2, 1]), n_open=2)
    """

    count: int | None = None
    first: Indices = field(default_factory=_none)
    positions: Indices | None = None
    min_distance: int = 1

    @property
    def is_free(self) -> bool:
        """Whether columns may come in any order."""
        return len(self.first) == 0 and self.min_distance == 1

    def open_columns(self, taken: Sequence[int], d: int) -> npt.NDArray[np.bool_]:
        """Return which of d columns may follow those that are taken: first ones if any are left, else distant ones."""
        left = np.setdiff1d(self.first, np.asarray(taken, dtype=np.intp))
        if len(left):
            return np.isin(np.arange(d), left)
        closed = np.zeros(d, dtype=bool)
        for low, high in zip(*self._reach(np.asarray(taken, dtype=np.intp), d), strict=True):
            closed[low:high] = True
        return ~closed

    def arranged(self, order: Indices) -> Arrangement:
        """Move the first columns to the front of an order, and columns that are too near to better ones to its end."""
        if self.is_free:
            return Arrangement(order, len(order))
        is_first = np.isin(order, self.first)
        order = np.concatenate([order[is_first], order[~is_first]])
        if self.min_distance == 1:
            return Arrangement(order, len(order))
        low, high = self._reach(np.arange(len(order)), len(order))
        closed = np.zeros(len(order), dtype=bool)
        is_open = np.ones(len(order), dtype=bool)
        for place, column in enumerate(order):
            is_open[place] = place < len(self.first) or not closed[column]
            if is_open[place]:
                closed[low[column] : high[column]] = True
        return Arrangement(np.concatenate([order[is_open], order[~is_open]]), int(is_open.sum()))

    def _reach(self, columns: Indices, d: int) -> tuple[Indices, Indices]:
        """Return the first and the last column, exclusive, of those that are too near to each of some columns."""
        positions = np.arange(d) if self.positions is None else self.positions
        low = np.searchsorted(positions, positions[columns] - self.min_distance, side="right")
        return low, np.searchsorted(positions, positions[columns] + self.min_distance, side="left")
