"""Conversions between Arrow and NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.table import LARGEST_INTEGER, dense_block, in_working_precision, row_blocks


def text_array(column: Any) -> NDArray[Any]:
    """Return the strings of an Arrow array, equal ones shared, None for nulls."""
    coded = column.dictionary_encode()
    different = np.empty(len(coded.dictionary) + 1, dtype=object)
    different[:-1] = coded.dictionary.to_pylist()
    return different[coded.indices.fill_null(len(different) - 1).to_numpy(zero_copy_only=False)]


def object_array(values: list[Any]) -> NDArray[Any]:
    """Return a one-dimensional array of objects, even if the values are lists."""
    array = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):
        array[index] = value
    return array


def arrow_column(values: NDArray[Any]) -> Any:
    """Return the Arrow array of a column set aside; values without an Arrow type become text."""
    import pyarrow as pa

    if values.dtype.kind == "f":
        return pa.array(values.astype(np.float32 if values.dtype.itemsize == 2 else values.dtype), from_pandas=True)
    try:
        return pa.array(values.tolist() if values.dtype.kind in "OUS" else values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array(as_texts(values), pa.string())


def as_texts(values: NDArray[Any]) -> list[str | None]:
    """Return each value as text, None if it is missing."""
    if values.dtype.kind == "M":
        return [None if text == "NaT" else text for text in np.datetime_as_string(values).tolist()]
    texts = (value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values.tolist())
    return [None if text is None or text != text else str(text) for text in texts]


def number_column(values: NDArray[Any], whole: bool) -> Any:
    """Return the Arrow array of a numeric column, null for NaN; of integers if ``whole``."""
    import pyarrow as pa

    if not whole:
        return pa.array(values, from_pandas=True)
    missing = np.isnan(values)
    return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)


def whole_numbers(X: Any, columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each of these columns holds only integers, none of them too large or a negative zero."""
    whole = np.ones(len(columns), dtype=bool)
    for rows in row_blocks((X.shape[0], len(columns))):
        block = dense_block(X, rows, columns)
        fine = (block == np.rint(block)) & (np.abs(block) < LARGEST_INTEGER) & ~((block == 0) & np.signbit(block))
        whole &= (fine | np.isnan(block)).all(axis=0)
    return whole


def written_numbers(values: NDArray[Any]) -> Any:
    """Return the Arrow array that is written to a text file for a column set aside."""
    if values.dtype.kind != "f":
        return arrow_column(values)
    values = in_working_precision(values)
    return number_column(values, bool(whole_numbers(values[:, None], np.array([0]))[0]))
