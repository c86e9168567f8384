"""Compiled functions for row-sparse regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect.solvers._compiling import compiled
from ufselect.solvers._kernels import subtract_multiple

Array = npt.NDArray[Any]

_ROWS_AT_ONCE = 32


@compiled
def descend_row_blocks(gram: Array, slope: Array, coef: Array, penalty: float, tol: float, max_sweeps: int) -> float:
    """Minimise ½tr(WᵀGW) − tr(WᵀC) + λ Σⱼ‖wⱼ‖ by sweeps of block descent, in place.

    ``coef`` is Wᵀ and ``slope`` is (C − GW)ᵀ, both of shape (c, d), so that the long axis is contiguous. Stops when no
    optimality condition is violated by more than ``tol`` λ. Returns the worst violation as a multiple of λ.
    """
    d = coef.shape[1]
    worst = np.inf
    for _ in range(max_sweeps):
        for start in range(0, d, _ROWS_AT_ONCE):
            stop = min(start + _ROWS_AT_ONCE, d)
            near = slope[:, start:stop].copy()
            change = descend_some_rows(gram[start:stop, start:stop].copy(), near, coef[:, start:stop], penalty)
            # The slopes of all the other rows by one product, which is several times faster than row by row.
            slope -= change @ gram[start:stop]
            slope[:, start:stop] = near
        worst = worst_row_violation(slope, coef, penalty) / penalty
        if worst <= tol:
            break
    return worst


@compiled
def descend_some_rows(gram: Array, slope: Array, coef: Array, penalty: float) -> Array:
    """One sweep over some rows of W, as in ``descend_row_blocks``, in place; return the change of Wᵀ."""
    tasks, d = coef.shape
    change = np.empty((tasks, d))
    pull = np.empty(tasks)
    for j in range(d):
        curvature = gram[j, j]
        if curvature <= 0.0:
            change[:, j] = 0.0
            continue
        length = 0.0
        for l in range(tasks):
            pull[l] = slope[l, j] + curvature * coef[l, j]
            length += pull[l] * pull[l]
        length = np.sqrt(length)
        shrink = 0.0
        if length > penalty:
            shrink = (1.0 - penalty / length) / curvature
        for l in range(tasks):
            move = shrink * pull[l] - coef[l, j]
            change[l, j] = move
            if move != 0.0:
                coef[l, j] += move
                subtract_multiple(slope[l], gram[j], move)
    return change


@compiled
def worst_row_violation(slope: Array, coef: Array, penalty: float) -> float:
    """Return the worst violation of the conditions: slope λwⱼ/‖wⱼ‖ if wⱼ ≠ 0, else within the ball of radius λ."""
    tasks, d = coef.shape
    worst = 0.0
    for j in range(d):
        length = 0.0
        for l in range(tasks):
            length += coef[l, j] * coef[l, j]
        length = np.sqrt(length)
        off = 0.0
        if length > 0.0:
            for l in range(tasks):
                off += (slope[l, j] - penalty * coef[l, j] / length) ** 2
            off = np.sqrt(off)
        else:
            for l in range(tasks):
                off += slope[l, j] * slope[l, j]
            off = max(np.sqrt(off) - penalty, 0.0)
        worst = max(worst, off)
    return worst


@compiled
def upper_triangle(matrix: Array, rows: Array, scale: Array, shift: float) -> Array:
    """Return σⱼAⱼₖσₖ for some rows j and k of a symmetric A in order, and a shift of the diagonal.

    The upper triangle, of which only that of A is read; zeros below it.
    """
    result = np.zeros((len(rows), len(rows)), dtype=matrix.dtype)
    for a in range(len(rows)):
        row = matrix[rows[a]]
        for b in range(a, len(rows)):
            result[a, b] = scale[a] * scale[b] * row[rows[b]]
        result[a, a] += shift
    return result


@compiled
def multiply_by_stiffness(matrix: Array, inverse: Array, position: Array, scale: Array) -> None:
    """Multiply the first entries of a matrix by σⱼ(I − A)ⱼₖσₖ, in place, for the rows of A at some positions.

    Upper triangles, of both matrices.
    """
    for a in range(len(position)):
        row = inverse[position[a]]
        for b in range(a + 1, len(position)):
            matrix[a, b] *= -scale[a] * scale[b] * row[position[b]]
        matrix[a, a] *= scale[a] * scale[a] * (1 - row[position[a]])
