"""What a selection is made of and what it is worth, without labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ufselect._backend.columns import Columns, Float, Indices, column_moments
from ufselect.base import BaseSelector
from ufselect.metrics import nearest_neighbors, neighborhood_overlap, selection_stability
from ufselect.solvers.greedy import ridge_path

_MOST_SAMPLES = 1000
_NEIGHBORS = 5


@dataclass(frozen=True)
class Explanation:
    """What one feature carries, and what stands for it.

    Attributes
    ----------
    feature, rank : int
        Its column number, and its rank; 1 is best.
    score : float
        Larger is better.
    selected : bool
    alone : float or None
        Share of the learned embedding that it explains by itself; None where the method learns no embedding.
    gain : float or None
        What it adds to the share that the features before it in the ranking explain; None beyond the structure curve.
    covered : float or None
        Share of its variance that the selected features, itself left out, explain (R² adjusted for their
        number); None where there are about as many of them as samples.
    likest : tuple of (int, float)
        The selected features, itself left out, that correlate most with it, and their correlations.
    """

    feature: int
    rank: int
    score: float
    selected: bool
    alone: float | None
    gain: float | None
    covered: float | None
    likest: tuple[tuple[int, float], ...]


def explain_features(selector: BaseSelector, X: Any, features: Sequence[int], n_likest: int = 3) -> list[Explanation]:
    """What each of these features carries of the structure, and which selected features stand for it.

    Parameters
    ----------
    selector : fitted selector
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data it was fitted on.
    features : sequence of int
        Column numbers.
    n_likest : int
        How many of the selected features to name.

    Returns
    -------
    list of Explanation

    Examples
    --------
    >>> from ufselect import MCFS
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import explain_features
    >>> data = make_planted_clusters(random_state=0)
    >>> best, worst = explain_features(MCFS(10, n_clusters=6).fit(data.X), data.X, [0, 1000])
    >>> best.covered > worst.covered
    True
    """
    chosen = np.flatnonzero(selector.get_support())
    selected = dense_columns(X, chosen)
    return [_explained(selector, dense_columns(X, [j])[:, 0], int(j), chosen, selected, n_likest) for j in features]


def _explained(
    selector: BaseSelector, x: Float, feature: int, chosen: Indices, selected: Float, n_likest: int
) -> Explanation:
    others = chosen != feature
    correlations = selected[:, others].T @ x / len(x)
    order = np.argsort(-np.abs(correlations), kind="stable")[:n_likest]
    rank = int(selector.ranking_[feature])
    return Explanation(
        feature,
        rank,
        float(selector.scores_[feature]),
        bool(rank <= selector.n_features_),
        _share_alone(x, getattr(selector, "embedding_", None)),
        _gain(getattr(selector, "structure_curve_", None), rank),
        _adjusted_share(selected[:, others], x),
        tuple((int(chosen[others][place]), float(correlations[place])) for place in order),
    )


def structure_kept(selector: BaseSelector) -> float | None:
    """The share of the learned embedding that the selected features explain; None where no embedding is learned."""
    curve = getattr(selector, "structure_curve_", None)
    return None if curve is None else float(curve[min(selector.n_features_, len(curve)) - 1])


def neighborhoods_kept(
    X: Any, chosen: Sequence[Any], *, standardize: bool = True, random_state: Any = 0
) -> list[float]:
    """For every selection the mean Jaccard index of a sample's five nearest neighbours, by all columns and by its own.

    Of more than 1000 samples, 1000 are drawn.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    chosen : sequence of array-like of int
        Column numbers of each selection.
    standardize : bool
        Whether distances are between columns of unit variance.
    random_state : int
        Draws the samples.

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
    points = _drawn_rows(X, min(_MOST_SAMPLES, X.shape[0]), random_state)
    if standardize:
        _, variance = column_moments(X)
        scales = 1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))
        points = sp.csr_array(points @ sp.diags_array(scales)) if sp.issparse(points) else points * scales
    k = min(_NEIGHBORS, points.shape[0] - 1)
    before = nearest_neighbors(_columns_of(points, range(X.shape[1])), k)
    return [neighborhood_overlap(before, nearest_neighbors(_columns_of(points, which), k)) for which in chosen]


def draws_of_samples(n: int, n_draws: int, share: float = 0.8, random_state: Any = 0) -> list[Indices]:
    """Random parts of the samples, each in order, for :func:`stability_over`."""
    rng = np.random.default_rng(random_state)
    return [np.sort(rng.choice(n, size=max(round(share * n), 1), replace=False)) for _ in range(n_draws)]


def stability_over(selector: BaseSelector, X: Any, draws: Iterable[Indices]) -> float:
    """Agreement, corrected for chance, of what a selector takes of different parts of the samples.

    Parameters
    ----------
    selector : selector
        Its parameters count, whether it is fitted does not.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    draws : iterable of ndarray of int
        Two or more, such as :func:`draws_of_samples`.

    Returns
    -------
    float
        See :func:`ufselect.metrics.selection_stability`.

    Examples
    --------
    >>> from ufselect import LaplacianScore
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import draws_of_samples, stability_over
    >>> X = make_planted_clusters(random_state=0).X
    >>> round(stability_over(LaplacianScore(30), X, draws_of_samples(len(X), 3)), 1)
    0.9
    """
    rows_of = X.tocsr() if sp.issparse(X) else X
    found = [np.flatnonzero(clone(selector).fit(rows_of[rows]).get_support()) for rows in draws]
    return selection_stability(found, X.shape[1])


def selection_overlap(selections: Sequence[Any]) -> Float:
    """The Jaccard index of every pair of selections.

    Examples
    --------
    >>> from ufselect.inspection import selection_overlap
    >>> selection_overlap([[0, 1], [1, 2, 3]])
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """
    sets = [set(map(int, selection)) for selection in selections]
    return np.array([[len(a & b) / max(len(a | b), 1) for b in sets] for a in sets])


def dense_columns(X: Any, index: Any, *, standardize: bool = True) -> Float:
    """The named columns, dense, as they are or with mean 0 and variance 1; constant ones are then 0."""
    part = X[:, index]
    dense = (part.toarray() if sp.issparse(part) else part).astype(np.float64)
    if not standardize:
        return dense
    constant = dense.min(axis=0) == dense.max(axis=0)
    dense -= dense.mean(axis=0)
    dense[:, constant] = 0.0
    lengths = np.sqrt(np.mean(dense**2, axis=0))
    return dense / np.where(lengths > 0.0, lengths, 1.0)


def _share_alone(x: Float, embedding: Float | None) -> float | None:
    """The gain of x where it is the first column taken, by the same ridge as in the structure curve."""
    if embedding is None:
        return None
    if not x.any():
        return 0.0
    Z = embedding.astype(np.float64) - embedding.mean(axis=0, dtype=np.float64)
    return float(ridge_path(Columns(x[:, None], centered=True), Z, 1).gains[0])


def _gain(curve: Float | None, rank: int) -> float | None:
    if curve is None or rank > len(curve):
        return None
    return float(curve[rank - 1] - (curve[rank - 2] if rank > 1 else 0.0))


def _adjusted_share(selected: Float, x: Float) -> float | None:
    """1 − (1 − R²)(n − 1)/(n − m − 1) of the regression of x on m columns; not below zero."""
    n, m = selected.shape
    if m >= n - 1:
        return None
    if m == 0 or not x.any():
        return 0.0
    residual = x - selected @ np.linalg.lstsq(selected, x, rcond=None)[0]
    return max(0.0, 1.0 - float(residual @ residual) / float(x @ x) * (n - 1) / (n - m - 1))


def _columns_of(points: Any, index: Any) -> Any:
    """The named columns, laid out by rows: in another order the same sums round otherwise, and part equal distances."""
    part = points[:, np.asarray(index)]
    return part if sp.issparse(part) else np.ascontiguousarray(part)


def _drawn_rows(X: Any, count: int, random_state: Any) -> Any:
    rows_of = X.tocsr() if sp.issparse(X) else X
    if count == X.shape[0]:
        return rows_of
    return rows_of[np.sort(np.random.default_rng(random_state).choice(X.shape[0], size=count, replace=False))]
