"""The columns that go from a table into a file."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ufselect.files.formats import known_format
from ufselect.files.table import Table, unused_name


def comes_from(table: Table, name: str) -> bool:
    """Whether the table was read from a file of this format."""
    known = known_format(table.path)
    return known is not None and known.name == name


def columns_aside(table: Table, features_apart: bool = False) -> dict[str, NDArray[Any]]:
    """Return the columns set aside by the names that they get in a file.

    These differ from the names of features, unless the file keeps features apart.
    """
    columns: dict[str, NDArray[Any]] = {}
    features = set() if features_apart else set(table.names)
    taken = set(table.aside) | features
    if comes_from(table, "h5ad") and table.samples is not None:
        columns[unused_name("obs_names", taken, "_1")] = table.samples
    for name, values in table.aside.items():
        columns[unused_name(name, taken, "_obs") if name in features else name] = values
    return columns
