"""FSASL: unsupervised feature selection with adaptive structure learning (Du and Shen, KDD 2015)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from ufselect._backend.columns import Columns, Float
from ufselect._backend.progress import progress
from ufselect._ranking import SUFFICIENT_SHARE, Ranking, rank_by_row_norm, steps_to_show
from ufselect.base import ITERATIONS, ClusterSelector, affordable_gram, coef_of
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.laplacian import StructureLaplacian
from ufselect.graphs.self_expression import fixed_size_self_expression, sparse_self_expression
from ufselect.graphs.spectral import aligned, smallest_eigenvectors, turn_between
from ufselect.graphs.structure import Structure
from ufselect.solvers.greedy import ridge_path, ridge_share
from ufselect.solvers.l21 import l21_regression, smallest_penalty_for_zero
from ufselect.solvers.trace import even_row_norms, smoother_projection


class FeatureWeights(NamedTuple):
    """W, the orthonormal target Y that its rows are to explain, and γ."""

    W: Float
    target: Float
    penalty: float

    @property
    def cost(self) -> float:
        """γ‖W‖₂,₁."""
        return self.penalty * float(np.linalg.norm(self.W, axis=1).sum())


class FSASL(ClusterSelector):
    """Unsupervised feature selection with adaptive structure learning.

    Structure (which samples express which, who is whose neighbour) tells the informative features,
    and informative features tell the structure: FSASL learns both in turn. With Z = XW it minimises

        ‖(I−S)ᵀZ‖² + Σᵢ αᵢ‖sᵢ‖₁ + β( tr(ZᵀL_P Z) + Σᵢ (μᵢ/2)‖pᵢ‖² ) + γ‖W‖₂,₁

    over row-sparse feature weights W, sparse self-expression S with a zero diagonal, and neighbour
    probabilities P with rows on the simplex.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, or which fraction of them. "auto" takes the fewest that explain 95 % of
        what all features together explain of the learned embedding.
    n_clusters : int or "auto", default="auto"
        c, about the number of clusters, sets the dimension of the learned space. "auto" reads it off the
        widest gap between the eigenvalues of the first neighbour graph, from 2 to √n (50 at most).
    n_neighbors : int or "auto", default="auto"
        k, the neighbours of a sample. "auto" is 5, or fewer where there are fewer samples.
    local_weight : float, default=1.0
        β, the weight of the neighbours against the self-expression.
    row_penalty : float, default=0.05
        γ as a share of the smallest γ that leaves no feature: the larger, the fewer features carry
        the learned space.
    self_expression_penalty : float, default=0.01
        αᵢ as a share of the smallest αᵢ at which sample i is expressed by no other.
    self_expression_size : int or None, default=None
        Express every sample by this many others, chosen one by one, instead of by penalty.
    structure : {"both", "global", "local"}, default="both"
        Learn S and P, S alone, or P alone.
    adaptive : bool, default=True
        Whether structure follows the selected features; if not, it is that of the original ones.
    w_solver : {"regression", "eigen"}, default="regression"
        The paper's two ways to W: row-sparse regression on the eigenvectors of the Laplacian, or the
        generalised eigenproblem, in which ZᵀZ = I holds exactly.
    recalibrate : bool, default=True
        Whether α, μ and γ follow their ratios in every iteration, as in the paper. If not, they
        keep their first values and the objective is one fixed function, which the "eigen" route
        lowers at every step.
    spread : {"row", "mean"}, default="row"
        μ for each sample such that it has exactly k neighbours, or the paper's single mean of them.
    scale : {"standard"} or None, default="standard"
        Give all columns unit variance, or take them as they are.
    center : bool, default=True
        Centre the columns; a sparse X is centred implicitly.
    selection : {"greedy", "norm"}, default="greedy"
        Choose features one by one so that together they explain the learned embedding, or rank them
        by ‖wⱼ‖ as in the paper; the latter puts features that say the same thing next to each other.
    max_iter : int, default=12
        Most iterations.
    tol : float, default=0.05
        Stop when the learned space turns by less than this between two iterations, where 1 is a
        turn into an orthogonal space.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Start of the iterative eigensolver, which is in use above 500 samples.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Larger is better.
    ranking_ : ndarray of shape (n_features,)
        1 is best; a constant column ranks last.
    n_features_ : int
        Selected features.
    n_clusters_ : int
        c.
    coef_ : ndarray of shape (n_features, n_dimensions)
        W, for the columns as centred and scaled. There are c − 1 dimensions for centred columns, which
        cannot tell a constant, and c otherwise.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Z = XW.
    self_expression_ : sparse array of shape (n_samples, n_samples) or None
        S; column i expresses sample i.
    neighbor_graph_ : sparse array of shape (n_samples, n_samples) or None
        P; row i holds the neighbours of sample i.
    objective_history_ : ndarray of shape (n_iter_, 3)
        The objective after the S, P and W step of every iteration.
    structure_curve_ : ndarray
        Entry m−1 is the share of the learned embedding that the best m features explain, for as
        many features as were ranked by it.
    n_iter_ : int
        Iterations made.

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
        "local_weight": [Interval(Real, 0, None, closed="neither")],
        "row_penalty": [Interval(Real, 0, 1, closed="neither")],
        "self_expression_penalty": [Interval(Real, 0, 1, closed="neither")],
        "self_expression_size": [None, Interval(Integral, 1, None, closed="left")],
        "structure": [StrOptions({"both", "global", "local"})],
        "adaptive": ["boolean"],
        "w_solver": [StrOptions({"regression", "eigen"})],
        "recalibrate": ["boolean"],
        "spread": [StrOptions({"row", "mean"})],
        "selection": [StrOptions({"greedy", "norm"})],
        **ITERATIONS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        n_clusters: int | str = "auto",
        n_neighbors: int | str = "auto",
        local_weight: float = 1.0,
        row_penalty: float = 0.05,
        self_expression_penalty: float = 0.01,
        self_expression_size: int | None = None,
        structure: str = "both",
        adaptive: bool = True,
        w_solver: str = "regression",
        recalibrate: bool = True,
        spread: str = "row",
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
        self.local_weight = local_weight
        self.row_penalty = row_penalty
        self.self_expression_penalty = self_expression_penalty
        self.self_expression_size = self_expression_size
        self.structure = structure
        self.adaptive = adaptive
        self.w_solver = w_solver
        self.recalibrate = recalibrate
        self.spread = spread
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
        """The paper's own choices: raw columns, one μ for all samples, features ranked by ‖wⱼ‖.

        Parameters
        ----------
        **params : dict
            Any parameter of the class, to set it otherwise.

        Returns
        -------
        FSASL
        """
        choices: dict[str, Any] = {"spread": "mean", "scale": None, "center": False, "selection": "norm"}
        return cls(**{**choices, **params})

    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        gram = affordable_gram(X)
        structure = self._structure_of_original_features(X)
        self.n_clusters_ = self._count_clusters(X.shape[0], lambda: self._neighbor_graph(X, structure))
        weights = self._fit_weights(X, gram, structure.laplacian)
        Z = X @ weights.W
        history: list[tuple[float, float, float]] = []
        for iteration in progress(range(self.max_iter), self.verbose, "FSASL"):
            frozen = iteration > 0 and not self.recalibrate
            expressed = self._express(structure, Z, frozen)
            structure = self._find_neighbors(expressed, Z, frozen)
            costs = expressed.cost(Z) + weights.cost, structure.cost(Z) + weights.cost
            weights = self._fit_weights(X, gram, structure.laplacian, weights)
            Z, before = X @ weights.W, Z
            history.append((*costs, structure.cost(Z) + weights.cost))
            if turn_between(Z, before) <= self.tol:
                break
        else:
            self._warn_that_it_still_moves()
        self.self_expression_, self.neighbor_graph_ = structure.S, structure.P
        self.objective_history_ = np.array(history)
        self.n_iter_ = len(history)
        return self._ranking(X, gram, weights, wanted)

    def _structure_of_original_features(self, X: Columns) -> Structure:
        """P from the original features; S too where it is not to be learned from the first W."""
        structure = Structure(self.local_weight)
        if self.structure != "global":
            found = adaptive_neighbors(X, self._count_neighbors(X.shape[0]), spread=self.spread, n_jobs=self.n_jobs)
            structure = replace(structure, P=found.P, spread=found.spread)
        if self.structure == "global" or (self.structure == "both" and not self.adaptive):
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
        """P, or what it would be where it is not learned."""
        if structure.P is not None:
            return structure.P
        return adaptive_neighbors(X, self._count_neighbors(X.shape[0]), n_jobs=self.n_jobs).P

    def _fit_weights(
        self,
        X: Columns,
        gram: Float | None,
        L: StructureLaplacian,
        last: FeatureWeights | None = None,
    ) -> FeatureWeights:
        """The W step, by either of the paper's routes."""
        if self.w_solver == "regression":
            Y = self._embedding(L, last)
            gamma = self._row_penalty(X, Y, last)
            found = l21_regression(X, Y, gamma, gram=gram, warm_start=None if last is None else last.W)
            return FeatureWeights(coef_of(found, stacklevel=5), Y, gamma)
        gamma = self._row_penalty(X, self._embedding(L, None) if last is None else last.target, last)
        norms = even_row_norms(X, self._dimension()) if last is None else np.linalg.norm(last.W, axis=1)
        W = smoother_projection(X, L, norms, gamma, self._dimension(), gram=gram)
        return FeatureWeights(W, X @ W, gamma)

    def _embedding(self, L: StructureLaplacian, last: FeatureWeights | None) -> Float:
        """Y, the eigenvectors of L for its smallest eigenvalues, turned towards the last ones."""
        near = None if last is None else last.target
        Y = smallest_eigenvectors(
            L, self._dimension(), nontrivial=self.center, warm_start=near, random_state=self.random_state
        ).vectors
        return Y if near is None else aligned(Y, near)

    def _row_penalty(self, X: Columns, Y: Float, last: FeatureWeights | None) -> float:
        if last is not None and not self.recalibrate:
            return last.penalty
        return self.row_penalty * smallest_penalty_for_zero(X, Y)

    def _warn_that_it_still_moves(self) -> None:
        warnings.warn(
            f"FSASL still moves after max_iter={self.max_iter} iterations; raise max_iter, or tol (now {self.tol}).",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _ranking(self, X: Columns, gram: Float | None, weights: FeatureWeights, wanted: int | None) -> Ranking:
        """Rank by gain or by norm; beyond the columns that were ranked by gain the norms go on."""
        Y = weights.target
        if self.selection == "norm":
            # As printed: features of equal norm, such as those left out, in the order of the columns.
            in_order = np.zeros(X.shape[1])
            return replace(rank_by_row_norm(X, weights.W, Y, wanted, also=in_order), embedding=X @ weights.W)
        norms = np.linalg.norm(weights.W, axis=1)
        by_norm = np.argsort(-norms, kind="stable")
        enough = SUFFICIENT_SHARE * ridge_share(X, Y) if wanted is None else 0.0
        path = ridge_path(X, Y, steps_to_show(wanted), sufficient_share=enough, gram=gram)
        curve = np.cumsum(path.gains)
        sufficient = min(int(np.searchsorted(curve, enough)) + 1, len(curve))
        gains = np.minimum.accumulate(path.gains)
        scores = gains[-1] * (norms / max(norms.max(), np.finfo(float).tiny))
        scores[path.order] = gains
        rest = by_norm[~np.isin(by_norm, path.order)]
        order = np.concatenate([path.order, rest])
        return Ranking(order, scores, weights.W, curve, sufficient, X @ weights.W)
