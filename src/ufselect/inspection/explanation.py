"""What each feature contributes to a selection, and the structure that columns are aligned with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ufselect._utils import wording
from ufselect._utils.types import Float, Indices
from ufselect._utils.wording import percent, shown
from ufselect.base import BaseSelector
from ufselect.base.screening import keep_exclude_of
from ufselect.columns.dense import Columns, canonical, squared_norm_of_products
from ufselect.columns.moments import constant_columns
from ufselect.columns.tabular import as_mask, as_matrix, column_indices, column_names, dense_part, fitted_column_names


@dataclass(frozen=True)
class Explanation:
    """What one feature contributes, and which selected features resemble it.

    Several columns may be explained as one feature; then these are figures of all of them together.

    Attributes
    ----------
    feature, rank : int
        Column index, and rank; 1 is best. Of several columns, those of the best one.
    score : float
        Larger is better.
    selected : bool
        Whether the feature is selected.
    alone : float or None
        Alignment of the feature by itself with the learned structure; None if the method learns no embedding.
    gain : float or None
        What the feature adds to the alignment of the features ranked before it, negative if it lowers the alignment;
        None beyond the end of the alignment curve.
    covered : float or None
        Share of the variance of the feature that the other selected features explain (adjusted R²); None if there are
        about as many of them as samples.
    most_similar : tuple of (int, float)
        The other selected features with the largest absolute correlation, one of each group, and their correlations;
        with several columns, the largest absolute ones.
    q_value : float or None
        The smallest false discovery rate at which the feature is found to share structure with others; None if features
        were not tested.
    found : bool
        Whether it is found at the rate of the test.
    n_columns : int
        Number of columns that are explained as one.
    """

    feature: int
    rank: int
    score: float
    selected: bool
    alone: float | None
    gain: float | None
    covered: float | None
    most_similar: tuple[tuple[int, float], ...]
    q_value: float | None = None
    found: bool = False
    n_columns: int = 1

    def sentences(self, names: Sequence[str], original: int = -1) -> list[str]:
        """Return the explanation in plain sentences, without rank and score.

        Parameters
        ----------
        names : sequence of str
            The names of all columns.
        original : int, default=-1
            Index of the column that this one is an exact copy of; −1 if it is not a copy.
        """
        sentences = [f"It is an exact copy of {shown(names[original])}."] if original >= 0 else []
        if self.q_value is not None:
            verb = (
                "shares structure with other columns" if self.found else "is not found to share structure with others"
            )
            sentences.append(f"It {verb} (q-value {wording.q_value(self.q_value)}).")
        if self.alone is None:
            sentences.append("This method learns no structure to align columns with.")
        else:
            sentences.append(f"Alignment with the learned structure by itself: {self.alone:.3f} of 1.")
        if self.gain is not None and self.rank > 1:
            verb = "raises" if self.gain >= 0.0 else "lowers"
            sentences.append(f"It {verb} the alignment of the columns ranked before it by {abs(self.gain):.3f}.")
        if not self.most_similar:
            return [*sentences, "No other column is selected."]
        if self.covered is not None:
            others = "The other selected columns" if self.selected else "The selected columns"
            sentences.append(f"{others} together explain {percent(self.covered)} of its variance.")
        sign = "+" if self.n_columns == 1 else ""
        similar = ", ".join(f"{shown(names[column])} ({value:{sign}.2f})" for column, value in self.most_similar)
        return [*sentences, f"Most correlated selected columns: {similar}."]


def explain_features(
    selector: BaseSelector, X: Any, features: Sequence[int | str | Sequence[int | str]], n_similar: int = 3
) -> list[Explanation]:
    """Explain the rank of features: what they contribute, and which selected features resemble them.

    Parameters
    ----------
    selector : fitted selector
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The data that the selector was fitted on.
    features : sequence of int or str, or of lists of these
        Column indices, or names if X is a data frame or the selector was fitted on one. Columns in a list are explained
        as one feature, such as the indicators of a category.
    n_similar : int, default=3
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
    names, X = _names_and_matrix(selector, X)
    chosen = np.flatnonzero(selector.get_support())
    selected = dense_part(X, chosen, standardize=True)
    units = getattr(selector, "groups_", np.arange(X.shape[1]))[chosen]
    gains, significance = gains_of(selector), getattr(selector, "significance_", None)
    explanations = []
    for columns in _columns_of_features(features, X.shape[1], names):
        x, others = dense_part(X, columns, standardize=True), ~np.isin(chosen, columns)
        ranks = np.sort(selector.ranking_[columns])
        on_curve = ranks[ranks <= (0 if gains is None else len(gains))]
        feature = int(columns[selector.ranking_[columns].argmin()])
        correlations = selected[:, others].T @ x / len(x)
        largest = np.abs(correlations).max(axis=1) if len(columns) > 1 else correlations[:, 0]
        nearest = np.argsort(-np.abs(largest), kind="stable")
        nearest = nearest[np.sort(np.unique(units[others][nearest], return_index=True)[1])][:n_similar]
        explanations.append(
            Explanation(
                feature,
                int(ranks[0]),
                score=float(selector.scores_[columns].max()),
                selected=bool(ranks[0] <= selector.n_features_),
                alone=_alone(selector, X, columns),
                gain=float(gains[on_curve - 1].sum()) if gains is not None and len(on_curve) else None,
                covered=_adjusted_r2(selected[:, others], x),
                most_similar=tuple((int(chosen[others][index]), float(largest[index])) for index in nearest),
                q_value=None if significance is None else float(significance.q_values[feature]),
                found=significance is not None and bool(significance.found[feature]),
                n_columns=len(columns),
            )
        )
    return explanations


def _columns_of_features(features: Any, n_columns: int, names: Sequence[str] | None) -> list[Indices]:
    """Return the columns of each feature."""
    if as_mask(features) is not None:
        return list(column_indices(features, n_columns, names)[:, None])
    several = (each if isinstance(each, (list, tuple, np.ndarray)) else [each] for each in features)
    return [column_indices(each, n_columns, names) for each in several]


def _alone(selector: BaseSelector, X: Any, columns: Indices) -> float | None:
    """Return the alignment of columns by themselves with the learned structure; None if there is no structure."""
    alignments = getattr(selector, "alignments_", None)
    if alignments is None:
        return None
    return float(
        alignments[columns[0]] if len(columns) == 1 else LearnedStructure(selector, X).alignments_of([columns])[0]
    )


def _names_and_matrix(selector: BaseSelector, X: Any) -> tuple[list[str] | None, Any]:
    """Return the column names of X and X as a matrix; raise an error if the selector was fitted on other columns."""
    check_is_fitted(selector, "ranking_")
    names, X = fitted_column_names(X, selector), as_matrix(X)
    if X.shape[1] != len(selector.ranking_):
        raise ValueError(f"X has {X.shape[1]} columns, but the selector was fitted on {len(selector.ranking_)}.")
    return names, X


def _adjusted_r2(selected: Float, x: Float) -> float | None:
    """Return 1 − (1 − R²)(n − 1)/(n − m − 1) of the regression of x on m columns, at least 0; None if m ≥ n − 1.

    If x has several columns, R² is their mean.
    """
    n, m = selected.shape
    if m >= n - 1:
        return None
    if m == 0 or not x.any():
        return 0.0
    residual = x - selected @ np.linalg.lstsq(selected, x, rcond=None)[0]
    return max(0.0, 1.0 - float(np.sum(residual**2)) / float(np.sum(x**2)) * (n - 1) / (n - m - 1))


def alignment_of_selection(selector: BaseSelector) -> float | None:
    """Return the alignment of the selected features with the learned structure; None if there is no embedding."""
    curve = getattr(selector, "alignment_curve_", None)
    return None if curve is None else float(curve[min(selector.n_features_, len(curve)) - 1])


def gains_of(selector: BaseSelector) -> Float | None:
    """Return how much each of the best features raises the alignment of those ranked before it.

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


def dense_columns(X: Any, columns: Any, *, standardize: bool = True) -> Float:
    """Return some columns of X as a dense array.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    columns : sequence of int or str
        Column indices, or names if X is a data frame.
    standardize : bool, default=True
        Whether to scale the columns to mean 0 and variance 1; constant columns are then 0.

    Returns
    -------
    ndarray of shape (n_samples, n_columns)
    """
    names, X = column_names(X), as_matrix(X)
    return dense_part(X, column_indices(columns, X.shape[1], names), standardize=standardize)


class LearnedStructure:
    """The structure that a selector has learned, to compute the alignment of any columns with it.

    With aⱼ = ‖Tᵀxⱼ‖² and H_jl = (xⱼᵀx_l)² as in :mod:`ufselect.solvers.alignment`, ``alignments_`` has aⱼ/(‖K‖ ‖xⱼ‖²),
    so that the alignment of columns F is

        Σ_{j∈F} alignments_ⱼ ‖xⱼ‖² / √(Σ_{j,l∈F} H_jl),

    and the structure itself is not needed.

    Parameters
    ----------
    selector : fitted selector
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The data that the selector was fitted on, without batches.

    Raises
    ------
    ValueError
        If the selector learns no structure.
    """

    def __init__(self, selector: BaseSelector, X: Any) -> None:
        names, X = _names_and_matrix(selector, X)
        X = canonical(X)
        alignments = getattr(selector, "alignments_", None)
        if alignments is None:
            raise no_structure(selector)
        takes_part = ~constant_columns(X, scale=getattr(selector, "scale", "standard")) & (selector.copies_ < 0)
        keep_exclude = keep_exclude_of(selector, X.shape[1], names)
        takes_part[keep_exclude.exclude] = False
        informative = np.flatnonzero(takes_part)
        part = X[:, informative]
        part = part.astype(np.float64) if sp.issparse(part) else np.ascontiguousarray(part)
        self._X = prepared_as_fitted(selector, part, informative)
        self._alignments = alignments[informative].astype(np.float64)
        self._index = np.full(X.shape[1], -1, dtype=np.intp)
        self._index[informative] = np.arange(len(informative))
        copies = np.flatnonzero(selector.copies_ >= 0)
        self._index[copies] = self._index[selector.copies_[copies]]
        self.informative = informative

    def part(self, columns: Indices) -> tuple[Columns, Float]:
        """Return some informative columns as the fit saw them, and what they carry of the structure, aⱼ/‖K‖."""
        index = self._index[columns]
        part = self._X.subset(index)
        return part, self._alignments[index] * part.squared_norms()

    def alignments_of(self, lists: Sequence[Indices]) -> Float:
        """Return the alignment of each list of columns; constant and excluded columns do not count."""
        found = np.zeros(len(lists))
        for number, columns in enumerate(lists):
            index = self._index[columns]
            if len(index := index[index >= 0]):
                part = self._X.subset(index)
                carried = float(self._alignments[index] @ part.squared_norms())
                found[number] = carried / np.sqrt(squared_norm_of_products(part))
        return found

    def alignments_of_random(self, columns: Indices, most: int) -> Float:
        """Return the alignment of 1, 2, … up to ``most`` random ones of some columns, with both sums at their means."""
        index = self._index[columns]
        part = self._X.subset(index := index[index >= 0])
        squares, counts, d = part.squared_norms(), np.arange(1, min(most, len(index)) + 1), len(index)
        of_pairs = (squared_norm_of_products(part) - np.sum(squares**2)) / max(d * (d - 1), 1)
        norms = np.sqrt(counts * np.mean(squares**2) + counts * (counts - 1) * of_pairs)
        alignments: Float = counts * np.mean(self._alignments[index] * squares) / norms
        return alignments


def prepared_as_fitted(selector: BaseSelector, X: Any, columns: Indices) -> Columns:
    """Centre and scale columns as a fit did, which may have been to those of them that were found or are kept."""
    significance = getattr(selector, "significance_", None)
    if significance is None or not significance.n_found or getattr(selector, "scale", None) != "moderate":
        return selector._prepared(X)
    names = getattr(selector, "feature_names_in_", None)
    kept = keep_exclude_of(selector, selector.n_features_in_, None if names is None else list(names)).keep
    in_fit = significance.found[columns] | np.isin(columns, kept)
    return Columns.prepared(X, center=selector.center, scale="moderate", among=in_fit)


def no_structure(selector: Any) -> ValueError:
    """Return the error for a method that learns no embedding."""
    return ValueError(
        f"{type(selector).__name__} learns no structure to align columns with; "
        "use KernelFSASL, or another method that learns an embedding."
    )
