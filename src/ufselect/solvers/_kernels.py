"""Compiled functions that several methods use."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect.solvers._compiling import compiled

Array = npt.NDArray[Any]


@compiled
def subtract_multiple(vector: Array, other: Array, factor: float) -> None:
    """Subtract a multiple of another vector, which may be longer, in place."""
    for a in range(len(vector)):
        vector[a] -= factor * other[a]


@compiled
def squared_distances_between(points: Array, rows: Array, others: Array) -> Array:
    """Compute ‖xᵢ−xⱼ‖² from differences in double precision, for every i in ``rows`` and j in its row of ``others``."""
    distances = np.empty(others.shape)
    for a in range(len(rows)):
        here = points[rows[a]]
        for b in range(others.shape[1]):
            there = points[others[a, b]]
            total = 0.0
            for f in range(points.shape[1]):
                difference = np.float64(here[f]) - np.float64(there[f])
                total += difference * difference
            distances[a, b] = total
    return distances
