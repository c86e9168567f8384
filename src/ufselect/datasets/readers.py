"""Files of samples and classes, read by ``ufselect.files``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._utils.wording import listed, shortened
from ufselect.datasets.content import Dataset, dataset_from
from ufselect.files import Table, read_table
from ufselect.files.errors import check_file
from ufselect.files.reading import read_arrays
from ufselect.files.registry import format_of, known_format

CLASS_COLUMNS = ("y", "class", "label", "target")
SUFFIXES = tuple(suffix for name in ("npz", "mat", "csv") for suffix in format_of(f"x.{name}").suffixes)
FORMATS = (
    ".npz with arrays X (samples × features) and y, or data, indices, indptr and shape for sparse X",
    ".mat (up to v7) with X and Y, or fea and gnd",
    f".csv or .csv.gz with a header and a column of classes named {', '.join(CLASS_COLUMNS[:-1])} or target",
)
_ARRAY_NAMES = {".npz": (("X", "y"),), ".mat": (("X", "Y"), ("X", "y"), ("fea", "gnd"))}


def read_file(path: Path) -> Dataset:
    """Read samples and classes from a file.

    Parameters
    ----------
    path : Path
        The suffix gives the format, see ``FORMATS``. Nothing is ever unpickled.

    Returns
    -------
    Dataset
        Named after the file, without the suffix.

    Raises
    ------
    OSError
        If the file cannot be opened or is not a regular file.
    ValueError
        If it does not hold samples and classes. The message names the file and the cause.
    """
    suffix = checked_suffix(path)
    stored = read_arrays(path) if suffix in (".npz", ".mat") else read_table(path)
    try:
        if isinstance(stored, Table):
            X, labels = _features_and_classes(stored)
        else:
            X, labels = _arrays_named(stored, _ARRAY_NAMES[suffix])
        return dataset_from(path.name[: -len(suffix)], X, labels)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as samples and classes: {error}.") from error


def checked_suffix(path: Path) -> str:
    """Return the suffix of a file if it can be read, else raise an error that says why it cannot."""
    if (suffix := known_suffix(path)) is None:
        raise ValueError(f"{path} has an unknown suffix; supported are {'; '.join(FORMATS)}.")
    check_file(path)
    return suffix


def known_suffix(path: Path) -> str | None:
    """Return the suffix that gives the format of a file, or None if datasets are not read from such files."""
    known = known_format(path)
    suffix = known.suffix_of(path) if known else None
    return suffix if suffix in SUFFIXES else None


def _arrays_named(arrays: Mapping[str, Any], pairs: tuple[tuple[str, str], ...]) -> tuple[Any, Any]:
    """Return the samples and the classes, by the first pair of names that is there."""
    for names in pairs:
        if all(name in arrays for name in names):
            if objects := [name for name in names if arrays[name] is None]:
                raise ValueError(f"{objects[0]} holds Python objects, which are never unpickled")
            return arrays[names[0]], arrays[names[1]]
    wanted = " or ".join(" and ".join(names) for names in pairs)
    raise ValueError(f"it has no arrays {wanted}, only {listed(sorted(arrays), quoted=True) or 'nothing'}")


def _features_and_classes(table: Table) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the numeric columns without the column of classes, and that column."""
    columns = [*table.names, *table.aside]
    found = [name for name in columns if name.strip().casefold() in CLASS_COLUMNS]
    if len(found) != 1:
        wanted = " or ".join(CLASS_COLUMNS)
        raise ValueError(
            f"one column must be named {wanted}, but {len(found)} are; its columns are {listed(columns, quoted=True)}"
        )
    for name, reason in table.reasons.items():
        if name != found[0]:
            raise ValueError(f"column {shortened(name)!r} is not numeric ({reason})")
    if found[0] in table.aside:
        return table.X, _stripped(table.aside[found[0]])
    index = table.names.index(found[0])
    return np.delete(table.X, index, axis=1), table.X[:, index]


def _stripped(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return text labels without blanks around them, None if nothing is left."""
    if labels.dtype != object:
        return labels
    return np.array([(label or "").strip() or None for label in labels], dtype=object)
