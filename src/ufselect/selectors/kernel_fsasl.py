"""KernelFSASL: feature selection with adaptive structure learning that needs no number of clusters."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from ufselect._utils.types import Float
from ufselect.base import (
    COUNT,
    NOT_NEGATIVE,
    SHARE,
    Constraints,
    GivenStructure,
    GraphSelector,
    Iterations,
    Ranking,
    affordable_gram,
    rank_by_alignment,
    with_parameters,
)
from ufselect.columns.dense import Columns
from ufselect.graphs.adaptive import Neighborhoods, adaptive_neighbors
from ufselect.graphs.approximate import searches_approximately
from ufselect.graphs.components import principal_components
from ufselect.graphs.smooth_target import smooth_target
from ufselect.solvers.alignment import kernel_turn
from ufselect.solvers.feature_weights import expressive_weights, regressed_weights, weights_at_zero

_LARGEST_TURN = 1 / 3  # of the structure in the last iteration; results/README.md has figures
_STRUCTURES = 3  # the latest ones, by which features are selected


@with_parameters
class KernelFSASL(GraphSelector):
    """Feature selection with adaptive structure learning that needs no number of clusters.

    The structure of the data (which samples are neighbours) reveals the informative features, and the informative
    features reveal the structure: KernelFSASL learns both in turn. It minimises

        ‖T − XW‖² + γ‖W‖₂,₁

    over row-sparse feature weights W, where K = TTᵀ is the kernel of the neighbour graph of the samples in the space
    Z = XW learned before. The features are selected one by one such that their kernel agrees best with the kernels of
    the last three graphs. It grew out of :class:`FSASL`, whose target are c eigenvectors of the graph instead.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve. If
        there are more features than samples, it takes as many as exceed the alignment of shuffled features most.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are searched. "approximate" takes far less time for very many samples and needs pynndescent
        (``pip install pynndescent``); "auto" uses it above 200,000 samples if it is installed.
    graph_components : int or None, default=30
        Number of principal components in which the neighbours of the first graph are found, or None for all features.
    adaptive : bool, default=True
        Whether the graph follows the selected features. If False, it is that of the original features.
    row_penalty : float, default=0.1
        γ, as a share of the smallest γ at which W = 0. The larger it is, the fewer features span the learned space. It
        is smaller than the 0.3 of other methods because the graph is learned from the features that W keeps. γ is
        halved (at most three times) until the embedding agrees with the first graph (an alignment of 0.6). If there are
        more features than samples, and more than n of them (at least 500, at most 2000) would take part, γ is doubled
        until fewer do.
    scale : {"moderate", "standard"} or None, default="moderate"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. "moderate" is the default because columns that hardly vary, or
        only in a few samples, which it leaves small, are mostly noise. Where units differ, its result does not depend
        on them.
    center : bool, default=True
        Whether to centre the columns. A sparse X is centred implicitly.
    keep : list of str or int, or None, default=None
        Features to select before all others, by name or number. The others complement them.
    exclude : list of str or int, or None, default=None
        Features that take no part and rank last.
    groups : list, dict, str or None, default=None
        Groups of features that are selected as a whole and count as one each: a label for each feature, a dict from
        names to labels, or "prefix:=" for the part of the names before "=".
    min_distance : int, default=1
        Smallest distance between the indices of two selected features, for features in an order, such as wavelengths.
    requirements : Requirements, dict or None, default=None
        What the selection has to meet: a budget, quotas, limits or distances, and weights
        (:class:`ufselect.Requirements`). With a budget or quotas, the set of features that agrees best with the
        structure is selected, which need not use up the budget.
    fdr : float or None, default=None
        Select among the features that share structure with others at this false discovery rate, such as 0.05; the
        others follow, by p-value (:func:`ufselect.significance.column_significance`). None does not test features.
    max_iter : int, default=4
        Maximum number of iterations. It is smaller than in other methods because each iteration learns the structure
        anew, and because the structure gets sharper than the data with many of them.
    tol : float or None, default=None
        Stop when the learned structure turns by at most this between two iterations; 1 is a turn into an orthogonal
        one. None takes two iterations, and further ones only as long as the structure turns by more than a third. It is
        the default because each iteration makes the structure sharper, and most structures settle within two.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it, unless neighbours are approximate.
    device : {"cuda"} or None, default=None
        "cuda" computes on a GPU with PyTorch (``pip install torch``). It takes a dense X with at least as many samples
        as features, at most 5000 of these; an X that does not fit into the memory of the GPU is streamed. If None, the
        work is done where X lives: in memory, on the device of a tensor, or in the blocks of a Dask array. Scores from
        a GPU differ by about 1e-4.
    random_state : int, RandomState instance or None, default=0
        Seed of the iterative solvers for components and eigenvectors, which are used above 500 samples, and of the
        search for approximate neighbours.
    verbose : int, default=0
        If 1, show a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Larger is better: the alignment of the feature, discounted by what it has in common with those ranked before it,
        and lowered to the score of the feature before it (of the same group, if there are groups) where it is higher,
        so that neighbours in the ranking may tie.
        It is not what the feature adds to the alignment, which is a difference of ``alignment_curve_``
        (:func:`ufselect.inspection.gains_of`).
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last. Features of a group follow each other.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    coef_ : ndarray of shape (n_features, n_dimensions)
        W, for the columns centred and scaled as ``center`` and ``scale`` say. There are up to 60 dimensions.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Z = XW, of these columns.
    neighbor_graph_ : sparse array of shape (n_samples, n_samples)
        P; row i holds the neighbours of sample i.
    neighbor_recall_ : float
        Share of the true neighbours among those found, measured on up to 1000 samples, the lowest of all searches; 1
        if the search is exact.
    objective_history_ : ndarray of shape (n_iter_,)
        tr(ZᵀL_P Z) + Σᵢ (μᵢ/2)‖pᵢ‖² + γ‖W‖₂,₁ after each iteration.
    n_iter_ : int
        Number of iterations.
    alignment_curve_ : ndarray
        Entry m−1 is the alignment of the best m features with the learned structure, the cosine between their kernel
        and that of the structure: 1 if the two are proportional, 0 if they have nothing in common.
    alignments_ : ndarray of shape (n_features,)
        Alignment of each feature by itself.
    r2_curve_ : ndarray
        Entry m−1 is R² of the embedding on the best m features.
    significance_ : ColumnSignificance
        Which features share structure with others; only if ``fdr`` is given.
    q_values_ : ndarray of shape (n_features,)
        The smallest false discovery rate at which each feature is found; only if ``fdr`` is given.
    groups_ : ndarray of shape (n_features,)
        Number of the group of each feature; only if ``groups`` is given.
    group_names_ : ndarray of str
        Name of each group, which is that of its feature if it is alone; only if ``groups`` is given.
    n_groups_ : int
        Number of selected groups; only if ``groups`` is given.
    cost_ : float
        What the selected features cost; only if ``requirements`` has costs.
    outside_limits_ : ndarray of int
        Indices of the features outside the limits; only if ``requirements`` has limits.

    See Also
    --------
    FSASL : The published method, whose target are c eigenvectors.

    References
    ----------
    L. Du and Y.-D. Shen, "Unsupervised feature selection with adaptive structure learning",
    Proceedings of KDD 2015, 209-218.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ufselect import KernelFSASL
    >>> X, _ = load_digits(return_X_y=True)
    >>> selector = KernelFSASL(n_features_to_select=15).fit(X[:500])
    >>> selector.transform(X).shape
    (1797, 15)
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_neighbors: int | str = "auto"
    neighbors: str = "auto"
    graph_components: int | None = 30
    adaptive: bool = True
    row_penalty: float = 0.1
    scale: str | None = "moderate"
    center: bool = True
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    min_distance: int = 1
    requirements: Any = None
    fdr: float | None = None
    max_iter: int = 4
    tol: float | None = None
    n_jobs: int | None = None
    device: str | None = None
    random_state: Any = 0
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GraphSelector._parameter_constraints,
        "neighbors": [StrOptions({"auto", "exact", "approximate"})],
        "graph_components": [None, *COUNT],
        "adaptive": ["boolean"],
        "row_penalty": SHARE,
        "max_iter": COUNT,
        "tol": [None, *NOT_NEGATIVE],
        "device": [None, StrOptions({"cuda"})],
        "random_state": ["random_state"],
    }
    _homes = ("tensor", "Dask array")
    _takes_weights = True

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        gram = affordable_gram(X)
        graph = self._graph(self._points(X, gram))
        weights = expressive_weights(X, self._kernel(graph), self.row_penalty, gram=gram)
        Z = X.embedded(weights.W)
        structures, recall = [weights.structure], graph.recall
        iterations = Iterations(self, _LARGEST_TURN)
        for _ in iterations:
            if self.adaptive:
                graph = self._graph(Z)
            last, T = weights, self._kernel(graph, near=weights.target)
            weights = regressed_weights(X, weights_at_zero(X, T, last.share, last.W), gram=gram)
            Z = X.embedded(weights.W)
            structures, recall = [*structures, weights.structure][-_STRUCTURES:], min(recall, graph.recall)
            iterations.record(graph.cost(Z) + weights.cost, change=kernel_turn(T, last.target))
            if not self.adaptive:
                break
        ranking = rank_by_alignment(X, structures, weights.W, Z, constraints, gram=gram, random_state=self.random_state)
        return ranking.with_attributes(neighbor_graph_=graph.P, neighbor_recall_=recall, **iterations.attributes())

    def _learn_from(self, X: Columns, structure: GivenStructure, constraints: Constraints) -> Ranking:
        gram = affordable_gram(X)
        weights = expressive_weights(X, X.centered_like(structure.factor), self.row_penalty, gram=gram)
        Z = X.embedded(weights.W)
        return rank_by_alignment(
            X, [weights.structure], weights.W, Z, constraints, gram=gram, random_state=self.random_state
        )

    def _points(self, X: Columns, gram: Float | None) -> Any:
        """The samples as the first graph sees them: in their principal components, or in all features."""
        if self.graph_components is None or X.shape[1] <= self.graph_components:
            return X.samples()
        return principal_components(X, self.graph_components, gram=gram, random_state=self.random_state)

    def _graph(self, points: Any) -> Neighborhoods:
        """P of some points."""
        return adaptive_neighbors(
            points,
            self._count_neighbors(points.shape[0]),
            approximate=searches_approximately(self.neighbors, points),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    def _kernel(self, graph: Neighborhoods, near: Any = None) -> Any:
        """T of the kernel K = TTᵀ of a graph, rotated towards an earlier one."""
        return smooth_target(
            graph.laplacian(),
            nontrivial=self.center,
            warm_start=near,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
