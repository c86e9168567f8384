"""Dask arrays and data frames, without importing Dask."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


def is_dask_collection(X: Any) -> bool:
    """Return whether X is a Dask array or data frame."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X)) and hasattr(X, "shape")


def validate_features(selector: Any, X: Any, names: Sequence[str] | None = None, *, reset: bool) -> None:
    """Set or check the names and the number of features, by scikit-learn and in its words.

    Parameters
    ----------
    selector : estimator
    X : Dask array, Dask data frame or tensor
    names : sequence of str, optional
        Names of the columns; by default those of a data frame.
    reset : bool
        Whether to set them, as in fit, or to compare them with those set.
    """
    from sklearn.utils.validation import validate_data  # imported late: readers of files need only the rest

    columns = getattr(X, "columns", None) if names is None else names
    header = X
    if columns is not None:  # not all versions of scikit-learn read the names of a Dask data frame
        import pandas as pd

        header = pd.DataFrame(columns=list(columns))
    validate_data(selector, header, skip_check_array=True, reset=reset)


def refuse_dask_collection(X: Any, method: str) -> None:
    """Raise an error if X is a Dask array or data frame, which few methods can treat by blocks of rows."""
    if is_dask_collection(X):
        raise ValueError(
            f"{method} needs all values of X at once, but X is a Dask array. Use X.compute() if it fits into memory, "
            "or FSASL, which treats it by blocks of rows."
        )
