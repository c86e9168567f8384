"""Correlations between columns, the same bit for bit in any order of the columns and in any blocks."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ufselect._utils.memory import affordable_rows, ensure_fits
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float, Indices, Mask
from ufselect.columns.moments import constant_columns, powers_of_two

_BITS = 26
_UNIT = 2.0**_BITS
_LEAST_STEP = 2.0 ** (2 * _BITS - 20)
"""Of a correlation, in units of 2⁻⁵²: 10⁻⁶. Smaller differences are those of rounding, as between °C and °F."""

_ROUNDING = 1e-12
"""Correlations that are smaller than the threshold by no more than this are as large as it, such as 1 − 10⁻¹⁶ and 1."""

_LARGEST_TILE = 1024
_SPARSEST_DENSE = 0.01  # product of the shares of nonzero values of two blocks, from which a dense product is faster
_MOST_FILLED = 0.25  # share of nonzero values of a column up to which sparse products are exact


class Alike(NamedTuple):
    """Some columns by some others: |r| in units of 2⁻⁵², whole numbers, and which of them reach the threshold."""

    strength: Float
    mask: Mask


class Character(NamedTuple):
    """What tells columns apart in any order, larger is better; and a digest of their values."""

    n_distinct: npt.NDArray[np.int64]
    evenness: Float
    digest: npt.NDArray[np.uint64]


class FixedPointColumns:
    """Centred columns of length 1 as whole multiples of 2⁻²⁶, whose inner products have no rounding error.

    Let u be such a column, and q = 2²⁶u rounded to whole numbers. ‖q‖ is 2²⁶ up to rounding, so by Cauchy–Schwarz all
    partial sums of qᵢᵀqⱼ are whole numbers below 2⁵³: a product in float64 is exact, whatever the order of its sums.
    2⁻⁵²qᵢᵀqⱼ differs from the correlation by at most 2η + η² with η = 2⁻²⁷√n. Pairs that are closer to the threshold
    are computed again from u, by a sum in the order of the samples.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
        A sparse X is in canonical format. It is never dense as a whole: zeros of column j are the number ``zero[j]``,
        the others are stored as differences from it.
    threshold : float
        Absolute correlation from which two columns are alike.
    parallel : bool
        Whether products run beside each other, each in one thread.
    """

    def __init__(self, X: Any, threshold: float, *, parallel: bool = False) -> None:
        self.shape: tuple[int, int] = X.shape
        self.constant: Mask = constant_columns(X)
        self.threshold = threshold
        self._X = X.tocsc() if sp.issparse(X) else X
        self._parallel = parallel
        n, d = X.shape
        error = 0.5 / _UNIT * np.sqrt(n)
        self._doubt = 2.0 * error + error**2 + _ROUNDING
        self._squares = np.empty(d)
        self._zero = np.empty(d)
        if not sp.issparse(X):
            ensure_fits(4 * n * d, f"{n:,} × {d:,} rounded values", "pass fewer samples")
            self._dense = np.empty((d, n), dtype=np.int32)
            for block, q in self._rounded_blocks():
                self._dense[block] = q
            return
        self._shares = np.diff(self._X.indptr) / n
        data = np.empty(self._X.nnz)
        for block, q in self._rounded_blocks():
            stored = slice(self._X.indptr[block.start], self._X.indptr[block.stop])
            row = np.repeat(np.arange(len(q)), np.diff(self._X.indptr[block.start : block.stop + 1]))
            data[stored] = q[row, self._X.indices[stored]] - self._zero[block][row]
        self._differences = sp.csr_array((data, self._X.indices, self._X.indptr), shape=(d, n))
        self._sums = self._differences.sum(axis=1)

    def tiles(self, index: Indices) -> list[Indices]:
        """Return columns in blocks for products, those of a sparse X with as many nonzero values together."""
        if sp.issparse(self._X):
            index = index[np.argsort(self._shares[index], kind="stable")]
        return [index[block] for block in _blocks(len(index), self.tile_width)]

    @property
    def tile_width(self) -> int:
        """Number of columns in a block for products."""
        return min(_LARGEST_TILE, max(1, affordable_rows(8 * self.shape[0]) // 10))

    def alike(self, first: Indices, second: Indices) -> Alike | None:
        """Return which of some columns are like which others; None if it is none of them."""
        strength = np.abs(products := self._products(first, second), out=products)
        scale = _UNIT**2
        least = (self.threshold - self._doubt) * scale
        if strength.max(initial=0.0) < least:
            return None
        mask = strength >= (self.threshold + self._doubt) * scale
        rows, columns = np.nonzero((strength >= least) & ~mask)
        if len(rows):
            found, i, j = strength[rows, columns], first[rows], second[columns]
            # Equality in Cauchy–Schwarz: the same column up to its sign, so r = 1, which the threshold may be.
            reaches = (found == self._squares[i]) & (found == self._squares[j])
            open_pairs = np.flatnonzero(~reaches)
            exact = np.abs(self.correlations(i[open_pairs], j[open_pairs]))
            reaches[open_pairs] = exact >= self.threshold - _ROUNDING
            mask[rows, columns] = reaches
        return Alike(strength, mask)

    def correlations(self, first: Indices, second: Indices) -> Float:
        """Return the correlations of pairs of columns in float64; zero for constant columns."""
        found = np.empty(len(first))
        step = max(1, affordable_rows(8 * self.shape[0]) // 20)
        for block in _blocks(len(first), step):
            different, places = np.unique(np.concatenate([first[block], second[block]]), return_inverse=True)
            u = self._unit_columns(different)
            count = block.stop - block.start
            found[block] = np.sum(u[places[:count]] * u[places[count:]], axis=1)
        return np.clip(found, -1.0, 1.0)

    def centrality(self, strength: Float, mask: Mask, axis: int) -> Float:
        """Sum the correlations of columns that are alike, in steps of 10⁻⁶, whose sum is exact."""
        return np.asarray(np.floor(np.where(mask, strength, 0.0) / _LEAST_STEP).sum(axis=axis))

    def character(self, index: Indices) -> Character:
        """Describe columns: how many distinct values they have, and how evenly their variance spreads over samples."""
        n_distinct = np.empty(len(index), dtype=np.int64)
        evenness = np.empty(len(index))
        digest = np.empty(len(index), dtype=np.uint64)
        for block in _blocks(len(index), self._width()):
            values = self._filled(index[block])
            digest[block] = [int.from_bytes(blake2b(row.tobytes(), digest_size=8).digest()) for row in values + 0.0]
            values.sort(axis=1)
            n_distinct[block] = 1 + np.count_nonzero(values[:, 1:] != values[:, :-1], axis=1)
            # The mean absolute deviation by the standard deviation: the smaller, the more a few samples make of it.
            mean = np.abs(self._rows(index[block])).sum(axis=1) / (_UNIT * np.sqrt(self.shape[0]))
            evenness[block] = np.floor(mean * 1e6)
        return Character(n_distinct, evenness, digest)

    def _products(self, first: Indices, second: Indices) -> Float:
        """Return qᵢᵀqⱼ, exactly."""
        n = self.shape[0]
        if sp.issparse(self._X):
            shares = [self._shares[index] for index in (first, second)]
            is_exact = max(share.max(initial=0.0) for share in shares) <= _MOST_FILLED
            if is_exact and shares[0].mean() * shares[1].mean() < _SPARSEST_DENSE:
                # (V + o1ᵀ)(W + p1ᵀ)ᵀ = VWᵀ + o(W1)ᵀ + (V1)pᵀ + n opᵀ
                product = np.asarray((self._differences[first] @ self._differences[second].T).toarray())
                product += np.multiply.outer(self._zero[first], self._sums[second] + n * self._zero[second])
                product += np.multiply.outer(self._sums[first], self._zero[second])
                return product
        left = self._rows(first)
        right = left if second is first else self._rows(second)
        with threads_for(0.0 if self._parallel else 2.0 * n * len(left) * len(right)):
            return np.asarray(left @ right.T)

    def _rows(self, index: Indices) -> Float:
        """Return q of some columns, as the rows of a dense array."""
        if sp.issparse(self._X):
            return np.asarray(self._differences[index].toarray() + self._zero[index][:, None])
        return self._dense[index].astype(np.float64)

    def _rounded_blocks(self) -> Iterator[tuple[slice, Float]]:
        """Yield q of blocks of columns, and keep ‖q‖² and the value of zeros."""
        d = self.shape[1]
        for block in _blocks(d, self._width()):
            index = np.arange(block.start, block.stop)
            mean, rest, divisor, values = self._standardized(index)
            q = np.rint(values * (_UNIT / divisor)[:, None])
            unit = (0.0 - mean) - rest
            self._zero[block] = np.rint(unit * (_UNIT / divisor))
            constant = self.constant[index]
            q[constant] = 0.0
            self._zero[index[constant]] = 0.0
            self._squares[block] = np.sum(q * q, axis=1)
            yield block, q

    def _unit_columns(self, index: Indices) -> Float:
        """Return centred columns of length 1, as the rows of a dense array; constant ones are zero."""
        _, _, divisor, values = self._standardized(index)
        values /= divisor[:, None]
        values[self.constant[index]] = 0.0
        return values

    def _standardized(self, index: Indices) -> tuple[Float, Float, Float, Float]:
        """Return what was subtracted from columns, in two steps, their lengths, and the rows of these columns.

        Columns are divided by a power of two beforehand, so that no square overflows.
        """
        values = self._filled(index)
        values /= powers_of_two(np.abs(values).max(axis=1))[:, None]
        mean = values.mean(axis=1)
        values -= mean[:, None]
        rest = values.mean(axis=1)  # the rounding error of the mean, where it is large
        values -= rest[:, None]
        divisor = np.sqrt(np.sum(values * values, axis=1))
        divisor[self.constant[index]] = 1.0
        return mean, rest, divisor, values

    def _filled(self, index: Indices) -> Float:
        """Return columns in float64 as the rows of a dense array, where sums along a row do not depend on others."""
        if sp.issparse(self._X):
            return np.asarray(self._X[:, index].T.toarray(), dtype=np.float64, order="C")
        return np.array(self._X[:, index].T, dtype=np.float64, order="C")

    def _width(self) -> int:
        return max(1, affordable_rows(8 * self.shape[0]) // 20)


def _blocks(count: int, width: int) -> Iterator[slice]:
    """Yield slices of at most so many; none if there is nothing to slice."""
    return (slice(start, min(start + width, count)) for start in range(0, count, width))
