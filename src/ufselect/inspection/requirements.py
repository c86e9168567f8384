"""What a selection was required to meet: the costs of its columns, and a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ufselect._utils.types import Float, Mask
from ufselect.base import BaseSelector
from ufselect.base.requirements import ColumnRequirements, Requirements
from ufselect.base.screening import keep_exclude_of
from ufselect.columns.moments import column_statistics
from ufselect.columns.tabular import column_names


def budget_of(selector: BaseSelector) -> float | None:
    """Return what the selected columns may cost together; None if there is no budget."""
    given = getattr(selector, "requirements", None)
    return given.get("budget") if isinstance(given, Mapping) else getattr(given, "budget", None)


def costs_of(selector: BaseSelector) -> Float | None:
    """Return what each column costs, None if a fitted selector has no costs.

    The best column of a group has the cost of the group, and the others have NaN.
    """
    _, _, groups, required = keep_exclude_of(selector, selector.n_features_in_, column_names(None, selector))
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
    found = column_statistics(X, required.limits)
    incomplete = [] if sp.issparse(X) else np.flatnonzero(np.isnan(X).any(axis=0)).tolist()
    for column in incomplete:
        values = X[:, [column]]
        for name, (value,) in column_statistics(values[~np.isnan(values[:, 0])], required.limits).items():
            found[name][column] = value
    return required.within_limits(found, X.shape[1])


def recorded_requirements(selector: BaseSelector) -> dict[str, Any] | None:
    """Return the requirements of a fitted selector in words and numbers, without those of single columns."""
    required = keep_exclude_of(selector, selector.n_features_in_, column_names(None, selector)).requirements
    if required is None:
        return None
    of_families = {"at_most": (required.at_most, np.inf), "at_least": (required.at_least, 0)}
    quotas = {
        name: [
            f"{family}={count:g}" for family, count in zip(required.family_names, counts, strict=True) if count != none
        ]
        for name, (counts, none) in of_families.items()
    }
    given = selector.requirements
    of_all = given if isinstance(given, ColumnRequirements) else Requirements.of(given)
    limits = [
        f"{name}={'' if low is None else f'{low:g}'}:{'' if high is None else f'{high:g}'}"
        for name, (low, high) in (of_all.limits or {}).items()
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
