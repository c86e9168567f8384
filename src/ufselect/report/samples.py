"""The samples: their positions in the embedding, on axes that outliers do not stretch, and their clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import kmeans_plusplus
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances_argmin

from ufselect._utils.policy import NEIGHBORS_TO_COUNT_CLUSTERS
from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns
from ufselect.columns.moments import constant_columns
from ufselect.graphs.adaptive import neighbor_probabilities
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.neighbors import nearest_others
from ufselect.graphs.spectral import eigengap, smallest_eigenvectors
from ufselect.report.study import Study, evenly_spaced, part_of
from ufselect.solvers.kmeans import kmeans_labels

MOST_SHOWN = 50_000
MOST_DIMENSIONS = 10
MOST_COLUMNS_COMPARED = 100
MOST_GROUPS = 12  # clusters, as many as there are colours; more are grouped by similarity
_MOST_TO_CLUSTER = 10_000
_MOST_TO_COUNT_CLUSTERS = 1000
_MOST_CLUSTERS = 40
_STARTS = 5
# An axis holds what is within three interquartile ranges of the quartiles, at least 90 % of the samples, and half as
# much again on both sides: a small cluster is not cut.
_INTERQUARTILE_RANGES = 3.0
_TAIL = 0.05


@dataclass(frozen=True)
class Map:
    """The coordinates of the samples that are shown, and the clusters, the largest first."""

    rows: Indices
    coordinates: Float
    outlying: npt.NDArray[np.bool_]  # coordinates that were moved to the end of an axis
    clusters: Indices
    sizes: Indices  # clusters in each group: more than 1 only if there are too many to show
    learned: bool

    @property
    def axis(self) -> str:
        """The title of a coordinate."""
        return "Dimension" if self.learned else "Component"

    @property
    def n_clusters(self) -> int:
        """The number of clusters, before they are grouped."""
        return int(self.sizes.sum())

    @property
    def group_names(self) -> list[str]:
        """The names of the clusters or, if there are too many, of their groups."""
        if len(self.sizes) == self.n_clusters:
            return [str(number) for number in range(1, len(self.sizes) + 1)]
        counts = [f"{size} clusters" if size > 1 else "1 cluster" for size in self.sizes]
        return [f"{chr(ord('A') + number)} ({count})" for number, count in enumerate(counts)]


def map_of_samples(study: Study) -> Map:
    """Place the samples by the embedding of the method, or by the principal components of the selected columns."""
    rows = evenly_spaced(study.X.shape[0], MOST_SHOWN)
    embedding = getattr(study.selector, "embedding_", None)
    if embedding is None:
        values = _standardized_selection(study, rows)
        components = PCA(n_components=min(MOST_DIMENSIONS, *values.shape), svd_solver="covariance_eigh")
        points = components.fit_transform(values)
    else:
        points = np.asarray(embedding, dtype=np.float64)[rows]
    low, high = robust_ranges(points)
    inside = np.clip(points, low, high)
    n_clusters = 1 if study.is_noise else getattr(study.selector, "n_clusters_", None)
    clusters, sizes = grouped(*_clusters(inside, n_clusters))
    shown = slice(MOST_DIMENSIONS)
    outlying = inside != points
    return Map(rows, inside[:, shown], outlying[:, shown], clusters, sizes, embedding is not None)


def robust_ranges(points: Float) -> tuple[Float, Float]:
    """Return the ends of each axis: the extremes of what is no far outlier."""
    first, third = np.quantile(points, [0.25, 0.75], axis=0)
    reach = _INTERQUARTILE_RANGES * (third - first)
    near_low, near_high = np.quantile(points, [_TAIL, 1.0 - _TAIL], axis=0)
    margin = (near_high - near_low) / 2.0
    low = np.minimum(first - reach, near_low - margin)
    high = np.maximum(third + reach, near_high + margin)
    inside = (points >= low) & (points <= high)
    return np.min(points, axis=0, where=inside, initial=np.inf), np.max(points, axis=0, where=inside, initial=-np.inf)


def _standardized_selection(study: Study, rows: Indices) -> Float:
    """Return the best selected columns with mean 0 and variance 1, without constant ones."""
    chosen = study.best_first[: min(study.selector.n_features_, MOST_COLUMNS_COMPARED)]
    values = part_of(study.X, rows, chosen).astype(np.float64)
    informative = np.flatnonzero(~constant_columns(values))
    if len(informative) == 0:
        return np.zeros((len(rows), 1))
    return Columns.prepared(values[:, informative], center=True, scale="standard").columns(slice(None))


def _clusters(points: Float, wanted: int | None) -> tuple[Indices, Float]:
    """Return the cluster of every sample, by k-means on a subset and the nearest centre for all, and the centres."""
    some = points[evenly_spaced(len(points), _MOST_TO_CLUSTER)]
    most = len(np.unique(some, axis=0))
    labels = _best_kmeans(some, min(_number_of_clusters(some) if wanted is None else wanted, most))
    if len(some) < len(points):
        labels = pairwise_distances_argmin(points, _centers(some, labels))
    labels = _by_size(np.bincount(labels))[labels]
    return labels, _centers(points, labels)


def grouped(clusters: Indices, centers: Float) -> tuple[Indices, Indices]:
    """Join similar clusters until there are as many groups as colours; return the groups and their sizes."""
    if len(centers) <= MOST_GROUPS:
        return clusters, np.ones(len(centers), dtype=np.intp)
    of_clusters = fcluster(linkage(centers, "ward"), MOST_GROUPS, "maxclust") - 1
    number = _by_size(np.bincount(of_clusters[clusters]))
    return number[of_clusters[clusters]], np.bincount(number[of_clusters])


def _best_kmeans(points: Float, count: int) -> Indices:
    """Return the tightest clustering from several fixed starts."""
    starts = [kmeans_plusplus(points, count, random_state=seed)[1] for seed in range(_STARTS)]
    runs = kmeans_labels(points, np.array(starts))
    return min(runs, key=lambda labels: float(np.sum((points - _centers(points, labels)[labels]) ** 2)))


def _centers(points: Float, labels: Indices) -> Float:
    sizes = np.bincount(labels)
    sums = [np.bincount(labels, weights=values) for values in points.T]
    return np.transpose(sums) / np.maximum(sizes, 1)[:, None]


def _number_of_clusters(points: Float) -> int:
    """Return the number of clusters by the eigengap of the neighbour graph of some points."""
    some = np.unique(points[evenly_spaced(len(points), _MOST_TO_COUNT_CLUSTERS)], axis=0)
    n = len(some)
    if n < 4:
        return 1
    k = min(NEIGHBORS_TO_COUNT_CLUSTERS, n - 2)
    graph = neighbor_probabilities(nearest_others(some, k + 1, with_ties=True), k)
    most = min(max(int(2.0 * np.sqrt(n)), 2), _MOST_CLUSTERS, n - 2)
    return eigengap(smallest_eigenvectors(structure_laplacian(None, graph, 1.0), most + 1, tol=1e-4).values)


def _by_size(sizes: Indices) -> Indices:
    """Return the place of each size, 0 for the largest."""
    number = np.empty(len(sizes), dtype=np.intp)
    number[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return number
