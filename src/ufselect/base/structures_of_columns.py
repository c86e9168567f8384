"""Structures of the samples, each learned from all columns but those of one fold.

A structure is the factor T of a kernel TTᵀ of the neighbour graph. Of many columns, most may be noise, which would blur
the graph; so a graph is learned from those columns of a half that are aligned with the structure of others of the same
half. Quarters serve for that: they are paired in three ways, which gives three splits into halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from ufselect._utils.progress import with_progress
from ufselect._utils.threads import number_of_threads, one_thread
from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns, affordable_gram
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.components import principal_components
from ufselect.graphs.neighbors import usual_neighbors
from ufselect.graphs.smooth_target import smooth_target
from ufselect.solvers.feature_weights import expressive_weights

FEW_UNITS = 60
"""Number of units up to which there are more folds than two."""

_FOLDS_OF_FEW = 6
_N_PAIRINGS = 3  # of four quarters
_COMPONENTS = 30
_RESIDUAL = 1e-2  # of eigenvectors; smaller ones find no more columns, larger ones lose the markers of rare cells
_ROW_PENALTY = 0.2  # 0.1 finds the same columns in more time; 0.3 loses ten columns among 5,000
_MOST_ADAPTED = 500  # columns that a structure adapts to: it does so where few are found
_ALIGNED = 2.0  # standard deviations above the mean of columns without structure
_FEWEST_ALIGNED = 10


class Splits(NamedTuple):
    """Random splits of units (columns, or groups of columns) into folds.

    ``folds`` of shape (n_splits, n_units) is the fold of each unit. If there are many units, folds are halves, and
    ``quarters`` of shape (n_divisions, n_units) are the quarters of which split s pairs those of division s // 3.
    """

    folds: Indices
    quarters: Indices | None

    @property
    def n_folds(self) -> int:
        """Number of folds of a split."""
        return int(self.folds.max()) + 1

    def outside_of_folds(self, units: Indices) -> list[Indices]:
        """The columns outside of each fold of each split, by the unit of each column."""
        return [np.flatnonzero(self.folds[split][units] != fold) for split, fold in self.pieces]

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """All folds of all splits."""
        return list(np.ndindex(len(self.folds), self.n_folds))


def random_splits(n_units: int, n_splits: int, rng: np.random.Generator) -> Splits:
    """Split units into halves, or into six folds if they are few.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.base.structures_of_columns import random_splits
    >>> np.sort(random_splits(5, 1, np.random.default_rng(0)).folds)
    array([[0, 1, 2, 3, 4]])
    >>> np.bincount(random_splits(101, 3, np.random.default_rng(0)).folds[0])
    array([51, 50])
    """
    if n_units <= FEW_UNITS:
        n_folds = max(min(_FOLDS_OF_FEW, n_units), 2)
        return Splits(np.array([rng.permutation(n_units) % n_folds for _ in range(n_splits)]), None)
    quarters = np.array([rng.permutation(n_units) % 4 for _ in range(-(-n_splits // _N_PAIRINGS))])
    # The first quarter is paired with each of the others.
    folds = [~np.isin(quarters[split // _N_PAIRINGS], [0, 1 + split % _N_PAIRINGS]) for split in range(n_splits)]
    return Splits(np.array(folds).astype(np.intp), quarters)


def structures_without_folds(
    X: Columns,
    units: Indices,
    splits: Splits,
    *,
    adapted: bool = False,
    n_jobs: int | None = None,
    seed: int = 0,
    verbose: int = 0,
) -> list[Float]:
    """Return the structure by the columns outside of each fold, for all folds of all splits.

    Parameters
    ----------
    X : Columns of shape (n, d)
    units : ndarray of shape (d,)
        The unit of each column.
    splits : Splits
    adapted : bool, default=False
        Whether structures adapt to the few columns that express them. Otherwise they are learned from columns that are
        aligned with others, if there are quarters.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.
    seed : int, default=0
        Start of iterative solvers.
    verbose : int, default=0
        If 1, show progress bars.

    Returns
    -------
    list of ndarray of shape (n, q)
    """
    parallel = Parallel(n_jobs=number_of_threads(n_jobs), require="sharedmem", return_as="generator")

    def of_each(function: Callable[..., Float], parts: Sequence[Indices], description: str) -> list[Float]:
        done = parallel(delayed(function)(X, columns, seed) for columns in parts)
        return list(with_progress(done, len(parts), verbose, description))

    parts = splits.outside_of_folds(units)
    if not adapted and splits.quarters is not None and X.shape[1] > 2 * FEW_UNITS:
        quarters = splits.quarters[:, units]
        scores = of_each(
            _scores_by, [np.flatnonzero(each == quarter) for each in quarters for quarter in range(4)], "Quarters"
        )
        divisions = [split // _N_PAIRINGS for split, _ in splits.pieces]
        parts = [
            _aligned(part, quarters[division], scores[4 * division : 4 * division + 4])
            for part, division in zip(parts, divisions, strict=True)
        ]
    by_columns = partial(_structure_by, adapted=adapted)
    return of_each(by_columns, parts, "Structures without some columns")


def _structure_by(X: Columns, columns: Indices, seed: int, *, adapted: bool = False) -> Float:
    """T of the graph of the neighbours in the first principal components of some columns.

    If it is adapted, a few columns that express this structure are found, and T is that of their embedding.
    """
    with one_thread():
        X = X.subset(columns)
        few = X.shape[1] <= _COMPONENTS
        points = X.columns(slice(None)) if few else principal_components(X, _COMPONENTS, random_state=seed)
        T = _kernel_of_neighbors(points, seed)
        if adapted:
            W = expressive_weights(X, T, _ROW_PENALTY, gram=affordable_gram(X), most_rows=_MOST_ADAPTED).W
            T = _kernel_of_neighbors(X.embedded(W), seed)
        return T


def _kernel_of_neighbors(points: Any, seed: int) -> Float:
    graph = adaptive_neighbors(np.ascontiguousarray(points, dtype=np.float64), usual_neighbors(len(points)))
    T: Float = smooth_target(graph.laplacian(), nontrivial=True, tol=_RESIDUAL, random_state=seed)
    return T


def _scores_by(X: Columns, columns: Indices, seed: int) -> Float:
    """The alignments of all columns with the structure by some, less their mean and in standard deviations.

    Both are those of xᵀTTᵀx/‖x‖² for normal x.
    """
    T = _structure_by(X, columns, seed)
    with one_thread():
        alignments = np.sum(X.transposed_matmul(T) ** 2, axis=1) / X.squared_norms()
        deviation = np.sqrt(2.0 * np.sum((T.T @ T) ** 2))
        scores: Float = ((len(T) - 1) * alignments - np.sum(T**2)) / deviation
        return scores


def _aligned(part: Indices, quarters: Indices, scores: Sequence[Float]) -> Indices:
    """Return the columns of two quarters that are aligned with the structure of the other one; all if these are few."""
    one, other = np.unique(quarters[part])
    by_other = np.where(quarters[part] == one, scores[other][part], scores[one][part])
    aligned = part[by_other > _ALIGNED]
    return aligned if len(aligned) >= _FEWEST_ALIGNED else part
