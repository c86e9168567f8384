"""Threads: those of numerical libraries, one within a fit and all for large calls; and work in blocks, by joblib.

NumPy and SciPy each bring a linear algebra library with a thread pool of its own, scikit-learn uses OpenMP. After a
call, the threads of a pool keep their cores busy for a while, waiting for the next one. A fit that alternates between
pools takes twice the processor time and more wall time than with one thread, on a busy machine many times as much.
Threads only pay off in long calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from sklearn.utils import gen_batches
from threadpoolctl import OpenBLASController, ThreadpoolController

from ufselect._utils.memory import affordable_rows

LARGE = 2e9
"""Number of multiplications and additions from which a call may use all threads: about 50 ms on one core."""

_LONGEST_BLOCK = 256
_FEWEST_ROWS_OF_A_THREAD = 5000  # fewer take less time than starting it


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread, except within :func:`threads_for`."""
    with _BLAS.limited(), _OPENMP.limited():
        yield


@contextmanager
def threads_for(operations: float) -> Iterator[None]:
    """Lift the limit of :func:`one_thread` for a call of this many operations if that is large."""
    if operations < LARGE:
        yield
        return
    with _BLAS.lifted(), _OPENMP.lifted():
        yield


@cache
def _libraries(kind: str) -> Any:
    """Inspect the loaded libraries, which takes a millisecond."""
    return ThreadpoolController().select(user_api=kind)


class _BlasLimits:
    """Limits of the linear algebra libraries, which hold for all threads of a program: several fits share them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_fits = 0
        self._limiter: Any = None

    @contextmanager
    def limited(self) -> Iterator[None]:
        with self._lock:
            self._n_fits += 1
            if self._n_fits == 1:
                self._limit()
        try:
            yield
        finally:
            with self._lock:
                self._n_fits -= 1
                if self._n_fits == 0:
                    self._restore()

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Lift the limit, unless there is none, or other fits would get more threads as well."""
        with self._lock:
            alone = self._n_fits == 1
            if alone:
                self._restore()
        try:
            yield
        finally:
            if alone:
                with self._lock:
                    self._limit()

    def _limit(self) -> None:
        _let_this_thread_limit()
        self._limiter = _libraries("blas").limit(limits=1)

    def _restore(self) -> None:
        _let_this_thread_limit()
        self._limiter.restore_original_limits()


def _let_this_thread_limit() -> None:
    """Since version 3.8 of threadpoolctl, only the first thread that sets a limit can change it; here the last must."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


class _OpenMPLimits(local):
    """Limits of OpenMP, which each thread of a program has for itself."""

    limiter: Any = None

    @contextmanager
    def limited(self) -> Iterator[None]:
        if self.limiter is not None:
            yield
            return
        self.limiter = _libraries("openmp").limit(limits=1)
        try:
            yield
        finally:
            self.limiter.restore_original_limits()
            self.limiter = None

    @contextmanager
    def lifted(self) -> Iterator[None]:
        if self.limiter is None:
            yield
            return
        self.limiter.restore_original_limits()
        try:
            yield
        finally:
            self.limiter = _libraries("openmp").limit(limits=1)


_BLAS, _OPENMP = _BlasLimits(), _OpenMPLimits()


def map_row_blocks(
    function: Callable[[slice], Any], n_rows: int, row_bytes: int, n_jobs: int | None = None
) -> list[Any]:
    """Apply ``function`` to slices of the rows, of ``row_bytes`` each, in parallel; return the results in order.

    The blocks depend only on the problem, never on ``n_jobs`` or the joblib backend, and so do the results, bit for
    bit. The work always runs in threads: blocks are short and share all of their data, so sending them to the
    processes of a backend such as "loky" or "dask" would cost more than the work itself. ``function`` must return
    its result, not write it into an array of the caller.
    """
    blocks = gen_batches(n_rows, min(_LONGEST_BLOCK, affordable_rows(row_bytes)))
    return list(
        Parallel(n_jobs=number_of_threads(n_jobs), require="sharedmem")(delayed(function)(rows) for rows in blocks)
    )


def in_threads(fill: Callable[[slice], None], n_rows: int, n_jobs: int | None = None) -> None:
    """Fill the rows of an array in parallel; no row may depend on another."""
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
