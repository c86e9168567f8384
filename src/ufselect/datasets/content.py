"""Samples and classes: the dataset that is loaded, its checks and its checksum."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

_LARGEST_DENSE_BYTES = 2**32
_ROWS_AT_ONCE = 256
_NO_LABEL = "each sample needs a class label, but row {} (counted from 0) has none"


class Dataset(NamedTuple):
    """Raw samples in rows, and the class of each, which only evaluation may see.

    X is sparse if its file is. The arrays are read-only, since everyone who loads the dataset shares them.
    """

    name: str
    X: npt.NDArray[np.float64] | sp.csr_array
    y: npt.NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(np.unique(self.y))


def dataset_from(name: str, X: Any, labels: Any) -> Dataset:
    """Make a dataset of finite samples and class labels, numbered by appearance; a sparse X becomes a CSR array."""
    values = _finite_table(X)
    classes = _numbered_by_appearance(_flat_labels(labels))
    if len(classes) != values.shape[0]:
        raise ValueError(f"X has {values.shape[0]} samples, but there are {len(classes)} class labels")
    arrays = (values.data, values.indices, values.indptr) if sp.issparse(values) else (values,)
    for array in (*arrays, classes):
        array.setflags(write=False)
    return Dataset(name, values, classes)


def content_digest(X: Any, y: npt.ArrayLike) -> str:
    """Return the SHA-256 of samples and classes, which does not depend on the format of their file.

    It is taken over the shape of X as two int64, the values of X as float64 row by row (−0 as 0), and the classes,
    numbered in order of appearance, as int64; all of them are little-endian.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
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
    values: Any = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    digest = hashlib.sha256(np.array(values.shape, dtype="<i8").tobytes())
    for first in range(0, values.shape[0], _ROWS_AT_ONCE):
        part = values[first : first + _ROWS_AT_ONCE]
        dense = np.asarray(part.toarray() if sp.issparse(part) else part, dtype=np.float64) + 0.0
        digest.update(np.ascontiguousarray(dense, dtype="<f8").data)
    digest.update(_numbered_by_appearance(np.asarray(y)).astype("<i8").data)
    return digest.hexdigest()


def _finite_table(X: Any) -> Any:
    """Return X as a new float64 array with two dimensions, dense or CSR."""
    values = X if sp.issparse(X) else np.asarray(X)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, got {values.dtype}")
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"X must have samples as rows and features as columns, got shape {values.shape}")
    if not sp.issparse(X):
        table = np.array(values, dtype=np.float64, order="C")
        bad = np.argwhere(~np.isfinite(table))
    else:
        n_bytes = 8 * X.shape[0] * X.shape[1]
        if n_bytes > _LARGEST_DENSE_BYTES:  # selections from all features are evaluated, too
            raise ValueError(
                f"X is sparse with shape {X.shape} and takes {n_bytes / 1e9:,.1f} GB as a dense array, but datasets are"
                f" limited to {_LARGEST_DENSE_BYTES / 1e9:,.1f} GB; remove samples or features first"
            )
        table = sp.csr_array(X, dtype=np.float64, copy=True)
        table.sum_duplicates()
        stored = table.tocoo()
        bad = np.transpose(stored.coords)[~np.isfinite(stored.data)]
    if len(bad):
        row, column = map(int, bad[0])
        raise ValueError(f"X must be finite, got {table[row, column]} at row {row}, column {column} (counted from 0)")
    return table


def _flat_labels(labels: Any) -> npt.NDArray[Any]:
    """Return one label per sample; a row or column of a matrix is accepted, since MATLAB has no vectors."""
    if sp.issparse(labels):
        raise ValueError("class labels must be numbers or texts, got a sparse matrix")
    flat = np.asarray(labels)
    if flat.dtype == object:
        flat = np.array([_text_of_cell(cell, row) for row, cell in enumerate(flat.ravel())]).reshape(flat.shape)
    if flat.dtype.kind not in "biufUS":
        raise ValueError(f"class labels must be numbers or texts, got {flat.dtype}")
    if flat.ndim == 0 or flat.size != max(flat.shape):
        raise ValueError(f"there must be one class label per sample, got shape {flat.shape}")
    flat = flat.ravel()
    if flat.dtype.kind == "f" and np.isnan(flat).any():
        raise ValueError(_NO_LABEL.format(int(np.argmax(np.isnan(flat)))))
    return flat


def _text_of_cell(cell: Any, row: int) -> str:
    """Return a text, also if it is in a MATLAB cell, which is an array with one text."""
    text = cell.item() if isinstance(cell, np.ndarray) and cell.size == 1 else cell
    if text is None:
        raise ValueError(_NO_LABEL.format(row))
    if not isinstance(text, str):
        raise ValueError(f"class labels must be numbers or texts, got {type(text).__name__}")
    return text


def _numbered_by_appearance(labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    _, first_at, class_of = np.unique(labels, return_index=True, return_inverse=True)
    number_of = np.empty(len(first_at), dtype=np.int64)
    number_of[np.argsort(first_at)] = np.arange(len(first_at))
    return number_of[class_of]
