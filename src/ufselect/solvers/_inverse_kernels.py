"""Compiled functions for the inverse of a Gram matrix to which rows are added, and from which they are removed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect.solvers._compiling import compiled
from ufselect.solvers._kernels import subtract_multiple

Array = npt.NDArray[Any]

_MANY_ACTIVE = 64  # from this number on LAPACK is faster than a loop
_RIDGE = 1e-8
_DEPENDENT = 1e-6  # share of a candidate's square that others leave; the inverse of a smaller one loses its digits
_TINY = 1e-200
_LARGEST_ERROR = 1e-7


@compiled
def add_combination(vector: Array, rows: Array, which: Array, weights: Array) -> None:
    """Add a weighted sum of rows, which may be longer than the vector, in place.

    Eight at a time, then four: the vector is read and written less often.
    """
    n, count = len(vector), len(which)
    whole = count - count % 8
    for k in range(0, whole, 8):
        a, b, c, d = rows[which[k]], rows[which[k + 1]], rows[which[k + 2]], rows[which[k + 3]]
        e, f, g, h = rows[which[k + 4]], rows[which[k + 5]], rows[which[k + 6]], rows[which[k + 7]]
        wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        we, wf, wg, wh = weights[k + 4], weights[k + 5], weights[k + 6], weights[k + 7]
        for j in range(n):
            left = wa * a[j] + wb * b[j] + wc * c[j] + wd * d[j]
            vector[j] += left + (we * e[j] + wf * f[j] + wg * g[j] + wh * h[j])
    if count - whole >= 4:
        a, b, c, d = rows[which[whole]], rows[which[whole + 1]], rows[which[whole + 2]], rows[which[whole + 3]]
        wa, wb, wc, wd = weights[whole], weights[whole + 1], weights[whole + 2], weights[whole + 3]
        for j in range(n):
            vector[j] += (wa * a[j] + wb * b[j]) + (wc * c[j] + wd * d[j])
        whole += 4
    for k in range(whole, count):
        subtract_multiple(vector, rows[which[k]], -weights[k])


@compiled
def inner_product(vector: Array, other: Array) -> float:
    """Return the inner product with another vector, which may be longer."""
    total = 0.0
    for a in range(len(vector)):
        total += vector[a] * other[a]
    return total


@compiled
def multiply_by_rows(matrix: Array, size: int, vectors: Array, result: Array) -> None:
    """Multiply vectors by the first ``size`` rows and columns of a symmetric matrix, four at a time."""
    whole = len(vectors) - len(vectors) % 4
    for a in range(size):
        row = matrix[a, :size]
        for p in range(0, whole, 4):
            first, second, third, fourth = vectors[p], vectors[p + 1], vectors[p + 2], vectors[p + 3]
            s = t = u = v = 0.0
            for b in range(size):
                s += row[b] * first[b]
                t += row[b] * second[b]
                u += row[b] * third[b]
                v += row[b] * fourth[b]
            result[p, a], result[p + 1, a], result[p + 2, a], result[p + 3, a] = s, t, u, v
        for p in range(whole, len(vectors)):
            result[p, a] = inner_product(row, vectors[p])


@compiled
def add_outer_products(matrix: Array, rows: Array) -> None:
    """Add the outer product of every row with itself to the first rows and columns of a matrix, four at a time."""
    count, size = rows.shape
    whole = count - count % 4
    for a in range(size):
        row = matrix[a]
        for p in range(0, whole, 4):
            first, second, third, fourth = rows[p], rows[p + 1], rows[p + 2], rows[p + 3]
            s, t, u, v = first[a], second[a], third[a], fourth[a]
            for b in range(size):
                row[b] += (s * first[b] + t * second[b]) + (u * third[b] + v * fourth[b])
        for p in range(whole, count):
            subtract_multiple(row[:size], rows[p], -rows[p, a])


@compiled
def append_to_inverse(gram: Array, active: Array, inverse: Array, used: int, new: Array) -> bool:
    """Extend the inverse of G_AA by some candidates, which become the last active ones.

    Each of them adds an outer product. If it depends on the others, it is treated as if it were a little longer: the
    system stays solvable and its solution a descent step, so that one of them is dropped.
    Returns whether rounding errors of the inverse have not shown.
    """
    size, accurate = used + len(new), True
    active[used:size] = new
    products, rows = np.empty((len(new), size)), np.zeros((len(new), size))
    for p in range(len(new)):
        for a in range(size):
            products[p, a] = gram[new[p], active[a]]
        rows[p, used + p] = -1.0
    multiply_by_rows(inverse, used, products, rows)
    for p in range(len(new)):
        row, norm2 = rows[p], products[p, used + p]
        rest = norm2 - inner_product(row[:used], products[p])
        for q in range(p):
            share = -inner_product(rows[q], products[p])
            subtract_multiple(row, rows[q], share)
            rest -= share * share
        accurate &= rest > -_LARGEST_ERROR * norm2
        row /= np.sqrt(max(rest, _DEPENDENT * norm2, _TINY))
    for a in range(size):
        for b in range(used if a < used else 0, size):
            inverse[a, b] = 0.0
    add_outer_products(inverse, rows)
    return accurate


@compiled
def invert_active(gram: Array, coef: Array, active: Array, inverse: Array) -> int:
    """Compute the inverse of G_AA for the nonzero coefficients A; return their number."""
    members = np.flatnonzero(coef)
    used = len(members)
    if used >= _MANY_ACTIVE:
        block = gram[members][:, members]
        for a in range(used):
            block[a, a] *= 1.0 + _RIDGE
        try:
            inverse[:used, :used] = np.linalg.inv(block)
            active[:used] = members
            return used
        except Exception:  # singular, by rounding
            pass
    append_to_inverse(gram, active, inverse, 0, members)
    return used


@compiled
def remove_from_inverse(active: Array, inverse: Array, step: Array, used: int, position: int, column: Array) -> None:
    """Remove the active candidate at ``position``, whose place the last one takes.

    ``step`` solves a system with G_AA; afterwards it solves that of the candidates that are left. ``column`` is room
    for a vector.
    """
    last = used - 1
    for a in range(used):
        column[a] = inverse[position, a]
    pivot = column[position]
    subtract_multiple(step[:used], column, step[position] / pivot)
    for a in range(used):
        subtract_multiple(inverse[a, :used], column, column[a] / pivot)
    active[position], step[position] = active[last], step[last]
    inverse[position, :last] = inverse[last, :last]
    for a in range(last):
        inverse[a, position] = inverse[a, last]
    inverse[position, position] = inverse[last, last]
