"""Compiled functions for lassos on working sets that grow, by the Gram matrix of all candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect.solvers._compiling import compiled
from ufselect.solvers._kernels import (
    add_best_candidates,
    descend_from_factor,
    factorize_active,
    relative_gap,
    subtract_multiple,
)

Array = npt.NDArray[Any]

_INNER_PRECISION = 0.4
_ENTERING = 4
_LARGEST_START = 20  # more take longer to correct than a path from zero
_FIRST_LEVEL = 0.3
_LEVEL_RATIO = 3.0
_PRECISION_OF_LEVELS = 0.1


@compiled
def solve_lassos_on_growing_sets(
    gram: Array, own: Array, penalties: Array, coefs: Array, tol: float, n_new: int, max_rounds: int
) -> int:
    """Minimise ½‖zᵢ − Zᵀs‖² + λ‖s‖₁ with sᵢ = 0 for every i in ``own``, in place, by the Gram matrix ZZᵀ.

    ``coefs`` has a row for each of them. In every round the ``n_new`` candidates that violate their conditions most
    join the working set. The Gram matrix and the factor of a working set are extended, never computed again. Without a
    start, λ decreases by steps: at its last value alone, most of the first candidates would have to leave again.
    Returns the number of problems that did not reach a relative duality gap of ``tol``.
    """
    n_unsolved = 0
    for t in range(len(own)):
        n_unsolved += not solve_lasso_on_growing_set(gram, own[t], penalties[t], coefs[t], tol, n_new, max_rounds)
    return n_unsolved


@compiled
def solve_lasso_on_growing_set(
    gram: Array, i: int, penalty: float, coef: Array, tol: float, n_new: int, max_rounds: int
) -> bool:
    """Solve one of these problems; return whether it reached a relative duality gap of ``tol``."""
    n, norm2 = len(gram), gram[i, i]
    forget_large_start(gram, i, penalty, coef, tol)
    members = np.full((1, n), -1, dtype=np.int64)
    count = np.zeros(1, dtype=np.int64)
    started = np.flatnonzero(coef)
    members[0, : len(started)] = started
    count[0] = len(started)
    capacity = 2 * (count[0] + 2 * n_new)
    part_gram, factor = np.empty((capacity, capacity)), np.empty((capacity, capacity))
    linear, part, active = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    size = used = 0
    level = penalty if count[0] > 0 else max(penalty, _FIRST_LEVEL * np.abs(all_slopes(gram, i, coef)).max())
    for _ in range(max_rounds):
        slope = all_slopes(gram, i, coef)
        gap = relative_gap(norm2, gram[i], slope, coef, level)
        while level > penalty and gap <= _PRECISION_OF_LEVELS:
            level = max(level / _LEVEL_RATIO, penalty)
            gap = relative_gap(norm2, gram[i], slope, coef, level)
        if level == penalty and gap <= tol:
            return True
        n_room = np.array([min(n_new, n - count[0])])
        add_best_candidates(slope.reshape(1, n), members, count, np.array([level]), n_room)
        if count[0] > capacity:
            capacity = 2 * count[0]
            part_gram, factor = enlarged(part_gram, size, capacity), enlarged(factor, used, capacity)
        extend_gram(part_gram, gram, members[0, : count[0]], size)
        for p in range(size, count[0]):
            linear[p], part[p] = gram[i, members[0, p]], coef[members[0, p]]
        if size == 0:
            used = factorize_active(part_gram, part[: count[0]], active, factor)
        size = count[0]
        chosen = members[0, :size]
        # The next members will change the solution, so a higher precision would be wasted.
        inner_tol = max(tol / 3.0 if level == penalty else _PRECISION_OF_LEVELS / 2.0, _INNER_PRECISION * gap)
        state = active, factor, used
        used = descend_from_factor(
            part_gram, linear[:size], norm2, slope[chosen], part[:size], level, inner_tol, state, _ENTERING
        )
        for p in range(size):
            coef[chosen[p]] = part[p]
    return False


@compiled
def forget_large_start(gram: Array, i: int, penalty: float, coef: Array, tol: float) -> None:
    """Set all coefficients to zero, in place, if that is a better start: if they are many and not the solution."""
    many = np.count_nonzero(coef) > _LARGEST_START
    if many and relative_gap(gram[i, i], gram[i], all_slopes(gram, i, coef), coef, penalty) > tol:
        coef[:] = 0.0


@compiled
def extend_gram(part: Array, gram: Array, members: Array, size: int) -> None:
    """Fill in the rows and columns of the members beyond the first ``size``."""
    for p in range(size, len(members)):
        for q in range(p + 1):
            part[p, q] = part[q, p] = gram[members[p], members[q]]


@compiled
def all_slopes(gram: Array, i: int, coef: Array) -> Array:
    """Return zⱼ·(zᵢ − Zᵀs) for every other sample j; zero for the sample itself."""
    slope = gram[i].copy()
    for a in range(len(coef)):
        if coef[a] != 0.0:
            subtract_multiple(slope, gram[a], coef[a])
    slope[i] = 0.0
    return slope


@compiled
def enlarged(matrix: Array, size: int, capacity: int) -> Array:
    """Return a square array with room for more, which begins with the first ``size`` rows and columns of another."""
    result = np.empty((capacity, capacity))
    result[:size, :size] = matrix[:size, :size]
    return result
