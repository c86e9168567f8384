"""Compiled functions for lassos and distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect.solvers._compiling import compiled

Array = npt.NDArray[Any]

_LARGE_FACTOR = 64  # from this size on LAPACK is faster than a loop
_RIDGE = 1e-10
_TINY = 1e-200


@compiled
def add_best_candidates(  # noqa: C901 - loops in place of array functions, as in all compiled code
    correlations: Array, members: Array, counts: Array, floors: Array, n_new: Array
) -> None:
    """Append the most correlated candidates above a floor to every working set.

    ``members[t, :counts[t]]`` is the working set of row t of ``correlations``; it has room for ``n_new[t]`` more.
    Of equally correlated candidates the one with the lower index comes first.
    """
    n = correlations.shape[1]
    taken = np.zeros(n, dtype=np.bool_)
    for t in range(correlations.shape[0]):
        room = n_new[t]
        if room == 0:
            continue
        best = np.empty(room, dtype=np.int64)
        value = np.empty(room)
        found = 0
        for a in range(counts[t]):
            taken[members[t, a]] = True
        floor = floors[t]
        for j in range(n):
            strength = abs(correlations[t, j])
            if strength <= floor or taken[j]:
                continue
            # Insert into a short list in descending order; once it is full, its last value is the floor.
            position = found if found < room else room - 1
            while position > 0 and value[position - 1] < strength:
                value[position] = value[position - 1]
                best[position] = best[position - 1]
                position -= 1
            value[position] = strength
            best[position] = j
            if found < room:
                found += 1
            if found == room:
                floor = value[room - 1]
        for a in range(counts[t]):
            taken[members[t, a]] = False
        for a in range(found):
            members[t, counts[t] + a] = best[a]
        counts[t] += found


@compiled
def subtract_multiple(vector: Array, other: Array, factor: float) -> None:
    """Subtract a multiple of another vector, which may be longer, in place."""
    for a in range(len(vector)):
        vector[a] -= factor * other[a]


@compiled
def add_combination(vector: Array, rows: Array, which: Array, weights: Array) -> None:
    """Add a weighted sum of rows, which may be longer than the vector, in place.

    Eight at a time: the vector is read and written less often.
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
def rotate(vector: Array, other: Array, cosine: float, sine: float) -> None:
    """Replace two vectors v and w by cv + sw and cw − sv, in place."""
    for a in range(len(vector)):
        here, there = vector[a], other[a]
        vector[a] = cosine * here + sine * there
        other[a] = cosine * there - sine * here


@compiled
def append_to_factor(gram: Array, active: Array, factor: Array, used: int, new: Array) -> None:
    """Extend the factor of G_AA by some candidates, which become the last active ones.

    The factor F is upper triangular with FᵀF = G_AA, so that all loops run along its rows. A small ridge keeps the
    system of dependent candidates solvable and its solution a descent step, so that one of them is dropped.
    """
    columns = np.empty((len(new), used + len(new)))  # those of F, by rows
    for p in range(len(new)):
        for a in range(used):
            columns[p, a] = gram[new[p], active[a]]
    for a in range(used):
        row = factor[a]
        for p in range(len(new)):
            entry = columns[p, a] / row[a]
            subtract_multiple(columns[p, a + 1 : used], row[a + 1 :], entry)
            columns[p, a] = row[used + p] = entry
    for p in range(len(new)):
        j, column = new[p], columns[p]
        for q in range(p):
            rest = gram[j, new[q]] - inner_product(column[: used + q], columns[q])
            column[used + q] = factor[used + q, used + p] = rest / columns[q, used + q]
        rest = (1.0 + _RIDGE) * gram[j, j] - inner_product(column[: used + p], column)
        column[used + p] = factor[used + p, used + p] = np.sqrt(max(rest, _RIDGE * gram[j, j], _TINY))
        active[used + p] = j


@compiled
def factorize_active(gram: Array, coef: Array, active: Array, factor: Array) -> int:
    """Compute the factor of G_AA for the nonzero coefficients A; return their number."""
    members = np.flatnonzero(coef)
    used = len(members)
    if used >= _LARGE_FACTOR:
        block = gram[members][:, members]
        for a in range(used):
            block[a, a] *= 1.0 + _RIDGE
        try:
            factor[:used, :used] = np.linalg.cholesky(block).T
            active[:used] = members
            return used
        except Exception:  # not positive definite, by rounding
            pass
    append_to_factor(gram, active, factor, 0, members)
    return used


@compiled
def remove_from_factor(active: Array, factor: Array, used: int, position: int) -> None:
    """Remove the active candidate at ``position`` from the factor, by rotations that restore its triangular form."""
    for a in range(position, used - 1):
        active[a] = active[a + 1]
    for a in range(used):
        row = factor[a]
        for b in range(max(a - 1, position), used - 1):
            row[b] = row[b + 1]
    for a in range(position, used - 1):
        upper, lower = factor[a], factor[a + 1]
        length = np.sqrt(upper[a] * upper[a] + lower[a] * lower[a])
        cosine, sine = upper[a] / length, lower[a] / length
        upper[a] = length
        rotate(upper[a + 1 : used - 1], lower[a + 1 : used - 1], cosine, sine)


@compiled
def solve_by_factor(factor: Array, used: int, vector: Array) -> None:
    """Solve FᵀFx = v in place."""
    for a in range(used):
        row = factor[a]
        value = vector[a] / row[a]
        vector[a] = value
        subtract_multiple(vector[a + 1 : used], row[a + 1 :], value)
    for a in range(used - 1, -1, -1):
        row = factor[a]
        vector[a] = (vector[a] - inner_product(vector[a + 1 : used], row[a + 1 :])) / row[a]


@compiled
def move_to_minimum_of_signs(
    gram: Array, slope: Array, coef: Array, penalty: float, active: Array, factor: Array, used: int
) -> int:
    """Move to the minimum of a lasso for the current signs, dropping coefficients that reach zero.

    Within an orthant the objective is quadratic, and its minimum solves G_AA Δ = slope_A − λ sign(s_A). The objective
    decreases along this step up to the first change of sign. Returns the number of coefficients still active.
    """
    moved = active[:used].copy()
    before = coef[moved]
    pull = np.empty(used)
    for a in range(used):
        pull[a] = slope[active[a]] - penalty * np.sign(coef[active[a]])
    step = np.empty(used)
    while used > 0:
        step[:used] = pull[:used]
        solve_by_factor(factor, used, step)
        length = 1.0
        first = -1
        for a in range(used):
            old = coef[active[a]]
            if (old + step[a]) * old <= 0.0 and -old / step[a] < length:
                length = -old / step[a]
                first = a
        for a in range(used):
            coef[active[a]] += length * step[a]
            pull[a] *= 1.0 - length  # a step towards the minimum takes away its share of the slope
        if first < 0:
            break
        coef[active[first]] = 0.0
        remove_from_factor(active, factor, used, first)
        used -= 1
        for a in range(first, used):
            pull[a] = pull[a + 1]
    add_combination(slope, gram, moved, before - coef[moved])
    return used


@compiled
def steepest_inactive(gram: Array, slope: Array, coef: Array, penalty: float) -> int:
    """Return the zero coefficient with the steepest slope beyond the penalty, or −1 if there is none."""
    best = -1
    steepest = penalty
    for a in range(len(coef)):
        if coef[a] == 0.0 and gram[a, a] > 0.0 and abs(slope[a]) > steepest:
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
    return gap_of_sums(norm2, fit, slack, l1, steepest, penalty)


@compiled
def gap_of_sums(norm2: float, fit: float, slack: float, l1: float, steepest: float, penalty: float) -> float:
    """Return the same, given sᵀAz, sᵀAr, ‖s‖₁ and ‖Ar‖∞."""
    residual2 = max(norm2 - fit - slack, 0.0)
    primal = 0.5 * residual2 + penalty * l1
    scale = 0.0
    if residual2 > 0.0:
        scale = (norm2 - fit) / residual2
        if steepest > 0.0:
            scale = max(min(scale, penalty / steepest), -penalty / steepest)
    dual = scale * (norm2 - fit) - 0.5 * scale * scale * residual2
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
    factor = np.empty((size, size))
    used = factorize_active(gram, coef, active, factor)
    slope = linear - gram @ coef
    descend_from_factor(gram, linear, norm2, slope, coef, penalty, tol, (active, factor, used), 1)


@compiled
def descend_from_factor(
    gram: Array,
    linear: Array,
    norm2: float,
    slope: Array,
    coef: Array,
    penalty: float,
    tol: float,
    state: tuple[Array, Array, int],
    n_entering: int,
) -> int:
    """Descend as ``descend_lasso``, given the active coefficients, their factor and their number; return the number.

    Steepest coordinate descent, by a few coordinates at a time, each time followed by the exact minimum over the
    nonzero coefficients. The Gram matrix and the factor may have more rows than there are coefficients.
    """
    active, factor, used = state
    entering = np.empty(n_entering, dtype=np.int64)
    for _ in range(100 * len(coef)):
        used = move_to_minimum_of_signs(gram, slope, coef, penalty, active, factor, used)
        if lasso_is_solved(norm2, linear, slope, coef, penalty, tol):
            break
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
        append_to_factor(gram, active, factor, used, entering[:entered])
        used += entered
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
