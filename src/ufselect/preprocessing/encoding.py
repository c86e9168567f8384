"""Levels of a column of any values, and categories as columns of zeros and ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float, Indices
from ufselect.columns.tabular import is_missing

OTHER = "other"
_RAREST = 0.01  # share of the values
_FEWEST = 2  # values; levels that have fewer or are rarer are pooled
_COVERED = 0.5  # share of the values that have levels of their own in a category
_MISSING = {"", "na", "n/a", "nan", "-nan", "null", "#n/a", "?", "."}
_MISSING_NUMBERS = _MISSING | {"-", "--", "*", "none", "missing", "unknown"}
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s*[ap]m)?(?:\s*(?:z|utc|[+-]\d{2}:?\d{2}))?"
_DATE = re.compile(
    rf"(?:(?:\d{{4}}[-/.]\d{{1,2}}(?:[-/.]\d{{1,2}})?|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}"
    rf"|(?:\d{{1,2}}[-\s.]+)?{_MONTH}[-\s.,]+(?:\d{{1,2}},?\s+)?(?:\d{{4}}|\d{{2}})|\d{{4}}[-\s]{_MONTH}(?:[-\s]\d{{1,2}})?)"
    rf"(?:[t\s]+{_TIME})?|{_TIME})$"
)
_NEARLY_ALL = 0.95
_MOST = 0.8
_LONGEST_CODE = 40


@dataclass(frozen=True, eq=False)
class Levels:
    """The different values of a column as text, in alphabetical order, and for every row which one it has."""

    names: tuple[str, ...]
    codes: Indices  # −1 if missing
    has_marks: bool = False  # some are missing that are written as a text, such as NA or ?

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Levels:
        """Return the levels of any values; 1.0 is the level 1, as whole numbers are that have missing ones."""
        listed = values.astype("datetime64[s]").tolist() if values.dtype.kind == "M" else values.tolist()
        if not set(map(type, listed)) <= {str, float, type(None)}:  # True equals 1, and lists have no hash
            listed = [None if is_missing(value) else _text(value) for value in listed]
        texts = {value: "" if is_missing(value) else _text(value) for value in dict.fromkeys(listed)}
        marks = {text for text in texts.values() if text.lower() in _MISSING}
        names = sorted(set(texts.values()) - marks)
        places = dict.fromkeys(marks, -1) | {name: place for place, name in enumerate(names)}
        by_value = {value: places[text] for value, text in texts.items()}
        codes = np.fromiter(map(by_value.__getitem__, listed), np.intp, len(listed))
        return cls(tuple(names), codes, bool(marks - {""}))

    @cached_property
    def counts(self) -> Indices:
        """How often each level occurs."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))

    @property
    def n_missing(self) -> int:
        """Number of missing values."""
        return len(self.codes) - int(self.counts.sum())

    @cached_property
    def numbers(self) -> Float | None:
        """The values as numbers if all levels are numbers or texts such as "missing"; None if they are not.

        Numbers with leading zeros are codes.
        """
        known = [name.lower() not in _MISSING_NUMBERS for name in self.names]
        pairs = list(zip(self.names, known, strict=True))
        if not any(known) or not all(_NUMBER.match(name) for name, is_known in pairs if is_known):
            return None
        return np.array([*(float(name) if is_known else np.nan for name, is_known in pairs), np.nan])[self.codes]

    @property
    def are_numbers(self) -> bool:
        """Whether the values are numbers, rather than a category whose levels are numbered."""
        if self.numbers is None:
            return False
        return self.has_marks or np.isnan(self.numbers).sum() > self.n_missing or not is_category(self)

    @property
    def are_dates(self) -> bool:
        """Whether nearly all levels are dates, months of years or times."""
        return _share(self.names, lambda name: bool(_DATE.match(name.lower()))) >= _NEARLY_ALL

    @property
    def look_like_codes(self) -> bool:
        """Whether the levels look like those of an identifier: without blanks, with digits or of one length."""
        if _share(self.names, lambda name: " " in name or len(name) > _LONGEST_CODE) > 1.0 - _NEARLY_ALL:
            return False
        with_digits = _share(self.names, lambda name: any(map(str.isdigit, name)) or "@" in name)
        return with_digits >= _MOST or len({len(name) for name in self.names}) == 1


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
        rare = [level for level, count in counts.items() if count < _least(total)]
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


def is_category(found: Levels) -> bool:
    """Whether levels that are not rare cover most of the values."""
    total = int(found.counts.sum())
    return int(found.counts[found.counts >= _least(total)].sum()) >= _COVERED * total


def _least(total: int) -> float:
    return max(_FEWEST, _RAREST * total)


def _share(names: Iterable[str], test: Any) -> float:
    passed = [bool(test(name)) for name in names]
    return sum(passed) / max(1, len(passed))


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
