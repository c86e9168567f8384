"""Write AnnData files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.annotated_parts import annotated_copy, can_be_read_in_parts
from ufselect.files.annotations import annotate
from ufselect.files.arrow import as_texts
from ufselect.files.hdf5_writing import opened_for_writing
from ufselect.files.read import errors_named
from ufselect.files.read_annotated import load_annotated
from ufselect.files.self_contained import check_self_contained
from ufselect.files.table import Selection, Table
from ufselect.files.write_columns import comes_from


def write_h5ad(path: Path, table: Table, selection: Selection) -> None:
    """Write all columns, with the selection in var and uns, and everything else that the source holds."""
    if comes_from(table, "h5ad"):
        with errors_named(table.path):  # it may have changed since it was read
            check_self_contained(table.path)
    if comes_from(table, "h5ad") and can_be_read_in_parts(table.path):
        with _quietly(), annotated_copy(table.path, path) as parts:
            _annotate(parts, table, selection)
        return
    data = load_annotated(table.path) if comes_from(table, "h5ad") else _annotated(table)
    _annotate(data, table, selection)
    _write(data, path)


def _annotate(data: Any, table: Table, selection: Selection) -> None:
    index_of = {name: index for index, name in enumerate(table.names)}
    annotate(data, selection, np.array([index_of.get(str(name), -1) for name in data.var_names]))


def _write(data: Any, path: Path) -> None:
    """Write the data; text stays text, which ``write_h5ad`` of anndata would turn into categories."""
    from anndata.io import write_elem

    with _quietly(), opened_for_writing(path, "w") as file:
        write_elem(file, "/", data)


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
        obs[_storable_name(name, obs.columns)] = _storable(values)
    return AnnData(table.X, obs=obs, var=pd.DataFrame(index=pd.Index(table.names, dtype=object)))


def _storable_name(name: str, taken: Any) -> str:
    """Return a name without slashes, which separate levels in the file, and not one that is reserved."""
    name = name.replace("/", "_") or "row labels"
    name = "index" if name == "_index" else name
    while name in taken:
        name += "_"
    return name


def _storable(values: NDArray[Any]) -> Any:
    return values if values.dtype.kind in "biuf" else [text or "" for text in as_texts(values)]
