"""Recognise tables of counts, such as molecules of genes in cells or words in documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.table import Table
from ufselect.files.values import number_by_column

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

_FEWEST_IN_COUNTED_COLUMNS = 0.5
"""Share of the positive values in columns with both zeros and values above 1. Indicators of categories have none."""

_FEWEST_DEEP_COLUMNS = 100
"""Number of columns below which deep counts are not recognised: columns of a few units could span as much as genes."""

_DEEP_SPAN = 100
"""Ratio of the last and the first decile of the positive values of deep counts, such as genes in tissues.

These have few zeros and ones, but the rates of genes span orders of magnitude: simulated tissues have a ratio of 400,
and of 140 without rare genes. Images have 30 or less.
"""

_BRIGHTEST_PIXEL = 255
"""Value that the last decile of deep counts exceeds, and no pixel of a common image does."""


def looks_like_counts(table: Table) -> bool:
    """Return whether the values look like counts that are to be divided by the sum of their row.

    Counts are non-negative whole numbers, and small ones are by far the most frequent. That tells them from images,
    indicators, ratings, genotypes and tables of whole numbers in several units, of which none is recognised. Missing
    values are ignored.

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
    return _are_whole(sample) and (_are_shallow(sample) or _are_deep(sample)) and _are_whole(table.X)


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
    """Whether most values are zero or one, and a few are much larger."""
    n, d = X.shape
    missing, positive = number_by_column(X, np.isnan), number_by_column(X, lambda values: values > 0)
    n_positive = positive.sum()
    if n_positive == 0 or n_positive + missing.sum() > (1.0 - _FEWEST_ZEROS) * n * d:
        return False
    with_zeros = positive + missing < n
    counted = with_zeros & (number_by_column(X, lambda values: values > 1) > 0)
    n_ones = number_by_column(X, lambda values: values == 1).sum()
    return bool(
        n_ones >= _FEWEST_ONES * n_positive
        and positive[counted].sum() >= _FEWEST_IN_COUNTED_COLUMNS * n_positive
        and number_by_column(X, lambda values: values > _LARGEST_OF_A_SCALE)[with_zeros].any()
    )


def _are_deep(X: Any) -> bool:
    """Whether positive values span orders of magnitude."""
    values: NDArray[Any] = X.data if sp.issparse(X) else X
    positive = values[values > 0]
    if X.shape[1] < _FEWEST_DEEP_COLUMNS or not len(positive):
        return False
    low, high = np.quantile(positive, [0.1, 0.9])
    return bool(high >= _DEEP_SPAN * low and high > _BRIGHTEST_PIXEL)
