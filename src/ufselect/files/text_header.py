"""Tell a first line of column names from a first sample, where both may be numbers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ufselect._utils.wording import shown
from ufselect.files.errors import RaggedError, UnreadableError
from ufselect.files.text_columns import NUMBER
from ufselect.files.text_records import Records

_VALUES = 50_000  # that the first line is compared with, and rows
_LEAST_ROWS = 20
_LEAST_COLUMNS = 3  # of which an order tells something
_YEARS = (1800, 2100)
_SIMILAR = 0.3  # share of rows that rise by chance: one of six with three columns
_SPACING = 0.002  # by which share steps may differ and still be even: rounding, but not large counts


class FirstLine(NamedTuple):
    """Whether the first line is a header, and a sentence on it if that is not certain."""

    is_header: bool
    notes: tuple[str, ...] = ()


@np.errstate(invalid="ignore", over="ignore")
def judge_first_line(file: Records, header: bool | None) -> FirstLine:
    """Tell whether the first line of a file holds column names or a sample."""
    if header is not None:
        if not header:
            _refuse_names_as_sample(file)
        return FirstLine(header)
    if file.has_names or not file.fields[0].strip():
        return FirstLine(True)  # an empty first name is that of row labels
    line = _parsed(file.fields, file)
    n_texts = np.count_nonzero(line.is_text)
    if not line.any_number or 2 * n_texts >= len(line.numbers):
        return FirstLine(True)
    try:
        rows = _rows_below(file)
    except RaggedError as error:
        return _column_names("each line below has one value more") if error.is_one_name_short else FirstLine(False)
    if n_texts:
        return _judge_mixed(line, rows)
    if reason := _why_names(line, rows):
        return _column_names(reason)
    return _noted(
        False, "The first line holds numbers and was read as a sample; --header yes reads it as column names."
    )


def judge_labels(file: Records, header: bool | None) -> FirstLine:
    """Tell whether the first line of a file whose rows are features holds sample labels or a feature."""
    if header is not None:
        return FirstLine(header)
    line = _parsed(file.fields[1:], file)
    if file.has_names or not file.fields[0].strip() or not line.any_number or line.is_text.any():
        return FirstLine(True)
    if line.missing.any() or len(np.unique(line.numbers)) < len(line.numbers):
        return _noted(False, "The first line was read as a feature; --header yes reads it as sample labels.")
    return _noted(True, "The first line was read as sample labels; --header no reads it as a feature.")


def _noted(is_header: bool, note: str) -> FirstLine:
    return FirstLine(is_header, (note,))


def _column_names(reason: str) -> FirstLine:
    return _noted(True, f"The first line was read as column names, since {reason}; --header no reads it as a sample.")


@dataclass(frozen=True)
class _Cells:
    """Fields as they are written, whether each is missing, and the numbers; NaN where there is none."""

    texts: NDArray[Any]
    missing: NDArray[np.bool_]
    numbers: NDArray[np.float64]

    @property
    def any_number(self) -> bool:
        return not np.isnan(self.numbers).all()

    @property
    def is_text(self) -> NDArray[np.bool_]:
        return ~self.missing & np.isnan(self.numbers)


def _parsed(fields: Any, file: Records) -> _Cells:
    import pyarrow as pa
    import pyarrow.compute as pc

    written = fields if isinstance(fields, pa.Array) else pa.array(fields, pa.string())
    values = file.dialect.normalized(written)
    numbers = pc.if_else(pc.match_substring_regex(values, NUMBER), values, None).cast(pa.float64())
    return _Cells(*(each.to_numpy(zero_copy_only=False) for each in (written, values.is_null(), numbers)))


def _rows_below(file: Records) -> _Cells:
    """Return the first rows after the first line."""
    d = len(file.fields)
    values = next(iter(file.blocks(after_header=True)), None)
    cells = _parsed([] if values is None else values.slice(0, max(_LEAST_ROWS, _VALUES // d) * d), file)
    return _Cells(cells.texts.reshape(-1, d), cells.missing.reshape(-1, d), cells.numbers.reshape(-1, d))


def _refuse_names_as_sample(file: Records) -> None:
    """Raise an error if names would turn all columns of numbers into text."""
    line = _parsed(file.fields, file)
    if line.any_number or not line.is_text.any() or file.first_is_data:
        return
    with suppress(RaggedError):
        rows = _rows_below(file)
        numeric = ~np.isnan(rows.numbers).all(axis=0) & ~rows.is_text.any(axis=0)
        if not numeric.any() or not line.is_text[numeric].all():
            return
        name = shown(str(line.texts[np.argmax(numeric)]))
        raise UnreadableError(
            f"has text in its first line ({name!r}) above numbers; leave out header=False (--header no) to read it as "
            "column names."
        )


def _judge_mixed(line: _Cells, rows: _Cells) -> FirstLine:
    """Judge a line with more numbers than texts: it is a sample if one of the texts stands below it, too."""
    for column in np.flatnonzero(line.is_text):
        if line.texts[column] in rows.texts[:, column]:
            reason = f"{shown(str(line.texts[column]))!r} stands below it, too"
            note = f"The first line was read as a sample, since {reason}; --header yes reads it as column names."
            return _noted(False, note)
    numbers = line.numbers[~np.isnan(line.numbers)]
    if len(numbers) < _LEAST_COLUMNS or _direction(numbers):
        return FirstLine(True)
    return _noted(True, "The first line was read as column names; --header no reads it as a sample.")


def _why_names(line: _Cells, rows: _Cells) -> str | None:
    """Return why a line of numbers is unlike the rows below it; None if it may be one of them."""
    indices = np.arange(len(line.texts))
    if len(indices) > 1 and any(np.array_equal(line.texts, (indices + start).astype(str)) for start in (0, 1)):
        return "its numbers count the columns"
    if not len(rows.numbers):
        return None
    if len(rows.numbers) >= _LEAST_COLUMNS and (rows.is_text.all(axis=0) & ~line.missing).any():
        return "it has a number above a column of text"
    named = ~line.missing
    first, below = line.numbers[named], rows.numbers[:, named]
    if len(first) < _LEAST_COLUMNS or not np.isfinite(first).all():
        return None
    if reason := _why_in_order(first, below):
        return reason
    if len(below) < 5 or len(np.unique(first)) < len(first) or not _is_whole(first).all():
        return None
    if _chance_of_whole_numbers(below) < 1e-3 and _share_far_outside(first, below) == 1.0:
        return "it has whole numbers above decimals and far from them"
    return None


def _why_in_order(first: NDArray[np.float64], rows: NDArray[np.float64]) -> str | None:
    """Return why numbers that rise or fall are no sample, although rows may rise, too, as cumulative counts do."""
    direction = _direction(first)
    if not direction:
        return None
    if (_is_whole(first) & _are_years(first)).all() and not (np.isnan(rows) | _are_years(rows)).all(axis=1).any():
        return "its numbers are years"
    if len(first) >= 5 and _is_even(first[None])[0] and _is_even(rows).mean() <= 0.1:
        return "its numbers are evenly spaced and those below are not"
    verb = "rise" if direction > 0 else "fall"
    steps = direction * np.diff(rows, axis=1)
    shares = (steps > 0).sum(axis=1) / np.maximum(1, (~np.isnan(steps)).sum(axis=1))
    if (shares == 1.0).mean() > _SIMILAR:
        return None
    if _is_whole(first).all() and _chance_of_whole_numbers(rows) < 0.05:
        return f"its whole numbers {verb} from column to column, above decimals"
    if len(rows) >= 5 and _share_far_outside(first, rows) >= 0.9:
        return f"its numbers {verb} from column to column and lie outside those below"
    if len(first) >= 20 and len(rows) >= 10 and shares.max() <= 0.75:
        return f"its numbers {verb} from column to column and those below do not"
    return None


def _direction(numbers: NDArray[np.float64]) -> int:
    """Return 1 if the numbers rise, −1 if they fall, and 0 otherwise."""
    steps = np.diff(numbers)
    return 1 if (steps > 0).all() else -1 if (steps < 0).all() else 0


def _is_even(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether all steps of each row are nearly the same."""
    steps = np.diff(rows, axis=1)
    mean = steps.mean(axis=1, keepdims=True)
    even: NDArray[np.bool_] = ((np.abs(steps - mean) <= _SPACING * np.abs(mean)) & (mean != 0.0)).all(axis=1)
    return even


def _are_years(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (numbers >= _YEARS[0]) & (numbers <= _YEARS[1])


def _is_whole(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.equal(np.floor(numbers), numbers)


def _chance_of_whole_numbers(rows: NDArray[np.float64]) -> float:
    """Return how probable it is that a row has whole numbers only, by the share of them in each column."""
    known = (~np.isnan(rows)).sum(axis=0)
    return float(np.prod((_is_whole(rows).sum(axis=0) + 1) / (known + 1)))


def _share_far_outside(first: NDArray[np.float64], rows: NDArray[np.float64]) -> float:
    """Return the share of columns in which a number is further from the others than these from each other."""
    filled = ~np.isnan(rows).all(axis=0)
    if not filled.any():
        return 0.0
    first, rows = first[filled], rows[:, filled]
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    gap = np.maximum(first - high, low - first)
    return float(((gap > 0.0) & (gap >= high - low)).mean())
