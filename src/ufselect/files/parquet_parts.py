"""Several Parquet files as one table that is read in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect._utils.wording import shortened
from ufselect.files.formats import file_format
from ufselect.files.read import check_file, errors_named
from ufselect.files.read_parquet import features_of, floats, precision_of
from ufselect.files.table import UnreadableError

_FEWEST_BYTES = 2**26  # of a part, unless a file is smaller


@dataclass(frozen=True)
class Part:
    """Some row groups of a file, unread."""

    path: Path
    groups: tuple[int, ...]
    n_rows: int

    def read(self, names: Sequence[str], dtype: Any) -> NDArray[Any]:
        """Return some columns as a matrix."""
        from pyarrow import parquet

        with errors_named(self.path), parquet.ParquetFile(self.path) as file:
            table = file.read_row_groups(list(self.groups), columns=list(names), use_threads=False)
            X = np.empty((self.n_rows, len(names)), dtype=dtype)
            for index, name in enumerate(names):
                X[:, index] = floats(table.column(name))
        return X


@dataclass(frozen=True)
class ParquetParts:
    """The numeric columns of Parquet files with the same columns, and the parts to read them in.

    Parameters
    ----------
    parts : tuple of Part
        In the order of the files' names.
    names : tuple of str
        Names of the numeric columns.
    dtype : dtype
        float32 if all of them are, else float64.
    reasons : dict
        Why other columns are no features, by name.
    n_files : int
        Number of files.
    """

    parts: tuple[Part, ...]
    names: tuple[str, ...]
    dtype: Any
    reasons: dict[str, str]
    n_files: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of numeric columns."""
        return sum(part.n_rows for part in self.parts), len(self.names)


def parquet_parts(pattern: str | Path, *, aside: Sequence[str] = ()) -> ParquetParts:
    """Look at Parquet files without reading their values.

    Parameters
    ----------
    pattern : path
        A file, a folder, or a pattern such as ``parts/*.parquet``.
    aside : sequence of str, default=()
        Names of columns that are not features, even if they are numeric.

    Returns
    -------
    ParquetParts

    Raises
    ------
    OSError
        If there is no such file, or one cannot be opened.
    ValueError
        If a file cannot be read, or differs from the first one in its columns.
    """
    paths = paths_matching(Path(pattern))
    first = _Contents.of(paths[0], aside)
    parts = list(first.parts)
    for path in paths[1:]:
        other = _Contents.of(path, aside)
        _check_alike(path, other, paths[0], first)
        parts += other.parts
    if not any(part.n_rows for part in parts):
        raise ValueError(f"{pattern} has columns but no rows.")
    return ParquetParts(tuple(parts), first.names, first.dtype, first.reasons, len(paths))


def paths_matching(pattern: Path) -> list[Path]:
    """Return the Parquet files that match a pattern or are in a folder, in the order of their names.

    Raises
    ------
    OSError
        If there is none.
    ValueError
        If one has another format.
    """
    if pattern.is_dir():
        pattern = pattern / "*.parquet"
    paths = sorted(Path(found) for found in glob(str(pattern))) if has_magic(str(pattern)) else [pattern]
    if not paths:
        raise FileNotFoundError(f"No file matches {pattern}.")
    for path in paths:
        if file_format(path) != "parquet":
            raise ValueError(f"{path} is not a Parquet file; only Parquet files are read together or in parts.")
    return paths


@dataclass(frozen=True)
class _Contents:
    """What the footer of a file says."""

    names: tuple[str, ...]
    dtype: Any
    reasons: dict[str, str]
    parts: list[Part]

    @classmethod
    def of(cls, path: Path, aside: Sequence[str]) -> _Contents:
        from pyarrow import parquet

        check_file(path)
        with errors_named(path), parquet.ParquetFile(path) as file:
            names, reasons = features_of(file.schema_arrow, aside)
            if not names:
                raise UnreadableError("has no numeric column.")
            dtype = precision_of(file.schema_arrow, names)
            lengths = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
            row_bytes = len(names) * np.dtype(dtype).itemsize
            return cls(tuple(names), dtype, reasons, _parts(path, lengths, -(-_FEWEST_BYTES // row_bytes)))


def _parts(path: Path, lengths: Sequence[int], fewest_rows: int) -> list[Part]:
    """Join row groups that follow each other until they have enough rows."""
    parts: list[Part] = []
    groups: list[int] = []
    n_rows = 0
    for group, length in enumerate(lengths):
        groups.append(group)
        n_rows += length
        if n_rows >= fewest_rows or group == len(lengths) - 1:
            parts.append(Part(path, tuple(groups), n_rows))
            groups, n_rows = [], 0
    return parts


def _check_alike(path: Path, other: _Contents, first_path: Path, first: _Contents) -> None:
    """Raise an error if a file has other numeric columns than the first one, or in another precision."""
    expected, found = set(first.names), set(other.names)
    missing = [name for name in first.names if name not in found]
    if expected != found:
        name = shortened(missing[0] if missing else next(name for name in other.names if name not in expected))
        difference = f"no numeric column {name!r}" if missing else f"a column {name!r}"
        raise ValueError(f"{path} has {difference}, unlike {first_path}; all files must have the same columns.")
    if other.dtype != first.dtype:
        raise ValueError(f"{path} and {first_path} differ in precision; all files must have the same types.")
