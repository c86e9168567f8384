"""UDFS as in the program behind the published tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from ufselect._utils.types import Float
from ufselect.base import POSITIVE, Constraints
from ufselect.base.ranking import Ranking, rank_by_score
from ufselect.columns.dense import Columns
from ufselect.graphs.local_models import assembled, centered_grams, difference_grams, discriminant_blocks, with_self
from ufselect.selectors.udfs import UDFS, DiscriminantProblem, smoothed_norms

_PROJECTIONS = 20


class EqualStartUDFS(UDFS):
    """UDFS by twenty steps from equal weights of all rows, as in the program behind the published tables.

    If there are more features than samples, every W with XW = 0 solves the first eigenproblem. In that program rounding
    errors choose one, here ``random_state`` does, so results can be reproduced. ``row_penalty`` and ``ridge`` are γ and
    λ themselves, and all features are ranked by ‖wⱼ‖, however small. All else is as in UDFS. Use it to reproduce the
    published figures only.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**UDFS._parameter_constraints, "row_penalty": POSITIVE}

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        nearest, n_clusters = self._neighborhood(X)
        index, grams = with_self(nearest.index, difference_grams(X, nearest.index, n_jobs=self.n_jobs))
        M = assembled(index, discriminant_blocks(centered_grams(grams), self.ridge))
        problem, count = DiscriminantProblem.of(X, M), self._dimension(n_clusters)
        W = self._first_projection(problem, count)
        for _ in range(_PROJECTIONS - 1):
            W = problem.projection(0.5 / smoothed_norms(W), self.row_penalty, count)
        return replace(rank_by_score(np.linalg.norm(W, axis=1), relative=True), coef=W, embedding=X @ W)

    def _first_projection(self, problem: DiscriminantProblem, count: int) -> Float:
        n, d = problem.X.shape
        if d < n + count:
            return problem.projection(np.ones(d), self.row_penalty, count)
        return _projection_to_zero(problem.X, count, check_random_state(self.random_state))


def _projection_to_zero(X: Columns, count: int, random: np.random.RandomState) -> Float:
    """A random W with XW = 0 and WᵀW = I."""
    samples = np.linalg.qr(np.asarray(X.rows(slice(None)), dtype=np.float64).T)[0]
    directions = random.standard_normal((X.shape[1], count))
    return np.linalg.qr(directions - samples @ (samples.T @ directions))[0]
