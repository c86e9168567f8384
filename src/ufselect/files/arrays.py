"""Files of NumPy's arrays."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.arrow import as_texts, objects
from ufselect.files.outgoing import columns_aside, dense_block, selected_columns
from ufselect.files.table import (
    ASKED_FOR,
    Selection,
    Table,
    UnreadableError,
    check_asked,
    checked_names,
    in_working_precision,
    listed,
    row_labels,
)

NUMBERS = ("X", "fea", "data")
NAMES = ("names", "featurenames", "columns", "features", "genes")  # in lower case, without underscores
ASIDE = "aside_names"
_SPARSE = ("X_data", "X_indices", "X_indptr", "X_shape")
_REASONS = {"O": "text", "M": "dates"}
_OBJECTS = "holds Python objects, which are not read; save text with .astype(str)."
_SPARSE_OF_SCIPY = ("format", "shape", "data")


def read_npy(path: Path, asked: Sequence[str]) -> Table:
    """Read a table from a file of one array."""
    with path.open("rb") as file:  # which NumPy leaves open where the content is broken
        stored = _unless_objects(partial(np.load, file, allow_pickle=False))
    if stored is None:
        raise UnreadableError(_OBJECTS)
    if not isinstance(stored, np.ndarray):
        raise UnreadableError("holds several arrays; give it the ending .npz.")
    return table_of(path, {"X": stored}, asked)


def read_npz(path: Path, asked: Sequence[str]) -> Table:
    """Read a table from a file of several arrays, or of one sparse matrix."""
    with path.open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        if isinstance(stored, np.ndarray):
            raise UnreadableError("holds one array alone; give it the ending .npy.")
        if set(_SPARSE_OF_SCIPY) <= set(stored.files):
            return table_of(path, {"X": sp.load_npz(path)}, asked)
        found = {name: _unless_objects(partial(stored.__getitem__, name)) for name in stored.files}
    arrays = _without_objects(found)
    if set(_SPARSE) <= set(arrays):
        parts = [arrays.pop(part) for part in _SPARSE]
        arrays["X"] = sp.csr_matrix(tuple(parts[:3]), shape=tuple(parts[3]))
    return table_of(path, arrays, asked)


def _unless_objects(load: Callable[[], Any]) -> Any:
    """What is loaded; None in place of an array of Python objects, which only unpickling would bring back."""
    try:
        return load()
    except ValueError as error:
        if "Object arrays cannot be loaded" in str(error):
            return None
        raise


def _without_objects(found: dict[str, Any]) -> dict[str, Any]:
    arrays = {name: values for name, values in found.items() if values is not None}
    key = next((key for key in NUMBERS if key in found), None)
    if found and (not arrays or (key is not None and key not in arrays)):
        raise UnreadableError(_OBJECTS)
    return arrays


def table_of(path: Path, arrays: Mapping[str, Any], asked: Sequence[str]) -> Table:
    """The table in arrays of these names.

    Parameters
    ----------
    path : Path
    arrays : mapping
        Text is in arrays of strings or objects.
    asked : sequence of str
        Columns to be kept aside.

    Returns
    -------
    Table
    """
    key = _key_of_numbers(arrays)
    X = _checked_numbers(arrays[key])
    n_rows, n_columns = X.shape
    others = {name: plain_texts(_as_vector(values)) for name, values in arrays.items() if name != key}
    key_of_names = next((key for key in sorted(others, key=_rank) if _are_names(key, others[key], n_columns)), None)
    names = others.pop(key_of_names).tolist() if key_of_names else [f"x{j}" for j in range(n_columns)]
    names = checked_names(names)
    aside = {name: values for name, values in _named(others).items() if np.shape(values) == (n_rows,)}
    reasons = {name: _REASONS.get(values.dtype.kind, "an array of its own") for name, values in aside.items()}
    return with_columns_aside(Table(X, names, aside, reasons, row_labels(aside), path), asked)


def with_columns_aside(table: Table, asked: Sequence[str]) -> Table:
    """The table with some of its columns of numbers kept aside."""
    check_asked(asked, [*table.names, *table.aside])
    places = [place for place, name in enumerate(table.names) if name in asked]
    if not places:
        return table
    kept = np.setdiff1d(np.arange(len(table.names)), places)
    moved = {table.names[place]: dense_block(table.X, slice(None), np.array([place]))[:, 0] for place in places}
    X = table.X[:, kept] if sp.issparse(table.X) else np.ascontiguousarray(table.X[:, kept])
    reasons = dict.fromkeys(moved, ASKED_FOR) | table.reasons
    return Table(X, tuple(table.names[j] for j in kept), moved | table.aside, reasons, table.samples, table.path)


def plain_texts(values: NDArray[Any]) -> NDArray[Any]:
    """Text as an array of objects, all else as it is."""
    if np.ndim(values) != 1 or values.dtype.kind not in "US":
        return values
    return objects([text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in values.tolist()])


def _as_vector(values: Any) -> Any:
    """A single row or column without its second dimension."""
    return values.ravel() if isinstance(values, np.ndarray) and values.ndim == 2 and 1 in values.shape else values


def _plain_key(key: str) -> str:
    return key.casefold().replace("_", "")


def _rank(key: str) -> int:
    """How soon an array is looked at for names."""
    plain = _plain_key(key)
    return NAMES.index(plain) if plain in NAMES else len(NAMES)


def key_aside(name: str, place: int) -> str:
    """What a column aside is called in the file; names that others have, or that are no words, are numbered."""
    clear = name.isascii() and name.isidentifier() and not name.startswith(("_", "aside_")) and len(name) <= 31
    taken = name in (*NUMBERS, *_SPARSE, *_SPARSE_OF_SCIPY) or _plain_key(name) in NAMES
    return name if clear and not taken else f"aside_{place}"


def _named(others: dict[str, Any]) -> dict[str, Any]:
    """The columns aside by their own names, which ``write_table`` keeps beside them."""
    if ASIDE not in others:
        return others
    keys = {name: key_aside(name, place) for place, name in enumerate(others[ASIDE].tolist())}
    return {name: others[key] for name, key in keys.items() if key in others}


def _key_of_numbers(arrays: Mapping[str, Any]) -> str:
    for key in NUMBERS:
        if key in arrays:
            return key
    tables = [key for key, values in arrays.items() if np.ndim(values) == 2 and values.dtype.kind in "biuf"]
    tables = [key for key in tables if 1 not in arrays[key].shape] or tables
    if len(tables) == 1:
        return tables[0]
    found = f"it has {listed(sorted(arrays))}" if arrays else "it holds nothing"
    raise UnreadableError(f"has no array named {', '.join(NUMBERS[:-1])} or {NUMBERS[-1]} to read; {found}.")


def _checked_numbers(X: Any) -> Any:
    if X.dtype.kind not in "biuf":
        kind = "named fields" if X.dtype.names else "complex numbers" if X.dtype.kind == "c" else "text or objects"
        raise UnreadableError(f"holds {kind}, not a table of numbers.")
    if X.ndim > 2:
        mend = "save it as samples × pixels: X.reshape(len(X), -1)"
        raise UnreadableError(f"has {X.ndim} dimensions, {X.shape}; {mend}.")
    if X.ndim < 2:
        raise UnreadableError(f"holds an array of shape {X.shape}; a table has rows and columns.")
    return in_working_precision(checked_sparse(X).tocsr() if sp.issparse(X) else X)


def checked_sparse(X: Any) -> Any:
    """The matrix, where all its indices lie within it."""
    if X.format in ("csr", "csc"):
        X.check_format(full_check=True)
    return X


def _are_names(key: str, values: Any, size: int) -> bool:
    if _plain_key(key) not in NAMES or np.shape(values) != (size,):
        return False
    return values.dtype.kind == "O" and all(isinstance(each, str) for each in values)


def write_npy(path: Path, table: Table, selection: Selection) -> None:
    """Write the selected columns, numbers only."""
    places = np.flatnonzero(selection.selected)
    np.save(path, np.ascontiguousarray(dense_block(table.X, slice(None), places)), allow_pickle=False)


def write_npz(path: Path, table: Table, selection: Selection) -> None:
    """Write the selected columns, their names and the columns aside, each an array."""
    arrays = outgoing_arrays(table, selection, _storable, _array_of_texts)
    if sp.issparse(arrays["X"]):
        X = arrays.pop("X").tocsr()
        arrays |= dict(zip(_SPARSE, (X.data, X.indices, X.indptr, np.array(X.shape)), strict=True))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, values in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, values, allow_pickle=False)


def outgoing_arrays(
    table: Table,
    selection: Selection,
    storable: Callable[[NDArray[Any]], Any],
    texts: Callable[[Sequence[str]], Any],
) -> dict[str, Any]:
    """Everything to be written, by the names that ``table_of`` looks for."""
    places = np.flatnonzero(selection.selected)
    aside = columns_aside(table, apart=True)
    arrays = {"X": selected_columns(table, places), "names": texts([table.names[place] for place in places])}
    if aside:
        arrays[ASIDE] = texts(list(aside))
    return arrays | {key_aside(name, place): storable(values) for place, (name, values) in enumerate(aside.items())}


def _storable(values: NDArray[Any]) -> NDArray[Any]:
    return _array_of_texts([text or "" for text in as_texts(values)]) if values.dtype.kind == "O" else values


def _array_of_texts(texts: Sequence[str]) -> NDArray[Any]:
    return np.array(texts, dtype=np.str_)
