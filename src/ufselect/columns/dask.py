"""The data matrix as a Dask array: products are sums over blocks of rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import gen_batches

from ufselect._utils.policy import LARGEST_DENSE_SYSTEM
from ufselect._utils.types import Float, Indices, Mask
from ufselect.columns.dense import Columns
from ufselect.columns.in_memory import columns_of_equal_extremes, first_of_equal_content
from ufselect.columns.moments import ColumnMoments, common_unit, divisors_of_moments, has_large_offsets

_VALUES_AT_ONCE = 2**22  # of a block that are converted to double precision
_BYTES_AT_ONCE = 2**25  # sent to the workers, or returned by them
_MOST_COLUMNS_IN_MEMORY = 100
_ALLOWED_TO_SEND = {"distributed.admin.large-graph-warning-threshold": "1GB"}


class DaskMatrix:
    """X as a Dask array or data frame, before columns are left out, centred and scaled.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n, d)
        Each of its blocks fits into the memory of a worker.
    """

    def __init__(self, X: Any) -> None:
        array: da.Array = X.to_dask_array(lengths=True) if hasattr(X, "to_dask_array") else X
        if array.ndim != 2:
            raise ValueError(f"X must be a matrix, but it has {array.ndim} dimension{'s' * (array.ndim != 1)}.")
        if array.dtype.kind not in "biuf":
            raise ValueError(f"X must hold real numbers, but its type is {array.dtype}.")
        self._blocks = RowBlocks(array)
        self.shape: tuple[int, int] = self._blocks.shape
        if self.shape[0] < 3 or self.shape[1] < 1:
            raise ValueError(f"X must have at least 3 samples and 1 feature, but its shape is {self.shape}.")
        self.dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)

    @cached_property
    def _moments(self) -> ColumnMoments:
        found = [part for _, part in self._blocks.each(_moments_of_block)]
        lengths, parts = zip(*found, strict=True)
        return ColumnMoments.joined(parts, lengths)

    def constant_columns(self, scale: str | None, names: Sequence[str] | None) -> Mask:
        """Return which columns hold only one value, up to rounding; raise an error if X cannot be fitted."""
        return self._moments.constant_columns(self.shape[0], np.finfo(self.dtype), scale, names=names)

    def first_equal_columns(self) -> Indices:
        """Return for every column the index of the first column with the same values, which may be itself."""
        doubtful = columns_of_equal_extremes((self._moments.smallest, self._moments.largest))
        contents = [b""] * len(doubtful)
        if len(doubtful):
            for _, digests in self._blocks.each(partial(_digests_of_columns, index=doubtful)):
                contents = [content + digest for content, digest in zip(contents, digests, strict=True)]
        return first_of_equal_content(self.shape[1], doubtful, contents)

    def computing(self) -> AbstractContextManager[None]:
        """Return a context for the products of a fit: nothing is to be set."""
        return nullcontext()

    def prepared(self, index: Indices, *, center: bool, scale: str | None) -> DaskColumns:
        """Return some columns, centred and scaled."""
        n = self.shape[0]
        if len(index) > min(n, LARGEST_DENSE_SYSTEM):
            raise ValueError(
                f"A Dask array may have at most as many features as samples, and at most {LARGEST_DENSE_SYSTEM:,}; "
                f"X has {n:,} samples and {len(index):,} features. Use X.compute() if it fits into memory."
            )
        mean, deviation = self._moments.mean[index], self._moments.deviation[index]
        divisor = divisors_of_moments(mean, deviation, center=center, scale=scale)
        dtype = self.dtype
        if not center and has_large_offsets(mean, deviation):
            dtype = np.dtype(np.float64)
        prepare = Preparation(index, mean if center else np.zeros_like(mean), divisor, dtype)
        return DaskColumns(self._blocks, prepare, mean, centered=center, unit=common_unit(divisor, scale))


@dataclass(frozen=True)
class Preparation:
    """How a block of X is prepared: which columns, what is subtracted from them, and their scale and precision."""

    index: Indices
    offset: Float
    divisor: Float
    dtype: np.dtype[Any]

    def pieces(self, block: Any) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        """Yield slices of the rows of a block and their prepared values."""
        for rows, part in dense_pieces(block):
            values = part[:, self.index] - self.offset  # in double precision, as offsets may be far larger
            values /= self.divisor
            yield rows, values.astype(self.dtype, copy=False)

    def gram(self, block: Any) -> Float:
        """XᵀX of a block."""
        return sum(((V.T @ V).astype(np.float64) for _, V in self.pieces(block)), start=np.zeros(()))

    def transposed_product(self, block: Any, B: Float) -> Float:
        """XᵀB of a block and the rows of B that belong to it."""
        return sum(((V.T @ B[rows]).astype(np.float64) for rows, V in self.pieces(block)), start=np.zeros(()))

    def product(self, block: Any, B: Float) -> Float:
        """XB of a block."""
        return np.concatenate([V @ B for _, V in self.pieces(block)])

    def columns(self, block: Any) -> npt.NDArray[Any]:
        """The prepared values of a block."""
        return np.concatenate([V for _, V in self.pieces(block)])


class DaskColumns(Columns):
    """Some columns of a Dask array, less an offset and divided by a scale.

    Everything with a row per sample that it returns is in memory. What :class:`Columns` can do beyond that needs all
    values at once, and raises an error.

    Parameters
    ----------
    blocks : RowBlocks
    prepare : Preparation
    means : ndarray of shape (d,)
        Means of the columns, before anything is subtracted.
    centered : bool
        Whether the offset is these means.
    unit : float
        The power of two by which all columns are divided if they are not scaled.
    """

    def __init__(
        self, blocks: RowBlocks, prepare: Preparation, means: Float, *, centered: bool, unit: float = 1.0
    ) -> None:
        self._blocks, self._prepare, self._means = blocks, prepare, means
        self.centered, self.unit = centered, unit
        self.offset = None
        self.shape = (blocks.shape[0], len(prepare.index))
        self.dtype = prepare.dtype

    @property
    def values(self) -> Any:
        """Raise an error: the values are not in memory."""
        raise ValueError(
            "These settings need all values of X at once, but X is a Dask array. Use X.compute(), or the default "
            "parameters of KernelFSASL."
        )

    @property
    def by_row(self) -> Any:
        """Raise the same error."""
        return self.values

    def __matmul__(self, B: Float) -> Float:
        """XB."""
        weights = np.ascontiguousarray(B, dtype=self.dtype)
        product = np.empty((self.shape[0], B.shape[1]))
        for rows, part in self._blocks.each(partial(self._prepare.product, B=weights), weights[:1].nbytes):
            product[rows] = part
        return product

    def transposed_matmul(self, B: Float) -> Float:
        """XᵀB."""
        return self._blocks.total(self._prepare.transposed_product, B.astype(self.dtype, copy=False))

    @cached_property
    def _gram(self) -> Float:
        return self._blocks.total(self._prepare.gram)

    def gram(self, index: Indices | slice = slice(None), weights: Float | None = None) -> Float:
        """XᵀX of the columns with the given indices."""
        if weights is not None:
            return super().gram(index, weights)  # raises
        return self._gram[index][:, index]

    def squared_norms(self) -> Float:
        """‖xⱼ‖² of every column."""
        return self._gram.diagonal().copy()

    def subset(self, index: Indices) -> DaskColumns:
        """Return the columns with the given indices."""
        old = self._prepare
        part = DaskColumns(
            self._blocks,
            Preparation(old.index[index], old.offset[index], old.divisor[index], old.dtype),
            self._means[index],
            centered=self.centered,
        )
        if "_gram" in vars(self):
            part._gram = self.gram(index)
        return part

    def columns(self, index: Indices | slice) -> Float:
        """Return the columns with the given indices, in memory."""
        part = self.subset(np.arange(self.shape[1])[index])
        blocks = self._blocks.each(part._prepare.columns, part.shape[1] * self.dtype.itemsize)
        return np.concatenate([values for _, values in blocks])

    def samples(self) -> Columns:
        """The columns with their values in memory, which is for few of them."""
        if self.shape[1] > _MOST_COLUMNS_IN_MEMORY:
            return self.values
        return Columns(self.columns(slice(None)), centered=self.centered)

    def less_means(self, weights: Float | None = None) -> DaskColumns:
        """Subtract the means of the columns."""
        if weights is not None:
            return self.values
        return DaskColumns(self._blocks, replace(self._prepare, offset=self._means), self._means, centered=True)


class RowBlocks:
    """The blocks of rows of a Dask array, each of which some worker computes whenever it is needed.

    What a block needs is part of its task, so that another worker can repeat the task if one dies.

    Parameters
    ----------
    X : dask.array.Array of shape (n, d)
        Its chunks may be dense or sparse.
    """

    def __init__(self, X: da.Array) -> None:
        X = _in_chunks_of_rows(X)
        ends = np.cumsum(X.chunks[0])
        self.shape: tuple[int, int] = (int(ends[-1]), X.shape[1])
        self._rows = [slice(int(end) - size, int(end)) for size, end in zip(X.chunks[0], ends, strict=True)]
        self._blocks = X.to_delayed().ravel().tolist()

    def each(self, task: Callable[[Any], Any], row_bytes: int = 0) -> Iterator[tuple[slice, Any]]:
        """Yield the slices of the rows of all blocks, in order, and what a task returns for a block.

        Parameters
        ----------
        task : callable
            Its argument is the block.
        row_bytes : int, default=0
            Size of the result per row of X, if it depends on the number of rows.
        """
        call = dask.delayed(task, pure=False)
        for batch in self._batches(row_bytes):
            yield from zip(self._rows[batch], _computed([call(block) for block in self._blocks[batch]]), strict=True)

    def total(self, task: Callable[..., Any], by_row: Any = None) -> Any:
        """Add up what a task returns for all blocks.

        Parameters
        ----------
        task : callable
            Its arguments are the block and, if given, the rows of ``by_row`` that belong to it.
        by_row : ndarray of shape (n, …), optional
            An array in memory with a row for each row of X.
        """
        call = dask.delayed(task, pure=False)
        total: Any = 0.0
        for batch in self._batches(0 if by_row is None else by_row[:1].nbytes):
            parts = [
                call(block, *(() if by_row is None else (by_row[rows],)))
                for rows, block in zip(self._rows[batch], self._blocks[batch], strict=True)
            ]
            total = total + _computed([_sum_of(parts)])[0]
        return total

    def _batches(self, row_bytes: int) -> Iterator[slice]:
        """Yield slices of the blocks, few enough for what is sent or returned at once."""
        longest = max(rows.stop - rows.start for rows in self._rows)
        at_once = max(1, _BYTES_AT_ONCE // max(1, row_bytes * longest))
        return gen_batches(len(self._rows), min(at_once, len(self._rows)))


def _in_chunks_of_rows(X: da.Array) -> da.Array:
    """Return X with known chunks, each of which holds whole rows, and none of which is empty."""
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        X = X.compute_chunk_sizes()
    sizes = tuple(size for size in X.chunks[0] if size)
    return X if X.chunks == (sizes, (X.shape[1],)) else X.rechunk((sizes, (X.shape[1],)))


def _sum_of(parts: list[Any]) -> Any:
    """Return a task that adds up the results of others by pairs, so that few of them are in memory at a time."""
    add = dask.delayed(_added, pure=False)
    while len(parts) > 1:
        parts = [add(*parts[start : start + 2]) for start in range(0, len(parts), 2)]
    return parts[0]


def _added(first: Any, second: Any = None) -> Any:
    return first if second is None else first + second


def _computed(tasks: list[Any]) -> tuple[Any, ...]:
    # Only if it is imported: its defaults would be gone after the block if they were loaded in between.
    with dask.config.set(_ALLOWED_TO_SEND if "distributed" in sys.modules else {}):
        return dask.compute(*tasks)


def dense_pieces(block: Any) -> Iterator[tuple[slice, Any]]:
    """Yield slices of the rows of a block and their dense values, a few at a time."""
    for rows in gen_batches(block.shape[0], max(1, _VALUES_AT_ONCE // max(1, block.shape[1]))):
        part = block[rows]
        yield rows, part.toarray() if sp.issparse(part) else np.asarray(part)


def _moments_of_block(block: Any) -> tuple[int, ColumnMoments]:
    found = [(len(part), ColumnMoments.of_rows(part)) for _, part in dense_pieces(block)]
    lengths, parts = zip(*found, strict=True)
    return sum(lengths), ColumnMoments.joined(parts, lengths)


def _digests_of_columns(block: Any, index: Indices) -> list[bytes]:
    """Return a digest of the values of every column in a block; zero and minus zero are the same value."""
    digests = [blake2b(digest_size=16) for _ in index]
    for values in _columns_of_pieces(block, index):
        for digest, column in zip(digests, values, strict=True):
            digest.update(column)
    return [digest.digest() for digest in digests]


def _columns_of_pieces(block: Any, index: Indices) -> Iterator[npt.NDArray[Any]]:
    for _, part in dense_pieces(block):
        yield np.ascontiguousarray(part[:, index].T) + 0.0
