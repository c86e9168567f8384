"""Laplacians of learned structure, as operators that are only applied."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from ufselect._backend.columns import Float


def neighbor_laplacian(P: sp.csr_array) -> sp.csr_array:
    """L_P = D − (P + Pᵀ)/2, D its row sums."""
    affinity = (P + P.T) / 2.0
    return sp.csr_array(sp.diags_array(affinity.sum(axis=1)) - affinity)


class StructureLaplacian(LinearOperator):  # type: ignore[misc]
    """L = (I−S)(I−S)ᵀ + βL_P, symmetric and positive semi-definite, never formed for large n.

    Parameters
    ----------
    S : sparse array of shape (n, n) or None
        Self-expression, column i rebuilding sample i; None leaves its term out.
    P : sparse array of shape (n, n) or None
        Neighbour probabilities by rows; None leaves its term out.
    local_weight : float
        β.
    """

    def __init__(self, S: sp.csc_array | None, P: sp.csr_array | None, local_weight: float) -> None:
        n = next(part.shape[0] for part in (S, P) if part is not None)
        super().__init__(dtype=np.dtype(np.float64), shape=(n, n))
        # (I−S) and its transpose, each laid out for products from the left.
        self._unexpressed: Any = None
        self._unexpressed_back: Any = None
        if S is not None:
            self._unexpressed = sp.csr_array(sp.eye_array(n) - S)
            self._unexpressed_back = sp.csr_array(self._unexpressed.T)
        self._local: Any = None if P is None else local_weight * neighbor_laplacian(P)

    def _matmat(self, B: Float) -> Float:
        image = np.zeros((self.shape[0], B.shape[1]))
        if self._unexpressed is not None:
            image += self._unexpressed @ (self._unexpressed_back @ B)
        if self._local is not None:
            image += self._local @ B
        return image

    def _matvec(self, b: Float) -> Float:
        return self._matmat(b.reshape(-1, 1))

    def _adjoint(self) -> StructureLaplacian:
        return self

    def toarray(self) -> Float:
        """L as a dense array, for small n."""
        dense = np.zeros(self.shape)
        if self._unexpressed is not None:
            dense += (self._unexpressed @ self._unexpressed_back).toarray()
        if self._local is not None:
            dense += self._local.toarray()
        return dense

    def null_vectors(self) -> Float:
        """An orthonormal basis of the null space as far as it is known.

        With S absent that is one indicator for each connected component of the neighbour graph,
        the largest component first.
        """
        if self._unexpressed is not None or self._local is None:
            return np.zeros((self.shape[0], 0))
        count, label = connected_components(self._local, directed=False)
        size = np.bincount(label, minlength=count)
        place = np.empty(count, dtype=np.intp)
        place[np.argsort(-size, kind="stable")] = np.arange(count)
        basis = np.zeros((self.shape[0], count))
        basis[np.arange(len(label)), place[label]] = 1.0 / np.sqrt(size[label])
        return basis


def structure_laplacian(S: sp.csc_array | None, P: sp.csr_array | None, local_weight: float) -> StructureLaplacian:
    """L = (I−S)(I−S)ᵀ + βL_P; either part may be absent."""
    return StructureLaplacian(S, P, local_weight)


def quadratic_form(L: Any, Z: Float) -> float:
    """tr(ZᵀLZ)."""
    return float(np.sum(Z * (L @ Z)))
