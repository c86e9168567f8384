"""Recognise columns of whole numbers that may be codes, such as segments of customers or clusters of cells."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.table import Table, dense_block

_FEWEST_VALUES, _MOST_VALUES = 3, 20
"""Number of different values of a code. With two values, it makes no difference whether a column is a code."""

_SAMPLES_PER_VALUE = 10
"""Number of samples for each value, on average: of few samples, any column has few different values."""

_FEWEST_TIMES, _LEAST_SHARE_OF_MEAN = 5, 0.15
"""How often the rarest value occurs, and how often compared with the mean of all values.

Numbers of children or of visits, grades, rare words and the pixels at the border of an image have rare values.
"""

_LARGEST_SHARE_OF_SUCH, _MOST_CODES = 0.25, 10
"""Share of the columns with so many whole numbers, and number of codes; if there are more, all data are of this kind.

That, and at most half of the columns if those with one or two values count as well, tells tables with a few codes from
genotypes, indicators, questionnaires, words and images.
"""

_MOST_ON_ONE_SCALE = 2
"""Number of columns with the same values; more of them are answers on one scale."""

_MOST_SAMPLED, _FEWEST_ROWS, _MOST_ROWS = 1_000_000, 20, 1000


def codes_among(table: Table) -> dict[str, int]:
    """Return the columns that may be codes rather than quantities, and how many different values each has.

    A code has from 3 to 20 different values, all of them whole numbers and none of them rare. It is reported only if
    most of the other columns are not of this kind. Missing values are ignored.

    Parameters
    ----------
    table : Table
        Without infinite values.

    Returns
    -------
    dict of str to int
        Empty if in doubt: whether a column is a code is for people to decide, and they are asked.

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
    if n < _FEWEST_VALUES * _SAMPLES_PER_VALUE or d == 0:
        return {}
    sampled = _numbers_of_values(_some_rows(table.X))
    n_few = np.count_nonzero((sampled > 0) & (sampled <= _MOST_VALUES))
    such = np.flatnonzero((sampled >= _FEWEST_VALUES) & (sampled <= _MOST_VALUES))
    if 2 * n_few > d or len(such) > max(1, _LARGEST_SHARE_OF_SUCH * d):
        return {}
    found = {j: values for j in such.tolist() if (values := _code_values(table.X, j))}
    codes = _without_scales(found)
    return {table.names[j]: len(values) for j, values in codes.items()} if len(codes) <= _MOST_CODES else {}


def _some_rows(X: Any) -> NDArray[Any]:
    """Return rows at equal distances, as many as are sorted in no time."""
    n, d = X.shape
    count = min(max(_MOST_SAMPLED // d, _FEWEST_ROWS), _MOST_ROWS)
    rows = (X.tocsr() if sp.issparse(X) else X)[:: -(-n // count)]
    return rows.toarray() if sp.issparse(rows) else rows


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
    if not _FEWEST_VALUES <= len(different) <= _MOST_VALUES or np.any(different > np.floor(different)):
        return ()
    mean = len(values) / len(different)
    is_code = mean >= _SAMPLES_PER_VALUE and times.min() >= max(_FEWEST_TIMES, _LEAST_SHARE_OF_MEAN * mean)
    return tuple(different.tolist()) if is_code else ()


def _without_scales(found: dict[int, tuple[float, ...]]) -> dict[int, tuple[float, ...]]:
    times = Counter(found.values())
    return {j: values for j, values in found.items() if times[values] <= _MOST_ON_ONE_SCALE}
