"""What a selection consists of, and how good it is without labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import t as student_t
from sklearn.utils import check_scalar

from ufselect._judging import drawn, fitted_within, neighborhoods_kept, settled, with_known, within_subset
from ufselect._utils.progress import progress, with_progress
from ufselect._utils.seeds import seed_of
from ufselect._utils.types import Float, Indices
from ufselect._utils.warnings import convergence_warnings
from ufselect._utils.wording import percent, shown
from ufselect.base import BaseSelector
from ufselect.base.screening import panel_of
from ufselect.columns import tabular
from ufselect.columns.batches import Batches
from ufselect.columns.dense import Columns
from ufselect.columns.tabular import as_matrix, column_indices, column_names, dense_part, fitted_column_names
from ufselect.evaluation import EvaluatedColumns, Evaluation, LearnedStructure, evaluate
from ufselect.metrics import selection_stability

__all__ = [
    "EvaluatedColumns",
    "Evaluation",
    "Explanation",
    "LearnedStructure",
    "StructureTest",
    "alignment_of_selection",
    "dense_columns",
    "draws_of_samples",
    "evaluate",
    "explain_features",
    "gains_of",
    "neighborhoods_kept",
    "selection_frequencies",
    "selection_overlap",
    "stability_over",
    "structure_test",
    "structure_test_of_fitted",
]

MOST_TESTED = 500
"""Number of samples that are enough for a test of structure."""

SIGNIFICANT = 0.05
"""The p-value below which a structure counts as found."""

_SMALLEST_SPREAD = 1e-9


@dataclass(frozen=True)
class Explanation:
    """What one feature contributes, and which selected features resemble it.

    Attributes
    ----------
    feature, rank : int
        Column index, and rank; 1 is best.
    score : float
        Larger is better.
    selected : bool
        Whether the feature is selected.
    alone : float or None
        Alignment of the feature by itself with the learned structure; None if the method learns no embedding.
    gain : float or None
        What the feature adds to the alignment of the features ranked before it, negative if they agree better without
        it; None beyond the end of the alignment curve.
    covered : float or None
        Share of the variance of the feature that the other selected features explain (adjusted R²); None if there are
        about as many of them as samples.
    most_similar : tuple of (int, float)
        The other selected features with the largest absolute correlation, and their correlations.
    """

    feature: int
    rank: int
    score: float
    selected: bool
    alone: float | None
    gain: float | None
    covered: float | None
    most_similar: tuple[tuple[int, float], ...]

    def sentences(self, names: Sequence[str], original: int = -1) -> list[str]:
        """Return the explanation in plain sentences, without rank and score.

        Parameters
        ----------
        names : sequence of str
            The names of all columns.
        original : int
            The column that this one is an exact copy of, −1 if it is none.
        """
        copied = [f"It is an exact copy of {shown(names[original])}."] if original >= 0 else []
        return [*copied, *_on_structure(self), *_on_similar_columns(self, names)]


def _on_structure(explanation: Explanation) -> list[str]:
    sentences = []
    if explanation.alone is None:
        sentences.append("This method learns no structure that a column could agree with.")
    else:
        sentences.append(f"Agreement with the learned structure by itself: {explanation.alone:.3f} of 1.")
    if explanation.gain is not None and explanation.rank > 1:
        verb = "raises" if explanation.gain >= 0.0 else "lowers"
        sentences.append(f"It {verb} the agreement of the columns ranked before it by {abs(explanation.gain):.3f}.")
    return sentences


def _on_similar_columns(explanation: Explanation, names: Sequence[str]) -> list[str]:
    similar = ", ".join(f"{shown(names[column])} ({value:+.2f})" for column, value in explanation.most_similar)
    if not similar:
        return ["No other column is selected."]
    others = "The other selected columns" if explanation.selected else "The selected columns"
    nearest = f"Most correlated selected columns: {similar}."
    if explanation.covered is None:
        return [nearest]
    return [f"{others} together explain {percent(explanation.covered)} of its variance.", nearest]


def explain_features(
    selector: BaseSelector, X: Any, features: Sequence[int | str], n_similar: int = 3
) -> list[Explanation]:
    """Explain the rank of features: what they contribute, and which selected features resemble them.

    Parameters
    ----------
    selector : fitted selector
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The data that the selector was fitted on.
    features : sequence of int or str
        Column indices, or names if X is a data frame or the selector was fitted on one.
    n_similar : int
        Number of similar selected features to return for each feature.

    Returns
    -------
    list of Explanation

    Examples
    --------
    >>> from ufselect import MCFS
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import explain_features
    >>> data = make_planted_clusters(random_state=0)
    >>> best, worst = explain_features(MCFS(10, n_clusters=6).fit(data.X), data.X, [0, 1000])
    >>> best.covered > worst.covered
    True
    """
    names, X = fitted_column_names(X, selector), as_matrix(X)
    if X.shape[1] != len(selector.ranking_):
        raise ValueError(f"X has {X.shape[1]} columns, but the selector was fitted on {len(selector.ranking_)}.")
    chosen = np.flatnonzero(selector.get_support())
    selected = dense_part(X, chosen, standardize=True)
    return [
        _explained(selector, dense_part(X, [j], standardize=True)[:, 0], int(j), chosen, selected, n_similar)
        for j in column_indices(features, X.shape[1], names)
    ]


def _explained(
    selector: BaseSelector, x: Float, feature: int, chosen: Indices, selected: Float, n_similar: int
) -> Explanation:
    others = chosen != feature
    correlations = selected[:, others].T @ x / len(x)
    order = np.argsort(-np.abs(correlations), kind="stable")[:n_similar]
    rank = int(selector.ranking_[feature])
    return Explanation(
        feature,
        rank,
        float(selector.scores_[feature]),
        bool(rank <= selector.n_features_),
        _alone(getattr(selector, "alignments_", None), feature),
        _gain(gains_of(selector), rank),
        _adjusted_share(selected[:, others], x),
        tuple((int(chosen[others][index]), float(correlations[index])) for index in order),
    )


def alignment_of_selection(selector: BaseSelector) -> float | None:
    """Return the alignment of the selected features with the learned structure; None if there is no embedding."""
    curve = getattr(selector, "alignment_curve_", None)
    return None if curve is None else float(curve[min(selector.n_features_, len(curve)) - 1])


def gains_of(selector: BaseSelector) -> Float | None:
    """Return how much each of the best features raised the alignment of those ranked before it.

    Parameters
    ----------
    selector : fitted selector

    Returns
    -------
    ndarray or None
        Differences of ``alignment_curve_``, the best feature first; negative where a feature lowers the alignment. None
        if the method learns no embedding.

    Examples
    --------
    >>> from ufselect import KernelFSASL
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import gains_of
    >>> selector = KernelFSASL(10).fit(make_planted_clusters(120, 4, 10, 30, random_state=0).X)
    >>> bool(abs(gains_of(selector)[:10].sum() - selector.alignment_curve_[9]) < 1e-12)
    True
    """
    curve = getattr(selector, "alignment_curve_", None)
    return None if curve is None else np.diff(np.asarray(curve, dtype=np.float64), prepend=0.0)


@dataclass(frozen=True)
class StructureTest:
    """How much better selected features agree with a learned structure than if there were none.

    Attributes
    ----------
    observed : float
        Alignment of the selected features with the structure learned from the data.
    by_chance : ndarray of shape (n_shuffles,)
        The same for data whose columns were shuffled, each by itself.
    curve : ndarray of shape (n_curve,)
        Alignment of the best 1, 2, … features, of which ``observed`` is one value; empty if unknown.
    curves : ndarray of shape (n_shuffles, n_curve)
        The same for shuffled columns.
    n_samples : int
        Number of samples that were used; 0 if unknown.
    mean, spread : float
        Mean and standard deviation of ``by_chance``.
    p_value : float
        Probability of the observed alignment or more if there is no structure.
    found : bool
        Whether this probability is below 0.05.
    """

    observed: float
    by_chance: Float
    curve: Float = field(default_factory=lambda: np.empty(0))
    curves: Float = field(default_factory=lambda: np.empty((0, 0)))
    n_samples: int = 0

    def __repr__(self) -> str:
        figures = {"observed": self.observed, "mean": self.mean, "spread": self.spread, "p_value": self.p_value}
        shown = "".join(f"{name}={value:.3g}, " for name, value in figures.items())
        return f"StructureTest({shown}n_samples={self.n_samples})"

    @property
    def mean(self) -> float:
        """Mean of the alignments of shuffled columns."""
        return float(self.by_chance.mean())

    @property
    def spread(self) -> float:
        """Their standard deviation."""
        return float(self.by_chance.std(ddof=1))

    @property
    def p_value(self) -> float:
        """Probability of the observed alignment or more if there is no structure."""
        # One more value of the same normal distribution, whose mean and spread are estimated: Student's t.
        count = len(self.by_chance)
        unit = max(self.spread, _SMALLEST_SPREAD) * np.sqrt(1.0 + 1.0 / count)
        return float(student_t.sf((self.observed - self.mean) / unit, count - 1))

    @property
    def found(self) -> bool:
        """Whether the alignment is better than by chance."""
        return self.p_value < SIGNIFICANT

    def why_other_than(self, fitted: float, n_samples: int) -> str:
        """Return why ``observed`` differs from the alignment of a fit to all samples; empty if it is the same figure.

        Parameters
        ----------
        fitted : float
            Alignment of the fit.
        n_samples : int
            Number of samples of the fit.
        """
        if 0 < self.n_samples < n_samples:
            return f"on the {self.n_samples:,} of {n_samples:,} samples tested"
        # Some methods select other features if their number is given than if they choose it themselves.
        return "" if f"{self.observed:.2f}" == f"{fitted:.2f}" else "fitted again for this number of columns"


def structure_test(
    X: Any,
    selector: BaseSelector,
    *,
    n_shuffles: int = 5,
    max_samples: int | None = MOST_TESTED,
    batch: Any = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> StructureTest:
    """Test whether there is any structure to select features by.

    Shuffling every column by itself keeps the values of each column and removes whatever the columns have in common.
    The selector is fitted in the same way to the data and to shuffled data, and the alignments of the selected features
    with the structures that it learns are compared. As many features are selected from shuffled data as from the data.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    selector : selector
        A method that learns an embedding, such as KernelFSASL; fitted or not. Clones of it are fitted.
    n_shuffles : int, default=5
        Number of times the columns are shuffled, at least 2.
    max_samples : int or None, default=500
        A random subset of so many samples is used if there are more. None uses all.
    batch : array-like of shape (n_samples,), optional
        Batch of each sample. If given, columns are shuffled within batches.
    random_state : int, RandomState instance or None, default=0
        Seed of the subset and of the shuffling.
    verbose : int, default=0
        If 1, show a progress bar.

    Returns
    -------
    StructureTest

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect import KernelFSASL
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import structure_test
    >>> X = make_planted_clusters(120, 4, 10, 30, random_state=0).X
    >>> structure_test(X, KernelFSASL(10)).p_value < 0.05
    True
    >>> noise = np.random.default_rng(0).standard_normal((120, 40))
    >>> structure_test(noise, KernelFSASL(10)).p_value < 0.05
    False
    """
    if n_shuffles < 2:
        raise ValueError(f"n_shuffles={n_shuffles} must be at least 2.")
    if max_samples is not None:
        check_scalar(max_samples, "max_samples", Integral, min_val=0)
    seed = seed_of(random_state)
    names, X = column_names(X, selector), as_matrix(X)
    rows = drawn(X.shape[0], X.shape[0] if max_samples is None else max_samples, seed)
    batches = None
    if batch is not None:
        rows, batches = Batches.of(batch, X.shape[0]).among(np.arange(X.shape[0])[rows])
    points = (X.tocsr() if sp.issparse(X) else X)[rows]
    rng = np.random.RandomState(seed)
    silent = with_known(within_subset(selector, points, panel_of(selector, X.shape[1], names)), verbose=0)
    alignments: list[float] = []
    curves: list[Float] = []
    for shuffle in progress(range(n_shuffles + 1), verbose, "Test of structure"):
        values = points if shuffle == 0 else _shuffled(points, batches, rng)
        fitted_within(silent, values, batches)
        alignments.append(_known_alignment(silent))
        curves.append(np.asarray(silent.alignment_curve_, dtype=np.float64))
        if shuffle == 0:
            silent = with_known(silent, **_chosen_numbers(silent))
    curves = _of_one_length(curves)
    return StructureTest(alignments[0], np.array(alignments[1:]), curves[0], np.array(curves[1:]), points.shape[0])


def _chosen_numbers(selector: BaseSelector) -> dict[str, int]:
    """Return the numbers of columns and iterations that a fit chose by itself.

    It would choose others for every shuffled copy, whose alignments would differ by that alone.
    """
    chosen = {"n_features_to_select": int(selector.n_features_)}
    if getattr(selector, "tol", 0.0) is None:
        chosen["max_iter"] = int(getattr(selector, "n_iter_"))  # noqa: B009 - only iterative selectors have it
    return chosen


def _of_one_length(curves: Sequence[Float]) -> list[Float]:
    """Cut curves, some of which may end sooner after their peak, to the length of the shortest."""
    shortest = min(map(len, curves))
    return [curve[:shortest] for curve in curves]


def structure_test_of_fitted(selector: BaseSelector, X: Any, *, batch: Any = None, verbose: int = 0) -> StructureTest:
    """Test the structure that a fitted selector has learned, by fits that select as many features as it has.

    Parameters
    ----------
    selector : fitted selector
        It has learned a structure. Clones of it are fitted, on the CPU: a test takes few samples. Their convergence
        warnings are not shown.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The data that the selector was fitted on.
    batch : array-like of shape (n_samples,), optional
        The batches that it was fitted with.
    verbose : int, default=0
        If 1, show a progress bar.

    Returns
    -------
    StructureTest
    """
    same = with_known(selector, n_features_to_select=int(selector.n_features_), device=None)
    with convergence_warnings():
        return structure_test(X, same, batch=batch, verbose=verbose)


def _shuffled(X: Any, batches: Batches | None, rng: np.random.RandomState) -> Any:
    return Columns(X).shuffled(rng).values if batches is None else batches.shuffled(X, rng)


def _known_alignment(selector: BaseSelector) -> float:
    found = alignment_of_selection(selector)
    if found is None:
        raise ValueError(f"{type(selector).__name__} learns no structure that features could be aligned with.")
    return found


def draws_of_samples(n: int, n_draws: int, share: float = 0.8, random_state: Any = 0) -> list[Indices]:
    """Draw random subsets of the samples, each sorted, for :func:`stability_over`."""
    return tabular.draws_of_samples(n, n_draws, share, random_state)


def stability_over(selector: BaseSelector, X: Any, draws: Iterable[Indices]) -> float:
    """Return how well the selections from different subsets of the samples agree, corrected for chance.

    Parameters
    ----------
    selector : selector
        Fitted or not; clones of it are fitted.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    draws : iterable of ndarray of int
        Two or more subsets of the samples, such as from :func:`draws_of_samples`.

    Returns
    -------
    float
        See :func:`ufselect.metrics.selection_stability`.

    Examples
    --------
    >>> from ufselect import LaplacianScore
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import draws_of_samples, stability_over
    >>> X = make_planted_clusters(random_state=0).X
    >>> round(stability_over(LaplacianScore(30), X, draws_of_samples(len(X), 3)), 1)
    0.9
    """
    names, X = column_names(X, selector), as_matrix(X)
    rows_of = X.tocsr() if sp.issparse(X) else X
    panel = panel_of(selector, X.shape[1], names)
    subsets = (rows_of[rows] for rows in draws)
    found = [np.flatnonzero(within_subset(selector, each, panel).fit(each).get_support()) for each in subsets]
    return selection_stability(found, X.shape[1])


def selection_frequencies(
    selector: BaseSelector,
    X: Any,
    *,
    n_draws: int = 5,
    share: float = 0.8,
    max_samples: int | None = None,
    batch: Any = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Float:
    """Return how often each feature is selected from random subsets of the samples.

    With the same ``random_state`` and number of subsets, these are the subsets of
    :func:`ufselect.comparison.compare_selectors`, whose stability is a function of these frequencies.

    Parameters
    ----------
    selector : fitted selector
        Clones of it are fitted; each selects as many features as it did.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    n_draws : int, default=5
        Number of subsets, at least 1.
    share : float, default=0.8
        Share of the samples in a subset.
    max_samples : int or None, default=None
        A subset has no more samples than this, to save time. Selections from fewer samples are less stable.
    batch : array-like of shape (n_samples,), optional
        The batch of every sample, if the selector was fitted with batches.
    random_state : int, RandomState instance or None, default=0
        Seed of the subsets.
    verbose : int, default=0
        If 1, show a progress bar.

    Returns
    -------
    ndarray of shape (n_features,)
        Shares of the subsets. By chance, each is the share of the features that are selected.

    Examples
    --------
    >>> from ufselect import KernelFSASL
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import selection_frequencies
    >>> X = make_planted_clusters(120, 4, 10, 30, random_state=0).X
    >>> selector = KernelFSASL(10).fit(X)
    >>> round(float(selection_frequencies(selector, X)[selector.get_support()].mean()), 2)
    0.94
    """
    check_scalar(n_draws, "n_draws", Integral, min_val=1)
    if max_samples is not None:
        check_scalar(max_samples, "max_samples", Integral, min_val=1)
    names, X = column_names(X, selector), as_matrix(X)
    n, d = X.shape
    rows_of = X.tocsr() if sp.issparse(X) else X
    panel = panel_of(selector, d, names)
    batches = None if batch is None else Batches.of(batch, n)
    chosen = np.zeros(d)
    share = share if max_samples is None else min(share, max_samples / n)
    draws = tabular.draws_of_samples(n, n_draws, share, random_state)
    for rows in with_progress(draws, None, verbose, "Stability", unit="fit"):
        rows, part = (rows, None) if batches is None else batches.among(rows)
        points = rows_of[rows]
        silent = with_known(within_subset(settled(selector), points, panel), device=None)
        fitted = fitted_within(silent, points, part)
        chosen += fitted.get_support()
    return chosen / n_draws


def selection_overlap(selections: Sequence[Any]) -> Float:
    """Return the Jaccard index of every pair of selections, whose columns are given by index or by name.

    Examples
    --------
    >>> from ufselect.inspection import selection_overlap
    >>> selection_overlap([[0, 1], [1, 2, 3]])
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """
    sets = [set(np.asarray(selection).tolist()) for selection in selections]
    return np.array([[len(a & b) / max(len(a | b), 1) for b in sets] for a in sets])


def dense_columns(X: Any, columns: Any, *, standardize: bool = True) -> Float:
    """Return some columns of X as a dense array.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    columns : sequence of int or str
        Column indices, or names if X is a data frame.
    standardize : bool
        Whether to scale the columns to mean 0 and variance 1; constant columns are then 0.

    Returns
    -------
    ndarray of shape (n_samples, n_columns)
    """
    names, X = column_names(X), as_matrix(X)
    return dense_part(X, column_indices(columns, X.shape[1], names), standardize=standardize)


def _alone(alignments: Float | None, feature: int) -> float | None:
    return None if alignments is None else float(alignments[feature])


def _gain(gains: Float | None, rank: int) -> float | None:
    return None if gains is None or rank > len(gains) else float(gains[rank - 1])


def _adjusted_share(selected: Float, x: Float) -> float | None:
    """Return 1 − (1 − R²)(n − 1)/(n − m − 1) of the regression of x on m columns; at least zero."""
    n, m = selected.shape
    if m >= n - 1:
        return None
    if m == 0 or not x.any():
        return 0.0
    residual = x - selected @ np.linalg.lstsq(selected, x, rcond=None)[0]
    return max(0.0, 1.0 - float(residual @ residual) / float(x @ x) * (n - 1) / (n - m - 1))
