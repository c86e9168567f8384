"""How good a selection is: clusters beside classes it was not shown, and what it keeps of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.special import entr
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs import min_max_axis

Float = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_ROUNDING = 1e-12


def matched_accuracy(classes: Any, clusters: Any) -> float:
    """Share of samples whose cluster is matched to their class, under the best one-to-one matching.

    Parameters
    ----------
    classes, clusters : array-like of shape (n_samples,)

    Examples
    --------
    >>> from ufselect.metrics import matched_accuracy
    >>> matched_accuracy([0, 0, 1, 1], [1, 1, 0, 1])
    0.75
    """
    _, _, _, tables = _cross(classes, np.asarray(clusters)[None])
    return float(_matched_shares(tables)[0])


def normalized_mutual_information(classes: Any, clusters: Any, average: str = "geometric") -> float:
    """Mutual information of classes and clusters over a mean of their entropies, between 0 and 1.

    It is 1 where both are a single group, and 0 where only one of them is.

    Parameters
    ----------
    classes, clusters : array-like of shape (n_samples,)
    average : {"geometric", "arithmetic", "max"}
        The mean.

    Examples
    --------
    >>> from ufselect.metrics import normalized_mutual_information
    >>> round(normalized_mutual_information([0, 0, 1, 1], [1, 1, 0, 1]), 4)
    0.3456
    """
    entropies = _entropies(*_cross(classes, np.asarray(clusters)[None]))
    return float(_normalized_information(*entropies, average)[0])


def agreement_of_runs(classes: Any, runs: Any) -> dict[str, Float]:
    """Accuracy and mutual information of several clusterings at once.

    Parameters
    ----------
    classes : array-like of shape (n_samples,)
    runs : array-like of shape (n_runs, n_samples)
        A clustering in every row; quickest as integers from 0 on.

    Returns
    -------
    dict of str to ndarray of shape (n_runs,)
        "acc" is :func:`matched_accuracy`; "nmi", "nmi_arithmetic" and "nmi_max" are
        :func:`normalized_mutual_information` by the geometric mean, the arithmetic mean, and the maximum.

    Examples
    --------
    >>> from ufselect.metrics import agreement_of_runs
    >>> agreement_of_runs([0, 0, 1, 1], [[1, 1, 0, 0], [1, 1, 0, 1]])["acc"]
    array([1.  , 0.75])
    """
    classes, clusters, cells, tables = _cross(classes, runs)
    entropies = _entropies(classes, clusters, cells, tables)
    return {
        "acc": _matched_shares(tables),
        "nmi": _normalized_information(*entropies, "geometric"),
        "nmi_arithmetic": _normalized_information(*entropies, "arithmetic"),
        "nmi_max": _normalized_information(*entropies, "max"),
    }


def least_nmi(accuracy: Any, class_sizes: Any) -> Float | float:
    """The least normalized mutual information that Fano's inequality allows at a given matched accuracy.

    Where there are no more clusters than classes, c, the matching predicts either from the other with an error of
    e = 1 − accuracy at most. So H(class | cluster) and H(cluster | class) are up to g = h(e) + e log(c − 1),
    h(e) = −e log e − (1 − e) log(1 − e), which is to say that

        I ≥ H(class) − g    and    H(cluster) ≤ I + g.

    I over the mean of H(class) and I + g, any of the three, rises with I, so NMI ≥ 1 − g/H(class), or 0 if that is
    negative. Less than 1/c, the mean over the c cyclic shifts of a matching, is never the best, and counts as 1/c.

    It holds for means: g is concave and rises up to e = 1 − 1/c, so the bound is convex in the accuracy and never
    falls, and the mean NMI over runs or feature counts is no less than the bound at the mean accuracy (Jensen). It
    holds for the best of several settings: their best NMI is no less than that of the one with the best accuracy.

    Parameters
    ----------
    accuracy : float or array-like
        Between 0 and 1; an array comes back for an array.
    class_sizes : array-like of shape (n_classes,)
        How many samples each class has, or their shares; two classes or more.

    Examples
    --------
    >>> from ufselect.metrics import least_nmi
    >>> least_nmi([0.25, 0.75, 1.0], class_sizes=[50, 50, 50, 50]).round(3)
    array([0.   , 0.396, 1.   ])
    """
    sizes = np.asarray(class_sizes, dtype=np.float64)
    if sizes.ndim != 1 or len(sizes) < 2 or not np.all((sizes > 0.0) & np.isfinite(sizes)):
        raise ValueError("class_sizes holds the positive sizes of two or more classes")
    c, entropy = len(sizes), entr(sizes / sizes.sum()).sum()
    error = 1.0 - np.maximum(_checked_shares(accuracy, "accuracy"), 1.0 / c)
    unexplained = entr(error) + entr(1.0 - error) + error * np.log(c - 1)
    return np.maximum(1.0 - unexplained / entropy, 0.0)


def agrees_with_fano(accuracy: Any, nmi: Any, class_sizes: Any, rounding: float = 0.0) -> bool:
    """Whether clusters with this accuracy can have so little mutual information, by :func:`least_nmi`.

    Parameters
    ----------
    accuracy, nmi : float or array-like
        Between 0 and 1; of arrays every pair has to agree.
    class_sizes
        As for :func:`least_nmi`.
    rounding : float
        How far off printed figures may be: 5e-5 for one such as 79.29 %.

    Examples
    --------
    >>> from ufselect.metrics import agrees_with_fano
    >>> [agrees_with_fano(0.75, nmi, class_sizes=[50, 50, 50, 50]) for nmi in (0.35, 0.45)]
    [False, True]
    """
    accuracy, nmi = _checked_shares(accuracy, "accuracy"), _checked_shares(nmi, "nmi")
    least = least_nmi(np.maximum(accuracy - rounding, 0.0), class_sizes)
    return bool(np.all(nmi + rounding + _ROUNDING >= least))


def redundancy(X: Any) -> float:
    """Mean absolute correlation over all pairs of columns of X, dense or sparse; 0 if there is but one column.

    A constant column correlates with nothing.

    Examples
    --------
    >>> from ufselect.metrics import redundancy
    >>> round(redundancy([[0, 0, 5], [1, 2, 5], [2, 4, 5]]), 4)
    0.3333
    """
    correlations = absolute_correlations(X)
    m = len(correlations)
    return float((correlations.sum() - correlations.trace()) / max(m * (m - 1), 1))


def absolute_correlations(X: Any) -> Float:
    """|ρ| of all pairs of columns of X, dense or sparse, a dense array; a constant column correlates with nothing.

    Examples
    --------
    >>> from ufselect.metrics import absolute_correlations
    >>> absolute_correlations([[0, 0, 5], [1, 2, 5], [2, 4, 5]])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=np.float64)
    products, constant = _centered_products(X)
    lengths = np.sqrt(np.maximum(products.diagonal(), 0.0))
    # A centred constant is rounding errors, and those would correlate.
    lengths[constant | (lengths == 0.0)] = np.inf
    return np.minimum(np.abs(products) / lengths / lengths[:, None], 1.0)


def nearest_neighbors(X: Any, n_neighbors: int = 5) -> Indices:
    """Indices (n_samples, n_neighbors) of the nearest other samples, by Euclidean distance, X dense or sparse.

    Examples
    --------
    >>> from ufselect.metrics import nearest_neighbors
    >>> nearest_neighbors([[0.0], [1.0], [3.0]], n_neighbors=1).ravel()
    array([1, 0, 1])
    """
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
    if n_neighbors >= X.shape[0]:
        raise ValueError(f"n_neighbors={n_neighbors} has to be less than the number of samples, {X.shape[0]}")
    # The search may multiply out the squares, which cancel beside a large mean.
    points = X if sp.issparse(X) else X - X.mean(axis=0)
    # Asked without points, it leaves a sample out of its own neighbours by index, duplicates or not.
    return NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors(return_distance=False)


def neighborhood_overlap(before: Any, after: Any) -> float:
    """Mean Jaccard index of the neighbours of a sample, each from :func:`nearest_neighbors`.

    Examples
    --------
    >>> from ufselect.metrics import neighborhood_overlap
    >>> round(neighborhood_overlap([[1, 2], [0, 2]], [[2, 1], [2, 3]]), 4)
    0.6667
    """
    before, after = np.asarray(before), np.asarray(after)
    if before.ndim != 2 or after.ndim != 2 or len(before) != len(after) or 0 in before.shape + after.shape:
        raise ValueError(f"Neighbours of shapes {before.shape} and {after.shape} are not of the same samples")
    # No index is twice in one list, so what is twice in both is shared.
    both = np.sort(np.hstack([before, after]), axis=1)
    shared = np.count_nonzero(both[:, 1:] == both[:, :-1], axis=1)
    return float(np.mean(shared / (both.shape[1] - shared)))


def neighborhood_preservation(X: Any, X_selected: Any, n_neighbors: int = 5) -> float:
    """Mean Jaccard index of the nearest neighbours of a sample in X and in its selected columns.

    Examples
    --------
    >>> from ufselect.metrics import neighborhood_preservation
    >>> X = [[0.0, 0.0], [1.0, 9.0], [3.0, 0.0], [4.0, 9.0]]
    >>> neighborhood_preservation(X, [[x] for x, _ in X], n_neighbors=1)
    0.0
    """
    return neighborhood_overlap(nearest_neighbors(X, n_neighbors), nearest_neighbors(X_selected, n_neighbors))


def nearest_neighbor_accuracy(X: Any, classes: Any) -> float:
    """Share of samples whose nearest other sample is of their class: 1-nn, leaving one out.

    Examples
    --------
    >>> from ufselect.metrics import nearest_neighbor_accuracy
    >>> nearest_neighbor_accuracy([[0.0], [1.0], [5.0], [6.5]], ["a", "a", "b", "a"])
    0.5
    """
    nearest, classes = nearest_neighbors(X, 1)[:, 0], np.asarray(classes)
    if classes.shape != nearest.shape:
        raise ValueError(f"Classes of shape {classes.shape} are not of {len(nearest)} samples")
    classes = _numbered(classes)
    return float(np.mean(classes[nearest] == classes))


def selection_stability(selections: Sequence[Any], n_features: int) -> float:
    """Agreement of M selections among d features, corrected for chance.

    1 − [(1/d) Σ_f s_f²] / [(k̄/d)(1 − k̄/d)],  s_f² = M/(M−1) p_f (1 − p_f), where p_f is the share of the selections
    that hold feature f and k̄ their mean size. It is 1 where all agree, on average 0 where they are random (a little
    less where their sizes differ), and never below −1/(M−1).

    Parameters
    ----------
    selections : sequence of array-like of int
        The indices of the selected features; sizes may differ.
    n_features : int
        How many there were to choose from.

    References
    ----------
    S. Nogueira, K. Sechidis and G. Brown, On the stability of feature selection algorithms, JMLR 18(174), 2018.

    Examples
    --------
    >>> from ufselect.metrics import selection_stability
    >>> round(selection_stability([[0, 1], [1, 0], [0, 2]], n_features=4), 4)
    0.3333
    """
    M = len(selections)
    if M < 2:
        raise ValueError(f"Stability takes two or more selections, not {M}")
    times = np.bincount(np.concatenate([_indices(chosen, n_features) for chosen in selections]), minlength=n_features)
    if times.sum() in (0, M * n_features):
        return 1.0
    share = times / M
    return float(1.0 - M / (M - 1) * np.mean(share * (1.0 - share)) / (share.mean() * (1.0 - share.mean())))


def _cross(classes: Any, runs: Any) -> tuple[Indices, Indices, Indices, Indices]:
    """Classes (n,), clusters and cells (r, n) with no number in two rows, and the sizes of the cells (r, c, k)."""
    classes, runs = np.asarray(classes), np.asarray(runs)
    if classes.ndim != 1 or runs.ndim != 2 or runs.shape[1] != len(classes):
        raise ValueError(f"Labels of shapes {classes.shape} and {runs.shape} are not of the same samples")
    if runs.size == 0:
        raise ValueError("There are no labels")
    classes = _numbered(classes)
    # Numbers below n may stand, for sorting takes longest: one not in use is an empty column.
    small = runs.dtype.kind in "iu" and runs.min() >= 0 and runs.max() < len(classes)
    runs = runs.astype(np.intp) if small else _numbered(runs)
    r, c, k = len(runs), classes.max() + 1, runs.max() + 1
    clusters = runs + k * np.arange(r)[:, None]
    cells = runs + k * classes + c * k * np.arange(r)[:, None]
    return classes, clusters, cells, np.bincount(cells.ravel(), minlength=r * c * k).reshape(r, c, k)


def _numbered(labels: npt.NDArray[Any]) -> Indices:
    if labels.dtype.kind not in "iu":
        labels = check_array(labels, ensure_2d=False, dtype=None, input_name="labels")
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def _matched_shares(tables: Indices) -> Float:
    rows, columns = np.array([linear_sum_assignment(table, maximize=True) for table in tables]).swapaxes(0, 1)
    return tables[np.arange(len(tables))[:, None], rows, columns].sum(axis=1) / tables[0].sum()


def _entropies(classes: Indices, clusters: Indices, cells: Indices, tables: Indices) -> tuple[Float, Float, Float]:
    """H(class), and H(cluster) and H(class, cluster) of every run."""
    class_sizes, cluster_sizes = tables[0].sum(axis=1), tables.sum(axis=1)
    return _entropy(class_sizes, classes), _entropy(cluster_sizes, clusters), _entropy(tables, cells)


def _entropy(sizes: Indices, groups: Indices) -> Float:
    """(1/n) Σᵢ log(n/nᵢ) of every row, nᵢ the size of the group of sample i: exactly 0 for a single group."""
    logs = np.log(np.arange(1, groups.shape[-1] + 1))
    return np.mean(logs[-1] - logs[sizes.ravel()[groups] - 1], axis=-1)


def _normalized_information(a: Float, b: Float, of_both: Float, average: str) -> Float:
    means = {"geometric": np.sqrt(a * b), "arithmetic": (a + b) / 2.0, "max": np.maximum(a, b)}
    if average not in means:
        raise ValueError(f"average is one of {', '.join(means)}, not {average!r}")
    # 0 of 0 is all there is to know where both entropies are 0, and nothing where one is.
    shares = np.where(means["max"] > 0.0, 0.0, 1.0)
    np.divide(a + b - of_both, means[average], out=shares, where=means[average] > 0.0)
    return np.clip(shares, 0.0, 1.0)


def _checked_shares(values: Any, name: str) -> Float:
    values = np.asarray(values, dtype=np.float64)
    if not np.all((values >= 0.0) & (values <= 1.0)):
        raise ValueError(f"{name} has to lie between 0 and 1")
    return values


def _centered_products(X: Any) -> tuple[Float, npt.NDArray[np.bool_]]:
    """(X − 1mᵀ)ᵀ(X − 1mᵀ) with m the means, and which columns are constant."""
    means = np.asarray(X.mean(axis=0)).ravel()
    if sp.issparse(X):
        # XᵀX − n mmᵀ keeps X sparse, and cancels little where most entries are zero.
        lowest, highest = min_max_axis(X, axis=0)
        return (X.T @ X).toarray() - X.shape[0] * np.outer(means, means), lowest == highest
    centered = X - means
    return centered.T @ centered, X.min(axis=0) == X.max(axis=0)


def _indices(chosen: Any, n_features: int) -> Indices:
    index = np.asarray(chosen)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise ValueError("A selection is a row of integers")
    if np.any((index < 0) | (index >= n_features)):
        raise ValueError(f"A selection has indices outside of 0 to {n_features - 1}")
    if len(np.unique(index)) < len(index):
        raise ValueError("A selection has an index twice")
    return index.astype(np.intp)
