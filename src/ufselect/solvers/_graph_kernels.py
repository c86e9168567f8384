"""Compiled functions for graphs of many samples: nearest neighbours, and products with sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect.solvers._compiling import compiled

Array = npt.NDArray[Any]


@compiled
def keep_nearest(products: Array, squares: Array, first: int, own: Array, values: Array, index: Array) -> None:
    """Keep the columns with the smallest ‖yⱼ‖² − 2xᵢᵀyⱼ of every row, in ascending order.

    ``products`` holds xᵢᵀyⱼ for the columns from ``first`` on, ``squares`` holds their ‖yⱼ‖². ``values`` and ``index``
    are the best so far. The column with the number ``own[i]`` is left out of row i.
    """
    width, count = products.shape[1], values.shape[1]
    for i in range(len(products)):
        worst = values[i, count - 1]
        for start in range(0, width, 64):
            stop = min(start + 64, width)
            nearer = 0
            for j in range(start, stop):  # without branches, so that it uses the full width of the processor
                nearer += squares[j] - np.float32(2.0) * products[i, j] < worst
            if nearer == 0:
                continue
            for j in range(start, stop):
                value = squares[j] - np.float32(2.0) * products[i, j]
                if value >= worst or first + j == own[i]:
                    continue
                place = count - 1
                while place > 0 and values[i, place - 1] > value:
                    values[i, place] = values[i, place - 1]
                    index[i, place] = index[i, place - 1]
                    place -= 1
                values[i, place] = value
                index[i, place] = first + j
                worst = values[i, count - 1]


@compiled
def combine_rows(
    indptr: Array, indices: Array, data: Array, now: Array, before: Array, weights: Array, rows: slice, out: Array
) -> None:
    """Set some rows of ``out`` to aL·now + b·now + c·before for a sparse L and weights a, b, c."""
    of_image, of_now, of_before = weights[0], weights[1], weights[2]
    for i in range(rows.start, rows.stop):
        row, here, last = out[i], now[i], before[i]
        for c in range(len(row)):
            row[c] = of_now * here[c] + of_before * last[c]
        for e in range(indptr[i], indptr[i + 1]):
            weight = of_image * data[e]
            there = now[indices[e]]
            for c in range(len(row)):
                row[c] += weight * there[c]


@compiled
def outer_products(indptr: Array, indices: Array, data: Array) -> Array:
    """Return the dense matrix Σᵢ aᵢaᵢᵀ of the rows aᵢ of a square sparse matrix."""
    n = len(indptr) - 1
    total = np.zeros((n, n))
    for i in range(n):
        for here in range(indptr[i], indptr[i + 1]):
            row, weight = total[indices[here]], data[here]
            for there in range(indptr[i], indptr[i + 1]):
                row[indices[there]] += weight * data[there]
    return total
