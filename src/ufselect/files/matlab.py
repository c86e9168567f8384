"""MATLAB files, up to version 7."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ufselect.files.arrays import NUMBERS, outgoing_arrays, table_of
from ufselect.files.arrow import as_texts, objects
from ufselect.files.table import Selection, Table, UnreadableError


def read_mat(path: Path, asked: Sequence[str]) -> Table:
    """Read a table from a MATLAB file."""
    from scipy.io import loadmat

    try:
        stored = loadmat(path, chars_as_strings=True)
    except NotImplementedError as error:
        raise UnreadableError("is a MATLAB file of version 7.3; save it again with -v7.") from error
    arrays = {name: values for name, values in stored.items() if not name.startswith("__")}
    numbers = next((key for key in NUMBERS if key in arrays), None)
    return table_of(path, {name: v if name == numbers else _as_column(v) for name, v in arrays.items()}, asked)


def _as_column(values: Any) -> Any:
    """Vectors without their second dimension, cell arrays of text as arrays of strings."""
    if sp.issparse(values) or np.ndim(values) != 2 or 1 not in values.shape:
        return values
    column = values.ravel()
    return objects([_text(cell) for cell in column]) if column.dtype.kind == "O" else column


def _text(cell: Any) -> Any:
    """A cell's text; MATLAB's empty text has no rows."""
    if isinstance(cell, np.ndarray) and cell.dtype.kind == "U":
        return "".join(cell.ravel().tolist())
    return "" if np.size(cell) == 0 else cell


def write_mat(path: Path, table: Table, selection: Selection) -> None:
    """Write the selected columns as X, their names, and the columns aside, each a variable."""
    from scipy.io import savemat

    arrays = outgoing_arrays(table, selection, _variable, _cells)
    with path.open("wb") as file:
        savemat(file, arrays, do_compression=True, oned_as="column")


def _variable(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype.kind in "biuf" else _cells([text or "" for text in as_texts(values)])


def _cells(texts: Sequence[str]) -> NDArray[Any]:
    return objects(list(texts)).reshape(-1, 1)
