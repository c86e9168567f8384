"""FSASL: unsupervised feature selection with adaptive structure learning (Du and Shen, KDD 2015)."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from ufselect._backend.columns import Columns, Float
from ufselect._ranking import SUFFICIENT_SHARE, Ranking, rank_by_row_norm, steps_to_show
from ufselect.base import (
    ITERATIONS,
    NOT_NEGATIVE,
    SHARE,
    ClusterSelector,
    Iterations,
    affordable_gram,
    checked_coef,
)
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.laplacian import StructureLaplacian
from ufselect.graphs.self_expression import fixed_size_self_expression, sparse_self_expression
from ufselect.graphs.spectral import aligned, smallest_eigenvectors, turn_between
from ufselect.graphs.structure import Structure
from ufselect.solvers.greedy import ridge_path, ridge_share
from ufselect.solvers.l21 import l21_regression, smallest_penalty_for_zero
from ufselect.solvers.trace import even_row_norms, smoother_projection


class FeatureWeights(NamedTuple):
    """W, the orthonormal target Y that it explains, and γ."""

    W: Float
    target: Float
    penalty: float

    @property
    def cost(self) -> float:
        """γ‖W‖₂,₁."""
        return self.penalty * float(np.linalg.norm(self.W, axis=1).sum())


class FSASL(ClusterSelector):
    """Unsupervised feature selection with adaptive structure learning.

    The structure of the data (which samples express which, and which are neighbours) reveals the informative features,
    and the informative features reveal the structure: FSASL learns both in turn. With Z = XW it minimises

        ‖(I−S)ᵀZ‖² + Σᵢ αᵢ‖sᵢ‖₁ + β( tr(ZᵀL_P Z) + Σᵢ (μᵢ/2)‖pᵢ‖² ) + γ‖W‖₂,₁

    over row-sparse feature weights W, sparse self-expression S with a zero diagonal, and neighbour probabilities P with
    rows on the simplex.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction of features if a float. "auto" takes the fewest features that
        explain 95 % of what all features together explain of the learned embedding.
    n_clusters : int or "auto", default="auto"
        c, the approximate number of clusters, which sets the dimension of the learned space. "auto" reads it off the
        widest gap between the eigenvalues of the first neighbour graph, from 2 to √n (at most 50).
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is 5, or fewer if there are few samples.
    structure : {"both", "global", "local"}, default="both"
        Learn S and P, S only, or P only.
    adaptive : bool, default=True
        Whether the structure follows the selected features. If False, it is that of the original features.
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
    row_penalty : float, default=0.05
        γ, as a share of the smallest γ at which W = 0. The larger it is, the fewer features span the learned space. It
        is smaller than the 0.3 of other methods because the structure is learned from the features that W keeps.
    self_expression_penalty : float, default=0.01
        αᵢ, as a share of the smallest αᵢ at which no sample expresses sample i.
    scale : {"standard"} or None, default="standard"
        Scale the columns to unit variance, or use them as they are if None.
    center : bool, default=True
        Whether to centre the columns. A sparse X is centred implicitly.
    selection : {"greedy", "norm"}, default="greedy"
        Select features one by one so that together they explain the learned embedding, or rank them by ‖wⱼ‖ as in the
        paper. The latter ranks redundant features next to each other.
    max_iter : int, default=12
        Maximum number of iterations. It is smaller than in other methods because each iteration learns the structure
        anew.
    tol : float, default=0.05
        Stop when the learned space turns by at most this between two iterations; 1 is a turn into an orthogonal space.
        It is larger than in other methods because it bounds an angle, not the change of an objective.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the iterative eigensolver, which is used above 500 samples.
    verbose : int, default=0
        If 1, show a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Larger is better.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    n_clusters_ : int
        c, as given or read off the data.
    coef_ : ndarray of shape (n_features, n_dimensions)
        W, for the centred and scaled columns. There are c − 1 dimensions if the columns are centred, as they cannot
        express a constant, and c otherwise.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Z = XW.
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
    structure_curve_ : ndarray
        Entry m−1 is the share of the learned embedding that the best m features explain.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **ITERATIONS,
        "structure": [StrOptions({"both", "global", "local"})],
        "adaptive": ["boolean"],
        "w_solver": [StrOptions({"regression", "eigen"})],
        "recalibrate": ["boolean"],
        "spread": [StrOptions({"row", "mean"})],
        "self_expression_size": [None, Interval(Integral, 1, None, closed="left")],
        "local_weight": NOT_NEGATIVE,
        "row_penalty": SHARE,
        "self_expression_penalty": SHARE,
        "selection": [StrOptions({"greedy", "norm"})],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        n_clusters: int | str = "auto",
        n_neighbors: int | str = "auto",
        structure: str = "both",
        adaptive: bool = True,
        w_solver: str = "regression",
        recalibrate: bool = True,
        spread: str = "row",
        self_expression_size: int | None = None,
        local_weight: float = 1.0,
        row_penalty: float = 0.05,
        self_expression_penalty: float = 0.01,
        scale: str | None = "standard",
        center: bool = True,
        selection: str = "greedy",
        max_iter: int = 12,
        tol: float = 0.05,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.structure = structure
        self.adaptive = adaptive
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
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def published(cls, **params: Any) -> Self:
        """FSASL with the choices of the paper: raw columns, one μ for all samples, features ranked by ‖wⱼ‖.

        Parameters
        ----------
        **params : dict
            Other parameters of the class, or other values of these.

        Returns
        -------
        FSASL
        """
        choices: dict[str, Any] = {"spread": "mean", "scale": None, "center": False, "selection": "norm"}
        return cls(**{**choices, **params})

    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        gram = affordable_gram(X)
        structure = self._structure_of_original_features(X)
        n_clusters = self._clusters_of_graph(X.shape[0], lambda: self._neighbor_graph(X, structure))
        dimension = self._dimension(n_clusters)
        weights = self._fit_weights(X, gram, structure.laplacian, dimension)
        Z = X @ weights.W
        iterations = Iterations(self)
        half_steps: list[tuple[float, float, float]] = []
        for iteration in iterations:
            frozen = iteration > 0 and not self.recalibrate
            expressed = self._express(structure, Z, frozen)
            structure = self._find_neighbors(expressed, Z, frozen)
            costs = expressed.cost(Z) + weights.cost, structure.cost(Z) + weights.cost
            weights = self._fit_weights(X, gram, structure.laplacian, dimension, weights)
            Z, before = X @ weights.W, Z
            objective = structure.cost(Z) + weights.cost
            half_steps.append((*costs, objective))
            iterations.record(objective, change=turn_between(Z, before))
        return self._ranking(X, gram, weights, wanted).with_attributes(
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
            found = adaptive_neighbors(X, self._count_neighbors(X.shape[0]), spread=self.spread, n_jobs=self.n_jobs)
            structure = replace(structure, P=found.P, spread=found.spread)
        if kind == "global" or (kind == "both" and not self.adaptive):
            structure = self._expressed(structure, X, None)
        return structure

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
        spread = structure.spread if frozen and structure.spread is not None else self.spread
        found = adaptive_neighbors(Z, self._count_neighbors(Z.shape[0]), spread=spread, n_jobs=self.n_jobs)
        return replace(structure, P=found.P, spread=found.spread)

    def _neighbor_graph(self, X: Columns, structure: Structure) -> sp.csr_array:
        """P, or the P of the original features if it is not learned."""
        if structure.P is not None:
            return structure.P
        return adaptive_neighbors(X, self._count_neighbors(X.shape[0]), n_jobs=self.n_jobs).P

    def _fit_weights(
        self,
        X: Columns,
        gram: Float | None,
        L: StructureLaplacian,
        dimension: int,
        last: FeatureWeights | None = None,
    ) -> FeatureWeights:
        """The W step, by either route of the paper."""
        if self.w_solver == "regression":
            Y = self._embedding(L, dimension, last)
            gamma = self._row_penalty(X, Y, last)
            found = l21_regression(X, Y, gamma, gram=gram, warm_start=None if last is None else last.W)
            return FeatureWeights(checked_coef(found), Y, gamma)
        gamma = self._row_penalty(X, self._embedding(L, dimension, None) if last is None else last.target, last)
        norms = even_row_norms(X, dimension) if last is None else np.linalg.norm(last.W, axis=1)
        W = smoother_projection(X, L, norms, gamma, dimension, gram=gram)
        return FeatureWeights(W, X @ W, gamma)

    def _embedding(self, L: StructureLaplacian, dimension: int, last: FeatureWeights | None) -> Float:
        """Y, the eigenvectors of L for its smallest eigenvalues, rotated towards the last ones."""
        near = None if last is None else last.target
        Y = smallest_eigenvectors(
            L, dimension, nontrivial=self.center, warm_start=near, random_state=self.random_state
        ).vectors
        return Y if near is None else aligned(Y, near)

    def _row_penalty(self, X: Columns, Y: Float, last: FeatureWeights | None) -> float:
        if last is not None and not self.recalibrate:
            return last.penalty
        return self.row_penalty * smallest_penalty_for_zero(X, Y)

    def _ranking(self, X: Columns, gram: Float | None, weights: FeatureWeights, wanted: int | None) -> Ranking:
        """Rank by gain or by norm; beyond the columns that are ranked by gain, rank by norm."""
        Y = weights.target
        if self.selection == "norm":
            # As in the paper: features of equal norm, such as those left out, keep the order of the columns.
            in_order = np.zeros(X.shape[1])
            return replace(rank_by_row_norm(X, weights.W, Y, wanted, also=in_order), embedding=X @ weights.W)
        norms = np.linalg.norm(weights.W, axis=1)
        by_norm = np.argsort(-norms, kind="stable")
        enough = SUFFICIENT_SHARE * ridge_share(X, Y) if wanted is None else 0.0
        path = ridge_path(X, Y, steps_to_show(wanted), sufficient_share=enough, gram=gram)
        curve = np.cumsum(path.gains)
        gains = np.minimum.accumulate(path.gains)
        scores = gains[-1] * (norms / max(norms.max(), np.finfo(float).tiny))
        scores[path.order] = gains
        rest = by_norm[~np.isin(by_norm, path.order)]
        return Ranking(
            np.concatenate([path.order, rest]),
            scores,
            n_sufficient=min(int(np.searchsorted(curve, enough)) + 1, len(curve)),
            coef=weights.W,
            embedding=X @ weights.W,
            structure_curve=curve,
        )
