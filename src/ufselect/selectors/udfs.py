"""UDFS: an orthonormal row-sparse projection that is discriminative locally (Yang et al., IJCAI 2011)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, lu_factor, lu_solve
from scipy.sparse.linalg import LinearOperator, eigsh

from ufselect._utils.memory import ensure_fits
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float
from ufselect.base import ITERATIONS, POSITIVE, SHARE, ClusterSelector, Constraints, Iterations, with_parameters
from ufselect.base.ranking import Ranking, rank_by_explanation
from ufselect.columns.dense import Columns, wide_column_blocks
from ufselect.graphs.laplacian import column_energies, dense_energies, quadratic_form
from ufselect.graphs.local_models import assembled, centered_grams, difference_grams, discriminant_blocks, with_self
from ufselect.solvers.reweighted import column_smoothness

_SMOOTHING = 1e-8
_LEFT_OUT = 1e-4
_FREE = 1e-12
_CERTAIN_DIGITS = 9


@with_parameters
class UDFS(ClusterSelector):
    """Unsupervised discriminative feature selection.

    With X̃ᵢ the centred neighbourhood of sample i, itself and its k neighbours, M = Σᵢ SᵢH(X̃ᵢX̃ᵢᵀ + λI)⁻¹HSᵢᵀ and
    A = XᵀMX,

        min tr(WᵀAW) + γ‖W‖₂,₁  subject to  WᵀW = I.

    The method prefers directions in which the samples hardly differ, and with more features than samples there are many
    in which they do not differ at all. So the penalty is strong by default: W then uses hardly more features than it
    has columns, and the features that it leaves out are ranked by Aⱼⱼ, the cost of a feature on its own, which decides
    most of the ranking. The initial weights of the rows follow Aⱼⱼ as well; in the paper they are equal.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" ends at the peak of the alignment curve.
    n_clusters : int or "auto", default="auto"
        c, the approximate number of clusters; W has c − 1 columns, or c if not centred. "auto" reads c off an eigengap.
    n_neighbors : int or "auto", default="auto"
        k, the number of neighbours of each sample. "auto" is n/200, from 5 to 15, but at most n/8 and at least 3.
    row_penalty : float, default=0.3
        γ, as a share of the smallest γ at which a feature that is left out stays out whatever W.
    ridge : float, default=1.0
        λ, as a multiple of the mean eigenvalue of X̃ᵢX̃ᵢᵀ.
    scale : {"moderate", "standard"} or None, default="standard"
        Divide each column by its standard deviation, plus the median of all if "moderate", which divides by amplitudes
        instead if units differ; None leaves it as it is. Without scaling, features of small variance come first. The
        default is "standard" because "moderate" scored lower here (see docs/methods.md).
    center : bool, default=True
        Whether to centre the columns.
    keep : list of str or int, or None, default=None
        Features to select before all others, by name or number. The others follow by score.
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
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-4
        Stop when the relative decrease of the objective is at most this.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the eigensolver from which n_clusters="auto" is read, which is used above 500 samples.
    verbose : int, default=0
        If 1, show a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ‖wⱼ‖, between 0 and 1; larger is better.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.
    n_clusters_ : int
        c, as given or read off the data.
    coef_ : ndarray of shape (n_features, n_dimensions)
        W, for the centred and scaled columns.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        XW, of these columns.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each iteration. It never increases.
    n_iter_ : int
        Number of iterations.
    alignment_curve_ : ndarray
        Entry m−1 is the alignment of the best m features with the embedding: the cosine between their kernels.
    alignments_ : ndarray of shape (n_features,)
        Alignment of each feature by itself.
    r2_curve_ : ndarray
        Entry m−1 is R² of the embedding on the best m features.

    References
    ----------
    Y. Yang, H. T. Shen, Z. Ma, Z. Huang and X. Zhou, "l2,1-norm regularized discriminative feature selection for
    unsupervised learning", Proceedings of IJCAI 2011, 1589-1594.

    Examples
    --------
    >>> from ufselect import UDFS
    >>> from ufselect.datasets.planted import make_planted_clusters
    >>> X, _, informative = make_planted_clusters(120, 4, 20, 80, random_state=0)
    >>> int(informative[UDFS(10, n_clusters=4).fit(X).top_features()].sum())
    10
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    n_clusters: int | str = "auto"
    n_neighbors: int | str = "auto"
    row_penalty: float = 0.3
    ridge: float = 1.0
    scale: str | None = "standard"
    center: bool = True
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    min_distance: int = 1
    requirements: Any = None
    fdr: float | None = None
    max_iter: int = 100
    tol: float = 1e-4
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClusterSelector._parameter_constraints,
        **ITERATIONS,
        "row_penalty": SHARE,
        "ridge": POSITIVE,
    }

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        nearest, n_clusters = self._neighborhood(X)
        differences = difference_grams(X.for_distances(), nearest.index, n_jobs=self.n_jobs)
        index, grams = with_self(nearest.index, differences)
        local = centered_grams(grams)
        mean_eigenvalue = float(np.einsum("ijj->", local)) / local[..., 0].size
        ridge = self.ridge * (mean_eigenvalue or X.mean_squared_distance())
        M = assembled(index, discriminant_blocks(local, ridge))
        # At least rounding: if samples coincide with all their neighbours, no feature costs anything.
        costs, rounding = column_energies(X, M)[0], _FREE * X.squared_norms() / ridge
        if np.all(costs <= rounding):
            M = sp.csr_array(M.shape)
        costs = np.maximum(costs, rounding)
        problem = DiscriminantProblem.of(X, M)
        gamma = self.row_penalty * max(problem.penalty_for_no_entry(), 2.0 * float(costs.max()))
        weights = costs / costs.mean()
        iterations = Iterations(self)
        for _ in iterations:
            W = problem.projection(weights, gamma, min(self._dimension(n_clusters), X.shape[1]))
            norms = smoothed_norms(W)
            weights = 0.5 / norms
            iterations.record(problem.cost(W) + gamma * float(norms.sum()))
        ranking = self._ranking(X, W, costs, constraints)
        return ranking.with_attributes(n_clusters_=n_clusters, **iterations.attributes())

    def _of_columns_as_they_are(self, ranking: Ranking, unit: float) -> Ranking:
        """Return the ranking with the embedding of undivided columns: W is orthonormal in any unit."""
        assert ranking.embedding is not None
        return replace(ranking, embedding=unit * ranking.embedding)

    def _ranking(self, X: Columns, W: Float, costs: Float, constraints: Constraints) -> Ranking:
        """By ‖wⱼ‖; features that W leaves out by their cost on their own."""
        norms = np.linalg.norm(W, axis=1)
        left_out = norms <= _LEFT_OUT * norms.max()
        W = np.where(left_out[:, None], 0.0, W)
        return rank_by_explanation(X, np.linalg.norm(W, axis=1), X @ W, constraints, coef=W, also=-costs)


@dataclass(frozen=True)
class DiscriminantProblem:
    """The problem of A = XᵀMX, which is formed if there are no more features than samples."""

    X: Columns
    M: sp.csr_array
    A: Float | None

    @classmethod
    def of(cls, X: Columns, M: sp.csr_array) -> DiscriminantProblem:
        """Form A if it is smaller than M."""
        n, d = X.shape
        size = min(n, d)
        ensure_fits(24 * size**2, f"UDFS of {n} samples and {d} features", "reduce the smaller of the two numbers")
        return cls(X, M, column_smoothness(X, M) if d <= n else None)

    @property
    def is_free(self) -> bool:
        """Whether A = 0."""
        return not (self.M.nnz if self.A is None else np.any(self.A))

    def penalty_for_no_entry(self) -> float:
        """2 maxⱼ‖Aⱼ‖ ≥ 2‖(AW)ⱼ‖, the smallest γ at which a zero row of W stays zero for every W with WᵀW = I."""
        if self.A is not None:
            return 2.0 * float(np.linalg.norm(self.A, axis=1).max())
        # ‖Aⱼ‖² = ‖XᵀMxⱼ‖² = (Mxⱼ)ᵀXXᵀ(Mxⱼ)
        gram = self.X.row_gram()
        squares = [dense_energies(gram, self.M @ columns).max() for _, columns in wide_column_blocks(self.X)]
        return 2.0 * float(np.sqrt(max(squares)))

    def cost(self, W: Float) -> float:
        """tr(WᵀAW)."""
        if self.A is not None:
            return float(np.sum((self.A @ W) * W))
        return quadratic_form(self.M, self.X @ W)

    def projection(self, weights: Float, gamma: float, count: int) -> Float:
        """Eigenvectors of A + γ diag(weights) for the smallest eigenvalues."""
        if self.is_free:
            # Of features that weigh the same up to rounding, the first.
            order = np.argsort(np.round(weights / weights.max(), _CERTAIN_DIGITS), kind="stable")
            return np.eye(len(weights))[:, order[:count]]
        if self.A is not None:
            with threads_for(len(self.A) ** 3):
                _, W = eigh(self.A + gamma * np.diag(weights), subset_by_index=[0, count - 1])
            return W
        d = self.X.shape[1]
        inverse = LinearOperator((d, d), matvec=self._inverse(weights, gamma), dtype=np.dtype(np.float64))
        start = 1.0 / weights + np.cos(np.arange(d)) / weights.max()
        _, W = eigsh(inverse, k=count, which="LA", v0=start)
        return W[:, ::-1]

    def _inverse(self, weights: Float, gamma: float) -> Any:
        """v ↦ (XᵀMX + γD)⁻¹v = (D⁻¹v − D⁻¹XᵀM(KM + γI)⁻¹XD⁻¹v)/γ, K = XD⁻¹Xᵀ.

        KM has the eigenvalues of M^(1/2)KM^(1/2), none of which is negative.
        """
        X, M = self.X, self.M
        small = (M @ X.scaled(weights**-0.5).row_gram()).T
        small[np.diag_indices(len(small))] += gamma
        factor = lu_factor(small, overwrite_a=True, check_finite=False)

        def apply(v: Float) -> Float:
            first = (v.ravel() / weights)[:, None]
            inner = M @ lu_solve(factor, X @ first, check_finite=False)
            return (first - X.transposed_matmul(inner) / weights[:, None]) / gamma

        return apply


def smoothed_norms(W: Float) -> Float:
    """√(‖wⱼ‖² + ε), ε far below the mean of ‖wⱼ‖², which is c/d."""
    return np.sqrt(np.sum(W**2, axis=1) + _SMOOTHING**2 * W.shape[1] / W.shape[0])
