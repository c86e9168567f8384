"""AnnData files, as scanpy writes them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.arrays import checked_sparse, with_columns_aside
from ufselect.files.arrow import as_texts, objects
from ufselect.files.outgoing import comes_from_h5ad
from ufselect.files.table import Selection, Table, UnreadableError, in_working_precision, listed


def read_h5ad(path: Path, asked: Sequence[str], layer: str | None = None) -> Table:
    """Read a table from an AnnData file: its X or a layer, with the columns of obs aside."""
    data = _loaded(path)
    if not data.var_names.is_unique:
        raise UnreadableError("has several columns of one name; call var_names_make_unique() and save it again.")
    X = in_working_precision(_checked(_numbers(data, layer)))
    aside = {str(name): _values(data.obs[name]) for name in data.obs.columns}
    names = tuple(map(str, data.var_names))
    samples = objects([str(name) for name in data.obs_names])
    return with_columns_aside(Table(X, names, aside, dict.fromkeys(aside, "obs"), samples, path), asked)


def _loaded(path: Path) -> Any:
    from anndata import read_h5ad

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old formats and names that repeat, which are no harm here
        return read_h5ad(path)


def _numbers(data: Any, layer: str | None) -> Any:
    if layer is not None and layer not in data.layers:
        known = f"its layers are {listed(sorted(data.layers))}" if len(data.layers) else "it has none"
        raise UnreadableError(f"has no layer {layer!r}; {known}.")
    X = data.X if layer is None else data.layers[layer]
    if X is None:
        raise UnreadableError(f"has no X; choose one of its layers: {listed(sorted(data.layers))}.")
    return X


def _checked(X: Any) -> Any:
    if X.dtype.kind not in "biuf":
        raise UnreadableError("holds no numbers in X.")
    return checked_sparse(X) if sp.issparse(X) else X


def _values(column: Any) -> NDArray[Any]:
    """A column of obs: numbers and dates as such, all else as text."""
    values = column.to_numpy()
    if values.dtype.kind in "biufM":
        return values
    return objects([None if nothing else str(value) for value, nothing in zip(values, column.isna(), strict=True)])


def write_h5ad(path: Path, table: Table, selection: Selection) -> None:
    """Write all columns, with scores, ranks and the selection in var, and all else that the source had."""
    data = _loaded(table.path) if comes_from_h5ad(table) else _annotated(table)
    judged = dict(zip(table.names, range(len(table.names)), strict=True))
    places = np.array([judged.get(str(name), -1) for name in data.var_names])
    known = places >= 0
    data.var["ufselect_score"] = np.where(known, np.asarray(selection.scores, dtype=float)[places], np.nan)
    data.var["ufselect_rank"] = np.where(known, np.asarray(selection.ranking, dtype=int)[places], 0)
    data.var["ufselect_selected"] = known & selection.selected[places]
    _write(data, path)


def _write(data: Any, path: Path) -> None:
    """Write the data; text stays text, of which anndata would make categories."""
    from anndata import settings

    options = {"convert_strings_to_categoricals": False}
    known = signature(data.write_h5ad).parameters  # earlier versions have neither this option nor that setting
    settable = hasattr(settings, "allow_write_nullable_strings")
    nullable = settings.override(allow_write_nullable_strings=True) if settable else nullcontext()
    with warnings.catch_warnings(), nullable:
        warnings.simplefilter("ignore")
        data.write_h5ad(path, **{name: value for name, value in options.items() if name in known})


def _annotated(table: Table) -> Any:
    import pandas as pd
    from anndata import AnnData

    labels = table.samples if table.samples is not None else [str(row) for row in range(table.shape[0])]
    obs = pd.DataFrame(index=pd.Index(labels, dtype=object))
    for name, values in table.aside.items():
        obs[_storable_name(name, obs.columns)] = _storable(values)
    return AnnData(table.X, obs=obs, var=pd.DataFrame(index=pd.Index(table.names, dtype=object)))


def _storable_name(name: str, taken: Any) -> str:
    """The file is a tree in which slashes part names; a few names have a meaning of their own."""
    name = name.replace("/", "_") or "row labels"
    name = "index" if name == "_index" else name
    while name in taken:
        name += "_"
    return name


def _storable(values: NDArray[Any]) -> Any:
    return values if values.dtype.kind in "biuf" else [text or "" for text in as_texts(values)]
