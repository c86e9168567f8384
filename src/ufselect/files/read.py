"""Read tables from files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ufselect._backend.wording import shortened
from ufselect.files.arrow import release_memory
from ufselect.files.formats import FORMATS, Format, known_format
from ufselect.files.table import Table, UnreadableError

_TEXT_OPTIONS = ("delimiter", "decimal", "na", "transpose", "verbose")
_READERS: dict[str, tuple[str, str, tuple[str, ...]]] = {  # module, function, options
    "csv": ("read_text", "read_text", _TEXT_OPTIONS),
    "tsv": ("read_text", "read_text", _TEXT_OPTIONS),
    "parquet": ("read_parquet", "read_parquet", ("transpose",)),
    "npy": ("read_arrays", "read_npy", ("transpose",)),
    "npz": ("read_arrays", "read_npz", ("transpose",)),
    "mat": ("read_arrays", "read_mat", ("transpose",)),
    "h5ad": ("read_annotated", "read_h5ad", ("layer",)),
}
_ARRAYS = {"npz": "arrays_of_npz", "mat": "arrays_of_mat"}


def read_table(
    path: str | Path,
    *,
    aside: Sequence[str] = (),
    layer: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    na: str | Sequence[str] = (),
    transpose: bool = False,
    verbose: int = 0,
) -> Table:
    r"""Read a table, its numeric columns apart from the others.

    Parameters
    ----------
    path : path
        The suffix gives the format. Nothing is ever unpickled.
    aside : sequence of str, default=()
        Names of columns that are not features, even if they are numeric.
    layer : str, optional
        The layer of a .h5ad file to read instead of X.
    delimiter : str, optional
        The character between the values of a text file. By default it is found among comma, semicolon and tab; it is
        a tab in a .tsv file.
    decimal : {".", ","}, optional
        The decimal mark of a text file. By default it is found in the numbers.
    na : str or sequence of str, default=()
        Further texts of a text file that mean a missing value, such as ``-`` or ``unknown``.
    transpose : bool, default=False
        Whether rows are features and columns are samples, as in a table of genes × samples. The first column of a
        text or Parquet file then holds the names of the features, and the header the labels of the samples. AnnData
        files are never transposed.
    verbose : int, default=0
        If 1, a text file that takes longer than a second shows a progress bar on standard error.

    Returns
    -------
    Table

    Raises
    ------
    OSError
        If the file cannot be opened or is not a regular file.
    ValueError
        If it does not hold a table of numbers, if it can be read in several ways, or if an option does not apply to
        its format. The message is one sentence that names the file and the cause.

    Notes
    -----
    A column of a text file is numeric if all its values are numbers, or all are true or false; empty fields, NA, N/A,
    n/a, NaN, nan, -nan, null, NULL, None and the texts in ``na`` are missing values. The first line holds the names,
    unless all its fields are numbers, none is quoted, and they do not merely count the columns from 0 or 1; then the
    names are ``column 1``, ``column 2`` and so on. The first column holds row labels if each row has one value more
    than there are names, as R writes it, if the first name is empty, or if it is ``Unnamed: 0`` and counts the rows.

    A delimiter fits if it gives all of the first lines the same number of fields, at least two. If several fit, the
    file is not read until ``delimiter`` or ``decimal`` is given.

    A column of a text or Parquet file is set aside if a float would change one of its integers. Duplicate entries of
    a sparse matrix are summed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ufselect.files import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cells.csv")
    ...     size = path.write_text("cell,width,height\na,1.5,2\nb,NA,3\n")
    ...     table = read_table(path)
    >>> table.names, table.reasons
    (('width', 'height'), {'cell': 'text'})
    """
    known = _readable_format(path)
    module, function, accepted = _READERS[known.name]
    given = {
        "layer": layer,
        "delimiter": "\t" if delimiter == r"\t" else delimiter,  # as shells pass it
        "decimal": decimal,
        "na": (na,) if isinstance(na, str) else tuple(na),
        "transpose": transpose,
        "verbose": verbose,
    }
    _check_options(path, given, accepted)
    check_file(path)
    with errors_named(path):
        read = _function(module, function)
        table: Table = read(Path(path), tuple(aside), **{name: given[name] for name in accepted})
        _check_table(table)
    release_memory()
    return table


def read_arrays(path: str | Path) -> dict[str, Any]:
    """Read the arrays of a .npz or .mat file.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
        Arrays and sparse matrices by name; None for arrays of Python objects, which are never unpickled. Sparse
        matrices are sound, and in canonical form.

    Raises
    ------
    OSError
        If the file cannot be opened or is not a regular file.
    ValueError
        If it is damaged. The message is one sentence that names the file and the cause.
    """
    known = _readable_format(path)
    check_file(path)
    with errors_named(path):
        return _function("read_arrays", _ARRAYS[known.name])(Path(path))


def check_file(path: str | Path) -> None:
    """Raise an error if the file does not exist, is empty, may not be read or is not a regular file."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{path} is a folder, not a file.")
        if not stat.S_ISREG(mode):  # opening a pipe waits until another process writes to it
            raise OSError(f"{path} is not a regular file; save the data to a file first.")
        with open(path, "rb") as file:
            empty = not file.read(1)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: permission denied.") from None
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(f"{path} cannot be opened: {(error.strerror or 'unknown cause').lower()}.") from error
    if empty:
        raise ValueError(f"{path} is empty.")


def _readable_format(path: str | Path) -> Format:
    if known := known_format(path):
        return known
    raise ValueError(f"{path} has an unknown suffix; {FORMATS}")


def _check_options(path: str | Path, given: Mapping[str, Any], accepted: Sequence[str]) -> None:
    """Raise an error if an option has an invalid value, or does not apply to the format."""
    reasons = {
        "layer": "only .h5ad files have layers",
        "delimiter": "only .csv and .tsv files have a delimiter",
        "decimal": "only .csv and .tsv files have a decimal mark",
        "na": "only .csv and .tsv files hold missing values as text",
        "transpose": "rows of AnnData are always samples; save adata.T instead",
    }
    for name, reason in reasons.items():
        if given[name] and name not in accepted:
            raise ValueError(f"{name}={_shown(given[name])} does not apply to {path}: {reason}.")
    if given["decimal"] not in (None, ".", ","):
        raise ValueError(f"decimal={given['decimal']!r} is not '.' or ','.")
    delimiter = given["delimiter"]
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise ValueError(f"delimiter={delimiter!r} is not one ASCII character other than a quote or line end.")
    if delimiter is not None and delimiter == given["decimal"]:
        raise ValueError(f"{delimiter!r} cannot be both the delimiter and the decimal mark.")


def _shown(value: Any) -> str:
    return repr(value[0] if isinstance(value, tuple) and len(value) == 1 else value)


@contextmanager
def errors_named(path: str | Path) -> Iterator[None]:
    """Turn whatever a reader fails with into one sentence that names the file."""
    try:
        yield
    except MemoryError:
        raise
    except ImportError as error:
        raise ValueError(f"Reading {path} requires {error.name}: pip install {error.name}.") from error
    except UnreadableError as error:
        raise ValueError(f"{path} {error}") from error
    except Exception as error:  # libraries fail with anything on damaged files
        title = _readable_format(path).title
        raise ValueError(f"{path} cannot be read as {title}: the file is damaged or incomplete.") from error


def _function(module: str, name: str) -> Callable[..., Any]:
    """Import a reader when it is needed: each brings a library that the others do without."""
    return getattr(import_module(f"ufselect.files.{module}"), name)


def _check_table(table: Table) -> None:
    if not table.names:
        reasons = "; ".join(f"{shortened(name)!r}: {reason}" for name, reason in list(table.reasons.items())[:3])
        raise UnreadableError(f"has no numeric column{f' ({reasons})' if reasons else ''}.")
    if not table.shape[0]:
        raise UnreadableError("has columns but no rows.")
