"""Compiled functions for lassos on working sets that grow, by the Gram matrix of all candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ufselect.solvers._active_set_kernels import Scratch, descend_from_inverse, gap_of_sums, scratch_for
from ufselect.solvers._compiling import compiled
from ufselect.solvers._inverse_kernels import add_combination, inner_product, invert_active

Array = npt.NDArray[Any]

LANES = 64  # every candidate belongs to one of these, and the steepest of each may join a working set
_INNER_PRECISION = 0.4
_ENTERING = 4
_LARGEST_START = 20, 3  # more, and more than a third of the dimensions, take longer to correct than a path from zero
_FIRST_LEVEL = 0.3
_LEVEL_RATIO = 3.0
_PRECISION_OF_LEVELS = 0.1
_FIRST_CAPACITY = 72  # no power of two: the rows would share a few places of the cache
_ROWS_OF_GRAM = 1.5, 3.0  # a row of the Gram matrix takes that much longer to read than one of Zᵀ, double or single
_LARGE_GAP = 1e-3  # for smaller ones, slopes in single precision do not lead to the best candidates
_UNIT_ROUNDOFF = 2.0**-24  # of single precision


class Samples(NamedTuple):
    """The samples that express each other.

    ``gram`` is ZZᵀ. ``points`` is Z, ``across`` is Zᵀ and ``roughly`` is Zᵀ/``scale`` in single precision, these two
    with zeros up to a multiple of ``LANES`` columns; they have no entries if Z has too many columns to be of use.
    ``longest`` is max‖zⱼ‖.
    """

    gram: Array
    points: Array
    across: Array
    roughly: Array
    scale: float
    longest: float


class Survey(NamedTuple):
    """The slopes zⱼ·r of candidates, r being the residual zᵢ − Zᵀs: room for what :func:`survey` finds.

    ``of_members`` has those of the working set; ``best`` the steepest of the others, and ``of_best`` their slopes.
    """

    slopes: Array
    rough_slopes: Array
    of_members: Array
    best: Array
    of_best: Array


@compiled
def solve_lassos_on_growing_sets(
    samples: Samples,
    own: Array,
    penalties: Array,
    start: tuple[Array, Array, Array],
    tol: float,
    n_new: int,
    max_rounds: int,
) -> tuple[Array, Array, Array, int]:
    """Minimise ½‖zᵢ − Zᵀs‖² + λ‖s‖₁ with sᵢ = 0 for every i in ``own``, by the Gram matrix ZZᵀ.

    ``start`` has the nonzero coefficients of all problems, one after the other, the candidates that they belong to, and
    where each problem begins. In every round the ``n_new`` candidates that violate their conditions most, but one of
    a lane at most, join the working set. The Gram matrix and the inverse for a working set are extended, hardly ever
    computed again. Without a start, λ decreases by steps: at its last value alone, most of the first candidates would
    have to leave again.

    Returns the nonzero coefficients and their candidates as in ``start``, their numbers, and the number of problems
    that did not reach a relative duality gap of ``tol``.
    """
    n = len(samples.gram)
    values, indices, begin = start
    members, coef = np.empty(n, dtype=np.int64), np.empty(n)
    found_slopes, scratch = survey_for(n, n_new), scratch_for(max(n, len(samples.across)))
    room = np.empty((_FIRST_CAPACITY, _FIRST_CAPACITY)), np.empty((_FIRST_CAPACITY, _FIRST_CAPACITY))
    found, found_at = np.empty(4 * len(values) + n), np.empty(4 * len(values) + n, dtype=np.int64)
    counts = np.zeros(len(own), dtype=np.int64)
    filled = n_unsolved = 0
    for t in range(len(own)):
        size = begin[t + 1] - begin[t]
        if penalties[t] == 0.0 and not is_correlated(samples.gram, own[t]):
            size = 0  # s = 0 is the solution, and without a penalty nothing leads there
        members[:size] = indices[begin[t] : begin[t] + size]
        coef[:size] = values[begin[t] : begin[t] + size]
        solved, size, room = solve_lasso_on_growing_set(
            samples, own[t], penalties[t], (members, coef, size), found_slopes, scratch, room, tol, max_rounds
        )
        n_unsolved += not solved
        if filled + size > len(found):
            found, found_at = (
                np.append(found, np.empty(filled + n)),
                np.append(found_at, np.empty(filled + n, np.int64)),
            )
        for p in range(size):
            if coef[p] != 0.0:
                found[filled], found_at[filled] = coef[p], members[p]
                filled += 1
                counts[t] += 1
    return found[:filled], found_at[:filled], counts, n_unsolved


@compiled
def is_correlated(gram: Array, i: int) -> bool:
    """Return whether the inner product of a sample with another one is not zero."""
    return bool(np.any(gram[i, :i]) or np.any(gram[i, i + 1 :]))


@compiled
def solve_lasso_on_growing_set(
    samples: Samples,
    i: int,
    penalty: float,
    state: tuple[Array, Array, int],
    found: Survey,
    scratch: Scratch,
    room: tuple[Array, Array],
    tol: float,
    max_rounds: int,
) -> tuple[bool, int, tuple[Array, Array]]:
    """Solve one of these problems, in place; ``state`` has the members, their coefficients and their number.

    Returns whether it reached a relative duality gap of ``tol``, the size of the working set, and the room for its
    Gram matrix and inverse, which may have grown.
    """
    gram, (members, coef, count) = samples.gram, state
    linear, active = np.empty(len(gram)), np.empty(len(gram), dtype=np.int64)
    part_gram, inverse = room
    size = used = 0
    level = penalty
    for r in range(max_rounds):
        along, residual2, steepest, error = survey(samples, i, members, coef, count, found, scratch, True)
        l1 = np.sum(np.abs(coef[:count]))
        gap = gap_of_sums(along, residual2, l1, steepest, level)
        if r == 0 and count > max(_LARGEST_START[0], len(samples.across) // _LARGEST_START[1]) and gap > tol:
            count, l1 = 0, 0.0
            along, residual2, steepest, error = survey(samples, i, members, coef, 0, found, scratch, False)
        if r == 0 and count == 0:
            level = max(penalty, _FIRST_LEVEL * steepest)
            gap = gap_of_sums(along, residual2, l1, steepest, level)
        while level > penalty and gap <= _PRECISION_OF_LEVELS:
            level = max(level / _LEVEL_RATIO, penalty)
            gap = gap_of_sums(along, residual2, l1, steepest, level)
        if level == penalty and gap <= max(tol, _LARGE_GAP):
            gap = gap_of_sums(along, residual2, l1, steepest + error, level)
            if gap > tol and error > 0.0:
                along, residual2, steepest, error = survey(samples, i, members, coef, count, found, scratch, False)
                gap = gap_of_sums(along, residual2, l1, steepest, level)
            if gap <= tol:
                return True, count, (part_gram, inverse)
        count = add_steepest(found, level, members, coef, count)
        part_gram, inverse = enlarged(part_gram, size, count), enlarged(inverse, used, count)
        extend_gram(part_gram, gram, members[:count], size)
        linear[size:count] = gram[i][members[size:count]]
        if size == 0:
            used = invert_active(part_gram, coef[:count], active, inverse)
        size = count
        # The next members will change the solution, so a higher precision would be wasted.
        inner_tol = max(tol / 3.0 if level == penalty else _PRECISION_OF_LEVELS / 2.0, _INNER_PRECISION * gap)
        right, slopes, part, state = linear[:size], found.of_members[:size], coef[:size], (active, inverse, used)
        used = descend_from_inverse(
            part_gram, right, gram[i, i], slopes, part, level, inner_tol, state, scratch, _ENTERING
        )
    return False, size, (part_gram, inverse)


@compiled
def add_steepest(found: Survey, level: float, members: Array, coef: Array, count: int) -> int:
    """Add the steepest candidates beyond a level to the working set, in place; return its size."""
    for p in range(min(len(found.best), len(members) - count)):
        if abs(found.of_best[p]) <= level:
            break
        members[count], coef[count], found.of_members[count] = found.best[p], 0.0, found.of_best[p]
        count += 1
    return count


@compiled
def extend_gram(part: Array, gram: Array, members: Array, size: int) -> None:
    """Fill in the rows and columns of the members beyond the first ``size``."""
    for p in range(size, len(members)):
        row = gram[members[p]]
        for q in range(p + 1):
            part[p, q] = part[q, p] = row[members[q]]


@compiled
def survey_for(n: int, n_new: int) -> Survey:
    """Return room for the slopes of n candidates, of which up to ``n_new`` may join the working set at once."""
    padded = (n + LANES - 1) // LANES * LANES
    return Survey(
        np.zeros(padded),
        np.zeros(padded, dtype=np.float32),
        np.empty(n + n_new),
        np.empty(n_new, dtype=np.int64),
        np.empty(n_new),
    )


@compiled
def survey(
    samples: Samples,
    i: int,
    members: Array,
    coef: Array,
    count: int,
    found: Survey,
    scratch: Scratch,
    roughly: bool,
) -> tuple[float, float, float, float]:
    """Compute the slopes of all candidates, and find the steepest ones outside the working set.

    Returns zᵢ·r, ‖r‖², the largest magnitude of a slope, and by how much it may be larger: if ``roughly``, slopes may
    be in single precision.
    """
    used, weight, n_used = scratch.moved, scratch.pull, 0
    for p in range(count):
        if coef[p] != 0.0:
            used[n_used], weight[n_used] = members[p], -coef[p]
            n_used += 1
    used, weight = used[:n_used], weight[:n_used]
    if not 0 < len(samples.across) < _ROWS_OF_GRAM[int(roughly)] * n_used:
        along, residual2 = slopes_by_gram(samples.gram, i, used, weight, found.slopes)
        steepest = take_slopes_of_members(found.slopes, 1.0, i, members[:count], found)
        peaks = peaks_in_double_precision(found.slopes)
        return along, residual2, max(steepest, find_steepest(found.slopes, peaks, 1.0, found)), 0.0
    residual = scratch.step[: len(samples.across)]
    residual[:] = samples.points[i]
    add_combination(residual, samples.points, used, weight)
    along, residual2 = inner_product(residual, samples.points[i]), inner_product(residual, residual)
    if not roughly:
        found.slopes[:] = 0.0
        add_combination(found.slopes, samples.across, scratch.order[: len(residual)], residual)
        steepest = take_slopes_of_members(found.slopes, 1.0, i, members[:count], found)
        peaks = peaks_in_double_precision(found.slopes)
        return along, residual2, max(steepest, find_steepest(found.slopes, peaks, 1.0, found)), 0.0
    unit = slopes_in_single_precision(samples, residual, found.rough_slopes, scratch.order)
    steepest = take_slopes_of_members(found.rough_slopes, unit, i, members[:count], found)
    rough_peaks = peaks_in_single_precision(found.rough_slopes)
    steepest = max(steepest, find_steepest(found.rough_slopes, rough_peaks, unit, found))
    # Every factor, product and sum of two is rounded once, and Σ|zⱼf rf| ≤ ‖zⱼ‖‖r‖.
    error = (len(residual) + 2) * _UNIT_ROUNDOFF * samples.longest * np.sqrt(residual2)
    return along, residual2, steepest, error


@compiled
def slopes_by_gram(gram: Array, i: int, used: Array, weight: Array, slopes: Array) -> tuple[float, float]:
    """Compute all slopes from rows of the Gram matrix, in place; return zᵢ·r and ‖r‖², where r = zᵢ + Σ weight z."""
    slopes[: len(gram)] = gram[i]
    add_combination(slopes[: len(gram)], gram, used, weight)
    along, residual2 = gram[i, i], gram[i, i]
    for p in range(len(used)):
        along += weight[p] * gram[i, used[p]]
        residual2 += weight[p] * (gram[i, used[p]] + slopes[used[p]])
    return along, max(residual2, 0.0)


@compiled
def slopes_in_single_precision(samples: Samples, residual: Array, slopes: Array, order: Array) -> float:
    """Compute Zr up to a factor, in place, and return that factor."""
    largest = 0.0
    for f in range(len(residual)):
        largest = max(largest, abs(residual[f]))
    slopes[:] = 0.0
    if largest > 0.0:
        weights = (residual / largest).astype(np.float32)
        add_combination(slopes, samples.roughly, order[: len(residual)], weights)
    return samples.scale * largest


@compiled
def take_slopes_of_members(slopes: Array, unit: float, i: int, members: Array, found: Survey) -> float:
    """Move the slopes of the working set, and that of the sample itself, out of all; return the largest magnitude.

    ``slopes`` are multiples of ``unit``.
    """
    steepest = 0.0
    for p in range(len(members)):
        found.of_members[p] = unit * slopes[members[p]]
        steepest = max(steepest, abs(found.of_members[p]))
        slopes[members[p]] = 0.0
    slopes[i] = 0.0
    return steepest


@compiled
def peaks_in_double_precision(slopes: Array) -> Array:
    """Return the largest magnitude in every lane, by its bits taken as an integer.

    Without their signs, numbers are in the order of these integers, the largest of which is found with the full width
    of the processor.
    """
    bits = slopes.view(np.int64).reshape(len(slopes) // LANES, LANES)
    peaks = np.zeros(LANES, dtype=np.int64)
    for b in range(len(bits)):
        for lane in range(LANES):
            peaks[lane] = max(peaks[lane], bits[b, lane] & np.int64(0x7FFFFFFFFFFFFFFF))
    return peaks


@compiled
def peaks_in_single_precision(slopes: Array) -> Array:
    """Return the same: integers of any other width would take longer."""
    bits = slopes.view(np.int32).reshape(len(slopes) // LANES, LANES)
    peaks = np.zeros(LANES, dtype=np.int32)
    for b in range(len(bits)):
        for lane in range(LANES):
            peaks[lane] = max(peaks[lane], bits[b, lane] & np.int32(0x7FFFFFFF))
    return peaks


@compiled
def find_steepest(slopes: Array, peaks: Array, unit: float, found: Survey) -> float:
    """Find the steepest slopes in descending order, one of a lane; return the largest magnitude.

    ``peaks`` has the largest magnitude in every lane as an integer; those that are found become zero.
    """
    for p in range(len(found.best)):
        highest = peaks[0]
        for lane in range(LANES):
            highest = max(highest, peaks[lane])
        lane = 0
        while peaks[lane] < highest:
            lane += 1
        peaks[lane] = 0
        steepest = lane
        for j in range(lane, len(slopes), LANES):
            if abs(slopes[j]) > abs(slopes[steepest]):
                steepest = j
        found.best[p], found.of_best[p] = steepest, unit * slopes[steepest] if highest > 0 else 0.0
    return abs(found.of_best[0])


@compiled
def enlarged(matrix: Array, size: int, needed: int) -> Array:
    """Return a square array with room for enough rows, which begins with the first ``size`` rows and columns."""
    if needed <= len(matrix):
        return matrix
    capacity = 2 * needed // 16 * 16 + 8
    result = np.empty((capacity, capacity))
    result[:size, :size] = matrix[:size, :size]
    return result
