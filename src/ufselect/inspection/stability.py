"""How stable a selection is: how often the same columns are selected from subsets of the samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from ufselect._utils.seeds import draws_of_samples, some_samples
from ufselect._utils.types import Float, Indices, Mask
from ufselect._utils.wording import percent
from ufselect.base import BaseSelector
from ufselect.base.screening import keep_exclude_of
from ufselect.columns.dense import wide_column_blocks
from ufselect.columns.in_memory import MatrixInMemory
from ufselect.columns.tabular import as_matrix, column_names
from ufselect.inspection.refits import clone_as_fitted, fit_within, fits_to_subsets
from ufselect.metrics import selection_stability, stability_of_counts

_NEAR_COPIES = 0.9  # absolute correlation
_MOST_SAMPLES = 1000  # from which correlations are computed
_N_RANDOM = 1000
_FEWEST_GROUPED, _MOST_GROUPED, _MOST_PAIRS = 3, 100, 2_000_000  # random selections whose near-copies are looked for


@dataclass(frozen=True, eq=False)
class Stability:
    """The result of :func:`stability_of`.

    Attributes
    ----------
    frequencies : ndarray of shape (n_features,)
        Share of the subsets from which each column is selected.
    value : float
        Agreement of the selections, corrected for chance; see :func:`ufselect.metrics.selection_stability`. 1 if all
        are the same. Columns that the selector cannot choose do not count.
    by_chance, by_chance_95 : float
        Mean and 95 % quantile of the value of random selections of the same sizes, among the same columns.
    group_frequencies : ndarray of shape (n_features,)
        Share of the subsets from which each column or a near-copy of it is selected.
    value_of_groups, groups_by_chance : float
        ``value`` and ``by_chance`` if near-copies count as one column.
    candidates : ndarray of bool of shape (n_features,)
        The columns that the selector chooses among: of those found in its test, if it has one, all that are informative
        and not kept anyway; one for each group, if there are groups.
    n_draws : int
        Number of subsets.
    n_samples, n_all_samples : int
        Number of samples in a subset, and of all samples.
    """

    frequencies: Float
    value: float
    by_chance: float
    by_chance_95: float
    group_frequencies: Float
    value_of_groups: float
    groups_by_chance: float
    candidates: Mask
    n_draws: int
    n_samples: int
    n_all_samples: int

    def __repr__(self) -> str:
        return f"Stability({self.sentence})"

    @property
    def frequency_by_chance(self) -> float:
        """Share of the subsets from which a column is selected by chance."""
        return float(self.frequencies[self.candidates].mean()) if self.candidates.any() else 0.0

    @property
    def subsets(self) -> str:
        """The subsets in words."""
        size = f"{self.n_samples:,} of {self.n_all_samples:,} samples ({percent(self.n_samples / self.n_all_samples)})"
        return f"{self.n_draws:,} random subsets of {size}"

    @property
    def has_near_copies(self) -> bool:
        """Whether near-copies of a column are selected from other subsets than the column."""
        return bool(np.any(self.group_frequencies != self.frequencies))

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        if self.by_chance == 1.0:
            return "All candidate columns are selected, so selections from subsets of the samples cannot differ."
        no_more = ", no more than by chance" if self.value <= self.by_chance_95 else ""
        beside = f"1 = always the same columns, by chance {self.by_chance:z.2f}"
        if self.has_near_copies:
            as_one = f"{self.value_of_groups:z.2f} if near-copies count as one"
            beside += f"; {as_one}, by chance {self.groups_by_chance:z.2f}"
        return f"The selections from {self.subsets} have a stability of {self.value:z.2f}{no_more} ({beside})."


def stability_of(
    selector: BaseSelector,
    X: Any,
    *,
    n_draws: int = 5,
    share: float = 0.8,
    max_samples: int | None = None,
    batch: Any = None,
    random_state: Any = 0,
    fit: Callable[..., BaseSelector] = fit_within,
    verbose: int = 0,
    description: str = "Stability",
) -> Stability:
    """Return how often the same columns are selected from random subsets of the samples.

    A selector that was fitted with a test of the columns is not tested anew in each subset: it selects among the
    columns that its test found in all samples. So the stability is that of the selection, not of the test, and random
    selections are of these columns, too.

    Columns with an absolute correlation of 0.9 or more are near-copies, and so are columns that a chain of such pairs
    connects. Only columns that are selected from some subset are compared, on at most 1000 samples.

    Parameters
    ----------
    selector : fitted selector
        Clones of it are fitted, which select as many columns.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The data that it was fitted to. A sparse X stays sparse.
    n_draws : int, default=5
        Number of subsets, at least 2.
    share : float, default=0.8
        Share of the samples in a subset.
    max_samples : int or None, default=None
        Largest number of samples in a subset, to save time. Selections from fewer samples are less stable.
    batch : array-like of shape (n_samples,), optional
        The batch of each sample, if the selector was fitted with batches.
    random_state : int, RandomState instance or None, default=0
        Seed of the subsets. Random selections are always the same.
    fit : callable, optional
        Called with a clone, the samples of a subset, their batches and the result of the test, to fit the clone and
        return it; for callers who want to see every fit.
    verbose : int, default=0
        If 1, show a progress bar.
    description : str, default="Stability"
        Text of the progress bar.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from ufselect import KernelFSASL
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import stability_of
    >>> X = make_planted_clusters(120, 4, 10, 30, random_state=0).X
    >>> found = stability_of(KernelFSASL(10).fit(X), X)
    >>> round(found.value, 2)
    0.85
    >>> found.sentence.partition(" have ")[2]
    'a stability of 0.85 (1 = always the same columns, by chance 0.00).'
    """
    check_is_fitted(selector, "ranking_")
    check_scalar(n_draws, "n_draws", Integral, min_val=2)
    if max_samples is not None:
        check_scalar(max_samples, "max_samples", Integral, min_val=1)
    names, X = column_names(X, selector), as_matrix(X)
    n = X.shape[0]
    data = MatrixInMemory(X, batch)
    draws = draws_of_samples(n, n_draws, share if max_samples is None else min(share, max_samples / n), random_state)
    refitted = fits_to_subsets(
        clone_as_fitted(selector),
        X,
        draws,
        names=names,
        batches=data.batches,
        significance=getattr(selector, "significance_", None),
        fit=fit,
        verbose=verbose,
        description=description,
    )
    selected = np.array([_selected(each) for each, _ in refitted])
    candidates = _candidates(selector, data, names)
    chosen = [np.flatnonzero(each & candidates) for each in selected]
    sizes, among = [len(each) for each in chosen], np.flatnonzero(candidates)
    by_chance = _values_by_chance(sizes, len(among))
    near_copies, rng = NearCopies(data), np.random.default_rng(0)
    grouped = near_copies.grouped(chosen, len(among))
    affordable = _MOST_PAIRS // max(len(grouped.members), 1) ** 2
    random = [
        [rng.choice(among, size, replace=False) for size in sizes]
        for _ in range(min(max(affordable, _FEWEST_GROUPED), _MOST_GROUPED))
    ]
    frequencies = selected.mean(axis=0)
    group_frequencies = frequencies.copy()
    group_frequencies[grouped.members] = grouped.frequencies
    return Stability(
        frequencies=frequencies,
        value=selection_stability([np.searchsorted(among, each) for each in chosen], len(among)),
        by_chance=float(by_chance.mean()),
        by_chance_95=float(np.quantile(by_chance, 0.95)),
        group_frequencies=group_frequencies,
        value_of_groups=grouped.value,
        groups_by_chance=float(np.mean([near_copies.grouped(each, len(among)).value for each in random])),
        candidates=candidates,
        n_draws=n_draws,
        n_samples=len(draws[0]),
        n_all_samples=n,
    )


def _selected(selector: BaseSelector) -> Mask:
    """Return which columns are selected, or are in a group of which some are."""
    selected: Mask = selector.get_support()
    groups = getattr(selector, "groups_", None)
    return selected if groups is None else np.isin(groups, groups[selected])


def _candidates(selector: BaseSelector, data: MatrixInMemory, names: Sequence[str] | None) -> Mask:
    """Return which columns a selector chooses among; of a group, the first one."""
    keep, exclude, groups, _ = keep_exclude_of(selector, data.shape[1], names)
    candidates = np.ones(data.shape[1], dtype=bool)
    if hasattr(selector, "copies_"):  # methods of others may select any column
        candidates = (selector.copies_ < 0) & ~data.is_constant(getattr(selector, "scale", "standard"))
    candidates[exclude] = False
    significance = getattr(selector, "significance_", None)
    if significance is not None and (candidates & significance.found).any():
        candidates &= significance.found
    candidates[keep] = False
    if groups is not None:
        index = np.flatnonzero(candidates)
        candidates[:] = False
        candidates[index[np.unique(groups.codes[index], return_index=True)[1]]] = True
    return candidates


def _values_by_chance(sizes: Sequence[int], n_columns: int) -> Float:
    """Return the values of random selections of some sizes, among so many columns."""
    rng, values = np.random.default_rng(0), np.empty(_N_RANDOM)
    for index in range(_N_RANDOM):
        counts = np.zeros(len(sizes) + 1, dtype=np.int64)  # of columns that are selected 0, 1, … times
        counts[0] = n_columns
        for size in sizes:
            again = rng.multivariate_hypergeometric(counts, size)
            counts -= again
            counts[1:] += again[:-1]
        values[index] = stability_of_counts(counts)
    return values


class _Grouped(NamedTuple):
    """Selections of which near-copies count as one column."""

    members: Indices
    frequencies: Float
    value: float


class NearCopies:
    """Which columns are near-copies of each other, by some of the samples."""

    def __init__(self, data: MatrixInMemory) -> None:
        rows, self._batches = some_samples(data.shape[0], _MOST_SAMPLES, 0), data.batches
        if self._batches is not None:
            rows, self._batches = self._batches.among(rows)
        points = data.rows(rows)
        self._points = points.tocsc() if sp.issparse(points) else points

    def of(self, chosen: Indices) -> tuple[Indices, Indices]:
        """Return the other columns that are near-copies of some columns, and the column that each is most like."""
        data = MatrixInMemory(self._points, self._batches)
        varying = np.flatnonzero(~data.is_constant("standard"))
        places = np.flatnonzero(np.isin(varying, chosen))
        if not len(places):
            return places, places
        X = data.prepared(varying, center=True, scale="standard")
        lengths = np.sqrt(X.squared_norms())
        best, original = np.zeros(len(varying)), np.zeros(len(varying), dtype=np.intp)
        for block, values in wide_column_blocks(X):
            some = np.flatnonzero(np.isin(np.arange(len(varying))[block], places))
            if not len(some):
                continue
            among = np.arange(len(varying))[block][some]
            likeness = np.abs(X.transposed_matmul(values[:, some])) / np.outer(lengths, lengths[among])
            most = likeness.argmax(axis=1)
            highest = likeness[np.arange(len(varying)), most]
            is_better = highest > best
            best[is_better], original[is_better] = highest[is_better], varying[among[most[is_better]]]
        near = np.flatnonzero((best >= _NEAR_COPIES) & ~np.isin(varying, chosen))
        return varying[near], original[near]

    def grouped(self, chosen: Sequence[Indices], n_columns: int) -> _Grouped:
        """Compare selections from so many columns by groups of near-copies among the selected ones."""
        members = np.unique(np.concatenate(chosen))
        groups = self._groups(members)
        n_groups = len(np.unique(groups))
        selected = [np.unique(groups[np.searchsorted(members, each)]) for each in chosen]
        frequencies = np.bincount(np.concatenate(selected), minlength=n_groups) / len(chosen)
        return _Grouped(
            members, frequencies[groups], selection_stability(selected, n_columns - len(members) + n_groups)
        )

    def _groups(self, index: Indices) -> Indices:
        """Return the number of the group of each of some columns: single linkage at the least correlation."""
        m = len(index)
        data = MatrixInMemory(self._points[:, index], self._batches)
        varying = np.flatnonzero(~data.is_constant("standard"))
        groups = np.arange(m)
        if len(varying) < 2:
            return groups
        X = data.prepared(varying, center=True, scale="standard")
        lengths = np.sqrt(X.squared_norms())
        for block, values in wide_column_blocks(X):
            products = np.abs(X.transposed_matmul(values))
            near = np.nonzero(products >= _NEAR_COPIES * np.outer(lengths, lengths[block]))
            # Columns are joined with the groups so far, whose vertices are m, m + 1, ….
            first, second = varying[near[0]], varying[block][near[1]]
            ends = np.concatenate([first, np.arange(m)]), np.concatenate([second, m + groups])
            graph = sp.coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(2 * m, 2 * m))
            groups = connected_components(graph, directed=False)[1][:m]
            groups = np.unique(groups, return_inverse=True)[1]
        return groups
