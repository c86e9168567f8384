"""Columns that are nearly copies of others, even if values are missing or one is a number and the other a category."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float, Indices, Mask
from ufselect.preprocessing.encoding import Levels
from ufselect.preprocessing.number_summary import NumberSummary, summary_of
from ufselect.redundancy import redundancy_of

_SLACK = 10.0  # 1 − |r| of two sketches is at most ten times that of the columns, up to a chance of 10⁻²⁰
_TILE = 2048
_TILE_OF_PAIRS = 256
_LEAST_OVERLAP = 0.5  # share of the samples in which the values of both columns have to be known
_MOST_OPERATIONS = 5e11  # beyond, columns with missing values are compared with the mean in their place
_LEAST_VARIANCE = 1e-9  # of the known values of both, in units of that of all
_LARGEST_RANGE = 1000  # of whole numbers that may be the codes of a category
_LEAST_ASSOCIATION = 0.9  # Cramér's V, since categories with one frequent level agree in most samples by chance

Columns = Callable[[Indices], Float]


@dataclass(frozen=True)
class Numbers:
    """Some columns of a matrix."""

    X: npt.NDArray[np.floating]
    index: Indices
    names: Sequence[str]
    summary: NumberSummary


def near_copies(
    numbers: Numbers, categories: Mapping[str, Levels], above: float, keep: frozenset[str]
) -> dict[str, tuple[str, str]]:
    """Return which columns say the same as another that stays, which one that is, and how, as the end of a phrase.

    Of near copies, the one with the fewest missing values stays, then the one that ``redundant_columns`` would choose.
    """
    flags = {name: levels for name, levels in categories.items() if len(levels.names) == 2}
    found = _copies_of_numbers(numbers, flags, above, keep)
    codes = [_Codes(name, levels.codes, False) for name, levels in categories.items() if len(levels.names) > 2]
    if codes:
        summary = numbers.summary
        few = (summary.whole & (summary.largest - summary.smallest <= _LARGEST_RANGE))[numbers.index]
        whole = [(numbers.names[j], numbers.X[:, j]) for j in numbers.index[few].tolist()]
        codes += [_Codes.of_numbers(name, column) for name, column in whole if name not in found]
        found |= _copies_of_categories([each for each in codes if len(each.counts) > 2], above, keep)
    return found


def _copies_of_numbers(
    numbers: Numbers, flags: Mapping[str, Levels], above: float, keep: frozenset[str]
) -> dict[str, tuple[str, str]]:
    """Compare columns of numbers, and categories of two levels as zeros and ones, by correlation."""
    X, summary, own = numbers.X, numbers.summary, numbers.index
    indicators = [np.where(levels.codes < 0, np.nan, levels.codes) for levels in flags.values()]
    as_numbers = np.column_stack(indicators) if flags else np.empty((len(X), 0))
    of_flags = summary_of(as_numbers)
    n_missing = np.concatenate([summary.n_missing[own], of_flags.n_missing])
    sketch = np.concatenate([summary.sketch[own], of_flags.sketch])
    called = [*(numbers.names[j] for j in own.tolist()), *flags]

    def columns(index: Indices) -> Float:
        is_number = index < len(own)
        parts = [X[:, own[index[is_number]]], as_numbers[:, index[~is_number] - len(own)]]
        return np.hstack([part.astype(np.float64) for part in parts])

    is_large = 12.0 * len(X) * np.count_nonzero(n_missing) * len(called) > _MOST_OPERATIONS
    alike = _with_similar_sketch(sketch, (n_missing == 0) | is_large, above)
    pairs = [] if is_large else _pairs_by_known_values(columns, len(X), n_missing, above)
    for pair in pairs:
        alike[list(pair)] = True
    index = np.flatnonzero(alike)
    if not len(index):
        return {}
    place = {column: number for number, column in enumerate(index.tolist())}
    known = [(place[first], place[second]) for first, second in pairs]
    some = [called[j] for j in index.tolist()]
    filled = _filled(columns(index), n_missing[index], known, some)
    kept = np.flatnonzero([name in keep for name in some])
    result = redundancy_of(filled, above, kept, some, 1, 0, n_missing[index])
    return {
        some[copy]: (some[result.representative_of[copy]], f", r = {_shown(result.correlations[copy])}")
        for copy in np.flatnonzero(result.representative_of != np.arange(len(some))).tolist()
    }


def _with_similar_sketch(sketch: npt.NDArray[np.float32], usable: Mask, above: float) -> Mask:
    """Return which columns without missing values may correlate by so much with another one."""
    index = np.flatnonzero(usable & sketch.any(axis=1))
    unit = sketch[index] / np.linalg.norm(sketch[index], axis=1, keepdims=True)
    least = 1.0 - _SLACK * (1.0 - above) - 1e-5
    found = np.zeros(len(sketch), dtype=np.bool_)
    for start in range(0, len(index), _TILE):
        for other in range(start, len(index), _TILE):
            cosines = np.abs(unit[start : start + _TILE] @ unit[other : other + _TILE].T)
            if start == other:
                np.fill_diagonal(cosines, -1.0)
            for first, largest in ((start, cosines.max(axis=1)), (other, cosines.max(axis=0))):
                found[index[first : first + len(largest)][largest >= least]] = True
    return found


def _pairs_by_known_values(columns: Columns, n: int, n_missing: Indices, above: float) -> list[tuple[int, int]]:
    """Return the pairs of columns that correlate by so much where both are known, and one has missing values."""
    pairs: list[tuple[int, int]] = []
    some, d = np.flatnonzero((n_missing > 0) & (n_missing < n)), len(n_missing)
    for start in range(0, len(some), _TILE_OF_PAIRS):
        first = some[start : start + _TILE_OF_PAIRS]
        Z, M = _standardized(columns(first))
        for other in range(0, d, _TILE_OF_PAIRS):
            second = np.arange(other, min(other + _TILE_OF_PAIRS, d))
            r = np.abs(_correlations_of_known(Z, M, *_standardized(columns(second))))
            for i, j in zip(*np.nonzero(r >= above), strict=True):
                if first[i] < second[j] or (first[i] > second[j] and n_missing[second[j]] == 0):
                    pairs.append((int(first[i]), int(second[j])))
    return pairs


def _standardized(values: Float) -> tuple[Float, Float]:
    """Return columns with mean 0 and variance 1, zero where they are missing, and where they are known."""
    known = ~np.isnan(values)
    values[~known] = 0.0
    count = np.maximum(known.sum(axis=0), 1)
    values -= values.sum(axis=0) / count
    values[~known] = 0.0
    size = np.abs(values).max(axis=0)
    values /= np.where(size > 0.0, size, 1.0)  # so that no square overflows
    lengths = np.sqrt(np.sum(values * values, axis=0) / count)
    return values / np.where(lengths > 0.0, lengths, 1.0), known.astype(np.float64)


def _correlations_of_known(Z: Float, M: Float, W: Float, N: Float) -> Float:
    """Return the correlations of the columns of Z and W over samples where both are known; zero if these are few."""
    count = M.T @ N
    enough = count >= _LEAST_OVERLAP * len(Z)
    count = np.maximum(count, 1.0)
    sums, other_sums = Z.T @ N / count, M.T @ W / count
    covariance = Z.T @ W / count - sums * other_sums
    variances = ((Z * Z).T @ N / count - sums**2, M.T @ (W * W) / count - other_sums**2)
    enough &= np.minimum(*variances) > _LEAST_VARIANCE
    return np.divide(covariance, np.sqrt(np.abs(np.multiply(*variances))), out=np.zeros_like(count), where=enough)


def _filled(values: Float, n_missing: Indices, pairs: Sequence[tuple[int, int]], names: Sequence[str]) -> Float:
    """Replace missing values by what copies say, those with fewer of them first, or else by the mean."""
    order = sorted(range(len(names)), key=lambda column: (n_missing[column], names[column]))
    place = {column: number for number, column in enumerate(order)}
    copies: dict[int, list[int]] = {column: [] for column in order}
    for i, j in pairs:
        copies[i].append(j)
        copies[j].append(i)
    filled = values.copy()
    for column in order:
        missing, own = np.isnan(values[:, column]), filled[:, column]
        said_by = sorted(copies[column], key=lambda j: place[j])
        for source in [*(values[:, j] for j in said_by), *(filled[:, j] for j in said_by if place[j] < place[column])]:
            rows = np.isnan(own) & ~np.isnan(source)
            if rows.any():
                own[rows] = _predicted(source, values[:, column], ~missing & ~np.isnan(source), rows)
        own[np.isnan(own)] = values[~missing, column].mean()
    return filled


def _predicted(x: Float, y: Float, known: Mask, rows: Mask) -> Float:
    """Return y in some rows, by a line through known values of both."""
    dx, dy = x[known] - x[known].mean(), y[known] - y[known].mean()
    x_unit, y_unit = np.abs(dx).max(), np.abs(dy).max()  # so that no square overflows
    slope = (dx / x_unit) @ (dy / y_unit) / np.sum((dx / x_unit) ** 2)
    return np.asarray(y[known].mean() + y_unit * slope * ((x[rows] - x[known].mean()) / x_unit))


def _shown(r: float) -> str:
    return f"{r:.6f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class _Codes:
    """The different values of a column as 0, 1, …, −1 if missing."""

    name: str
    values: Indices
    is_number: bool

    @classmethod
    def of_numbers(cls, name: str, column: npt.NDArray[np.floating]) -> _Codes:
        missing = np.isnan(column)
        values = np.full(len(column), -1)
        values[~missing] = np.unique(column[~missing], return_inverse=True)[1]
        return cls(name, values, True)

    @cached_property
    def counts(self) -> Indices:
        return np.sort(np.bincount(self.values[self.values >= 0]))[::-1]

    @property
    def n_missing(self) -> int:
        return len(self.values) - int(self.counts.sum())

    def says_the_same(self, other: _Codes, above: float) -> bool:
        """Whether both are known in most samples and divide nearly all of them into the same groups."""
        n, missing = len(self.values), self.n_missing + other.n_missing
        length = max(len(self.counts), len(other.counts))
        sizes = [np.pad(each.counts, (0, length - len(each.counts))) for each in (self, other)]
        if np.abs(sizes[0] - sizes[1]).sum() > 2.0 * (1.0 - above) * n + missing:
            return False
        known = (self.values >= 0) & (other.values >= 0)
        total = int(known.sum())
        if total < _LEAST_OVERLAP * n:
            return False
        width = len(other.counts)
        table = np.bincount(self.values[known] * width + other.values[known], minlength=len(self.counts) * width)
        table = table.reshape(-1, width).astype(np.float64)
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        table, rows, columns = table[rows > 0][:, columns > 0], rows[rows > 0], columns[columns > 0]
        if min(table.shape) < 2 or min(table.max(axis=0).sum(), table.max(axis=1).sum()) < above * total:
            return False
        association = (np.sum(table**2 / np.outer(rows, columns)) - 1.0) / (min(table.shape) - 1)
        return bool(association >= _LEAST_ASSOCIATION**2)


def _copies_of_categories(columns: Sequence[_Codes], above: float, keep: frozenset[str]) -> dict[str, tuple[str, str]]:
    """Compare categories with each other and with whole numbers, by the groups into which they divide the samples."""
    order = sorted(columns, key=lambda each: (each.name not in keep, each.n_missing, each.is_number, each.name))
    stay: list[_Codes] = []
    found = {}
    for column in order:
        others = (each for each in stay if not (each.is_number and column.is_number))
        same = next((each for each in others if column.says_the_same(each, above)), None)
        if same is None or column.name in keep:
            stay.append(column)
        else:
            found[column.name] = same.name, ": the same groups"
    return found
