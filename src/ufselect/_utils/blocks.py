"""Work in blocks whose size follows scikit-learn's working memory, run in parallel by joblib."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from sklearn import get_config
from sklearn.utils import gen_batches

_LONGEST_BLOCK = 256
_FEWEST_ROWS_OF_A_THREAD = 5000  # fewer take less time than starting it


def affordable_rows(row_bytes: int) -> int:
    """Return the number of rows of ``row_bytes`` bytes that fit into scikit-learn's ``working_memory``, at least 1."""
    return max(1, int(get_config()["working_memory"] * 2**20) // row_bytes)


def map_row_blocks(
    function: Callable[[slice], Any], n_rows: int, row_bytes: int, n_jobs: int | None = None
) -> list[Any]:
    """Apply ``function`` to consecutive slices of the rows in parallel and return the results in order.

    The blocks depend only on the problem, never on ``n_jobs`` or the joblib backend, and so do the results, bit for
    bit. The work always runs in threads: blocks are short and share all of their data, so sending them to the
    processes of a backend such as "loky" or "dask" would cost more than the work itself. ``function`` must return
    its result, not write it into an array of the caller.

    Parameters
    ----------
    function : callable
        Maps a slice of rows to a result.
    n_rows : int
        Number of rows to divide into blocks.
    row_bytes : int
        Memory that ``function`` needs for a row.
    n_jobs : int, optional
        Number of threads. None means 1, or the number set by ``joblib.parallel_config``.

    Returns
    -------
    list
        One result per block.
    """
    blocks = gen_batches(n_rows, min(_LONGEST_BLOCK, affordable_rows(row_bytes)))
    return list(
        Parallel(n_jobs=number_of_threads(n_jobs), require="sharedmem")(delayed(function)(rows) for rows in blocks)
    )


def in_threads(fill: Callable[[slice], None], n_rows: int, n_jobs: int | None = None) -> None:
    """Fill the rows of an array in parallel; no row may depend on another.

    Parameters
    ----------
    fill : callable
        Computes the rows of a slice.
    n_rows : int
        Number of rows.
    n_jobs : int, optional
        Number of threads, as in :func:`map_row_blocks`.
    """
    count = effective_n_jobs(number_of_threads(n_jobs))
    if count == 1 or n_rows < _FEWEST_ROWS_OF_A_THREAD * count:
        fill(slice(0, n_rows))
        return
    blocks = gen_batches(n_rows, -(-n_rows // count))
    Parallel(n_jobs=count, require="sharedmem")(delayed(fill)(rows) for rows in blocks)


def number_of_threads(n_jobs: int | None) -> int:
    """``n_jobs`` or, if it is None, the number of jobs of the active joblib backend, at most one per processor.

    joblib itself would use a single thread if threads replace the processes of the active backend.
    """
    return min(effective_n_jobs(None), cpu_count()) if n_jobs is None else n_jobs
