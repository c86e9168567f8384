"""The data matrix as every method sees it: columns centred and scaled, sparse input kept sparse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import inplace_column_scale

from ufselect._utils.memory import affordable_rows, ensure_fits
from ufselect._utils.policy import LARGEST_DENSE_SYSTEM, MEAN_TO_SHIFT, SMALLEST_SINGLE_PRECISION_SPECTRUM
from ufselect._utils.threads import threads_for
from ufselect._utils.types import Float, Indices, Mask
from ufselect.columns.moments import (
    amplitudes,
    column_extremes,
    column_moments,
    column_spreads,
    common_unit,
    divisors,
    divisors_of_moments,
    dtype_beside_offsets,
    root_mean_squares,
)
from ufselect.columns.sparse_products import sparse_product, sparse_self_product

if TYPE_CHECKING:
    from ufselect.columns.batches import Batches

_BLOCK_BYTES = 2**19
_FEWEST_COLUMNS = 32
_WIDE_BLOCK = 1024
_MOST_KEPT = LARGEST_DENSE_SYSTEM // 2  # columns whose products are kept


class Columns:
    """X with centred and scaled columns.

    A dense X is stored centred. A sparse X is stored scaled but not centred, so that it stays sparse; products subtract
    the means, of all samples or of b batches, implicitly: ``(V - EᵀO) B = V B - Eᵀ(O B)`` with the indicator E of
    batches, a row of ones if there are none. Products are computed in the precision of X and returned as float64, like
    all small matrices.

    Parameters
    ----------
    values : ndarray or sparse array of shape (n, d)
        Scaled columns; centred already if dense.
    offset : ndarray of shape (d,) or (b, d), or None
        O, to be subtracted from the columns of ``values``, such as their means; None for zero.
    centered : bool
        Whether the columns sum to zero.
    unit : float
        The power of two by which all columns were divided if they are not scaled.
    batches : Batches, optional
        The batch of every sample, if each has a row of O. Only a neighbour search needs all values then, which are
        dense, at once.
    """

    batches: Batches | None = None
    _kept_products: tuple[Indices, Float] | None = None
    distance_weights: Float | None = None
    """What each column is multiplied by in distances between samples, such as 1/√m in a group of m; None for 1."""

    def __init__(
        self,
        values: Any,
        offset: Float | None = None,
        *,
        centered: bool = False,
        unit: float = 1.0,
        batches: Batches | None = None,
    ) -> None:
        self.values = values
        self.offset: Float | None = None if offset is None else np.atleast_2d(offset)
        self.centered = centered
        self.unit = unit
        self.batches = batches
        self.shape: tuple[int, int] = values.shape
        self.dtype: np.dtype[Any] = values.dtype

    @classmethod
    def prepared(cls, X: Any, *, center: bool, scale: str | None, among: Mask | slice = slice(None)) -> Columns:
        """Centre the columns of X and divide each by its scale.

        With a standard deviation s_j, the scale is s_j ("standard"), s_j + s̃ with s̃ the median of all s_j ("moderate":
        columns that hardly vary stay small), or the same for all columns (None). The common scale is a power of two
        that brings the root mean square of the result near to 1: it changes no digit of the data and keeps their
        squares within the range of float32.

        If units differ, "moderate" divides by the amplitude s_j√κ_j instead, with the kurtosis κ_j: columns whose
        variance comes from few samples stay small. The variance of a column is then 1/κ_j = (Σx²)²/(nΣx⁴), the share
        of samples that it comes from. ``among`` says which columns tell s̃ and whether units differ.
        """
        if sp.issparse(X):
            mean, deviation = column_spreads(X)
            values = X.tocsc(copy=True)
            amplitude = partial(amplitudes, values, mean, deviation)
            divisor = divisors_of_moments(mean, deviation, amplitude, center=center, scale=scale, among=among)
            shift = np.where(np.abs(mean) > MEAN_TO_SHIFT * deviation, mean, 0.0)
            values = _shifted_columns(values, shift)
            inplace_column_scale(values, 1.0 / divisor)
            offset = ((mean if center else 0.0) - shift) / divisor
            return cls(values, offset if offset.any() else None, centered=center, unit=common_unit(divisor, scale))
        if not center:
            X = X.astype(dtype_beside_offsets(X), copy=False)
        deviations = X - X.mean(axis=0, dtype=np.float64) if center or scale else X
        roots = root_mean_squares(deviations)
        divisor = divisors(roots, scale, partial(amplitudes, deviations, 0.0, roots), among)
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
        """The stored values in a layout with fast access to rows; dense ones if there are batches."""
        if self.batches is None:
            return self._stored_rows
        n, d = self.shape
        ensure_fits(8 * n * d, f"{n:,} samples centred within batches", "use KernelFSASL, which needs no dense copy")
        return self.rows(slice(None))

    @cached_property
    def _stored_rows(self) -> Any:
        return self.values.tocsr() if sp.issparse(self.values) else self.values

    def _of_samples(self, M: Float) -> Float:
        """EᵀM: the row of M for the batch of every sample, or the only one, to be broadcast."""
        return M if self.batches is None else M[self.batches.codes]

    def _of_batches(self, B: Any) -> Float:
        """EB: the sums of the rows of B within batches, or over all samples."""
        if self.batches is not None:
            return self.batches.indicator @ B
        return np.asarray(B.sum(axis=0, dtype=np.float64)).reshape(1, *B.shape[1:])

    def _like(self, values: Any, offset: Float | None, *, centered: bool | None = None) -> Columns:
        """Other values and offsets of the same samples."""
        known = self.centered if centered is None else centered
        return Columns(values, offset, centered=known, batches=self.batches)

    def __matmul__(self, B: Float) -> Float:
        """X B."""
        with threads_for(2.0 * self.values.size * B[:1].size):
            product = self._stored_rows @ B.astype(self.dtype, copy=False)
        if self.offset is not None:
            product = product - self._of_samples(self.offset @ B)
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
        return self._like(self.values[:, index], None if self.offset is None else self.offset[:, index])

    def transposed_matmul(self, B: Float) -> Float:
        """Xᵀ B."""
        with threads_for(2.0 * self.values.size * B[:1].size):
            product = self.values.T @ B.astype(self.dtype, copy=False)
        if self.offset is not None:
            product = product - self.offset.T @ self._of_batches(B)
        return np.asarray(product, dtype=np.float64)

    def inner_products(self, rows: Float) -> Float:
        """R Xᵀ for rows R of shape (b, d), in C order."""
        if not sp.issparse(self.values):
            with threads_for(2.0 * self.values.size * len(rows)):
                return np.asarray(rows.astype(self.dtype, copy=False) @ self.values.T, dtype=np.float64)
        return np.ascontiguousarray((self @ rows.T).T)

    def columns(self, index: Indices | slice) -> Float:
        """Return the columns with the given indices as a dense (n, len(index)) array."""
        dense = _filled_in(self.values[:, index])
        return dense if self.offset is None else dense - self._of_samples(self.offset[:, index]).astype(dense.dtype)

    def rows(self, index: Indices | slice) -> Float:
        """Return the rows with the given indices as a dense (len(index), d) array."""
        dense = _filled_in(self._stored_rows[index])
        if self.offset is None:
            return dense
        offset = self.offset if self.batches is None else self.offset[self.batches.codes[index]]
        return dense - offset.astype(dense.dtype)

    def gram(self, index: Indices | slice = slice(None), weights: Float | None = None) -> Float:
        """XᵀX, or Xᵀ diag(w) X with w ≥ 0, of the columns with the given indices, as a dense array."""
        part = self.values[:, index]
        # A product of a matrix with its own transpose takes half the time of any other.
        half = part
        if weights is not None:
            root = np.sqrt(weights).astype(self.dtype)
            half = sp.diags_array(root) @ part if sp.issparse(part) else root[:, None] * part
        with threads_for(float(part.size) * part.shape[1]):
            product = sparse_self_product(half.T) if sp.issparse(half) else half.T @ half
        if self.offset is not None:
            # (V−EᵀO)ᵀ D (V−EᵀO) = VᵀDV − SᵀO − OᵀS + Oᵀ diag(ED1) O with S = EDV.
            weights = np.ones(self.shape[0]) if weights is None else weights
            weighted = weights[None] if self.batches is None else self.batches.indicator * weights
            sums, offset = _filled_in(weighted @ part), self.offset[:, index]
            _subtract_products(product, (sums, offset), (sums, offset), self._of_batches(weights))
        return np.asarray(product, dtype=np.float64)

    def kept_gram(self, index: Indices) -> Float:
        """XᵀX of some columns, as ``gram`` returns it; products are kept for the next sets, which mostly overlap."""
        if len(index) > _MOST_KEPT:
            return self.gram(index)
        known, kept = self._kept_products or (np.empty(0, dtype=np.intp), np.empty((0, 0)))
        new = np.setdiff1d(index, known)
        if len(known) + len(new) > _MOST_KEPT:
            known, new, self._kept_products = known[:0], np.unique(index), None
            kept = np.empty((0, 0))
        if len(new):
            products = self.gram(new)
            if len(known):
                beside = self._products_between(known, new)
                products = np.block([[kept, beside], [beside.T, products]])
            kept = products
            known = np.concatenate([known, new])
            self._kept_products = known, kept
        if np.array_equal(known, index):
            return kept
        order = np.argsort(known)
        places = order[np.searchsorted(known, index, sorter=order)]
        return kept[np.ix_(places, places)]

    def _products_between(self, index: Indices, others: Indices) -> Float:
        """XᵀX between two sets of columns."""
        one, other = self.values[:, index], self.values[:, others]
        with threads_for(2.0 * self.shape[0] * len(index) * len(others)):
            product = sparse_product(one.T, other) if sp.issparse(one) else one.T @ other
        if self.offset is not None:
            left = _filled_in(self._of_batches(one)), self.offset[:, index]
            right = _filled_in(self._of_batches(other)), self.offset[:, others]
            _subtract_products(product, left, right, self._of_batches(np.ones(self.shape[0])))
        return np.asarray(product, dtype=np.float64)

    def row_gram(self, weights: Float | None = None) -> Float:
        """XXᵀ, or X diag(w) Xᵀ with w ≥ 0, as a dense (n, n) array."""
        X = self if weights is None else self.scaled(np.sqrt(weights))
        with threads_for(float(X.values.size) * X.shape[0]):
            if not sp.issparse(X.values):
                return np.asarray(X.values @ X.values.T, dtype=np.float64)
            product = sparse_self_product(X.values)
        if X.offset is not None:
            cross = self._of_samples((X._stored_rows @ X.offset.T).T)
            product += self._of_samples(self._of_samples(X.offset @ X.offset.T).T) - cross.T - cross
        return product

    def samples(self) -> Any:
        """The samples by rows, for distances between them: these columns, if they are in memory."""
        return self.for_distances()

    def for_distances(self) -> Self:
        """The columns as they count in distances between samples: these, unless some have weights."""
        if self.distance_weights is None:
            return self
        weighted: Any = self.scaled(self.distance_weights)
        weighted.distance_weights = None
        return weighted

    def in_double_precision(self) -> Columns:
        """The same columns with float64 values."""
        return self._like(self.values.astype(np.float64, copy=False), self.offset)

    def squared_norms(self) -> Float:
        """‖xⱼ‖² of every column."""
        if sp.issparse(self.values):
            squares = np.asarray(self.values.power(2).sum(axis=0), dtype=np.float64).ravel()
            if self.offset is not None:
                products = _filled_in(self._of_batches(self.values)) * self.offset
                squares += self._of_batches(np.ones(self.shape[0])) @ self.offset**2 - 2.0 * products.sum(axis=0)
            return np.maximum(squares, 0.0)
        return np.einsum("ij,ij->j", self.values, self.values, dtype=np.float64)

    def squared_row_norms(self) -> Float:
        """‖xᵢ‖² of every sample."""
        rows = self._stored_rows
        if not sp.issparse(rows):
            return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        squares = np.asarray(rows.power(2).sum(axis=1, dtype=np.float64)).ravel()
        if self.offset is not None:
            cross = rows @ self.offset.T
            own = cross[:, 0] if self.batches is None else cross[np.arange(len(cross)), self.batches.codes]
            squares += self._of_samples(np.sum(self.offset**2, axis=1)) - 2.0 * own
        return np.maximum(squares, 0.0)

    def mean_squared_distance(self) -> float:
        """The mean of ‖xᵢ−xⱼ‖² over all n² pairs of samples, twice the summed variance of the columns."""
        if self.centered or self.batches is not None:
            X = self if self.centered else self.less_means()
            return 2.0 * float(X.squared_norms().sum()) / self.shape[0]
        _, variance = column_moments(self.values)
        return 2.0 * float(variance.sum())

    def less_means(self, weights: Float | None = None) -> Columns:
        """Subtract the means of the columns, weighted over the samples if weights are given."""
        means = self.means(weights)
        if sp.issparse(self.values):
            offset = means if self.offset is None else self.offset + means
            return self._like(self.values, offset, centered=weights is None)
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
        scaled = self._like(values, None if self.offset is None else self.offset * weights)
        scaled.distance_weights = self.distance_weights
        return scaled

    def shuffled(self, rng: np.random.RandomState) -> Columns:
        """Return every column with its values in a random order of its own, within batches if there are any."""
        if self.batches is not None:
            return self._like(sp.csc_array(self.batches.shuffled(self.values, rng)), self.offset)
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
        return self._like(values, self.offset)


def _subtract_products(product: Float, left: Any, right: Any, sizes: Float) -> None:
    """Subtract SᵀO' + OᵀS' − Oᵀ diag(sizes) O' in place, for the sums S and offsets O of the left and right columns."""
    (sums, offset), (other_sums, other_offset) = left, right
    sums, other_sums = (S - 0.5 * sizes[:, None] * O for S, O in (left, right))
    for rows in gen_batches(len(product), _WIDE_BLOCK):
        product[rows] -= sums[:, rows].T @ other_offset + offset[:, rows].T @ other_sums


def _filled_in(part: Any) -> Float:
    return np.asarray(part.toarray() if sp.issparse(part) else part)


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


def squared_norm_of_products(X: Columns) -> float:
    """Return ‖XᵀX‖² or ‖XXᵀ‖², which are equal, by blocks of the smaller product."""
    n, d = X.shape
    if d <= n:
        products = (X.transposed_matmul(values) for _, values in wide_column_blocks(X))
    else:
        rows = gen_batches(n, min(n, affordable_rows(8 * d)))
        products = (X.inner_products(X.rows(block)) for block in rows)
    return sum(float(np.sum(product**2)) for product in products)


def holding_dtype(values: Float, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return ``dtype``, or float64 if the largest of the values would overflow or underflow in it."""
    largest = max(float(values.max()), -float(values.min()))  # the magnitudes of many samples would be a copy
    limits = np.finfo(dtype)
    return dtype if largest == 0.0 or float(limits.tiny) <= largest <= float(limits.max) else np.dtype(np.float64)


def _shifted_columns(X: sp.csc_array, shift: Float) -> sp.csc_array:
    """Subtract a constant from the columns with a nonzero shift, which fills in their zeros.

    The mean of such a column is large compared to its standard deviation, so it has hardly any zeros.
    """
    columns = np.flatnonzero(shift)
    return with_dense_columns(X, columns, X[:, columns].toarray() - shift[columns]) if len(columns) else X


def canonical(X: Any) -> Any:
    """Return a sparse X with sorted 32-bit indices, without duplicate entries and without explicit zeros.

    X itself is not modified, and neither are its cached flags. The result shares the arrays of X if they are canonical
    already. A dense X is returned unchanged.
    """
    if not sp.issparse(X):
        return X
    # A new object, because SciPy caches flags in the object that is asked for them.
    clean = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
    if not clean.has_canonical_format:
        clean = clean.copy()
        clean.sum_duplicates()
    if not clean.data.all():
        clean = clean.copy()
        clean.eliminate_zeros()
    return _with_short_indices(clean)


def with_dense_columns(X: sp.csc_array, columns: Indices, dense: Float) -> sp.csc_array:
    """Replace some columns, whose indices ascend, by dense ones."""
    n, lengths = X.shape[0], np.diff(X.indptr)
    is_light = np.ones(X.shape[1], dtype=bool)
    is_light[columns] = False
    kept = np.repeat(is_light, lengths)
    light = sp.csc_array((X.data[kept], X.indices[kept], _pointers(np.where(is_light, lengths, 0))), shape=X.shape)
    rows = np.tile(np.arange(n), len(columns))
    heavy = sp.csc_array((dense.ravel(order="F"), rows, _pointers(np.where(is_light, 0, n))), shape=X.shape)
    return _with_short_indices(sp.csc_array(light + heavy))


def _pointers(lengths: Any) -> Indices:
    return np.concatenate([[0], np.cumsum(lengths)])


def _with_short_indices(X: Any) -> Any:
    """Convert the indices of X to 32 bits if they fit; parts of scikit-learn require it."""
    if X.nnz <= np.iinfo(np.int32).max:
        X.indices, X.indptr = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32, copy=False)
    return X


def gram_is_affordable(X: Columns) -> bool:
    """Whether a (d, d) array is smaller than X and not too large."""
    return X.shape[1] <= min(X.shape[0], LARGEST_DENSE_SYSTEM)


def affordable_gram(X: Columns) -> Float | None:
    """XᵀX if it is affordable, else None."""
    return X.gram() if gram_is_affordable(X) else None
