"""Several selectors on the same data, compared with and without labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_scalar

from ufselect._utils.seeds import random_selections, seed_of
from ufselect._utils.types import Float, Indices
from ufselect.base import BaseSelector
from ufselect.base.groups import ColumnGroups
from ufselect.base.significance import ColumnSignificance
from ufselect.columns.batches import Batches
from ufselect.columns.tabular import as_matrix, column_names
from ufselect.inspection.adapter import as_selector
from ufselect.inspection.baselines import Baseline
from ufselect.inspection.measures import RANDOM, WITH_LABELS, classes_in, means_of, measure_selections, share_found
from ufselect.inspection.refits import CountedFits, clone_by_index, clone_with
from ufselect.inspection.stability import Stability, stability_of


@dataclass(frozen=True)
class ComparedSelection:
    """One selector in a comparison, or the mean of several random selections.

    Attributes
    ----------
    method : str
        Name of the selector, or "random".
    chosen : ndarray of int
        Indices of the selected columns, best first; of several random selections, the first.
    redundancy : float
        Mean absolute correlation of the selected columns.
    neighborhoods : float
        See :func:`ufselect.inspection.neighborhoods_kept`.
    units : ndarray of int
        The groups of the selected columns, by number in the order of first appearance; these columns themselves if
        there are no groups.
    found : float or None
        Share of the selected columns, or groups, that are found to share structure with others; None if
        ``significance`` is not given. Of random selections it is the mean.
    stability : Stability or None
        See :func:`ufselect.inspection.stability_of`; None without repeats, and for random selections.
    seconds : float or None
        Duration of the fit on all samples; None for random selections.
    agreement : dict of str to float
        ``acc`` and ``nmi`` of k-means on the selected columns with the labels; empty without labels.
    n_fits, n_not_converged : int
        Number of fits, and how many of them did not converge.
    curve : ndarray or None
        The ``alignment_curve_`` of the fit on all samples; None if the method learns no embedding.
    is_baseline : bool
        Whether it is a :class:`Baseline` or random.
    """

    method: str
    chosen: Indices
    redundancy: float
    neighborhoods: float
    agreement: Mapping[str, float]
    units: Indices
    found: float | None = None
    stability: Stability | None = None
    seconds: float | None = None
    n_fits: int = 0
    n_not_converged: int = 0
    curve: Float | None = field(default=None, repr=False)
    is_baseline: bool = False


@dataclass(frozen=True)
class Comparison:
    """The result of :func:`compare_selectors`.

    Attributes
    ----------
    rows : list of ComparedSelection
        One for every selector that could be fitted: first the methods, in the order given, then the baselines, and
        last the random selections.
    failures : dict of str to str
        Why the other selectors could not be fitted.
    counted_by : str or None
        The selector whose own choice is the number of features; None if the number was given.
    """

    rows: list[ComparedSelection]
    failures: dict[str, str]
    counted_by: str | None = None


def compare_selectors(
    selectors: Mapping[str, Any],
    X: Any,
    *,
    n_features_to_select: int | float | str = "auto",
    batch: Any = None,
    significance: ColumnSignificance | None = None,
    labels: npt.ArrayLike | None = None,
    groups: Any = None,
    n_repeats: int = 5,
    n_random: int = 10,
    standardize: bool = True,
    random_state: Any = 0,
    verbose: int = 0,
) -> Comparison:
    """Fit several selectors to the same data and measure their selections.

    Convergence warnings are counted rather than shown. Selectors that raise a ``ValueError`` or a ``MemoryError``, or
    do not take the given batches, are left out with the reason.

    Parameters
    ----------
    selectors : dict of str to selector
        Selectors by name; clones of them are fitted. Other objects can take part if their ``fit(X)``, which gets X as a
        matrix, sets ``ranking_`` (1 is best) or ``scores_`` (larger is better). Baselines, such as :class:`PivotedQR`,
        come after all others.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    n_features_to_select : int, float or "auto", default="auto"
        Number of features, or of groups, that every selector selects. "auto" takes the number that the first method
        chooses.
    batch : array-like of shape (n_samples,), optional
        Batch of each sample, for every fit. Batches do not change what is measured.
    significance : ColumnSignificance, optional
        From :func:`ufselect.significance.column_significance`: all methods of ufselect select among the columns found
        in it, in every fit. Other objects, baselines and random selections take all columns.
    labels : array-like of shape (n_samples,), optional
        Classes to compare k-means on the selected columns with; they are not seen by any selector.
    groups : list, dict or str, optional
        Groups of columns, such as the indicators of a category, as all selectors take them. Each counts as one:
        selections have whole groups, and as many of them.
    n_repeats : int, default=5
        Number of fits on random subsets of 80 % of the samples, for the stability; 0 for none.
    n_random : int, default=10
        Number of random selections to compare with.
    standardize : bool, default=True
        Whether neighbourhoods and clusters are those of columns scaled to unit variance.
    random_state : int, RandomState instance or None, default=0
        Seed of the random subsets of samples and the random selections.
    verbose : int, default=0
        If 1, show a progress bar over the repeats of each selector. A single fit follows the ``verbose`` of the
        selector.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If no selector can be fitted.

    Examples
    --------
    >>> from ufselect import LaplacianScore, MaxVariance
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import PivotedQR, compare_selectors
    >>> X = make_planted_clusters(random_state=0).X
    >>> selectors = {"variance": MaxVariance(), "Laplacian": LaplacianScore(), "QR": PivotedQR()}
    >>> compared = compare_selectors(selectors, X, n_features_to_select=20, n_repeats=2)
    >>> [row.method for row in compared.rows if not row.is_baseline]
    ['variance', 'Laplacian']
    >>> [row.method for row in compared.rows if row.is_baseline]
    ['QR', 'random']
    """
    check_scalar(n_repeats, "n_repeats", Integral, min_val=0)
    if n_repeats == 1:
        raise ValueError("n_repeats=1 is too few: stability is the agreement of at least two fits.")
    if RANDOM in selectors:
        raise ValueError(f"a selector cannot be named {RANDOM!r}: the row for random selections has that name.")
    seed = seed_of(random_state)
    names, X = column_names(X), as_matrix(X)
    n, d = X.shape
    classes = classes_in(labels, n)
    batches = None if batch is None else Batches.of(batch, n)
    count, counted_by, units = n_features_to_select, None, ColumnGroups.of(groups, d, names)
    fits: dict[str, dict[str, Any]] = {}
    selected_by: dict[str, BaseSelector] = {}
    failures: dict[str, str] = {}
    methods = {name: as_selector(each, name) for name, each in selectors.items()}
    baselines = {RANDOM, *(name for name, each in methods.items() if isinstance(each, Baseline))}
    for name in sorted(methods, key=lambda name: name in baselines):
        try:
            selector = clone_by_index(methods[name], d, names)
            selector = selector if units is None else clone_with(selector, groups=units)
            selector.set_params(n_features_to_select=count)
            among = None if name in baselines else significance
            fits[name] = _fit(name, selector, X, batches, among, n_repeats, seed, verbose)
            selected_by[name] = selector
        except (ValueError, MemoryError) as error:
            failures[name] = str(error) or "there is not enough memory."
            continue
        if count == "auto":
            count, counted_by = getattr(selector, "n_groups_", selector.n_features_), name
    if not fits:
        reasons = set(failures.values())
        several = " ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise ValueError(f"no method could be fitted: {reasons.pop() if len(reasons) == 1 else several}")
    rankings = {name: np.argsort(each.ranking_, kind="stable") for name, each in selected_by.items()}
    first = next(iter(selected_by.values()))
    n_chosen = first.n_features_ if units is None else getattr(first, "n_groups_", first.n_features_)
    selections = {name: [best[: selected_by[name].n_features_]] for name, best in rankings.items()}
    if units is not None:  # also of methods that rank columns
        selections = {name: [units.first(best, n_chosen)] for name, best in rankings.items()}
    if random := random_selections(d, n_chosen, n_random, seed, None if units is None else units.codes):
        selections[RANDOM] = random
    every = [chosen for several in selections.values() for chosen in several]
    measured = iter(measure_selections(X, every, standardize=standardize, classes=classes))
    rows = [
        ComparedSelection(
            name,
            several[0],
            **_means([next(measured) for _ in several]),
            units=several[0] if units is None else np.unique(units.codes[several[0]]),
            found=share_found(significance, several, units),
            is_baseline=name in baselines,
            **fits.get(name, {}),
        )
        for name, several in selections.items()
    ]
    return Comparison(rows, failures, counted_by)


def _fit(
    name: str,
    selector: BaseSelector,
    X: Any,
    batches: Batches | None,
    significance: ColumnSignificance | None,
    n_repeats: int,
    seed: int,
    verbose: int,
) -> dict[str, Any]:
    """Fit a selector to all samples and to subsets of them; return what it took."""
    fit = CountedFits()
    start = perf_counter()
    fit(selector, X, batches, significance)
    seconds, stability = perf_counter() - start, None
    if n_repeats:
        stability = stability_of(
            selector,
            X,
            n_draws=n_repeats,
            batch=batches,
            random_state=seed,
            fit=fit,
            verbose=verbose,
            description=f"{name} on subsets",
        )
    return {
        "stability": stability,
        "seconds": seconds,
        "n_fits": fit.n_fits,
        "n_not_converged": fit.n_not_converged,
        "curve": getattr(selector, "alignment_curve_", None),
    }


def _means(several: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    means = means_of(several)
    return {"agreement": {key: means.pop(key) for key in WITH_LABELS if key in means}, **means}
