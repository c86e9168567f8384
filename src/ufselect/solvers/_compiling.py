"""Decorators for compiled code, which is cached on disk if there is a folder to write to."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numba


def _njit(function: Callable[..., Any], **options: Any) -> Any:
    """Compile with a cache or, if numba finds no folder for one, without."""
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        _warn_without_cache()
        return numba.njit(nogil=True, **options)(function)


@cache
def _warn_without_cache() -> None:
    """Say so once per process."""
    warnings.warn(
        "The compiled functions of ufselect cannot be cached, as neither its folder nor the home folder is writable: "
        "every process compiles them again. Set the environment variable NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=2,
    )


# Sums may be computed in another order, which lets them use the full width of the processor.
compiled = partial(_njit, fastmath={"reassoc"})

# Sums are computed in their order, so that ties are those of a plain loop. A function without this decorator follows
# its caller.
compiled_in_order = partial(_njit, fastmath=False)
