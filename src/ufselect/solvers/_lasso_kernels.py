"""Compiled functions for lassos on working sets that grow, by the Gram matrix of all candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect.solvers._active_set_kernels import (
    add_best_candidates,
    add_combination,
    descend_from_inverse,
    gap_of_sums,
    invert_active,
    largest_magnitude,
)
from ufselect.solvers._compiling import compiled

Array = npt.NDArray[Any]

_INNER_PRECISION = 0.4
_ENTERING = 4
_LARGEST_START = 20, 3  # more, and more than a third of the dimensions, take longer to correct than a path from zero
_FIRST_LEVEL = 0.3
_LEVEL_RATIO = 3.0
_PRECISION_OF_LEVELS = 0.1
_FIRST_CAPACITY = 72  # no power of two: the rows would share a few places of the cache
_ROWS_OF_GRAM = 1.5, 3.0  # a row of the Gram matrix takes that much longer to read than one of Zᵀ, double or single
_LARGE_GAP = 1e-3  # for smaller ones, slopes in single precision do not count


@compiled
def solve_lassos_on_growing_sets(
    samples: tuple[Array, Array, Array, float],
    own: Array,
    penalties: Array,
    start: tuple[Array, Array, Array],
    tol: float,
    n_new: int,
    max_rounds: int,
) -> tuple[Array, Array, Array, int]:
    """Minimise ½‖zᵢ − Zᵀs‖² + λ‖s‖₁ with sᵢ = 0 for every i in ``own``, by the Gram matrix ZZᵀ.

    ``samples`` are ZZᵀ, Z, Zᵀ/σ in single precision, and σ; Z has no entries if it has too many columns to be of use.
    ``start`` has the nonzero coefficients of all problems, one after the other, the candidates that they belong to, and
    where each problem begins. In every round the ``n_new`` candidates that violate their conditions most join the
    working set. The Gram matrix and the inverse for a working set are extended, hardly ever computed again. Without a
    start, λ decreases by steps: at its last value alone, most of the first candidates would have to leave again.

    Returns the nonzero coefficients and their candidates as in ``start``, their numbers, and the number of problems
    that did not reach a relative duality gap of ``tol``.
    """
    n = len(samples[0])
    values, indices, begin = start
    members, coef, slope = np.empty((1, n), dtype=np.int64), np.empty(n), np.empty(n)
    room = np.empty((_FIRST_CAPACITY, _FIRST_CAPACITY)), np.empty((_FIRST_CAPACITY, _FIRST_CAPACITY))
    found, found_at = np.empty(4 * len(values) + n), np.empty(4 * len(values) + n, dtype=np.int64)
    counts = np.zeros(len(own), dtype=np.int64)
    filled = n_unsolved = 0
    for t in range(len(own)):
        size = begin[t + 1] - begin[t]
        if penalties[t] == 0.0 and not is_correlated(samples[0], own[t]):
            size = 0  # s = 0 is the solution, and without a penalty nothing leads there
        members[0, :size] = indices[begin[t] : begin[t] + size]
        coef[:size] = values[begin[t] : begin[t] + size]
        solved, size, room = solve_lasso_on_growing_set(
            samples, own[t], penalties[t], (members, coef, size), slope, room, tol, n_new, max_rounds
        )
        n_unsolved += not solved
        if filled + size > len(found):
            found, found_at = (
                np.append(found, np.empty(filled + n)),
                np.append(found_at, np.empty(filled + n, np.int64)),
            )
        for p in range(size):
            if coef[p] != 0.0:
                found[filled], found_at[filled] = coef[p], members[0, p]
                filled += 1
                counts[t] += 1
    return found[:filled], found_at[:filled], counts, n_unsolved


@compiled
def is_correlated(gram: Array, i: int) -> bool:
    """Return whether the inner product of a sample with another one is not zero."""
    return bool(np.any(gram[i, :i]) or np.any(gram[i, i + 1 :]))


@compiled
def solve_lasso_on_growing_set(
    samples: tuple[Array, Array, Array, float],
    i: int,
    penalty: float,
    state: tuple[Array, Array, int],
    slope: Array,
    room: tuple[Array, Array],
    tol: float,
    n_new: int,
    max_rounds: int,
) -> tuple[bool, int, tuple[Array, Array]]:
    """Solve one of these problems, in place; ``state`` has the members, their coefficients and their number.

    Returns whether it reached a relative duality gap of ``tol``, the size of the working set, and the room for its
    Gram matrix and inverse, which may have grown.
    """
    gram, (members, coef, n_members) = samples[0], state
    n, norm2 = len(gram), gram[i, i]
    count, linear, active = np.array([n_members]), np.empty(n), np.empty(n, dtype=np.int64)
    part_gram, inverse = room
    size = used = 0
    level = penalty
    for r in range(max_rounds):
        steepest = all_slopes(samples, i, members[0], coef, count[0], slope, True)
        gap = gap_of_working_set(norm2, gram[i], slope, steepest, members[0], coef, count[0], level)
        if r == 0 and count[0] > max(_LARGEST_START[0], len(samples[2]) // _LARGEST_START[1]) and gap > tol:
            count[0] = 0
            steepest = all_slopes(samples, i, members[0], coef, 0, slope, False)
        if r == 0 and count[0] == 0:
            level = max(penalty, _FIRST_LEVEL * steepest)
            gap = gap_of_working_set(norm2, gram[i], slope, steepest, members[0], coef, 0, level)
        while level > penalty and gap <= _PRECISION_OF_LEVELS:
            level = max(level / _LEVEL_RATIO, penalty)
            gap = gap_of_working_set(norm2, gram[i], slope, steepest, members[0], coef, count[0], level)
        if level == penalty and gap <= max(tol, _LARGE_GAP):
            steepest = all_slopes(samples, i, members[0], coef, count[0], slope, False)
            gap = gap_of_working_set(norm2, gram[i], slope, steepest, members[0], coef, count[0], level)
        if level == penalty and gap <= tol:
            return True, count[0], (part_gram, inverse)
        part_gram, inverse = grow_working_set(
            gram, slope, level, n_new, members, coef, count, size, used, part_gram, inverse
        )
        for p in range(size, count[0]):
            linear[p] = gram[i, members[0, p]]
        if size == 0:
            used = invert_active(part_gram, coef[: count[0]], active, inverse)
        size = count[0]
        # The next members will change the solution, so a higher precision would be wasted.
        inner_tol = max(tol / 3.0 if level == penalty else _PRECISION_OF_LEVELS / 2.0, _INNER_PRECISION * gap)
        used = descend_from_inverse(
            part_gram,
            linear[:size],
            norm2,
            slope[members[0, :size]],
            coef[:size],
            level,
            inner_tol,
            (active, inverse, used),
            _ENTERING,
        )
    return False, size, (part_gram, inverse)


@compiled
def grow_working_set(
    gram: Array,
    slope: Array,
    level: float,
    n_new: int,
    members: Array,
    coef: Array,
    count: Array,
    size: int,
    used: int,
    part_gram: Array,
    inverse: Array,
) -> tuple[Array, Array]:
    """Add the candidates with the steepest slopes, in place, whose Gram matrix had ``size`` members.

    Returns this Gram matrix with the new members, and the inverse with room for them.
    """
    before = count[0]
    n_room = np.array([min(n_new, len(gram) - before)])
    add_best_candidates(slope.reshape(1, len(slope)), members, count, np.array([level]), n_room)
    coef[before : count[0]] = 0.0
    if count[0] > len(inverse):
        capacity = 2 * count[0] // 16 * 16 + 8
        part_gram, inverse = enlarged(part_gram, size, capacity), enlarged(inverse, used, capacity)
    extend_gram(part_gram, gram, members[0, : count[0]], size)
    return part_gram, inverse


@compiled
def extend_gram(part: Array, gram: Array, members: Array, size: int) -> None:
    """Fill in the rows and columns of the members beyond the first ``size``."""
    for p in range(size, len(members)):
        row = gram[members[p]]
        for q in range(p + 1):
            part[p, q] = part[q, p] = row[members[q]]


@compiled
def all_slopes(
    samples: tuple[Array, Array, Array, float],
    i: int,
    members: Array,
    coef: Array,
    count: int,
    slope: Array,
    roughly: bool,
) -> float:
    """Compute zⱼ·(zᵢ − Zᵀs) for every other sample j, and zero for the sample itself; return the largest magnitude.

    If ``roughly``, it may be in single precision.
    """
    gram, points, across, scale = samples
    used, weight = np.empty(count, dtype=np.int64), np.empty(count)
    n_used = 0
    for p in range(count):
        if coef[p] != 0.0:
            used[n_used], weight[n_used] = members[p], -coef[p]
            n_used += 1
    if 0 < len(across) < _ROWS_OF_GRAM[int(roughly)] * n_used:
        residual = points[i].copy()
        add_combination(residual, points, used[:n_used], weight)
        if roughly:
            slopes_in_single_precision(across, scale, residual, slope)
        else:
            slope[:] = points @ residual
    else:
        slope[:] = gram[i]
        add_combination(slope, gram, used[:n_used], weight)
    slope[i] = 0.0
    return largest_magnitude(slope)


@compiled
def slopes_in_single_precision(across: Array, scale: float, residual: Array, slope: Array) -> None:
    """Compute Zr, given Zᵀ divided by a scale, in place."""
    largest = 0.0
    for f in range(len(residual)):
        largest = max(largest, abs(residual[f]))
    if largest == 0.0:
        slope[:] = 0.0
        return
    weights = (residual / largest).astype(np.float32)
    total = np.zeros(len(slope), dtype=np.float32)
    add_combination(total, across, np.arange(len(across)), weights)
    for j in range(len(slope)):
        slope[j] = scale * largest * total[j]


@compiled
def gap_of_working_set(
    norm2: float, linear: Array, slope: Array, steepest: float, members: Array, coef: Array, count: int, penalty: float
) -> float:
    """Return the relative duality gap, given the slopes of all candidates."""
    fit = slack = l1 = 0.0
    for p in range(count):
        fit += coef[p] * linear[members[p]]
        slack += coef[p] * slope[members[p]]
        l1 += abs(coef[p])
    return gap_of_sums(norm2, fit, slack, l1, steepest, penalty)


@compiled
def enlarged(matrix: Array, size: int, capacity: int) -> Array:
    """Return a square array with room for more, which begins with the first ``size`` rows and columns of another."""
    result = np.empty((capacity, capacity))
    result[:size, :size] = matrix[:size, :size]
    return result
