"""Sparse matrices from files, with all their indices checked.

SciPy follows the indices of a matrix into memory, so that a damaged or malicious file would end the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.errors import UnreadableError
from ufselect.files.table import check_integers_of_sparse, check_real_numbers, in_working_precision

_LARGEST_SIDE = 10**8  # one entry can claim any shape, and each row then takes memory


class DamagedMatrixError(UnreadableError):
    """A sparse matrix is inconsistent."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"holds a damaged sparse matrix: {cause}.")


def sparse_from_parts(kind: Any, parts: Mapping[str, Any]) -> Any:
    """Build a canonical matrix of compressed rows or columns from the arrays that ``scipy.sparse.save_npz`` stores."""
    if not isinstance(kind, str) or kind not in ("csr", "csc", "bsr", "dia", "coo"):
        raise DamagedMatrixError("its format is unknown")
    data, shape = _part(parts, "data"), _shape(_part(parts, "shape"))
    check_real_numbers(data)
    check_integers_of_sparse(data)
    values = np.require(in_working_precision(np.atleast_1d(data)), requirements="W")
    try:
        matrix = _built(kind, values, shape, parts)
    except UnreadableError:
        raise
    except ValueError as error:
        raise DamagedMatrixError(str(error).rstrip(".")) from error
    matrix.sum_duplicates()
    if data.dtype.kind == "b":  # True twice is True, not 2
        matrix.data = (matrix.data != 0).astype(matrix.dtype)
    matrix.eliminate_zeros()
    return matrix


def checked_sparse(matrix: Any) -> Any:
    """Return a matrix that was just read in canonical form, as compressed rows or columns; it reuses its memory."""
    names = ("row", "col") if matrix.format == "coo" else ("indices", "indptr")
    parts = {name: getattr(matrix, name) for name in ("data", *names)}
    return sparse_from_parts(matrix.format, parts | {"shape": np.array(matrix.shape)})


def _part(parts: Mapping[str, Any], name: str) -> NDArray[Any]:
    if parts.get(name) is None:
        raise DamagedMatrixError(f"it has no array {name!r}")
    return np.asarray(parts[name])


def _shape(shape: NDArray[Any]) -> tuple[int, int]:
    if shape.dtype.kind not in "iu" or shape.shape != (2,):
        raise DamagedMatrixError("its shape is not two integers")
    n_rows, n_columns = map(int, shape)
    if min(n_rows, n_columns) < 0:
        raise DamagedMatrixError(f"its shape is negative, {n_rows} × {n_columns}")
    if max(n_rows, n_columns) > _LARGEST_SIDE:
        raise DamagedMatrixError(f"{n_rows:,} × {n_columns:,} is more than {_LARGEST_SIDE:,} rows or columns")
    return n_rows, n_columns


def _integers(parts: Mapping[str, Any], name: str) -> NDArray[Any]:
    values = _part(parts, name)
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise DamagedMatrixError(f"{name} is not a vector of integers")
    usable = values if values.dtype in (np.int32, np.int64) else values.astype(np.int64)
    return np.require(usable, requirements="W")


def _built(kind: str, data: NDArray[Any], shape: tuple[int, int], parts: Mapping[str, Any]) -> Any:
    """Return a matrix of compressed rows or columns; a ValueError says what is wrong with its parts."""
    if kind == "dia":
        offsets = _integers(parts, "offsets")
        if len(offsets) and (offsets.min() <= -max(shape[0], 1) or offsets.max() >= max(shape[1], 1)):
            raise DamagedMatrixError("a diagonal is outside the matrix")
        return sp.dia_matrix((data, offsets), shape=shape).tocsr()
    if kind == "coo":
        coords = parts.get("coords")
        row, col = (_integers(parts, name) for name in ("row", "col")) if coords is None else np.asarray(coords)
        return sp.coo_matrix((data, (row, col)), shape=shape).tocsr()
    if data.ndim != (3 if kind == "bsr" else 1):
        raise DamagedMatrixError(f"data has {data.ndim} dimensions")
    height, width = data.shape[1:] if kind == "bsr" else (1, 1)
    if not (height and width) or shape[0] % height or shape[1] % width:
        raise DamagedMatrixError(f"blocks of {height} × {width} do not divide {shape[0]:,} × {shape[1]:,}")
    indices, indptr = _integers(parts, "indices"), _integers(parts, "indptr")
    if not len(indptr) or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():  # SciPy does not look if it ends at 0
        raise DamagedMatrixError("indptr does not rise from 0")
    n_stored = int(indptr[-1])  # SciPy allows spare room at the end
    if n_stored > min(len(indices), len(data)):
        raise DamagedMatrixError(f"indptr ends at {n_stored:,}, after the last value")
    build = {"csr": sp.csr_matrix, "csc": sp.csc_matrix, "bsr": sp.bsr_matrix}[kind]
    matrix = build((data[:n_stored], indices[:n_stored], indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix.tocsr() if kind == "bsr" else matrix
