"""Lloyd's k-means from given starts, with exactly the labels of the plain loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._utils.compiling import compiled, compiled_in_order
from ufselect._utils.types import Float, Indices

Labels = npt.NDArray[np.int64]

_EPS32, _EPS64 = float(np.finfo(np.float32).eps), float(np.finfo(np.float64).eps)
_SQUARED_WITHOUT_UNDERFLOW = 1e-140


def kmeans_labels(X: Float, starts: Indices, *, max_iter: int = 100) -> Labels:
    """Cluster the samples once from every start.

    Every run is Lloyd's: every sample is assigned to its nearest centre (the first of equals), an empty cluster gets
    the sample farthest from its centre, and every centre moves to the mean of its samples, until no label changes. In
    each iteration a product in single precision estimates the distances to all centres that moved; only undecided
    samples are measured again in double precision.

    ``starts`` of shape (r, c) has the indices of the samples that are the initial centres of every run. The result of
    shape (r, n) has the cluster of every sample, 0 … c − 1, in every run.
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


@compiled
def assign_to_nearest(nearness: Any, margin: float, labels: Any) -> Any:
    """Assign sample i to the first j with the smallest ``nearness[j, i]``.

    Returns the undecided samples: those for which another j is within the margin of the smallest.
    """
    c, n = nearness.shape
    least = np.full(n, np.inf, dtype=np.float32)
    second = np.full(n, np.inf, dtype=np.float32)
    nearest = np.zeros(n, dtype=np.int32)
    for j in range(c):
        row = nearness[j]
        for i in range(n):  # without a branch, so that the loop is vectorised
            value, best = row[i], least[i]
            closer = value < best
            larger = best if closer else value
            second[i] = larger if larger < second[i] else second[i]
            least[i] = value if closer else best
            nearest[i] = j if closer else nearest[i]
    labels[:] = nearest
    return np.flatnonzero(second - least <= margin)


@compiled_in_order
def squared_distance(x: Any, y: Any) -> float:
    """Return ‖x − y‖², summed in the order of the columns."""
    total = 0.0
    for a in range(len(x)):
        total += (x[a] - y[a]) ** 2
    return total


@compiled
def bring_up_to_date(X: Any, labels: Any, j: int, centres: Any, stale: Any) -> None:
    """If centre j is stale, move it to the mean of the samples with label j, summed in their order."""
    if not stale[j]:
        return
    members = np.flatnonzero(labels == j)
    total = np.zeros(X.shape[1])
    for i in members:
        x = X[i]
        for a in range(len(x)):
            total[a] += x[a]
    centres[j] = total / len(members)
    stale[j] = False


@compiled
def nearest_within(limit: float, nearness: Any, x: Any, X: Any, before: Any, centres: Any, stale: Any) -> int:
    """Return the nearest centre to x, the first of equals, among those with a nearness up to the limit."""
    distances = np.full(len(centres), np.inf)
    for j in range(len(centres)):
        if nearness[j] <= limit:
            bring_up_to_date(X, before, j, centres, stale)
            distances[j] = squared_distance(x, centres[j])
    return int(np.argmin(distances))


@compiled
def fill_empty_clusters(X: Any, before: Any, empty: Any, centres: Any, stale: Any, labels: Any) -> None:
    """Assign to every empty cluster one of the samples farthest from their centres, the farthest first."""
    distances = np.empty(len(X))
    for i in range(len(X)):
        bring_up_to_date(X, before, labels[i], centres, stale)
        distances[i] = squared_distance(X[i], centres[labels[i]])
    farthest = np.argsort(-distances, kind="mergesort")
    for rank in range(len(empty)):
        labels[farthest[rank]] = empty[rank]


@compiled
def measure_nearness(means: Any, moved: Any, single: Any, nearness: Any) -> None:
    """Compute ‖x − c‖² − ‖x‖² for every sample and all centres that moved, by one product in single precision."""
    m = means.shape[1]
    factors = np.empty((len(moved), m + 1), dtype=np.float32)
    for index in range(len(moved)):
        mean = means[moved[index]]
        square = 0.0
        for a in range(m):
            factors[index, a] = -2.0 * mean[a]
            square += mean[a] * mean[a]
        factors[index, m] = square
    products = factors @ single
    for index in range(len(moved)):
        nearness[moved[index]] = products[index]


@compiled
def lloyd(X: Any, scaled: Any, single: Any, start: Any, margin: float, max_iter: int) -> Any:
    """Run Lloyd's iterations from the samples ``start`` until no label changes; return the cluster of every sample.

    ``scaled`` is X, shifted and scaled to norms of at most 1; running sums of it give the centres c. ``single`` is its
    transpose in single precision, above a row of ones: its product with (−2c, ‖c‖²) gives the nearness of all samples
    to c, up to half the margin. Undecided samples are measured by X itself, with centres summed again.
    """
    n, m = X.shape
    c = len(start)
    labels = np.full(n, -1)
    centres, stale = X[start], np.zeros(c, dtype=np.bool_)
    means, sums, counts = scaled[start], np.zeros((c, m)), np.zeros(c)
    nearness = np.empty((c, n), dtype=np.float32)
    moved = np.arange(c)
    for _ in range(max_iter):
        measure_nearness(means, moved, single, nearness)
        before = labels.copy()
        for i in assign_to_nearest(nearness, margin, labels):
            limit = nearness[labels[i], i] + margin
            labels[i] = nearest_within(limit, nearness[:, i], X[i], X, before, centres, stale)
        empty = np.flatnonzero(np.bincount(labels, minlength=c) == 0)
        if len(empty) > 0:
            fill_empty_clusters(X, before, empty, centres, stale, labels)
        changed = np.zeros(c, dtype=np.bool_)
        for i in np.flatnonzero(labels != before):
            for j, sign in ((before[i], -1.0), (labels[i], 1.0)):
                if j >= 0:
                    changed[j] = True
                    counts[j] += sign
                    total, x = sums[j], scaled[i]
                    for a in range(m):
                        total[a] += sign * x[a]
        if not changed.any():
            break
        # A cluster that stays empty has just lost its samples, by distances from its centre, which is not stale.
        moved = np.flatnonzero(changed & (counts > 0.0))
        for j in moved:
            means[j] = sums[j] / counts[j]
            stale[j] = True
    return labels
