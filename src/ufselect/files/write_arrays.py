"""Write .npy, .npz and .mat files."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.array_keys import ASIDE, SPARSE, aside_key
from ufselect.files.arrow import as_texts, objects
from ufselect.files.table import Selection, Table, dense_block
from ufselect.files.write_columns import columns_aside


def write_npy(path: Path, table: Table, selection: Selection) -> None:
    """Write the selected columns, without names."""
    selected = np.flatnonzero(selection.selected)
    np.save(path, np.ascontiguousarray(dense_block(table.X, slice(None), selected)), allow_pickle=False)


def write_npz(path: Path, table: Table, selection: Selection) -> None:
    """Write the selected columns, their names and the columns set aside, each as an array."""
    arrays = _named_arrays(table, selection, _storable, _array_of_texts)
    if sp.issparse(arrays["X"]):
        X = arrays.pop("X").tocsr()
        arrays |= dict(zip(SPARSE.values(), (X.data, X.indices, X.indptr, np.array(X.shape)), strict=True))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, values in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, values, allow_pickle=False)


def write_mat(path: Path, table: Table, selection: Selection) -> None:
    """Write the selected columns as X, their names, and the columns set aside, each as a variable."""
    from scipy.io import savemat

    arrays = _named_arrays(table, selection, _variable, _cells)
    with path.open("wb") as file:
        savemat(file, arrays, do_compression=True, oned_as="column")


def _named_arrays(
    table: Table,
    selection: Selection,
    storable: Callable[[NDArray[Any]], Any],
    texts: Callable[[Sequence[str]], Any],
) -> dict[str, Any]:
    """Return everything to write, by the names that the reader looks for."""
    selected = np.flatnonzero(selection.selected)
    aside = columns_aside(table, features_apart=True)
    X = table.X if len(selected) == table.X.shape[1] else table.X[:, selected]
    arrays = {"X": X, "names": texts([table.names[index] for index in selected])}
    if aside:
        arrays[ASIDE] = texts(list(aside))
    return arrays | {aside_key(name, index): storable(values) for index, (name, values) in enumerate(aside.items())}


def _storable(values: NDArray[Any]) -> NDArray[Any]:
    return _array_of_texts([text or "" for text in as_texts(values)]) if values.dtype.kind == "O" else values


def _array_of_texts(texts: Sequence[str]) -> NDArray[Any]:
    return np.array(texts, dtype=np.str_)


def _variable(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype.kind in "biuf" else _cells([text or "" for text in as_texts(values)])


def _cells(texts: Sequence[str]) -> NDArray[Any]:
    return objects(list(texts)).reshape(-1, 1)
