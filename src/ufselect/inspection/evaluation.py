"""Any list of columns, whoever chose it, beside columns chosen by a selector and at random."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_scalar

from ufselect._utils.seeds import random_selections, seed_of
from ufselect._utils.types import Float, Indices
from ufselect._utils.warnings import warn_user
from ufselect._utils.wording import listed
from ufselect.base import BaseSelector
from ufselect.base.groups import ColumnGroups
from ufselect.base.significance import ColumnSignificance
from ufselect.columns.tabular import as_mask, as_matrix, column_indices, column_names
from ufselect.inspection.explanation import LearnedStructure
from ufselect.inspection.measures import RANDOM, classes_in, means_of, measure_selections, share_found, spreads_of
from ufselect.inspection.reconstruction import Reconstruction, StandardizedColumns, reconstruct
from ufselect.inspection.refits import CountedFits, clone_by_index, clone_with
from ufselect.inspection.stability import Stability, stability_of
from ufselect.selectors.kernel_fsasl import KernelFSASL

_N_SUBSTITUTES = 3
_GIVEN = "given"  # the name of a list that has none


@dataclass(frozen=True)
class EvaluatedColumns:
    """A list of columns in an evaluation, or the mean of several random lists.

    Attributes
    ----------
    name : str
        Name of the list, of the class of the selector that selected it, or "random".
    columns : ndarray of int
        Indices of the columns; of several random lists, those of the first.
    alignment : float
        Alignment with the structure that the selector learns from all columns, between 0 and 1.
    redundancy : float
        Mean absolute correlation of the columns.
    neighborhoods : float
        See :func:`ufselect.inspection.neighborhoods_kept`.
    r2 : float
        How well the columns predict each other column, the mean of :attr:`Reconstruction.r2`; NaN if there is none.
    count : int
        Number of columns, or of groups if there are any.
    found : float or None
        Share of the columns, or groups, that are found to share structure with others; None if ``significance`` is not
        given.
    acc, nmi : float or None
        Accuracy and mutual information of k-means on these columns with the labels; None without labels.
    alignment_on_subsets, spread_on_subsets : float or None
        Mean and standard deviation of the alignment over random subsets of the samples, with the structure learned
        from each; None without subsets.
    stability : Stability or None
        How often the selector selects the same columns from the same subsets, see
        :func:`ufselect.inspection.stability_of`. None for all other lists: nothing selects them again.
    n_random_below : int or None
        Number of random lists of the same length whose alignment is smaller; None for random lists, and if there are
        none.
    spreads : dict of str to float
        Standard deviations of the figures over random lists; empty for a single list.
    """

    name: str
    columns: Indices
    alignment: float
    redundancy: float
    neighborhoods: float
    r2: float
    count: int = 0
    found: float | None = None
    acc: float | None = None
    nmi: float | None = None
    alignment_on_subsets: float | None = None
    spread_on_subsets: float | None = None
    stability: Stability | None = None
    n_random_below: int | None = None
    spreads: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """The result of :func:`evaluate`.

    Attributes
    ----------
    rows : list of EvaluatedColumns
        For each length of the given lists: those lists, the selector's own columns and random ones. A list of all
        columns has nothing beside it.
    selector : str
        Name of the class of the selector.
    n_fits, n_not_converged : int
        Number of fits, and how many of them did not converge.
    reconstructions : dict of str to Reconstruction
        What is lost if only the columns of a given list are measured, as by
        :func:`ufselect.inspection.reconstruction_of`.
    """

    rows: list[EvaluatedColumns]
    selector: str
    n_fits: int
    n_not_converged: int
    reconstructions: Mapping[str, Reconstruction] = field(default_factory=dict)


def evaluate(
    X: Any,
    columns: Any,
    *,
    labels: npt.ArrayLike | None = None,
    selector: BaseSelector | None = None,
    significance: ColumnSignificance | None = None,
    groups: Any = None,
    n_random: int = 10,
    n_draws: int = 5,
    standardize: bool = True,
    random_state: Any = 0,
    verbose: int = 0,
) -> Evaluation:
    """Evaluate lists of columns beside lists of the same length: a selector's own and random ones.

    Lists are compared with the structure that the selector learns from all columns. Its own columns have an advantage
    here, because they are chosen to match this structure; neighbourhoods, redundancy and labels favour no list.

    A list is fixed, so it has no stability of its own. Instead, the selector is fitted to random subsets of 80 % of the
    samples, and the alignment of the list with the structure learned from each shows how much it varies.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    columns : sequence of int or str, boolean mask, or dict of str to such
        Column indices, or names if X is a data frame; or several such lists by name. Repeated columns count once. Names
        that X does not have are left out with a warning.
    labels : array-like of shape (n_samples,), optional
        Classes to compare k-means on the columns with; they are not seen by the selector.
    selector : selector, optional
        A method that learns an embedding; clones of it are fitted. The default is :class:`ufselect.KernelFSASL`.
        Columns that it excludes do not contribute to the alignment of a list.
    significance : ColumnSignificance, optional
        From :func:`ufselect.significance.column_significance`: the selector learns and selects among the columns found
        in it, in every fit.
    groups : list, dict or str, optional
        Groups of columns, such as the indicators of a category, as all selectors take them. Each counts as one: lists
        have all columns of their groups, and are compared with lists of as many groups.
    n_random : int, default=10
        Number of random lists.
    n_draws : int, default=5
        Number of subsets of the samples; 0 for none.
    standardize : bool, default=True
        Whether neighbourhoods and clusters are those of columns scaled to unit variance.
    random_state : int, RandomState instance or None, default=0
        Seed of the random lists and subsets, and of the default selector.
    verbose : int, default=0
        If 1, show a progress bar over the subsets.

    Returns
    -------
    Evaluation

    See Also
    --------
    compare_selectors : Compare methods rather than lists, by the same figures.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import evaluate
    >>> data = make_planted_clusters(120, 4, 10, 30, random_state=0)
    >>> lists = {"planted": np.flatnonzero(data.informative), "noise": np.flatnonzero(~data.informative)[:10]}
    >>> found = evaluate(data.X, lists, n_draws=0)
    >>> [row.name for row in found.rows]
    ['planted', 'noise', 'KernelFSASL', 'random']
    >>> [row.n_random_below for row in found.rows[:2]]
    [10, 0]
    """
    check_scalar(n_draws, "n_draws", Integral, min_val=0)
    if n_draws == 1:
        raise ValueError("n_draws=1 is too few: a spread needs at least two subsets.")
    seed = seed_of(random_state)
    names, X = column_names(X), as_matrix(X)
    n, d = X.shape
    units = ColumnGroups.of(getattr(selector, "groups", None) if groups is None else groups, d, names)
    lists = _lists(columns, d, names)
    if units is not None:
        lists = {name: units.with_members_of(each) for name, each in lists.items()}
    sizes = {name: len(each) if units is None else units.count(each) for name, each in lists.items()}
    selector = KernelFSASL(random_state=seed) if selector is None else clone_by_index(selector, d, names)
    selector = selector if units is None else clone_with(selector, groups=units)
    own = type(selector).__name__
    for name, what in ((RANDOM, "random lists"), (own, "the columns that it selects")):
        if name in lists:
            raise ValueError(f"a list cannot be named {name!r}: the row for {what} has that name.")
    classes = classes_in(labels, n)
    fit, compared = CountedFits(), []
    for size in dict.fromkeys(sizes.values()):
        is_all = size == (d if units is None else len(units))
        # Of all columns only the structure is needed: ranking every one of them would take far longer.
        fitted = fit(clone(selector).set_params(n_features_to_select="auto" if is_all else size), X, None, significance)
        group = {name: [chosen] for name, chosen in lists.items() if sizes[name] == size}
        if not is_all:
            best = np.argsort(fitted.ranking_, kind="stable")
            group[own] = [best[:size] if units is None else units.first(best, size)]
            random = random_selections(d, size, n_random, seed, None if units is None else units.codes)
            group |= {RANDOM: random} if random else {}
        compared.append(_Group(group, own, fitted, X, significance, size, units))
        if n_draws:
            compared[-1].refit(fit, n_draws, seed, verbose)
    every = [chosen for each in compared for chosen in each.flat]
    figures = measure_selections(X, every, standardize=standardize, classes=classes)
    standardized = StandardizedColumns(X)
    measured = (each | {"r2": standardized.mean_r2_by(chosen)} for each, chosen in zip(figures, every, strict=True))
    rows = [row for each in compared for row in each.rows([next(measured) for _ in each.flat])]
    lost = {
        name: reconstruct(
            standardized,
            X,
            chosen,
            labels=labels,
            n_substitutes=_N_SUBSTITUTES,
            standardize=standardize,
            random_state=seed,
        )
        for name, chosen in lists.items()
    }
    return Evaluation(rows, own, fit.n_fits, fit.n_not_converged, lost)


def _lists(columns: Any, n_columns: int, names: Sequence[str] | None) -> dict[str, Indices]:
    named = columns if isinstance(columns, Mapping) else {_GIVEN: columns}
    if not named:
        raise ValueError("columns has no list to evaluate.")
    return {str(name): _indices(each, str(name), n_columns, names) for name, each in named.items()}


def _indices(columns: Any, name: str, n_columns: int, names: Sequence[str] | None) -> Indices:
    """Return the different columns of a list, in its order."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise TypeError(f"a list of columns has indices or names, got {columns!r}.")
    found = dict.fromkeys(column_indices(_known(columns, name, names), n_columns, names).tolist())
    if not found:
        raise ValueError(f"the list {name!r} is empty; give at least one column.")
    return np.array(list(found), dtype=np.intp)


def _known(columns: Iterable[Any], name: str, names: Sequence[str] | None) -> Any:
    """Return a list without the names that X does not have; as it is if none would be left."""
    if names is None or as_mask(columns) is not None:
        return columns
    several, known = list(columns), set(names)
    unknown = [each for each in several if isinstance(each, str) and each not in known]
    if not unknown or len(unknown) == len(several):
        return several
    warn_user(f"Columns of the list {name!r} that X does not have are left out: {listed(unknown, quoted=True)}.")
    return [each for each in several if not (isinstance(each, str) and each not in known)]


class _Group:
    """Lists of one length by name, and how well they are aligned with the structures that a selector learns."""

    def __init__(
        self,
        lists: Mapping[str, Sequence[Indices]],
        own: str,
        fitted: BaseSelector,
        X: Any,
        significance: ColumnSignificance | None,
        size: int,
        units: ColumnGroups | None,
    ) -> None:
        self._lists, self._own, self._significance, self._size, self._units = lists, own, significance, size, units
        self._fitted, self._X = fitted, X
        self.flat = [chosen for several in lists.values() for chosen in several]
        self._alignments = LearnedStructure(fitted, X).alignments_of(self.flat)
        self._on_subsets: list[Float] = []
        self._stability: Stability | None = None

    def refit(self, fit: CountedFits, n_draws: int, seed: int, verbose: int) -> None:
        """Fit the selector to subsets of the samples, too."""

        def fit_and_align(selector: BaseSelector, points: Any, *others: Any) -> BaseSelector:
            fit(selector, points, *others)
            self._on_subsets.append(LearnedStructure(selector, points).alignments_of(self.flat))
            return selector

        self._stability = stability_of(
            self._fitted,
            self._X,
            n_draws=n_draws,
            random_state=seed,
            fit=fit_and_align,
            verbose=verbose,
            description=f"{self._own} on subsets",
        )

    def rows(self, measured: Sequence[Mapping[str, float]]) -> list[EvaluatedColumns]:
        """Return a row for each name, given the other figures of all lists."""
        rows, all_figures = [], iter([self._with_alignments(index, each) for index, each in enumerate(measured)])
        random = self._alignments[len(self.flat) - len(self._lists.get(RANDOM, ())) :]
        for name, several in self._lists.items():
            figures = [next(all_figures) for _ in several]
            is_compared = name != RANDOM and len(random) > 0
            rows.append(
                EvaluatedColumns(
                    name,
                    several[0],
                    count=self._size,
                    found=share_found(self._significance, several, self._units),
                    stability=self._stability if name == self._own else None,
                    n_random_below=int(np.count_nonzero(random < figures[0]["alignment"])) if is_compared else None,
                    spreads=spreads_of(figures),
                    **means_of(figures),
                )
            )
        return rows

    def _with_alignments(self, index: int, figures: Mapping[str, float]) -> dict[str, float]:
        found = {"alignment": float(self._alignments[index]), **figures}
        if not self._on_subsets:
            return found
        values = np.array([alignments[index] for alignments in self._on_subsets])
        return found | {"alignment_on_subsets": float(values.mean()), "spread_on_subsets": float(values.std(ddof=1))}
