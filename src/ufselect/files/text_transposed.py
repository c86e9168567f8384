"""Text files whose rows are features, turned so that rows are samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ufselect.files.table import RaggedError, UnreadableError
from ufselect.files.text_dialect import Dialect, Records
from ufselect.files.text_records import TextFile

_VALUES = 400_000  # values per block


@dataclass(frozen=True)
class TransposedFile:
    """The values of a text file, read like a file that holds its transpose."""

    path: Path
    dialect: Dialect
    fields: list[str]
    values: Any
    has_labels: bool = True  # the first row holds the labels of the samples
    has_names: bool = True  # the first column holds names, even if they look like numbers
    first_is_data: bool = False

    def blocks(self, *, after_header: bool) -> Iterator[Any]:
        """Yield Arrow arrays of strings, each with the values of some samples one after another."""
        n_features = len(self.fields)
        n_columns = len(self.values) // n_features
        starts = np.arange(n_features) * n_columns
        step = max(1, _VALUES // n_features)
        for start in range(int(after_header), n_columns, step):
            samples = np.arange(start, min(start + step, n_columns))
            yield self.values.take((samples[:, None] + starts).ravel())


def transposed(file: Records, has_labels: bool) -> TransposedFile:
    """Read a whole file and transpose it; its text stays in memory."""
    try:
        values = _all_values(file, has_labels)
    except RaggedError as error:
        if not (has_labels and error.is_one_name_short and isinstance(file, TextFile)):
            raise
        file = replace(file, fields=["", *file.fields])
        values = _all_values(file, has_labels)
        if values[len(file.fields) - 1 :: len(file.fields)].null_count == len(values) // len(file.fields) - 1:
            raise error from None  # each row ends with a delimiter too many
    names = values.take(np.arange(0, len(values), len(file.fields))).to_pylist()
    return TransposedFile(file.path, file.dialect, [name or "" for name in names], values, has_labels)


def _all_values(file: Records, has_labels: bool) -> Any:
    """Return all values of a file, sample labels included, row by row."""
    import pyarrow as pa

    labels = [pa.array([field or None for field in file.fields], pa.large_string())] if has_labels else []
    parts = [part.cast(pa.large_string()) for part in file.blocks(after_header=has_labels)]
    if not parts:
        raise UnreadableError("has a header but no rows.")
    return pa.concat_arrays([*labels, *parts])
