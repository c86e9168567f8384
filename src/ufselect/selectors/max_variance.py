"""MaxVariance: the features of largest variance."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

from ufselect.base import BaseSelector, Constraints, with_parameters
from ufselect.base.ranking import Ranking, rank_by_score
from ufselect.columns.dense import Columns
from ufselect.columns.moments import column_spreads, powers_of_two

_PARAMETERS = ("n_features_to_select", "keep", "exclude", "groups", "min_distance", "requirements", "fdr", "verbose")


@with_parameters
class MaxVariance(BaseSelector):
    """Select the features of largest variance.

    The baseline of this field, sⱼ = var(xⱼ). It ignores structure and depends on the units of the columns by design:
    after standardisation, all scores tie. So there is no ``scale`` or ``center``.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of features to select, or the fraction if a float. "auto" takes those that score above the mean.
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
    verbose : int, default=0
        If 1, show the elapsed time on a terminal.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Variance, with n − 1 in the denominator.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature; 1 is best. Constant features rank last.
    n_features_ : int
        Number of selected features.
    copies_ : ndarray of shape (n_features,)
        Index of the feature that a feature is an exact copy of; −1 if it is none. Copies rank behind all others.

    References
    ----------
    W. J. Krzanowski, "Selection of variables to preserve multivariate data structure, using principal
    components", Applied Statistics 36(1), 1987, 22-33, is often cited; the method itself is folklore.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ufselect import MaxVariance
    >>> X, _ = load_iris(return_X_y=True)
    >>> MaxVariance(1).fit(X).top_features()
    array([2])
    """

    n_features_to_select: int | float | str = "auto"
    _: KW_ONLY
    keep: Any = None
    exclude: Any = None
    groups: Any = None
    min_distance: int = 1
    requirements: Any = None
    fdr: float | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: BaseSelector._parameter_constraints[name] for name in _PARAMETERS
    }

    def _prepared(self, X: Any) -> Columns:
        return Columns(X)

    def _learn(self, X: Columns, constraints: Constraints) -> Ranking:
        n = X.shape[0]
        _, deviations = column_spreads(X.values)
        # Variances may underflow; those in units of a power of two rank the columns all the same.
        unit = powers_of_two(deviations.max())
        ranking = rank_by_score((deviations / unit) ** 2 * (n / (n - 1)), relative=True)
        return replace(ranking, scores=ranking.scores * unit * unit)
