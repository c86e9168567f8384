"""The columns of a table: numbers as a matrix, others as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from ufselect._utils.types import Float
from ufselect._utils.wording import listed, shown
from ufselect.columns.tabular import is_missing
from ufselect.preprocessing.encoding import Levels


@dataclass(frozen=True)
class TableColumns:
    """Numeric columns as a matrix of floats, NaN if missing, other columns as arrays, and the order of all of them."""

    X: npt.NDArray[Any]
    names: tuple[str, ...]
    others: dict[str, npt.NDArray[Any]]
    order: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.X.size:
            return
        infinite = np.isinf(np.fmin.reduce(self.X, axis=0)) | np.isinf(np.fmax.reduce(self.X, axis=0))
        if infinite.any():
            names = [self.names[j] for j in np.flatnonzero(infinite)]
            raise ValueError(f"X contains infinity in {listed(names, quoted=True)}; replace these values beforehand.")

    def values(self, name: str) -> npt.NDArray[Any]:
        """Return the values of a column."""
        return self.others[name] if name in self.others else self.X[:, self.names.index(name)]

    def renamed(self, names: Sequence[str]) -> TableColumns:
        """Return the columns under other names, in the same order."""
        new = dict(zip(self.order, names, strict=True))
        others = {new[name]: values for name, values in self.others.items()}
        return TableColumns(self.X, tuple(new[name] for name in self.names), others, tuple(names))

    def with_numbers(self, numbers: Mapping[str, Float]) -> TableColumns:
        """Return the columns with some of the others as numbers."""
        if not numbers:
            return self
        X = np.column_stack([self.X, *numbers.values()]).astype(self.X.dtype, copy=False)
        others = {name: values for name, values in self.others.items() if name not in numbers}
        return TableColumns(X, (*self.names, *numbers), others, self.order)


def columns_of(X: Any, fewest: int = 1) -> TableColumns:
    """Return the columns of a data frame or of a two-dimensional array."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return _columns_of_frame(X, fewest)
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    dtype = None if kind in "biufc" else object
    array = check_array(X, dtype=dtype, ensure_all_finite=False, ensure_min_samples=fewest)
    names = tuple(f"x{column}" for column in range(array.shape[1]))
    if array.dtype.kind in "iuf":
        return TableColumns(_as_floats(array), names, {}, names)
    return _sorted_out(names, list(array.T))


def _columns_of_frame(X: Any, fewest: int) -> TableColumns:
    names = unique_names([str(name) for name in X.columns])
    for count, least, what in ((len(X), fewest, "sample"), (len(names), 1, "feature")):
        if count < least:
            raise ValueError(f"Found a table with {count} {what}(s) while a minimum of {least} is required.")
    dtypes = list(X.dtypes)
    if dtypes and all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in dtypes):
        return TableColumns(_as_floats(X.to_numpy()), names, {}, names)
    columns = [X[name] for name in X.columns]
    is_category = [str(dtype).lower().startswith("categor") for dtype in dtypes]
    return _sorted_out(
        names, [_texts(each) if flag else each.to_numpy() for each, flag in zip(columns, is_category, strict=True)]
    )


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names; raise an error if one occurs twice."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"X has several columns named {listed(repeated, quoted=True)}; names must be unique.")
    return tuple(names)


def numbers_of(name: str, values: npt.NDArray[Any], levels: Levels) -> Float:
    """Return the values of a column as numbers, dates as days; raise an error if they are none."""
    if values.dtype.kind == "M":
        return np.asarray((values - np.datetime64(0, "D")) / np.timedelta64(1, "D"))
    numbers = levels.numbers
    if numbers is None and levels.names:
        raise ValueError(
            f"Column '{shown(name)}' is to be numeric, but has values such as {shown(levels.names[-1])!r}."
        )
    return np.full(len(values), np.nan) if numbers is None else numbers


def _texts(column: Any) -> npt.NDArray[Any]:
    """Return a categorical column of a data frame as text, since its levels may be numbers."""
    return np.array([None if is_missing(value) else str(value) for value in column], dtype=object)


def _sorted_out(names: tuple[str, ...], columns: list[npt.NDArray[Any]]) -> TableColumns:
    numbers: dict[str, npt.NDArray[Any]] = {}
    others: dict[str, npt.NDArray[Any]] = {}
    for name, column in zip(names, columns, strict=True):
        values = _numbers(name, column)
        if values is None:
            others[name] = column
        else:
            numbers[name] = values
    X = np.column_stack(list(numbers.values())) if numbers else np.empty((len(columns[0]) if columns else 0, 0))
    return TableColumns(_as_floats(X), tuple(numbers), others, names)


def _numbers(name: str, column: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return the values of a column as floats if all of them are numbers, or else None."""
    if column.dtype.kind == "m":
        return np.asarray(column / np.timedelta64(1, "s"))
    if column.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column '{shown(name)}'.")
    if column.dtype.kind in "iuf":
        return column
    if column.dtype.kind != "O" or str in set(map(type, column)):
        return None
    values = [None if is_missing(value) else value for value in column.tolist()]
    known = [value for value in values if value is not None]
    if not known or not all(isinstance(value, Number) and not isinstance(value, (bool, np.bool_)) for value in known):
        return None
    return np.array([np.nan if value is None else float(value) for value in values])


def _as_floats(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return X.astype(np.float32 if X.dtype.kind == "f" and X.dtype.itemsize <= 4 else np.float64, copy=False)
