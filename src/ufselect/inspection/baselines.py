"""Baselines: rankings of columns that people use without a method, to compare methods with."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from ufselect._utils.types import Float
from ufselect.base import BaseSelector, Constraints, with_parameters
from ufselect.base.ranking import MOST_SUFFICIENT, Ranking, from_best_to_worst, in_groups
from ufselect.columns.dense import Columns
from ufselect.redundancy import redundant_columns
from ufselect.selectors.kernel_fsasl import KernelFSASL

_ROUNDINGS = 100  # of the largest variance: less is not left of a column
_TIED = 1e-12

_SHARED = {
    name: BaseSelector._parameter_constraints[name] for name in ("n_features_to_select", "keep", "exclude", "groups")
}
_SHARED |= {"verbose": ["verbose"]}


class Baseline(BaseSelector):
    """Base class of baselines, which :func:`ufselect.inspection.compare_selectors` lists after the methods.

    They keep and exclude columns and respect batches, but select among all columns, whatever a test has found.
    """


@with_parameters
class UncorrelatedVariance(Baseline):
    """Select the features of largest variance, once correlated ones are dropped.

    Of features with an absolute correlation of 0.8 or more, :func:`ufselect.redundancy.redundant_columns` leaves one;
    the others rank behind all that are left.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" takes all that are left.
    scale : "moderate", "standard" or None
        As in :class:`ufselect.KernelFSASL`. "standard", after which all variances are 1, is the same as None.
    keep, exclude : list of str or int, or None, default=None
        Features to select before all others, and features that take no part. What correlates with a kept feature is
        dropped.
    groups : list, dict, "prefix:=" or None, default=None
        Groups of features that are selected as a whole and count as one each.
    verbose : int, default=0
        If 1, show the elapsed time on a terminal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ufselect.inspection import UncorrelatedVariance
    >>> X, _ = load_iris(return_X_y=True)
    >>> UncorrelatedVariance().fit(X).top_features()
    array([2, 1])
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    scale: str | None = KernelFSASL.scale
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    verbose: int = 0

    center = True
    above: ClassVar[float] = 0.8
    """Absolute correlation from which one of two features is dropped."""
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_SHARED,
        "scale": BaseSelector._parameter_constraints["scale"],
    }

    def _prepared(self, X: Any) -> Columns:
        return Columns.prepared(X, center=True, scale=None if self.scale == "standard" else self.scale)

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        left = redundant_columns(X.values, self.above, keep=constraints.first).representatives
        variances = X.squared_norms() / (X.shape[0] - 1)
        is_left = np.isin(np.arange(X.shape[1]), left)
        order = from_best_to_worst(variances, relative=True)
        order = np.concatenate([order[is_left[order]], order[~is_left[order]]])
        enough = (
            len(left) if constraints.groups is None else np.isin(constraints.groups, constraints.groups[left]).sum()
        )
        return Ranking(order, np.where(is_left, variances, 0.0), n_sufficient=int(enough))


@with_parameters
class PivotedQR(Baseline):
    """Select features one by one, each the one with the largest variance that those before it do not explain.

    These are the pivots of a QR decomposition of the centred and scaled columns. Each takes one product with X, so a
    sparse X stays sparse and no more is decomposed than is selected.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" takes as many as are linearly independent, 500
        at most.
    scale : "moderate", "standard" or None
        As in :class:`ufselect.KernelFSASL`.
    keep, exclude : list of str or int, or None, default=None
        Features to select before all others, and features that take no part.
    groups : list, dict, "prefix:=" or None, default=None
        Groups of features that are selected as a whole and count as one each.
    verbose : int, default=0
        If 1, show the elapsed time on a terminal.

    References
    ----------
    P. Businger and G. H. Golub, "Linear least squares solutions by Householder transformations", Numerische Mathematik
    7, 1965, 269-276.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ufselect.inspection import PivotedQR
    >>> X, _ = load_iris(return_X_y=True)
    >>> PivotedQR(2).fit(X).top_features()
    array([2, 1])
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    scale: str | None = KernelFSASL.scale
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    verbose: int = 0

    center = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = UncorrelatedVariance._parameter_constraints

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        (n, d), groups = X.shape, constraints.groups
        count = constraints.count if groups is None else None
        count = count or min(n, d, MOST_SUFFICIENT)
        left = X.squared_norms()  # ‖(I − QQᵀ)xⱼ‖²
        least = _ROUNDINGS * np.finfo(X.dtype).eps * left.max()
        Q, scores = np.zeros((n, count)), np.zeros(d)
        order: list[int] = []
        for step in range(count):
            if groups is not None and len(np.unique(groups[order])) == constraints.count:
                break
            pivot = _largest(left) if step >= len(constraints.first) else int(constraints.first[step])
            if left[pivot] > least:
                q = X.columns(np.array([pivot]))[:, 0].astype(np.float64)
                for _ in range(2):  # once would not be orthogonal up to rounding
                    q -= Q @ (Q.T @ q)
                Q[:, step] = q / np.linalg.norm(q)
            elif step >= len(constraints.first):
                break
            order.append(pivot)
            scores[pivot] = left[pivot]
            left = np.maximum(left - X.transposed_matmul(Q[:, [step]])[:, 0] ** 2, 0.0)
            left[order] = -1.0
        others = np.setdiff1d(np.arange(d), order)
        scores[others] = left[others]
        ranked = np.array([*order, *others[from_best_to_worst(left[others])]] if len(others) else order, dtype=np.intp)
        if groups is not None:  # each comes where its first column does
            ranked = in_groups(
                ranked, scores, groups, -np.unique(groups[ranked], return_index=True)[1].astype(np.float64)
            )
        return Ranking(ranked, scores / (n - 1), n_sufficient=len(order))


def _largest(values: Float) -> int:
    """Return the index of the largest value, the first of several that differ by rounding."""
    return int((values >= values.max() * (1.0 - _TIED)).argmax())


@with_parameters
class EvenSpacing(Baseline):
    """Select features at equal distances, for features in an order, such as wavelengths.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" takes all of them.
    keep, exclude : list of str or int, or None, default=None
        Features to select before all others, and features that take no part. The distances are those between all
        others.
    groups : list, dict, "prefix:=" or None, default=None
        Groups of features that are selected as a whole and count as one each.
    verbose : int, default=0
        If 1, show the elapsed time on a terminal.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.inspection import EvenSpacing
    >>> spectra = np.random.default_rng(0).standard_normal((20, 9)).cumsum(axis=1)
    >>> EvenSpacing(3).fit(spectra).top_features()
    array([1, 4, 7])
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    verbose: int = 0

    center = True
    scale = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _SHARED

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        d = X.shape[1]
        others = np.setdiff1d(np.arange(d), constraints.first)
        count = (constraints.count or d) - len(constraints.first)
        # The first and the last are half as far from the ends as from the next one.
        even = others[((np.arange(count) + 0.5) * len(others) / max(count, 1)).astype(np.intp)]
        order = np.concatenate([constraints.first, even, np.setdiff1d(others, even)])
        scores = np.zeros(d)
        scores[order[: len(constraints.first) + count]] = 1.0
        return Ranking(order, scores, n_sufficient=d)
