"""The samples: their positions in the embedding, their clusters and their neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances_argmin, silhouette_score

from ufselect._backend.columns import Columns, Float, Indices, constant_columns
from ufselect.metrics import nearest_neighbors
from ufselect.report.features import best_first, evenly_spaced, part_of
from ufselect.report.study import Study
from ufselect.solvers.kmeans import kmeans_labels

MOST_SHOWN = 50_000
MOST_DIMENSIONS = 10
MOST_COLUMNS_COMPARED = 100
MOST_WITH_NEIGHBORS = 20_000
N_NEIGHBORS = 5
_MOST_TO_CLUSTER = 10_000
_MOST_TO_JUDGE = 1000
_STARTS = 5
_CLUSTERS_TRIED = range(2, 11)
_MOST_CELLS = 150


@dataclass(frozen=True)
class Map:
    """The coordinates of the samples that are shown, and their clusters, the largest first."""

    rows: Indices
    coordinates: Float
    clusters: Indices
    learned: bool

    @property
    def axis(self) -> str:
        """The title of a coordinate."""
        return "Dimension" if self.learned else "Component"

    @property
    def n_clusters(self) -> int:
        """The number of clusters that are not empty."""
        return int(self.clusters.max()) + 1


@dataclass(frozen=True)
class Blocks:
    """How the neighbours of the samples in one cell are distributed over all cells, with samples sorted by cluster."""

    shares: Float
    clusters: Indices  # of the first sample in each cell
    borders: Float  # between clusters, in cells
    within: float
    by_chance: float
    n_samples: int
    learned: bool


def map_of_samples(study: Study) -> Map:
    """Place the samples by the embedding of the method, or by the principal components of the selected columns."""
    rows = evenly_spaced(study.X.shape[0], MOST_SHOWN)
    embedding = getattr(study.selector, "embedding_", None)
    if embedding is None:
        coordinates = _principal_components(_standardized_selection(study, rows))
    else:
        coordinates = np.asarray(embedding, dtype=np.float64)[rows]
    clusters = _clusters(coordinates, getattr(study.selector, "n_clusters_", None))
    return Map(rows, coordinates[:, :MOST_DIMENSIONS], clusters, embedding is not None)


def neighbor_blocks(study: Study, shown: Map) -> Blocks:
    """Divide the neighbour graph into cells: the learned graph, or that of the selected columns."""
    learned = getattr(study.selector, "neighbor_graph_", None)
    if learned is not None:
        graph = sp.csr_array(learned)
        graph = graph if len(shown.rows) == graph.shape[0] else graph[shown.rows][:, shown.rows]
        if graph.nnz:
            return _blocks(graph, shown.clusters, learned=True)
    kept = evenly_spaced(len(shown.rows), MOST_WITH_NEIGHBORS)
    graph = _nearest_neighbor_graph(_standardized_selection(study, shown.rows[kept]))
    return _blocks(graph, shown.clusters[kept], learned=False)


def _standardized_selection(study: Study, rows: Indices) -> Float:
    """Return the best selected columns with mean 0 and variance 1, without constant ones."""
    chosen = best_first(study)[: min(study.selector.n_features_, MOST_COLUMNS_COMPARED)]
    values = part_of(study.X, rows, chosen).astype(np.float64)
    informative = np.flatnonzero(~constant_columns(values))
    if len(informative) == 0:
        return np.zeros((len(rows), 1))
    return Columns.prepared(values[:, informative], center=True, scale="standard").columns(slice(None))


def _principal_components(values: Float) -> Float:
    count = min(MOST_DIMENSIONS, *values.shape)
    return PCA(n_components=count, svd_solver="covariance_eigh").fit_transform(values)


def _clusters(points: Float, wanted: int | None) -> Indices:
    """Return the cluster of every sample: k-means on a subset, and the nearest centre for all."""
    some = points[evenly_spaced(len(points), _MOST_TO_CLUSTER)]
    most = len(np.unique(some, axis=0))
    count = _number_of_clusters(some) if wanted is None else min(wanted, most)
    labels = _best_kmeans(some, count)
    if len(some) < len(points):
        labels = pairwise_distances_argmin(points, _centers(some, labels))
    return _numbered_by_size(labels)


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
    """Return the number of clusters with the largest silhouette on a subset of the points."""
    some = points[evenly_spaced(len(points), _MOST_TO_JUDGE)]
    tried = [count for count in _CLUSTERS_TRIED if count < len(np.unique(some, axis=0))]
    scores = [silhouette_score(some, _best_kmeans(some, count)) for count in tried]
    return tried[int(np.argmax(scores))] if tried else 1


def _numbered_by_size(labels: Indices) -> Indices:
    sizes = np.bincount(labels)
    number = np.empty(len(sizes), dtype=np.intp)
    number[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return number[labels]


def _nearest_neighbor_graph(values: Float) -> sp.csr_array:
    n = len(values)
    nearest = nearest_neighbors(values.astype(np.float32), min(N_NEIGHBORS, n - 1))
    k = nearest.shape[1]
    return sp.csr_array((np.full(nearest.size, 1.0 / k), nearest.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def _blocks(graph: sp.csr_array, clusters: Indices, *, learned: bool) -> Blocks:
    n = len(clusters)
    order = np.argsort(clusters, kind="stable")
    position = np.empty(n, dtype=np.intp)
    position[order] = np.arange(n)
    size = min(n, _MOST_CELLS)
    edges = graph.tocoo()
    starts, ends = edges.coords
    weights = np.zeros((size, size))
    np.add.at(weights, (position[starts] * size // n, position[ends] * size // n), edges.data)
    cluster_sizes = np.bincount(clusters)
    return Blocks(
        shares=weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny),
        clusters=clusters[order][-(-np.arange(size) * n // size)],
        borders=np.cumsum(cluster_sizes)[:-1] * size / n,
        within=float(edges.data[clusters[starts] == clusters[ends]].sum() / edges.data.sum()),
        by_chance=float(np.sum((cluster_sizes / n) ** 2)),
        n_samples=n,
        learned=learned,
    )
