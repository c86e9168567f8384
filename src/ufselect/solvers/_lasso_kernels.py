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
_LARGEST_START = 20  # more takes longer to correct than a path from zero
_FIRST_LEVEL = 0.3
_LEVEL_RATIO = 3.0
_PRECISION_OF_LEVELS = 0.1


@compiled
def solve_lassos_on_growing_sets(
    gram: Array, own: Array, penalties: Array, coefs: Array, tol: float, n_new: int, max_rounds: int
) -> int:
    """Minimise ½‖zᵢ − Zᵀs‖² + λ‖s‖₁ with sᵢ = 0 for every i in ``own``, in place, by the Gram matrix ZZᵀ.

    ``coefs`` has a row for each of them. In every round the ``n_new`` candidates that violate their conditions most join
    the working set. The Gram matrix and the factor of a working set are extended, never computed again. Returns the
    number of problems that did not reach a relative duality gap of ``tol``.
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
    n = len(gram)
    norm2 = gram[i, i]
    members = np.full((1, n), -1, dtype=np.int64)
    count = np.zeros(1, dtype=np.int64)
    started = np.flatnonzero(coef)
    if len(started) > _LARGEST_START:
        if relative_gap(norm2, gram[i], all_slopes(gram, i, coef), coef, penalty) <= tol:
            return True
        coef[:] = 0.0
    else:
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
        add_best_candidates(
            slope.reshape(1, n), members, count, np.array([level]), np.array([min(n_new, n - count[0])])
        )
        if count[0] > capacity:
            capacity = 2 * count[0]
            part_gram, factor = enlarged(part_gram, size, capacity), enlarged(factor, used, capacity)
        for p in range(size, count[0]):
            j = members[0, p]
            linear[p] = gram[i, j]
            part[p] = coef[j]
            for q in range(p + 1):
                part_gram[p, q] = part_gram[q, p] = gram[j, members[0, q]]
        if size == 0:
            used = factorize_active(part_gram, part[: count[0]], active, factor)
        size = count[0]
        chosen = members[0, :size]
        # The next members will change the solution, so a higher precision would be wasted.
        precise = tol / 3.0 if level == penalty else _PRECISION_OF_LEVELS / 2.0
        used = descend_from_factor(
            part_gram,
            linear[:size],
            norm2,
            slope[chosen],
            part[:size],
            level,
            max(precise, _INNER_PRECISION * gap),
            active,
            factor,
            used,
            _ENTERING,
        )
        for p in range(size):
            coef[chosen[p]] = part[p]
    return False


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
