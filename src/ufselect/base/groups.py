"""Groups of columns that are selected or left out as a whole, such as the indicators of a category."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ufselect._utils.types import Indices
from ufselect._utils.wording import shown
from ufselect.columns.tabular import as_mask, column_indices, is_missing

_PREFIX = "prefix:"


@dataclass(frozen=True, eq=False)
class ColumnGroups:
    """The group of every column, by number in the order of first appearance, and the names of the groups."""

    codes: Indices = field(repr=False)
    names: Sequence[str]

    @classmethod
    def of(cls, groups: Any, n_columns: int, names: Sequence[str] | None) -> ColumnGroups | None:
        """Check the groups that a user gives; return a result of this as it is. Columns in no group are alone."""
        if groups is None:
            return None
        if isinstance(groups, cls):
            labels: Sequence[Any] = groups.codes.tolist()
        elif isinstance(groups, str):
            labels = prefixes(groups, names)
        elif isinstance(groups, Mapping):
            labels = _mapped(groups, n_columns, names)
        else:
            labels = _labels(groups)
        if len(labels) != n_columns:
            raise ValueError(f"groups has {len(labels)} labels, but X has {n_columns} columns.")
        if isinstance(groups, cls):
            return groups
        numbers: dict[Any, int] = {}
        # A column that is alone differs from every group, also from one of its own name.
        keys = [(column,) if label is None else label for column, label in enumerate(labels)]
        codes = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
        called = [f"x{column}" for column in range(n_columns)] if names is None else names
        return cls(codes, [str(called[key[0]] if isinstance(key, tuple) else key) for key in numbers])

    def __len__(self) -> int:
        return len(self.names)

    def with_members_of(self, columns: Indices) -> Indices:
        """Return all columns of the groups of some columns."""
        return np.flatnonzero(np.isin(self.codes, self.codes[columns]))

    def count(self, columns: Indices) -> int:
        """Return of how many groups some columns are."""
        return len(np.unique(self.codes[columns]))

    def first(self, order: Indices, count: int) -> Indices:
        """Return the columns of the groups that come first in an order of all columns."""
        some = list(dict.fromkeys(self.codes[order].tolist()))[:count]
        return order[np.isin(self.codes[order], some)]

    def replacing_names(self, given: Iterable[Any], names: Sequence[str] | None) -> Any:
        """Return columns that a user gives, with masks in place of the names of groups."""
        columns = given if hasattr(given, "ndim") else list(given)
        if as_mask(columns) is not None:
            return columns
        known = set(names or ())
        numbers = {name: code for code, name in enumerate(self.names) if name not in known}
        return [self.codes == numbers[each] if isinstance(each, str) and each in numbers else each for each in columns]


def prefixes(text: str, names: Sequence[str] | None, parameter: str = "groups") -> list[str | None]:
    """Return what stands before a separator in the name of each column; None where there is nothing."""
    separator = text.removeprefix(_PREFIX)
    if separator == text or not separator:
        raise ValueError(f'{parameter}={text!r} must be "prefix:" with the end of the prefix, such as "prefix:=".')
    if names is None:
        raise ValueError(f"{parameter}={text!r} needs a name for each column, but the columns of X have no names.")
    if not any(name.find(separator) > 0 for name in names):
        raise ValueError(f"{parameter}={text!r} finds no group: no column has {separator!r} within its name.")
    return [name.partition(separator)[0] if name.find(separator) > 0 else None for name in names]


def _mapped(groups: Mapping[Any, Any], n_columns: int, names: Sequence[str] | None) -> list[Any]:
    """Return the label of each column by a mapping; None of those that it does not name."""
    labels: list[Any] = [None] * n_columns
    try:
        columns = [int(column_indices([column], n_columns, names)[0]) for column in groups]
    except ValueError as error:
        raise ValueError(f"groups: {error}") from None
    for column, label in zip(columns, groups.values(), strict=True):
        labels[column] = _checked(label, f"column {shown(str(names[column]))!r}" if names else f"column {column}")
    return labels


def _labels(groups: Any) -> list[Any]:
    """Return one label for each column, as given in a sequence."""
    if not isinstance(groups, Iterable) or isinstance(groups, (set, frozenset)) or getattr(groups, "ndim", 1) != 1:
        raise ValueError(f'groups must be one label for each column, a mapping or "prefix:=", got {groups!r}.')
    return [_checked(label, f"column {column}") for column, label in enumerate(groups)]


def _checked(label: Any, column: str) -> Any:
    if not isinstance(label, Hashable) or isinstance(label, (tuple, frozenset)):
        raise ValueError(f"groups: the label of {column} must be a text or a number, got {shown(repr(label))}.")
    if is_missing(label):
        raise ValueError(f"groups: the label of {column} is missing.")
    return label
