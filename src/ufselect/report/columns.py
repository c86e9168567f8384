"""The columns: their values, correlations and alignment, how they differ between clusters, what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from ufselect._utils.types import Float, Indices
from ufselect.columns.moments import constant_columns
from ufselect.columns.tabular import dense_part
from ufselect.inspection import LearnedStructure, Reconstruction, explain_features, gains_of, reconstruction_of
from ufselect.inspection.explanation import prepared_as_fitted
from ufselect.metrics import absolute_correlations
from ufselect.report.samples import Map
from ufselect.report.study import Study, evenly_spaced, part_of

MOST_CORRELATED = 1000  # selected columns; the cost grows with its square
MOST_ROWS = 2000  # samples from which what a column stands for is estimated
MOST_MARKERS = 60  # selected columns whose means by cluster are shown
N_CONTROLS = 3  # columns left out, chosen at random, that are shown beside them
LEAST_SIMILAR = 0.5  # absolute correlation from which on a selected column stands for one that is left out
NEAR_COPY = 0.9  # absolute correlation from which on two columns are near-copies, as in the stability
_TIED = 1e-12
_MOST_ENTRIES = 20_000_000
_RANDOM_COLUMNS = 100
_MOST_NOT_FOUND = 500
_ROUNDING = 1e-3
_BINS = 24
_MOST_LISTED = 5
_MOST_EXPLAINED = 300
_FEWEST_EXPLAINED = 10
_MOST_WORK = 5e9
_BLOCK = 2000


class Curves(NamedTuple):
    """Alignment of the best 1, 2, … columns with the learned structure, and R² of the embedding on them."""

    alignment: Float
    r2: Float | None


def curves_of(study: Study) -> Curves | None:
    """Return the alignment of the best columns with the learned structure; None if the method learns none."""
    alignment = getattr(study.selector, "alignment_curve_", None)
    if alignment is None or len(alignment) == 0:
        return None
    r2 = getattr(study.selector, "r2_curve_", None)
    return Curves(np.asarray(alignment, dtype=np.float64), None if r2 is None else np.asarray(r2, dtype=np.float64))


@dataclass(frozen=True)
class Correlations:
    """|ρ| of the selected columns, best first."""

    values: Float
    n_samples: int
    mean: float
    of_random_columns: float

    def ordered_by_similarity(self, count: int) -> Indices:
        """Return the order of the best ``count`` columns in which correlated columns are next to each other."""
        if count < 3:
            return np.arange(count)
        distances = 1.0 - self.values[:count, :count]
        np.fill_diagonal(distances, 0.0)
        tree = linkage(squareform(np.maximum(distances, 0.0), checks=False), "average", optimal_ordering=True)
        return np.asarray(leaves_list(tree), dtype=np.intp)


def _mean_of_pairs(values: Float) -> float:
    """Return the mean of a symmetric matrix without its diagonal; 0 if there is nothing else."""
    m = len(values)
    return float((values.sum() - values.trace()) / max(m * (m - 1), 1))


def selected_correlations(study: Study) -> Correlations:
    """Return the correlations of the best selected columns, over a subset of the samples if there are many of both."""
    chosen = study.best_first[: min(study.selector.n_features_, MOST_CORRELATED)]
    rows = evenly_spaced(study.X.shape[0], _MOST_ENTRIES // len(chosen))
    values = absolute_correlations(part_of(study.X, rows, chosen))
    random = _random_columns(np.arange(study.X.shape[1]), _RANDOM_COLUMNS)
    of_random = _mean_of_pairs(absolute_correlations(part_of(study.X, rows, random)))
    return Correlations(values, len(rows), _mean_of_pairs(values), of_random)


def _random_columns(candidates: Indices, count: int) -> Indices:
    """Return up to ``count`` random columns, always the same ones."""
    return np.random.default_rng(0).permutation(candidates)[:count]


def alignment_of_all(study: Study) -> float | None:
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
    constant = study.constant[known] if len(rows) == n else np.asarray(constant_columns(part))
    varying = np.flatnonzero(~constant)
    if len(varying) == 0:
        return None
    X = prepared_as_fitted(study.selector, part[:, varying], known[varying]).in_double_precision()
    squares = X.row_gram() ** 2
    share = n / len(rows)
    pairs = squares.sum() - squares.trace()
    norm = np.sqrt(share * squares.trace() + share * (n - 1) / max(len(rows) - 1, 1) * pairs)
    return min(float(share * X.squared_norms() @ np.asarray(alone)[known[varying]] / norm), 1.0)


def alignment_of_not_found(study: Study) -> Float | None:
    """Return the alignment of 1, 2, … random columns that are not found, as long as the curve of the best columns.

    None if there are fewer than two, if nothing is found, or if the structure is not that of the columns as they are,
    but of columns centred within batches.
    """
    curves, others = curves_of(study), study.not_found
    if curves is None or study.is_noise or len(others) < 2:
        return None
    structure = LearnedStructure(study.selector, study.X)
    count = min(study.selector.n_features_, len(curves.alignment), _RANDOM_COLUMNS)
    (again,) = structure.alignments_of([study.best_first[:count]])
    if abs(again - curves.alignment[count - 1]) > _ROUNDING:
        return None
    return structure.alignments_of_random(_random_columns(others, _MOST_NOT_FOUND), len(curves.alignment))


class Histogram(NamedTuple):
    """Counts between the smallest and the largest value, and how many different values there are."""

    counts: Indices
    low: float
    high: float
    distinct: int


def histograms(study: Study) -> list[Histogram | None]:
    """Return the distribution of each of the best selected variables; None of those of several columns."""
    count = min(study.selector.n_features_, MOST_CORRELATED)
    chosen = [ranks for _, ranks in study.best_variables if ranks[0] < count]
    of_columns = (study.best_first[ranks] for ranks in chosen)
    return [_histogram(dense_part(study.X, each, standardize=False)[:, 0]) if len(each) == 1 else None
            for each in of_columns]  # fmt: skip


def _histogram(values: Float) -> Histogram:
    low, high = float(values.min()), float(values.max())
    unit = max(abs(low), abs(high)) or 1.0  # keeps even the smallest and largest floats in proportion
    shares = (values / unit - low / unit) / ((high / unit - low / unit) or 1.0)
    counts = np.bincount(np.minimum((shares * _BINS).astype(np.intp), _BINS - 1), minlength=_BINS)
    return Histogram(counts, low, high, len(np.unique(values)))


class Substitutes(NamedTuple):
    """Of every column after the best ``n_selected`` ones, by rank, the most similar of these and |ρ|."""

    n_selected: int
    nearest: Indices
    similarity: Float
    least: float  # smaller values of |ρ| may be chance


def substitutes_of(study: Study) -> Substitutes:
    """Return which selected column each of the others resembles most, over a subset of the samples if they are many."""
    order = study.best_first
    m = min(study.selector.n_features_, MOST_CORRELATED)
    rows = evenly_spaced(study.X.shape[0], MOST_ROWS)
    nearest, similarity = _most_similar(part_of(study.X, rows, order[:m]), study.X, rows, order[m:])
    # Of independent columns, the most similar of d has a correlation of about √(2 log d/n).
    least = max(LEAST_SIMILAR, float(np.sqrt(2.0 * np.log(max(len(order), 2)) / len(rows))))
    return Substitutes(m, nearest, similarity, least)


def what_they_stand_for(study: Study, found: Substitutes) -> list[dict[str, Any]]:
    """Return the variables left out that resemble a selected one most: their number, and the most similar of them."""
    number, stands_for = study.variable_of_rank, []
    for _, ranks in study.best_variables:
        if ranks[0] >= found.n_selected:
            break
        members = np.flatnonzero(np.isin(found.nearest, ranks) & (found.similarity >= found.least))
        best: dict[int, float] = {}
        for member in members[np.argsort(-found.similarity[members], kind="stable")].tolist():
            if (other := number[found.n_selected + member]) != number[ranks[0]]:
                best.setdefault(other, round(float(found.similarity[member]), 4))
        stands_for.append({"count": len(best), "nearest": [list(each) for each in best.items()][:_MOST_LISTED]})
    return stands_for


def reconstruction_of_selected(study: Study) -> Reconstruction | None:
    """Return how well the selected columns predict the others, and each other; None if there are too many of them."""
    rows, d = evenly_spaced(study.X.shape[0], MOST_ROWS), study.X.shape[1]
    m = study.selector.n_features_
    part = part_of(study.X, rows, np.arange(d)) if len(rows) < study.X.shape[0] else study.X
    if m > MOST_CORRELATED or np.all(constant_columns(part)):
        return None
    return reconstruction_of(part, study.best_first[:m], n_substitutes=0)


def near_copies(study: Study, correlations: Correlations, found: Substitutes) -> dict[int, tuple[int, float]]:
    """Return which columns are copies or near-copies of a better one, by rank from 0: the rank of that one, and |ρ|."""
    before = np.tril(correlations.values, -1)
    best, similarity = before.argmax(axis=1), before.max(axis=1)
    nearest = np.concatenate([best, found.nearest])
    likeness = np.concatenate([similarity, found.similarity])
    alike = {int(i): (int(nearest[i]), round(float(likeness[i]), 4)) for i in np.flatnonzero(likeness >= NEAR_COPY)}
    ranks, copies = study.selector.ranking_ - 1, study.selector.copies_
    return alike | {int(ranks[copy]): (int(ranks[copies[copy]]), 1.0) for copy in np.flatnonzero(copies >= 0)}


def ties_of(study: Study) -> list[tuple[int, int]]:
    """Return the first and the last rank, from 0, of columns that follow each other with equal gains or scores."""
    selector, order, gains = study.selector, study.best_first, gains_of(study.selector)
    values = selector.scores_[order] if gains is None else gains
    in_fit = (selector.copies_ < 0) & ~study.constant
    in_fit[study.not_found] = False
    in_fit[study.excluded] = False
    both = in_fit[order][: len(values)]
    same = (np.abs(np.diff(values)) <= _TIED * np.abs(values[1:])) & both[1:] & both[:-1]
    edges = np.diff(np.concatenate([[False], same, [False]]).astype(np.int8))
    return list(zip(np.flatnonzero(edges > 0).tolist(), np.flatnonzero(edges < 0).tolist(), strict=True))


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
    """Return what ``ufselect explain`` says of the best variables: the selected ones, and some that are not."""
    n, d = study.X.shape
    m = study.selector.n_features_
    rows = evenly_spaced(n, MOST_ROWS)
    affordable = max(int(_MOST_WORK / (len(rows) * m**2)), _FEWEST_EXPLAINED)
    count = min(d, 2 * m + 20, affordable, _MOST_EXPLAINED)
    best = [study.best_first[ranks].tolist() for _, ranks in study.best_variables if ranks[0] < count]
    part = part_of(study.X, rows, np.arange(d)) if len(rows) < n else study.X
    copies = study.selector.copies_
    explained = explain_features(study.selector, part, best)
    return [each.sentences(study.column_names, int(copies[each.feature])) for each in explained]


@dataclass(frozen=True)
class Markers:
    """Means of standardised columns by cluster, similar clusters and columns side by side."""

    columns: Indices  # their ranks, from 0
    clusters: Indices
    means: Float
    n_controls: int  # the last columns, which are not selected


def markers(study: Study, shown: Map) -> Markers | None:
    """Return how the best selected columns differ between clusters; None if there is a single cluster."""
    k = int(shown.clusters.max()) + 1
    if k < 2:
        return None
    left_out = (study.selector.ranking_ > study.selector.n_features_) & (study.selector.copies_ < 0) & ~study.constant
    controls = _random_columns(np.flatnonzero(left_out), N_CONTROLS)
    selected = study.best_first[: min(study.selector.n_features_, MOST_MARKERS)]
    m = len(selected)
    chosen = np.concatenate([selected, controls])
    values = dense_part(part_of(study.X, shown.rows, chosen), slice(None), standardize=True)
    sums = [np.bincount(shown.clusters, weights=column, minlength=k) for column in values.T]
    means = np.array(sums) / np.maximum(np.bincount(shown.clusters, minlength=k), 1)
    clusters = np.arange(k) if k < 3 else leaves_list(linkage(means[:m].T, "average", optimal_ordering=True))
    means = means[:, clusters]
    sizes = np.abs(means[:m])
    # By the cluster in which a column stands out, and there by how much.
    rows = np.concatenate([np.lexsort((-sizes.max(axis=1), sizes.argmax(axis=1))), np.arange(m, len(means))])
    ranks = np.concatenate([np.arange(m), study.selector.ranking_[controls] - 1])
    return Markers(ranks[rows], clusters.astype(np.intp), means[rows], len(controls))
