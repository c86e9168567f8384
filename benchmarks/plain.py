"""FSASL as a good user would write it in an afternoon, from library calls alone.

It solves the same problem as ``ufselect.FSASL`` with its default structure: standardised columns, W by regression, both
S and P, μ by row, penalties recalibrated in every iteration, greedy selection. Whenever a library offers a choice
(subset of eigenvectors, warm starts, memory order), the faster option is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh, orthogonal_procrustes
from sklearn.linear_model import Lasso, MultiTaskLasso
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

Array = NDArray[Any]

_MOST_SWEEPS = 10_000


@dataclass(frozen=True)
class PlainResult:
    """Features from best to worst, seconds of each step, and the last subproblems with their solutions."""

    ranking: Array
    seconds: dict[str, float]
    X: Array
    expressed: Array
    penalties: Array
    S: sp.csc_array
    Y: Array
    row_penalty: float
    W: Array


class PlainFSASL:
    """A straightforward FSASL.

    Parameters
    ----------
    params : dict
        ``FSASL(...).get_params()``. ``n_clusters``, ``n_neighbors`` and ``n_features_to_select`` must be numbers.
    lasso_gap : float
        Duality gap of each lasso relative to its objective, as in ufselect.
    regression_tol : float
        Violation of the optimality conditions of W as a share of γ/2, as in ufselect.
    """

    def __init__(self, params: dict[str, Any], *, lasso_gap: float, regression_tol: float) -> None:
        self.params = params
        # scikit-learn stops at gap <= tol‖y‖², ufselect at gap <= lasso_gap·objective. The point ay is dual feasible,
        # so the objective is at least a(1 − a/2)‖y‖², and not much larger if the sample is well expressed.
        a = params["self_expression_penalty"]
        lasso_tol = lasso_gap * a * (1.0 - a / 2.0)
        self.lasso = Lasso(fit_intercept=False, copy_X=False, warm_start=True, tol=lasso_tol, max_iter=_MOST_SWEEPS)
        # Let h = γ/2. If all conditions hold up to εh, the gap of ½‖Y−XW‖² + h‖W‖₂,₁ is at most 2εh‖W‖₂,₁, up to ε²,
        # and h‖W‖₂,₁ <= ½‖Y‖². So ufselect's criterion implies scikit-learn's gap <= ε‖Y‖², which is looser.
        self.regression = MultiTaskLasso(
            fit_intercept=False, copy_X=False, warm_start=True, tol=regression_tol, max_iter=_MOST_SWEEPS
        )
        self.seconds: Counter[str] = Counter()

    def fit(self, X: Array) -> PlainResult:
        """Rank the columns of X."""
        informative = np.flatnonzero(np.ptp(X, axis=0))
        X = np.asfortranarray(StandardScaler().fit_transform(X[:, informative]))
        n = X.shape[0]
        S: sp.csc_array = sp.csc_array((n, n))
        Y = self._target(self.params["local_weight"] * self._neighbor_laplacian(X), None)
        W, gamma = self._weights(X, Y)
        for _ in range(self.params["max_iter"]):
            Z = X @ W
            S, penalties = self._self_expression(Z, S)
            local = self.params["local_weight"] * self._neighbor_laplacian(Z)
            unexpressed = sp.csr_array(sp.eye_array(n) - S)
            Y = self._target(unexpressed @ unexpressed.T + local, Y)
            W, gamma = self._weights(X, Y)
        order = self._greedy_order(X, Y, W)
        return PlainResult(informative[order], dict(self.seconds), X, Z, penalties, S, Y, gamma, W)

    def _self_expression(self, Z: Array, start: sp.csc_array) -> tuple[sp.csc_array, Array]:
        """S and the αᵢ: one lasso per sample, with that sample set to zero in the dictionary."""
        with self._timed("S"):
            n, c = Z.shape
            correlations = np.abs(Z @ Z.T)
            np.fill_diagonal(correlations, 0.0)
            alphas = 2.0 * self.params["self_expression_penalty"] * correlations.max(axis=1)
            dictionary = Z.T.copy(order="F")
            columns = []
            for i in range(n):
                dictionary[:, i] = 0.0
                self.lasso.alpha = alphas[i] / 2.0 / c  # scikit-learn divides the squares by 2c
                self.lasso.coef_ = start[:, [i]].toarray().ravel()
                columns.append(sp.csc_array(self.lasso.fit(dictionary, Z[i]).coef_[:, None]))
                dictionary[:, i] = Z[i]
            return sp.hstack(columns, format="csc"), alphas

    def _neighbor_laplacian(self, Z: Array) -> sp.csr_array:
        """L_P, with P in closed form."""
        with self._timed("P"):
            n, k = Z.shape[0], self.params["n_neighbors"]
            distances, index = NearestNeighbors(n_neighbors=k + 1).fit(Z).kneighbors()
            nearness = distances[:, k:] ** 2 - distances[:, :k] ** 2
            P = nearness / nearness.sum(axis=1, keepdims=True)
            graph = sp.csr_array((P.ravel(), index[:, :k].ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
            affinity = (graph + graph.T) / 2.0
            return sp.csr_array(sp.diags_array(affinity.sum(axis=1)) - affinity)

    def _target(self, L: sp.csr_array, last: Array | None) -> Array:
        """Y: eigenvectors of the smallest eigenvalues among the vectors that sum to zero, as the columns of X do.

        They are rotated towards the previous ones, which makes warm starts better.
        """
        with self._timed("eigen"):
            dense = L.toarray()
            dense -= dense.mean(axis=0)
            dense -= dense.mean(axis=1, keepdims=True)
            dense += np.abs(dense).sum(axis=0).max() / len(dense)  # gives the constant vector a large eigenvalue
            _, Y = eigh(dense, subset_by_index=[0, self.params["n_clusters"] - 2], overwrite_a=True)
            return Y if last is None else Y @ orthogonal_procrustes(Y, last)[0]

    def _weights(self, X: Array, Y: Array) -> tuple[Array, float]:
        """W and γ."""
        with self._timed("W"):
            gamma = self.params["row_penalty"] * 2.0 * np.linalg.norm(X.T @ Y, axis=1).max()
            self.regression.alpha = gamma / 2.0 / X.shape[0]  # scikit-learn divides the squares by 2n
            return self.regression.fit(X, Y).coef_.T.copy(), gamma

    def _greedy_order(self, X: Array, Y: Array, W: Array, ridge: float = 1.0) -> Array:
        """Columns one by one by their gain ‖xⱼᵀMY‖²/(λ + xⱼᵀMxⱼ), the others by the norm of their row of W."""
        with self._timed("ranking"):
            unit = X / np.linalg.norm(X, axis=0)
            inner, spread = unit.T @ Y, np.ones(X.shape[1])
            taken: list[int] = []
            joined: list[tuple[Array, float]] = []
            for _ in range(min(self.params["n_features_to_select"], X.shape[1])):
                gain = np.sum(inner**2, axis=1) / (ridge + spread)
                gain[taken] = -np.inf
                s = int(np.argmax(gain))
                v = unit[:, s] - sum((v_t * (v_t @ unit[:, s]) / delta_t for v_t, delta_t in joined), 0.0)
                delta = ridge + unit[:, s] @ v
                q = unit.T @ v
                inner -= np.outer(q, v @ Y) / delta
                spread -= q**2 / delta
                taken.append(s)
                joined.append((v, delta))
            by_norm = np.argsort(-np.linalg.norm(W, axis=1), kind="stable")
            return np.concatenate([taken, by_norm[~np.isin(by_norm, taken)]])

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.seconds[step] += perf_counter() - start
