"""NDFS: features that predict non-negative spectral clusters (Li, Yang, Liu, Zhou and Lu, AAAI 2012)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ufselect._backend.columns import Columns, Float
from ufselect._ranking import Ranking, rank_by_row_norm
from ufselect.base import EDGE_WEIGHTS, ITERATIONS, POSITIVE, SHARE, ClusterSelector, affordable_gram
from ufselect.graphs.laplacian import NormalizedLaplacian, quadratic_form
from ufselect.graphs.neighbors import neighbor_graph
from ufselect.graphs.spectral import spectral_embedding
from ufselect.solvers.l21 import penalty_of_share
from ufselect.solvers.nonnegative import (
    GROWING,
    cluster_indicators,
    orthogonality_cost,
    published_step,
    spectral_step,
    unit_rows,
)
from ufselect.solvers.reweighted import ReweightedRidge, inverse_weights, row_norm_sum
from ufselect.solvers.trace import even_row_norms

_PUBLISHED_ORTHOGONALITY = 1e8


class NDFS(ClusterSelector):
    """Non-negative discriminative feature selection.

    Cluster indicators F by non-negative spectral analysis, and the features that predict them, learned together:

        min_{F≥0, W} tr(FᵀLₙF) + α( ‖XW − F‖² + β‖W‖₂,₁ ) + (z/2)‖FᵀF − I‖²,

    Lₙ the normalised Laplacian of a neighbour graph. z grows from 1 to 1000 while F settles. The paper's z = 10⁸ from
    the start fixes F where it began, so that neither α nor the data have a say in it.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, or which fraction of them. "auto" takes the fewest that explain 95 % of what all features
        together explain of the embedding.
    n_clusters : int or "auto", default="auto"
        c, the columns of F. "auto" reads it off the widest gap between the eigenvalues of a neighbour graph, from 2
        to √n (50 at most).
    n_neighbors : int or "auto", default="auto"
        k, the neighbours of a sample. "auto" is 5, or fewer where there are fewer samples.
    weights : {"heat", "binary", "cosine"}, default="heat"
        Weights of the edges: exp(−‖xᵢ−xⱼ‖²/(2t²)), 1, or the cosine of the angle.
    width : float, default=1.0
        t as a multiple of the root mean square distance between samples.
    regression_weight : float, default=1.0
        α, the weight of the regression against the spectral term.
    row_penalty : float, default=0.3
        β as a share of the smallest β that leaves no feature for the first F.
    update : {"monotone", "published"}, default="monotone"
        How F is updated: so that the objective never rises, or by the paper's formula with its z = 10⁸.
    max_iter : int, default=500
        Most iterations.
    tol : float, default=5e-4
        Stop, or raise z, when the objective falls by less than this, relative to itself.
    scale : {"standard"} or None, default="standard"
        Give all columns unit variance, or take them as they are.
    center : bool, default=True
        Centre the columns, and regress with an intercept.
    n_jobs : int or None, default=None
        Threads of the neighbour search; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Starts of k-means, from which F begins, and of the eigensolver.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ‖wⱼ‖ times the root mean square of the columns, so that they do not depend on the unit of X; larger is better.
    ranking_ : ndarray of shape (n_features,)
        1 is best; a constant column ranks last.
    n_features_ : int
        Selected features.
    n_clusters_ : int
        c.
    coef_ : ndarray of shape (n_features, c)
        W, for the columns as centred and scaled.
    embedding_ : ndarray of shape (n_samples, c)
        F; the largest entry of a row tells the cluster of a sample.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after every iteration, with the z of that iteration.
    orthogonality_history_ : ndarray of shape (n_iter_,)
        z; while it stays the same, the objective never rises with the monotone update.
    n_iter_ : int
        Iterations made.
    structure_curve_ : ndarray
        Entry m−1 is the share of the embedding that the best m features explain.

    References
    ----------
    Z. Li, Y. Yang, J. Liu, X. Zhou and H. Lu, "Unsupervised feature selection using nonnegative spectral analysis",
    Proceedings of AAAI 2012, 1026-1032.

    Examples
    --------
    >>> from ufselect import NDFS
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[NDFS(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **EDGE_WEIGHTS,
        **ITERATIONS,
        "regression_weight": POSITIVE,
        "row_penalty": SHARE,
        "update": [StrOptions({"monotone", "published"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        n_clusters: int | str = "auto",
        n_neighbors: int | str = "auto",
        weights: str = "heat",
        width: float = 1.0,
        regression_weight: float = 1.0,
        row_penalty: float = 0.3,
        update: str = "monotone",
        max_iter: int = 500,
        tol: float = 5e-4,
        scale: str | None = "standard",
        center: bool = True,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.width = width
        self.regression_weight = regression_weight
        self.row_penalty = row_penalty
        self.update = update
        self.max_iter = max_iter
        self.tol = tol
        self.scale = scale
        self.center = center
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        A = neighbor_graph(X, self._neighbors_and_clusters(X), weights=self.weights, width=self.width)
        Y = spectral_embedding(A, max(self.n_clusters_ - 1, 1), random_state=self.random_state).vectors
        F = cluster_indicators(unit_rows(Y), self.n_clusters_, self.random_state)
        problem = Prediction(
            X,
            NormalizedLaplacian(A),
            self.regression_weight,
            penalty_of_share(X, X.centered_like(F), self.row_penalty),
            affordable_gram(X),
        )
        published = self.update == "published"
        advance = problem.published_step if published else problem.monotone_step

        def step(state: tuple[Float, Float, Float], z: float) -> tuple[Float, Float, Float]:
            F, W = advance(state[0], state[2], z)
            return F, W, inverse_weights(W)

        h = 2.0 * even_row_norms(X, self.n_clusters_)
        start = F, np.zeros((X.shape[1], self.n_clusters_)), h
        weights = (_PUBLISHED_ORTHOGONALITY,) if published else GROWING
        F, W, _ = self._settle(start, step, lambda state, z: problem.objective(state[0], state[1], z), weights)
        return rank_by_row_norm(X, W, F, wanted)


class Prediction:
    """tr(FᵀLₙF) + α(‖XW − F‖² + β‖W‖₂,₁) and the steps that lower it.

    Parameters
    ----------
    X : Columns of shape (n, d)
    L : NormalizedLaplacian of shape (n, n)
    alpha, beta : float
    gram : ndarray of shape (d, d), optional
        XᵀX where d ≤ n and it is at hand.
    """

    def __init__(
        self, X: Columns, L: NormalizedLaplacian, alpha: float, beta: float, gram: Float | None = None
    ) -> None:
        self.X, self.L, self.alpha, self.beta, self.gram = X, L, alpha, beta, gram

    def monotone_step(self, F: Float, h: Float, z: float) -> tuple[Float, Float]:
        """F and W that do not raise the objective, whose penalty is bounded by Σⱼ ‖wⱼ‖²/hⱼ + hⱼ/4."""
        ridge = ReweightedRidge(self.X, h, self.beta, gram=self.gram)
        fitted = F - ridge.residual(self.X.centered_like(F))  # with W eliminated
        F = spectral_step(F, self.L.affinity, fitted, self.alpha, z)
        return F, ridge.coef(self.X.centered_like(F))

    def published_step(self, F: Float, h: Float, z: float) -> tuple[Float, Float]:
        """The paper's F, and the W that belongs to the F before it."""
        ridge = ReweightedRidge(self.X, h, self.beta, gram=self.gram)
        target = self.X.centered_like(F)
        slope = self.L @ F + self.alpha * ridge.residual(target)
        return published_step(F, slope, z), ridge.coef(target)

    def objective(self, F: Float, W: Float, z: float) -> float:
        """The objective with (z/2)‖FᵀF − I‖²."""
        misfit = float(np.sum((self.X.centered_like(F) - self.X @ W) ** 2))
        prediction = self.alpha * (misfit + self.beta * row_norm_sum(W))
        return quadratic_form(self.L, F) + prediction + orthogonality_cost(F, z)
