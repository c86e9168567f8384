"""MaxVariance: the features of largest variance."""

from __future__ import annotations

from typing import Any, ClassVar

from ufselect._backend.columns import Columns, column_moments
from ufselect._ranking import Ranking, rank_by_score
from ufselect.base import BaseSelector


class MaxVariance(BaseSelector):
    """Keep the features of largest variance.

    The baseline of this field, sⱼ = var(xⱼ). It knows nothing of structure and depends on the units of the columns by
    design: after standardising, all scores tie.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features, or which fraction of them. "auto" takes those whose variance is above the mean.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Variance, with n − 1 in the denominator.
    ranking_ : ndarray of shape (n_features,)
        1 is best; a constant column ranks last.
    n_features_ : int
        Selected features.

    References
    ----------
    W. J. Krzanowski, "Selection of variables to preserve multivariate data structure, using principal
    components", Applied Statistics 36(1), 1987, 22-33, is what is often cited; the method itself is folklore.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ufselect import MaxVariance
    >>> X, _ = load_iris(return_X_y=True)
    >>> MaxVariance(1).fit(X).top_features()
    array([2])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": BaseSelector._parameter_constraints["n_features_to_select"]
    }

    def __init__(self, n_features_to_select: int | float | str = "auto") -> None:
        self.n_features_to_select = n_features_to_select

    def _prepared(self, X: Any) -> Columns:
        return Columns(X)

    def _learn(self, X: Columns, wanted: int | None) -> Ranking:
        _, variance = column_moments(X.values)
        return rank_by_score(variance * (X.shape[0] / (X.shape[0] - 1)), relative=True)
