"""Compiled code of k-means: plain functions, arrays in, arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect.solvers._compiling import compiled, compiled_in_order

Array = npt.NDArray[Any]

_ROWS_AT_ONCE = 8  # so few are multiplied without rearranging the other factor first, at twice the speed


@compiled
def assign_to_nearest(nearness: Array, margin: float, labels: Array) -> Array:
    """Put sample i to the j of the smallest ``nearness[j, i]``, the first of several.

    Returns the samples left in doubt: those for which another j is within the margin of the smallest.
    """
    c, n = nearness.shape
    least = np.full(n, np.inf, dtype=np.float32)
    second = np.full(n, np.inf, dtype=np.float32)
    nearest = np.zeros(n, dtype=np.int32)
    for j in range(c):
        row = nearness[j]
        for i in range(n):  # without a branch, so that several samples are done at a time
            value, best = row[i], least[i]
            closer = value < best
            larger = best if closer else value
            second[i] = larger if larger < second[i] else second[i]
            least[i] = value if closer else best
            nearest[i] = j if closer else nearest[i]
    labels[:] = nearest
    return np.flatnonzero(second - least <= margin)


@compiled_in_order
def squared_distance(x: Array, y: Array) -> float:
    """‖x − y‖², added up in the order of the columns."""
    total = 0.0
    for a in range(len(x)):
        total += (x[a] - y[a]) ** 2
    return total


@compiled
def bring_up_to_date(X: Array, labels: Array, j: int, centres: Array, stale: Array) -> None:
    """Move centre j, if it is stale, into the mean of the samples with label j, added up in their order."""
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
def nearest_within(
    limit: float, nearness: Array, x: Array, X: Array, before: Array, centres: Array, stale: Array
) -> int:
    """The nearest centre to x, the first of several, of those with a nearness up to the limit."""
    distances = np.full(len(centres), np.inf)
    for j in range(len(centres)):
        if nearness[j] <= limit:
            bring_up_to_date(X, before, j, centres, stale)
            distances[j] = squared_distance(x, centres[j])
    return int(np.argmin(distances))


@compiled
def fill_empty_clusters(X: Array, before: Array, empty: Array, centres: Array, stale: Array, labels: Array) -> None:
    """Give every empty cluster a sample, those farthest from their own centres, the farthest first."""
    distances = np.empty(len(X))
    for i in range(len(X)):
        bring_up_to_date(X, before, labels[i], centres, stale)
        distances[i] = squared_distance(X[i], centres[labels[i]])
    farthest = np.argsort(-distances, kind="mergesort")
    for place in range(len(empty)):
        labels[farthest[place]] = empty[place]


@compiled
def measure_nearness(means: Array, moved: Array, single: Array, nearness: Array) -> None:
    """Write ‖x − c‖² − ‖x‖² of every sample and all centres that moved, by one product in single precision."""
    m = means.shape[1]
    factors = np.empty((len(moved), m + 1), dtype=np.float32)
    for place in range(len(moved)):
        mean = means[moved[place]]
        square = 0.0
        for a in range(m):
            factors[place, a] = -2.0 * mean[a]
            square += mean[a] * mean[a]
        factors[place, m] = square
    for first in range(0, len(moved), _ROWS_AT_ONCE):
        products = factors[first : first + _ROWS_AT_ONCE] @ single
        for place in range(len(products)):
            nearness[moved[first + place]] = products[place]


@compiled
def lloyd(X: Array, scaled: Array, single: Array, start: Array, margin: float, max_iter: int) -> Array:
    """Lloyd's iterations from the samples ``start`` until no label changes; the cluster of every sample.

    ``scaled`` is X moved and shrunk to norms up to 1; running sums of it give the centres c. ``single`` is the same
    in single precision, transposed, above a row of ones: its product with (−2c, ‖c‖²) tells how near all samples
    are to c, up to half the margin. What that leaves open X itself decides, with centres added up anew.
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
        # One that stays empty has lost its samples to others just now, by distances from its centre: not stale.
        moved = np.flatnonzero(changed & (counts > 0.0))
        for j in moved:
            means[j] = sums[j] / counts[j]
            stale[j] = True
    return labels
