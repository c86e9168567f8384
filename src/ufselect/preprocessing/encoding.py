"""Variables of a table as columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float, Indices
from ufselect.columns.tabular import is_missing

OTHER = "other"
_RAREST = 0.01  # share of the values, below which levels are pooled


@dataclass(frozen=True, eq=False)
class Levels:
    """The different values of a column as text, in alphabetical order, and for every row which one it has."""

    names: tuple[str, ...]
    codes: Indices  # −1 if missing

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Levels:
        """Return the levels of any values; 1.0 is the level 1, as whole numbers are that have missing ones."""
        listed = values.tolist()
        try:
            keys = list(zip(map(type, listed), listed, strict=True))  # True is not 1
            different = dict.fromkeys(keys)
        except TypeError:  # lists, say
            return cls.of(np.array([None if value is None else str(value) for value in listed], dtype=object))
        texts = {key: None if is_missing(key[1]) else _text(key[1]) for key in different}
        names = sorted({text for text in texts.values() if text is not None})
        places: dict[str | None, int] = {None: -1, **{name: place for place, name in enumerate(names)}}
        by_key = {key: places[text] for key, text in texts.items()}
        return cls(tuple(names), np.fromiter(map(by_key.__getitem__, keys), np.intp, len(keys)))

    @cached_property
    def counts(self) -> Indices:
        """How often each level occurs."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))


@dataclass(frozen=True)
class Category:
    """The levels of a category, the shares of values that they have, and whether the last one takes all others."""

    levels: tuple[str, ...]
    shares: tuple[float, ...]
    pools: bool

    @classmethod
    def of(cls, found: Levels) -> Category:
        """Return the levels that a column has, rare ones pooled."""
        counts = dict(zip(found.names, found.counts.tolist(), strict=True))
        total = sum(counts.values())
        rare = [level for level, count in counts.items() if count < _RAREST * total]
        pools = len(rare) > 1
        if pools:
            pooled = sum(counts.pop(level) for level in rare)
            counts[OTHER] = counts.pop(OTHER, 0) + pooled
        return cls(tuple(counts), tuple(count / total for count in counts.values()), pools)

    @property
    def encoded(self) -> tuple[str, ...]:
        """The levels that have a column: all, or the second of two."""
        return self.levels[-1:] if len(self.levels) == 2 else self.levels

    def indicators(self, found: Levels) -> Float:
        """Return a column of zeros and ones for each level encoded; missing values take the shares of the levels."""
        count = len(self.levels)
        rows = np.vstack([np.eye(count), np.zeros(count), self.shares])  # of levels, of new ones, of missing values
        places = dict(zip(self.levels, range(count), strict=True))
        new = count - 1 if self.pools else count
        row = np.array([*(places.get(name, new) for name in found.names), count + 1])
        return np.asarray(rows[row[found.codes]][:, -len(self.encoded) :])


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
