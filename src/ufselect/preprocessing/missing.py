"""Missing values, filled by what the other columns say about them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import gen_batches

from ufselect._utils.types import Float, Mask

Single = npt.NDArray[np.float32]

_OWN_SHARES = (0.95, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.02)  # of the variance of a column, of which one is chosen
_ROUNDS, _STEPS, _MOST_STEPS = 6, 3, 20
_ACCURACY = 1e-6  # of conjugate gradients: squares of residuals, relative to the first ones
_NEGLIGIBLE = 1e-6  # eigenvalues, relative to the largest one
_TINY = np.finfo(np.float32).tiny
_BLOCK = 2**20  # values that are filled at the same time
_LEARNED_FROM, _FEWEST_ROWS = 1_500_000, 1000  # values, but no fewer rows: a covariance needs no more


class MissingValues:
    """Fill missing values by what is observed of the other columns.

    A missing value becomes its conditional mean, given what is observed in its row, under a normal distribution whose
    covariance is (1 − a)C + aI in standard deviations. C is learned from the filled data, by a few rounds of
    expectation and maximisation. a, the share of its variance that a column has for itself, is the one by which other
    columns predict observed values best, each by a ridge regression without its row. A column that is not predicted
    better than by its mean is filled with its mean, and predicts nothing.

    The less is known of a row, the nearer its filled values are to the means. They stay within the observed range of
    their column; a column without values is filled with zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.preprocessing import MissingValues
    >>> X = np.outer(np.arange(100.0), [1.0, 2.0, -1.0])
    >>> X[70, 0] = X[20, 1:] = np.nan
    >>> MissingValues().fit(X).transform(X)[[70, 20]].round()
    array([[ 69., 140., -70.],
           [ 20.,  43., -21.]])
    """

    def fit(self, X: Any) -> Self:
        """Learn the columns, and how they depend on each other.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Floats, NaN where values are missing.

        Returns
        -------
        self : object
        """
        observed = ~np.isnan(X)
        n_observed = np.count_nonzero(observed, axis=0)
        empty, counts = n_observed == 0, np.maximum(n_observed, 1)
        self._lowest = np.where(empty, 0.0, np.min(X, axis=0, where=observed, initial=np.inf))
        self._highest = np.where(empty, 0.0, np.max(X, axis=0, where=observed, initial=-np.inf))
        with np.errstate(over="ignore"):  # columns too large for a variance are filled with a constant
            means = np.sum(X, axis=0, where=observed, dtype=np.float64) / counts
            self._means = np.clip(means, self._lowest, self._highest)
            scales = np.sqrt(np.sum((X - self._means) ** 2, axis=0, where=observed) / counts)
        self._scales = np.where(scales > 0.0, scales, np.inf)
        n, d = X.shape
        rows = np.unique(np.linspace(0, n - 1, min(n, max(_LEARNED_FROM // d, _FEWEST_ROWS))).astype(np.intp))
        self._sample, self._missing = self._standardized(X[rows]), ~observed[rows]
        self.__dict__.pop("_precision", None)
        return self

    def transform(self, X: Any) -> Any:
        """Fill missing values by what was learned.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Floats, NaN where values are missing.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            X itself if no value is missing.
        """
        rows = np.flatnonzero(np.isnan(X).any(axis=1))
        if not len(rows):
            return X
        filled = np.array(X)
        scales = np.where(np.isinf(self._scales), 0.0, self._scales)
        for block in gen_batches(len(rows), max(1, _BLOCK // X.shape[1])):
            part = X[rows[block]]
            missing = np.isnan(part)
            likely = _most_likely(self._standardized(part), missing, self._precision, _MOST_STEPS)
            values = np.clip((likely * scales + self._means).astype(X.dtype), self._lowest, self._highest)
            filled[rows[block]] = np.where(missing, values, part)
        return filled

    def _standardized(self, X: Any) -> Single:
        return np.nan_to_num((X - self._means) / self._scales).astype(np.float32)

    @cached_property
    def _precision(self) -> _Precision:
        """Learned when it is needed: most tables are complete."""
        Z = self._sample - self._sample.sum(axis=0) / np.maximum(np.sum(~self._missing, axis=0, dtype=np.float32), 1.0)
        Z[self._missing] = 0.0
        own = _own_shares(_prediction_errors(Z, self._missing))
        for _ in range(_ROUNDS if self._missing.any() else 0):
            Z = _most_likely(Z, self._missing, _Precision.of(Z, own), _STEPS)
        return _Precision.of(Z, own)


class _Precision(NamedTuple):
    """The inverse of a covariance: a matrix, or diag(w) − QᵀQ if there are more columns than rows."""

    diagonal: Single
    matrix: Single
    weights: Single | None = None

    @classmethod
    def of(cls, Z: Single, own: Single) -> Self:
        """Of standardised columns, of whose variances shares are their own."""
        n, d = Z.shape
        G = Z * np.sqrt((1.0 - own) / n)
        D = np.maximum(1.0 - np.sum(G**2, axis=0), own)  # filled values vary less than what they stand for
        if d <= n:
            inverse = np.linalg.inv((G.T @ G + np.diag(D)).astype(np.float64)).astype(np.float32)
            return cls(np.diag(inverse).copy(), inverse)
        # (D + GᵀG)⁻¹ = D⁻¹ − D⁻¹Gᵀ(I + GD⁻¹Gᵀ)⁻¹GD⁻¹
        Q = G / D
        root = np.linalg.cholesky((G @ Q.T).astype(np.float64) + np.eye(n))
        Q = np.linalg.inv(root).astype(np.float32) @ Q
        return cls(1.0 / D - np.sum(Q**2, axis=0), Q, 1.0 / D)

    def times(self, Z: Any) -> Any:
        """Return the product with rows."""
        if self.weights is None:
            return Z @ self.matrix
        return Z * self.weights - (Z @ self.matrix.T) @ self.matrix


def _most_likely(Z: Any, missing: Mask, precision: _Precision, most_steps: int) -> Any:
    """Return Z with the missing values at which zᵀΘz of each row z is smallest, by conjugate gradients."""
    R = np.where(missing, -precision.times(Z), np.float32(0.0))
    P = Y = R / precision.diagonal
    size = start = np.sum(R * Y, axis=1)
    for _ in range(most_steps):
        goes_on = size > np.maximum(_ACCURACY * start, _TINY)
        if not goes_on.any():
            break
        A = np.where(missing, precision.times(P), np.float32(0.0))
        step = np.divide(size, np.sum(P * A, axis=1), out=np.zeros_like(size), where=goes_on)[:, None]
        Z, R = Z + step * P, R - step * A
        Y, last = R / precision.diagonal, size
        size = np.sum(R * Y, axis=1)
        P = Y + np.divide(size, last, out=np.zeros_like(size), where=goes_on)[:, None] * P
    return Z


def _own_shares(errors: Float) -> Single:
    """Return for every column the share by which most is predicted; 1 if the column itself is not predicted by it."""
    best = int(np.argmin(np.sum(np.minimum(errors, 1.0), axis=1)))
    return np.where(errors[best] < 1.0, _OWN_SHARES[best], 1.0).astype(np.float32)


def _prediction_errors(Z: Single, missing: Mask) -> Float:
    """Return for every share a the mean squared error of predictions of each column, relative to its variance.

    With c = (1 − a)/(an) and K = (I + cZZᵀ)⁻¹, column j is predicted in row i, by a ridge regression on all other
    columns without this row, with the error rᵢⱼ/(sⱼKᵢᵢ + crᵢⱼ²), where R = KZ and sⱼ = 1 − czⱼᵀrⱼ.
    """
    n, d = Z.shape
    errors, variances = np.ones((len(_OWN_SHARES), d)), np.sum(Z**2, axis=0)
    values, V = np.linalg.eigh(Z.T @ Z if d <= n else Z @ Z.T)
    kept = values > np.maximum(_NEGLIGIBLE * values[-1], _TINY)
    values, V, roots = values[kept], V[:, kept], np.sqrt(values[kept])
    U, V = (Z @ V / roots, V) if d <= n else (V, Z.T @ V / roots)  # Z = U diag(roots) Vᵀ
    outside = np.maximum(1.0 - 1.0 / n - np.sum(U**2, axis=1), 0.0)  # the mean, which is known, takes 1/n
    for row, share in zip(errors, _OWN_SHARES, strict=True):
        c = np.float32((1.0 - share) / (share * n))
        weights = 1.0 / (1.0 + c * values)
        R = (U * (roots * weights)) @ V.T
        s = np.maximum(1.0 - c * np.sum(Z * R, axis=0), _NEGLIGIBLE)
        R /= np.maximum((outside + U**2 @ weights)[:, None] * s + c * R**2, _TINY)
        np.divide(np.sum(R**2, axis=0, where=~missing), variances, out=row, where=variances > 0.0)
    return errors
