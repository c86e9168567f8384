"""Which columns of a text file hold numbers, told from the texts alone."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.arrow import texts
from ufselect.files.outgoing import written_numbers
from ufselect.files.table import LARGEST_WHOLE, TOO_LONG, shortened

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "null", "NULL", "None")
NUMBER = r"^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity|nan))$"
_DECIMAL_COMMA = r"^[+-]?\d+,\d+$"
_DATE = r"^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?$"
_LONG_INTEGER = r"^[+-]?\d{16,}$"


class Reading:
    """What the rows read so far tell of every column."""

    def __init__(self, n_columns: int, aside: set[int]) -> None:
        self.n_rows = 0
        self.aside = np.isin(np.arange(n_columns), list(aside))
        self.numbers = np.zeros(n_columns, dtype=bool)
        self.flags = np.zeros(n_columns, dtype=bool)
        self.texts: dict[int, Any] = {}
        self._texts = Texts([], n_columns)
        self._X = np.empty((0, 0))

    def add(self, values: Any) -> None:
        """Take some rows more."""
        numbers = self._numbers(values)
        self._set_too_long_aside(values, numbers)
        if not self.n_rows:
            self._places = np.flatnonzero(~self.aside)
            self._texts = Texts(np.flatnonzero(self.aside), len(self.aside))
        self._texts.add(values)
        before, self.n_rows = self.n_rows, self.n_rows + len(numbers)
        self._X.resize((self.n_rows, len(self._places)), refcheck=False)  # in place: the system moves no page
        self._X[before:] = numbers if len(self._places) == len(self.aside) else numbers[:, self._places]

    def finished(self) -> NDArray[np.float64]:
        """The columns of numbers."""
        self.aside |= self.flags & self.numbers
        self.texts = self._texts.by_column()
        kept = (~self.aside & (self.flags | self.numbers))[self._places]
        return self._X if kept.all() else np.ascontiguousarray(self._X[:, kept])

    def _numbers(self, values: Any) -> NDArray[np.float64]:
        """Values of a block as numbers, NaN where one is missing or its column is aside."""
        import pyarrow as pa

        visible = self._hidden(values)
        try:
            return self._seen(visible.cast(pa.float64()), False)
        except pa.ArrowInvalid:
            visible = _without_missing(visible)
        try:
            return self._seen(visible.cast(pa.float64()), False)
        except pa.ArrowInvalid:
            return self._after_a_closer_look(visible)

    def _after_a_closer_look(self, visible: Any) -> NDArray[np.float64]:
        import pyarrow as pa
        import pyarrow.compute as pc

        lower = pc.utf8_lower(visible)
        flags = pc.is_in(lower, pa.array(["true", "false"]))
        known = pc.fill_null(pc.or_(flags, pc.match_substring_regex(visible, NUMBER)), True)
        self.aside |= ~self._by_column(known).all(axis=0)
        flags = pc.and_(flags, pc.invert(self._mask(len(visible))))
        self.flags |= self._by_column(flags).any(axis=0)
        as_digits = pc.if_else(pc.equal(lower, "true"), "1", "0")
        numbers = self._hidden(pc.if_else(flags, as_digits, visible)).cast(pa.float64())
        return self._seen(numbers, self._by_column(flags))

    def _set_too_long_aside(self, values: Any, numbers: NDArray[np.float64]) -> None:
        """Columns with a whole number that a float would change."""
        rows, columns = np.nonzero(np.abs(numbers) >= LARGEST_WHOLE)
        for place in np.unique(columns):
            places = rows[columns == place] * len(self.aside) + place
            self.aside[place] |= _any_too_long(values.take(places))

    def _seen(self, numbers: Any, flags: Any) -> NDArray[np.float64]:
        values = self._by_column(numbers)
        if not self.numbers[~self.aside].all():
            self.numbers |= (~np.isnan(values) & ~np.asarray(flags)).any(axis=0)
        return values

    def _hidden(self, values: Any) -> Any:
        import pyarrow.compute as pc

        return pc.if_else(self._mask(len(values)), None, values) if self.aside.any() else values

    def _mask(self, size: int) -> Any:
        import pyarrow as pa

        return pa.array(np.tile(self.aside, size // len(self.aside)))

    def _by_column(self, values: Any) -> NDArray[Any]:
        return values.to_numpy(zero_copy_only=False).reshape(-1, len(self.aside))


def _without_missing(values: Any) -> Any:
    """Values without blanks around them, null where they stand for none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(values)
    return pc.if_else(pc.is_in(trimmed, pa.array(MISSING)), None, trimmed)


def _any_too_long(values: Any) -> bool:
    """Whether one of the texts is a whole number of which a float keeps only a part."""
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(values)
    found = trimmed.filter(pc.match_substring_regex(trimmed, _LONG_INTEGER)).unique().to_pylist()
    return any(Decimal(text) not in (Decimal(float(text)), Decimal(repr(float(text)))) for text in found)


class Texts:
    """Some columns of all rows as they are written, gathered block by block."""

    def __init__(self, places: Iterable[int], n_columns: int) -> None:
        self._places = [int(place) for place in places]
        self._n_columns = n_columns
        self._parts: list[Any] = []

    def add(self, values: Any) -> None:
        """Take these columns of some rows more."""
        import pyarrow as pa

        if self._places:
            starts = np.arange(0, len(values), self._n_columns)
            places = (starts[:, None] + self._places).ravel()
            self._parts.append(values.take(pa.array(places)).cast(pa.large_string()))  # no limit to their length

    def by_column(self) -> dict[int, Any]:
        """The columns, each in one piece, by their places."""
        import pyarrow as pa

        if not self._parts:
            return {}
        values, n_columns = pa.concat_arrays(self._parts), len(self._places)
        steps = np.arange(0, len(values), n_columns)
        return {place: values.take(pa.array(steps + start)) for start, place in enumerate(self._places)}


def as_kept(column: Any) -> NDArray[Any]:
    """Numbers where every one is written again as it was read, else text: 007, 1E1 and 1.10 are labels.

    Among numbers, what stands for a missing value is one; among other texts it is a text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values = _without_missing(column)
    if not pc.all(pc.match_substring_regex(values, NUMBER), min_count=0).as_py():
        return texts(column)
    values = pc.if_else(values.is_null(), None, column)
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = values.cast(kind).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            continue
        if written_numbers(numbers).cast(values.type).equals(values):
            return numbers
    return texts(values)


def any_match(values: Any, pattern: str) -> bool:
    """Whether the pattern is found in a value."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())


def why_text(column: Any) -> str:
    """Why a column is one of text; where most values are numbers, the first that is none."""
    import pyarrow.compute as pc

    values = _without_missing(column)
    numbers = pc.match_substring_regex(values, NUMBER)
    commas = pc.match_substring_regex(values, _DECIMAL_COMMA)
    n_values = len(values) - values.null_count
    if n_values and pc.all(pc.match_substring_regex(values, _DATE)).as_py():
        return "dates"
    if n_values and pc.all(numbers).as_py():
        return TOO_LONG
    if 2 * ((pc.sum(numbers).as_py() or 0) + (pc.sum(commas).as_py() or 0)) <= n_values:
        return "text"
    row = pc.index(numbers, False).as_py()
    found = values[row].as_py()
    hint = "; write a point, not a comma" if commas[row].as_py() else ""
    return f"text: {shortened(found)!r} in row {row + 1} is not a number{hint}"
