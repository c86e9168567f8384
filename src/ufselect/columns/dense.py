"""The data matrix as every method sees it: columns centred and scaled, sparse input kept sparse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import inplace_column_scale, mean_variance_axis, min_max_axis

from ufselect._utils.blocks import affordable_rows
from ufselect._utils.policy import MEAN_TO_SHIFT, SMALLEST_SAFE_SQUARE, SMALLEST_SINGLE_PRECISION_SPECTRUM
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float, Indices
from ufselect.columns.resolution import (
    common_spread,
    differs_by_rounding,
    has_large_offsets,
    largest_rounding,
    magnitudes,
    whole_columns,
)
from ufselect.columns.scaling import common_scale, common_unit, divisors, divisors_of_moments
from ufselect.columns.sparse_arrays import sparse_self_product, with_dense_columns

_BLOCK_BYTES = 2**19
_FEWEST_COLUMNS = 32
_WIDE_BLOCK = 1024


class Columns:
    """X with centred and scaled columns.

    A dense X is stored centred. A sparse X is stored scaled but not centred, so that it stays sparse; products subtract
    the means implicitly: ``(V - 1 mᵀ) B = V B - 1 (mᵀ B)``. Products are computed in the precision of X and returned
    as float64, like all small matrices.

    Parameters
    ----------
    values : ndarray or sparse array of shape (n, d)
        Scaled columns; centred already if dense.
    offset : ndarray of shape (d,) or None
        To be subtracted from the columns of ``values``, such as their means; None for zero.
    centered : bool
        Whether the columns sum to zero.
    unit : float
        The power of two by which all columns were divided if they are not scaled.
    """

    def __init__(self, values: Any, offset: Float | None = None, *, centered: bool = False, unit: float = 1.0) -> None:
        self.values = values
        self.offset = offset
        self.centered = centered
        self.unit = unit
        self.shape: tuple[int, int] = values.shape
        self.dtype: np.dtype[Any] = values.dtype

    @classmethod
    def prepared(cls, X: Any, *, center: bool, scale: str | None) -> Columns:
        """Centre the columns of X and divide each by its scale.

        With a standard deviation s_j, the scale is s_j ("standard"), s_j + s̃ with s̃ the median of all s_j ("moderate":
        columns that hardly vary stay small), or the same for all columns (None). The common scale is a power of two
        that brings the root mean square of the result near to 1: it changes no digit of the data and keeps their
        squares within the range of float32.
        """
        if sp.issparse(X):
            mean, deviation = column_spreads(X)
            divisor = divisors_of_moments(mean, deviation, center=center, scale=scale)
            shift = np.where(np.abs(mean) > MEAN_TO_SHIFT * deviation, mean, 0.0)
            values = _shifted_columns(X.tocsc(copy=True), shift)
            inplace_column_scale(values, 1.0 / divisor)
            offset = ((mean if center else 0.0) - shift) / divisor
            return cls(values, offset if offset.any() else None, centered=center, unit=common_unit(divisor, scale))
        if not center:
            X = X.astype(dtype_beside_offsets(X), copy=False)
        deviations = X - X.mean(axis=0, dtype=np.float64) if center or scale else X
        roots = root_mean_squares(deviations)
        divisor = divisors(roots, scale) if scale else common_scale(roots)
        values = np.divide(deviations, divisor, out=deviations) if center else X / divisor
        return cls(np.ascontiguousarray(values, dtype=X.dtype), centered=center, unit=common_unit(divisor, scale))

    @classmethod
    def of_unit_range(cls, X: Any) -> Columns:
        """Scale every column of X to the range [0, 1]; none of them may be constant."""
        smallest, largest = column_extremes(X)
        smallest, span = smallest.astype(np.float64), largest.astype(np.float64) - smallest
        if not sp.issparse(X):
            return cls(np.ascontiguousarray((X - smallest) / span, dtype=X.dtype))
        shift = np.where(np.abs(smallest) > MEAN_TO_SHIFT * span, smallest, 0.0)
        values = _shifted_columns(X.tocsc(copy=True), shift)
        inplace_column_scale(values, 1.0 / span)
        offset = (smallest - shift) / span
        return cls(values, offset if offset.any() else None)

    @cached_property
    def by_row(self) -> Any:
        """The stored values in a layout with fast access to rows."""
        return self.values.tocsr() if sp.issparse(self.values) else self.values

    def __matmul__(self, B: Float) -> Float:
        """X B."""
        with threads_for(2.0 * self.values.size * B[:1].size):
            product = self.by_row @ B.astype(self.dtype, copy=False)
        if self.offset is not None:
            product = product - self.offset @ B
        return np.asarray(product, dtype=np.float64)

    def embedded(self, W: Float) -> Any:
        """X W; of many samples in the precision of X, because more would double the memory for nothing."""
        Z = self @ W
        return Z.astype(self.dtype, copy=False) if len(Z) >= SMALLEST_SINGLE_PRECISION_SPECTRUM else Z

    def sketch(self, width: int, rng: np.random.RandomState) -> Float:
        """Xᵀ R for a random R of shape (n, width)."""
        return self.transposed_matmul(rng.standard_normal((self.shape[0], width)))

    def subset(self, index: Indices) -> Columns:
        """Return the columns with the given indices."""
        offset = None if self.offset is None else self.offset[index]
        return Columns(self.values[:, index], offset, centered=self.centered)

    def combined(self, index: Indices, B: Float) -> Float:
        """Multiply the columns with the given indices by B."""
        return self.subset(index) @ B

    def transposed_matmul(self, B: Float) -> Float:
        """Xᵀ B."""
        with threads_for(2.0 * self.values.size * B[:1].size):
            product = self.values.T @ B.astype(self.dtype, copy=False)
        if self.offset is not None:
            product = product - np.multiply.outer(self.offset, B.sum(axis=0))
        return np.asarray(product, dtype=np.float64)

    def inner_products(self, rows: Float) -> Float:
        """R Xᵀ for rows R of shape (b, d), in C order."""
        if not sp.issparse(self.values):
            with threads_for(2.0 * self.values.size * len(rows)):
                return np.asarray(rows.astype(self.dtype, copy=False) @ self.values.T, dtype=np.float64)
        return np.ascontiguousarray((self @ rows.T).T)

    def columns(self, index: Indices | slice) -> Float:
        """Return the columns with the given indices as a dense (n, len(index)) array."""
        return self._filled_in(self.values[:, index], None if self.offset is None else self.offset[index])

    def rows(self, index: Indices | slice) -> Float:
        """Return the rows with the given indices as a dense (len(index), d) array."""
        return self._filled_in(self.by_row[index], self.offset)

    def gram(self, index: Indices | slice = slice(None), weights: Float | None = None) -> Float:
        """XᵀX, or Xᵀ diag(w) X with w ≥ 0, of the columns with the given indices, as a dense array."""
        part = self.values[:, index]
        # A product of a matrix with its own transpose takes half the time of any other.
        half = part if weights is None else _with_scaled_rows(part, np.sqrt(weights).astype(self.dtype))
        with threads_for(float(part.size) * part.shape[1]):
            product = sparse_self_product(half.T) if sp.issparse(half) else half.T @ half
        if self.offset is not None:
            # (V−1oᵀ)ᵀ D (V−1oᵀ) = VᵀDV − s oᵀ − o sᵀ + tr(D) o oᵀ with s = VᵀD1.
            offset = self.offset[index]
            weights = np.ones(self.shape[0]) if weights is None else weights
            sums = part.T @ weights
            cross = np.outer(sums, offset)
            product = product - cross - cross.T + weights.sum() * np.outer(offset, offset)
        return np.asarray(product, dtype=np.float64)

    def row_gram(self, weights: Float | None = None) -> Float:
        """XXᵀ, or X diag(w) Xᵀ with w ≥ 0, as a dense (n, n) array."""
        X = self if weights is None else self.scaled(np.sqrt(weights))
        with threads_for(float(X.values.size) * X.shape[0]):
            if not sp.issparse(X.values):
                return np.asarray(X.values @ X.values.T, dtype=np.float64)
            product = sparse_self_product(X.values)
        if X.offset is not None:
            cross = X.by_row @ X.offset
            product += X.offset @ X.offset - cross[:, None] - cross
        return product

    def samples(self) -> Any:
        """The samples by rows, for distances between them: these columns, if they are in memory."""
        return self

    def in_double_precision(self) -> Columns:
        """The same columns with float64 values."""
        return Columns(self.values.astype(np.float64, copy=False), self.offset, centered=self.centered)

    def squared_norms(self) -> Float:
        """‖xⱼ‖² of every column."""
        if sp.issparse(self.values):
            squares = np.asarray(self.values.power(2).sum(axis=0), dtype=np.float64).ravel()
            if self.offset is not None:
                sums = np.asarray(self.values.sum(axis=0, dtype=np.float64)).ravel()
                squares += self.shape[0] * self.offset**2 - 2.0 * sums * self.offset
            return np.maximum(squares, 0.0)
        return np.einsum("ij,ij->j", self.values, self.values, dtype=np.float64)

    def squared_row_norms(self) -> Float:
        """‖xᵢ‖² of every sample."""
        rows = self.by_row
        if not sp.issparse(rows):
            return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        squares = np.asarray(rows.power(2).sum(axis=1, dtype=np.float64)).ravel()
        if self.offset is not None:
            squares += float(self.offset @ self.offset) - 2.0 * (rows @ self.offset)
        return np.maximum(squares, 0.0)

    def mean_squared_distance(self) -> float:
        """The mean of ‖xᵢ−xⱼ‖² over all n² pairs of samples, twice the summed variance of the columns."""
        if self.centered:
            return 2.0 * float(self.squared_norms().sum()) / self.shape[0]
        _, variance = column_moments(self.values)
        return 2.0 * float(variance.sum())

    def less_means(self, weights: Float | None = None) -> Columns:
        """Subtract the means of the columns, weighted over the samples if weights are given."""
        means = self.means(weights)
        if sp.issparse(self.values):
            offset = means if self.offset is None else self.offset + means
            return Columns(self.values, offset, centered=weights is None)
        return Columns(self.values - means.astype(self.dtype), centered=weights is None)

    def means(self, weights: Float | None = None) -> Float:
        """Return the means of the columns, weighted over the samples if weights are given."""
        shares = np.full(self.shape[0], 1.0 / self.shape[0]) if weights is None else weights / weights.sum()
        return self.transposed_matmul(shares[:, None])[:, 0]

    def centered_like(self, F: Float) -> Float:
        """Subtract the means of F if the columns are centred: the part that they can explain beside an intercept."""
        return F - F.mean(axis=0) if self.centered else F

    def scaled(self, weights: Float) -> Columns:
        """X diag(w)."""
        if sp.issparse(self.values):
            values = self.values.tocsc(copy=True)
            inplace_column_scale(values, weights.astype(self.dtype))
        else:
            values = self.values * weights.astype(self.dtype)
        return Columns(values, None if self.offset is None else self.offset * weights, centered=self.centered)

    def shuffled(self, rng: np.random.RandomState) -> Columns:
        """Return every column with its values in a random order of its own: all else equal, without structure."""
        if not sp.issparse(self.values):
            order = rng.random_sample(self.shape).argsort(axis=0)
            return Columns(np.take_along_axis(self.values, order, axis=0), centered=self.centered)
        values = self.values.tocsc(copy=True)
        lengths = np.diff(values.indptr)
        values.indices = np.concatenate(
            [rng.permutation(self.shape[0])[:length] for length in lengths], dtype=values.indices.dtype
        )
        values.has_sorted_indices = False
        values.sort_indices()
        return Columns(values, self.offset, centered=self.centered)

    @staticmethod
    def _filled_in(part: Any, offset: Float | None) -> Float:
        dense = part.toarray() if sp.issparse(part) else part
        return dense if offset is None else dense - offset.astype(dense.dtype)


def dtype_beside_offsets(X: npt.NDArray[Any]) -> np.dtype[Any]:
    """Return the type of a dense X, or float64 if its own would lose digits unless offsets are subtracted."""
    return np.dtype(np.float64) if X.dtype != np.float64 and has_large_offsets(*column_spreads(X)) else X.dtype


def root_mean_squares(X: Any) -> Float:
    """Return the root mean square of every column of a dense X, even if the squares of its values underflow."""
    squares = np.einsum("ij,ij->j", X, X, dtype=np.float64) / X.shape[0]
    tiny = squares < SMALLEST_SAFE_SQUARE
    if not tiny.any():
        return np.sqrt(squares)
    unit = np.where(tiny, powers_of_two(np.abs(X).max(axis=0)), 1.0)
    scaled = X / unit  # all columns, as sums over some of them would run in another order
    return unit * np.sqrt(np.einsum("ij,ij->j", scaled, scaled, dtype=np.float64) / X.shape[0])


def powers_of_two(magnitudes: Any) -> Float:
    """Return the largest power of two below every magnitude; dividing by it changes no digit."""
    exponents = np.frexp(np.asarray(magnitudes, dtype=np.float64))[1] - 1
    return np.ldexp(1.0, np.maximum(exponents, np.finfo(np.float64).minexp))


def _shifted_columns(X: sp.csc_array, shift: Float) -> sp.csc_array:
    """Subtract a constant from the columns with a nonzero shift, which fills in their zeros.

    The mean of such a column is large compared to its standard deviation, so it has hardly any zeros.
    """
    columns = np.flatnonzero(shift)
    return with_dense_columns(X, columns, X[:, columns].toarray() - shift[columns]) if len(columns) else X


def _with_scaled_rows(part: Any, weights: Any) -> Any:
    return sp.diags_array(weights) @ part if sp.issparse(part) else weights[:, None] * part


def holding_dtype(values: Float, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return ``dtype``, or float64 if the largest of the values would overflow or underflow in it."""
    largest = float(np.abs(values).max())
    limits = np.finfo(dtype)
    return dtype if largest == 0.0 or float(limits.tiny) <= largest <= float(limits.max) else np.dtype(np.float64)


def column_moments(X: Any) -> tuple[Float, Float]:
    """Return the mean and the variance of every column, computed in two passes and in float64."""
    if sp.issparse(X):
        mean, variance = mean_variance_axis(X.astype(np.float64), axis=0)
        return mean, variance
    mean = X.mean(axis=0, dtype=np.float64)
    return mean, np.var(X, axis=0, dtype=np.float64, mean=mean[None, :])


def column_spreads(X: Any) -> tuple[Float, Float]:
    """Return the mean and the standard deviation of every column, even if the squares of its values underflow."""
    mean, variance = column_moments(X)
    deviation = np.sqrt(variance)
    tiny = np.flatnonzero(variance < SMALLEST_SAFE_SQUARE)
    if len(tiny):
        part = X[:, tiny].astype(np.float64)
        smallest, largest = column_extremes(part)
        unit = powers_of_two(magnitudes((smallest, largest)))
        _, variance = column_moments(part @ sp.diags_array(1.0 / unit) if sp.issparse(part) else part / unit)
        deviation[tiny] = unit * np.sqrt(variance)
    return mean, deviation


def column_extremes(X: Any) -> tuple[Any, Any]:
    """Return the smallest and the largest value of every column."""
    return min_max_axis(X, axis=0) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))


def constant_columns(
    X: Any, extremes: tuple[Any, Any] | None = None, *, scale: str | None = "standard"
) -> npt.NDArray[np.bool_]:
    """Return which columns hold only one value, up to rounding.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
    extremes : tuple of ndarray, optional
        The smallest and the largest value of every column, if known.
    scale : {"standard", "moderate"} or None
        How the columns will be scaled. Unless each gets a scale of its own ("standard"), a column is also constant if
        it varies so little compared to the others that the squares of its scaled values underflow.

    Returns
    -------
    ndarray of bool of shape (d,)
    """
    smallest, largest = column_extremes(X) if extremes is None else extremes
    constant = (smallest == largest) | rounded_columns(X, (smallest, largest))
    spread = largest.astype(np.float64) - smallest
    tiny = float(np.finfo(X.dtype).tiny)
    return np.asarray(constant | (spread <= max(tiny, np.sqrt(tiny) * common_spread(spread[~constant], scale))))


def rounded_columns(X: Any, extremes: tuple[Any, Any]) -> npt.NDArray[np.bool_]:
    """Return which columns vary, but by no more than rounding; ``extremes`` as in :func:`constant_columns`."""
    smallest, largest = extremes
    limits = np.finfo(X.dtype)
    size = magnitudes(extremes)
    # A standard deviation is at least (largest − smallest)/√(2n), so only narrow ranges need to be checked.
    spread = largest.astype(np.float64) - smallest
    narrow = spread <= largest_rounding(limits) * size * np.sqrt(2.0 * X.shape[0])
    doubtful = np.flatnonzero((smallest < largest) & narrow)
    rounded = np.zeros(X.shape[1], dtype=np.bool_)
    if len(doubtful):
        part = X[:, doubtful]
        _, deviation = column_spreads(part)
        rounded[doubtful] = differs_by_rounding(deviation, size[doubtful], whole_columns(part), limits)
    return rounded


def column_blocks(X: Columns) -> Iterator[tuple[slice, Float]]:
    """Iterate over slices of the columns of X and their dense float64 values; a sparse X is never dense as a whole."""
    n, d = X.shape
    # Callers allocate a few arrays of the size of a block, which should all fit into the cache of the processor.
    size = max(_FEWEST_COLUMNS, _BLOCK_BYTES // (8 * n))
    for block in gen_batches(d, min(d, size, max(1, affordable_rows(8 * n) // 10))):
        yield block, np.asarray(X.columns(block), dtype=np.float64)


def wide_column_blocks(X: Columns) -> Iterator[tuple[slice, Float]]:
    """The same in wider blocks, for products with a dense matrix, which is read once per block."""
    n, d = X.shape
    for block in gen_batches(d, min(d, _WIDE_BLOCK, max(1, affordable_rows(8 * n) // 10))):
        yield block, np.asarray(X.columns(block), dtype=np.float64)
