"""Several selectors on the same data, compared with and without labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_scalar

from ufselect._judging import (
    AGREEMENT,
    EVEN,
    RANDOM,
    by_index,
    classes_in,
    evenly_spaced,
    figures_of,
    fitted_within,
    means_of,
    random_selections,
    settled,
    within_subset,
)
from ufselect._plain import as_selector
from ufselect._utils.progress import with_progress
from ufselect._utils.seeds import seed_of
from ufselect._utils.types import Float, Indices
from ufselect._utils.warnings import convergence_warnings
from ufselect.base import BaseSelector
from ufselect.base.screening import keep_exclude_of
from ufselect.columns.batches import Batches
from ufselect.columns.tabular import as_matrix, column_names, draws_of_samples
from ufselect.metrics import selection_stability


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
    stability : float or None
        See :func:`ufselect.inspection.stability_over`; None without repeats, and for random selections.
    seconds : float or None
        Duration of the fit on all samples; None for random selections.
    agreement : dict of str to float
        ``acc`` and ``nmi`` of k-means on the selected columns with the labels; empty without labels.
    n_fits, n_not_converged : int
        Number of fits, and how many of them did not converge.
    curve : ndarray or None
        The ``alignment_curve_`` of the fit on all samples; None if the method learns no embedding.
    """

    method: str
    chosen: Indices
    redundancy: float
    neighborhoods: float
    stability: float | None
    seconds: float | None
    agreement: Mapping[str, float]
    n_fits: int = 0
    n_not_converged: int = 0
    curve: Float | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Comparison:
    """The result of :func:`compare_selectors`.

    Attributes
    ----------
    rows : list of ComparedSelection
        One for every selector that could be fitted, in the order given; then one for evenly spaced columns, if the
        columns have an order, and one for random selections.
    failures : dict of str to str
        Why the other selectors could not be fitted.
    counted_by : str or None
        The selector whose own choice is the number of features; None if the number was given.
    """

    rows: list[ComparedSelection]
    failures: dict[str, str]
    counted_by: str | None = None


@dataclass(frozen=True)
class _Fitted:
    """The selection of one selector, and how it came about."""

    chosen: Indices
    seconds: float
    stability: float | None
    n_fits: int
    n_not_converged: int
    curve: Float | None


def compare_selectors(
    selectors: Mapping[str, Any],
    X: Any,
    *,
    n_features_to_select: int | float | str = "auto",
    batch: Any = None,
    labels: npt.ArrayLike | None = None,
    n_repeats: int = 5,
    n_random: int = 10,
    ordered: bool = False,
    standardize: bool = True,
    random_state: Any = 0,
    verbose: int = 0,
) -> Comparison:
    """Fit several selectors to the same data and measure their selections.

    Convergence warnings are counted rather than shown. A selector that raises a ``ValueError`` or a ``MemoryError``, or
    takes no batch if there are batches, is left out, with the reason.

    Parameters
    ----------
    selectors : dict of str to selector
        By the name to show; clones of them are fitted. Any other object whose ``fit(X)`` sets ``ranking_`` (1 is best)
        or ``scores_`` (larger is better) can take part as well; it gets X as a matrix.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    n_features_to_select : int, float or "auto"
        Number of features that every selector selects. "auto" is the number that the first selector which can be
        fitted selects by itself.
    batch : array-like of shape (n_samples,), optional
        Batch of each sample, for every fit. The figures are those of X as it is.
    labels : array-like of shape (n_samples,), optional
        Classes to compare the selections with; no selector sees them.
    n_repeats : int
        Number of fits on a random 80 % of the samples, for the stability; 0 for none.
    n_random : int
        Number of random selections to compare with.
    ordered : bool
        Whether the columns have an order, such as wavelengths; then there is a row for evenly spaced columns.
    standardize : bool
        Whether neighbourhoods and clusters are those of columns scaled to unit variance.
    random_state : int, RandomState instance or None, default=0
        Seed of the random subsets of samples and the random selections.
    verbose : int
        1 shows a progress bar over the repeats of each selector; that of a single fit depends on the ``verbose`` of
        the selector.

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
    >>> from ufselect.comparison import compare_selectors
    >>> from ufselect.datasets import make_planted_clusters
    >>> X = make_planted_clusters(random_state=0).X
    >>> selectors = {"variance": MaxVariance(), "Laplacian": LaplacianScore()}
    >>> compared = compare_selectors(selectors, X, n_features_to_select=20, n_repeats=2)
    >>> [row.method for row in compared.rows]
    ['variance', 'Laplacian', 'random']
    """
    check_scalar(n_repeats, "n_repeats", Integral, min_val=0)
    if n_repeats == 1:
        raise ValueError("n_repeats=1 is too few: stability is the agreement of at least two fits.")
    for name, what in {RANDOM: "random selections", EVEN: "evenly spaced columns"}.items():
        if name in selectors:
            raise ValueError(f"a selector cannot be named {name!r}: the row for {what} has that name.")
    seed = seed_of(random_state)
    names, X = column_names(X), as_matrix(X)
    classes = classes_in(labels, X.shape[0])
    batches = None if batch is None else Batches.of(batch, X.shape[0])
    draws = draws_of_samples(X.shape[0], n_repeats, random_state=seed)
    runner = _Runner(X, names, batches, n_features_to_select, draws, verbose)
    fits = runner.fit_all({name: as_selector(each, name) for name, each in selectors.items()})
    if not fits:
        raise ValueError(f"no method could be fitted: {_reasons(runner.failures)}")
    selections = {name: [fitted.chosen] for name, fitted in fits.items()}
    n_chosen = len(next(iter(fits.values())).chosen)
    random = random_selections(X.shape[1], n_chosen, n_random, seed)
    measure = partial(figures_of, X, standardize=standardize, classes=classes)
    even = {EVEN: [evenly_spaced(X.shape[1], n_chosen)]} if ordered else {}
    rows = _measured(selections | even | ({RANDOM: random} if random else {}), fits, measure)
    return Comparison(rows, runner.failures, runner.counted_by)


class _Runner:
    """Fits selectors one after the other, all with the same number of features."""

    def __init__(
        self,
        X: Any,
        names: Sequence[str] | None,
        batches: Batches | None,
        n_features: int | float | str,
        draws: Sequence[Indices],
        verbose: int,
    ) -> None:
        self.X = X
        self.names = names
        self.batches = batches
        self.n_features = n_features
        self.draws = draws
        self.verbose = verbose
        self.failures: dict[str, str] = {}
        self.counted_by: str | None = None

    def fit_all(self, selectors: Mapping[str, BaseSelector]) -> dict[str, _Fitted]:
        """Fit every selector, and keep the reason if one cannot be fitted."""
        found = {}
        for name, selector in selectors.items():
            try:
                found[name] = self._fit(name, by_index(selector, self.X.shape[1], self.names))
            except (ValueError, MemoryError) as error:
                self.failures[name] = str(error) or "there is not enough memory."
        return found

    def _fit(self, name: str, selector: BaseSelector) -> _Fitted:
        selector.set_params(n_features_to_select=self.n_features)
        start = perf_counter()
        with convergence_warnings() as missed:
            fitted_within(selector, self.X, self.batches)
        seconds = perf_counter() - start
        stability, n_missed = self._stability(name, settled(selector)) if len(self.draws) else (None, 0)
        if self.n_features == "auto":
            self.n_features, self.counted_by = selector.n_features_, name
        chosen = np.argsort(selector.ranking_, kind="stable")[: selector.n_features_]
        curve = getattr(selector, "alignment_curve_", None)
        return _Fitted(chosen, seconds, stability, 1 + len(self.draws), n_missed + bool(missed), curve)

    def _stability(self, name: str, selector: BaseSelector) -> tuple[float, int]:
        """Return the agreement of fits on subsets of the samples, and how many of them did not converge."""
        found, n_missed = [], 0
        rows_of = self.X.tocsr() if sp.issparse(self.X) else self.X
        keep_exclude = keep_exclude_of(selector, self.X.shape[1], None)
        for rows in with_progress(self.draws, None, self.verbose, f"{name} on subsets", unit="fit"):
            with convergence_warnings() as missed:
                rows, part = (rows, None) if self.batches is None else self.batches.among(rows)
                points = rows_of[rows]
                fitted = fitted_within(within_subset(selector, points, keep_exclude), points, part)
                found.append(np.flatnonzero(fitted.get_support()))
            n_missed += bool(missed)
        return selection_stability(found, self.X.shape[1]), n_missed


def _reasons(failures: Mapping[str, str]) -> str:
    """Return why every selector failed, once if it is the same reason for all."""
    if len(set(failures.values())) == 1:
        return next(iter(failures.values()))
    return " ".join(f"{name}: {reason}" for name, reason in failures.items())


def _measured(
    selections: Mapping[str, Sequence[Indices]],
    fits: Mapping[str, _Fitted],
    measure: Callable[[Sequence[Indices]], list[dict[str, float]]],
) -> list[ComparedSelection]:
    found = iter(measure([chosen for several in selections.values() for chosen in several]))
    return [
        ComparedSelection(name, several[0], **_figures([next(found) for _ in several]), **_costs(fits.get(name)))
        for name, several in selections.items()
    ]


def _figures(several: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    means = means_of(several)
    return {"agreement": {name: means.pop(name) for name in AGREEMENT if name in means}, **means}


def _costs(fitted: _Fitted | None) -> dict[str, Any]:
    if fitted is None:
        return {"stability": None, "seconds": None}
    return {key: value for key, value in asdict(fitted).items() if key != "chosen"}
