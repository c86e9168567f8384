"""Read and write .npy, .npz and .mat files: arrays by name, and the table that they make."""

from __future__ import annotations

import inspect
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ufselect._utils.wording import listed
from ufselect.files.arrow import as_texts, object_array
from ufselect.files.errors import UnreadableError
from ufselect.files.sparse import checked_sparse, sparse_from_parts
from ufselect.files.table import (
    Selection,
    Table,
    check_real_numbers,
    checked_names,
    columns_aside,
    dense_block,
    in_working_precision,
    row_labels,
    with_columns_aside,
    with_long_integers_aside,
)

# The names of arrays, for reading and writing alike
_NUMBERS = ("X", "fea", "data")
_NAMES = ("names", "featurenames", "columns", "features", "genes")  # lower case, without underscores
_ASIDE = "aside_names"
_SPARSE = {"data": "X_data", "indices": "X_indices", "indptr": "X_indptr", "shape": "X_shape"}
_PLAIN_SPARSE = {part: part for part in _SPARSE}  # compressed rows beside other arrays, without SciPy's format
_SCIPY_SPARSE = ("format", "shape", "data")

_MOST_COLUMNS = 10**7  # each gets a name, and a sparse matrix can claim any number
_REASONS = {"O": "text", "M": "dates"}
_OBJECTS = "holds Python objects, which are not read; save text with .astype(str)."


def read_npy(path: Path, aside: Sequence[str], transpose: bool = False) -> Table:
    """Read a table from a file with one array."""
    return _table(path, arrays_of_npy(path), aside, transpose)


def read_npz(path: Path, aside: Sequence[str], transpose: bool = False) -> Table:
    """Read a table from a file with several arrays, or with one sparse matrix."""
    found = arrays_of_npz(path)
    arrays = {name: values for name, values in found.items() if values is not None}
    key = next((key for key in _NUMBERS if key in found), None)
    if found and (not arrays or (key is not None and key not in arrays)):
        raise UnreadableError(_OBJECTS)
    table = _table(path, arrays, aside, transpose)
    objects_of_python = [name for name in found if name not in arrays]  # such as text with missing values
    notes = _note_on_arrays(objects_of_python, "of Python objects", "not read", "; save text with .astype(str)")
    return replace(table, notes=(*notes, *table.notes))


def read_mat(path: Path, aside: Sequence[str], transpose: bool = False) -> Table:
    """Read a table from a MATLAB file."""
    return _table(path, arrays_of_mat(path), aside, transpose)


def arrays_of_npy(path: Path) -> dict[str, Any]:
    """Return the only array of a file, as X."""
    with path.open("rb") as file:  # NumPy leaves a damaged file open
        stored = _unless_objects(partial(np.load, file, allow_pickle=False))
    if stored is None:
        raise UnreadableError(_OBJECTS)
    if not isinstance(stored, np.ndarray):
        raise UnreadableError("holds several arrays; rename it to .npz.")
    return {"X": stored}


def arrays_of_npz(path: Path) -> dict[str, Any]:
    """Return the arrays of an archive by name, None for Python objects; those of a sparse matrix become one, X."""
    with path.open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        if isinstance(stored, np.ndarray):
            raise UnreadableError("holds a single array; rename it to .npy.")
        found = {name: _unless_objects(partial(stored.__getitem__, name)) for name in stored.files}
    if set(_SCIPY_SPARSE) <= set(found):
        return {"X": sparse_from_parts(_scipy_format(found["format"]), found).tocsr()}
    for parts in (_SPARSE, _PLAIN_SPARSE):
        if "X" not in found and set(parts.values()) <= set(found):
            found["X"] = sparse_from_parts("csr", {part: found.pop(key) for part, key in parts.items()})
    return found


def arrays_of_mat(path: Path) -> dict[str, Any]:
    """Return the variables of a MATLAB file by name."""
    from scipy.io import loadmat

    _check_matlab_elements(path)
    # From version 1.18 on, SciPy warns unless it is told which kind of sparse matrices to return.
    kind = {"spmatrix": False} if "spmatrix" in inspect.signature(loadmat).parameters else {}
    try:
        stored = loadmat(path, chars_as_strings=True, **kind)
    except NotImplementedError as error:
        raise UnreadableError("is a MATLAB file of version 7.3, which is not supported; save it with -v7.") from error
    arrays = {name: values for name, values in stored.items() if not name.startswith("__")}
    for name, values in arrays.items():
        if sp.issparse(values) and values.dtype.kind in "biuf":
            arrays[name] = checked_sparse(values).tocsr()
    return arrays


# SciPy's compiled reader trusts the type of each element of a MATLAB file: an unknown one ends the process.
_MATRIX, _COMPRESSED = 14, 15
_VALUE_TYPES = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18}
_NESTED, _OPAQUE, _COMPLEX = {1, 2, 3, 16, 17, 18}, 17, 0x0800  # classes that hold variables, and a flag
_N_VALUES = {4: 1, 5: 3} | dict.fromkeys(range(6, 16), 1)  # elements of values, by the class of a variable
_DEEPEST, _FEW_ITEMS = 50, 1000


def _check_matlab_elements(path: Path) -> None:
    """Raise an error if a file of version 5 to 7 does not consist of variables whose elements all have known types."""
    data = path.read_bytes()
    if len(data) < 128 or 0 in data[:4] or data[124:128] not in (b"\x00\x01IM", b"\x01\x00MI"):
        return  # version 4, which SciPy reads in Python, version 7.3, or no MATLAB file
    order = "<" if data[126:128] == b"IM" else ">"
    for kind, content in _matlab_elements(memoryview(data)[128:], order):
        if kind == _COMPRESSED:
            kind, content = next(_matlab_elements(memoryview(zlib.decompress(content)), order))
        _check_matlab_variable(kind, content, order)


def _matlab_elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield the type and the content of each element."""
    position = 0
    while position + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, position)
        start, end = position + 8, position + 8 + size
        if kind >> 16:  # a small element is part of its tag
            kind, start, end = kind & 0xFFFF, position + 4, position + 8
        if end > len(data):
            raise ValueError("the file has an element that does not end")
        yield kind, data[start:end]
        position = end if kind in (_MATRIX, _COMPRESSED) else end + (position - end) % 8


def _check_matlab_variable(kind: int, data: memoryview, order: str, depth: int = 0) -> None:
    if kind != _MATRIX or depth > _DEEPEST or (depth and len(data) % 8):
        raise ValueError("the file has elements out of place")
    if not data:  # an empty cell
        return
    elements = list(_matlab_elements(data, order))
    flags = struct.unpack_from(f"{order}4I", data)
    matlab_class = flags[2] & 0xFF
    if flags[:2] != (6, 8) or not (matlab_class in _NESTED or matlab_class in _N_VALUES):
        raise ValueError("the file has a variable of an unknown class")
    if matlab_class != _OPAQUE:
        kind, content = elements[1]
        if kind not in (5, 6) or not 8 <= len(content) <= 128 or len(content) % 4:
            raise ValueError("the file has a variable with damaged dimensions")
        dimensions = struct.unpack(f"{order}{len(content) // 4}i", content)
        n_most = max(len(data) // 8, _FEW_ITEMS) if matlab_class in _NESTED else None  # SciPy makes room for all
        if min(dimensions) < 0 or (n_most is not None and prod(dimensions) > n_most):
            raise ValueError("the file has a variable with damaged dimensions")
    n_values = _N_VALUES.get(matlab_class, 0)
    n_values += bool(n_values and matlab_class != 4 and flags[2] & _COMPLEX)
    kinds = [kind for kind, _ in elements[3 : 3 + n_values]]
    if len(kinds) < n_values or _MATRIX in kinds:
        raise ValueError("the file has a variable without values")
    for kind, content in elements:
        if kind not in _VALUE_TYPES:
            _check_matlab_variable(kind, content, order, depth + 1)


def _unless_objects(load: Callable[[], Any]) -> Any:
    """Return the array that is loaded, or None if it holds Python objects."""
    try:
        return load()
    except ValueError as error:
        if "Object arrays cannot be loaded" in str(error):
            return None
        raise


def _scipy_format(stored: Any) -> Any:
    """Return the format that SciPy stores, as text; old versions store bytes."""
    kind = stored.item() if isinstance(stored, np.ndarray) and stored.size == 1 else None
    return kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind


def _table(path: Path, arrays: Mapping[str, Any], aside: Sequence[str], transpose: bool) -> Table:
    """Return the table in arrays with these names; text is in arrays of strings or objects."""
    key = _key_of_numbers(arrays)
    stored = _checked_numbers(arrays[key], transpose)
    X = in_working_precision(stored)
    n_rows, n_columns = X.shape
    others = {name: _as_column(values) for name, values in arrays.items() if name != key}
    lists = [key for key, values in others.items() if np.shape(values) == (n_columns,) and values.dtype.kind == "O"]
    named = [key for key in lists if _plain_key(key) in _NAMES]
    candidates = [key for key in named if all(isinstance(each, str) for each in others[key])]
    key_of_names = min(candidates, key=lambda key: _NAMES.index(_plain_key(key)), default=None)
    names = others.pop(key_of_names).tolist() if key_of_names else [f"x{j}" for j in range(n_columns)]
    columns = {name: values for name, values in _by_own_names(others).items() if np.shape(values) == (n_rows,)}
    reasons = {name: _REASONS.get(values.dtype.kind, "a separate array") for name, values in columns.items()}
    left_out = [] if _ASIDE in others else [name for name in others if name not in columns]
    notes = _note_on_arrays(left_out, "without one value per sample", "left out")
    table = Table(X, checked_names(names), columns, reasons, row_labels(columns), path, notes)
    if not sp.issparse(stored):
        table = with_long_integers_aside(table, stored)
    return with_columns_aside(table, aside)


def _note_on_arrays(names: Sequence[str], which: str, done: str, advice: str = "") -> tuple[str, ...]:
    """Return a sentence on arrays that are no part of a table; none if there are no such arrays."""
    if not names:
        return ()
    subject, verb = ("Arrays", "were") if len(names) > 1 else ("An array", "was")
    return (f"{subject} {which} {verb} {done}: {listed(names, quoted=True)}{advice}.",)


def _key_of_numbers(arrays: Mapping[str, Any]) -> str:
    for key in _NUMBERS:
        if key in arrays:
            return key
    tables = [key for key, values in arrays.items() if np.ndim(values) == 2 and values.dtype.kind in "biuf"]
    tables = [key for key in tables if 1 not in arrays[key].shape] or tables
    if len(tables) == 1:
        return tables[0]
    found = f"it has {listed(sorted(arrays), quoted=True)}" if arrays else "it has none"
    raise UnreadableError(f"has no array named {', '.join(_NUMBERS[:-1])} or {_NUMBERS[-1]}; {found}.")


def _checked_numbers(X: Any, transpose: bool) -> Any:
    check_real_numbers(X)
    if X.ndim > 2:
        raise UnreadableError(f"has {X.ndim} dimensions, {X.shape}; flatten each sample with X.reshape(len(X), -1).")
    if X.ndim < 2:
        raise UnreadableError(f"holds an array of shape {X.shape}; a table has rows and columns.")
    X = X.T if transpose else X
    if X.shape[1] > _MOST_COLUMNS:
        raise UnreadableError(f"has {X.shape[1]:,} columns; at most {_MOST_COLUMNS:,} are supported.")
    return X.tocsr() if sp.issparse(X) else X


def _as_column(values: Any) -> Any:
    """Return a single row or column without its second dimension, and text as objects; anything else unchanged."""
    if isinstance(values, np.ndarray) and values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if np.ndim(values) != 1 or values.dtype.kind not in "USO":
        return values
    return object_array([_as_text(value) for value in values.tolist()])


def _as_text(value: Any) -> Any:
    """Return a text, also if it is in a cell of MATLAB, which is an array; an empty one has no rows."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return "".join(value.ravel().tolist())
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if np.size(value) == 0 else value


def _by_own_names(others: dict[str, Any]) -> dict[str, Any]:
    """Return the columns set aside by the names that ``write_table`` stores next to them."""
    if _ASIDE not in others:
        return others
    keys = {name: _aside_key(name, index) for index, name in enumerate(others[_ASIDE].tolist())}
    return {name: others[key] for name, key in keys.items() if key in others}


def _plain_key(key: str) -> str:
    """Return a key without case and underscores."""
    return key.casefold().replace("_", "")


def _aside_key(name: str, index: int) -> str:
    """Return the key of a column set aside: its name, or a number if that is taken or not an identifier."""
    clear = name.isascii() and name.isidentifier() and not name.startswith(("_", "aside_")) and len(name) <= 31
    taken = name in (*_NUMBERS, *_SPARSE.values(), *_SCIPY_SPARSE) or _plain_key(name) in _NAMES
    return name if clear and not taken else f"aside_{index}"


def write_npy(path: Path, table: Table, selection: Selection) -> None:
    """Write the selected columns, without names."""
    selected = np.flatnonzero(selection.selected)
    np.save(path, np.ascontiguousarray(dense_block(table.X, slice(None), selected)), allow_pickle=False)


def write_npz(path: Path, table: Table, selection: Selection) -> None:
    """Write the selected columns, their names and the columns set aside, each as an array."""
    arrays = _named_arrays(table, selection, "biufmMUS", partial(np.array, dtype=np.str_))
    if sp.issparse(arrays["X"]):
        X = arrays.pop("X").tocsr()
        arrays |= dict(zip(_SPARSE.values(), (X.data, X.indices, X.indptr, np.array(X.shape)), strict=True))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, values in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, values, allow_pickle=False)


def write_mat(path: Path, table: Table, selection: Selection) -> None:
    """Write the selected columns as X, their names, and the columns set aside, each as a variable."""
    from scipy.io import savemat

    arrays = _named_arrays(table, selection, "biuf", lambda texts: object_array(texts).reshape(-1, 1))
    with path.open("wb") as file:
        savemat(file, arrays, do_compression=True, oned_as="column")


def _named_arrays(
    table: Table, selection: Selection, plain_kinds: str, stored_texts: Callable[[list[str]], Any]
) -> dict[str, Any]:
    """Return everything to write, by the names that the reader looks for; what is not plain becomes text."""
    selected = np.flatnonzero(selection.selected)
    X = table.X if len(selected) == table.X.shape[1] else table.X[:, selected]
    arrays = {"X": X, "names": stored_texts([table.names[index] for index in selected])}
    aside = columns_aside(table, features_apart=True)
    if aside:
        arrays[_ASIDE] = stored_texts(list(aside))
    for index, (name, values) in enumerate(aside.items()):
        is_plain = values.dtype.kind in plain_kinds
        arrays[_aside_key(name, index)] = (
            values if is_plain else stored_texts([text or "" for text in as_texts(values)])
        )
    return arrays
