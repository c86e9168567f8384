"""Compiled functions for lassos on given working sets, by the inverse of the Gram matrix of the active candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._utils.compiling import compiled, subtract_multiple

Array = npt.NDArray[Any]

_LARGEST_DRIFT = 1e-3
_DEPENDENT = 1e-6  # share of a candidate's square that others leave; the inverse of a smaller one loses its digits
_LARGEST_ERROR = 1e-7
_TINY = 1e-200


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
    found = 0
    for j in range(len(correlations)):
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
def append_to_inverse(gram: Array, active: Array, inverse: Array, used: int, new: int) -> bool:
    """Extend the inverse of G_AA by a candidate, which becomes the last active one.

    If it depends on the others, it is treated as if it were a little longer: the system stays solvable and its solution
    a descent step, so that one of them is dropped. Returns False if rounding errors of the inverse have shown.
    """
    active[used] = new
    row, norm2 = np.zeros(used + 1), gram[new, new]
    for a in range(used):
        subtract_multiple(row[:used], inverse[a], -gram[new, active[a]])
    rest = norm2
    for a in range(used):
        rest -= row[a] * gram[new, active[a]]
    row[used] = -1.0
    scale = max(rest, _DEPENDENT * norm2, _TINY)
    inverse[used, : used + 1] = 0.0
    inverse[:used, used] = 0.0
    for a in range(used + 1):
        subtract_multiple(inverse[a, : used + 1], row, -row[a] / scale)
    return rest > -_LARGEST_ERROR * norm2


@compiled
def remove_from_inverse(active: Array, inverse: Array, step: Array, used: int, position: int) -> None:
    """Remove the active candidate at ``position``, whose place the last one takes.

    ``step`` solves a system with G_AA; afterwards it solves that of the candidates that are left.
    """
    last = used - 1
    column = inverse[position, :used].copy()
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
def invert_active(gram: Array, coef: Array, active: Array, inverse: Array) -> int:
    """Compute the inverse of G_AA for the nonzero coefficients A; return their number.

    By the rows of L⁻¹ for a Cholesky factor L: appending one by one would lose all digits if many are dependent.
    """
    members = np.flatnonzero(coef)
    used = len(members)
    active[:used] = members
    inverse[:used, :used] = 0.0
    rows = np.zeros((used, used))
    for p in range(used):
        row, norm2 = rows[p], gram[members[p], members[p]]
        row[p], rest = 1.0, norm2
        for q in range(p):
            share = 0.0
            for a in range(q + 1):
                share += rows[q, a] * gram[members[p], members[a]]
            subtract_multiple(row[: q + 1], rows[q], share)
            rest -= share * share
        row /= np.sqrt(max(rest, _DEPENDENT * norm2, _TINY))
        for a in range(p + 1):
            subtract_multiple(inverse[a, : p + 1], row, -row[a])
    return used


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
    gram: Array, slope: Array, coef: Array, penalty: float, active: Array, inverse: Array, used: int
) -> int:
    """Move to the minimum of a lasso for the current signs, dropping coefficients that reach zero.

    Within an orthant the objective is quadratic, and its minimum solves G_AA Δ = slope_A − λ sign(s_A). The objective
    decreases along this step up to the first change of sign. Returns the number of coefficients still active.
    """
    moved = active[:used].copy()
    now = coef[moved]
    before, step = now.copy(), np.zeros(used)
    for a in range(used):
        subtract_multiple(step, inverse[a], penalty * np.sign(now[a]) - slope[moved[a]])
    while used > 0:
        length, first = length_to_change_of_sign(now[:used], step)
        for a in range(used):
            now[a] += length * step[a]
            step[a] *= 1.0 - length  # what is left of the way
        if first < 0:
            break
        now[first] = now[used - 1]
        remove_from_inverse(active, inverse, step, used, first)
        used -= 1
    coef[moved] = 0.0
    for a in range(used):
        coef[active[a]] = now[a]
    for a in range(len(moved)):
        subtract_multiple(slope, gram[moved[a]], coef[moved[a]] - before[a])
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
    along, slack, l1, steepest = norm2, 0.0, 0.0, 0.0
    for a in range(len(coef)):
        along -= coef[a] * linear[a]
        slack += coef[a] * slope[a]
        l1 += abs(coef[a])
        steepest = max(steepest, abs(slope[a]))
    residual2 = max(along - slack, 0.0)
    primal = 0.5 * residual2 + penalty * l1
    scale = 0.0
    if residual2 > 0.0:
        scale = along / residual2
        if steepest > 0.0:
            scale = max(min(scale, penalty / steepest), -penalty / steepest)
    dual = scale * along - 0.5 * scale * scale * residual2
    return (primal - dual) / primal if primal > 0.0 else 0.0


@compiled
def descend_lasso(gram: Array, linear: Array, norm2: float, coef: Array, penalty: float, tol: float) -> None:
    """Minimise ½‖z‖² − linearᵀs + ½sᵀGs + λ‖s‖₁ in place.

    Steepest coordinate descent, each time followed by the exact minimum over the nonzero coefficients. If rounding
    errors of the inverse show, it is computed again, once.
    """
    size = len(coef)
    active, inverse = np.empty(size, dtype=np.int64), np.empty((size, size))
    used = invert_active(gram, coef, active, inverse)
    slope = linear - gram @ coef
    renewed = False
    for _ in range(100 * size):
        used = move_to_minimum_of_signs(gram, slope, coef, penalty, active, inverse, used)
        if relative_gap(norm2, linear, slope, coef, penalty) <= tol:
            break
        renewed = not renewed and is_off_minimum(slope, coef, penalty, active, used)
        if renewed:
            used = invert_active(gram, coef, active, inverse)
            continue
        j = steepest_inactive(gram, slope, coef, penalty)
        if j < 0:
            break
        change = (slope[j] - penalty * np.sign(slope[j])) / gram[j, j]
        coef[j] = change
        subtract_multiple(slope, gram[j], change)
        if append_to_inverse(gram, active, inverse, used, j):
            used += 1
        else:
            used = invert_active(gram, coef, active, inverse)


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
