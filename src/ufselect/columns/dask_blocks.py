"""Work on the blocks of rows of a Dask array."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

_VALUES_AT_ONCE = 2**22  # of a block that are converted to double precision
_BYTES_AT_ONCE = 2**25  # sent to the workers, or returned by them
_ALLOWED_TO_SEND = {"distributed.admin.large-graph-warning-threshold": "1GB"}


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
