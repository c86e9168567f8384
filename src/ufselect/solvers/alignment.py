"""How far samples look alike by some columns and by a learned structure, and the columns that agree with it best.

A distance-based method, such as k-means, sees some columns F of X only through K_F = Σ_{j∈F} xⱼxⱼᵀ. With a structure
K = TTᵀ, aⱼ = ‖Tᵀxⱼ‖² and H_jl = (xⱼᵀx_l)², the cosine between the two kernels is

    cos(K_F, K) = Σ_{j∈F} aⱼ / ( ‖K‖ √(Σ_{j,l∈F} H_jl) ).

It is called the alignment of F with the structure, and lies between 0 and 1. Columns that repeat each other raise the
denominator, so that three copies of a column are aligned as well as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ufselect._utils.policy import LARGEST_DENSE_SYSTEM
from ufselect._utils.types import Float, Indices, Mask
from ufselect.columns.arrays import column_means, frobenius_norm, in_memory, sum_of_squares
from ufselect.columns.constraints import Choosing, Constraints
from ufselect.columns.dense import Columns, squared_norm_of_products

POWER = 2.2
"""Greedy selection maximises (Σ a)^p/Σ H: the squared alignment times the structure carried, to the power p − 2.

With p = 2 it prefers few small columns that agree exactly; from 2.1 to 2.5 selections are equally good.
"""

_ROUNDING = 1e-10
_INDEPENDENT = 1e-7
_INDEPENDENT_SQUARE = 1e-6
_TINY = float(np.finfo(np.float64).tiny)
_BLOCK = 16
_STEPS_PAST_PEAK = 32
_FREE = Constraints()


class AlignmentPath(NamedTuple):
    """Columns in the order of selection, and what is known of them.

    ``curve`` holds the alignment of the first 1, 2, … columns, ``alone`` that of every column by itself, and ``rest``
    that of every column discounted by what it has in common with the selected columns; ``rest_of_groups`` that of every
    group of columns, if there are any. With weights, ``rest`` and ``gains`` are weighted, and ``weighted_curve`` is the
    alignment with what columns carry times their weights.
    """

    order: Indices
    curve: Float
    alone: Float
    rest: Float
    gains: Float
    weighted_curve: Float
    rest_of_groups: Float | None = None


class StructureFactor(NamedTuple):
    """T of a structure TTᵀ, and XᵀT."""

    T: Any
    products: Float


def kernel_alignment(T: Any, other: Any) -> float:
    """Return the alignment of the kernels TTᵀ and UUᵀ of two factors: the cosine between them."""
    inner, own, others = (in_memory(product) for product in (T.T @ other, T.T @ T, other.T @ other))
    norms = np.linalg.norm(own) * np.linalg.norm(others)
    return float(np.linalg.norm(inner) ** 2 / norms) if norms > 0.0 else 0.0


def kernel_turn(T: Any, other: Any) -> float:
    """Return the distance between two kernels of the same scale: 0 if they are the same, 1 if orthogonal.

    For orthonormal factors it is :func:`ufselect.graphs.spectral.turn_between`.
    """
    return float(np.sqrt(max(1.0 - kernel_alignment(T, other), 0.0)))


def alignment_path(
    X: Columns,
    T: Float,
    n_steps: int,
    *,
    order: Indices | None = None,
    past_peak: bool = False,
    gram: Float | None = None,
    constraints: Constraints = _FREE,
) -> AlignmentPath:
    """Select columns of X one by one, each time the one that raises (Σ_F a)^p / Σ_{F×F} H most, p = 2.2.

    A step costs one column of XᵀX: with h_j = Σ_{l∈F} H_jl, adding column s to F adds a_s to the numerator's sum and
    2h_s + ‖x_s‖⁴ to the denominator's, and h ← h + (Xᵀx_s)². Of columns that are equally good, the one with the lower
    index comes first; none may be zero.

    T is a factor of the structure K = TTᵀ. There are ``n_steps``; with ``past_peak`` fewer, if the alignment has not
    risen for as many steps as led to its peak, and 32 more. An ``order`` of at least so many columns replaces the
    choice. ``gram`` is XᵀX, if available. ``constraints`` says which columns come first and how far apart others have
    to be.

    If it has groups, they are chosen one by one, with aᵤ = Σ_{j∈u} aⱼ in place of a_s, and ‖XᵤᵀXᵤ‖² of the columns of
    the group in place of ‖x_s‖⁴; the columns of a group are added one by one as well, before those of the next. Then
    there are ``n_steps`` groups, or so many columns at least with ``past_peak``.
    """
    a = np.sum(X.transposed_matmul(T) ** 2, axis=1)
    structure = float(np.linalg.norm(T.T @ T))
    worth = weighted(a, constraints)
    choice = _choice(X, worth, n_steps, past_peak, gram, constraints, order)
    return _path(a, worth, X.squared_norms(), structure, _GramColumns(X, gram).column, choice)


def alignment_path_of_several(
    X: Columns,
    structures: Sequence[StructureFactor],
    n_steps: int,
    *,
    past_peak: bool = False,
    gram: Float | None = None,
    constraints: Constraints = _FREE,
) -> AlignmentPath:
    """Select columns one by one as :func:`alignment_path` does, by the structure Σ TTᵀ/‖T‖².

    The factors are never joined: of many samples, that would take more memory than all else. If X is centred, only what
    is left of the factors without their means counts.
    """
    a, structure = carried_of(structures), norm_of(X, structures)
    worth = weighted(a, constraints)
    choice = _choice(X, worth, n_steps, past_peak, gram, constraints)
    return _path(a, worth, X.squared_norms(), structure, _GramColumns(X, gram).column, choice)


def alignments_with(X: Columns, structures: Sequence[Any]) -> Float:
    """Return the alignment of every column by itself with the structure Σ TTᵀ/‖T‖², given the factors T."""
    a = carried_of([StructureFactor(T, X.transposed_matmul(T)) for T in structures])
    alignments: Float = a / (X.squared_norms() * _norm_of_sum(X, structures))
    return alignments


def weighted(a: Float, constraints: Constraints) -> Float:
    """Return what columns carry times their weights, if they have any."""
    return a if constraints.weights is None else a * constraints.weights


def norm_of(X: Columns, structures: Sequence[StructureFactor]) -> float:
    """Return ‖Σ TTᵀ/‖T‖²‖."""
    return _norm_of_sum(X, [each.T for each in structures])


def carried_of(structures: Sequence[StructureFactor]) -> Float:
    """Return Σ ‖Tᵀx‖²/‖T‖² of every column x."""
    return np.asarray(sum(np.sum(each.products**2, axis=1) / sum_of_squares(each.T) for each in structures))


def _norm_of_sum(X: Columns, factors: Sequence[Any]) -> float:
    """Return ‖Σ TTᵀ/‖T‖²‖."""
    norms = [frobenius_norm(T) for T in factors]
    squares = sum(
        float(np.sum(_inner_products(X, one, other) ** 2)) / (norm * other_norm) ** 2
        for one, norm in zip(factors, norms, strict=True)
        for other, other_norm in zip(factors, norms, strict=True)
    )
    return float(np.sqrt(squares))


def _inner_products(X: Columns, T: Any, other: Any) -> Float:
    """TᵀT', without the means of both if X is centred."""
    product = in_memory(T.T @ other).astype(np.float64)
    if X.centered:
        product -= len(T) * np.outer(column_means(T), column_means(other))
    return product


class _Choice:
    """How the columns of a path are chosen: one by one, or in a given order."""

    def __init__(self, n_steps: int, order: Indices | None, past_peak: bool, choosing: Choosing) -> None:
        self.n_steps, self.order, self.past_peak, self.choosing = n_steps, order, past_peak, choosing

    def goes_on(self, curve: list[float]) -> bool:
        """Whether another column is to be chosen."""
        most = min(self.n_steps, len(self.choosing.open))
        return len(curve) < most and not (self.past_peak and _is_past_peak(curve))

    def open(self, carried: float, total: float, overlap: Float) -> Mask:  # noqa: ARG002 - groups depend on it
        """Return which columns may follow those taken."""
        return self.choosing.open

    def merits(self, carried: Float, total: Float, n_taken: int, may_follow: Mask) -> Float:
        """Return (Σ a)^p/Σ H with each of the columns; −∞ for those that may not follow, and ranks of a given order."""
        if self.order is not None:
            merits = np.full(len(carried), -np.inf)
            merits[self.order[n_taken:]] = -np.arange(len(self.order) - n_taken, dtype=np.float64)
            return merits
        return _merits(carried, total, may_follow)

    def take(self, column: int) -> None:
        """Take a column."""
        self.choosing.take(column)

    def rest_of_groups(self, overlap: Float) -> Float | None:  # noqa: ARG002
        """Return Σa/√ΣH of every group, discounted by what it has in common with the columns that are taken."""
        return None


class _ChoiceOfGroups(_Choice):
    """Groups chosen one by one, and after each of them its columns."""

    def __init__(
        self, n_steps: int, past_peak: bool, constraints: Constraints, groups: Indices, carried: Float, own: Float
    ) -> None:
        leading = None if constraints.leading is None else np.unique(groups[constraints.leading])
        first = Constraints(first=np.unique(groups[constraints.first]), leading=leading)
        super().__init__(n_steps, None, past_peak, first.choosing(len(own)))
        self._groups, self._carried, self._own = groups, carried, own
        self._left = np.zeros(len(groups), dtype=bool)  # columns of the last group that are not taken yet
        self._n_taken, self._ends = 0, list[int]()

    def goes_on(self, curve: list[float]) -> bool:
        """Whether there are more columns of a group, or another group is to be chosen."""
        if self._left.any() or (self.past_peak and self._n_taken >= self.n_steps):
            return bool(self._left.any())
        return super().goes_on([curve[end - 1] for end in self._ends])

    def open(self, carried: float, total: float, overlap: Float) -> Mask:
        """Return the columns that are left of a group, or those of the best of the other groups."""
        if not self._left.any():
            best = _best(_merits(carried + self._carried, total + self._added(overlap), self.choosing.open))
            self.choosing.take(best)
            self._left = self._groups == best
        return self._left

    def take(self, column: int) -> None:
        """Take a column."""
        self._left[column] = False
        self._n_taken += 1
        if not self._left.any():
            self._ends.append(self._n_taken)

    def rest_of_groups(self, overlap: Float) -> Float:
        """Return Σa/√ΣH of every group, discounted by what it has in common with the columns that are taken."""
        return np.asarray(self._carried / np.sqrt(np.maximum(self._added(overlap), _TINY)))

    def _added(self, overlap: Float) -> Float:
        return np.asarray(2.0 * np.bincount(self._groups, overlap) + self._own)


def _choice(
    X: Columns,
    a: Float,
    n_steps: int,
    past_peak: bool,
    gram: Float | None,
    constraints: Constraints,
    order: Indices | None = None,
) -> _Choice:
    groups = constraints.groups
    if groups is None or order is not None:
        return _Choice(n_steps, order, past_peak, constraints.choosing(len(a)))
    own = own_products(X, groups, gram)
    return _ChoiceOfGroups(n_steps, past_peak, constraints, groups, np.bincount(groups, a).astype(np.float64), own)


def own_products(X: Columns, groups: Indices, gram: Float | None) -> Float:
    """Return ‖XᵤᵀXᵤ‖² of the columns of every group u."""
    order = np.argsort(groups, kind="stable")
    found: Float = np.bincount(groups, X.squared_norms() ** 2).astype(np.float64)
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if len(members) > 1:
            own = None if gram is None else gram[np.ix_(members, members)]
            products = squared_norm_of_products(X.subset(members)) if own is None else float(np.sum(own**2))
            found[groups[members[0]]] = products
    return found


def _merits(carried: Any, total: Any, may_follow: Mask) -> Float:
    """Return (Σ a)^p/Σ H with each of the columns, or of the groups; −∞ for those that may not follow."""
    merits: Float = carried**POWER / np.maximum(total, _TINY)
    merits[~may_follow] = -np.inf
    return merits


def _best(merits: Float) -> int:
    """Return the index of the largest merit, the first of those that differ by rounding."""
    return int(np.argmax(merits >= merits.max() * (1.0 - _ROUNDING)))


def _path(
    a: Float,
    worth: Float,
    squared: Float,
    structure: float,
    gram_column: Callable[[int, Float], Float],
    choice: _Choice,
) -> AlignmentPath:
    overlap = np.zeros(len(a))
    carried = total = 0.0
    taken: list[int] = []
    curve: list[float] = []
    gains: list[float] = []
    totals: list[float] = []
    while choice.goes_on(curve):
        added = 2.0 * overlap + squared**2
        merits = choice.merits(carried + worth, total + added, len(taken), choice.open(carried, total, overlap))
        if np.isneginf(merits.max()):
            break
        best = _best(merits)
        carried, total = carried + worth[best], total + added[best]
        gains.append(worth[best] / (np.sqrt(max(added[best], _TINY)) * structure))
        overlap += gram_column(best, merits) ** 2
        taken.append(best)
        choice.take(best)
        totals.append(float(np.sqrt(max(total, _TINY))) * structure)
        curve.append(carried / totals[-1])
    rest = worth / (np.sqrt(np.maximum(2.0 * overlap + squared**2, _TINY)) * structure)
    return AlignmentPath(
        np.array(taken, dtype=np.intp),
        np.array(curve) if worth is a else np.cumsum(a[taken]) / np.array(totals),
        a / (np.maximum(squared, _TINY) * structure),
        rest,
        np.array(gains),
        np.array(curve),
        choice.rest_of_groups(overlap),
    )


def _is_past_peak(curve: list[float]) -> bool:
    return len(curve) > 0 and len(curve) >= 2 * (int(np.argmax(curve)) + 1) + _STEPS_PAST_PEAK


class _GramColumns:
    """Columns of XᵀX, computed for several candidates at once, because the next ones are likely to be among them."""

    def __init__(self, X: Columns, gram: Float | None) -> None:
        self._X, self._gram = X, gram
        self._known: dict[int, Float] = {}

    def column(self, j: int, candidates: Float) -> Float:
        """Return column j of XᵀX; ``candidates`` are large for columns that may be asked for next."""
        if self._gram is not None:
            return self._gram[:, j]
        if j not in self._known:
            block = np.union1d([j], np.argsort(-candidates, kind="stable")[:_BLOCK])
            found = self._X.transposed_matmul(self._X.columns(block))
            self._known = {int(column): found[:, index] for index, column in enumerate(block)}
        return self._known.pop(j)


def r2_curve(X: Columns, Y: Any, order: Indices, *, gram: Float | None = None) -> Float:
    """Return R² of the least-squares regression of Y, centred if X is, on the first 1, 2, … columns in an order.

    ``gram`` is XᵀX of these columns, if available. It is enough unless some of them nearly depend on others.
    """
    part = X.subset(order)
    explained = None
    if len(order) <= min(X.shape[0], LARGEST_DENSE_SYSTEM):  # more columns than samples depend on each other
        explained = _explained_by_columns(part.gram() if gram is None else gram, part.transposed_matmul(Y))
    if explained is None:
        columns = np.asarray(part.columns(slice(None)), dtype=np.float64)
        explained = _explained_by_dependent_columns(columns, in_memory(Y))
    return np.minimum(np.cumsum(explained) / max(sum_of_squares(Y), _TINY), 1.0)


def _explained_by_columns(gram: Float, products: Float) -> Float | None:
    """Return how much of ‖Y‖² every column explains beyond those before it, given XᵀX and XᵀY.

    With the Cholesky factor XᵀX = RRᵀ, the rows of R⁻¹XᵀY are the parts of Y along the columns, each less its
    projection onto those before it. None if too few digits are left, because columns nearly depend on others.
    """
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    if np.any(np.diag(factor) ** 2 < _INDEPENDENT_SQUARE * np.diag(gram)):
        return None
    return np.asarray(np.sum(solve_triangular(factor, products, lower=True) ** 2, axis=1))


def _explained_by_dependent_columns(columns: Float, Y: Float) -> Float:
    """Return how much of ‖Y‖² every column explains beyond those before it, by orthogonalising the columns."""
    n, m = columns.shape
    basis = np.empty((min(n, m), n))
    rank = 0
    explained = np.zeros(m)
    for j, x in enumerate(columns.T):
        if rank == len(basis):
            break
        new = x / max(float(np.linalg.norm(x)), _TINY)
        for _ in range(2):  # once more, against rounding
            new = new - basis[:rank].T @ (basis[:rank] @ new)
        length = float(np.linalg.norm(new))
        if length > _INDEPENDENT:  # otherwise only rounding is left of the column
            basis[rank] = new / length
            explained[j] = np.sum((basis[rank] @ Y) ** 2)
            rank += 1
    return explained
