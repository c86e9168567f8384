"""Recognise tables of counts, such as molecules of genes in cells or words in documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.table import Table
from ufselect.files.values import blocks_of_values, number_by_column, sum_by_column, sum_by_row

_MOST_VALUES = 4_000_000  # a sample of the rows says as much as all of them

_FEWEST_COLUMNS = 20
"""Number of columns below which nothing is recognised: the sum of a few columns is mostly one of them.

Small tables of whole numbers mix units (age, children, price), and their rows have no meaningful sum.
"""

_FEWEST_ZEROS = 0.3
"""Share of zeros in shallow counts. Cells and documents have 58 % or more, but columns of many zeros may be removed."""

_FEWEST_ONES = 0.25
"""Share of ones in the other values of shallow counts: a one is the most frequent thing to count.

Cells and documents have 42 % or more, images 7 % or less: their pixels are either dark or bright. In ratings, with
zeros for what is not rated, a one is the rarest rating.
"""

_LARGEST_OF_A_SCALE = 10
"""Largest value of genotypes, grades and answers in questionnaires, which may have many zeros and ones."""

_LARGEST_COMMON = 20
"""Largest value that may be the most frequent one above 10: counts get rarer as they get larger, in all sets 11 to 13.

Codes for missing answers (99) and ages do not.
"""

_LARGEST_CODE = 9999  # codes for missing answers are at most this

_MOST_ON_OTHER_SCALES = 0.1
"""Share of columns without ones in shallow counts, of those with at least ten positive values.

A column that counts in ones has some, unless it is very frequent; prices, ages and incomes have none. Cells have 0.9 %
or less, 16 of them 8 %.
"""

_FEWEST_POSITIVE = 10  # values by which a column is judged

_LARGEST_OTHER_PART = 0.5
"""Part of the sum of all values in columns without ones, unless it grows with the sums of the other columns.

Cells have 27 % or less; a single column of incomes has nearly all.
"""

_SHARED_DEPTH = 0.5
"""Correlation between the sums of rows by some columns and by others: a deep sample has more of everything.

Cells, documents and microbes have 0.8 or more between rare and frequent columns. Without it a sum means nothing.
"""

_EXPECTED_ABOVE_ONE = 3  # values above 1 that a column would have if it were Poisson, or it is not judged

_MOST_REGULAR = 0.1
"""Share of columns that vary clearly less than a Poisson variable of their mean, or have no value above 1.

Counts vary at least as much as random events do: cells, documents and microbes have no such column. Half of the columns
of flags beside visits are such, and a fifth of clinical grades.
"""

_FEWEST_DEEP_COLUMNS = 100
"""Number of columns below which deep counts are not recognised: columns of a few units could span as much as genes."""

_DEEP_SPAN = 50
"""Ratio of the last and the first decile of the column means of deep counts, such as genes in tissues.

These have few zeros and ones, but the rates of genes span orders of magnitude: simulated tissues have a ratio of 650,
and of 110 without rare genes. Images have 4 or less, unless they are dark at the edges.
"""

_BRIGHTEST_PIXEL = 255
"""Value that the last decile of the column means of deep counts exceeds, and no pixel of a common image does."""

_LARGEST_VARIATION = 1.5
"""Median coefficient of variation of the columns of deep counts: simulated tissues have 0.55, black pixels 2."""

_MOST_LIKE_NEIGHBORS = 0.1
"""By how much neighbouring columns typically correlate more than distant ones.

Genes, words and microbes do by 0.05 or less, common images by 0.5 or more, noisy and very dark ones by 0.17.
"""

_FULL_SCALES = tuple(2**bits - 1 for bits in (10, 12, 14, 16))
"""Values at which the pixels of cameras saturate. They are largest in counts only by chance."""

_MOST_PAIRS, _MOST_ROWS = 50, 300  # pairs of neighbouring columns, and samples, that are looked at


def looks_like_counts(table: Table) -> bool:
    """Return whether the values look like counts that are to be divided by the sum of their row.

    Counts are non-negative whole numbers in columns of one scale: small ones are the most frequent, and columns vary at
    least as much as random events do. If there are few zeros and ones, columns span orders of magnitude and grow with
    the sum of the row. That tells counts from images, flags, ratings, genotypes, coded answers and tables of several
    units, none of which is recognised. Missing values are ignored.

    Parameters
    ----------
    table : Table
        Without infinite values.

    Returns
    -------
    bool
        False if in doubt: a table that is taken for counts is transformed.
    """
    if table.shape[1] < _FEWEST_COLUMNS:
        return False
    sample = _some_rows(table.X)
    if not _are_whole(sample) or not (_are_shallow(sample) or _are_deep(sample)):
        return False
    return _vary_as_counts(sample) and not _are_images(sample) and _are_whole(table.X)


def share_of_zeros(table: Table) -> float:
    """Return the share of zeros in the values that are not missing."""
    n_missing = number_by_column(table.X, np.isnan).sum()
    n_others = number_by_column(table.X, lambda values: (values < 0) | (values > 0)).sum()
    n_values = table.shape[0] * table.shape[1] - n_missing
    return float(1.0 - n_others / n_values) if n_values else 0.0


def _some_rows(X: Any) -> Any:
    n_values = X.nnz if sp.issparse(X) else X.size
    return X[:: -(-n_values // _MOST_VALUES)] if n_values > _MOST_VALUES else X


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
    return _typical_correlation(some, near) - _typical_correlation(some, far) > _MOST_LIKE_NEIGHBORS


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


def _typical_correlation(some: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Return the median absolute correlation between centred columns, in pairs: some groups of genes stand together."""
    lengths = np.linalg.norm(some, axis=0) * np.linalg.norm(others, axis=0)
    products = np.abs(np.sum(some * others, axis=0))
    return float(np.median(products[lengths > 0] / lengths[lengths > 0])) if lengths.any() else 0.0
