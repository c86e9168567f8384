"""Threads of numerical libraries: one within a fit, all of them for large calls.

NumPy and SciPy each bring a linear algebra library with a thread pool of its own, scikit-learn uses OpenMP. After a
call, the threads of a pool keep their cores busy for a while, waiting for the next one. A fit that alternates between
pools takes twice the processor time and more wall time than with one thread, on a busy machine many times as much.
Threads only pay off in long calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController

LARGE = 2e9
"""Number of multiplications and additions from which a call may use all threads: about 50 ms on one core."""


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
