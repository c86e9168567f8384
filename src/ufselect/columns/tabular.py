"""Any kind of table as the matrix that a fit sees, and its columns by name or index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names, _get_feature_names

from ufselect._utils.types import Indices
from ufselect._utils.wording import counted, shown


def as_matrix(X: Any) -> Any:
    """Return X as a float array, or as a CSR or CSC matrix without duplicate entries; X itself if it is one."""
    matrix = check_array(X, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32])
    if sp.issparse(matrix) and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def column_names(X: Any, selector: Any = None) -> list[str] | None:
    """Return the names of the columns of X, or else those that a selector was fitted with; None if there are none."""
    names = _get_feature_names(X)
    if names is None:
        names = getattr(selector, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def fitted_column_names(X: Any, selector: Any) -> list[str] | None:
    """Return the names of the columns that a selector was fitted on; raise an error if the names of X differ."""
    if hasattr(selector, "feature_names_in_") and _get_feature_names(X) is not None:
        _check_feature_names(selector, X, reset=False)
    return column_names(X, selector)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    differs = value != value  # NA, which is neither true nor false, for NA
    return value is None or not isinstance(differs, (bool, np.bool_)) or bool(differs)


def column_indices(columns: Iterable[Any], n_columns: int, names: Sequence[str] | None) -> Indices:
    """Return the indices of columns that are given by index, by name, by boolean mask, or as a list of all these."""
    columns = columns if hasattr(columns, "ndim") else list(columns)
    mask = as_mask(columns)
    if mask is not None:
        return marked_columns(mask, n_columns)
    index = {name: j for j, name in enumerate(names or ())}
    found: list[int] = []
    for each in columns:
        mask = as_mask(each)
        found.extend([_index_of(each, n_columns, index)] if mask is None else marked_columns(mask, n_columns))
    return np.array(found, dtype=np.intp)


def as_mask(columns: Any) -> list[Any] | None:
    """Return a boolean mask of columns as a list, which may have missing values; None if it is no mask."""
    if isinstance(columns, (str, Integral)) or not isinstance(columns, Iterable):
        return None
    if getattr(columns, "ndim", 1) != 1:
        raise ValueError(f"columns are given in one dimension, got {columns.ndim}.")  # type: ignore[attr-defined]
    values = list(columns)
    are_booleans = [isinstance(each, (bool, np.bool_)) for each in values]
    if not any(are_booleans):
        return None
    return values if all(known or is_missing(each) for known, each in zip(are_booleans, values, strict=True)) else None


def marked_columns(mask: Sequence[Any], n_columns: int) -> Indices:
    """Return the indices of the columns that a boolean mask marks."""
    if len(mask) != n_columns:
        raise ValueError(f"a mask of {len(mask)} values does not fit {n_columns} columns.")
    n_missing = sum(map(is_missing, mask))
    if n_missing:
        raise ValueError(f"a mask has {counted(n_missing, 'missing value')} where True or False is needed.")
    return np.flatnonzero(mask)


def is_pattern(text: str) -> bool:
    """Return whether a text is a shell pattern, unless it is the name of a column."""
    return any(letter in text for letter in "*?[")


def columns_matching(texts: Iterable[str], names: Sequence[str]) -> dict[str, list[int]]:
    """Return for every text the indices of the columns of that name, or else of those that match it as a pattern."""
    known: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        known.setdefault(name, []).append(index)
    found: dict[str, list[int]] = {}
    for text in texts:
        matching = (known[name] for name in known if fnmatchcase(name, text)) if is_pattern(text) else ()
        found[text] = known.get(text) or sorted(chain.from_iterable(matching))
    return found


def dense_part(X: Any, index: Any, *, standardize: bool) -> npt.NDArray[np.float64]:
    """Return some columns of a matrix as a dense array; if standardised, with mean 0 and variance 1.

    Standardised constant columns are 0.
    """
    part = X[:, index]
    dense = (part.toarray() if sp.issparse(part) else part).astype(np.float64)
    if not standardize:
        return dense
    constant = dense.min(axis=0) == dense.max(axis=0)
    dense -= dense.mean(axis=0)
    dense[:, constant] = 0.0
    lengths = np.sqrt(np.mean(dense**2, axis=0))
    return dense / np.where(lengths > 0.0, lengths, 1.0)


def _index_of(column: Any, n_columns: int, index: dict[str, int]) -> int:
    if isinstance(column, (int, np.integer)):
        if not 0 <= column < n_columns:
            raise ValueError(f"there is no column {column}: X has {n_columns} columns, counted from 0.")
        return int(column)
    if str(column) in index:
        return index[str(column)]
    if not index:
        raise ValueError(f"there is no column named '{shown(str(column))}': the columns of X have no names.")
    near = get_close_matches(str(column), index, n=1)
    hint = f"; did you mean '{shown(near[0])}'?" if near else "."
    raise ValueError(f"there is no column named '{shown(str(column))}'{hint}")
