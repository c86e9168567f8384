"""Candidates for nearest neighbours by blocks of products in single precision.

‖xᵢ−xⱼ‖² = ‖xᵢ‖² − 2xᵢᵀxⱼ + ‖xⱼ‖², and the first term does not matter for the order. Products of a block of samples with
a tile of the others stay in the cache of the processor until the best of them are known, so that all n² of them are
never in memory. Rounding may change the order of samples at nearly the same distance: whoever needs exact neighbours
asks for a few candidates more and computes their distances again.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import gen_batches

from ufselect._utils.blocks import map_row_blocks
from ufselect._utils.threads import one_thread
from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import powers_of_two
from ufselect.solvers._graph_kernels import keep_nearest

_TILE = 1024
_EPSILON = float(np.finfo(np.float32).eps)
_TINY = float(np.finfo(np.float32).tiny)


class BlockedSearch:
    """Search for candidates among dense points near the origin.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    n_jobs : int, optional
        Number of threads.

    Attributes
    ----------
    rounding : float
        The error of a squared distance is at most this share of (‖xᵢ‖ + ‖xⱼ‖)² …
    underflow : float
        … plus this.
    """

    def __init__(self, points: Float, n_jobs: int | None = None) -> None:
        unit = float(powers_of_two(max(-float(points.min()), float(points.max()), np.finfo(np.float64).tiny)))
        self._points = np.empty(points.shape, dtype=np.float32)
        np.divide(points, unit, out=self._points, casting="same_kind")
        self._squares = np.einsum("ij,ij->i", self._points, self._points)
        self._n_jobs = n_jobs
        # Every product of d terms has d roundings, and three come from the points and the sum.
        self.rounding = (points.shape[1] + 3) * _EPSILON
        self.underflow = 4.0 * points.shape[1] * _TINY * unit**2

    def candidates(self, rows: Indices, count: int) -> Indices:
        """Return the indices of the ``count`` nearest others of the samples in ``rows``, up to rounding."""

        def of_block(block: slice) -> Indices:
            here = rows[block]
            queries = self._points[here]
            values = np.full((len(here), count), np.inf, dtype=np.float32)
            index = np.zeros((len(here), count), dtype=np.intp)
            for tile in gen_batches(len(self._points), _TILE):
                products = queries @ self._points[tile].T
                keep_nearest(products, self._squares[tile], tile.start, here, values, index)
            return index

        # Blocks run in threads of their own; those of the products would compete with them.
        with one_thread():
            return np.concatenate(map_row_blocks(of_block, len(rows), 8 * count + 8 * _TILE, self._n_jobs))
