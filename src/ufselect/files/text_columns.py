"""Tell the numeric columns of a text file from text, dates, identifiers and integers that a float would change."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect._utils.wording import shortened
from ufselect.files.arrow import text_array, written_numbers
from ufselect.files.table import LARGEST_INTEGER, TOO_LONG
from ufselect.files.text_dialect import GROUPED, Dialect

NUMBER = r"^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity|nan))$"
_OTHER_DECIMAL = {".": r"^[+-]?\d+,\d+$", ",": r"^[+-]?\d*\.\d+$"}
_CURRENCY = r"(?:\p{Sc}|USD|EUR|GBP|CHF|JPY|CNY|INR)"
_DIGITS = r"[+-]?\s*\d[\d.,' \x{a0}\x{202f}]*"
_NUMBERS_IN_TEXT = {  # most of a column
    "amounts of money": rf"^(?:[(]?[+-]?{_CURRENCY}\s*{_DIGITS}[)]?|[(]?{_DIGITS}\s*{_CURRENCY}[)]?|[(]{_DIGITS}[)])$",
    "percentages": rf"^{_DIGITS}\s*[%‰]$",
    "numbers with separators": r"^[+-]?\d{1,3}(?:[' \x{a0}\x{202f}]\d{3})+(?:[.,]\d*)?$",
}
_DATE = r"^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?$"
_LONG_INTEGER = r"^[+-]?\d{16,}$"
LEADING_ZEROS = "leading zeros: taken as identifiers"
_FEW = 2  # different texts among numbers that may mean a missing value


class ColumnReader:
    """Reads the numeric columns block by block, and finds out on the way which ones they are."""

    def __init__(self, n_columns: int, aside: set[int], dialect: Dialect) -> None:
        self.n_rows = 0
        self.aside = np.isin(np.arange(n_columns), list(aside))
        self.numbers = np.zeros(n_columns, dtype=bool)
        self.flags = np.zeros(n_columns, dtype=bool)
        self.padded = np.zeros(n_columns, dtype=bool)  # some digits have leading zeros
        self.texts: dict[int, Any] = {}
        self._dialect = dialect
        self._texts = TextColumns([], n_columns)
        self._X = np.empty((0, 0))

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """Whether each column is numeric, as far as it has been read."""
        return ~self.aside & (self.flags | self.numbers)

    def add(self, values: Any) -> None:
        """Read the next rows."""
        numbers = self._numbers(values)
        self._set_too_long_aside(values, numbers)
        self.padded[_padded_columns(values, len(self.aside))] = True
        if not self.n_rows:
            self._kept = np.flatnonzero(~self.aside)
            self._texts = TextColumns(np.flatnonzero(self.aside), len(self.aside))
        self._texts.add(values)
        before, self.n_rows = self.n_rows, self.n_rows + len(numbers)
        self._X.resize((self.n_rows, len(self._kept)), refcheck=False)  # in place: the system moves no page
        self._X[before:] = numbers if len(self._kept) == len(self.aside) else numbers[:, self._kept]

    def finish(self) -> NDArray[np.float64]:
        """Return the numeric columns."""
        self.aside |= self.flags & self.numbers
        self.texts = self._texts.by_column()
        kept = self.numeric[self._kept]
        return self._X if kept.all() else np.ascontiguousarray(self._X[:, kept])

    def _numbers(self, values: Any) -> NDArray[np.float64]:
        """Return a block as numbers, NaN if a value is missing or its column is set aside."""
        import pyarrow as pa

        visible = self._without_aside(values)
        if self._dialect.is_plain:
            try:
                return self._seen(visible.cast(pa.float64()), False)
            except pa.ArrowInvalid:
                pass
        visible = self._dialect.normalized(visible)
        try:
            return self._seen(visible.cast(pa.float64()), False)
        except pa.ArrowInvalid:
            return self._after_a_closer_look(visible)

    def _after_a_closer_look(self, visible: Any) -> NDArray[np.float64]:
        """Set columns of text aside, and read true and false as 1 and 0."""
        import pyarrow as pa
        import pyarrow.compute as pc

        lower = pc.utf8_lower(visible)
        flags = pc.is_in(lower, pa.array(["true", "false"]))
        known = pc.fill_null(pc.or_(flags, pc.match_substring_regex(visible, NUMBER)), True)
        self.aside |= ~self._by_column(known).all(axis=0)
        are_flags = self._by_column(flags) & ~self.aside
        self.flags |= are_flags.any(axis=0)
        as_digits = pc.if_else(pc.equal(lower, "true"), "1", "0")
        numbers = self._without_aside(pc.if_else(flags, as_digits, visible)).cast(pa.float64())
        return self._seen(numbers, are_flags)

    def _set_too_long_aside(self, values: Any, numbers: NDArray[np.float64]) -> None:
        """Set columns aside with an integer that a float would change."""
        import pyarrow.compute as pc

        rows, columns = np.nonzero(np.abs(numbers) >= LARGEST_INTEGER)
        for column in np.unique(columns):
            large = self._dialect.normalized(values.take(rows[columns == column] * len(self.aside) + column))
            texts = large.filter(pc.match_substring_regex(large, _LONG_INTEGER)).unique().to_pylist()
            exact = (Decimal(text) in (Decimal(float(text)), Decimal(repr(float(text)))) for text in texts)
            self.aside[column] |= not all(exact)

    def _seen(self, numbers: Any, flags: Any) -> NDArray[np.float64]:
        values = self._by_column(numbers)
        if not self.numbers[~self.aside].all():
            self.numbers |= (~np.isnan(values) & ~np.asarray(flags)).any(axis=0)
        return values

    def _without_aside(self, values: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self.aside.any():
            return values
        return pc.if_else(pa.array(np.tile(self.aside, len(values) // len(self.aside))), None, values)

    def _by_column(self, values: Any) -> NDArray[Any]:
        return values.to_numpy(zero_copy_only=False).reshape(-1, len(self.aside))


def _padded_columns(values: Any, n_columns: int) -> NDArray[np.int64]:
    """Return the columns of a block with digits after a leading zero; a look at two bytes takes less than a pattern."""
    import pyarrow as pa
    import pyarrow.compute as pc

    _, offsets, data = values.buffers()
    kind = np.int64 if pa.types.is_large_string(values.type) else np.int32
    starts = np.frombuffer(offsets, kind)[values.offset : values.offset + len(values) + 1]
    characters = np.frombuffer(data or b"", np.uint8)
    places = np.flatnonzero(np.diff(starts) > 1)
    first = characters[starts[places]]
    if (first == ord(" ")).any():
        return _padded_columns(pc.utf8_ltrim_whitespace(values), n_columns)
    places = places[first == ord("0")]
    second = characters[starts[places] + 1]
    return np.unique(places[(second >= ord("0")) & (second <= ord("9"))] % n_columns)


class TextColumns:
    """Collects some columns as they are written, block by block."""

    def __init__(self, indices: Iterable[int], n_columns: int) -> None:
        self._indices = [int(index) for index in indices]
        self._n_columns = n_columns
        self._parts: list[Any] = []

    def add(self, values: Any) -> None:
        """Take these columns from the next rows."""
        import pyarrow as pa

        if self._indices:
            starts = np.arange(0, len(values), self._n_columns)
            taken = (starts[:, None] + self._indices).ravel()
            self._parts.append(values.take(pa.array(taken)).cast(pa.large_string()))  # of any total length

    def by_column(self) -> dict[int, Any]:
        """Return each column by its index."""
        import pyarrow as pa

        if not self._parts:
            return {}
        values, n_columns = pa.concat_arrays(self._parts), len(self._indices)
        steps = np.arange(0, len(values), n_columns)
        return {index: values.take(pa.array(steps + start)) for start, index in enumerate(self._indices)}


def numbers_or_text(column: Any, dialect: Dialect) -> NDArray[Any]:
    """Return numbers if each would be written as it was read, else text: 007, 1E1 and 1.10 are labels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = dialect.normalized(column)
    if not pc.all(pc.match_substring_regex(values, NUMBER), min_count=0).as_py():
        return text_array(column)
    values = pc.if_else(values.is_null(), None, column)
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = values.cast(kind).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            continue
        if written_numbers(numbers).cast(values.type).equals(values):
            return numbers
    return text_array(values)


def any_match(values: Any, pattern: str) -> bool:
    """Whether a value matches the pattern."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())


def why_text(column: Any, dialect: Dialect) -> str:
    """Return why a column is text; if most of its values are numbers, which ones are not."""
    import pyarrow.compute as pc

    values = dialect.normalized(column)
    numbers = pc.match_substring_regex(values, NUMBER)
    n_values = len(values) - values.null_count
    if n_values and pc.all(pc.match_substring_regex(values, _DATE)).as_py():
        return "dates"
    if n_values and pc.all(numbers).as_py():
        return TOO_LONG
    written = pc.utf8_trim_whitespace(column)
    other_decimals = pc.match_substring_regex(written, _OTHER_DECIMAL[dialect.decimal])
    if 2 * ((pc.sum(numbers).as_py() or 0) + (pc.sum(other_decimals).as_py() or 0)) <= n_values:
        return _why_numbers_are_text(written, numbers, n_values) or "text"
    others = pc.fill_null(pc.invert(numbers), False)
    row = pc.index(others, True).as_py()
    first = f"text: {shortened(written[row].as_py())!r} in row {row + 1}"
    if other_decimals[row].as_py():
        mark = "decimal comma" if dialect.decimal == "." else "decimal point"
        if any_match(written[row : row + 1], GROUPED[","]):
            mark = "comma"
        advice = "enter numbers in the sheet" if dialect.is_fixed else "see decimal (--decimal)"
        return f"{first} has a {mark}; {advice}"
    counts = {each["values"]: each["counts"] for each in pc.value_counts(written.filter(others)).to_pylist()}
    return _why_not_numeric(first, counts, n_values)


def _why_numbers_are_text(written: Any, numbers: Any, n_values: int) -> str | None:
    """Return what surrounds the numbers of a column, such as signs of money; None if it is text indeed."""
    import pyarrow.compute as pc

    for kind, pattern in _NUMBERS_IN_TEXT.items():
        found = pc.match_substring_regex(written, pattern)
        count = pc.sum(found).as_py() or 0
        if count and 2 * (count + (pc.sum(numbers).as_py() or 0)) > n_values:
            example = shortened(written[pc.index(found, True).as_py()].as_py())
            return f"text: {kind} such as {example!r}; write plain numbers to use them"
    return None


def _why_not_numeric(first: str, counts: dict[str, int], n_values: int) -> str:
    """Return what is not a number, and how to read it as missing if there are few such texts."""
    if len(counts) > _FEW:
        return f"{first} is not a number"
    shown = [shortened(text) for text in counts]
    options = f"na={shown} ({' '.join(f'--na {shlex.quote(text)}' for text in shown)})"
    if sum(counts.values()) == 1:
        return f"{first} is not a number; {options} reads it as missing"
    found = " and ".join(f"{text!r} in {count:,}" for text, count in zip(shown, counts.values(), strict=True))
    return f"text: {found} of {n_values:,} values; {options} reads them as missing"


def identifiers_among(columns: Mapping[int, Any], X: NDArray[np.float64], dialect: Dialect) -> dict[int, Any]:
    """Return which columns with leading zeros hold only digits; none if these and all other numbers have one width."""
    import pyarrow.compute as pc

    written = {index: dialect.normalized(column) for index, column in columns.items()}
    if len(columns) + X.shape[1] > 1 and _have_one_width([*written.values()], X):
        return {}
    digits = (j for j, each in written.items() if pc.all(pc.match_substring_regex(each, r"^\d+$"), min_count=0).as_py())
    return {j: columns[j] for j in digits if any_match(written[j], r"^0\d")}


def _have_one_width(written: list[Any], X: NDArray[np.float64]) -> bool:
    """Whether all numbers of a file have as many digits, as a program writes them with a fixed width."""
    import pyarrow.compute as pc

    widths = {width for values in written for width in pc.min_max(pc.utf8_length(values)).as_py().values()}
    if len(widths) != 1:
        return False
    (width,) = widths
    fitting = (10.0 ** (width - 1) <= X) & (10.0**width > X) & (np.rint(X) == X)
    return bool((fitting | np.isnan(X)).all())
