"""The data matrix as a Dask array: products are sums over blocks of rows."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
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
from ufselect.columns.moments import ColumnMoments, has_large_offsets
from ufselect.columns.streamed import Preparation, StreamedColumns

_VALUES_AT_ONCE = 2**22  # of a block that are converted to double precision
_BYTES_AT_ONCE = 2**25  # sent to the workers, or returned by them
_MOST_COLUMNS_IN_MEMORY = 100
_ALLOWED_TO_SEND = {"distributed.admin.large-graph-warning-threshold": "1GB"}


class DaskMatrix:
    """X as a Dask array or data frame, each block of which fits into the memory of a worker."""

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

    def statistics(self, names: Iterable[str]) -> Mapping[str, Float]:
        """Return statistics of every column by name; raise an error for one that needs an array in memory."""
        return self._moments.named(names)

    def first_equal_columns(self) -> Indices:
        """Return for every column the index of the first column with the same values, which may be itself."""
        doubtful = columns_of_equal_extremes((self._moments.smallest, self._moments.largest))
        contents = [b""] * len(doubtful)
        if len(doubtful):
            for _, digests in self._blocks.each(partial(_digests_of_columns, index=doubtful)):
                contents = [content + digest for content, digest in zip(contents, digests, strict=True)]
        return first_of_equal_content(self.shape[1], doubtful, contents)

    def rows(self, index: Indices) -> Any:
        """Return some rows as they are, in memory; their indices ascend."""
        return self._blocks.some_rows(index)

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
        large = not center and has_large_offsets(self._moments.mean[index], self._moments.deviation[index])
        dtype = np.float64 if large else self.dtype
        return DaskColumns.of_moments(self._blocks, self._moments, index, dtype, center=center, scale=scale)


def _pieces(block: Any, prepare: Preparation) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Yield slices of the rows of a block and their prepared values."""
    for rows, part in dense_pieces(block):
        values = part[:, prepare.index] - prepare.offset  # in double precision, as offsets may be far larger
        values /= prepare.divisor
        yield rows, values.astype(prepare.dtype, copy=False)


def _gram_of_block(block: Any, prepare: Preparation) -> Float:
    return sum(((V.T @ V).astype(np.float64) for _, V in _pieces(block, prepare)), start=np.zeros(()))


def _transposed_product(block: Any, B: Float, prepare: Preparation) -> Float:
    """XᵀB of a block and the rows of B that belong to it."""
    return sum(((V.T @ B[rows]).astype(np.float64) for rows, V in _pieces(block, prepare)), start=np.zeros(()))


def _product(block: Any, prepare: Preparation, B: Float) -> Float:
    return np.concatenate([V @ B for _, V in _pieces(block, prepare)])


def _prepared_values(block: Any, prepare: Preparation) -> npt.NDArray[Any]:
    return np.concatenate([V for _, V in _pieces(block, prepare)])


class DaskColumns(StreamedColumns):
    """Some columns of a Dask array. Everything with a row per sample that they return is in memory."""

    _refusal = (
        "These settings need all values of X at once, but X is a Dask array. Use X.compute(), or the default "
        "parameters of KernelFSASL."
    )

    def __matmul__(self, B: Float) -> Float:
        """XB."""
        weights = np.ascontiguousarray(B, dtype=self.dtype)
        product = np.empty((self.shape[0], B.shape[1]))
        task = partial(_product, prepare=self._prepare, B=weights)
        for rows, part in self._source.each(task, weights[:1].nbytes):
            product[rows] = part
        return product

    def transposed_matmul(self, B: Float) -> Float:
        """XᵀB."""
        task = partial(_transposed_product, prepare=self._prepare)
        return self._source.total(task, B.astype(self.dtype, copy=False))

    @cached_property
    def _gram(self) -> Float:
        return self._source.total(partial(_gram_of_block, prepare=self._prepare))

    def columns(self, index: Indices | slice) -> Float:
        """Return the columns with the given indices, in memory."""
        part = self.subset(np.arange(self.shape[1])[index])
        task = partial(_prepared_values, prepare=part._prepare)
        return np.concatenate([values for _, values in self._source.each(task, part.shape[1] * self.dtype.itemsize)])

    def samples(self) -> Columns:
        """The columns with their values in memory, which is for few of them."""
        if self.shape[1] > _MOST_COLUMNS_IN_MEMORY:
            return self.values
        return Columns(self.for_distances().columns(slice(None)), centered=self.centered)


class RowBlocks:
    """The blocks of rows of a Dask array, dense or sparse, each of which some worker computes whenever it is needed.

    What a block needs is part of its task, so that another worker can repeat the task if one dies.
    """

    def __init__(self, X: da.Array) -> None:
        X = _in_chunks_of_rows(X)
        ends = np.cumsum(X.chunks[0])
        self.shape: tuple[int, int] = (int(ends[-1]), X.shape[1])
        self._rows = [slice(int(end) - size, int(end)) for size, end in zip(X.chunks[0], ends, strict=True)]
        self._blocks = X.to_delayed().ravel().tolist()

    def each(self, task: Callable[[Any], Any], row_bytes: int = 0) -> Iterator[tuple[slice, Any]]:
        """Yield the slices of the rows of all blocks, in order, and what a task returns for a block.

        ``row_bytes`` is the size of the result per row of X, if it depends on the number of rows.
        """
        call = dask.delayed(task, pure=False)
        for batch in self._batches(row_bytes):
            yield from zip(self._rows[batch], _computed([call(block) for block in self._blocks[batch]]), strict=True)

    def total(self, task: Callable[..., Any], by_row: Any = None) -> Any:
        """Add up what a task returns for all blocks and, if given, the rows of ``by_row`` that belong to them."""
        call = dask.delayed(task, pure=False)
        total: Any = 0.0
        for batch in self._batches(0 if by_row is None else by_row[:1].nbytes):
            parts = [
                call(block, *(() if by_row is None else (by_row[rows],)))
                for rows, block in zip(self._rows[batch], self._blocks[batch], strict=True)
            ]
            total = total + _computed([_sum_of(parts)])[0]
        return total

    def some_rows(self, index: Indices) -> Any:
        """Return some rows, in memory; their indices ascend."""
        call = dask.delayed(operator.getitem, pure=False)
        ends = np.searchsorted(index, [rows.stop for rows in self._rows])
        pieces = zip(self._rows, self._blocks, np.concatenate([[0], ends[:-1]]), ends, strict=True)
        parts = _computed(
            [call(block, index[first:last] - rows.start) for rows, block, first, last in pieces if last > first]
        )
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)

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
    for _, part in dense_pieces(block):
        for digest, column in zip(digests, np.ascontiguousarray(part[:, index].T) + 0.0, strict=True):
            digest.update(column)
    return [digest.digest() for digest in digests]
