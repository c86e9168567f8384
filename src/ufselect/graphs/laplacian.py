"""Laplacians as linear operators."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils import gen_batches

from ufselect._utils.compiling import compiled
from ufselect._utils.policy import SMALLEST_SINGLE_PRECISION_SPECTRUM
from ufselect._utils.threads import in_threads, threads_for
from ufselect._utils.types import Float, Indices
from ufselect.columns.dense import Columns, column_blocks, wide_column_blocks

_ROWS_OF_TRIANGLE = 512
_COLUMNS_AT_ONCE = 16
_CERTAIN_DIGITS = 9  # of a sum of weights

Weights = tuple[float, float, float]


def neighbor_laplacian(P: sp.csr_array) -> sp.csr_array:
    """L_P = D − (P + Pᵀ)/2, where D holds the row sums of (P + Pᵀ)/2."""
    affinity = (P + P.T) / 2.0
    return sp.csr_array(sp.diags_array(affinity.sum(axis=1)) - affinity)


class Laplacian(LinearOperator):  # type: ignore[misc]
    """A symmetric positive semi-definite (n, n) matrix, given by its products.

    A subclass defines ``_matmat`` and, if it is known, the null space.
    """

    has_single_precision: bool = False  # whether ``combination`` takes float32 arrays
    is_crowded: bool = False  # whether there are many small eigenvalues, which no iteration tells apart

    def __init__(self, n: int) -> None:
        super().__init__(dtype=np.dtype(np.float64), shape=(n, n))

    def in_order_of_neighbors(self, dtype: Any) -> tuple[Laplacian, Indices | slice]:
        """Return L, in the order of the samples in which neighbours are near to each other, and that order."""
        return self, slice(None)

    def combination(
        self, now: Float, before: Float, weights: Weights, n_jobs: int | None = None, *, overwrite: bool = False
    ) -> Float:
        """Return a·L·now + b·now + c·before for weights a, b, c: a step of a three-term recurrence.

        If ``overwrite``, the result may take the place of ``before``.
        """
        of_image, of_now, of_before = weights
        return of_image * (self @ now) + of_now * now + of_before * before

    def largest_eigenvalue(self, rng: np.random.RandomState) -> float:
        """Return the largest eigenvalue to within 1 %."""
        start = rng.standard_normal(self.shape[0])
        return float(eigsh(self, k=1, which="LA", tol=1e-2, v0=start, return_eigenvectors=False)[0])

    def toarray(self) -> Float:
        """Return the matrix as a dense array, for small n."""
        return np.asarray(self @ np.eye(self.shape[0]))

    def trivial_vector(self) -> Float:
        """Return the unit vector that carries no structure: the constant one."""
        return np.full(self.shape[0], self.shape[0] ** -0.5)

    def null_vectors(self, most: int | None = None) -> Float:
        """Return an orthonormal basis of the null space as far as it is known, at most ``most`` vectors."""
        return np.zeros((self.shape[0], 0))


class StructureLaplacian(Laplacian):
    """L = (I−S)(I−S)ᵀ + βL_P, symmetric and positive semi-definite.

    S is the self-expression, column i for sample i, and P has neighbour probabilities by rows; None omits a term.
    """

    def __init__(self, S: sp.csc_array | None, P: sp.csr_array | None, local_weight: float) -> None:
        n = next(part.shape[0] for part in (S, P) if part is not None)
        super().__init__(n)
        self.has_single_precision, self.is_crowded = S is None, S is not None
        # (I−S) and its transpose, both in CSR format for fast products.
        self.unexpressed: Any = None
        self.unexpressed_back: Any = None
        if S is not None:
            self.unexpressed = sp.csr_array(sp.eye_array(n) - S)
            self.unexpressed_back = sp.csr_array(self.unexpressed.T)
        self.local: Any = None if P is None else local_weight * neighbor_laplacian(P)

    def _matmat(self, B: Float) -> Float:
        image = np.zeros((self.shape[0], B.shape[1]))
        if self.unexpressed is not None:
            image += self.unexpressed @ (self.unexpressed_back @ B)
        if self.local is not None:
            image += self.local @ B
        return image

    def in_order_of_neighbors(self, dtype: Any) -> tuple[Laplacian, Indices | slice]:
        """Return a large L without S with neighbours near to each other, in a precision; others as they are."""
        if self.unexpressed is not None or self.shape[0] < SMALLEST_SINGLE_PRECISION_SPECTRUM:
            return self, slice(None)
        order = np.asarray(reverse_cuthill_mckee(sp.csr_matrix(self.local), symmetric_mode=True), dtype=np.intp)
        result = copy(self)
        result.local = sp.csr_array(self.local.astype(dtype)[order][:, order])
        return result, order

    def combination(
        self, now: Float, before: Float, weights: Weights, n_jobs: int | None = None, *, overwrite: bool = False
    ) -> Float:
        """Return a·L·now + b·now + c·before for weights a, b, c, in the precision of ``now``."""
        if self.unexpressed is not None:
            return super().combination(now, before, weights, n_jobs)
        L = self.local
        data, given = L.data.astype(now.dtype, copy=False), np.array(weights, dtype=now.dtype)
        now, before = np.ascontiguousarray(now), np.ascontiguousarray(before)
        out = before if overwrite else np.empty_like(now)
        in_threads(
            lambda rows: _combine_rows(L.indptr, L.indices, data, now, before, given, rows, out), len(now), n_jobs
        )
        return out

    def toarray(self) -> Float:
        """Return L as a dense array, for small n."""
        dense = np.zeros(self.shape)
        if self.unexpressed is not None:
            unexpressed = self.unexpressed.toarray()
            with threads_for(2.0 * self.shape[0] ** 3):
                dense = unexpressed @ unexpressed.T
        if self.local is not None:
            rows = np.repeat(np.arange(len(dense)), np.diff(self.local.indptr))
            dense[rows, self.local.indices] += self.local.data
        return dense

    def null_vectors(self, most: int | None = None) -> Float:
        """Return the indicators of the connected components, the largest first; nothing is known with an S."""
        if self.unexpressed is not None or self.local is None:
            return np.zeros((self.shape[0], 0))
        return _indicators(self.local, np.ones(self.shape[0]), most)


@compiled
def _combine_rows(
    indptr: Any, indices: Any, data: Any, now: Any, before: Any, weights: Any, rows: slice, out: Any
) -> None:
    """Set some rows of ``out`` to aL·now + b·now + c·before for a sparse L and weights a, b, c."""
    of_image, of_now, of_before = weights[0], weights[1], weights[2]
    for i in range(rows.start, rows.stop):
        row, here, last = out[i], now[i], before[i]
        for c in range(len(row)):
            row[c] = of_now * here[c] + of_before * last[c]
        for e in range(indptr[i], indptr[i + 1]):
            weight = of_image * data[e]
            there = now[indices[e]]
            for c in range(len(row)):
                row[c] += weight * there[c]


class NormalizedLaplacian(Laplacian):
    """Lₙ = I − D^(-1/2) A D^(-1/2) of a symmetric affinity A with positive row sums.

    Its eigenvectors are u = D^(1/2)y for the generalised problem (D − A)y = λDy. A dense A is assumed to be connected.
    """

    def __init__(self, A: Any) -> None:
        super().__init__(A.shape[0])
        self.degrees: Float = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
        scale = 1.0 / np.sqrt(self.degrees)
        if sp.issparse(A):
            self.affinity: Any = sp.csr_array(sp.diags_array(scale) @ A @ sp.diags_array(scale))
        else:
            self.affinity = A * np.outer(scale, scale)

    def _matmat(self, B: Float) -> Float:
        return B - self.affinity @ B

    def toarray(self) -> Float:
        """Return Lₙ as a dense array, for small n."""
        return np.eye(self.shape[0]) - (self.affinity.toarray() if sp.issparse(self.affinity) else self.affinity)

    def trivial_vector(self) -> Float:
        """Return D^(1/2)1, scaled to unit length."""
        return np.sqrt(self.degrees / self.degrees.sum())

    def null_vectors(self, most: int | None = None) -> Float:
        """Return one vector per connected component, the largest component first."""
        if not sp.issparse(self.affinity):
            return self.trivial_vector()[:, None]
        return _indicators(self.affinity, self.degrees, most)


class SparseLaplacian(Laplacian):
    """A sparse matrix, such as that of a local model."""

    def __init__(self, matrix: sp.csr_array) -> None:
        super().__init__(matrix.shape[0])
        self.matrix = matrix

    def _matmat(self, B: Float) -> Float:
        return self.matrix @ B

    def toarray(self) -> Float:
        """Return the matrix as a dense array, for small n."""
        return self.matrix.toarray()


def _indicators(graph: Any, weights: Float, most: int | None) -> Float:
    """Return √weight on each connected component, scaled to unit length, the component with most samples first.

    Of components with as many samples, the one with larger entries comes first, which does not depend on their order.
    """
    count, label = connected_components(graph, directed=False)
    size = np.bincount(label, minlength=count)
    rank = np.empty(count, dtype=np.intp)
    rank[np.lexsort((-_squared_entries(graph, label, count), -size))] = np.arange(count)
    volume = np.bincount(label, weights=weights, minlength=count)
    basis = np.zeros((len(label), count if most is None else min(count, most)))
    samples = np.flatnonzero(rank[label] < basis.shape[1])
    basis[samples, rank[label[samples]]] = np.sqrt(weights[samples] / volume[label[samples]])
    return basis


def structure_laplacian(S: sp.csc_array | None, P: sp.csr_array | None, local_weight: float) -> StructureLaplacian:
    """L = (I−S)(I−S)ᵀ + βL_P; either part may be None."""
    return StructureLaplacian(S, P, local_weight)


def quadratic_form(L: Any, Z: Float) -> float:
    """tr(ZᵀLZ)."""
    return sum(float(np.sum(Z[:, part] * (L @ Z[:, part]))) for part in gen_batches(Z.shape[1], _COLUMNS_AT_ONCE))


@dataclass(frozen=True)
class Structure:
    """Self-expression S with penalties αᵢ, and neighbour probabilities P with spreads μᵢ; either may be None."""

    local_weight: float
    S: sp.csc_array | None = None
    penalties: Float | None = None
    P: sp.csr_array | None = None
    spread: Float | None = None

    @cached_property
    def laplacian(self) -> StructureLaplacian:
        """L = (I−S)(I−S)ᵀ + βL_P."""
        return structure_laplacian(self.S, self.P, self.local_weight)

    def forget_laplacian(self) -> None:
        """Free the memory of the Laplacian, which is computed again if it is asked for."""
        vars(self).pop("laplacian", None)

    def cost(self, Z: Float) -> float:
        """tr(ZᵀLZ) + Σᵢ αᵢ‖sᵢ‖₁ + β Σᵢ (μᵢ/2)‖pᵢ‖²."""
        value = quadratic_form(self.laplacian, Z)
        if self.S is not None and self.penalties is not None:
            value += float(self.penalties @ abs(self.S).sum(axis=0))
        if self.P is not None and self.spread is not None:
            value += self.local_weight / 2.0 * float(self.spread @ self.P.power(2).sum(axis=1))
        return value


def column_energies(X: Columns, *laplacians: Any) -> tuple[Float, ...]:
    """Return fⱼᵀLfⱼ for every column of X, one array for each symmetric L."""
    energies = tuple(np.empty(X.shape[1]) for _ in laplacians)
    dense = any(isinstance(L, np.ndarray) for L in laplacians)
    for block, columns in wide_column_blocks(X) if dense else column_blocks(X):
        for energy, L in zip(energies, laplacians, strict=True):
            if isinstance(L, np.ndarray):
                energy[block] = dense_energies(L, columns)
            else:
                energy[block] = np.einsum("ij,ij->j", columns, L @ columns)
    return energies


def dense_energies(L: Float, columns: Float) -> Float:
    """Return fᵀLf for every column f, from one triangle of a dense symmetric L: half of the operations of Lf."""
    energies = np.zeros(columns.shape[1])
    for rows in gen_batches(len(L), _ROWS_OF_TRIANGLE):
        here, beyond = columns[rows], columns[rows.stop :]
        image = L[rows, rows] @ here + 2.0 * (L[rows, rows.stop :] @ beyond)
        energies += np.einsum("ij,ij->j", here, image)
    return energies


def neighbor_scatters(X: Columns, A: sp.csr_array) -> tuple[Float, Float]:
    """Return f̃ⱼᵀDf̃ⱼ and f̃ⱼᵀLf̃ⱼ for every column, where f̃ⱼ is fⱼ less its mean weighted by D."""
    between, within = np.empty(X.shape[1]), np.empty(X.shape[1])
    degrees = np.asarray(A.sum(axis=1)).ravel()
    differences = _edge_differences(A)
    for block, columns in column_blocks(X):
        deviations = columns - degrees @ columns / degrees.sum()
        between[block] = degrees @ deviations**2
        along_edges = differences @ deviations
        within[block] = np.einsum("ij,ij->j", along_edges, along_edges)
    return between, within


def group_scatters(X: Columns, codes: Indices) -> tuple[Float, Float]:
    """Return the same for the graph that joins each sample to its whole group, itself included, with equal weights.

    These are the sums of squares of a column, and those around the means of groups.
    """
    between, within, sizes = np.empty(X.shape[1]), np.empty(X.shape[1]), np.bincount(codes)
    indicator = sp.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))))
    for block, columns in column_blocks(X):
        deviations = columns - columns.mean(axis=0)
        between[block] = np.einsum("ij,ij->j", deviations, deviations)
        deviations = deviations - (indicator @ deviations / sizes[:, None])[codes]
        within[block] = np.einsum("ij,ij->j", deviations, deviations)
    return between, within


def _edge_differences(A: sp.csr_array) -> sp.csr_array:
    """Return the incidence matrix B with rows √aᵢⱼ(eᵢ − eⱼ): unlike fᵀLf, the sum of squares ‖Bf‖² does not cancel."""
    edges = sp.coo_array(sp.triu(A, k=1))
    here, there = edges.coords
    root, number = np.sqrt(edges.data), np.arange(edges.nnz)
    values = np.concatenate([root, -root])
    return sp.csr_array((values, (np.tile(number, 2), np.concatenate([here, there]))), shape=(edges.nnz, A.shape[0]))


def _squared_entries(graph: Any, label: Indices, count: int) -> Float:
    """Return the sum of the squared entries of every component, compared to the largest and without rounding errors."""
    if count == 1:
        return np.ones(1)
    squares = np.bincount(label, weights=graph.power(2).sum(axis=1), minlength=count)
    return np.asarray(np.round(squares / (squares.max() or 1.0), _CERTAIN_DIGITS))
