"""Decorators that compile functions and cache them on disk if there is a writable folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numba
import numpy.typing as npt


def _njit(function: Callable[..., Any], **options: Any) -> Any:
    """Compile with a cache, or without one if numba finds no writable folder."""
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        _warn_without_cache()
        return numba.njit(nogil=True, **options)(function)


@cache
def _warn_without_cache() -> None:
    """Warn once per process."""
    warnings.warn(
        "The compiled functions of ufselect cannot be cached, as neither its folder nor the home folder is writable: "
        "every process compiles them again. Set the environment variable NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=2,
    )


# Sums may be computed in another order, which lets them use the full width of the processor.
compiled = partial(_njit, fastmath={"reassoc"})

# Sums are computed in order, so that ties are those of a plain loop. A function without this option follows its caller.
compiled_in_order = partial(_njit, fastmath=False)


@compiled
def subtract_multiple(vector: npt.NDArray[Any], other: npt.NDArray[Any], factor: float) -> None:
    """Subtract a multiple of another vector, which may be longer, in place."""
    for a in range(len(vector)):
        vector[a] -= factor * other[a]
