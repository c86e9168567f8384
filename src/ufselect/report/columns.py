"""The selected columns one by one: their values, how they differ between clusters, and what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from ufselect._utils.types import Float, Indices
from ufselect.columns.tabular import dense_part
from ufselect.inspection import explain_features
from ufselect.report.features import (
    MOST_CORRELATED,
    MOST_ROWS,
    best_first,
    columns_left_out,
    evenly_spaced,
    part_of,
    random_columns,
)
from ufselect.report.samples import Map
from ufselect.report.study import Study

MOST_MARKERS = 60
"""Number of selected columns whose means by cluster are shown."""

N_CONTROLS = 3
"""Number of columns left out, chosen at random, that are shown beside them."""

LEAST_SIMILAR = 0.5
"""Absolute correlation from which on a selected column stands for one that is left out."""

_BINS = 24
_MOST_LISTED = 5
_MOST_EXPLAINED = 300
_FEWEST_EXPLAINED = 10
_MOST_WORK = 5e9
_BLOCK = 2000


class Histogram(NamedTuple):
    """Counts between the smallest and the largest value, and how many different values there are."""

    counts: Indices
    low: float
    high: float
    distinct: int


def histograms(study: Study) -> list[Histogram]:
    """Return the distribution of each of the best selected columns."""
    chosen = best_first(study)[: min(study.selector.n_features_, MOST_CORRELATED)]
    return [_histogram(dense_part(study.X, [column], standardize=False)[:, 0]) for column in chosen]


def _histogram(values: Float) -> Histogram:
    low, high = float(values.min()), float(values.max())
    unit = max(abs(low), abs(high)) or 1.0  # keeps even the smallest and largest floats in proportion
    shares = (values / unit - low / unit) / ((high / unit - low / unit) or 1.0)
    counts = np.bincount(np.minimum((shares * _BINS).astype(np.intp), _BINS - 1), minlength=_BINS)
    return Histogram(counts, low, high, len(np.unique(values)))


class StandsFor(NamedTuple):
    """The columns left out that resemble a selected one more than any other selected one."""

    total: int
    nearest: list[tuple[int, float]]


def what_they_stand_for(study: Study) -> list[StandsFor]:
    """Return which columns left out each of the best selected columns stands for, the most similar first."""
    order = best_first(study)
    m = min(study.selector.n_features_, MOST_CORRELATED)
    rows = evenly_spaced(study.X.shape[0], MOST_ROWS)
    left = order[m:]
    nearest, similarity = _most_similar(part_of(study.X, rows, order[:m]), study.X, rows, left)
    # Of independent columns, the most similar of d has a correlation of about √(2 log d/n).
    least = max(LEAST_SIMILAR, np.sqrt(2.0 * np.log(max(len(order), 2)) / len(rows)))
    found = []
    for index in range(m):
        members = np.flatnonzero((nearest == index) & (similarity >= least))
        members = members[np.argsort(-similarity[members], kind="stable")]
        listed = [(int(m + member), float(similarity[member])) for member in members[:_MOST_LISTED]]
        found.append(StandsFor(len(members), listed))
    return found


def _most_similar(selected: Any, X: Any, rows: Indices, left: Indices) -> tuple[Indices, Float]:
    """Return the most similar selected column of every other one, and the absolute correlation, block by block."""
    chosen = dense_part(selected, slice(None), standardize=True)
    nearest, similarity = [np.empty(0, dtype=np.intp)], [np.empty(0)]
    for start in range(0, len(left), _BLOCK):
        others = dense_part(part_of(X, rows, left[start : start + _BLOCK]), slice(None), standardize=True)
        correlations = np.abs(others.T @ chosen) / len(rows)
        nearest.append(correlations.argmax(axis=1))
        similarity.append(np.minimum(correlations.max(axis=1), 1.0))
    return np.concatenate(nearest), np.concatenate(similarity)


def explanations(study: Study) -> list[list[str]]:
    """Return what ``ufselect explain`` says of the best columns: the selected ones, and some that are not."""
    n, d = study.X.shape
    m = study.selector.n_features_
    rows = evenly_spaced(n, MOST_ROWS)
    affordable = max(int(_MOST_WORK / (len(rows) * m**2)), _FEWEST_EXPLAINED)
    best = best_first(study)[: min(d, 2 * m + 20, affordable, _MOST_EXPLAINED)]
    part = part_of(study.X, rows, np.arange(d)) if len(rows) < n else study.X
    copies = study.selector.copies_
    explained = explain_features(study.selector, part, best.tolist())
    return [each.sentences(study.column_names, int(copies[each.feature])) for each in explained]


@dataclass(frozen=True)
class Markers:
    """Means of standardised columns by cluster, clusters and columns in an order in which similar ones are neighbours.

    ``columns`` are ranks, from 0; the last ``n_controls`` of them are not selected. ``within`` is the share of variance
    that the clusters explain, of the selected columns and of the controls.
    """

    columns: Indices
    clusters: Indices
    means: Float
    n_controls: int


def markers(study: Study, shown: Map) -> Markers | None:
    """Return how the best selected columns differ between clusters; None if there is a single cluster."""
    k = int(shown.clusters.max()) + 1
    if k < 2:
        return None
    order = best_first(study)
    controls = random_columns(study, N_CONTROLS, columns_left_out(study))
    selected = order[: min(study.selector.n_features_, MOST_MARKERS)]
    means = _means_by_cluster(study, shown, np.concatenate([selected, controls]), k)
    clusters = _by_similarity(means[: len(selected)].T)
    means = means[:, clusters]
    of_selected = _by_cluster(means[: len(selected)])
    rows = np.concatenate([of_selected, np.arange(len(selected), len(means))])
    ranks = np.concatenate([np.arange(len(selected)), study.selector.ranking_[controls] - 1])
    return Markers(ranks[rows], clusters, means[rows], len(controls))


def _means_by_cluster(study: Study, shown: Map, columns: Indices, k: int) -> Float:
    values = dense_part(part_of(study.X, shown.rows, columns), slice(None), standardize=True)
    sizes = np.bincount(shown.clusters, minlength=k)
    sums = [np.bincount(shown.clusters, weights=column, minlength=k) for column in values.T]
    return np.array(sums) / np.maximum(sizes, 1)


def _by_similarity(profiles: Float) -> Indices:
    if len(profiles) < 3:
        return np.arange(len(profiles))
    return np.asarray(leaves_list(linkage(profiles, "average", optimal_ordering=True)), dtype=np.intp)


def _by_cluster(means: Float) -> Indices:
    """Order columns by the cluster in which they stand out, and there by how much."""
    standing_out = np.abs(means).argmax(axis=1)
    return np.lexsort((-np.abs(means).max(axis=1), standing_out))
