"""Quality of a selection: agreement of clusters with known classes, redundancy, preserved neighbours, stability."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_array

from ufselect.columns.batches import numbered_by_equality
from ufselect.columns.dense import Columns, canonical
from ufselect.columns.moments import column_extremes, powers_of_two
from ufselect.graphs.neighbors import nearest_others
from ufselect.solvers.kmeans import kmeans_labels

Float = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

N_RUNS, MAX_ITER, SEED = 20, 100, 5489  # of k-means, as in the published experiments
_SAFE_MAGNITUDE = 1e15  # whose square and its inverse are far from the limits of float32


def matched_accuracy(classes: Any, clusters: Any) -> float:
    """Return the share of samples whose cluster is matched to their class, under the best one-to-one matching.

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
    """Return the mutual information of classes and clusters divided by a mean of their entropies, between 0 and 1.

    It is 1 if both have a single group, and 0 if only one of them has.

    Parameters
    ----------
    classes, clusters : array-like of shape (n_samples,)
    average : {"geometric", "arithmetic", "max"}, default="geometric"
        The mean of the entropies.

    Examples
    --------
    >>> from ufselect.metrics import normalized_mutual_information
    >>> round(normalized_mutual_information([0, 0, 1, 1], [1, 1, 0, 1]), 4)
    0.3456
    """
    entropies = _entropies(*_cross(classes, np.asarray(clusters)[None]))
    return float(_normalized_information(*entropies, average)[0])


def agreement_of_runs(classes: Any, runs: Any) -> dict[str, Float]:
    """Return the accuracy and mutual information of several clusterings.

    Parameters
    ----------
    classes : array-like of shape (n_samples,)
    runs : array-like of shape (n_runs, n_samples)
        One clustering per row; fastest as integers from 0.

    Returns
    -------
    dict of str to ndarray of shape (n_runs,)
        "acc" is :func:`matched_accuracy`; "nmi", "nmi_arithmetic" and "nmi_max" are
        :func:`normalized_mutual_information` with the geometric mean, the arithmetic mean and the maximum.

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


def clustering_agreement(X: Any, classes: Any, n_runs: int = N_RUNS) -> dict[str, float]:
    """Return the mean ACC and NMI of k-means on X over several runs, with one cluster per class.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The selected columns, as k-means sees them.
    classes : array-like of shape (n_samples,)
    n_runs : int, default=20
        Number of runs. Their starts are those of :func:`kmeans_starts`, so every selection gets the same ones.

    Returns
    -------
    dict
        ``acc``, ``nmi`` (over the geometric mean of the entropies), ``nmi_arithmetic``, ``nmi_max``.
    """
    starts = kmeans_starts(len(X), len(np.unique(classes)), n_runs)
    runs = kmeans_labels(X, starts, max_iter=MAX_ITER)
    return {name: float(np.mean(values)) for name, values in agreement_of_runs(classes, runs).items()}


@lru_cache(maxsize=64)
def kmeans_starts(n_samples: int, n_clusters: int, n_runs: int = N_RUNS, seed: int = SEED) -> Indices:
    """Return the indices (n_runs, n_clusters) of the samples at which the centres start.

    All are drawn from one MT19937 stream, as in the published experiments.

    Examples
    --------
    >>> from ufselect.metrics import kmeans_starts
    >>> kmeans_starts(213, 10).shape
    (20, 10)
    """
    stream = np.random.RandomState(seed)
    starts = np.array([_distinct_samples(stream, n_samples, n_clusters) for _ in range(n_runs)])
    starts.flags.writeable = False
    return starts


def redundancy(X: Any) -> float:
    """Return the mean absolute correlation over all pairs of columns of X, dense or sparse; 0 for a single column.

    Constant columns are uncorrelated with all others.

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
    """Return the absolute correlations of all pairs of columns of X, dense or sparse; 0 with a constant column.

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
    # A centred constant column consists of rounding errors, which would correlate.
    lengths[constant | (lengths == 0.0)] = np.inf
    return np.minimum(np.abs(products) / lengths / lengths[:, None], 1.0)


def nearest_neighbors(X: Any, n_neighbors: int = 5) -> Indices:
    """Return the indices (n_samples, n_neighbors) of the nearest other samples by Euclidean distance.

    X may be dense or sparse.

    Examples
    --------
    >>> from ufselect.metrics import nearest_neighbors
    >>> nearest_neighbors([[0.0], [1.0], [3.0]], n_neighbors=1).ravel()
    array([1, 0, 1])
    """
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
    n_others = X.shape[0] - 1
    if not 1 <= n_neighbors <= n_others:
        raise ValueError(f"n_neighbors={n_neighbors} must be between 1 and {n_others}, the number of other samples.")
    return nearest_others(_in_a_safe_unit(X), n_neighbors).index


def _in_a_safe_unit(X: Any) -> Any:
    """Return X in a unit, a power of two, in which squares of its values neither underflow nor overflow."""
    values = X.data if sp.issparse(X) else X
    largest = max(-float(values.min()), float(values.max())) if values.size else 0.0
    if largest == 0.0 or 1.0 / _SAFE_MAGNITUDE <= largest <= _SAFE_MAGNITUDE:
        return X
    return X / X.dtype.type(powers_of_two(largest))


def neighborhood_overlap(before: Any, after: Any) -> float:
    """Return the mean Jaccard index of two sets of neighbours per sample, from :func:`nearest_neighbors`.

    Examples
    --------
    >>> from ufselect.metrics import neighborhood_overlap
    >>> round(neighborhood_overlap([[1, 2], [0, 2]], [[2, 1], [2, 3]]), 4)
    0.6667
    """
    before, after = np.asarray(before), np.asarray(after)
    if before.ndim != 2 or after.ndim != 2 or len(before) != len(after) or 0 in before.shape + after.shape:
        raise ValueError(f"neighbours must be for the same samples, got shapes {before.shape} and {after.shape}")
    # No list has an index twice, so an index that occurs twice is in both.
    both = np.sort(np.hstack([before, after]), axis=1)
    shared = np.count_nonzero(both[:, 1:] == both[:, :-1], axis=1)
    return float(np.mean(shared / (both.shape[1] - shared)))


def neighborhood_preservation(X: Any, X_selected: Any, n_neighbors: int = 5) -> float:
    """Return the mean Jaccard index of the nearest neighbours of a sample in X and in the selected columns.

    Examples
    --------
    >>> from ufselect.metrics import neighborhood_preservation
    >>> X = [[0.0, 0.0], [1.0, 9.0], [3.0, 0.0], [4.0, 9.0]]
    >>> neighborhood_preservation(X, [[x] for x, _ in X], n_neighbors=1)
    0.0
    """
    return neighborhood_overlap(nearest_neighbors(X, n_neighbors), nearest_neighbors(X_selected, n_neighbors))


def nearest_neighbor_accuracy(X: Any, classes: Any) -> float:
    """Return the leave-one-out accuracy of the nearest-neighbour classifier.

    Examples
    --------
    >>> from ufselect.metrics import nearest_neighbor_accuracy
    >>> nearest_neighbor_accuracy([[0.0], [1.0], [5.0], [6.5]], ["a", "a", "b", "a"])
    0.5
    """
    nearest, classes = nearest_neighbors(X, 1)[:, 0], np.asarray(classes)
    if classes.shape != nearest.shape:
        raise ValueError(f"there must be one class for each of the {len(nearest)} samples, got shape {classes.shape}")
    classes = _numbered(classes)
    return float(np.mean(classes[nearest] == classes))


def selection_stability(selections: Sequence[Any], n_features: int) -> float:
    """Return the agreement of M selections among d features, corrected for chance.

    1 − [(1/d) Σ_f s_f²] / [(k̄/d)(1 − k̄/d)],  s_f² = M/(M−1) p_f (1 − p_f), where p_f is the share of the selections
    that contain feature f and k̄ is their mean size. It is 1 if all selections agree, 0 on average if they are random
    (slightly less if their sizes differ), and never below −1/(M−1).

    Parameters
    ----------
    selections : sequence of array-like of int
        Indices of the selected features. The sizes may differ.
    n_features : int
        Number of features selected from.

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
        raise ValueError(f"stability needs at least two selections, got {M}")
    times = np.bincount(np.concatenate([_indices(chosen, n_features) for chosen in selections]), minlength=n_features)
    return stability_of_counts(np.bincount(times, minlength=M + 1))


def stability_of_counts(counts: Any) -> float:
    """Return :func:`selection_stability`, given how many features are in 0, 1, …, M of the selections.

    Examples
    --------
    >>> from ufselect.metrics import stability_of_counts
    >>> round(stability_of_counts([1, 1, 1, 1]), 4)
    0.3333
    """
    d, M = np.sum(counts), len(counts) - 1
    share = np.arange(M + 1) / M
    mean = float(share @ counts / d) if d else 0.0
    if mean in (0.0, 1.0):
        return 1.0
    return float(1.0 - M / (M - 1) * (share * (1.0 - share)) @ counts / d / (mean * (1.0 - mean)))


def _distinct_samples(stream: np.random.RandomState, n: int, c: int) -> Indices:
    """Draw c of n without replacement: by sorting if c is more than a quarter of n, by rejection otherwise."""
    if 4 * c > n:
        return np.argsort(stream.random_sample(n), kind="stable")[:c]
    marked = np.zeros(n, dtype=bool)
    while (missing := c - np.count_nonzero(marked)) > 0:
        marked[np.floor(n * stream.random_sample(missing)).astype(np.intp)] = True
    return np.flatnonzero(marked)[np.argsort(stream.random_sample(c), kind="stable")]


def _cross(classes: Any, runs: Any) -> tuple[Indices, Indices, Indices, Indices]:
    """Return classes (n,), clusters and cells (r, n), numbered differently in each row, and cell sizes (r, c, k)."""
    classes, runs = np.asarray(classes), np.asarray(runs)
    if classes.ndim != 1 or runs.ndim != 2 or runs.shape[1] != len(classes):
        raise ValueError(f"labels must be for the same samples, got shapes {classes.shape} and {runs.shape}")
    if runs.size == 0:
        raise ValueError("there are no labels")
    classes = _numbered(classes)
    # Numbers below n are used as they are, because sorting takes longest; an unused one is an empty column.
    small = runs.dtype.kind in "iu" and runs.min() >= 0 and runs.max() < len(classes)
    runs = runs.astype(np.intp) if small else _numbered(runs)
    r, c, k = len(runs), classes.max() + 1, runs.max() + 1
    clusters = runs + k * np.arange(r)[:, None]
    cells = runs + k * classes + c * k * np.arange(r)[:, None]
    return classes, clusters, cells, np.bincount(cells.ravel(), minlength=r * c * k).reshape(r, c, k)


def _numbered(labels: npt.NDArray[Any]) -> Indices:
    if labels.dtype.kind == "O":
        return numbered_by_equality(labels.ravel().tolist(), "labels")[1].reshape(labels.shape)
    if labels.dtype.kind not in "iu":
        labels = check_array(labels, ensure_2d=False, dtype=None, input_name="labels")
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def _matched_shares(tables: Indices) -> Float:
    rows, columns = np.array([linear_sum_assignment(table, maximize=True) for table in tables]).swapaxes(0, 1)
    return tables[np.arange(len(tables))[:, None], rows, columns].sum(axis=1) / tables[0].sum()


def _entropies(classes: Indices, clusters: Indices, cells: Indices, tables: Indices) -> tuple[Float, Float, Float]:
    """Return H(class), and H(cluster) and H(class, cluster) for every run."""
    class_sizes, cluster_sizes = tables[0].sum(axis=1), tables.sum(axis=1)
    return _entropy(class_sizes, classes), _entropy(cluster_sizes, clusters), _entropy(tables, cells)


def _entropy(sizes: Indices, groups: Indices) -> Float:
    """Return (1/n) Σᵢ log(n/nᵢ) for every row, nᵢ the size of sample i's group; exactly 0 for a single group."""
    logs = np.log(np.arange(1, groups.shape[-1] + 1))
    return np.mean(logs[-1] - logs[sizes.ravel()[groups] - 1], axis=-1)


def _normalized_information(a: Float, b: Float, of_both: Float, average: str) -> Float:
    means = {"geometric": np.sqrt(a * b), "arithmetic": (a + b) / 2.0, "max": np.maximum(a, b)}
    if average not in means:
        raise ValueError(f"average must be one of {', '.join(means)}, got {average!r}")
    # If both entropies are 0, 0/0 counts as 1: there is nothing left to know. If only one is, it counts as 0.
    shares = np.where(means["max"] > 0.0, 0.0, 1.0)
    np.divide(a + b - of_both, means[average], out=shares, where=means[average] > 0.0)
    return np.clip(shares, 0.0, 1.0)


def _centered_products(X: Any) -> tuple[Float, npt.NDArray[np.bool_]]:
    """Return (X − 1mᵀ)ᵀ(X − 1mᵀ), with m the means, and which columns are constant; of a sparse X up to scales."""
    lowest, highest = column_extremes(X)
    constant = np.asarray(lowest == highest)
    if not sp.issparse(X):
        centered = X - X.mean(axis=0)
        return centered.T @ centered, constant
    varying = np.flatnonzero(~constant)
    products = np.zeros((X.shape[1], X.shape[1]))
    if len(varying):
        columns = Columns.prepared(canonical(X)[:, varying], center=True, scale="standard")
        products[np.ix_(varying, varying)] = columns.gram()
    return products, constant


def _indices(chosen: Any, n_features: int) -> Indices:
    index = np.asarray(chosen)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise ValueError("a selection must be a one-dimensional array of integers")
    if np.any((index < 0) | (index >= n_features)):
        raise ValueError(f"a selection has indices outside 0 to {n_features - 1}")
    if len(np.unique(index)) < len(index):
        raise ValueError("a selection contains an index twice")
    return index.astype(np.intp)
