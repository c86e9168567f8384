"""What a selection was required to meet: the costs of its columns, and a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ufselect._utils.types import Float, Mask
from ufselect.base import BaseSelector
from ufselect.base.requirements import ColumnRequirements, Requirements
from ufselect.base.screening import keep_exclude_of
from ufselect.columns.moments import column_statistics
from ufselect.columns.tabular import column_names
from ufselect.inspection.budgets import ChoiceForBudget, budget_curve
from ufselect.inspection.explanation import LearnedStructure, alignment_of_selection

_ROUNDING = 1e-3
_LEAST_RISE = 0.005  # of the alignment, which sentences give with two decimals
_N_BUDGETS_BETWEEN = 12


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


def own_choice(selector: BaseSelector, X: Any) -> ChoiceForBudget | None:
    """Return the choice of a fitted selector; None if it has no costs, or does not choose by the alignment with X."""
    cost, known = getattr(selector, "cost_", None), alignment_of_selection(selector)
    if cost is None or known is None or not selector._takes_weights:
        return None
    selected = selector.get_support(indices=True)
    (alignment,) = LearnedStructure(selector, X).alignments_of([selected]).tolist()
    if abs(alignment - known) > _ROUNDING:  # columns were centred within batches
        return None
    names: Any = selected.tolist()
    if hasattr(selector, "groups_"):
        names = selector.group_names_[np.unique(selector.groups_[selected])].tolist()
    elif (called := column_names(None, selector)) is not None:
        names = [called[column] for column in selected]
    budget = budget_of(selector)
    return ChoiceForBudget(cost if budget is None else budget, cost, len(names), alignment, tuple(names))


def better_choices(selector: BaseSelector, X: Any) -> tuple[list[ChoiceForBudget], int] | None:
    """Return the choice of a fitted selector and those for other budgets that are better than any cheaper one, by cost.

    The number is the place of the first. None if ``own_choice`` is None.
    """
    own = own_choice(selector, X)
    found: list[ChoiceForBudget] = []
    if own is None:
        return None
    for each in sorted([own, *budget_curve(selector, X)], key=lambda each: (each.cost, each is not own)):
        if each is own or each.alignment > max((other.alignment for other in found), default=0.0):
            found.append(each)
    return found, found.index(own)


def next_choice(selector: BaseSelector, X: Any) -> tuple[ChoiceForBudget, ChoiceForBudget] | None:
    """Return the choice within the budget, and the cheapest one above it that is clearly better; None if none is."""
    own = own_choice(selector, X)
    if own is None:
        return None

    def first(choices: Iterable[ChoiceForBudget]) -> ChoiceForBudget | None:
        better = (each for each in choices if each.cost > own.budget and each.alignment > own.alignment + _LEAST_RISE)
        return min(better, key=lambda each: each.cost, default=None)

    above = first(budget_curve(selector, X))
    if above is None:
        return None
    between = np.linspace(own.budget, above.cost, _N_BUDGETS_BETWEEN)[1:]
    return own, first(budget_curve(selector, X, between)) or above


def called(selector: BaseSelector, selected: Sequence[str | int], names: Sequence[str]) -> list[str]:
    """Return names of selected columns or groups, given those of the columns; a group of one has that of its column."""
    found = []
    for each in selected:
        columns: Any = [each]
        if hasattr(selector, "groups_"):
            columns = np.flatnonzero(selector.groups_ == list(selector.group_names_).index(each))
        of_columns = {names[column] for column in columns if not isinstance(column, str)}
        found.append(of_columns.pop() if len(of_columns) == 1 else str(each))
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
