"""Between Arrow's arrays and NumPy's."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def give_memory_back() -> None:
    """Return to the system what Arrow holds ready for its next table; where it was not in use, nothing."""
    if pyarrow := sys.modules.get("pyarrow"):
        pyarrow.default_memory_pool().release_unused()


def texts(column: Any) -> NDArray[Any]:
    """Strings of an Arrow array, equal ones shared, None where there is none."""
    coded = column.dictionary_encode()
    different = np.empty(len(coded.dictionary) + 1, dtype=object)
    different[:-1] = coded.dictionary.to_pylist()
    return different[coded.indices.fill_null(len(different) - 1).to_numpy(zero_copy_only=False)]


def objects(values: list[Any]) -> NDArray[Any]:
    """A one-dimensional array of the values as they are, lists too."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def arrow_column(values: NDArray[Any]) -> Any:
    """The Arrow array of a column that was kept aside; what Arrow has no type for becomes text."""
    import pyarrow as pa

    if values.dtype.kind == "f":
        return pa.array(values.astype(np.float32 if values.dtype.itemsize == 2 else values.dtype), from_pandas=True)
    try:
        return pa.array(values.tolist() if values.dtype.kind in "OUS" else values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array(as_texts(values), pa.string())


def as_texts(values: NDArray[Any]) -> list[str | None]:
    """Every value as text, None where there is none."""
    if values.dtype.kind == "M":
        return [None if text == "NaT" else text for text in np.datetime_as_string(values).tolist()]
    return [None if value is None or value != value else _as_text(value) for value in values.tolist()]


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def number_column(values: NDArray[Any], whole: bool) -> Any:
    """The Arrow array of a column of numbers, null where one is missing; of integers where all are whole numbers."""
    import pyarrow as pa

    if not whole:
        return pa.array(values, from_pandas=True)
    missing = np.isnan(values)
    return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)
