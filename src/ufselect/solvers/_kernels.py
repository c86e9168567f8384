"""All compiled code: plain cached numba functions, arrays in, arrays out."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@numba.njit(cache=True, nogil=True)
def add_best_candidates(correlations: Array, members: Array, counts: Array, floors: Array, how_many: Array) -> None:
    """Append to every working set the best correlated candidates above a floor.

    ``members[t, :counts[t]]`` is the working set of row t of ``correlations``; it has room for
    ``how_many[t]`` more. Of equally correlated candidates the one of lower index comes first.
    """
    n = correlations.shape[1]
    taken = np.zeros(n, dtype=np.bool_)
    for t in range(correlations.shape[0]):
        room = how_many[t]
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
            # Insertion into a short list sorted by falling strength; once full, its end is the floor.
            place = found if found < room else room - 1
            while place > 0 and value[place - 1] < strength:
                value[place] = value[place - 1]
                best[place] = best[place - 1]
                place -= 1
            value[place] = strength
            best[place] = j
            if found < room:
                found += 1
            if found == room:
                floor = value[room - 1]
        for a in range(counts[t]):
            taken[members[t, a]] = False
        for a in range(found):
            members[t, counts[t] + a] = best[a]
        counts[t] += found


@numba.njit(cache=True, nogil=True)
def solve_positive_definite(matrix: Array, vector: Array) -> None:
    """Solve a symmetric positive definite system in place, by Cholesky's factors."""
    size = len(vector)
    for a in range(size):
        for b in range(a + 1):
            inner = matrix[a, b]
            for r in range(b):
                inner -= matrix[a, r] * matrix[b, r]
            matrix[a, b] = np.sqrt(inner) if a == b else inner / matrix[b, b]
    for a in range(size):
        for r in range(a):
            vector[a] -= matrix[a, r] * vector[r]
        vector[a] /= matrix[a, a]
    for a in range(size - 1, -1, -1):
        for r in range(a + 1, size):
            vector[a] -= matrix[r, a] * vector[r]
        vector[a] /= matrix[a, a]


@numba.njit(cache=True, nogil=True)
def move_to_minimum_of_signs(gram: Array, slope: Array, coef: Array, penalty: float) -> None:
    """Go straight to the minimum of a lasso over its present signs, dropping coefficients that reach zero.

    On one orthant the objective is quadratic, with minimum at the solution of
    G_AA Δ = slope_A − λ sign(s_A); the way there goes downhill up to the first change of sign.
    A small multiple of the identity keeps the system solvable for dependent candidates and the
    way downhill, so that one of them is dropped.
    """
    support = np.flatnonzero(coef)
    while len(support) > 0:
        size = len(support)
        matrix = np.empty((size, size))
        step = np.empty(size)
        largest = 0.0
        for a in range(size):
            largest = max(largest, gram[support[a], support[a]])
        for a in range(size):
            step[a] = slope[support[a]] - penalty * np.sign(coef[support[a]])
            for b in range(size):
                matrix[a, b] = gram[support[a], support[b]]
            matrix[a, a] += 1e-10 * largest
        solve_positive_definite(matrix, step)
        length = 1.0
        first = -1
        for a in range(size):
            if (coef[support[a]] + step[a]) * coef[support[a]] <= 0.0:
                share = -coef[support[a]] / step[a]
                if share < length:
                    length = share
                    first = a
        for a in range(size):
            change = -coef[support[a]] if a == first else length * step[a]
            coef[support[a]] += change
            for b in range(len(slope)):
                slope[b] -= gram[support[a], b] * change
        if first < 0:
            return
        coef[support[first]] = 0.0
        support = np.flatnonzero(coef)


@numba.njit(cache=True, nogil=True)
def descend_steepest_coordinate(gram: Array, slope: Array, coef: Array, penalty: float) -> bool:
    """Let the coefficient that most wants to leave zero do so; False where none does."""
    best = -1
    excess = 0.0
    for a in range(len(coef)):
        if coef[a] == 0.0 and gram[a, a] > 0.0 and abs(slope[a]) - penalty > excess:
            excess = abs(slope[a]) - penalty
            best = a
    if best < 0:
        return False
    change = np.sign(slope[best]) * excess / gram[best, best]
    coef[best] = change
    for b in range(len(slope)):
        slope[b] -= gram[best, b] * change
    return True


@numba.njit(cache=True, nogil=True)
def lasso_is_solved(norm2: float, linear: Array, slope: Array, coef: Array, penalty: float, tol: float) -> bool:
    """Whether the duality gap of ½‖z − Aᵀs‖² + λ‖s‖₁ is below ``tol`` times the primal value.

    ``norm2`` is ‖z‖², ``linear`` Az, ``slope`` Ar with the residual r. The dual point is the
    multiple of r that is feasible and has the highest dual value.
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
    residual2 = max(norm2 - fit - slack, 0.0)
    primal = 0.5 * residual2 + penalty * l1
    scale = 0.0
    if residual2 > 0.0:
        scale = (norm2 - fit) / residual2
        if steepest > 0.0:
            scale = min(scale, penalty / steepest)
    dual = scale * (norm2 - fit) - 0.5 * scale * scale * residual2
    return primal - dual <= tol * primal


@numba.njit(cache=True, nogil=True)
def descend_lassos(
    rows: Array, targets: Array, members: Array, counts: Array, coefs: Array, penalties: Array, tol: float, max_steps: int
) -> Array:
    """Solve ½‖zₜ − Σₐ sₐ rowsₐ‖² + λₜ‖s‖₁ over each working set, in place and from the given s.

    Steepest coordinate descent on the Gram matrix of the working set, each step followed by the
    exact minimum over the coefficients in use. Returns the residuals zₜ − Σₐ sₐ rowsₐ.
    """
    residuals = targets.copy()
    for t in range(targets.shape[0]):
        size = counts[t]
        chosen = rows[members[t, :size]].astype(np.float64)
        gram = chosen @ chosen.T
        linear = chosen @ targets[t]
        coef = coefs[t, :size]
        slope = linear - gram @ coef
        norm2 = targets[t] @ targets[t]
        for _ in range(max_steps):
            move_to_minimum_of_signs(gram, slope, coef, penalties[t])
            if lasso_is_solved(norm2, linear, slope, coef, penalties[t], tol):
                break
            if not descend_steepest_coordinate(gram, slope, coef, penalties[t]):
                break
        residuals[t] -= coef @ chosen
    return residuals


@numba.njit(cache=True, nogil=True)
def descend_row_blocks(gram: Array, slope: Array, coef: Array, penalty: float, tol: float, max_sweeps: int) -> int:
    """Sweeps of block descent on ½tr(WᵀGW) − tr(WᵀC) + λ Σⱼ‖wⱼ‖, in place.

    ``coef`` is Wᵀ and ``slope`` is (C − GW)ᵀ, both (c, d): the long axis is the contiguous one.
    Stops when no optimality condition is off by more than ``tol`` λ; returns the sweeps made.
    """
    tasks, d = coef.shape
    pull = np.empty(tasks)
    for sweep in range(max_sweeps):
        for j in range(d):
            curvature = gram[j, j]
            if curvature <= 0.0:
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
                change = shrink * pull[l] - coef[l, j]
                if change != 0.0:
                    coef[l, j] += change
                    for i in range(d):
                        slope[l, i] -= change * gram[j, i]
        if worst_row_violation(slope, coef, penalty) <= tol * penalty:
            return sweep + 1
    return max_sweeps


@numba.njit(cache=True, nogil=True)
def worst_row_violation(slope: Array, coef: Array, penalty: float) -> float:
    """How far the worst row is from its condition: λwⱼ/‖wⱼ‖ where wⱼ ≠ 0, within the ball of radius λ elsewhere."""
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
