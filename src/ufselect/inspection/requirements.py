"""What a selection was required to meet: the costs of its columns, and a record."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ufselect._utils.types import Float, Mask
from ufselect.base import BaseSelector
from ufselect.base.groups import ColumnGroups
from ufselect.base.requirements import ColumnRequirements
from ufselect.base.screening import keep_exclude_of
from ufselect.columns.moments import column_extremes, column_spreads
from ufselect.columns.tabular import column_names


def requirements_of(selector: BaseSelector) -> tuple[ColumnRequirements | None, ColumnGroups | None]:
    """Return the requirements of a fitted selector in numbers, and its groups."""
    if getattr(selector, "requirements", None) is None:
        return None, None
    d, names = selector.n_features_in_, column_names(None, selector)
    groups = keep_exclude_of(selector, d, names).groups
    return ColumnRequirements.of(selector.requirements, d, names, groups), groups


def costs_of(selector: BaseSelector) -> Float | None:
    """Return what each column costs, None if a fitted selector has no costs.

    The best column of a group has the cost of the group, and the others have NaN.
    """
    required, groups = requirements_of(selector)
    costs = None if required is None else required.unit_costs(None if groups is None else groups.codes)
    if costs is None or groups is None:
        return costs
    best = np.argsort(selector.ranking_, kind="stable")
    codes, first = np.unique(groups.codes[best], return_index=True)
    found = np.full(len(best), np.nan)
    found[best[first]] = costs[codes]
    return found


def within_limits(X: Any, required: ColumnRequirements) -> Mask:
    """Return which columns of X lie within all limits, by the values that are not missing."""
    found = _statistics(X)
    incomplete = [] if sp.issparse(X) else np.flatnonzero(np.isnan(found["mean"])).tolist()
    for column in incomplete:
        values = X[:, [column]]
        for name, (value,) in _statistics(values[~np.isnan(values[:, 0])]).items():
            found[name][column] = value
    return required.within_limits(found, X.shape[1])


def _statistics(X: Any) -> dict[str, Float]:
    """Return the statistics of columns that may be limited."""
    mean, deviation = column_spreads(X)
    low, high = column_extremes(X)
    nonzero = (X != 0).sum(axis=0) / X.shape[0]
    return {"mean": mean, "deviation": deviation, "min": low, "max": high, "nonzero": nonzero}


def recorded_requirements(selector: BaseSelector) -> dict[str, Any] | None:
    """Return the requirements of a fitted selector in words and numbers, without those of single columns."""
    required, _ = requirements_of(selector)
    if required is None:
        return None
    of_families = {"at_most": (required.at_most, np.inf), "at_least": (required.at_least, 0)}
    quotas = {
        name: [
            f"{family}={count:g}" for family, count in zip(required.family_names, counts, strict=True) if count != none
        ]
        for name, (counts, none) in of_families.items()
    }
    limits = [
        f"{name}={'' if low is None else f'{low:g}'}:{'' if high is None else f'{high:g}'}"
        for name, (low, high) in required.limits.items()
    ]
    found = {
        "of_columns": [
            name for name in ("costs", "families", "weights", "positions") if getattr(required, name) is not None
        ],
        "budget": required.budget,
        "cost": getattr(selector, "cost_", None),
        **quotas,
        "limits": limits,
        "min_distance": required.min_distance,
    }
    return {name: value for name, value in found.items() if value is not None and value != []}
