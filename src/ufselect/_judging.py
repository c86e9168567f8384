"""What is measured of any selection, whoever made it: redundancy, neighbours kept, agreement with labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_scalar
from sklearn.utils.validation import has_fit_parameter

from ufselect._utils.policy import LARGEST_DENSE_SYSTEM
from ufselect._utils.seeds import seed_of
from ufselect._utils.types import Indices
from ufselect.base import BaseSelector
from ufselect.base.screening import Panel, panel_of
from ufselect.columns.batches import Batches
from ufselect.columns.copies import first_equal_columns
from ufselect.columns.dense import Columns, column_extremes, column_moments, constant_columns, wide_column_blocks
from ufselect.columns.groups import numbered_by_equality
from ufselect.columns.tabular import as_matrix, column_indices, column_names, dense_part
from ufselect.metrics import clustering_agreement, nearest_neighbors, neighborhood_overlap, redundancy

RANDOM = "random"
"""The name of the row for random selections."""

EVEN = "evenly spaced"
"""The name of the row for columns at equal distances, if the columns have an order."""

AGREEMENT = ("acc", "nmi")
"""The figures that need labels."""

_MOST_SAMPLES = 1000
_NEIGHBORS = 5


def figures_of(X: Any, selections: Sequence[Indices], *, standardize: bool, classes: Any) -> list[dict[str, float]]:
    """Measure selections of one table.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    selections : sequence of ndarray of int
        The columns of each selection.
    standardize : bool
        Whether neighbours and clusters are those of columns scaled to unit variance.
    classes : ndarray of int of shape (n,) or None
        As :func:`classes_in` returns them.

    Returns
    -------
    list of dict
        "redundancy", "neighborhoods" and, with classes, "acc" and "nmi" of each selection.
    """
    kept = neighborhoods_kept(X, selections, standardize=standardize)
    return [
        {
            "redundancy": _redundancy(X[:, chosen]),
            "neighborhoods": share,
            **_agreement(X, chosen, standardize, classes),
        }
        for chosen, share in zip(selections, kept, strict=True)
    ]


def _redundancy(X: Any) -> float:
    """Return :func:`ufselect.metrics.redundancy`; of many columns without all their correlations at once."""
    m = X.shape[1]
    if m <= LARGEST_DENSE_SYSTEM:
        return redundancy(X)
    varying = np.flatnonzero(~constant_columns(X))
    columns = Columns.prepared(X[:, varying].astype(np.float64), center=True, scale="standard")
    lengths = np.sqrt(columns.squared_norms())
    products = ((block, columns.transposed_matmul(values)) for block, values in wide_column_blocks(columns))
    total = sum(float(np.sum(np.abs(each) / lengths[:, None] / lengths[block])) for block, each in products)
    return (total - len(varying)) / (m * (m - 1))


def _agreement(X: Any, chosen: Indices, standardize: bool, classes: Any) -> dict[str, float]:
    """Return ACC and NMI of k-means on the selected columns; empty without classes."""
    if classes is None:
        return {}
    found = clustering_agreement(dense_part(X, chosen, standardize=standardize), classes)
    return {name: found[name] for name in AGREEMENT}


def means_of(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of every figure over one or more selections."""
    return {name: float(np.mean([figures[name] for figures in several])) for name in several[0]}


def spreads_of(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the standard deviation of every figure over several selections; empty for a single one."""
    if len(several) < 2:
        return {}
    return {name: float(np.std([figures[name] for figures in several], ddof=1)) for name in several[0]}


def classes_in(labels: npt.ArrayLike | None, n_samples: int) -> npt.NDArray[np.intp] | None:
    """Return labels as classes 0 … c − 1; None if there are none.

    Raises
    ------
    ValueError
        If there is not one label for each sample, or if there are fewer than two classes.
    """
    if labels is None:
        return None
    values = np.asarray(labels, dtype=object)
    if values.shape != (n_samples,):
        raise ValueError(
            f"labels have the shape {values.shape}, but there must be one for each of {n_samples} samples."
        )
    different, classes = numbered_by_equality(values.tolist(), "labels")
    if len(different) < 2:
        raise ValueError("labels are the same for all samples; at least 2 classes are needed.")
    return classes


def neighborhoods_kept(
    X: Any, chosen: Sequence[Any], *, standardize: bool = True, random_state: Any = 0
) -> list[float]:
    """Return how well each selection preserves the nearest neighbours of the samples.

    This is the Jaccard index of the five nearest neighbours by all columns and the five by the selected columns,
    averaged over the samples. If there are more than 1000 samples, it is estimated on a random 1000.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    chosen : sequence of array-like
        The columns of each selection, by index, or by name if X is a data frame.
    standardize : bool
        Whether to scale the columns to unit variance first.
    random_state : int, RandomState instance or None, default=0
        Seed of the random subset of samples.

    Returns
    -------
    list of float

    Examples
    --------
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import neighborhoods_kept
    >>> X = make_planted_clusters(random_state=0).X
    >>> neighborhoods_kept(X, [range(X.shape[1])])
    [1.0]
    """
    names, X = column_names(X), as_matrix(X)
    points = (X.tocsr() if sp.issparse(X) else X)[drawn(X.shape[0], _MOST_SAMPLES, random_state)]
    if standardize:
        _, variance = column_moments(X)
        scales = 1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))
        points = sp.csr_array(points @ sp.diags_array(scales)) if sp.issparse(points) else points * scales
    k = min(_NEIGHBORS, points.shape[0] - 1)
    before = nearest_neighbors(_columns_of(points, np.arange(X.shape[1])), k)
    selections = [column_indices(each, X.shape[1], names) for each in chosen]
    return [neighborhood_overlap(before, nearest_neighbors(_columns_of(points, which), k)) for which in selections]


def _columns_of(points: Any, index: Indices) -> Any:
    """Return some columns in row-major order: any other order rounds differently and breaks ties of distances."""
    part = points[:, index]
    return part if sp.issparse(part) else np.ascontiguousarray(part)


def drawn(n: int, count: int, random_state: Any) -> Any:
    """Return the indices of some of n samples, sorted; a slice of all if there are no more."""
    seed = seed_of(random_state)
    if count >= n:
        return slice(None)
    return np.sort(np.random.default_rng(seed).choice(n, size=count, replace=False))


def random_selections(n_columns: int, count: int, n_random: int, random_state: int) -> list[Indices]:
    """Draw random selections with the same number of columns."""
    check_scalar(n_random, "n_random", Integral, min_val=0)
    rng = np.random.default_rng(random_state)
    return [rng.choice(n_columns, size=count, replace=False) for _ in range(n_random)]


def settled(selector: BaseSelector) -> BaseSelector:
    """Return a silent clone with the numbers of features and clusters of the fitted selector.

    They are the same for all subsets of the samples, so that the selections are comparable.
    """
    found = {
        "n_features_to_select": selector.n_features_,
        "n_clusters": getattr(selector, "n_clusters_", None),
        "verbose": 0,
    }
    return clone(selector).set_params(
        **{key: value for key, value in found.items() if value is not None and hasattr(selector, key)}
    )


def with_known(selector: BaseSelector, **params: Any) -> BaseSelector:
    """Return a clone with other values of those parameters that it has."""
    known = selector.get_params(deep=False)
    changed: BaseSelector = clone(selector).set_params(**{key: params[key] for key in params if key in known})
    return changed


def by_index(selector: BaseSelector, n_columns: int, names: Sequence[str] | None) -> BaseSelector:
    """Return a clone that keeps and excludes columns by index: matrices and subsets of the samples have no names."""
    return _with_panel(selector, panel_of(selector, n_columns, names))


def within_subset(selector: BaseSelector, points: Any, panel: Panel) -> BaseSelector:
    """Return a clone for a subset of the samples; of the columns to keep, it keeps all that say something there."""
    if not len(panel.keep):
        return _with_panel(selector, panel)
    part = points[:, panel.keep]
    extremes = column_extremes(part)
    says = ~constant_columns(part, extremes) & (first_equal_columns(part, extremes) == np.arange(len(panel.keep)))
    return _with_panel(selector, Panel(panel.keep[says], panel.exclude))


def _with_panel(selector: BaseSelector, panel: Panel) -> BaseSelector:
    return with_known(selector, **{key: columns if len(columns) else None for key, columns in panel._asdict().items()})


def evenly_spaced(n_columns: int, count: int) -> Indices:
    """Return columns at equal distances, the first and the last half as far from the ends."""
    return ((np.arange(count) + 0.5) * n_columns / count).astype(np.intp)


def fitted_within(selector: BaseSelector, X: Any, batches: Batches | None) -> BaseSelector:
    """Fit a selector; batches are passed only if there are any, as an author's ``fit`` may not take them."""
    if batches is None:
        return selector.fit(X)
    if not has_fit_parameter(selector, "batch"):
        raise ValueError(f"the fit of {type(selector).__name__} takes no batch.")
    return selector.fit(X, batch=batches.codes)
