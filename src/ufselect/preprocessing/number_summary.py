"""What the values of numeric columns say about them, in one pass over the matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float, Indices, Mask

N_DIRECTIONS = 16
_BLOCK = 4_000_000  # values in float64 at the same time


@dataclass(frozen=True)
class NumberSummary:
    """Statistics of the values of each column that are not missing.

    ``sketch`` has the standardised columns, zero where missing, along a few random directions of length √n on average:
    the cosine of two sketches estimates a correlation.
    """

    n_missing: Indices
    smallest: Float
    largest: Float
    deviation: Float
    whole: Mask
    sketch: npt.NDArray[np.float32]

    @property
    def constant(self) -> Mask:
        """Which columns have one value or none."""
        return ~(self.smallest < self.largest)


def summary_of(X: npt.NDArray[np.floating]) -> NumberSummary:
    """Summarise the columns of a matrix that may have missing values."""
    n, d = X.shape
    directions = np.random.default_rng(0).standard_normal((n, N_DIRECTIONS))
    n_missing, whole = np.empty(d, dtype=np.intp), np.empty(d, dtype=np.bool_)
    smallest, largest, deviation = np.full((3, d), np.nan)
    sketch = np.zeros((d, N_DIRECTIONS), dtype=np.float32)
    for columns in column_blocks(n, d):
        values = X[:, columns].astype(np.float64)
        missing = np.isnan(values)
        n_missing[columns] = missing.sum(axis=0)
        smallest[columns], largest[columns] = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        whole[columns] = ((values == np.rint(values)) | missing).all(axis=0)
        some = n_missing[columns] > 0
        if some.any():
            values[missing] = 0.0
        known = np.maximum(n - n_missing[columns], 1)
        values -= values.sum(axis=0) / known
        if some.any():
            values[missing] = 0.0
        size = np.abs(values).max(axis=0)
        size[size == 0.0] = 1.0
        values /= size  # so that no square overflows
        lengths = np.sqrt(np.sum(values * values, axis=0))
        deviation[columns] = size * lengths / np.sqrt(known)
        lengths[lengths == 0.0] = 1.0
        sketch[columns] = (values.T @ directions) / lengths[:, None]
    return NumberSummary(n_missing, smallest, largest, deviation, whole, sketch)


def column_blocks(n: int, d: int) -> Iterator[slice]:
    """Yield slices of columns with a bounded number of values each."""
    width = max(16, _BLOCK // max(1, n))
    return (slice(start, min(start + width, d)) for start in range(0, d, width))


def known_values(column: npt.NDArray[np.floating]) -> Float:
    """Return the values that are not missing."""
    values = column.astype(np.float64)
    return np.asarray(values[~np.isnan(values)])
