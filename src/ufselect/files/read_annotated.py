"""Read AnnData files, as scanpy writes them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect._utils.wording import listed
from ufselect.columns.arrays import is_dask_collection
from ufselect.columns.sparse_arrays import canonical
from ufselect.files.annotated_parts import can_be_read_in_parts, read_parts
from ufselect.files.arrow import objects
from ufselect.files.long_integers import with_long_integers_aside
from ufselect.files.self_contained import check_self_contained
from ufselect.files.sparse import checked_sparse
from ufselect.files.table import Table, UnreadableError, in_working_precision, with_columns_aside


def read_h5ad(path: Path, aside: Sequence[str], layer: str | None = None) -> Table:
    """Read a table from an AnnData file: its X or a layer, with the columns of obs set aside."""
    in_parts = can_be_read_in_parts(path)
    check_self_contained(path)
    data = read_parts(path, layer) if in_parts else load_annotated(path)
    if not data.var_names.is_unique:
        raise UnreadableError("has several columns of the same name; call var_names_make_unique() and save it again.")
    stored = _numbers(data, layer)
    X = _checked(stored, layer)
    if X.shape != (len(data.obs_names), len(data.var_names)):
        lengths = f"{len(data.obs_names)} rows in obs and {len(data.var_names)} in var"
        raise UnreadableError(f"has X of shape {X.shape}, but {lengths}.")
    annotations = {str(name): _values(data.obs[name]) for name in data.obs.columns}
    names = tuple(map(str, data.var_names))
    samples = objects([str(name) for name in data.obs_names])
    table = Table(X, names, annotations, dict.fromkeys(annotations, "obs"), samples, path)
    if not sp.issparse(stored):
        table = with_long_integers_aside(table, stored)
    return with_columns_aside(table, aside)


def load_annotated(path: Path) -> Any:
    """Return the AnnData object in a file."""
    from anndata import read_h5ad

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old formats and repeated names do no harm here
        return read_h5ad(path)


def annotated_numbers(data: Any, layer: str | None = None) -> Any:
    """Return X of an AnnData object, or a layer, in memory and ready for a fit; the object stays as it is.

    Of an object whose X is in a file, everything else stays there.
    """
    X = _numbers(data, layer)
    if is_dask_collection(X):
        raise UnreadableError("has its numbers in a Dask array; load them first, by to_memory().")
    if hasattr(X, "to_memory"):  # sparse, and in the file
        return _checked(X.to_memory(), layer)
    if sp.issparse(X):
        _check_kind(X, layer)
        return canonical(in_working_precision(_plain(X)))
    return _checked(np.asarray(X), layer)


def _numbers(data: Any, layer: str | None) -> Any:
    if layer is not None and layer not in data.layers:
        known = f"its layers are {listed(sorted(data.layers), quoted=True)}" if len(data.layers) else "it has none"
        raise UnreadableError(f"has no layer {layer!r}; {known}.")
    X = data.X if layer is None else data.layers[layer]
    if X is None:
        layers = listed(sorted(data.layers), quoted=True)
        raise UnreadableError(f"has no X{f'; choose one of its layers: {layers}' if layers else ' and no layers'}.")
    return X


def _checked(X: Any, layer: str | None) -> Any:
    _check_kind(X, layer)
    return checked_sparse(X) if sp.issparse(X) else in_working_precision(X)


def _check_kind(X: Any, layer: str | None) -> None:
    if X.dtype.kind not in "biuf":
        raise UnreadableError(f"has no numbers in {'X' if layer is None else f'layer {layer!r}'}.")


def _plain(X: Any) -> Any:
    """Return a matrix of SciPy's own class, which shares its arrays: a part of an AnnData object has another one."""
    kind = sp.csc_array if X.format == "csc" else sp.csr_array
    X = X if X.format in ("csr", "csc") else X.tocsr()
    return kind((X.data, X.indices, X.indptr), shape=X.shape)


def _values(column: Any) -> NDArray[Any]:
    """Return a column of obs: numbers and dates unchanged, anything else as text."""
    values = column.to_numpy()
    if values.dtype.kind in "biufM":
        return values
    return objects([None if missing else str(value) for value, missing in zip(values, column.isna(), strict=True)])
