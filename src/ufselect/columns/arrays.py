"""Where arrays live: NumPy, PyTorch and Dask told apart, and the few operations that steps for all of them need.

Neither PyTorch nor Dask is imported: an array of theirs can only exist if they are.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ufselect._utils.types import Float

_ROWS_DRAWN_AT_ONCE = 2**14


def _torch() -> Any:
    """PyTorch, or None if nobody has imported it."""
    return sys.modules.get("torch")


def is_tensor(X: Any) -> bool:
    """Return whether X is a PyTorch tensor."""
    torch = _torch()
    return torch is not None and isinstance(X, torch.Tensor)


def is_dask_collection(X: Any) -> bool:
    """Return whether X is a Dask array or data frame."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X)) and hasattr(X, "shape")


def in_memory(A: Any) -> Any:
    """Return an array as a NumPy array; a tensor becomes float64."""
    return A.detach().double().cpu().numpy() if is_tensor(A) else A


def namespace(A: Any) -> Any:
    """Return the module of an array: PyTorch or NumPy, whose functions of the same name do the same."""
    return _torch() if is_tensor(A) else np


def beside(A: Any, small: Float) -> Any:
    """Return a small NumPy array in the precision and on the device of A, to multiply A by it."""
    return A.new_tensor(small) if is_tensor(A) else small.astype(A.dtype, copy=False)


def fill_with_normal(A: Any, rng: np.random.RandomState) -> None:
    """Fill an array with standard normal values, which are drawn where it lives."""
    if is_tensor(A):
        A.normal_(generator=_torch().Generator(device=A.device).manual_seed(int(rng.randint(2**31 - 1))))
        return
    for start in range(0, len(A), _ROWS_DRAWN_AT_ONCE):
        rows = A[start : start + _ROWS_DRAWN_AT_ONCE]
        rows[:] = rng.standard_normal(rows.shape)


def sum_of_squares(A: Any) -> float:
    """Return ‖A‖² for the Frobenius norm."""
    return float(A.square().sum(dtype=_torch().float64) if is_tensor(A) else np.sum(A**2))


def frobenius_norm(A: Any) -> float:
    """Return the Frobenius norm."""
    return sum_of_squares(A) ** 0.5 if is_tensor(A) else float(np.linalg.norm(A))


def column_means(A: Any) -> Float:
    """Return the means of the columns as a NumPy array, summed in double precision."""
    return in_memory(A.mean(dim=0, dtype=_torch().float64)) if is_tensor(A) else A.mean(axis=0, dtype=np.float64)


def validate_features(selector: Any, X: Any, names: Sequence[str] | None = None, *, reset: bool) -> None:
    """Set or check the names (by default those of a data frame) and the number of features of blocks or tensors."""
    from sklearn.utils.validation import validate_data  # imported late: readers of files need only the rest

    columns = getattr(X, "columns", None) if names is None else names
    header = X
    if columns is not None:  # not all versions of scikit-learn read the names of a Dask data frame
        import pandas as pd

        header = pd.DataFrame(columns=list(columns))
    validate_data(selector, header, skip_check_array=True, reset=reset)
