"""What is measured of any selection, whoever made it: redundancy, neighbourhoods, agreement with labels, overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ufselect._utils.policy import LARGEST_DENSE_SYSTEM
from ufselect._utils.seeds import some_samples
from ufselect._utils.types import Float, Indices
from ufselect.base.groups import ColumnGroups
from ufselect.base.significance import ColumnSignificance
from ufselect.columns.batches import numbered_by_equality
from ufselect.columns.dense import Columns, wide_column_blocks
from ufselect.columns.moments import column_moments, constant_columns
from ufselect.columns.tabular import as_matrix, column_indices, column_names, dense_part
from ufselect.inspection.refits import rows_of
from ufselect.metrics import clustering_agreement, nearest_neighbors, neighborhood_overlap, redundancy

RANDOM = "random"  # the name of the row for random selections
WITH_LABELS = ("acc", "nmi")  # the figures that need labels
_MOST_SAMPLES = 1000
_NEIGHBORS = 5


def measure_selections(
    X: Any, selections: Sequence[Indices], *, standardize: bool, classes: npt.NDArray[np.intp] | None
) -> list[dict[str, float]]:
    """Return "redundancy", "neighborhoods" and, with classes, "acc" and "nmi" of each selection from a matrix."""
    measured = []
    for chosen, kept in zip(selections, neighborhoods_kept(X, selections, standardize=standardize), strict=True):
        figures = {"redundancy": _redundancy(X[:, chosen]), "neighborhoods": kept}
        if classes is not None:
            agreement = clustering_agreement(dense_part(X, chosen, standardize=standardize), classes)
            figures |= {name: agreement[name] for name in WITH_LABELS}
        measured.append(figures)
    return measured


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


def share_found(
    significance: ColumnSignificance | None, several: Sequence[Indices], groups: ColumnGroups | None
) -> float | None:
    """Return the share of the columns, or of their groups, that a test found, the mean of several selections."""
    if significance is None:
        return None
    codes = np.arange(len(significance.found)) if groups is None else groups.codes
    counts = [(len(np.unique(codes[each[significance.found[each]]])), len(np.unique(codes[each]))) for each in several]
    return float(np.mean([n_found / n for n_found, n in counts]))


def means_of(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of every figure over one or more selections."""
    return {name: float(np.mean([figures[name] for figures in several])) for name in several[0]}


def spreads_of(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the standard deviation of every figure over several selections; empty for a single one."""
    if len(several) < 2:
        return {}
    return {name: float(np.std([figures[name] for figures in several], ddof=1)) for name in several[0]}


def classes_in(labels: npt.ArrayLike | None, n_samples: int) -> npt.NDArray[np.intp] | None:
    """Return labels as classes 0 … c − 1, or None if there are none; raise an error if there is only one class."""
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

    This is the Jaccard index of the five nearest neighbours by all columns and by the selected ones, averaged over the
    samples. More than 1000 samples are subsampled to this size.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    chosen : sequence of array-like
        The columns of each selection, by index, or by name if X is a data frame.
    standardize : bool, default=True
        Whether to scale the columns to unit variance first.
    random_state : int, RandomState instance or None, default=0
        Seed of the subsample.

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
    points = rows_of(X)[some_samples(X.shape[0], _MOST_SAMPLES, random_state)]
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


def selection_overlap(selections: Sequence[Any]) -> Float:
    """Return the Jaccard index of every pair of selections, given by column index or name.

    Examples
    --------
    >>> from ufselect.inspection import selection_overlap
    >>> selection_overlap([[0, 1], [1, 2, 3]])
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """
    sets = [set(np.asarray(selection).tolist()) for selection in selections]
    return np.array([[len(a & b) / max(len(a | b), 1) for b in sets] for a in sets])
