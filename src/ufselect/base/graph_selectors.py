"""Base classes of selectors that start from a neighbour graph, with or without a number of clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import StrOptions

from ufselect._utils.policy import FEWEST_CLUSTERS_TO_FIND, MOST_CLUSTERS_TO_FIND, NEIGHBORS_TO_COUNT_CLUSTERS
from ufselect._utils.progress import Iterations
from ufselect._utils.types import Float
from ufselect.base.selector import COUNT, BaseSelector
from ufselect.base.structure import GivenStructure
from ufselect.columns.dense import Columns
from ufselect.graphs.adaptive import neighbor_probabilities
from ufselect.graphs.laplacian import NormalizedLaplacian, group_scatters, neighbor_scatters, structure_laplacian
from ufselect.graphs.neighbors import Neighbors, nearest_others, neighbor_graph, usual_neighbors
from ufselect.graphs.spectral import eigengap, smallest_eigenvectors, spectral_embedding
from ufselect.solvers.nonnegative import GROWING, Tightening, cluster_indicators, unit_rows

State = TypeVar("State")


class GraphSelector(BaseSelector):
    """Base class of selectors that start from the nearest neighbours of each sample."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSelector._parameter_constraints,
        "n_neighbors": [*COUNT, StrOptions({"auto"})],
        "n_jobs": [None, Integral],
    }

    n_neighbors: int | str
    n_jobs: int | None

    def _count_neighbors(self, n: int) -> int:
        """k as given, or by the number of samples."""
        if isinstance(self.n_neighbors, str):
            return self._usual_neighbors(n)
        if self.n_neighbors >= n:
            raise ValueError(f"n_neighbors={self.n_neighbors} must be less than the number of samples, {n}.")
        return self.n_neighbors

    def _usual_neighbors(self, n: int) -> int:
        """The number of neighbours that "auto" stands for."""
        return usual_neighbors(n)

    def _neighbors(self, X: Columns) -> Neighbors:
        """The k nearest neighbours of each sample."""
        return nearest_others(X, self._count_neighbors(X.shape[0]), n_jobs=self.n_jobs)

    def _graph_of(self, structure: GivenStructure) -> sp.csr_array:
        """The graph that is given, or joins the samples of a group, or joins neighbours in an embedding."""
        if structure.points is None:
            return structure.affinity
        X = structure.samples
        return neighbor_graph(X, self._neighbors(X), **self._shape_of_graph)

    def _scatters_of(self, X: Columns, structure: GivenStructure) -> tuple[Float, Float]:
        """f̃ⱼᵀDf̃ⱼ and f̃ⱼᵀLf̃ⱼ of every column; those of groups need no graph."""
        if structure.codes is not None:
            return group_scatters(X, structure.codes)
        return neighbor_scatters(X, self._graph_of(structure))

    @property
    def _shape_of_graph(self) -> dict[str, Any]:
        """The parameters that weight the edges of a neighbour graph."""
        return {name: getattr(self, name) for name in ("weights", "width") if hasattr(self, name)}


class Neighborhood(NamedTuple):
    """The k nearest neighbours of each sample, and the number of clusters."""

    nearest: Neighbors
    n_clusters: int


class ClusterSelector(GraphSelector):
    """Base class of selectors with a number of clusters, given or read off the neighbour graph."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GraphSelector._parameter_constraints,
        "n_clusters": [*COUNT, StrOptions({"auto"})],
        "random_state": ["random_state"],
    }

    n_clusters: int | str | None
    random_state: Any
    max_iter: int
    tol: float | None

    def _dimension(self, n_clusters: int) -> int:
        """Dimension of the embedding: c − 1 if the columns are centred, as they cannot express a constant; else c."""
        return max(n_clusters - 1, 1) if self.center else n_clusters

    def _neighborhood(self, X: Columns) -> Neighborhood:
        """The k nearest neighbours of each sample and the number of clusters, from one neighbour search."""
        k = self._count_neighbors(X.shape[0])
        finds_clusters = isinstance(self.n_clusters, str)
        count = self._neighbors_to_search(k, X.shape[0])
        nearest = nearest_others(X, count, with_ties=finds_clusters, n_jobs=self.n_jobs)
        return Neighborhood(nearest.first(k), self._clusters_among(nearest))

    def _clusters_in(self, structure: GivenStructure) -> int:
        """c as given, or the number of groups, or by the eigengap of the graph."""
        n = structure.n_samples
        if not isinstance(self.n_clusters, str):
            return self._given_clusters(n, self.n_clusters)
        if structure.points is not None:
            return self._count_clusters(structure.samples)
        return structure.n_groups or self._clusters_by_eigengap(structure.graph)

    def _factor_of(self, structure: GivenStructure) -> Float:
        """T of a structure; of a graph the leading directions."""
        T = structure.factor
        return T if structure.graph is None else T[:, : self._dimension(self._clusters_in(structure))]

    def _count_clusters(self, X: Columns | Float) -> int:
        """c as given; neighbours are searched only if it is "auto"."""
        n = X.shape[0]
        if not isinstance(self.n_clusters, str):
            return self._given_clusters(n, self.n_clusters)
        count = self._neighbors_to_search(1, n)
        return self._clusters_among(nearest_others(X, count, with_ties=True, n_jobs=self.n_jobs))

    def _neighbors_to_search(self, k: int, n: int) -> int:
        """k, or more if the number of clusters is to be found: its graph also needs the distance to one more."""
        return max(k, self._neighbors_to_count_clusters(n) + 1) if isinstance(self.n_clusters, str) else k

    def _neighbors_to_count_clusters(self, n: int) -> int:
        """The number of neighbours in the graph whose eigengap is read."""
        if isinstance(self.n_neighbors, str):
            return min(NEIGHBORS_TO_COUNT_CLUSTERS, n - 2)
        return min(self._count_neighbors(n), n - 2)

    def _clusters_among(self, nearest: Neighbors) -> int:
        """c as given, or by the eigengap of the neighbour graph."""
        n = len(nearest.index)
        if not isinstance(self.n_clusters, str):
            return self._given_clusters(n, self.n_clusters)
        return self._clusters_by_eigengap(neighbor_probabilities(nearest, self._neighbors_to_count_clusters(n)))

    def _clusters_by_eigengap(self, P: Any) -> int:
        L, n = structure_laplacian(None, P, 1.0), P.shape[0]
        # Beyond √n clusters the gaps of a neighbour graph reflect its size rather than clusters.
        most = min(max(int(np.sqrt(n)), 2), MOST_CLUSTERS_TO_FIND)
        least = min(max(most // 2, 2), FEWEST_CLUSTERS_TO_FIND)
        # The error of an eigenvalue is the square of that of its vector.
        values = smallest_eigenvectors(L, most + 1, tol=1e-4, random_state=self.random_state).values
        return eigengap(values, least)

    @staticmethod
    def _given_clusters(n: int, n_clusters: int | None) -> int:
        assert n_clusters is not None  # a method that accepts None does not ask
        if n_clusters >= n:
            raise ValueError(f"n_clusters={n_clusters} must be less than the number of samples, {n}.")
        return n_clusters

    def _graph_and_clusters(self, X: Columns) -> tuple[sp.csr_array, int]:
        """The graph of the nearest neighbours, with edges as the parameters say, and the number of clusters."""
        nearest, n_clusters = self._neighborhood(X)
        return neighbor_graph(X, nearest, **self._shape_of_graph), n_clusters

    def _graph_and_clusters_of(self, structure: GivenStructure) -> tuple[sp.csr_array, int]:
        """The graph of a structure that is given, and the number of clusters."""
        if structure.points is not None:
            return self._graph_and_clusters(structure.samples)
        return structure.affinity, self._clusters_in(structure)

    def _indicators_and_laplacian(self, A: sp.csr_array, n_clusters: int) -> tuple[NormalizedLaplacian, Float]:
        """Lₙ of a graph, and the first F: indicators of its spectral clusters."""
        Y = spectral_embedding(A, max(n_clusters - 1, 1), random_state=self.random_state).vectors
        F = cluster_indicators(unit_rows(Y), n_clusters, self.random_state)
        return NormalizedLaplacian(A), F

    def _tighten(
        self,
        state: State,
        step: Callable[[State, float], State],
        objective: Callable[[State, float], float],
        weights: Sequence[float] = GROWING,
    ) -> tuple[State, dict[str, Any]]:
        """Repeat a step, for each weight z of the orthogonality penalty in turn, until the objective settles.

        Returns the last state and the fitted attributes that tell how the iterations went.
        """
        tightening = Tightening(self.max_iter, self.tol or 0.0, weights)
        iterations = Iterations(self)
        used: list[float] = []
        for _ in iterations:
            used.append(tightening.weight)
            state = step(state, used[-1])
            value = objective(state, used[-1])
            iterations.record(value, tightening.change_after(value))
        return state, {**iterations.attributes(), "orthogonality_history_": np.array(used)}
