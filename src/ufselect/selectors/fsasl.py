"""FSASL: unsupervised feature selection with adaptive structure learning (Du and Shen, KDD 2015)."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ufselect._utils.types import Float
from ufselect.base import (
    COUNT,
    ITERATIONS,
    NOT_NEGATIVE,
    SHARE,
    ClusterSelector,
    Constraints,
    Iterations,
    Ranking,
    affordable_gram,
    checked_coef,
    rank_by_row_norm,
    with_parameters,
)
from ufselect.columns.dense import Columns
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.laplacian import Structure, StructureLaplacian
from ufselect.graphs.self_expression import fixed_size_self_expression, sparse_self_expression
from ufselect.graphs.spectral import aligned, smallest_eigenvectors, turn_between
from ufselect.solvers.feature_weights import FeatureWeights
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import smallest_penalty_of_products
from ufselect.solvers.reweighted import even_row_norms, smoother_projection

_TOLERANCE = 1e-4  # of W


@with_parameters
class FSASL(ClusterSelector):
    """Unsupervised feature selection with adaptive structure learning.

    The structure of the data (which samples express which, and which are neighbours) reveals the informative features,
    and the informative features reveal the structure: FSASL learns both in turn. With Z = XW it minimises

        ‖(I−S)ᵀZ‖² + Σᵢ αᵢ‖sᵢ‖₁ + β( tr(ZᵀL_P Z) + Σᵢ (μᵢ/2)‖pᵢ‖² ) + γ‖W‖₂,₁

    over row-sparse feature weights W, sparse self-expression S with a zero diagonal, and neighbour probabilities P with
    rows on the simplex. This is the method of the paper, with its choices as defaults: raw columns, c eigenvectors of
    the Laplacian as the target of W, one μ for all samples, and features ranked by ‖wⱼ‖.

    :class:`KernelFSASL` needs no number of clusters, takes less time, and selects features that complement each other.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the approximate number of clusters: the dimension of the learned space. "auto" reads c off an eigengap.
    n_neighbors : int or "auto", default=5
        k, the number of neighbours of each sample. The default is 5 because the paper has 5; "auto" depends on n.
    structure : {"both", "global", "local"}, default="both"
        Learn S and P, S only, or P only. S takes most of the time.
    adaptive : bool, default=True
        Whether the structure follows the selected features. If False, it is that of the original features.
    w_solver : {"regression", "eigen"}, default="regression"
        How W is found: by row-sparse regression on the eigenvectors of the Laplacian, or by the generalised
        eigenproblem, in which ZᵀZ = I holds exactly. Both are in the paper.
    recalibrate : bool, default=True
        Whether α, μ and γ are set from their shares in every iteration, as in the paper. If False, they keep their
        first values and the objective is one fixed function, which w_solver="eigen" lowers at every step.
    spread : {"row", "mean"}, default="mean"
        Whether each sample has its own μ, such that it has exactly k neighbours, or all have the mean of these as in
        the paper.
    self_expression_size : int or None, default=None
        Number of samples that express each sample, selected one by one. If None, the penalty decides.
    local_weight : float, default=1.0
        β, the weight of the neighbours against the self-expression.
    row_penalty : float, default=0.05
        γ, as a share of the smallest γ at which W = 0. The larger it is, the fewer features span the learned space. It
        is smaller than the 0.3 of other methods because the structure is learned from the features that W keeps.
    self_expression_penalty : float, default=0.01
        αᵢ, as a share of the smallest αᵢ at which no sample expresses sample i.
    scale : {"moderate", "standard"} or None, default=None
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. The default is None because the paper scales no columns.
    center : bool, default=False
        Whether to centre the columns. The default is False because the paper does not centre them.
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
        What the selection has to meet: a budget, quotas, limits or distances (:class:`ufselect.Requirements`).
    fdr : float or None, default=None
        Select among the features that share structure with others at this false discovery rate; None skips the test.
    max_iter : int, default=12
        Maximum number of iterations. It is small because each iteration learns the structure anew.
    tol : float, default=0.05
        Stop when the learned space turns by at most this between two iterations; 1 is a turn into an orthogonal one. It
        is larger than in other methods because it is not a change of the objective, which is small long before W
        settles.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the iterative eigensolver, which is used above 500 samples.
    verbose : int, default=0
        If 1, show a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ‖wⱼ‖ times the root mean square of the columns; larger is better.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int
        c, as given or read off the data.
    coef_ : ndarray of shape (n_features, n_dimensions)
        W, for the columns centred and scaled as ``center`` and ``scale`` say. There are c dimensions, or c − 1 if the
        columns are centred, as they cannot express a constant then.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Z = XW, of these columns.
    self_expression_ : sparse array of shape (n_samples, n_samples) or None
        S; column i expresses sample i.
    neighbor_graph_ : sparse array of shape (n_samples, n_samples) or None
        P; row i holds the neighbours of sample i.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each iteration.
    half_step_history_ : ndarray of shape (n_iter_, 3)
        Objective after the S, P and W step of each iteration.
    n_iter_ : int
        Number of iterations.
    alignment_curve_ : ndarray
        Entry m−1 is the alignment of the best m features with the learned structure, the cosine between their kernel
        and that of the target of W: 1 if the two are proportional, 0 if they have nothing in common.
    alignments_ : ndarray of shape (n_features,)
        Alignment of each feature by itself.
    r2_curve_ : ndarray
        Entry m−1 is R² of the embedding on the best m features.

    See Also
    --------
    KernelFSASL : Needs no number of clusters; the default of the command line.

    References
    ----------
    L. Du and Y.-D. Shen, "Unsupervised feature selection with adaptive structure learning",
    Proceedings of KDD 2015, 209-218.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ufselect import FSASL
    >>> X, _ = load_digits(return_X_y=True)
    >>> selector = FSASL(n_features_to_select=15, n_clusters=10).fit(X[:500])
    >>> selector.transform(X).shape
    (1797, 15)
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = 5
    structure: str = "both"
    adaptive: bool = True
    w_solver: str = "regression"
    recalibrate: bool = True
    spread: str = "mean"
    self_expression_size: int | None = None
    local_weight: float = 1.0
    row_penalty: float = 0.05
    self_expression_penalty: float = 0.01
    scale: str | None = None
    center: bool = False
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    min_distance: int = 1
    requirements: Any = None
    fdr: float | None = None
    max_iter: int = 12
    tol: float = 0.05
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **ITERATIONS,
        "structure": [StrOptions({"both", "global", "local"})],
        "adaptive": ["boolean"],
        "w_solver": [StrOptions({"regression", "eigen"})],
        "recalibrate": ["boolean"],
        "spread": [StrOptions({"row", "mean"})],
        "self_expression_size": [None, *COUNT],
        "local_weight": NOT_NEGATIVE,
        "row_penalty": SHARE,
        "self_expression_penalty": SHARE,
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        gram = affordable_gram(X)
        structure = self._structure_of_original_features(X)
        n_clusters = self._count_clusters(X)
        weights = self._fit_weights(X, gram, structure.laplacian, n_clusters)
        Z = X.embedded(weights.W)
        iterations = Iterations(self)
        half_steps: list[tuple[float, float, float]] = []
        for iteration in iterations:
            frozen = iteration > 0 and not self.recalibrate
            if self.adaptive:
                structure = self._express(structure, Z, frozen)
            after_expression = structure.cost(Z) + weights.cost
            if self.adaptive:
                structure = self._find_neighbors(structure, Z, frozen)
            after_neighbors = structure.cost(Z) + weights.cost
            weights = self._fit_weights(X, gram, structure.laplacian, n_clusters, weights)
            last, Z = Z, X.embedded(weights.W)
            half_steps.append((after_expression, after_neighbors, structure.cost(Z) + weights.cost))
            iterations.record(half_steps[-1][-1], change=turn_between(Z, last))
            if not self.adaptive:
                break
        # As in the paper: features of equal norm, such as those left out, keep the order of the columns.
        ranking = rank_by_row_norm(X, weights.W, weights.target, constraints, also=np.zeros(X.shape[1]))
        return replace(ranking, embedding=Z).with_attributes(
            n_clusters_=n_clusters,
            self_expression_=structure.S,
            neighbor_graph_=structure.P,
            half_step_history_=np.array(half_steps),
            **iterations.attributes(),
        )

    def _kind_of_structure(self) -> str:
        """``structure``; with β = 0 neighbours do not count, so "both" is "global"."""
        if self.local_weight > 0.0 or self.structure == "global":
            return self.structure
        if self.structure == "local":
            raise ValueError('local_weight=0 with structure="local" leaves no structure to learn.')
        return "global"

    def _structure_of_original_features(self, X: Columns) -> Structure:
        """P of the original features, and S as well if it is not learned from the first W."""
        structure = Structure(self.local_weight)
        kind = self._kind_of_structure()
        if kind != "global":
            structure = self._with_neighbors(structure, X, self.spread)
        if kind == "global" or (kind == "both" and not self.adaptive):
            structure = self._expressed(structure, X, None)
        return structure

    def _express(self, structure: Structure, Z: Float, frozen: bool) -> Structure:
        """The S step."""
        if self.structure == "local":
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
        if structure.P is None:
            return structure
        structure.forget_laplacian()  # that of the neighbours before, which takes more memory than P
        spread = structure.spread if frozen and structure.spread is not None else self.spread
        return self._with_neighbors(structure, Z, spread)

    def _with_neighbors(self, structure: Structure, points: Columns | Float, spread: str | Float) -> Structure:
        k = self._count_neighbors(points.shape[0])
        found = adaptive_neighbors(points, k, spread=spread, n_jobs=self.n_jobs)
        return replace(structure, P=found.P, spread=found.spread)

    def _fit_weights(
        self, X: Columns, gram: Float | None, L: StructureLaplacian, n_clusters: int, last: FeatureWeights | None = None
    ) -> FeatureWeights:
        """The W step, by either route of the paper."""
        dimension = self._dimension(n_clusters)
        if self.w_solver == "eigen":
            products = X.transposed_matmul(self._eigenvectors(L, dimension)) if last is None else last.products
            gamma = self._row_penalty(products, last)
            norms = even_row_norms(X, dimension) if last is None else np.linalg.norm(last.W, axis=1)
            W = smoother_projection(X, L, norms, gamma, dimension, gram=gram)
            Y = X @ W
            return FeatureWeights(W, Y, X.transposed_matmul(Y), gamma, self.row_penalty)
        Y = self._eigenvectors(L, dimension, None if last is None else last.target)
        products = X.transposed_matmul(Y)
        gamma = self._row_penalty(products, last)
        start = np.zeros_like(products) if last is None else last.W
        found = l21_regression(X, Y, gamma, gram=gram, products=products, warm_start=start, tol=_TOLERANCE)
        return FeatureWeights(checked_coef(found), Y, products, gamma, self.row_penalty)

    def _eigenvectors(self, L: StructureLaplacian, dimension: int, near: Float | None = None) -> Float:
        """The first eigenvectors of L, rotated towards earlier ones."""
        found = smallest_eigenvectors(
            L, dimension, nontrivial=self.center, warm_start=near, n_jobs=self.n_jobs, random_state=self.random_state
        )
        return found.vectors if near is None else aligned(found.vectors, near)

    def _row_penalty(self, products: Float, last: FeatureWeights | None) -> float:
        """γ, which keeps its first value unless it is recalibrated."""
        if last is not None and not self.recalibrate:
            return last.penalty
        return self.row_penalty * smallest_penalty_of_products(products)
