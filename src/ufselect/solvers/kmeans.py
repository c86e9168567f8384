"""Lloyd's k-means from given starts, with exactly the labels of the plain loop."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float, Indices
from ufselect.solvers._kmeans_kernels import lloyd

Labels = npt.NDArray[np.int64]

_EPS32, _EPS64 = float(np.finfo(np.float32).eps), float(np.finfo(np.float64).eps)
_SQUARED_WITHOUT_UNDERFLOW = 1e-140


def kmeans_labels(X: Float, starts: Indices, *, max_iter: int = 100) -> Labels:
    """Cluster the samples once from every start.

    Every run is Lloyd's: every sample is assigned to its nearest centre (the first of equals), an empty cluster gets
    the sample farthest from its centre, and every centre moves to the mean of its samples, until no label changes. In
    each iteration a product in single precision estimates the distances to all centres that moved; only undecided
    samples are measured again in double precision.

    Parameters
    ----------
    X : ndarray of shape (n, m)
    starts : ndarray of shape (r, c)
        Indices of the samples that are the initial c centres of every run.
    max_iter : int
        Maximum number of iterations of a run.

    Returns
    -------
    ndarray of shape (r, n)
        The cluster of every sample, 0 … c − 1, in every run.

    Raises
    ------
    ValueError
        If a start is not the index of a sample.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.solvers.kmeans import kmeans_labels
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> kmeans_labels(X, np.array([[0, 1], [3, 2]]))
    array([[0, 0, 1, 1],
           [1, 1, 0, 0]])
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    if starts.size and not 0 <= starts.min() <= starts.max() < len(X):
        raise ValueError(f"starts must be indices of samples of X, from 0 to {len(X) - 1}.")
    centred = X - X.mean(axis=0)
    radius = max(float(np.sqrt(np.einsum("ij,ij->i", centred, centred).max())), _SQUARED_WITHOUT_UNDERFLOW)
    scaled = centred / radius
    single = np.vstack([scaled.T, np.ones(len(X))]).astype(np.float32, order="C")
    margin = _margin(X, radius, max_iter)
    return np.array([lloyd(X, scaled, single, start, margin, max_iter) for start in starts])


def _margin(X: Float, radius: float, max_iter: int) -> float:
    """Bound the rounding error of a difference between two values of ‖c‖² − 2cᵀx, for norms up to 1, to first order.

    Single precision: a product of m + 1 terms. Double precision: a running sum of up to n samples, each of which is
    added or removed once per iteration, and a centre that is a sum of n original samples, however far from 0.
    """
    n, m = X.shape
    magnitude = float(np.abs(X).max()) * m**0.5 / radius
    return 4.0 * (m + 3) * _EPS32 + 8.0 * n * (n * max_iter + magnitude) * _EPS64
