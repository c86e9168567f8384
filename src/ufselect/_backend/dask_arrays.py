"""Dask arrays and data frames, without importing Dask."""

from __future__ import annotations

import sys
from typing import Any


def is_dask_collection(X: Any) -> bool:
    """Return whether X is a Dask array or data frame."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X)) and hasattr(X, "shape")


def refuse_dask_collection(X: Any, method: str) -> None:
    """Raise an error if X is a Dask array or data frame, which few methods can treat by blocks of rows."""
    if is_dask_collection(X):
        raise ValueError(
            f"{method} needs all values of X at once, but X is a Dask array. Use X.compute() if it fits into memory, "
            "or FSASL, which treats it by blocks of rows."
        )
