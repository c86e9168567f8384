"""Dask arrays and data frames, without importing Dask."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


def is_dask_collection(X: Any) -> bool:
    """Return whether X is a Dask array or data frame."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X)) and hasattr(X, "shape")


def header_of(X: Any, names: Sequence[str] | None = None) -> Any:
    """Return an empty pandas frame with the columns of a Dask data frame, or with given names; else X itself.

    scikit-learn sets and checks names and numbers of features by it, in its own words: it does not read the names of a
    Dask data frame in all its versions.
    """
    columns = getattr(X, "columns", None) if names is None else names
    if columns is None:
        return X
    import pandas as pd  # a data frame of Dask has imported it

    return pd.DataFrame(columns=list(columns))


def refuse_dask_collection(X: Any, method: str) -> None:
    """Raise an error if X is a Dask array or data frame, which few methods can treat by blocks of rows."""
    if is_dask_collection(X):
        raise ValueError(
            f"{method} needs all values of X at once, but X is a Dask array. Use X.compute() if it fits into memory, "
            "or FSASL, which treats it by blocks of rows."
        )
