"""Scatter correction of spectra."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ufselect._utils.types import Float

__all__ = ["SNV"]

_BLOCK = 1_000_000  # values that are in float64 at the same time


class SNV(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Standard normal variate: subtract the mean of each sample and divide by its standard deviation.

    In spectra of powders and other scattering samples, the offset and the size of a whole spectrum mostly reflect how
    much light was scattered. SNV removes both. It also removes what is common to all bands of a sample, such as its
    brightness; where that carries information, do without it.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen in ``fit``, if all of them are strings.

    References
    ----------
    R. J. Barnes, M. S. Dhanoa and S. J. Lister, "Standard normal variate transformation and de-trending of
    near-infrared diffuse reflectance spectra", Applied Spectroscopy 43, 1989, 772-777.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.preprocessing import SNV
    >>> SNV().fit_transform(np.array([[1.0, 2.0, 3.0], [10.0, 30.0, 50.0]]))
    array([[-1.,  0.,  1.],
           [-1.,  0.,  1.]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - present for API consistency
        """Check X; there is nothing to learn.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one per row.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._checked(X, reset=True)
        return self

    def transform(self, X: Any) -> Float:
        """Subtract the mean of each sample and divide by its standard deviation, with n_features − 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one per row, none of them constant.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features)
            Float32 if X is float32, else float64.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        transformed = np.empty_like(X)
        for block in gen_batches(len(X), max(1, _BLOCK // X.shape[1])):
            values = X[block].astype(np.float64)
            values /= np.maximum(np.abs(values).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            values -= values.mean(axis=1, keepdims=True)
            deviations = values.std(axis=1, ddof=1, keepdims=True)
            constant = np.flatnonzero((np.ptp(X[block], axis=1) == 0.0) | (deviations[:, 0] == 0.0))
            if len(constant):
                row = block.start + constant[0]
                raise ValueError(f"Row {row} of X is constant, so SNV has nothing to divide it by; leave it out.")
            transformed[block] = values / deviations
        return transformed

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_features=1 + reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
