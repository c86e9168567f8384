"""From scores to a ranking of the columns, and how much the best of them explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ufselect._backend.columns import Columns, Float, Indices
from ufselect.solvers.greedy import ridge_path, ridge_share

SUFFICIENT_SHARE = 0.95
"""A selection is sufficient if it explains this share of what all columns explain."""

_ROUNDING = 1e-12
_FIRST_LOOK = 64
_MOST_TO_SHOW = 100  # the cost of the greedy path grows with the square of its length


@dataclass(frozen=True)
class Ranking:
    """Everything that a fit learns: the columns from best to worst and whatever else the method finds.

    Parameters
    ----------
    order : ndarray of shape (d,)
        Column indices, best first.
    scores : ndarray of shape (d,)
        Score of each column; larger is better.
    n_sufficient : int, default=1
        Number of columns that ``n_features_to_select="auto"`` selects.
    coef : ndarray of shape (d, q), optional
        Weights of the columns; becomes ``coef_``.
    embedding : ndarray of shape (n, q), optional
        Learned embedding of the samples; becomes ``embedding_``.
    structure_curve : ndarray, optional
        Share of the embedding that the best 1, 2, … columns explain; becomes ``structure_curve_``.
    attributes : dict, optional
        Further fitted attributes by name, such as ``n_clusters_``.
    """

    order: Indices
    scores: Float
    n_sufficient: int = field(default=1, kw_only=True)
    coef: Float | None = field(default=None, kw_only=True)
    embedding: Float | None = field(default=None, kw_only=True)
    structure_curve: Float | None = field(default=None, kw_only=True)
    attributes: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def with_attributes(self, **attributes: Any) -> Ranking:
        """The same ranking with further fitted attributes."""
        return replace(self, attributes={**self.attributes, **attributes})


def from_best_to_worst(scores: Float, *also: Float, relative: bool = False) -> Indices:
    """Column indices by decreasing score; scores equal up to rounding are ordered by ``also``, then by index."""
    order = np.argsort(-scores, kind="stable")
    # Scores that are differences have the rounding error of their terms; sums of squares have their own.
    magnitude = np.abs(scores[order[:-1]]) if relative else np.abs(scores).max()
    falls = -np.diff(scores[order]) > _ROUNDING * magnitude
    tied_rank = np.empty(len(scores), dtype=np.intp)
    tied_rank[order] = np.concatenate([[0], np.cumsum(falls)])
    return np.lexsort((*(-further for further in reversed(also)), tied_rank))


def rank_by_score(scores: Float, *, relative: bool = False) -> Ranking:
    """Rank columns by the scores of a filter; those above the mean are sufficient.

    Parameters
    ----------
    scores : ndarray of shape (d,)
        Larger is better.
    relative : bool, default=False
        Whether scores are compared with a tolerance relative to each score instead of to the largest one.

    Returns
    -------
    Ranking
    """
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
    """Rank columns by score, and measure how much of an embedding the best columns explain.

    Parameters
    ----------
    X : Columns of shape (n, d)
    scores : ndarray of shape (d,)
        Larger is better.
    embedding : ndarray of shape (n, q)
    wanted : int or None
        Number of columns to select. If None, the fewest columns that explain 95 % of what all columns explain are
        sufficient.
    coef : ndarray of shape (d, q), optional
        Weights of the columns.
    also : ndarray of shape (d,), optional
        Second criterion for columns of equal score, such as those that a sparse ``coef`` leaves out. By default it is
        what a column has in common with the residual of the embedding.

    Returns
    -------
    Ranking
    """
    target = X.centered_like(embedding)
    if also is None:
        residual = target if coef is None else target - X @ coef
        also = np.linalg.norm(X.transposed_matmul(residual), axis=1)
    order = from_best_to_worst(scores, also)
    enough = SUFFICIENT_SHARE * ridge_share(X, target) if wanted is None else 0.0
    curve = _structure_curve(X, target, order, steps_to_show(wanted), enough)
    sufficient = min(int(np.searchsorted(curve, enough)) + 1, len(curve))
    return Ranking(order, scores, n_sufficient=sufficient, coef=coef, embedding=embedding, structure_curve=curve)


def steps_to_show(wanted: int | None) -> int:
    """Minimum length of a structure curve: it continues past the selected columns to show what more would add."""
    return 1 if wanted is None else wanted + min(wanted, _MOST_TO_SHOW)


def _structure_curve(X: Columns, target: Float, order: Indices, n_steps: int, enough: float) -> Float:
    """Share of the target explained by the first columns, for ``n_steps`` of them and until it is enough."""
    n_looked_at = max(n_steps, _FIRST_LOOK)
    while True:
        # The order is given, so columns beyond those looked at need not be touched.
        first = X.subset(order[:n_looked_at])
        in_turn = np.arange(first.shape[1])
        curve = np.cumsum(ridge_path(first, target, n_steps, order=in_turn, sufficient_share=enough).gains)
        if curve[-1] >= enough or len(curve) < first.shape[1] or n_looked_at >= X.shape[1]:
            return curve
        n_looked_at *= 2


def rank_by_row_norm(
    X: Columns, W: Float, embedding: Float, wanted: int | None, *, also: Float | None = None
) -> Ranking:
    """Rank columns by ‖wⱼ‖ times the root mean square of the columns, so that X and aX get the same scores.

    Parameters
    ----------
    X : Columns of shape (n, d)
    W : ndarray of shape (d, q)
        Weights of the columns.
    embedding, wanted, also
        As in :func:`rank_by_explanation`.

    Returns
    -------
    Ranking
    """
    unit = np.sqrt(X.squared_norms().mean() / X.shape[0])
    return rank_by_explanation(X, unit * np.linalg.norm(W, axis=1), embedding, wanted, coef=W, also=also)
