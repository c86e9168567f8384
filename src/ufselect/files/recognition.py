"""Recognise counts, such as molecules of genes in cells, and whole numbers that may be codes of groups."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.table import Table, dense_block
from ufselect.files.values import blocks_of_values, number_by_column, sum_by_column, sum_by_row

# Counts. The figures are of the public sets: single cells, documents, microbes and simulated tissues against images,
# ratings, genotypes, questionnaires and tables of several units.

_MOST_VALUES = 4_000_000  # rows are sampled beyond this
_FEWEST_COLUMNS = 20  # the sum of few columns is mostly one of them, and small tables mix units
_FEWEST_ZEROS = 0.3  # cells and documents have 58 % or more, but columns of many zeros may have been removed
_FEWEST_ONES = 0.25  # of the positive values; cells and documents have 42 % or more, images 7 % or less
_LARGEST_OF_A_SCALE = 10  # genotypes, grades and answers may have many zeros and ones, too
_LARGEST_COMMON = 20  # most frequent value above a scale; 11 to 13 in all sets, unlike ages and codes such as 99
_LARGEST_CODE = 9999  # codes for missing answers are at most this
_MOST_ON_OTHER_SCALES = 0.1  # columns without ones: cells have 0.9 % or less, 16 of them 8 %; prices and ages all
_FEWEST_POSITIVE = 10  # values by which a column is judged
_LARGEST_OTHER_PART = 0.5  # of the sum in columns without ones: cells have 27 % or less, incomes nearly all
_SHARED_DEPTH = 0.5  # correlation of row sums over some columns and over others; 0.8 or more for counts
_EXPECTED_ABOVE_ONE = 3  # values above 1 that a column would have if it were Poisson, or it is not judged
_MOST_REGULAR = 0.1  # columns that vary less than a Poisson variable: none in counts, half of flags, a fifth of grades
_FEWEST_DEEP_COLUMNS = 100  # columns of a few units could span as much as genes
_DEEP_SPAN = 50  # ratio of the deciles of column means; 110 or more for genes in tissues, 4 or less for images
_BRIGHTEST_PIXEL = 255
_LARGEST_VARIATION = 1.5  # median coefficient of variation of deep counts; 0.55 for tissues, 2 for black pixels
_MOST_LIKE_NEIGHBORS = 0.1  # excess correlation of neighbours; 0.05 or less for counts, 0.17 or more for images
_FULL_SCALES = tuple(2**bits - 1 for bits in (10, 12, 14, 16))  # at which pixels of cameras saturate
_MOST_PAIRS, _MOST_ROWS = 50, 300  # of neighbouring columns, and samples, that are compared

# Codes. Numbers of children or of visits, grades, rare words and pixels at the border of an image have rare values.

_FEWEST_CODES, _MOST_CODES = 3, 20  # different values; of two values, it makes no difference
_SAMPLES_PER_CODE = 10  # on average: of few samples, any column has few different values
_FEWEST_TIMES, _LEAST_SHARE_OF_MEAN = 5, 0.15  # how often the rarest value occurs, also relative to the mean
_LARGEST_SHARE_CODED, _MOST_COLUMNS_CODED = 0.25, 10  # more of them are genotypes, questionnaires, words or images
_MOST_ON_ONE_SCALE = 2  # more columns with the same values are answers on one scale
_MOST_SORTED, _FEWEST_ROWS_SORTED, _MOST_ROWS_SORTED = 1_000_000, 20, 1000


def looks_like_counts(table: Table) -> bool:
    """Return whether finite values look like counts that are to be divided by the sum of their row; no if in doubt.

    Counts are non-negative whole numbers in columns of one scale: small ones are the most frequent, and columns vary at
    least as much as random events do. If there are few zeros and ones, columns span orders of magnitude and grow with
    the sum of the row. That tells counts from images, flags, ratings, genotypes, coded answers and tables of several
    units, none of which is recognised. Missing values are ignored.
    """
    if table.shape[1] < _FEWEST_COLUMNS:
        return False
    n_values = table.X.nnz if sp.issparse(table.X) else table.X.size
    sample = table.X[:: -(-n_values // _MOST_VALUES)] if n_values > _MOST_VALUES else table.X
    if not _are_whole(sample) or not (_are_shallow(sample) or _are_deep(sample)):
        return False
    return _vary_as_counts(sample) and not _are_images(sample) and _are_whole(table.X)


def share_of_zeros(table: Table) -> float:
    """Return the share of zeros in the values that are not missing."""
    n_missing = number_by_column(table.X, np.isnan).sum()
    n_others = number_by_column(table.X, lambda values: (values < 0) | (values > 0)).sum()
    n_values = table.shape[0] * table.shape[1] - n_missing
    return float(1.0 - n_others / n_values) if n_values else 0.0


def _are_whole(X: Any) -> bool:
    return not number_by_column(X, lambda values: (values < 0) | (values > np.floor(values))).any()


def _are_shallow(X: Any) -> bool:
    """Whether most values are zero or one, a few are much larger, and all columns are on one scale."""
    n, d = X.shape
    n_missing, n_positive = number_by_column(X, np.isnan).sum(), number_by_column(X, lambda values: values > 0).sum()
    if n_positive == 0 or n_positive + n_missing > (1.0 - _FEWEST_ZEROS) * n * d:
        return False
    n_ones = number_by_column(X, lambda values: values == 1).sum()
    return bool(n_ones >= _FEWEST_ONES * n_positive and _get_rarer(X) and _are_on_one_scale(X))


def _get_rarer(X: Any) -> bool:
    """Whether values exceed those of grades and answers, and the most frequent of these is one of the smallest."""
    numbers = np.zeros(_LARGEST_CODE + 1, dtype=np.int64)
    for values in blocks_of_values(X):
        large = values[(values > _LARGEST_OF_A_SCALE) & (values <= _LARGEST_CODE)]
        numbers += np.bincount(large.astype(np.int64), minlength=len(numbers))
    return bool(numbers.any() and np.argmax(numbers) <= _LARGEST_COMMON)


def _are_on_one_scale(X: Any) -> bool:
    """Whether nearly all columns have ones, and the sums of rows are not those of the others."""
    positive = number_by_column(X, lambda values: values > 0)
    has_zeros = positive + number_by_column(X, np.isnan) < X.shape[0]
    has_ones = number_by_column(X, lambda values: values == 1) > 0
    has_more = number_by_column(X, lambda values: values > 1) > 0
    if np.count_nonzero(has_zeros & has_ones & has_more) < _FEWEST_COLUMNS:
        return False
    judged = positive >= _FEWEST_POSITIVE
    others = judged & ~has_ones
    if np.count_nonzero(others) > _MOST_ON_OTHER_SCALES * np.count_nonzero(judged):
        return False
    sums = sum_by_column(X)
    is_small = sums[others].sum() <= _LARGEST_OTHER_PART * sums.sum()
    return bool(is_small or _depth_is_shared(X, ~others, others.astype(np.float64)))


def _depth_is_shared(X: Any, some: NDArray[np.bool_], weights: NDArray[np.float64]) -> bool:
    """Whether the sums of rows over some columns correlate with weighted sums over others."""
    sums = sum_by_row(X, some.astype(np.float64)), sum_by_row(X, weights)
    if min(np.ptp(each) for each in sums) == 0:
        return False
    return bool(np.corrcoef(*sums)[0, 1] >= _SHARED_DEPTH)


def _vary_as_counts(X: Any) -> bool:
    """Whether hardly any column varies less than a Poisson variable of its mean."""
    n = X.shape[0]
    means = sum_by_column(X) / n
    variances = sum_by_column(X, 2) / n - means**2
    judged = n * (1.0 - np.exp(-means) * (1.0 + means)) >= _EXPECTED_ABOVE_ONE
    # Of n Poisson values, variance and mean have a ratio of 1 with a standard error of √(2/n).
    regular = variances < (1.0 - 2.0 * np.sqrt(2.0 / n)) * means
    regular |= number_by_column(X, lambda values: values > 1) == 0
    return bool(np.count_nonzero(regular & judged) <= _MOST_REGULAR * np.count_nonzero(judged))


def _are_deep(X: Any) -> bool:
    """Whether columns span orders of magnitude and grow together."""
    n, d = X.shape
    means = sum_by_column(X) / n
    varying = means > 0
    if d < _FEWEST_DEEP_COLUMNS or np.count_nonzero(varying) < _FEWEST_DEEP_COLUMNS:
        return False
    low, middle, high = np.quantile(means[varying], [0.1, 0.5, 0.9])
    deviations = np.sqrt(np.maximum(sum_by_column(X, 2) / n - means**2, 0.0))
    variation = np.median(deviations[varying] / means[varying])
    spread = high >= _DEEP_SPAN * low and high > _BRIGHTEST_PIXEL and variation <= _LARGEST_VARIATION
    if not spread:
        return False
    frequent = varying & (means >= middle)
    alike = np.divide(1.0, means, out=np.zeros(d), where=frequent)
    return _depth_is_shared(X, varying & ~frequent, alike)


def _are_images(X: Any) -> bool:
    """Whether pixels are saturated, or neighbouring columns are more alike than distant ones."""
    if np.nanmax(X.data if sp.issparse(X) else X) in _FULL_SCALES:
        return True
    columns = np.flatnonzero(sum_by_column(X))
    first = np.unique(np.linspace(0, len(columns) - 2, _MOST_PAIRS).astype(np.intp))
    some, near, far = (
        _some_values(X, columns[(first + step) % len(columns)]) for step in (0, 1, 1 + len(columns) // 2)
    )
    (of_near, error), (of_far, other_error) = (_typical_correlation(some, others) for others in (near, far))
    return of_near - of_far > _MOST_LIKE_NEIGHBORS + np.hypot(error, other_error)


def _some_values(X: Any, columns: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return some columns of a sample of the rows, centred."""
    rows = slice(None, None, -(-X.shape[0] // _MOST_ROWS))
    if not sp.issparse(X):
        values = X[rows, columns]
    elif X.format == "csr":
        values = X[rows][:, columns].toarray()
    else:
        values = np.hstack([X[:, [column]].toarray()[rows].copy() for column in columns])
    values = np.nan_to_num(values.astype(np.float64))
    return np.asarray(values - values.mean(axis=0))


def _typical_correlation(some: NDArray[np.float64], others: NDArray[np.float64]) -> tuple[float, float]:
    """Return the median absolute correlation of pairs of centred columns, and its standard error.

    It is the median because some groups of genes stand together.
    """
    lengths = np.linalg.norm(some, axis=0) * np.linalg.norm(others, axis=0)
    products = np.abs(np.sum(some * others, axis=0))
    found = products[lengths > 0] / lengths[lengths > 0]
    if not len(found):
        return 0.0, 0.0
    return float(np.median(found)), 1.25 * float(np.std(found)) / np.sqrt(len(found))  # √(π/2) σ/√n


def codes_among(table: Table) -> dict[str, int]:
    """Return the columns that may be codes rather than quantities, and how many different values each has.

    A code has from 3 to 20 different values, all of them whole numbers and none of them rare. It is reported only if
    most of the other columns are not of this kind. Missing values are ignored, infinite ones must not occur. None is
    reported if in doubt: whether a column is a code is for people to decide, and they are asked.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from ufselect.files import Table, codes_among
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=(200, 3)), rng.integers(1, 11, 200)])
    >>> codes_among(Table(X, ("width", "height", "depth", "segment"), {}, {}, None, Path("parts.csv")))
    {'segment': 10}
    """
    n, d = table.shape
    if n < _FEWEST_CODES * _SAMPLES_PER_CODE or d == 0:
        return {}
    count = min(max(_MOST_SORTED // d, _FEWEST_ROWS_SORTED), _MOST_ROWS_SORTED)  # rows that are sorted in no time
    rows = (table.X.tocsr() if sp.issparse(table.X) else table.X)[:: -(-n // count)]
    sampled = _numbers_of_values(rows.toarray() if sp.issparse(rows) else rows)
    n_few = np.count_nonzero((sampled > 0) & (sampled <= _MOST_CODES))
    such = np.flatnonzero((sampled >= _FEWEST_CODES) & (sampled <= _MOST_CODES))
    if 2 * n_few > d or len(such) > max(1, _LARGEST_SHARE_CODED * d):
        return {}
    found = {j: values for j in such.tolist() if (values := _code_values(table.X, j))}
    times = Counter(found.values())
    codes = {j: values for j, values in found.items() if times[values] <= _MOST_ON_ONE_SCALE}
    return {table.names[j]: len(values) for j, values in codes.items()} if len(codes) <= _MOST_COLUMNS_CODED else {}


def _numbers_of_values(rows: NDArray[Any]) -> NDArray[np.intp]:
    """Return the number of different values of every column; 0 if some of them are not whole, or all are missing."""
    known = ~np.isnan(rows)
    whole = ~((rows > np.floor(rows)) & known).any(axis=0)
    in_order = np.sort(rows, axis=0)  # missing values come last
    steps = np.count_nonzero(in_order[1:] > in_order[:-1], axis=0)
    return np.where(whole & known.any(axis=0), steps + 1, 0)


def _code_values(X: Any, column: int) -> tuple[float, ...]:
    """Return the values of a column if it looks like a code; nothing otherwise."""
    values = dense_block(X, slice(None), np.array([column]))[:, 0]
    values = values[~np.isnan(values)]
    different, times = np.unique(values, return_counts=True)
    if not _FEWEST_CODES <= len(different) <= _MOST_CODES or np.any(different > np.floor(different)):
        return ()
    mean = len(values) / len(different)
    is_code = mean >= _SAMPLES_PER_CODE and times.min() >= max(_FEWEST_TIMES, _LEAST_SHARE_OF_MEAN * mean)
    return tuple(different.tolist()) if is_code else ()
