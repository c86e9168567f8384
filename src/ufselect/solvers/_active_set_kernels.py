"""Compiled functions for lassos on given working sets, by the inverse of the Gram matrix of the active candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ufselect.solvers._compiling import compiled
from ufselect.solvers._inverse_kernels import (
    add_combination,
    append_to_inverse,
    invert_active,
    remove_from_inverse,
)
from ufselect.solvers._kernels import subtract_multiple

Array = npt.NDArray[Any]

_LARGEST_DRIFT = 1e-3
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
