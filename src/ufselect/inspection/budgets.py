"""What more money buys: the best choice for every budget, from one fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ufselect._utils.types import Float, Indices
from ufselect.base import BaseSelector
from ufselect.base.requirements import units_required
from ufselect.base.screening import keep_exclude_of
from ufselect.columns.tabular import fitted_column_names
from ufselect.columns.unit_requirements import UnitRequirements
from ufselect.inspection.explanation import LearnedStructure
from ufselect.solvers.choice_within import UnitsOfColumns

_N_BUDGETS = 20


@dataclass(frozen=True)
class ChoiceForBudget:
    """The best choice for a budget.

    Attributes
    ----------
    budget, cost : float
        What may be spent, and what the choice costs.
    n_selected : int
        Number of selected columns, or groups if there are groups.
    alignment : float
        Alignment of the choice with the learned structure.
    selected : tuple of str or int
        Names of the selected columns, in the order of X, or of the groups; indices if columns have no names.
    """

    budget: float
    cost: float
    n_selected: int
    alignment: float
    selected: tuple[str | int, ...]


def budget_curve(selector: BaseSelector, X: Any, budgets: Iterable[float] | None = None) -> list[ChoiceForBudget]:
    """Return the best choice for every budget, with the structure of one fit.

    Nothing is fitted again. Each choice has the largest alignment with the learned structure within the budget and all
    other requirements of the selector, as :class:`ufselect.KernelFSASL` chooses. The alignment ends to rise at some
    budget, from where on more money buys nothing.

    Parameters
    ----------
    selector : fitted selector
        Its requirements have costs; a budget of its own is not needed.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The data that the selector was fitted on, without batches.
    budgets : iterable of float, optional
        By default 20 from the cheapest choice to the best one without a budget.

    Returns
    -------
    list of ChoiceForBudget
        By ascending budget.

    Examples
    --------
    >>> from ufselect import KernelFSASL
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import budget_curve
    >>> X = make_planted_clusters(120, 4, 10, 30, random_state=0).X
    >>> selector = KernelFSASL(requirements={"costs": [2.0] * 10 + [1.0] * 30}).fit(X)
    >>> [row.cost <= row.budget for row in budget_curve(selector, X, [3, 6])]
    [True, True]
    """
    choices = _Choices(selector, X)
    everything = choices.required(float(choices.costs.sum()))
    if budgets is None:
        peak = everything.cost(choices.best(everything, []))
        budgets = np.linspace(everything.lowest_cost, max(peak, everything.lowest_cost), _N_BUDGETS)
    fitted, rows = choices.fitted, list[ChoiceForBudget]()
    starts = [fitted]
    for budget in sorted(map(float, budgets)):
        chosen = choices.best(choices.required(budget), starts)
        starts = [fitted, chosen]
        names, alignment = choices.described(chosen)
        rows.append(ChoiceForBudget(budget, everything.cost(chosen), len(chosen), alignment, names))
    return rows


class _Choices:
    """The units that a fit chose among, with what they carry of its structure."""

    def __init__(self, selector: BaseSelector, X: Any) -> None:
        self._structure, self._names = LearnedStructure(selector, X), fitted_column_names(X, selector)
        wanted = keep_exclude_of(selector, len(selector.ranking_), self._names)
        if wanted.requirements is None or wanted.requirements.costs is None:
            raise ValueError("budget_curve needs costs: fit with requirements=Requirements(costs=…).")
        self._requirements, self._groups = wanted.requirements, wanted.groups
        columns, significance = self._structure.informative, getattr(selector, "significance_", None)
        self._are_found = False
        if significance is not None and significance.found[columns].any():
            self._are_found = True
            columns = columns[significance.found[columns] | np.isin(columns, wanted.keep)]
        numbers = columns if self._groups is None else self._groups.codes[columns]
        self._numbers, firsts, codes = np.unique(numbers, return_index=True, return_inverse=True)
        self._firsts, self._columns, self._codes = columns[firsts], columns, codes
        self._kept = np.unique(codes[np.isin(columns, wanted.keep)])
        self._count = selector._wanted_features(len(selector.ranking_), wanted)
        part, carried = self._structure.part(columns)
        if self._requirements.weights is not None:
            carried = carried * self._requirements.weights[columns]
        self._units = UnitsOfColumns(part, carried, None if self._groups is None else codes)
        self.fitted = np.unique(codes[selector.get_support()[columns]])

    @property
    def costs(self) -> Float:
        """What all columns cost."""
        assert self._requirements.costs is not None
        return self._requirements.costs

    def required(self, budget: float) -> UnitRequirements:
        """Return what a choice has to meet within a budget; raise an error if none does."""
        wanted = replace(self._requirements, budget=budget)
        return units_required(wanted, self._firsts, self._groups, self._kept, self._count, are_found=self._are_found)

    def best(self, required: UnitRequirements, starts: Sequence[Indices]) -> Indices:
        """Return the best units."""
        return self._units.best(required, starts=[each for each in starts if required.met_by(each)])

    def described(self, units: Indices) -> tuple[tuple[str | int, ...], float]:
        """Return what units are called, and their alignment."""
        numbers = self._numbers[units].tolist()
        called = self._names if self._groups is None else self._groups.names
        alignment = self._structure.alignments_of([self._columns[np.isin(self._codes, units)]])[0]
        return tuple(numbers if called is None else [called[number] for number in numbers]), float(alignment)
