"""The columns, best first, and how those selected repeat each other."""

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
"""Selected columns whose correlations are computed, the best first: they take the square of their number."""

_MOST_ENTRIES = 20_000_000


def best_first(study: Study) -> Indices:
    """The columns by rank."""
    return np.argsort(study.selector.ranking_, kind="stable")


def structure_curve(study: Study) -> Float | None:
    """The share of the learned embedding that the best columns explain, where the method learns one."""
    curve = getattr(study.selector, "structure_curve_", None)
    return None if curve is None or len(curve) == 0 else np.asarray(curve)


def share_kept(study: Study) -> float | None:
    """The share of the learned embedding that the selected columns explain, where it is known."""
    curve = structure_curve(study)
    # Columns that add nothing, such as constant ones, are left out of the curve.
    return None if curve is None else float(curve[min(study.selector.n_features_, len(curve)) - 1])


def part_of(X: Any, rows: Indices, columns: Indices) -> Any:
    """Some rows and columns of X, dense or sparse."""
    if len(rows) == X.shape[0]:
        return X[:, columns]
    # Of a sparse X the step that is quick for its format comes first.
    return X[:, columns][rows] if sp.issparse(X) and X.format == "csc" else X[rows][:, columns]


@dataclass(frozen=True)
class Correlations:
    """|ρ| of the selected columns, best first."""

    values: Float
    n_samples: int

    @cached_property
    def largest(self) -> Float:
        """Of every column with another one; 0 for a single column."""
        others = self.values - np.diag(self.values.diagonal())
        return others.max(axis=1)

    @property
    def mean(self) -> float:
        """Over all pairs; 0 for a single column."""
        m = len(self.values)
        return float((self.values.sum() - self.values.trace()) / max(m * (m - 1), 1))

    def ordered_by_similarity(self, count: int) -> Indices:
        """The best ``count`` columns such that those that vary together stand together."""
        if count < 3:
            return np.arange(count)
        distances = 1.0 - self.values[:count, :count]
        np.fill_diagonal(distances, 0.0)
        tree = linkage(squareform(np.maximum(distances, 0.0), checks=False), "average", optimal_ordering=True)
        return np.asarray(leaves_list(tree), dtype=np.intp)


def evenly_spaced(n: int, most: int) -> Indices:
    """All of n places, or as many as allowed, with the first and the last."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)


def selected_correlations(study: Study) -> Correlations:
    """Correlations of the best selected columns, over fewer samples where there are many of both."""
    chosen = best_first(study)[: min(study.selector.n_features_, MOST_CORRELATED)]
    rows = evenly_spaced(study.X.shape[0], _MOST_ENTRIES // len(chosen))
    return Correlations(absolute_correlations(part_of(study.X, rows, chosen)), len(rows))
