"""How the values of columns are distributed, in a few numbers that a small file can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect._utils.seeds import some_samples
from ufselect.files.table import dense_block

QUANTILES, VALUES, CATEGORIES = KINDS = ("quantiles", "values", "categories")
_SHARES = np.arange(21) / 20
_MOST_VALUES, _FEWEST_EACH = 20, 5  # different numbers that are counted one by one, and of each on average
_MOST_CATEGORIES = 50
_DIGITS = 6, 17  # of quantiles; all of them if fewer would make two equal
_MOST_SUMMARIZED, _FEWEST_ROWS = 20_000_000, 10_000
_BLOCK = 4_000_000  # values per block


@dataclass(frozen=True)
class ColumnSummary:
    """How the values of a column are distributed.

    Attributes
    ----------
    kind : {"quantiles", "values", "categories"}
        What the points are: every twentieth of the values in ascending order, all different numbers if these are few,
        or the most frequent texts.
    points : tuple of float or of str
        Numbers ascend.
    counts : tuple of int
        Of quantiles, how many values are at most as large as each point and larger than the one before; otherwise how
        many are equal to it.
    n_rows, n_missing : int
        How many rows were looked at, and how many of them have no value.
    ties : tuple of int
        Of quantiles, how many values are equal to each point.
    median : float or None
        Of quantiles only.
    """

    kind: str
    points: tuple[Any, ...]
    counts: tuple[int, ...]
    n_rows: int
    n_missing: int
    ties: tuple[int, ...] = ()
    median: float | None = None

    @property
    def n_values(self) -> int:
        """Number of rows that have a value."""
        return self.n_rows - self.n_missing

    @property
    def n_others(self) -> int:
        """Number of values that are larger than the last quantile, or none of the points."""
        return self.n_values - sum(self.counts)


def summarized(values: NDArray[Any], like: ColumnSummary | None = None) -> ColumnSummary:
    """Return how the values of a column are distributed, or how many there are at the points of another summary.

    Categories that the other summary does not have are counted as well.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.files.summaries import summarized
    >>> summarized(np.repeat([1.0, 0.0, np.nan], [7, 4, 1]))
    ColumnSummary(kind='values', points=(0.0, 1.0), counts=(4, 7), n_rows=12, n_missing=1, ties=(), median=None)
    """
    is_text = values.dtype.kind not in "biuf"
    if like and is_text != (like.kind == CATEGORIES):
        like = None
    if is_text:
        return _of_texts(values, like)
    numbers = np.sort(values.astype(np.float64))
    numbers = numbers[: len(numbers) - int(np.isnan(numbers).sum())]
    sizes = len(values), len(values) - len(numbers)
    kind, points = (like.kind, np.array(like.points)) if like else _points_of(numbers)
    until = np.searchsorted(numbers, points, side="right")
    equal = tuple((until - np.searchsorted(numbers, points, side="left")).tolist())
    if kind == VALUES:
        return ColumnSummary(kind, tuple(points.tolist()), equal, *sizes)
    median = float(np.median(numbers)) if len(numbers) else None
    return ColumnSummary(kind, tuple(points.tolist()), tuple(np.diff(until, prepend=0).tolist()), *sizes, equal, median)


def _points_of(ascending: NDArray[np.float64]) -> tuple[str, NDArray[np.float64]]:
    """Return all different numbers if they are few and frequent, else quantiles with few digits."""
    starts = np.flatnonzero(np.r_[True, ascending[1:] > ascending[:-1]])[: len(ascending)]
    if len(starts) <= min(_MOST_VALUES, len(ascending) / _FEWEST_EACH):
        return VALUES, ascending[starts] + 0.0  # no negative zero
    places = np.maximum(np.ceil(_SHARES * len(ascending)).astype(np.intp) - 1, 0)
    exact = np.unique(ascending[places])
    for digits in _DIGITS:
        rounded = np.unique([float(f"{each:.{digits}g}") for each in exact])
        if len(rounded) == len(exact):
            break
    return QUANTILES, rounded


def _of_texts(values: NDArray[Any], like: ColumnSummary | None) -> ColumnSummary:
    times = Counter(None if each is None or each != each else str(each) for each in values.tolist())
    n_missing = times.pop(None, 0)
    points = tuple(dict.fromkeys([*(like.points if like else ()), *(text for text, _ in _most_frequent(times))]))
    return ColumnSummary(CATEGORIES, points, tuple(times[point] for point in points), len(values), n_missing)


def _most_frequent(times: Counter[str | None]) -> list[tuple[str, int]]:
    in_order = sorted(((str(text), count) for text, count in times.items()), key=lambda each: (-each[1], each[0]))
    return in_order[:_MOST_CATEGORIES]


def summaries_of(
    X: Any, names: Sequence[str], columns: Sequence[int], like: Mapping[str, ColumnSummary] | None = None
) -> dict[str, ColumnSummary]:
    """Return summaries of some columns of a matrix by name; of many values, those of a random sample of the rows."""
    like = like or {}
    most = max(_MOST_SUMMARIZED // max(len(columns), 1), _FEWEST_ROWS)
    return {
        names[column]: summarized(values, like.get(names[column])) for column, values in _columns_of(X, columns, most)
    }


def _columns_of(X: Any, columns: Sequence[int], most: int) -> Iterator[tuple[int, NDArray[Any]]]:
    rows = some_samples(X.shape[0], most, 0)
    if sp.issparse(X):
        X = (X[rows] if len(rows) < X.shape[0] else X).tocsc()
    step = max(1, _BLOCK // max(X.shape[0], 1))
    for start in range(0, len(columns), step):
        some = np.asarray(columns[start : start + step], dtype=np.intp)
        block = dense_block(X, slice(None), some) if sp.issparse(X) else X[np.ix_(rows, some)]
        yield from zip(some.tolist(), block.T, strict=True)
