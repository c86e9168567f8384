"""The columns of a table: numbers as a matrix, others as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from ufselect._utils.wording import listed
from ufselect.columns.tabular import is_missing


@dataclass(frozen=True)
class TableColumns:
    """Numeric columns as a matrix of floats, NaN if missing, other columns as arrays, and the order of all of them."""

    X: npt.NDArray[Any]
    names: tuple[str, ...]
    others: dict[str, npt.NDArray[Any]]
    order: tuple[str, ...]


def columns_of(X: Any) -> TableColumns:
    """Return the columns of a data frame or of a two-dimensional array."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return _columns_of_frame(X)
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    array = check_array(X, dtype=None if kind in "biufc" else object, ensure_all_finite=False, ensure_min_samples=2)
    names = tuple(f"x{column}" for column in range(array.shape[1]))
    if array.dtype.kind in "biuf":
        return TableColumns(_as_floats(array), names, {}, names)
    return _sorted_out(names, list(array.T))


def _columns_of_frame(X: Any) -> TableColumns:
    names = unique_names([str(name) for name in X.columns])
    if len(X) < 2:
        raise ValueError(f"Found array with {len(X)} sample(s) while a minimum of 2 is required.")
    if all(getattr(dtype, "kind", "O") in "iuf" and isinstance(dtype, np.dtype) for dtype in X.dtypes):
        return TableColumns(_as_floats(X.to_numpy()), names, {}, names)
    return _sorted_out(names, [X[name].to_numpy() for name in X.columns])


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names; raise an error if one occurs twice."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"X has several columns named {listed(repeated, quoted=True)}; names must be unique.")
    return tuple(names)


def _sorted_out(names: tuple[str, ...], columns: list[npt.NDArray[Any]]) -> TableColumns:
    numbers: dict[str, npt.NDArray[Any]] = {}
    others: dict[str, npt.NDArray[Any]] = {}
    for name, column in zip(names, columns, strict=True):
        values = _numbers(column)
        if values is None:
            others[name] = column
        else:
            numbers[name] = values
    X = np.column_stack(list(numbers.values())) if numbers else np.empty((len(columns[0]), 0))
    return TableColumns(_as_floats(X), tuple(numbers), others, names)


def _numbers(column: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return the values of a column as floats if all of them are numbers, or else None."""
    if column.dtype.kind in "iufm":
        return column if column.dtype.kind != "m" else column / np.timedelta64(1, "s")
    if column.dtype.kind != "O":
        return None
    values = [None if is_missing(value) else value for value in column.tolist()]
    known = [value for value in values if value is not None]
    if not known or not all(isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) for value in known):
        return None
    return np.array([np.nan if value is None else float(value) for value in values])


def _as_floats(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return X.astype(np.float32 if X.dtype.kind == "f" and X.dtype.itemsize <= 4 else np.float64, copy=False)
