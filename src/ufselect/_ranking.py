"""From scores to an order of the columns, and how much the best of them explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ufselect._backend.columns import Columns, Float, Indices
from ufselect.solvers.greedy import ridge_path, ridge_share

SUFFICIENT_SHARE = 0.95
"""Of what all columns explain, the part that a sufficient selection explains."""

_ROUNDING = 1e-12
_FIRST_LOOK = 64
_MOST_TO_SHOW = 100  # the greedy choice takes time with the square of its steps


@dataclass(frozen=True)
class Ranking:
    """Columns from best to worst, and their scores; where they exist, the weights, what they explain, and how well.

    ``n_sufficient`` columns are taken where their number is for the data to say.
    """

    order: Indices
    scores: Float
    coef: Float | None = None
    structure_curve: Float | None = None
    n_sufficient: int = 1
    embedding: Float | None = None


def from_best_to_worst(scores: Float, *also: Float, relative: bool = False) -> Indices:
    """Columns by falling scores; those that differ by rounding only by further criteria, in the end in their order."""
    order = np.argsort(-scores, kind="stable")
    # Scores that are differences are rounded like their terms, sums of squares like themselves.
    magnitude = np.abs(scores[order[:-1]]) if relative else np.abs(scores).max()
    falls = -np.diff(scores[order]) > _ROUNDING * magnitude
    place = np.empty(len(scores), dtype=np.intp)
    place[order] = np.concatenate([[0], np.cumsum(falls)])
    return np.lexsort((*(-further for further in reversed(also)), place))


def rank_by_score(scores: Float, *, relative: bool = False) -> Ranking:
    """Rank by a filter's scores; those above the mean are sufficient."""
    above = int(np.count_nonzero(scores - scores.mean() > _ROUNDING * np.abs(scores).max()))
    return Ranking(from_best_to_worst(scores, relative=relative), scores, n_sufficient=max(above, 1))


def rank_by_explanation(
    X: Columns,
    scores: Float,
    embedding: Float,
    wanted: int | None,
    *,
    coef: Float | None = None,
    also: Float | None = None,
) -> Ranking:
    """Rank by score, and follow how much of an embedding the best columns explain.

    Columns of equal score, such as those that a sparse ``coef`` leaves out, are told apart by what they have in common
    with the part of the embedding that is not explained, or by another criterion, ``also``. The fewest columns that
    explain 95 % of what all columns explain are sufficient.
    """
    target = X.centered_like(embedding)
    if also is None:
        residual = target if coef is None else target - X @ coef
        also = np.linalg.norm(X.transposed_matmul(residual), axis=1)
    order = from_best_to_worst(scores, also)
    enough = SUFFICIENT_SHARE * ridge_share(X, target) if wanted is None else 0.0
    curve = _structure_curve(X, target, order, steps_to_show(wanted), enough)
    sufficient = min(int(np.searchsorted(curve, enough)) + 1, len(curve))
    return Ranking(order, scores, coef, curve, sufficient, embedding)


def steps_to_show(wanted: int | None) -> int:
    """How far a structure curve goes at the least: beyond the columns wanted, to show what more of them would bring."""
    return 1 if wanted is None else wanted + min(wanted, _MOST_TO_SHOW)


def _structure_curve(X: Columns, target: Float, order: Indices, n_steps: int, enough: float) -> Float:
    """The share of the target that the first columns explain: for ``n_steps`` of them, or until it is enough."""
    n_looked_at = max(n_steps, _FIRST_LOOK)
    while True:
        # Given the order, columns that are not looked at need not be touched.
        first = X.subset(order[:n_looked_at])
        in_turn = np.arange(first.shape[1])
        curve = np.cumsum(ridge_path(first, target, n_steps, order=in_turn, sufficient_share=enough).gains)
        if curve[-1] >= enough or len(curve) < first.shape[1] or n_looked_at >= X.shape[1]:
            return curve
        n_looked_at *= 2


def rank_by_row_norm(
    X: Columns, W: Float, embedding: Float, wanted: int | None, *, also: Float | None = None
) -> Ranking:
    """Rank by ‖wⱼ‖, in units of the columns, so that the scores of aX are those of X."""
    unit = np.sqrt(X.squared_norms().mean() / X.shape[0])
    return rank_by_explanation(X, unit * np.linalg.norm(W, axis=1), embedding, wanted, coef=W, also=also)
