"""Read and write AnnData files, as scanpy does; what is not needed stays in the file."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect._utils.wording import listed
from ufselect.columns.arrays import is_dask_collection
from ufselect.columns.dense import canonical
from ufselect.files.arrow import as_texts, object_array
from ufselect.files.errors import UnreadableError, errors_named
from ufselect.files.hdf5 import check_self_contained, opened_for_writing
from ufselect.files.sparse import checked_sparse, sparse_from_parts
from ufselect.files.table import (
    LARGEST_INTEGER,
    Selection,
    Table,
    comes_from,
    in_working_precision,
    with_columns_aside,
    with_long_integers_aside,
)

KEY = "ufselect"  # where ``uns`` has the record of a selection
_LARGEST_INDEX = np.iinfo(np.int32).max
_SPARSE = {"csr_matrix": "csr", "csc_matrix": "csc"}


def read_h5ad(path: Path, aside: Sequence[str], layer: str | None = None) -> Table:
    """Read a table from an AnnData file: its X or a layer, with the columns of obs set aside."""
    is_current = has_current_format(path)
    check_self_contained(path)
    data = _read_parts(path, layer) if is_current else load_annotated(path)
    if not data.var_names.is_unique:
        raise UnreadableError("has several columns of the same name; call var_names_make_unique() and save it again.")
    stored = _numbers(data, layer)
    X = _checked(stored, layer)
    if X.shape != (len(data.obs_names), len(data.var_names)):
        lengths = f"{len(data.obs_names)} rows in obs and {len(data.var_names)} in var"
        raise UnreadableError(f"has X of shape {X.shape}, but {lengths}.")
    annotations = {str(name): _values(data.obs[name]) for name in data.obs.columns}
    names = tuple(map(str, data.var_names))
    samples = object_array([str(name) for name in data.obs_names])
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
    """Return X of an AnnData object, or a layer, in memory and ready for a fit; the object stays as it is."""
    X = _numbers(data, layer)
    if is_dask_collection(X):
        raise UnreadableError("has its numbers in a Dask array; load them first, by to_memory().")
    if hasattr(X, "to_memory"):  # sparse, and in the file
        return _checked(X.to_memory(), layer)
    if sp.issparse(X):
        _check_kind(X, layer)
        X = X if X.format in ("csr", "csc") else X.tocsr()
        kind = sp.csc_array if X.format == "csc" else sp.csr_array  # a part of an AnnData object has another class
        return canonical(in_working_precision(kind((X.data, X.indices, X.indptr), shape=X.shape)))
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
    """Return numbers in working precision; the indices of sparse ones are checked."""
    _check_kind(X, layer)
    return checked_sparse(X) if sp.issparse(X) else in_working_precision(X)


def _check_kind(X: Any, layer: str | None) -> None:
    if X.dtype.kind not in "biuf":
        raise UnreadableError(f"has no numbers in {'X' if layer is None else f'layer {layer!r}'}.")


def _values(column: Any) -> NDArray[Any]:
    """Return a column of obs: numbers and dates unchanged, anything else as text."""
    values = column.to_numpy()
    if values.dtype.kind in "biufM":
        return values
    return object_array([None if missing else str(value) for value, missing in zip(values, column.isna(), strict=True)])


def has_current_format(path: Path) -> bool:
    """Whether a file has the format that AnnData writes since version 0.8; only that is known to every detail."""
    import anndata  # noqa: F401 - brings h5py, and is what to install if it is missing
    import h5py

    with h5py.File(path) as file:
        return bool(file.attrs.get("encoding-type") == "anndata")


def _read_frames(file: Any) -> Any:
    """Return obs and var of a file, by the names that they and their index have in an AnnData object."""
    from anndata.io import read_elem

    obs, var = read_elem(file["obs"]), read_elem(file["var"])
    return SimpleNamespace(obs=obs, var=var, obs_names=obs.index, var_names=var.index, X=None, layers={}, uns={})


def _read_parts(path: Path, layer: str | None) -> Any:
    """Read obs, var, and X or a layer; the other layers are None."""
    import h5py

    with h5py.File(path) as file:
        parts = _read_frames(file)
        parts.layers = dict.fromkeys(file.get("layers", ()))
        if layer in parts.layers:
            parts.layers[layer] = _read_matrix(file["layers"][layer])
        elif layer is None and "X" in file:
            parts.X = _read_matrix(file["X"])
    return parts


def read_entry(path: Path, kind: str, key: str) -> Any:
    """Return an array of obsm or obsp of a file."""
    import h5py

    check_self_contained(path)
    if not has_current_format(path):
        return entry_of(getattr(load_annotated(path), kind), kind, key)
    with h5py.File(path) as file:
        return _read_matrix(entry_of(file.get(kind, {}), kind, key))


def read_var(path: Path, key: str) -> dict[str, Any]:
    """Return a column of var of a file by the names of the columns of X, without missing values."""
    import h5py

    check_self_contained(path)
    if has_current_format(path):
        with h5py.File(path) as file:
            data = _read_frames(file)
    else:
        data = load_annotated(path)
    if key not in data.var:
        known = (
            f"its columns are {listed([*map(str, data.var.columns)], quoted=True)}"
            if len(data.var.columns)
            else "it has none"
        )
        raise UnreadableError(f"has no column {key!r} in var; {known}.")
    present = data.var[key].dropna()
    return dict(zip(map(str, present.index), present.tolist(), strict=True))


def entry_of(entries: Any, kind: str, key: str) -> Any:
    """Return an array of obsm or obsp by its key; raise an error if there is none, or it holds distances."""
    if key not in entries:
        known = f"its keys are {listed(sorted(entries), quoted=True)}" if len(entries) else "it has none"
        raise UnreadableError(f"has no {key!r} in {kind}; {known}.")
    if kind == "obsp" and "distances" in key:
        raise UnreadableError(f"has distances in obsp[{key!r}], but a graph has large weights for similar samples.")
    return entries[key]


def _read_matrix(element: Any) -> Any:
    """Read a matrix; integers become floats on their way from the file, not in memory."""
    from anndata.io import read_elem

    kind = _SPARSE.get(element.attrs.get("encoding-type", ""))
    if kind is None:
        return _as_floats(element) if element.attrs.get("encoding-type") == "array" else read_elem(element)
    shape = np.asarray(element.attrs["shape"])
    parts = {name: _as_indices(element[name], shape) for name in ("indices", "indptr") if name in element}
    if "data" in element:
        parts["data"] = _as_floats(element["data"])
    return sparse_from_parts(kind, parts | {"shape": shape})


def _as_floats(dataset: Any) -> Any:
    """Read values, integers as floats unless a float may change one of them."""
    if dataset.dtype.kind not in "iu":
        return dataset[()]
    floats = dataset.astype(np.float64)[()]
    small = dataset.dtype.itemsize < 8 or not floats.size
    return floats if small or max(floats.max(), -floats.min()) < LARGEST_INTEGER else dataset[()]


def _as_indices(dataset: Any, shape: Any) -> Any:
    """Read indices in 32 bits if that is enough, as SciPy would convert them; larger ones become the largest."""
    small = max(*shape.tolist(), dataset.size) < _LARGEST_INDEX and dataset.dtype == np.int64
    return dataset.astype(np.int32)[()] if small else dataset[()]


def write_h5ad(path: Path, table: Table, selection: Selection) -> None:
    """Write all columns, with the selection in var and uns, and everything else that the source holds."""
    from anndata.io import write_elem

    def annotate_genes(data: Any) -> None:
        index_of = {name: index for index, name in enumerate(table.names)}
        annotate(data, selection, np.array([index_of.get(str(name), -1) for name in data.var_names]))

    source = table.path if comes_from(table, "h5ad") else None
    if source is not None:
        with errors_named(source):  # it may have changed since it was read
            check_self_contained(source)
    with _quietly():
        if source is None or not has_current_format(source):
            data = load_annotated(source) if source else _annotated(table)
            annotate_genes(data)
            with opened_for_writing(path, "w") as file:
                write_elem(file, "/", data)  # keeps text, which AnnData.write_h5ad would turn into categories
            return
        with suppress(shutil.SameFileError):
            shutil.copyfile(source, path)
        with opened_for_writing(path, "r+") as file:
            parts = _read_frames(file)
            annotate_genes(parts)
            write_elem(file, "var", parts.var)
            for key, value in parts.uns.items():
                write_elem(file.require_group("uns"), key, value)


@contextmanager
def _quietly() -> Iterator[None]:
    """Write without warnings, and text with missing values if this version of anndata has to be told."""
    from anndata import settings

    settable = hasattr(settings, "allow_write_nullable_strings")
    nullable = settings.override(allow_write_nullable_strings=True) if settable else nullcontext()
    with warnings.catch_warnings(), nullable:
        warnings.simplefilter("ignore")
        yield


def _annotated(table: Table) -> Any:
    import pandas as pd
    from anndata import AnnData

    labels = table.samples if table.samples is not None else [str(row) for row in range(table.shape[0])]
    obs = pd.DataFrame(index=pd.Index(labels, dtype=object))
    for name, values in table.aside.items():
        plain = values.dtype.kind in "biuf"
        obs[_storable_name(name, obs.columns)] = values if plain else [text or "" for text in as_texts(values)]
    return AnnData(table.X, obs=obs, var=pd.DataFrame(index=pd.Index(table.names, dtype=object)))


def _storable_name(name: str, taken: Any) -> str:
    """Return a name without slashes, which separate levels in the file, and not one that is reserved."""
    name = "_" if name == "." else name.replace("/", "_") or "row labels"
    name = "index" if name == "_index" else name
    while name in taken:
        name += "_"
    return name


def annotate(data: Any, selection: Selection, indices: NDArray[Any]) -> None:
    """Write scores, ranks and q-values to ``var``, the record to ``uns``; genes with index −1 took no part."""
    scored = indices >= 0
    data.var["ufselect_score"] = np.where(scored, np.asarray(selection.scores, dtype=float)[indices], np.nan)
    data.var["ufselect_rank"] = np.where(scored, np.asarray(selection.ranking, dtype=int)[indices], 0)
    data.var["ufselect_selected"] = scored & selection.selected[indices]
    if selection.q_values is not None:
        data.var["ufselect_q"] = np.where(scored, selection.q_values[indices], np.nan)
    elif "ufselect_q" in data.var:  # of an earlier selection
        del data.var["ufselect_q"]
    data.uns[KEY] = storable(selection.record)


def storable(record: Any) -> Any:
    """Return a record in the types that ``.h5ad`` files have; entries that are None, which they lack, are left out."""
    if isinstance(record, dict):
        return {key: storable(value) for key, value in record.items() if value is not None}
    if isinstance(record, (list, tuple)):
        return np.array(record) if record else np.array([], dtype=str)
    return record if isinstance(record, (str, bool, int, float, np.ndarray, np.generic)) else str(record)
