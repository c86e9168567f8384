"""Samples with classes: what a loaded set holds, how it is checked, and the checksum of its content."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

_LARGEST_DENSE_BYTES = 2**32


class Dataset(NamedTuple):
    """Samples by rows with raw values, and the class of each, for the judge alone.

    The arrays are read-only: whoever loads the same set again gets the same arrays.
    """

    name: str
    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(np.unique(self.y))


def dataset_from(name: str, X: Any, labels: Any) -> Dataset:
    """Check samples and their class labels, and make a set of them.

    Parameters
    ----------
    name : str
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite real numbers.
    labels : array-like of n_samples numbers or texts
        Classes are numbered in the order in which they appear, so that the format they were stored in
        (numbers from 0 or 1, text) does not matter.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        Where X is not a table of finite numbers, or the labels are not one for each sample.

    Examples
    --------
    >>> from ufselect.datasets.content import dataset_from
    >>> dataset_from("pets", [[1, 2], [3, 4], [5, 6]], ["dog", "cat", "dog"]).y
    array([0, 1, 0])
    """
    values = _finite_table(X)
    classes = _numbered_by_appearance(_flat_labels(labels))
    if len(classes) != len(values):
        raise ValueError(f"X has {len(values)} samples, but there are {len(classes)} class labels")
    for array in (values, classes):
        array.setflags(write=False)
    return Dataset(name, values, classes)


def content_digest(X: npt.ArrayLike, y: npt.ArrayLike) -> str:
    """SHA-256 of samples and classes, whatever the file they came from.

    Hashed are, one after the other and all little-endian: the shape of X as two int64, the values of X
    as float64 row by row (−0 as 0), and the classes, numbered in the order in which they appear, as int64.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.datasets.content import content_digest
    >>> X = np.arange(6, dtype=np.uint8).reshape(3, 2)
    >>> content_digest(X, ["b", "a", "a"]) == content_digest(X.astype(np.float32), [1, 2, 2])
    True
    """
    values = np.asarray(X, dtype=np.float64) + 0.0
    digest = hashlib.sha256(np.array(values.shape, dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(values, dtype="<f8").data)
    digest.update(_numbered_by_appearance(np.asarray(y)).astype("<i8").data)
    return digest.hexdigest()


def _finite_table(X: Any) -> npt.NDArray[np.float64]:
    """X as a new float64 array of two dimensions."""
    values = _dense(X) if sp.issparse(X) else np.asarray(X)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, but its type is {values.dtype}")
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"X must have samples as rows and features as columns, but its shape is {values.shape}")
    table = np.array(values, dtype=np.float64, order="C")
    _ensure_finite(table)
    return table


def _dense(X: Any) -> npt.NDArray[Any]:
    n_bytes = 8 * X.shape[0] * X.shape[1]
    if n_bytes > _LARGEST_DENSE_BYTES:
        raise ValueError(
            f"X is sparse, of shape {X.shape}, and would take {n_bytes / 1e9:,.1f} GB as the dense array that sets hold"
            f" (at most {_LARGEST_DENSE_BYTES / 1e9:,.1f} GB); leave out samples or features beforehand"
        )
    return np.asarray(X.toarray())


def _ensure_finite(table: npt.NDArray[np.float64]) -> None:
    bad_rows = ~np.isfinite(table).all(axis=1)
    if bad_rows.any():
        row = int(np.argmax(bad_rows))
        column = int(np.argmin(np.isfinite(table[row])))
        raise ValueError(f"X must be finite, but holds {table[row, column]} at row {row}, column {column} (from 0)")


def _flat_labels(labels: Any) -> npt.NDArray[Any]:
    """One label for each sample; a single row or column of a matrix will do, as MATLAB has no vectors."""
    flat = np.asarray(labels)
    if flat.dtype == object:
        flat = np.array([_text_in_cell(cell) for cell in flat.ravel()]).reshape(flat.shape)
    if flat.dtype.kind not in "biufUS":
        raise ValueError(f"class labels must be numbers or texts, but their type is {flat.dtype}")
    if flat.ndim == 0 or flat.size != max(flat.shape):
        raise ValueError(f"there must be one class label for each sample, but their shape is {flat.shape}")
    flat = flat.ravel()
    if flat.dtype.kind == "f" and np.isnan(flat).any():
        raise ValueError(f"every sample needs a class label, but that of row {int(np.argmax(np.isnan(flat)))} is nan")
    return flat


def _text_in_cell(cell: Any) -> str:
    """The text in a cell of MATLAB's, which is an array of one text, or the text itself."""
    text = cell.item() if isinstance(cell, np.ndarray) and cell.size == 1 else cell
    if not isinstance(text, str):
        raise ValueError(f"class labels must be numbers or texts, but one is {text!r}")
    return text


def _numbered_by_appearance(labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    _, first_at, class_of = np.unique(labels, return_index=True, return_inverse=True)
    number_of = np.empty(len(first_at), dtype=np.int64)
    number_of[np.argsort(first_at)] = np.arange(len(first_at))
    return number_of[class_of]
