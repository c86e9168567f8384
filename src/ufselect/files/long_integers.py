"""Integers that a float would change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.table import LARGEST_INTEGER, TOO_LONG, Table, UnreadableError, row_blocks, with_values_aside


def with_long_integers_aside(table: Table, X: NDArray[Any]) -> Table:
    """Return the table without the columns that floats would change, which go aside as they are in X."""
    native = X.dtype.newbyteorder("=")
    return with_values_aside(table, {index: X[:, index].astype(native) for index in _long_columns(X)}, TOO_LONG)


def check_integers_of_sparse(values: NDArray[Any]) -> None:
    """Raise an error if floats would change a value of a sparse matrix, whose columns cannot be told apart yet."""
    changed = values[_changed(values)] if may_be_long(values) else values[:0]
    if len(changed):
        shown = f"such as {changed.flat[0]}"
        raise UnreadableError(f"has integers in a sparse matrix that are too long for a float, {shown}; remove them.")


def may_be_long(values: NDArray[Any]) -> bool:
    """Whether an array has integers beyond 2⁵³, of either sign."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return False
    return max(int(values.max()), -int(values.min())) > LARGEST_INTEGER


def _long_columns(X: NDArray[Any]) -> list[int]:
    if not may_be_long(X):
        return []
    long = np.zeros(X.shape[1], dtype=bool)
    for rows in row_blocks(X.shape):
        long |= _changed(X[rows]).any(axis=0)
    return [int(index) for index in np.flatnonzero(long)]


def _changed(integers: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a float would change each integer; one that is rounded to 2⁶³ or 2⁶⁴ has no way back."""
    floats = integers.astype(np.float64)
    too_large = floats >= 2.0 ** (64 - (integers.dtype.kind == "i"))
    return too_large | (np.where(too_large, 0, floats).astype(integers.dtype) != integers)
