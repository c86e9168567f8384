"""The columns, best first, and the correlations of the selected ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import constant_columns
from ufselect.metrics import absolute_correlations
from ufselect.report.study import Study

MOST_CORRELATED = 1000
"""Number of selected columns whose correlations are computed; the cost grows with its square."""

MOST_ROWS = 2000
"""Number of samples from which what a column stands for is estimated."""

_MOST_ENTRIES = 20_000_000
_RANDOM_COLUMNS = 100


def best_first(study: Study) -> Indices:
    """Return the indices of the columns by rank."""
    return np.argsort(study.selector.ranking_, kind="stable")


class Curves(NamedTuple):
    """How well the best 1, 2, … columns agree with the learned structure, and R² of the embedding on them."""

    agreement: Float
    r2: Float | None

    def of_selected(self, count: int) -> float:
        """Return the agreement of ``count`` columns; those beyond the curve, such as constant ones, change nothing."""
        return float(self.agreement[min(count, len(self.agreement)) - 1])


def curves_of(study: Study) -> Curves | None:
    """Return the agreement of the best columns with the learned structure; None if the method learns none."""
    agreement = getattr(study.selector, "alignment_curve_", None)
    if agreement is None or len(agreement) == 0:
        return None
    r2 = getattr(study.selector, "r2_curve_", None)
    return Curves(np.asarray(agreement, dtype=np.float64), None if r2 is None else np.asarray(r2, dtype=np.float64))


def part_of(X: Any, rows: Indices, columns: Indices) -> Any:
    """Return some rows and columns of X, dense or sparse."""
    if len(rows) == X.shape[0]:
        return X[:, columns]
    # If X is sparse, the step that is fast in its format comes first.
    return X[:, columns][rows] if sp.issparse(X) and X.format == "csc" else X[rows][:, columns]


@dataclass(frozen=True)
class Correlations:
    """|ρ| of the selected columns, best first."""

    values: Float
    n_samples: int
    of_random_columns: float

    @property
    def mean(self) -> float:
        """The mean over all pairs; 0 for a single column."""
        return mean_of_pairs(self.values)

    def ordered_by_similarity(self, count: int) -> Indices:
        """Return the order of the best ``count`` columns in which correlated columns are next to each other."""
        if count < 3:
            return np.arange(count)
        distances = 1.0 - self.values[:count, :count]
        np.fill_diagonal(distances, 0.0)
        tree = linkage(squareform(np.maximum(distances, 0.0), checks=False), "average", optimal_ordering=True)
        return np.asarray(leaves_list(tree), dtype=np.intp)


def evenly_spaced(n: int, most: int) -> Indices:
    """Return ``most`` indices below n, including the first and the last; all n of them if n is smaller."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)


def mean_of_pairs(values: Float) -> float:
    """Return the mean of a symmetric matrix without its diagonal; 0 if there is nothing else."""
    m = len(values)
    return float((values.sum() - values.trace()) / max(m * (m - 1), 1))


def selected_correlations(study: Study) -> Correlations:
    """Return the correlations of the best selected columns, over a subset of the samples if there are many of both."""
    chosen = best_first(study)[: min(study.selector.n_features_, MOST_CORRELATED)]
    rows = evenly_spaced(study.X.shape[0], _MOST_ENTRIES // len(chosen))
    values = absolute_correlations(part_of(study.X, rows, chosen))
    random = mean_of_pairs(absolute_correlations(part_of(study.X, rows, random_columns(study, _RANDOM_COLUMNS))))
    return Correlations(values, len(rows), random)


def random_columns(study: Study, count: int, among: Indices | None = None) -> Indices:
    """Return up to ``count`` random columns, always the same ones."""
    candidates = np.arange(study.X.shape[1]) if among is None else among
    return np.random.default_rng(0).permutation(candidates)[:count]


def columns_left_out(study: Study) -> Indices:
    """Return the columns that are neither selected nor constant nor copies of others."""
    left = (study.selector.ranking_ > study.selector.n_features_) & (study.selector.copies_ < 0)
    return np.flatnonzero(left & ~np.asarray(constant_columns(study.X)))


def agreement_of_all(study: Study) -> float | None:
    """Return the alignment of all columns together with the learned structure; None if the method learns none.

    With aⱼ = ‖xⱼ‖²·alignmentⱼ it is Σ a / ‖XXᵀ‖. The norm is estimated from pairs of some samples if there are many.
    """
    alone = getattr(study.selector, "alignments_", None)
    if alone is None:
        return None
    n, d = study.X.shape
    rows = evenly_spaced(n, min(MOST_ROWS, max(_MOST_ENTRIES // d, 50)))
    known = np.flatnonzero((study.selector.copies_ < 0) & (np.asarray(alone) > 0.0))
    part = part_of(study.X, rows, known)
    varying = np.flatnonzero(~np.asarray(constant_columns(part)))
    if len(varying) == 0:
        return None
    X = study.selector._prepared(part[:, varying]).in_double_precision()
    squares = X.row_gram() ** 2
    share = n / len(rows)
    pairs = squares.sum() - squares.trace()
    norm = np.sqrt(share * squares.trace() + share * (n - 1) / max(len(rows) - 1, 1) * pairs)
    return min(float(share * X.squared_norms() @ np.asarray(alone)[known[varying]] / norm), 1.0)
