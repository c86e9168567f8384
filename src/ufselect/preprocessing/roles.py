"""Decide what each column of a table is, without labels: from its name and its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._utils.wording import percent
from ufselect.preprocessing.encoding import Levels

_MOST_LEVELS = 50


class Role(StrEnum):
    """What a column of a table is."""

    numeric = "numeric"
    amount = "amount"
    category = "category"
    id = "id"
    date = "date"
    text = "text"
    incomplete = "incomplete"
    constant = "constant"
    copy = "copy"

    @property
    def is_feature(self) -> bool:
        """Whether columns of this role are features."""
        return self in (Role.numeric, Role.amount, Role.category)


@dataclass(frozen=True)
class ColumnRole:
    """What a column of a table is, and why; the reason of a feature may be empty."""

    name: str
    role: Role
    reason: str = ""

    @property
    def is_feature(self) -> bool:
        """Whether the column is a feature: a number, an amount or a category."""
        return self.role.is_feature


def column_roles(
    X: npt.NDArray[Any],
    names: Sequence[str],
    others: Mapping[str, npt.NDArray[Any]],
    *,
    roles: Mapping[str, str] | None = None,
    keep: Sequence[str] | None = None,
    max_missing: float = 0.5,
) -> dict[str, ColumnRole]:
    """Return the role of each numeric column, then of each of the others."""
    found = _roles_of_numbers(X, names, max_missing) | {
        name: _role_of_others(name, values, max_missing) for name, values in others.items()
    }
    for name, role in (roles or {}).items():
        found[name] = ColumnRole(name, Role(role), "requested")
    for name in keep or ():
        if not found[name].is_feature:
            found[name] = ColumnRole(name, Role.category if name in others else Role.numeric, "requested")
    return found


def _roles_of_numbers(X: npt.NDArray[Any], names: Sequence[str], max_missing: float) -> dict[str, ColumnRole]:
    missing = np.isnan(X).mean(axis=0)
    constant = np.fmin.reduce(X, axis=0) == np.fmax.reduce(X, axis=0)
    found = {}
    for name, share, same in zip(names, missing.tolist(), constant.tolist(), strict=True):
        if share > max_missing:
            found[name] = ColumnRole(name, Role.incomplete, f"{percent(share)} missing")
        elif same:
            found[name] = ColumnRole(name, Role.constant, "constant")
        else:
            found[name] = ColumnRole(name, Role.numeric)
    return found


def _role_of_others(name: str, values: npt.NDArray[Any], max_missing: float) -> ColumnRole:
    if values.dtype.kind == "M":
        return ColumnRole(name, Role.date, "dates")
    levels = Levels.of(values)
    share = float(np.mean(levels.codes < 0))
    if share > max_missing:
        return ColumnRole(name, Role.incomplete, f"{percent(share)} missing")
    if len(levels.names) < 2:
        return ColumnRole(name, Role.constant, "constant")
    if len(levels.names) <= _MOST_LEVELS:
        return ColumnRole(name, Role.category)
    return ColumnRole(name, Role.text, f"{len(levels.names):,} different values")
