"""Work cut into blocks: their size follows scikit-learn's working memory, joblib spreads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.utils import gen_batches

from ufselect._backend.columns import Columns, Float

_LONGEST_BLOCK = 256
_BLOCK_BYTES = 2**19
_FEWEST_COLUMNS = 32


def affordable_rows(row_bytes: int) -> int:
    """How many rows of so many bytes fit into scikit-learn's ``working_memory``; at least one."""
    return max(1, int(get_config()["working_memory"] * 2**20) // row_bytes)


def map_row_blocks(
    function: Callable[[slice], Any], n_rows: int, row_bytes: int, n_jobs: int | None = None
) -> list[Any]:
    """Apply ``function`` to consecutive slices of the rows, in parallel, results in order.

    The cut depends on the problem alone, never on ``n_jobs``: so do the results, bit for bit.
    """
    size = min(_LONGEST_BLOCK, affordable_rows(row_bytes))
    return list(
        Parallel(n_jobs=n_jobs, prefer="threads")(delayed(function)(rows) for rows in gen_batches(n_rows, size))
    )


def column_blocks(X: Columns) -> Iterator[tuple[slice, Float]]:
    """Slices of the columns of X with their dense float64 values, so that a sparse X is never dense as a whole."""
    n, d = X.shape
    # Whoever walks through the blocks makes some arrays of their size: they should stay in the cache.
    size = max(_FEWEST_COLUMNS, _BLOCK_BYTES // (8 * n))
    for block in gen_batches(d, min(d, size, max(1, affordable_rows(8 * n) // 10))):
        yield block, np.asarray(X.columns(block), dtype=np.float64)
