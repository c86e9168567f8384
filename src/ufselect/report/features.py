"""The columns, best first, and the correlations of the selected ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from ufselect._backend.columns import Float, Indices
from ufselect.metrics import absolute_correlations
from ufselect.report.study import Study

MOST_CORRELATED = 1000
"""Number of selected columns whose correlations are computed; the cost grows with its square."""

_MOST_ENTRIES = 20_000_000


def best_first(study: Study) -> Indices:
    """Return the indices of the columns by rank."""
    return np.argsort(study.selector.ranking_, kind="stable")


def structure_curve(study: Study) -> Float | None:
    """Return the share of the learned embedding that the best columns explain; None if there is no embedding."""
    curve = getattr(study.selector, "structure_curve_", None)
    return None if curve is None or len(curve) == 0 else np.asarray(curve)


def share_kept(study: Study) -> float | None:
    """Return the share of the learned embedding that the selected columns explain; None if there is no embedding."""
    curve = structure_curve(study)
    # Columns that add nothing, such as constant ones, are not part of the curve.
    return None if curve is None else float(curve[min(study.selector.n_features_, len(curve)) - 1])


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

    @cached_property
    def largest(self) -> Float:
        """The largest correlation of each column with another one; 0 for a single column."""
        others = self.values - np.diag(self.values.diagonal())
        return others.max(axis=1)

    @property
    def mean(self) -> float:
        """The mean over all pairs; 0 for a single column."""
        m = len(self.values)
        return float((self.values.sum() - self.values.trace()) / max(m * (m - 1), 1))

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


def selected_correlations(study: Study) -> Correlations:
    """Return the correlations of the best selected columns, over a subset of the samples if there are many of both."""
    chosen = best_first(study)[: min(study.selector.n_features_, MOST_CORRELATED)]
    rows = evenly_spaced(study.X.shape[0], _MOST_ENTRIES // len(chosen))
    return Correlations(absolute_correlations(part_of(study.X, rows, chosen)), len(rows))
