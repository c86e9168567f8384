"""Normalisation of counts."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["LogNormalize"]

_BLOCK = 1_000_000  # values that are in float64 at the same time


class LogNormalize(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Divide each sample by its sum, multiply it by a common target and take log(1 + x).

    The total count of a sample, such as the molecules of a cell or the words of a document, mostly reflects how much
    was measured. Without normalisation it dominates the distances between samples, and a few columns with large counts
    outweigh all others.

    Samples with zero sum stay zero. Sparse data stay sparse.

    Parameters
    ----------
    target_sum : float or None, default=None
        Sum of each sample before the logarithm. If None, the median of the nonzero sums seen in ``fit``.
    copy : bool, default=True
        If False, ``transform`` works in place where X is a float array or a CSR or CSC matrix.

    Attributes
    ----------
    target_sum_ : float
        Sum of every sample before the logarithm.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen in ``fit``, if all of them are strings.

    See Also
    --------
    sklearn.preprocessing.Normalizer : Divide each sample by a norm.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.preprocessing import LogNormalize
    >>> counts = np.array([[1, 3, 0], [10, 30, 0], [0, 2, 6]])
    >>> normalized = LogNormalize().fit_transform(counts)
    >>> np.expm1(normalized).round(6)
    array([[2., 6., 0.],
           [2., 6., 0.],
           [0., 2., 6.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "target_sum": [Interval(Real, 0, None, closed="neither"), None],
        "copy": ["boolean"],
    }

    target_sum_: float

    def __init__(self, target_sum: float | None = None, *, copy: bool = True) -> None:
        self.target_sum = target_sum
        self.copy = copy

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - present for API consistency
        """Compute the target sum.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Values of zero or more.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._validate_params()
        sums = _sums_of_rows(self._checked(X, reset=True))
        self.target_sum_ = median_of_positive(sums) if self.target_sum is None else float(self.target_sum)
        return self

    def transform(self, X: Any) -> Any:
        """Divide each sample by its sum, multiply it by ``target_sum_`` and take log(1 + x).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Values of zero or more.

        Returns
        -------
        X_new : ndarray or sparse matrix of shape (n_samples, n_features)
            Float32 if X is float32, else float64. CSR and CSC matrices keep their format, others become CSR.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        sums = _sums_of_rows(X)
        sums[sums == 0.0] = 1.0
        X = X.copy() if self.copy else X
        # Divided first: target / sum overflows for the smallest sums.
        if sp.issparse(X):
            X.sum_duplicates()
            for values, rows in _blocks_of_entries(X):
                X.data[values] = np.log1p(X.data[values] / sums[rows] * self.target_sum_)
        else:
            for block in gen_batches(len(X), max(1, _BLOCK // max(1, X.shape[1]))):
                X[block] = np.log1p(X[block] / sums[block, None] * self.target_sum_)
        return X

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return validate_data(
            self, X, reset=reset, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32], ensure_non_negative=True
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _sums_of_rows(X: Any) -> npt.NDArray[np.float64]:
    """Return the sums of the rows in double precision; raise an error if one overflows."""
    with np.errstate(over="ignore"):  # refused below
        if sp.issparse(X):  # SciPy would convert all values to double precision at once
            sums = np.zeros(X.shape[0])
            for values, rows in _blocks_of_entries(X):
                sums += np.bincount(rows, weights=X.data[values], minlength=X.shape[0])
        else:
            sums = X.sum(axis=1, dtype=np.float64)
    overflowed = np.flatnonzero(np.isinf(sums))
    if len(overflowed):
        raise ValueError(f"The sum of row {overflowed[0]} of X is too large for a float; divide X by a constant first.")
    return sums


def median_of_positive(sums: npt.NDArray[np.float64]) -> float:
    """Return the median of those sums that are positive, or 1 if none is."""
    positive = sums[sums > 0.0]
    return float(np.median(positive)) if len(positive) else 1.0


def _blocks_of_entries(X: Any) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Yield blocks of the entries of a CSR or CSC matrix, and their rows."""
    for start in range(0, X.nnz, _BLOCK):
        stop = min(start + _BLOCK, X.nnz)
        if X.format == "csc":
            yield slice(start, stop), X.indices[start:stop]
            continue
        first = int(np.searchsorted(X.indptr, start, side="right")) - 1
        last = int(np.searchsorted(X.indptr, stop, side="left"))
        lengths = np.diff(np.clip(X.indptr[first : last + 1], start, stop))
        yield slice(start, stop), np.repeat(np.arange(first, last), lengths)
