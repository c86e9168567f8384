"""Compiled functions for lassos on given working sets, by the inverse of the Gram matrix of the active candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ufselect.solvers._compiling import compiled
from ufselect.solvers._kernels import subtract_multiple

Array = npt.NDArray[Any]

_MANY_ACTIVE = 64  # from this number on LAPACK is faster than a loop
_RIDGE = 1e-8
_DEPENDENT = 1e-6  # share of a candidate's square that others leave; the inverse of a smaller one loses its digits
_TINY = 1e-200
_LARGEST_DRIFT = 1e-3
_LARGEST_ERROR = 1e-7
_ALL_BUT_THE_SIGN = 0x7FFFFFFFFFFFFFFF


class Scratch(NamedTuple):
    """Room for the vectors of a step, as short arrays take longer to allocate than to compute.

    ``order`` has the numbers from zero on, and ``moved`` is of integers as well.
    """

    order: Array
    moved: Array
    change: Array
    now: Array
    pull: Array
    step: Array
    column: Array


@compiled
def scratch_for(size: int) -> Scratch:
    """Return room for vectors of up to a length."""
    return Scratch(
        np.arange(size),
        np.empty(size, dtype=np.int64),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
    )


@compiled
def add_best_candidates(correlations: Array, members: Array, counts: Array, floors: Array, n_new: Array) -> None:
    """Append the most correlated candidates above a floor to every working set.

    ``members[t, :counts[t]]`` is the working set of row t of ``correlations``; it has room for ``n_new[t]`` more.
    Of equally correlated candidates the one with the lower index comes first.
    """
    taken = np.zeros(correlations.shape[1], dtype=np.bool_)
    for t in range(correlations.shape[0]):
        if n_new[t] == 0:
            continue
        taken[members[t, : counts[t]]] = True
        best, found = best_candidates(correlations[t], taken, floors[t], n_new[t])
        taken[members[t, : counts[t]]] = False
        members[t, counts[t] : counts[t] + found] = best[:found]
        counts[t] += found


@compiled
def best_candidates(correlations: Array, taken: Array, floor: float, room: int) -> tuple[Array, int]:
    """Return up to ``room`` of the most correlated candidates above a floor that are not taken, and their number."""
    best, value = np.empty(room, dtype=np.int64), np.empty(room)
    found, n = 0, len(correlations)
    for start in range(0, n, 64):
        stop = min(start + 64, n)
        if largest_magnitude(correlations[start:stop]) <= floor:
            continue
        for j in range(start, stop):
            strength = abs(correlations[j])
            if strength <= floor or taken[j]:
                continue
            # Insert into a short list in descending order; once it is full, its last value is the floor.
            position = min(found, room - 1)
            while position > 0 and value[position - 1] < strength:
                value[position] = value[position - 1]
                best[position] = best[position - 1]
                position -= 1
            value[position], best[position] = strength, j
            found = min(found + 1, room)
            if found == room:
                floor = value[room - 1]
    return best, found


@compiled
def largest_magnitude(values: Array) -> float:
    """Return the largest magnitude of contiguous numbers in double precision, none of which is NaN.

    Without their signs, they are in the order of their bits taken as integers. The largest of integers is found with
    the full width of the processor.
    """
    bits, largest = values.view(np.int64), np.int64(0)
    for j in range(len(bits)):
        largest = max(largest, bits[j] & _ALL_BUT_THE_SIGN)
    return float(np.array([largest]).view(np.float64)[0])


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


@compiled
def length_to_change_of_sign(now: Array, step: Array) -> tuple[float, int]:
    """Return the share of a step at which the first entry becomes zero, and its index; 1 and −1 if none does."""
    length, first = 1.0, -1
    for a in range(len(now)):
        if (now[a] + step[a]) * now[a] > 0.0:
            continue
        reached = -now[a] / step[a] if step[a] != 0.0 else 0.0  # it may be zero already, but for rounding
        if reached < length:
            length, first = reached, a
    return length, first


@compiled
def move_to_minimum_of_signs(
    gram: Array, slope: Array, coef: Array, penalty: float, active: Array, inverse: Array, used: int, scratch: Scratch
) -> int:
    """Move to the minimum of a lasso for the current signs, dropping coefficients that reach zero.

    Within an orthant the objective is quadratic, and its minimum solves G_AA Δ = slope_A − λ sign(s_A). The objective
    decreases along this step up to the first change of sign. Returns the number of coefficients still active.
    """
    n_moved, now, step = used, scratch.now, scratch.step
    moved, change, pull = scratch.moved[:used], scratch.change[:used], scratch.pull[:used]
    for a in range(used):
        j = active[a]
        moved[a], now[a], change[a], step[a] = j, coef[j], coef[j], 0.0
        pull[a] = slope[j] - penalty * np.sign(coef[j])
    add_combination(step[:used], inverse, scratch.order[:used], pull)
    while used > 0:
        length, first = length_to_change_of_sign(now[:used], step)
        for a in range(used):
            now[a] += length * step[a]
            step[a] *= 1.0 - length  # what is left of the way
        if first < 0:
            break
        now[first] = now[used - 1]
        remove_from_inverse(active, inverse, step, used, first, scratch.column)
        used -= 1
    for a in range(n_moved):
        coef[moved[a]] = 0.0
    for a in range(used):
        coef[active[a]] = now[a]
    for a in range(n_moved):
        change[a] -= coef[moved[a]]
    add_combination(slope, gram, moved, change)
    return used


@compiled
def is_off_minimum(slope: Array, coef: Array, penalty: float, active: Array, used: int) -> bool:
    """Return whether slopes of active coefficients are not those of a minimum, by rounding errors of the inverse."""
    for a in range(used):
        if abs(slope[active[a]] - penalty * np.sign(coef[active[a]])) > _LARGEST_DRIFT * penalty:
            return True
    return False


@compiled
def steepest_inactive(gram: Array, slope: Array, coef: Array, penalty: float) -> int:
    """Return the zero coefficient with the steepest slope beyond the penalty, or −1 if there is none."""
    best = -1
    steepest = penalty
    for a in range(len(coef)):
        if abs(slope[a]) > steepest and coef[a] == 0.0 and gram[a, a] > 0.0:
            steepest = abs(slope[a])
            best = a
    return best


@compiled
def relative_gap(norm2: float, linear: Array, slope: Array, coef: Array, penalty: float) -> float:
    """Return the duality gap of ½‖z − Aᵀs‖² + λ‖s‖₁ as a share of the primal value.

    ``norm2`` is ‖z‖², ``linear`` is Az, and ``slope`` is Ar, where r is the residual. The dual point is the feasible
    multiple of r with the highest dual value.
    """
    fit = 0.0
    slack = 0.0
    l1 = 0.0
    steepest = 0.0
    for a in range(len(coef)):
        fit += coef[a] * linear[a]
        slack += coef[a] * slope[a]
        l1 += abs(coef[a])
        steepest = max(steepest, abs(slope[a]))
    return gap_of_sums(norm2 - fit, max(norm2 - fit - slack, 0.0), l1, steepest, penalty)


@compiled
def gap_of_sums(along: float, residual2: float, l1: float, steepest: float, penalty: float) -> float:
    """Return the same, given zᵀr, ‖r‖², ‖s‖₁ and ‖Ar‖∞."""
    primal = 0.5 * residual2 + penalty * l1
    scale = 0.0
    if residual2 > 0.0:
        scale = along / residual2
        if steepest > 0.0:
            scale = max(min(scale, penalty / steepest), -penalty / steepest)
    dual = scale * along - 0.5 * scale * scale * residual2
    return (primal - dual) / primal if primal > 0.0 else 0.0


@compiled
def lasso_is_solved(norm2: float, linear: Array, slope: Array, coef: Array, penalty: float, tol: float) -> bool:
    """Return whether the relative duality gap is at most ``tol``."""
    return relative_gap(norm2, linear, slope, coef, penalty) <= tol


@compiled
def descend_lasso(gram: Array, linear: Array, norm2: float, coef: Array, penalty: float, tol: float) -> None:
    """Minimise ½‖z‖² − linearᵀs + ½sᵀGs + λ‖s‖₁ in place."""
    size = len(coef)
    active = np.empty(size, dtype=np.int64)
    inverse = np.empty((size, size))
    used = invert_active(gram, coef, active, inverse)
    slope = linear - gram @ coef
    state = active, inverse, used
    descend_from_inverse(gram, linear, norm2, slope, coef, penalty, tol, state, scratch_for(size), 1)


@compiled
def descend_from_inverse(
    gram: Array,
    linear: Array,
    norm2: float,
    slope: Array,
    coef: Array,
    penalty: float,
    tol: float,
    state: tuple[Array, Array, int],
    scratch: Scratch,
    n_entering: int,
) -> int:
    """Descend as ``descend_lasso``, given the active coefficients, (G_AA)⁻¹ and their number; return the number.

    Steepest coordinate descent, by a few coordinates at a time, each time followed by the exact minimum over the
    nonzero coefficients. The Gram matrix and the inverse may have more rows than there are coefficients; if
    rounding errors show, the inverse is computed again, once.
    """
    active, inverse, used = state
    renewed = False
    entering = np.empty(n_entering, dtype=np.int64)
    for _ in range(100 * len(coef)):
        used = move_to_minimum_of_signs(gram, slope, coef, penalty, active, inverse, used, scratch)
        if lasso_is_solved(norm2, linear, slope, coef, penalty, tol):
            break
        renewed = not renewed and is_off_minimum(slope, coef, penalty, active, used)
        if renewed:
            used = invert_active(gram, coef, active, inverse)
            continue
        entered = 0
        while entered < n_entering:
            j = steepest_inactive(gram, slope, coef, penalty)
            if j < 0:
                break
            change = (slope[j] - penalty * np.sign(slope[j])) / gram[j, j]
            coef[j] = change
            subtract_multiple(slope, gram[j], change)
            entering[entered] = j
            entered += 1
        if entered == 0:
            break
        if append_to_inverse(gram, active, inverse, used, entering[:entered]):
            used += entered
        else:
            used = invert_active(gram, coef, active, inverse)
    return used


@compiled
def descend_lassos(
    rows: Array, targets: Array, members: Array, counts: Array, coefs: Array, penalties: Array, tols: Array
) -> Array:
    """Solve ½‖zₜ − Σₐ sₐ rowsₐ‖² + λₜ‖s‖₁ over every working set, in place, starting from the given s.

    Returns the residuals zₜ − Σₐ sₐ rowsₐ.
    """
    residuals = targets.copy()
    for t in range(targets.shape[0]):
        size = counts[t]
        chosen = rows[members[t, :size]].astype(np.float64)
        coef = coefs[t, :size]
        descend_lasso(chosen @ chosen.T, chosen @ targets[t], targets[t] @ targets[t], coef, penalties[t], tols[t])
        residuals[t] -= coef @ chosen
    return residuals
