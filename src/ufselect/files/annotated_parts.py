"""Parts of AnnData files: what is needed is read or written, and the rest stays in the file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ufselect.files.hdf5_writing import opened_for_writing
from ufselect.files.sparse import sparse_from_parts
from ufselect.files.table import LARGEST_INTEGER

_LARGEST_INDEX = np.iinfo(np.int32).max
_SPARSE = {"csr_matrix": "csr", "csc_matrix": "csc"}


@dataclass
class AnnotatedParts:
    """Parts of an AnnData object, by the names that they have there.

    Parameters
    ----------
    obs, var : DataFrame
    X : ndarray, sparse matrix or None
        None if the file has none, or if a layer was asked for.
    layers : dict
        Layers by name; None for those that were not asked for.
    uns : dict
        What was not asked for is missing.
    """

    obs: Any
    var: Any
    X: Any = None
    layers: dict[str, Any] = field(default_factory=dict)
    uns: dict[str, Any] = field(default_factory=dict)

    @property
    def obs_names(self) -> Any:
        """Names of the rows."""
        return self.obs.index

    @property
    def var_names(self) -> Any:
        """Names of the columns."""
        return self.var.index


def can_be_read_in_parts(path: Path) -> bool:
    """Whether a file has the format that AnnData writes since version 0.8; only that is known to every detail."""
    import anndata  # noqa: F401 - brings h5py, and is what to install if it is missing
    import h5py

    with h5py.File(path) as file:
        return bool(file.attrs.get("encoding-type") == "anndata")


def read_parts(path: Path, layer: str | None) -> AnnotatedParts:
    """Read obs, var, and X or a layer."""
    import h5py
    from anndata.io import read_elem

    with h5py.File(path) as file:
        layers = dict.fromkeys(file.get("layers", ()))
        parts = AnnotatedParts(read_elem(file["obs"]), read_elem(file["var"]), None, layers)
        if layer in layers:
            layers[layer] = _numbers(file["layers"][layer])
        elif layer is None and "X" in file:
            parts.X = _numbers(file["X"])
    return parts


@contextmanager
def annotated_copy(source: Path, target: Path) -> Iterator[AnnotatedParts]:
    """Copy a file; then write what was changed in var, or added to uns, into the copy."""
    from anndata.io import read_elem, write_elem

    with suppress(shutil.SameFileError):
        shutil.copyfile(source, target)
    with opened_for_writing(target, "r+") as file:
        parts = AnnotatedParts(read_elem(file["obs"]), read_elem(file["var"]))
        yield parts
        write_elem(file, "var", parts.var)
        for key, value in parts.uns.items():
            write_elem(file.require_group("uns"), key, value)


def _numbers(element: Any) -> Any:
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
