"""FSASL: unsupervised feature selection with adaptive structure learning (Du and Shen, KDD 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ufselect._utils.threads import one_thread
from ufselect._utils.types import Float
from ufselect.base import (
    COUNT,
    NOT_NEGATIVE,
    SHARE,
    ClusterSelector,
    Constraints,
    Iterations,
    affordable_gram,
    checked_coef,
)
from ufselect.base.ranking import Ranking, rank_by_alignment, rank_by_gain, rank_by_row_norm
from ufselect.columns.dask_arrays import is_dask_collection, validate_features
from ufselect.columns.dense import Columns
from ufselect.columns.tensors import is_tensor
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.approximate import uses_approximate
from ufselect.graphs.components import principal_components
from ufselect.graphs.laplacian import StructureLaplacian
from ufselect.graphs.self_expression import fixed_size_self_expression, sparse_self_expression
from ufselect.graphs.smooth_target import smooth_target
from ufselect.graphs.spectral import aligned, turn_between
from ufselect.graphs.structure import Structure
from ufselect.graphs.structure_spectrum import smallest_of_structure
from ufselect.solvers.alignment import COUNTED, SETTLED, StructureFactor, kernel_turn
from ufselect.solvers.feature_weights import FeatureWeights, embedded, expressive_weights, regressed_weights
from ufselect.solvers.l21 import tolerance_while_moving
from ufselect.solvers.penalties import smallest_penalty_of_products
from ufselect.solvers.trace import even_row_norms, smoother_projection

_TOLERANCE = 1e-4  # of W at last


class FSASL(ClusterSelector):
    """Unsupervised feature selection with adaptive structure learning.

    The structure of the data (which samples express which, and which are neighbours) reveals the informative features,
    and the informative features reveal the structure: FSASL learns both in turn. With Z = XW it minimises

        ‖(I−S)ᵀZ‖² + Σᵢ αᵢ‖sᵢ‖₁ + β( tr(ZᵀL_P Z) + Σᵢ (μᵢ/2)‖pᵢ‖² ) + γ‖W‖₂,₁

    over row-sparse feature weights W, sparse self-expression S with a zero diagonal, and neighbour probabilities P with
    rows on the simplex.

    By default nothing has to be known about the data: W is regressed on the kernel of the learned graph instead of on
    c − 1 of its eigenvectors, and features are selected by how well they agree with the kernels of all iterations.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction of features if a float. "auto" takes the features up to the peak
        of the alignment curve. If there are more features than samples, it takes as many as exceed the alignment of
        shuffled features most.
    n_clusters : int, "auto" or None, default=None
        c, the approximate number of clusters, which sets the dimension of the learned space. None needs no such number,
        because all directions of the graph count, weighted by how well the graph holds them together. "auto" reads c
        off the widest gap between the eigenvalues of the first neighbour graph, from 5 to √n (at most 50).
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are searched. "approximate" takes far less time for very many samples and needs pynndescent
        (``pip install pynndescent``); "auto" uses it above 200,000 samples if it is installed.
    graph_components : int or None, default=30
        Number of principal components in which the neighbours of the first graph are found, or None for all features.
    structure : {"both", "global", "local"}, default="local"
        Learn S and P, S only, or P only. S takes most of the time and does not improve selections on average.
    adaptive : bool, default=True
        Whether the structure follows the selected features. If False, it is that of the original features.
    accumulate : bool, default=True
        Whether features are selected by the last three structures, that of the original features included, or by the
        last one only.
    w_solver : {"regression", "eigen"}, default="regression"
        How W is found: by row-sparse regression on the eigenvectors of the Laplacian, or by the generalised
        eigenproblem, in which ZᵀZ = I holds exactly. Both are in the paper.
    recalibrate : bool, default=True
        Whether α, μ and γ are set from their shares in every iteration, as in the paper. If False, they keep their
        first values and the objective is one fixed function, which w_solver="eigen" lowers at every step.
    spread : {"row", "mean"}, default="row"
        Whether each sample has its own μ, such that it has exactly k neighbours, or all have the mean of these as in
        the paper.
    self_expression_size : int or None, default=None
        Number of samples that express each sample, selected one by one. If None, the penalty decides.
    local_weight : float, default=1.0
        β, the weight of the neighbours against the self-expression.
    row_penalty : float, default=0.1
        γ, as a share of the smallest γ at which W = 0. The larger it is, the fewer features span the learned space. It
        is smaller than the 0.3 of other methods because the structure is learned from the features that W keeps.
        Unless n_clusters is given, γ is halved, three times at most, if this is enough for the samples to look alike
        by the embedding as they do by the first graph (an agreement of 0.6). If there are more features than samples,
        and more than n of them (at least 500, at most 2000) would take part, γ is doubled until fewer do.
    self_expression_penalty : float, default=0.05
        αᵢ, as a share of the smallest αᵢ at which no sample expresses sample i.
    scale : {"moderate", "standard"} or None, default="moderate"
        Divide each column by its standard deviation plus the median of all standard deviations, by its standard
        deviation, or use the columns as they are if None. Moderate scaling leaves columns that hardly vary small. It is
        the default because such columns are mostly noise, which would blur the structure that is learned from them.
    center : bool, default=True
        Whether to centre the columns. A sparse X is centred implicitly.
    selection : {"alignment", "greedy", "norm"}, default="alignment"
        Select features one by one so that the samples look alike by these features as they do by the learned structure
        ("alignment"), or so that together they explain the last embedding ("greedy"); or rank them by ‖wⱼ‖ as in the
        paper, which ranks redundant features next to each other.
    keep : list of str or int, or None, default=None
        Features to select before all others, by name or number. The others complement them.
    exclude : list of str or int, or None, default=None
        Features that take no part and rank last.
    min_distance : int, default=1
        Smallest distance between the indices of two selected features, for features in an order, such as wavelengths.
    max_iter : int, default=4
        Maximum number of iterations. It is smaller than in other methods because each iteration learns the structure
        anew, and because the structure gets sharper than the data with many of them.
    tol : float or None, default=None
        Stop when the learned structure turns by at most this between two iterations; 1 is a turn into an orthogonal
        one. None takes two iterations, and further ones only as long as the structure turns by more than a third. It is
        the default because each iteration makes the structure sharper, and most structures settle within two.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it, unless neighbours are approximate.
    device : {"cuda", "cpu"} or None, default=None
        Where PyTorch computes (``pip install torch``): "cuda" is the GPU. It takes a dense X with at least as
        many samples as features, at most 5000 of these, and the default structure; an X that does not fit into the
        memory of the GPU is streamed. If None, NumPy computes, or PyTorch on the device of X if that is a tensor. The
        scores of the two differ by about 1e-4.
    random_state : int, RandomState instance or None, default=0
        Seed of the iterative solvers for components and eigenvectors, which are used above 500 samples, and of the
        search for approximate neighbours.
    verbose : int, default=0
        If 1, show a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Larger is better. "alignment": the alignment of the feature, discounted by what it has in common with those
        ranked before it, and lowered to the score of the feature before it where it is higher, so that neighbours in
        the ranking may tie; it is not what the feature adds to the alignment, which is a difference of
        ``alignment_curve_`` (:func:`ufselect.inspection.gains_of`). "greedy": what the feature explains of the
        embedding beyond those ranked before it, lowered in the same way. "norm": ‖wⱼ‖ times the root mean square of the
        columns.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int or None
        c, as given or read off the data; None if it is not needed.
    coef_ : ndarray of shape (n_features, n_dimensions)
        W, for the columns centred and scaled as ``center`` and ``scale`` say. There are up to 60 dimensions; given c
        there are c − 1 if the columns are centred, as they cannot express a constant, and c otherwise.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Z = XW, of these columns.
    self_expression_ : sparse array of shape (n_samples, n_samples) or None
        S; column i expresses sample i.
    neighbor_graph_ : sparse array of shape (n_samples, n_samples) or None
        P; row i holds the neighbours of sample i.
    neighbor_recall_ : float
        Share of the true neighbours among those found, measured on up to 1000 samples, the lowest of all searches; 1
        if the search is exact.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each iteration.
    half_step_history_ : ndarray of shape (n_iter_, 3)
        Objective after the S, P and W step of each iteration.
    n_iter_ : int
        Number of iterations.
    alignment_curve_ : ndarray
        Entry m−1 is the alignment of the best m features with the learned structure: 1 if the samples look alike by
        these features exactly as they do by the structure, 0 if the two have nothing in common.
    alignments_ : ndarray of shape (n_features,)
        Alignment of each feature by itself.
    r2_curve_ : ndarray
        Entry m−1 is R² of the embedding on the best m features.

    References
    ----------
    L. Du and Y.-D. Shen, "Unsupervised feature selection with adaptive structure learning",
    Proceedings of KDD 2015, 209-218.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ufselect import FSASL
    >>> X, _ = load_digits(return_X_y=True)
    >>> selector = FSASL(n_features_to_select=15).fit(X[:500])
    >>> selector.transform(X).shape
    (1797, 15)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        "n_clusters": [None, *COUNT, StrOptions({"auto"})],
        "neighbors": [StrOptions({"auto", "exact", "approximate"})],
        "graph_components": [None, *COUNT],
        "structure": [StrOptions({"both", "global", "local"})],
        "adaptive": ["boolean"],
        "accumulate": ["boolean"],
        "w_solver": [StrOptions({"regression", "eigen"})],
        "recalibrate": ["boolean"],
        "spread": [StrOptions({"row", "mean"})],
        "self_expression_size": [None, *COUNT],
        "local_weight": NOT_NEGATIVE,
        "row_penalty": SHARE,
        "self_expression_penalty": SHARE,
        "selection": [StrOptions({"alignment", "greedy", "norm"})],
        "max_iter": COUNT,
        "tol": [None, *NOT_NEGATIVE],
        "device": [None, StrOptions({"cpu", "cuda"})],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        n_clusters: int | str | None = None,
        n_neighbors: int | str = "auto",
        neighbors: str = "auto",
        graph_components: int | None = 30,
        structure: str = "local",
        adaptive: bool = True,
        accumulate: bool = True,
        w_solver: str = "regression",
        recalibrate: bool = True,
        spread: str = "row",
        self_expression_size: int | None = None,
        local_weight: float = 1.0,
        row_penalty: float = 0.1,
        self_expression_penalty: float = 0.05,
        scale: str | None = "moderate",
        center: bool = True,
        selection: str = "alignment",
        keep: Any = None,
        exclude: Any = None,
        min_distance: int = 1,
        max_iter: int = 4,
        tol: float | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.graph_components = graph_components
        self.structure = structure
        self.adaptive = adaptive
        self.accumulate = accumulate
        self.w_solver = w_solver
        self.recalibrate = recalibrate
        self.spread = spread
        self.self_expression_size = self_expression_size
        self.local_weight = local_weight
        self.row_penalty = row_penalty
        self.self_expression_penalty = self_expression_penalty
        self.scale = scale
        self.center = center
        self.selection = selection
        self.keep = keep
        self.exclude = exclude
        self.min_distance = min_distance
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def published(cls, **params: Any) -> Self:
        """FSASL with the choices of the paper.

        These are raw columns, c eigenvectors as the target, both structures with five neighbours and one μ for all
        samples, iterations until the learned space settles, and features ranked by ‖wⱼ‖.

        Parameters
        ----------
        **params : dict
            Other parameters of the class, or other values of these.

        Returns
        -------
        FSASL
        """
        choices: dict[str, Any] = {
            "n_clusters": "auto",
            "n_neighbors": 5,
            "graph_components": None,
            "structure": "both",
            "accumulate": False,
            "spread": "mean",
            "row_penalty": 0.05,
            "self_expression_penalty": 0.01,
            "scale": None,
            "center": False,
            "selection": "norm",
            "max_iter": 12,
            "tol": 0.05,
        }
        return cls(**{**choices, **params})

    def fit(self, X: Any, y: Any = None, *, batch: Any = None) -> Self:
        """Rank the columns of X.

        Parameters
        ----------
        X : array-like, sparse matrix, PyTorch tensor or Dask array of shape (n_samples, n_features)
            Data without labels. A tensor is treated on its device, a Dask array or data frame block by block where its
            blocks are.
        y : Ignored
            Not used, present for API consistency by convention.
        batch : array-like of shape (n_samples,), optional
            Batch of each sample, such as its plate or its donor. Every column is centred within each batch first, so
            that only the structure within batches counts. Neither a tensor nor a Dask array can have batches.

        Returns
        -------
        self : object
            The fitted selector.
        """
        if is_tensor(X):
            from ufselect.gpu.fitting import fit_tensor as fit_where_it_is
        elif is_dask_collection(X):
            from ufselect.base.dask_fitting import fit_blocks as fit_where_it_is
        else:
            return super().fit(X, y, batch=batch)
        if batch is not None:
            raise ValueError("batch needs an array in memory, not a tensor or a Dask array.")
        self._validate_params()
        with one_thread(), np.errstate(under="ignore"):  # as in memory
            return fit_where_it_is(self, X)

    def transform(self, X: Any) -> Any:
        """Keep the selected columns of X.

        Parameters
        ----------
        X : array-like, sparse matrix, PyTorch tensor or Dask array of shape (n_samples, n_features)
            The columns of a data frame, also of a Dask one, must have the names and the order of those fitted.

        Returns
        -------
        array of shape (n_samples, n_selected_features)
            A tensor if X is one, a Dask array or data frame if X is one.
        """
        if not (is_tensor(X) or is_dask_collection(X)):
            return super().transform(X)
        index = self.get_support(indices=True)
        validate_features(self, X, reset=False)
        return X.iloc[:, index] if hasattr(X, "iloc") else X[:, index]

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        if self.device is not None:
            from ufselect.gpu.fitting import learn_on_device

            return learn_on_device(self, X, constraints)
        gram, structure, n_clusters, weights = self._start(X)
        structure = structure.weighted(self.local_weight)
        Z = embedded(X, weights.W)
        structures = [weights.structure]
        iterations = Iterations(self, SETTLED)
        half_steps: list[tuple[float, float, float]] = []
        for iteration in iterations:
            frozen = iteration > 0 and not self.recalibrate
            structure = self._express(structure, Z, frozen).weighted(self.local_weight)
            cost_of_expression = structure.cost(Z) + weights.cost
            structure = self._find_neighbors(structure, Z, frozen).weighted(self.local_weight)
            cost_of_neighbors = structure.cost(Z) + weights.cost
            last, weights = weights, self._fit_weights(X, gram, structure.laplacian, n_clusters, weights)
            structures = [*structures, weights.structure][-COUNTED:]
            moved = embedded(X, weights.W)
            change = turn_between(moved, Z) if n_clusters else kernel_turn(weights.target, last.target)
            Z = moved
            objective = structure.cost(Z) + weights.cost
            half_steps.append((cost_of_expression, cost_of_neighbors, objective))
            iterations.record(objective, change=change)
            if not self.adaptive:
                break
        if n_clusters is None:
            weights = self._regressed(X, gram, weights, moving=False)
        counted = structures if self.accumulate else [weights.structure]
        return self._ranking(X, gram, weights, counted, constraints).with_attributes(
            n_clusters_=n_clusters,
            self_expression_=structure.S,
            neighbor_graph_=structure.P,
            neighbor_recall_=structure.recall,
            half_step_history_=np.array(half_steps),
            **iterations.attributes(),
        )

    def _start(self, X: Columns) -> tuple[Float | None, Structure, int | None, FeatureWeights]:
        """XᵀX, the structure of the original features, c, and the first weights."""
        gram = affordable_gram(X)
        structure = self._structure_of_original_features(X, gram)
        n_clusters = self._clusters(X, gram)
        weights = self._fit_weights(X, gram, structure.laplacian, n_clusters)
        if n_clusters is None:
            weights = expressive_weights(X, weights, partial(self._regressed, X, gram, moving=True))
        return gram, structure, n_clusters, weights

    def _clusters(self, X: Columns, gram: Float | None) -> int | None:
        """c as given or by the eigengap; None if the kernel of the graph is the target."""
        if self.n_clusters is not None:
            return self._count_clusters(self._points(X, gram))
        if self.w_solver == "eigen":
            raise ValueError('w_solver="eigen" needs a number of clusters: set n_clusters to a number or to "auto".')
        return None

    def _kind_of_structure(self) -> str:
        """``structure``; with β = 0 neighbours do not count, so "both" is "global"."""
        if self.local_weight > 0.0 or self.structure == "global":
            return self.structure
        if self.structure == "local":
            raise ValueError('local_weight=0 with structure="local" leaves no structure to learn.')
        return "global"

    def _structure_of_original_features(self, X: Columns, gram: Float | None) -> Structure:
        """P of the original features, and S as well if it is not learned from the first W."""
        kind = self._kind_of_structure()
        by_eigenvectors = self.w_solver == "regression" and self.n_clusters is not None
        # The eigenvectors of L_P, the first target, do not depend on β.
        structure = Structure(1.0 if by_eigenvectors and self.adaptive and kind != "global" else self.local_weight)
        if kind != "global":
            structure = self._with_neighbors(structure, self._points(X, gram), self.spread)
        if kind == "global" or (kind == "both" and not self.adaptive):
            structure = self._expressed(structure, X, None)
        return structure

    def _points(self, X: Columns, gram: Float | None) -> Columns | Float:
        """The samples as the first graph sees them: in their principal components, or in all features."""
        if self.graph_components is None or X.shape[1] <= self.graph_components:
            return X if self.graph_components is None else X.in_memory()
        return principal_components(X, self.graph_components, gram=gram, random_state=self.random_state)

    def _express(self, structure: Structure, Z: Float, frozen: bool) -> Structure:
        """The S step."""
        if not self.adaptive or self.structure == "local":
            return structure
        return self._expressed(structure, Z, structure.penalties if frozen else None)

    def _expressed(self, structure: Structure, Z: Columns | Float, penalties: Float | None) -> Structure:
        if self.self_expression_size is not None:
            S = fixed_size_self_expression(Z, self.self_expression_size, n_jobs=self.n_jobs)
            return replace(structure, S=S, penalties=np.zeros(Z.shape[0]))
        found = sparse_self_expression(
            Z, self.self_expression_penalty, penalties=penalties, warm_start=structure.S, n_jobs=self.n_jobs
        )
        return replace(structure, S=found.S, penalties=found.penalties)

    def _find_neighbors(self, structure: Structure, Z: Float, frozen: bool) -> Structure:
        """The P step."""
        if not self.adaptive or structure.P is None:
            return structure
        structure.forget_laplacian()  # that of the neighbours before, which takes more memory than P
        spread = structure.spread if frozen and structure.spread is not None else self.spread
        return self._with_neighbors(structure, Z, spread)

    def _with_neighbors(self, structure: Structure, points: Columns | Float, spread: str | Float) -> Structure:
        """The structure with P of some points."""
        found = adaptive_neighbors(
            points,
            self._count_neighbors(points.shape[0]),
            spread=spread,
            approximate=uses_approximate(points, self.neighbors, self.spread == "row" and self.recalibrate),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        return replace(structure, P=found.P, spread=found.spread, recall=min(structure.recall, found.recall))

    def _fit_weights(
        self,
        X: Columns,
        gram: Float | None,
        L: StructureLaplacian,
        n_clusters: int | None,
        last: FeatureWeights | None = None,
    ) -> FeatureWeights:
        """The W step, by either route of the paper."""
        if self.w_solver == "regression":
            Y = self._target(L, n_clusters, last)
            products = X.transposed_matmul(Y)
            near = np.zeros((X.shape[1], Y.shape[1])) if last is None else last.W
            start = FeatureWeights(near, Y, products, *self._row_penalty(products, last))
            return self._regressed(X, gram, start, moving=n_clusters is None)
        dimension = self._dimension(n_clusters or 0)  # never None, see _clusters
        first = X.transposed_matmul(self._target(L, n_clusters, None)) if last is None else last.products
        penalty = self._row_penalty(first, last)
        norms = even_row_norms(X, dimension) if last is None else np.linalg.norm(last.W, axis=1)
        W = smoother_projection(X, L, norms, penalty[0], dimension, gram=gram)
        Y = X @ W
        return FeatureWeights(W, Y, X.transposed_matmul(Y), *penalty)

    def _regressed(self, X: Columns, gram: Float | None, start: FeatureWeights, *, moving: bool) -> FeatureWeights:
        """The row-sparse regression of the target; loose while a kernel moves."""
        tol = tolerance_while_moving(start.share) if moving else _TOLERANCE
        weights, found = regressed_weights(X, gram, start, tol, limited=self.n_clusters is None)
        return weights._replace(W=checked_coef(found))

    def _target(self, L: StructureLaplacian, n_clusters: int | None, last: FeatureWeights | None) -> Float:
        """What W is regressed on: the kernel of L, or its first eigenvectors; rotated towards the last target."""
        near = None if last is None else last.target
        how: dict[str, Any] = {
            "nontrivial": self.center,
            "warm_start": near,
            "n_jobs": self.n_jobs,
            "random_state": self.random_state,
        }
        if n_clusters is None:
            T = smooth_target(L, **how)
        else:
            T = smallest_of_structure(L, self._dimension(n_clusters), **how).vectors
        return T if near is None else aligned(T, near)

    def _row_penalty(self, products: Float, last: FeatureWeights | None) -> tuple[float, float]:
        """γ, and its share."""
        share = self.row_penalty if last is None else last.share
        if last is not None and not self.recalibrate:
            return last.penalty, share
        return share * smallest_penalty_of_products(products), share

    def _ranking(
        self,
        X: Columns,
        gram: Float | None,
        weights: FeatureWeights,
        structures: Sequence[StructureFactor],
        constraints: Constraints,
    ) -> Ranking:
        """Rank by alignment with the structures, by gain, or by norm."""
        Z = embedded(X, weights.W)
        if self.selection == "norm":
            # As in the paper: features of equal norm, such as those left out, keep the order of the columns.
            by_norm = rank_by_row_norm(X, weights.W, weights.target, constraints, also=np.zeros(X.shape[1]))
            return replace(by_norm, embedding=Z)
        if self.selection == "greedy":
            return replace(rank_by_gain(X, weights.target, constraints, coef=weights.W, gram=gram), embedding=Z)
        found = rank_by_alignment(X, structures, Z, constraints, gram=gram, random_state=self.random_state)
        return replace(found, coef=weights.W)
