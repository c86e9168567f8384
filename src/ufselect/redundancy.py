"""Columns that say the same, and one column to represent each group of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from ufselect._utils.progress import counting
from ufselect._utils.threads import number_of_threads, one_thread
from ufselect._utils.types import Float, Indices, Mask
from ufselect._utils.wording import counted
from ufselect.base.screening import columns_named
from ufselect.columns.correlations import FixedPointColumns
from ufselect.columns.dense import canonical
from ufselect.columns.tabular import as_matrix, column_names

__all__ = ["DropRedundant", "Redundancy", "redundant_columns"]


@dataclass(frozen=True, eq=False, repr=False)
class Redundancy:
    """Which columns say the same as another, and which columns represent them.

    Attributes
    ----------
    representatives : ndarray of shape (n_representatives,)
        Indices of the representatives, ascending: columns no two of which say the same, unless they were to be kept.
    representative_of : ndarray of shape (d,)
        Index of the representative of each column: itself, or else the one with which it correlates most.
    correlations : ndarray of shape (d,)
        Correlation of each column with its representative, with its sign; 1 for the representatives themselves.
    constant : ndarray of shape (d,)
        Which columns are constant. They correlate with nothing, so each represents itself.
    above : float
        Absolute correlation from which two columns say the same.
    """

    representatives: Indices
    representative_of: Indices
    correlations: Float
    constant: Mask
    above: float

    @cached_property
    def groups(self) -> list[Indices]:
        """Groups of two or more columns, largest first: the representative, then the others by absolute correlation."""
        is_other = self.representative_of != np.arange(len(self.representative_of))
        others = np.flatnonzero(is_other)
        owner = self.representative_of[others]
        order = np.lexsort((others, -np.abs(self.correlations[others]), owner))
        owners, starts = np.unique(owner[order], return_index=True)
        parts = np.split(others[order], starts[1:]) if len(others) else []
        groups = [np.concatenate([[each], part]) for each, part in zip(owners, parts, strict=True)]
        return sorted(groups, key=lambda group: (-len(group), group[0]))

    @property
    def summary(self) -> str:
        """How many columns say the same as another, in a sentence."""
        d, m = len(self.representative_of), len(self.representatives)
        threshold = f"|r| ≥ {self.above:g}"
        if d == 1:
            return "There is only one column."
        if m == d:
            return f"No two of {counted(d, 'column')} say the same ({threshold})."
        verb = "says" if d - m == 1 else "say"
        left = "1 is" if m == 1 else f"{m:,} are"
        return f"{d - m:,} of {counted(d, 'column')} {verb} the same as another ({threshold}); {left} left."

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary})"


def redundant_columns(
    X: Any,
    above: float = 0.95,
    *,
    keep: Any = None,
    names: Sequence[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Redundancy:
    """Find the columns that say the same as others, and one column to represent them.

    Two columns say the same if the absolute value of their correlation (Pearson, over all samples) is at least
    ``above``. No two representatives say the same, and every other column says the same as its representative. The
    result does not depend on the order of the columns.

    Columns are considered in this order, and each becomes a representative unless one before says the same: those that
    say the same as most others; of these, those with the largest correlations with them; with most distinct values;
    with a variance to which all samples contribute most evenly, rather than a few; and, if columns are still tied as a
    length in inches and in centimetres is, the first by name, or if there are no names, by a digest of its values.

    Constant columns correlate with nothing, so each represents itself.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        A sparse X is never densified as a whole; a dense one is copied in 32 bits per value.
    above : float, default=0.95
        Absolute correlation from which two columns say the same, above 0 and at most 1.
    keep : list of str or int, optional
        Columns that are representatives, by name or number, whether or not they say the same.
    names : sequence of str, optional
        Names of the columns; by default those of a data frame.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        If 1, show progress bars.

    Returns
    -------
    Redundancy
        ``representatives``, ``representative_of``, ``correlations``, ``groups``, and a ``summary``.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.redundancy import redundant_columns
    >>> rng = np.random.default_rng(0)
    >>> height, weight = rng.normal(170.0, 10.0, 50), rng.normal(70.0, 10.0, 50)
    >>> found = redundant_columns(np.column_stack([height, weight, height / 2.54, -weight]))
    >>> found
    Redundancy(2 of 4 columns say the same as another (|r| ≥ 0.95); 2 are left.)
    >>> sorted(sorted(group.tolist()) for group in found.groups)
    [[0, 2], [1, 3]]
    """
    check_scalar(above, "above", Real)
    if not 0.0 < above <= 1.0:
        raise ValueError(f"above={above!r} must be above 0 and at most 1.")
    check_scalar(verbose, "verbose", Integral, min_val=0)
    called = column_names(X) if names is None else [str(name) for name in names]
    X = as_matrix(X)
    if called is not None and len(called) != X.shape[1]:
        raise ValueError(f"names has {len(called)} names, but X has {X.shape[1]} columns.")
    kept = columns_named(keep, "keep", X.shape[1], called)
    return redundancy_of(X, float(above), kept, called, n_jobs, verbose)


class DropRedundant(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Drop the columns that say the same as another.

    Of columns whose absolute correlation is at least ``above``, one stays, as :func:`redundant_columns` describes.
    Constant columns stay; :class:`sklearn.feature_selection.VarianceThreshold` drops them.

    Parameters
    ----------
    above : float, default=0.95
        Absolute correlation from which two columns say the same, above 0 and at most 1.
    keep : list of str or int, optional
        Columns that stay, by name or number, whether or not they say the same.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        If 1, show progress bars.

    Attributes
    ----------
    redundancy_ : Redundancy
        The representative of each column, the correlation with it, and the groups.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen in ``fit``, if all of them are strings.

    See Also
    --------
    sklearn.feature_selection.VarianceThreshold : Drop columns that hardly vary.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.redundancy import DropRedundant
    >>> rng = np.random.default_rng(0)
    >>> height, weight = rng.normal(170.0, 10.0, 50), rng.normal(70.0, 10.0, 50)
    >>> X = np.column_stack([height, weight, height + rng.normal(0.0, 1.0, 50)])
    >>> DropRedundant().fit_transform(X).shape
    (50, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "above": [Interval(Real, 0, 1, closed="right")],
        "keep": ["array-like", None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    redundancy_: Redundancy

    def __init__(self, above: float = 0.95, *, keep: Any = None, n_jobs: int | None = None, verbose: int = 0) -> None:
        self.above = above
        self.keep = keep
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - present for API consistency
        """Find the columns that say the same as another.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._validate_params()
        X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32])
        names = column_names(None, self)
        kept = columns_named(self.keep, "keep", X.shape[1], names)
        self.redundancy_ = redundancy_of(X, float(self.above), kept, names, self.n_jobs, self.verbose)
        return self

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        support = np.zeros(self.n_features_in_, dtype=np.bool_)
        support[self.redundancy_.representatives] = True
        return support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def redundancy_of(
    X: Any,
    above: float,
    keep: Indices,
    names: Sequence[str] | None,
    n_jobs: int | None,
    verbose: int,
    n_missing: Indices | None = None,
) -> Redundancy:
    """Find the columns that say the same; of these, those with the fewest values filled in come first."""
    d = X.shape[1]
    n_threads = number_of_threads(n_jobs)
    with one_thread():
        columns = FixedPointColumns(canonical(X), above, parallel=n_threads != 1)
        workers = Parallel(n_jobs=n_threads, require="sharedmem", return_as="generator")
        degree, centrality = _neighbours(columns, workers, verbose)
        order = _order(columns, degree, centrality, keep, names)
        if n_missing is not None:
            order = order[np.lexsort((n_missing[order], ~np.isin(order, keep)))]
        representative_of = _representatives(columns, order, keep, workers, verbose)
        correlations = np.ones(d)
        others = np.flatnonzero(representative_of != np.arange(d))
        correlations[others] = columns.correlations(others, representative_of[others])
    representatives = np.flatnonzero(representative_of == np.arange(d))
    return Redundancy(representatives, representative_of, correlations, columns.constant, above)


def _neighbours(columns: FixedPointColumns, workers: Parallel, verbose: int) -> tuple[Indices, Float]:
    """Return how many others each column is like, and the sum of its absolute correlations with them.

    Both are sums of whole numbers, so they depend neither on the order of columns nor on that of blocks.
    """
    d = columns.shape[1]
    degree, centrality = np.zeros(d, dtype=np.intp), np.zeros(d)
    tiles = columns.tiles(np.arange(d))
    pairs = [(first, second) for place, first in enumerate(tiles) for second in tiles[place:]]

    def counts(first: Indices, second: Indices) -> list[tuple[Indices, Indices, Float]]:
        found = columns.alike(first, second)
        if found is None:
            return []
        if first is second:
            np.fill_diagonal(found.mask, False)
        sides = [(first, 1)] if first is second else [(first, 1), (second, 0)]
        return [
            (index, np.count_nonzero(found.mask, axis=axis), columns.centrality(*found, axis)) for index, axis in sides
        ]

    with counting(len(pairs), verbose, "Correlations", "block") as advance:
        for found in workers(delayed(counts)(*pair) for pair in pairs):
            for index, count, strength in found:
                degree[index] += count
                centrality[index] += strength
            advance(1)
    return degree, centrality


def _order(
    columns: FixedPointColumns, degree: Indices, centrality: Float, keep: Indices, names: Sequence[str] | None
) -> Indices:
    """Return the columns that are like others, in the order in which they become representatives."""
    index = np.flatnonzero(degree)
    character = columns.character(index)
    by_name = np.zeros(len(index))
    if names is not None:
        own = [str(names[column]) for column in index.tolist()]
        place = {name: number for number, name in enumerate(sorted(set(own)))}
        by_name = np.array([place[name] for name in own])
    ascending = (character.digest, by_name)
    descending = (character.evenness, character.n_distinct, centrality[index], degree[index], np.isin(index, keep))
    return np.asarray(index[np.lexsort((*ascending, *(-each.astype(np.float64) for each in descending)))])


def _representatives(
    columns: FixedPointColumns, order: Indices, kept: Indices, workers: Parallel, verbose: int
) -> Indices:
    """Return the representative of each column, given the order of those that are like others."""
    d = columns.shape[1]
    representative_of = np.arange(d)
    strength = np.full(d, -1.0)  # of the correlation of a column with its representative
    strength[kept] = np.inf
    is_open = np.zeros(d, dtype=np.bool_)
    is_open[order] = True
    is_open[kept] = False

    def closest(chosen: Indices, tile: Indices) -> tuple[Indices, Float, Indices] | None:
        """Return the columns of a tile, how much they are like one of those chosen, and which of them it is."""
        found = columns.alike(chosen, tile)
        if found is None:
            return None
        likeness = np.where(found.mask, found.strength, -1.0)
        best = likeness.argmax(axis=0)  # the first of several, so the first in the order
        return tile, likeness[best, np.arange(len(tile))], chosen[best]

    with counting(len(order), verbose, "Representatives", "column") as advance:
        advance(len(order) - int(is_open.sum()))
        for chosen in _chosen(columns, order, kept, is_open):
            n_open = int(is_open.sum())
            is_open[chosen], strength[chosen] = False, np.inf
            tiles = columns.tiles(order[strength[order] < np.inf])
            for found in workers(delayed(closest)(chosen, tile) for tile in tiles):
                if found is not None:
                    tile, likeness, nearest = found
                    better = likeness > strength[tile]
                    closer = tile[better]
                    strength[closer], representative_of[closer] = likeness[better], nearest[better]
                    is_open[closer] = False
            advance(n_open - int(is_open.sum()))
    return representative_of


def _chosen(columns: FixedPointColumns, order: Indices, kept: Indices, is_open: Mask) -> Iterator[Indices]:
    """Yield representatives in blocks, as long as columns are open; the caller closes those that they represent."""
    width = columns.tile_width
    first = order[np.isin(order, kept)]
    for start in range(0, len(first), width):
        yield first[start : start + width]
    while len(block := order[is_open[order]][:width]):
        found = columns.alike(block, block)
        is_free = np.ones(len(block), dtype=np.bool_)
        if found is not None:
            for place in range(len(block)):
                if is_free[place]:
                    is_free[place + 1 :] &= ~found.mask[place, place + 1 :]
        yield block[is_free]
