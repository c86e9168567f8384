"""From scores to a ranking of the columns, and how well the best of them agree with the learned structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ufselect._utils.policy import LARGEST_DENSE_SYSTEM
from ufselect._utils.types import Float, Indices
from ufselect.columns.constraints import Constraints
from ufselect.columns.dense import Columns
from ufselect.columns.unit_requirements import UnitRequirements
from ufselect.solvers.alignment import (
    AlignmentPath,
    StructureFactor,
    alignment_path,
    alignment_path_of_several,
    alignments_with,
    carried_of,
    norm_of,
    r2_curve,
    weighted,
)
from ufselect.solvers.choice_within import UnitsOfColumns

MOST_SUFFICIENT = 500
"""Largest number of columns that "auto" considers; every further one takes a product with X."""

_ROUNDING = 1e-12
_MOST_TO_SHOW = 100
_N_SHUFFLED = 3


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
    alignment_curve : ndarray, optional
        Alignment of the best 1, 2, … columns with the learned structure; becomes ``alignment_curve_``.
    r2_curve : ndarray, optional
        R² of the embedding on the best 1, 2, … columns; becomes ``r2_curve_``.
    alignments : ndarray of shape (d,), optional
        Alignment of every column by itself; becomes ``alignments_``.
    n_chosen : int, optional
        Number of columns, first in the order, that are the best choice within requirements.
    alignments_of : callable, optional
        From other columns of the same samples to their alignments with the learned structure.
    attributes : dict, optional
        Further fitted attributes by name, such as ``n_clusters_``.
    """

    order: Indices
    scores: Float
    n_sufficient: int = field(default=1, kw_only=True)
    coef: Float | None = field(default=None, kw_only=True)
    embedding: Float | None = field(default=None, kw_only=True)
    alignment_curve: Float | None = field(default=None, kw_only=True)
    r2_curve: Float | None = field(default=None, kw_only=True)
    alignments: Float | None = field(default=None, kw_only=True)
    n_chosen: int | None = field(default=None, kw_only=True)
    alignments_of: Callable[[Columns], Float] | None = field(default=None, kw_only=True)
    attributes: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def followed_by(self, others: Indices, X: Columns | None) -> Ranking:
        """The same ranking with further columns X behind all others, in their order; d counts all of them.

        Parameters
        ----------
        others : ndarray of int
            Indices of the further columns among all d; the columns ranked before have the remaining ones, in order.
        X : Columns or None
            The further columns, in the order of their indices; None if there are none.
        """
        if X is None:
            return self
        d = len(self.order) + len(others)
        index = np.setdiff1d(np.arange(d), others)
        changed: dict[str, Any] = {"order": np.concatenate([index[self.order], others])}
        for name in ("scores", "coef", "alignments"):
            values = getattr(self, name)
            if values is not None:
                # A column that took no part scores no higher than any other.
                least = min(0.0, float(values.min())) if name == "scores" else 0.0
                changed[name] = np.full((d, *values.shape[1:]), least)
                changed[name][index] = values
        if self.alignments_of is not None:
            changed["alignments"][np.sort(others)] = self.alignments_of(X)
        return replace(self, **changed)

    def of_whole_groups(self, constraints: Constraints) -> Ranking:
        """The same ranking with the columns of each group next to each other; columns that come first are sufficient.

        The sufficient columns are those of whole groups, and far enough apart.
        """
        if self.n_chosen is not None:
            return replace(self, n_sufficient=self.n_chosen)
        order = in_groups(self.order, self.scores, constraints.groups)
        arranged, n_open = constraints.arranged(order)
        if constraints.within is not None:
            return self._of_units_within(arranged, n_open, constraints, constraints.within)
        enough = min(max(self.n_sufficient, len(constraints.first)), n_open)
        if constraints.groups is not None:
            ends = constraints.ends(arranged)
            enough = int(ends[np.searchsorted(ends, enough)])
        return replace(self, order=order, n_sufficient=enough)

    def _of_units_within(
        self, arranged: Indices, n_open: int, constraints: Constraints, within: UnitRequirements
    ) -> Ranking:
        """The best columns as far as requirements allow: as many as are wanted, or sufficient."""
        ends = constraints.ends(arranged)
        ends = ends[ends <= n_open]
        enough = int(np.searchsorted(ends, self.n_sufficient)) + 1 if constraints.count is None else constraints.count
        n_units = min(max(enough, within.fewest_possible), len(ends))
        return replace(self, order=arranged, n_sufficient=int(ends[n_units - 1]))

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


def in_groups(order: Indices, scores: Float, groups: Indices | None, scores_of_groups: Float | None = None) -> Indices:
    """Put the columns of each group next to each other, the best one first.

    Groups are ordered by the mean score of their columns, unless they have scores of their own, then by mean rank. An
    order of whole groups is left as it is.
    """
    if groups is None or np.count_nonzero(np.diff(groups[order])) == groups.max():
        return order
    sizes = np.bincount(groups)
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    if scores_of_groups is None:
        scores_of_groups = np.bincount(groups, scores) / sizes
    best = from_best_to_worst(scores_of_groups, -np.bincount(groups, ranks) / sizes)
    places = np.empty(len(best))
    places[best] = np.arange(len(best))
    return order[np.argsort(places[groups[order]], kind="stable")]


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
    constraints: Constraints,
    *,
    coef: Float | None = None,
    also: Float | None = None,
) -> Ranking:
    """Rank columns by score, and measure how well the best columns agree with an embedding.

    Parameters
    ----------
    X : Columns of shape (n, d)
    scores : ndarray of shape (d,)
        Larger is better.
    embedding : ndarray of shape (n, q)
    constraints : Constraints
        Number of columns to select, and which come first. If the number is None, the columns up to the peak of the
        alignment curve are sufficient.
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
    order = in_groups(from_best_to_worst(scores, also), scores, constraints.groups)
    order, n_open = constraints.arranged(order)
    # The order is given, so columns beyond those looked at need not be touched.
    looked_at = order[: min(_columns_to_show(order, constraints), n_open)]
    part = X.subset(looked_at)
    gram = part.gram() if part.shape[1] <= min(part.shape[0], LARGEST_DENSE_SYSTEM) else None
    path = alignment_path(
        part,
        target,
        len(looked_at),
        order=np.arange(len(looked_at)),
        past_peak=constraints.count is None and constraints.groups is None,
        gram=gram,
    )
    shown = slice(len(path.curve))
    ends = constraints.ends(looked_at[shown])
    return Ranking(
        order,
        scores,
        n_sufficient=int(ends[peak_of(path.curve[ends - 1]) - 1]),
        coef=coef,
        embedding=embedding,
        alignment_curve=path.curve,
        r2_curve=r2_curve(X, target, looked_at[shown], gram=None if gram is None else gram[shown, shown]),
        alignments=alignments_with(X, [target]),
        alignments_of=partial(alignments_with, structures=[target]),
    )


def steps_to_show(count: int | None) -> int:
    """Length of an alignment curve: it continues past the selected columns to show what more would change."""
    return MOST_SUFFICIENT if count is None else count + min(count, _MOST_TO_SHOW)


def _columns_to_show(order: Indices, constraints: Constraints) -> int:
    """Length of an alignment curve, which is of whole groups."""
    ends, steps = constraints.ends(order), steps_to_show(constraints.count)
    last = np.searchsorted(ends, steps) if constraints.count is None else steps - 1
    return int(ends[min(last, len(ends) - 1)])


def peak_of(curve: Float) -> int:
    """Return the length at which a curve is largest; the first of those that differ only by rounding."""
    return int(np.argmax(curve >= curve.max() - _ROUNDING)) + 1


def rank_by_alignment(
    X: Columns,
    structures: Sequence[StructureFactor],
    W: Float,
    Z: Any,
    constraints: Constraints,
    *,
    gram: Float | None = None,
    random_state: Any = 0,
) -> Ranking:
    """Select columns one by one so that together they agree with structures TTᵀ, which count alike.

    The score of a column is its alignment, discounted by what it has in common with the columns before it; of a column
    after the last selected one, by what it has in common with those. If there are more columns than samples, columns
    agree by chance, too: then as many are sufficient as exceed the alignment of shuffled columns most.

    Parameters
    ----------
    X : Columns of shape (n, d)
    structures : sequence of StructureFactor
        The learned structures.
    W : ndarray of shape (d, p)
        Weights of the columns.
    Z : array of shape (n, p)
        XW, for its R².
    constraints : Constraints
        Number of columns to select, None if the alignment decides, and which come first.
    gram : ndarray of shape (d, d), optional
        XᵀX, if available.
    random_state : int, RandomState instance or None
        How columns are shuffled.

    Returns
    -------
    Ranking
    """
    if constraints.within is not None:
        constraints = _within_requirements(X, structures, constraints, gram, random_state)
    count = constraints.count
    path = alignment_path_of_several(
        X, structures, steps_to_show(count), past_peak=count is None, gram=gram, constraints=constraints
    )
    r2 = r2_curve(X, Z, path.order, gram=None if gram is None else gram[np.ix_(path.order, path.order)])
    ranked = rank_along(path, r2, constraints)
    alignments_of = partial(alignments_with, structures=[each.T for each in structures])
    ranked = replace(ranked, coef=W, embedding=Z, alignments_of=alignments_of)
    if constraints.within is not None:
        return replace(ranked, n_chosen=len(constraints.first))
    ends = constraints.ends(path.order)
    curve = path.weighted_curve[ends - 1]
    if count is None and X.shape[1] > X.shape[0]:
        curve = curve - _by_chance(X, structures, len(ends), constraints, random_state)[1:]
    return replace(ranked, n_sufficient=int(ends[peak_of(curve) - 1]))


def _within_requirements(
    X: Columns, structures: Sequence[StructureFactor], constraints: Constraints, gram: Float | None, random_state: Any
) -> Constraints:
    """Choose the best columns within requirements, which then come first.

    If neither a number nor a budget says how many, and there are more columns than samples, the alignment by chance is
    subtracted from that of a choice.
    """
    within, groups, chance = constraints.within, constraints.groups, None
    assert within is not None
    structure = norm_of(X, structures)
    if constraints.count is None and np.isinf(within.budget) and X.shape[1] > X.shape[0]:
        free = Constraints(groups=groups, weights=constraints.weights)
        path = alignment_path_of_several(X, structures, MOST_SUFFICIENT, past_peak=True, gram=gram, constraints=free)
        chance = _by_chance(X, structures, len(free.ends(path.order)), free, random_state)
    units = UnitsOfColumns(X, weighted(carried_of(structures), constraints), groups, gram)
    chosen = units.columns_of(units.best(within, chance=None if chance is None else structure * chance))
    n_chosen = len(chosen) if groups is None else len(np.unique(groups[chosen]))
    leading = constraints.first[np.isin(constraints.first, chosen)]
    return replace(constraints, count=n_chosen, first=chosen, leading=leading, positions=None, min_distance=1)


def rank_along(path: AlignmentPath, r2: Float, constraints: Constraints) -> Ranking:
    """Rank columns in the order of a path; those beyond its end by what they have in common with those on it.

    The first ones come first whatever their gain; after them gains do not rise, with groups within each group. The
    columns up to the peak of the alignment are sufficient.
    """
    groups, n_first = constraints.groups, constraints.n_leading
    if groups is None:
        gains = falling_after(path.gains, n_first)
        scores = np.minimum(path.rest, gains[-1]) if len(gains) > n_first else path.rest.copy()
    else:
        ends = constraints.ends(path.order)
        gains = np.concatenate([np.minimum.accumulate(part) for part in np.split(path.gains, ends[:-1])])
        scores = path.rest.copy()
    scores[path.order] = gains
    rest = in_groups(from_best_to_worst(path.rest), path.rest, groups, path.rest_of_groups)
    return Ranking(
        np.concatenate([path.order, rest[~np.isin(rest, path.order)]]),
        scores,
        n_sufficient=peak_of(path.curve),
        alignment_curve=path.curve,
        r2_curve=r2,
        alignments=path.alone,
    )


def falling_after(gains: Float, n_first: int) -> Float:
    """Return gains that do not rise, except among the first ones and after them."""
    return np.concatenate([gains[:n_first], np.minimum.accumulate(gains[n_first:])])


def _by_chance(
    X: Columns, structures: Sequence[StructureFactor], length: int, constraints: Constraints, random_state: Any
) -> Float:
    """Return what the best 0, 1, 2, … shuffled columns, or groups of them, reach on average."""
    rng = check_random_state(random_state)
    free = Constraints(groups=constraints.groups, weights=constraints.weights)
    T = X.centered_like(np.hstack([each.T / np.linalg.norm(each.T) for each in structures]))
    paths = [alignment_path(X.shuffled(rng), T, length, constraints=free) for _ in range(_N_SHUFFLED)]
    return np.append(0.0, np.mean([path.weighted_curve[free.ends(path.order) - 1] for path in paths], axis=0))


def rank_by_row_norm(
    X: Columns, W: Float, embedding: Float, constraints: Constraints, *, also: Float | None = None
) -> Ranking:
    """Rank columns by ‖wⱼ‖ times the root mean square of the columns, so that X and aX get the same scores.

    Parameters
    ----------
    X : Columns of shape (n, d)
    W : ndarray of shape (d, q)
        Weights of the columns.
    embedding, constraints, also
        As in :func:`rank_by_explanation`.

    Returns
    -------
    Ranking
    """
    unit = np.sqrt(X.squared_norms().mean() / X.shape[0])
    return rank_by_explanation(X, unit * np.linalg.norm(W, axis=1), embedding, constraints, coef=W, also=also)
