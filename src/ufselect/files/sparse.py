"""Sparse matrices from files, checked before SciPy's compiled code follows their indices.

SciPy trusts the indices of a matrix. An index outside the matrix makes it read or write other memory, so that a damaged
file, or one made on purpose, ends the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.long_integers import check_integers_of_sparse
from ufselect.files.table import UnreadableError, check_real_numbers, in_working_precision

_LARGEST_SIDE = 10**8  # one entry can claim any shape, and each row then takes memory


class DamagedMatrixError(UnreadableError):
    """A sparse matrix is inconsistent."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"holds a damaged sparse matrix: {cause}.")


def sparse_from_parts(kind: Any, parts: Mapping[str, Any]) -> Any:
    """Build a sparse matrix from the arrays that ``scipy.sparse.save_npz`` stores.

    Parameters
    ----------
    kind : str
        The SciPy format: "csr", "csc", "bsr", "dia" or "coo".
    parts : mapping
        Arrays by name: ``data`` and ``shape``, and ``indices`` and ``indptr``, ``offsets``, ``row`` and ``col``, or
        ``coords``.

    Returns
    -------
    csr_matrix or csc_matrix
        Float32 or float64, with sorted indices, no duplicates and no explicit zeros.

    Raises
    ------
    UnreadableError
        If a part is missing, or they do not fit together.
    """
    build = _BUILDERS.get(kind) if isinstance(kind, str) else None
    if build is None:
        raise DamagedMatrixError("its format is unknown")
    data, shape = _part(parts, "data"), _shape(_part(parts, "shape"))
    check_real_numbers(data)
    check_integers_of_sparse(data)
    values = np.require(in_working_precision(np.atleast_1d(data)), requirements="W")
    matrix = build(values, shape, parts)
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


def _check_within(values: NDArray[Any], size: int, name: str) -> None:
    if len(values) and (values.min() < 0 or values.max() >= size):
        raise DamagedMatrixError(f"{name} is outside 0 to {size - 1}")


def _check_dimensions(data: NDArray[Any], n_dimensions: int) -> None:
    if data.ndim != n_dimensions:
        raise DamagedMatrixError(f"data has {data.ndim} dimensions instead of {n_dimensions}")


def _pointers(parts: Mapping[str, Any], n_values: int, n_major: int, n_minor: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return ``indices`` and ``indptr``, both safe to follow."""
    indices, indptr = _integers(parts, "indices"), _integers(parts, "indptr")
    if len(indptr) != n_major + 1:
        raise DamagedMatrixError(f"indptr has {len(indptr):,} entries instead of {n_major + 1:,}")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise DamagedMatrixError("indptr does not rise from 0")
    n_stored = int(indptr[-1])
    if n_stored > min(len(indices), n_values):
        raise DamagedMatrixError(f"indptr ends at {n_stored:,}, after the last value")
    indices = indices[:n_stored]  # SciPy allows spare room at the end
    _check_within(indices, n_minor, "an index")
    return indices, indptr


def _csr(data: NDArray[Any], shape: tuple[int, int], parts: Mapping[str, Any]) -> Any:
    _check_dimensions(data, 1)
    indices, indptr = _pointers(parts, len(data), *shape)
    return sp.csr_matrix((data[: len(indices)], indices, indptr), shape=shape)


def _csc(data: NDArray[Any], shape: tuple[int, int], parts: Mapping[str, Any]) -> Any:
    _check_dimensions(data, 1)
    indices, indptr = _pointers(parts, len(data), *shape[::-1])
    return sp.csc_matrix((data[: len(indices)], indices, indptr), shape=shape)


def _bsr(data: NDArray[Any], shape: tuple[int, int], parts: Mapping[str, Any]) -> Any:
    _check_dimensions(data, 3)
    height, width = data.shape[1:]
    if not (height and width) or shape[0] % height or shape[1] % width:
        raise DamagedMatrixError(f"blocks of {height} × {width} do not divide {shape[0]:,} × {shape[1]:,}")
    indices, indptr = _pointers(parts, len(data), shape[0] // height, shape[1] // width)
    return sp.bsr_matrix((data[: len(indices)], indices, indptr), shape=shape).tocsr()


def _dia(data: NDArray[Any], shape: tuple[int, int], parts: Mapping[str, Any]) -> Any:
    _check_dimensions(data, 2)
    offsets = _integers(parts, "offsets")
    if len(offsets) != len(data):
        raise DamagedMatrixError(f"there are {len(offsets)} offsets for {len(data)} diagonals")
    if len(offsets) and (offsets.min() <= -max(shape[0], 1) or offsets.max() >= max(shape[1], 1)):
        raise DamagedMatrixError("a diagonal is outside the matrix")
    if len(np.unique(offsets)) != len(offsets):
        raise DamagedMatrixError("a diagonal is given twice")
    return sp.dia_matrix((data, offsets), shape=shape).tocsr()


def _coo(data: NDArray[Any], shape: tuple[int, int], parts: Mapping[str, Any]) -> Any:
    _check_dimensions(data, 1)
    if parts.get("coords") is not None:
        coords = np.asarray(parts["coords"])
        parts = dict(zip(("row", "col"), coords, strict=True)) if coords.shape == (2, len(data)) else {}
    row, col = _integers(parts, "row"), _integers(parts, "col")
    if not len(row) == len(col) == len(data):
        raise DamagedMatrixError(f"there are {len(row):,} rows and {len(col):,} columns for {len(data):,} values")
    _check_within(row, shape[0], "a row")
    _check_within(col, shape[1], "a column")
    return sp.coo_matrix((data, (row, col)), shape=shape).tocsr()


_BUILDERS: dict[str, Callable[[NDArray[Any], tuple[int, int], Mapping[str, Any]], Any]] = {
    "csr": _csr,
    "csc": _csc,
    "bsr": _bsr,
    "dia": _dia,
    "coo": _coo,
}
