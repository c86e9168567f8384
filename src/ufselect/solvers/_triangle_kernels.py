"""Compiled functions for one triangle of a dense symmetric matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect.solvers._compiling import compiled

Array = npt.NDArray[Any]


@compiled
def add_outer_products_below(triangle: Array, indptr: Array, indices: Array, data: Array, scale: float) -> None:
    """Add ``scale`` Σᵢ aᵢaᵢᵀ of the rows aᵢ of a sparse matrix to a lower triangle."""
    for i in range(len(indptr) - 1):
        for here in range(indptr[i], indptr[i + 1]):
            index, weight = indices[here], scale * data[here]
            for there in range(indptr[i], here + 1):
                other = indices[there]
                triangle[max(index, other), min(index, other)] += np.float32(weight * data[there])


@compiled
def add_below(triangle: Array, indptr: Array, indices: Array, data: Array, scale: float) -> None:
    """Add ``scale`` times a sparse symmetric matrix, given by its rows, to a lower triangle."""
    for i in range(len(indptr) - 1):
        for here in range(indptr[i], indptr[i + 1]):
            if indices[here] <= i:
                triangle[i, indices[here]] += np.float32(scale * data[here])
