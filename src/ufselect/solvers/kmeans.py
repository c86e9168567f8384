"""Lloyd's k-means from many given starts at once, label for label the plain loop's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ufselect._backend.columns import Float, Indices
from ufselect.solvers._kernels import lloyd

Labels = npt.NDArray[np.int64]

_EPS32, _EPS64 = float(np.finfo(np.float32).eps), float(np.finfo(np.float64).eps)


def kmeans_labels(X: Float, starts: Indices, *, max_iter: int = 100) -> Labels:
    """Cluster the samples once from every start.

    A run is Lloyd's: every sample goes to its nearest centre (the first of equally near ones), an empty
    cluster gets the sample farthest from its centre, every centre moves into the mean of its samples,
    until no label changes. All runs go on side by side: one product, in single precision, tells how near
    the samples are to all centres that moved, and only where that leaves a doubt are they measured
    again, in double precision.

    Parameters
    ----------
    X : ndarray of shape (n, m)
    starts : ndarray of shape (r, c)
        The samples at which the c centres of every run start.
    max_iter : int
        Most iterations of a run.

    Returns
    -------
    ndarray of shape (r, n)
        The cluster of every sample, 0 … c − 1, in every run.

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
    n, m = X.shape
    centred = X - X.mean(axis=0)
    # Norms up to 1; the squares of what is shorter than this underflow, and nothing is near or far by them.
    unit = max(float(np.sqrt(np.einsum("ij,ij->i", centred, centred).max())), 1e-140)
    scaled = centred / unit
    single = np.vstack([scaled.T, np.ones(n)]).astype(np.float32, order="C")
    magnitude = float(np.abs(X).max()) * m**0.5 / unit
    margin = 4.0 * (m + 3) * _EPS32 + 8.0 * n * (max_iter * n + magnitude) * _EPS64
    return np.array([lloyd(X, scaled, single, start, margin, max_iter) for start in starts])
