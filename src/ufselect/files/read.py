"""Read tables from files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from glob import has_magic
from importlib import import_module
from pathlib import Path
from typing import Any

from ufselect._utils.wording import shortened
from ufselect.files import standard_input
from ufselect.files.arrow import release_memory
from ufselect.files.formats import FORMATS, Format, known_format
from ufselect.files.table import Table, UnreadableError
from ufselect.files.text_encoding import check_encoding

_TEXT_OPTIONS = ("delimiter", "decimal", "na", "transpose", "encoding", "header", "verbose")
_READERS: dict[str, tuple[str, str, tuple[str, ...]]] = {  # module, function, options
    "csv": ("read_text", "read_text", _TEXT_OPTIONS),
    "tsv": ("read_text", "read_text", _TEXT_OPTIONS),
    "parquet": ("read_parquet", "read_parquet", ("transpose",)),
    "npy": ("read_arrays", "read_npy", ("transpose",)),
    "npz": ("read_arrays", "read_npz", ("transpose",)),
    "mat": ("read_arrays", "read_mat", ("transpose",)),
    "h5ad": ("read_annotated", "read_h5ad", ("layer",)),
    "xlsx": ("read_sheet", "read_sheet", ("na", "transpose", "sheet", "header")),
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
    encoding: str | None = None,
    sheet: str | None = None,
    header: bool | None = None,
    verbose: int = 0,
) -> Table:
    r"""Read a table, its numeric columns apart from the others.

    Parameters
    ----------
    path : path
        The suffix gives the format. Nothing is ever unpickled. A pattern such as ``parts/*.parquet`` reads several
        Parquet files with the same columns as one table, in the order of their names. ``-`` is standard input: a text
        file, also compressed, or any other format except AnnData, recognised by how it begins.
    aside : sequence of str, default=()
        Names of columns that are not features, even if they are numeric.
    layer : str, optional
        The layer of a .h5ad file to read instead of X.
    delimiter : str, optional
        The character between the values of a text file. By default it is found among comma, semicolon, tab and
        ``|``; it is a tab in a .tsv file.
    decimal : {".", ","}, optional
        The decimal mark of a text file; the other mark then separates thousands. By default it is found in the
        numbers, and an error says so if all of those with a comma look like ``1,234``.
    na : str or sequence of str, default=()
        Further texts of a text file or a sheet that mean a missing value, such as ``-`` or ``unknown``.
    transpose : bool, default=False
        Whether rows are features and columns are samples, as in a table of genes × samples. The first column of a
        text, Parquet or Excel file then holds the names of the features, and the header the labels of the samples.
        AnnData files are never transposed.
    encoding : str, optional
        The encoding of a text file, such as ``latin-1``. By default it is UTF-8, or UTF-16 if the file begins with its
        byte order mark.
    sheet : str, optional
        The sheet of an Excel file to read instead of the first one.
    header : bool, optional
        Whether the first line of a text file or a sheet holds the column names. By default this is recognised. If
        ``transpose``, whether it holds the labels of the samples.
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
    n/a, NaN, nan, -nan, null, NULL, None, the errors of Excel such as #N/A and #DIV/0!, and the texts in ``na`` are
    missing values. The first line holds the names,
    unless its fields are numbers, none is quoted, and they are like those below; then the names are ``column 1``,
    ``column 2`` and so on. Numbers are names if they count the columns, are years, are evenly spaced where others are
    not, or rise or fall in columns that do not and either lie outside the values below or are whole numbers above
    decimals. ``Table.notes`` says which it was. The first column holds row labels if each row has one value more
    than there are names, as R writes it, if the first name is empty, or if it is ``Unnamed: 0`` and counts the rows.

    Lines of a text file that begin with # are comments: they are skipped, and counted in ``Table.notes``. The last one
    before the data holds the names if it has as many fields as the line after it, at least two, and one of the fields
    of that line is a number, as in ``#gene,a,b`` above ``x,1,2``. After the first record, a line that begins with #
    and has as many fields as the records is one of them if a field after the first is a number or missing; so is any
    line that begins with an error of Excel. If all lines after the first one begin with #, they are no comments.

    A delimiter fits if it gives all of the first lines the same number of fields, at least two. If several fit, the
    file is not read until ``delimiter`` or ``decimal`` is given.

    A column is set aside if a float would change one of its integers; a sparse matrix with such integers is not read.
    A column of a text file or a sheet is set aside as well if its values are digits, some with leading zeros, unless
    all numbers of the file have the same width. Duplicate entries of a sparse matrix are summed.

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
    given = {
        "layer": layer,
        "delimiter": "\t" if delimiter == r"\t" else delimiter,  # as shells pass it
        "decimal": decimal,
        "na": (na,) if isinstance(na, str) else tuple(na),
        "transpose": transpose,
        "encoding": encoding,
        "sheet": sheet,
        "header": header,
        "verbose": verbose,
    }
    if str(path) != standard_input.MARK:
        return _read(Path(path), str(path), tuple(aside), given)
    with standard_input.stored_input() as stored:
        table = _read(stored, standard_input.NAME, tuple(aside), given)
    return replace(table, path=Path(standard_input.NAME))


def _read(path: Path, name: str, aside: tuple[str, ...], given: Mapping[str, Any]) -> Table:
    """Read a file or several; messages call it by that name."""
    if is_pattern(path):
        _check_options(name, given, ("transpose",))
        table: Table = _function("read_parquet_parts", "read_parquet_parts")(path, aside, given["transpose"])
    else:
        table = _read_file(path, name, aside, given)
    with errors_named(path, name):
        _check_table(table)
    release_memory()
    return table


def _read_file(path: Path, name: str, aside: tuple[str, ...], given: Mapping[str, Any]) -> Table:
    module, function, accepted = _READERS[_readable_format(path).name]
    _check_options(name, given, accepted)
    check_file(path)
    with errors_named(path, name):
        return _function(module, function)(path, aside, **{option: given[option] for option in accepted})


def is_pattern(path: str | Path) -> bool:
    """Whether a path is a pattern for several files rather than the name of one."""
    return has_magic(str(path)) and not os.path.lexists(path)


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


def _check_options(name: str, given: Mapping[str, Any], accepted: Sequence[str]) -> None:
    """Raise an error if an option has an invalid value, or does not apply to the format."""
    reasons = {
        "layer": "only .h5ad files have layers",
        "delimiter": "only .csv and .tsv files have a delimiter",
        "decimal": "only .csv and .tsv files have a decimal mark",
        "na": "only .csv, .tsv and .xlsx files hold missing values as text",
        "encoding": "only .csv and .tsv files have an encoding",
        "sheet": "only .xlsx files have sheets",
        "header": "only .csv, .tsv and .xlsx files have a first line that may or may not hold names",
        "transpose": "rows of AnnData are always samples; save adata.T instead",
    }
    for option, reason in reasons.items():
        is_given = given[option] is not None if option == "header" else given[option]
        if is_given and option not in accepted:
            raise ValueError(f"{option}={_shown(given[option])} does not apply to {name}: {reason}.")
    if not isinstance(given["header"], bool | None):
        raise ValueError(f"header={given['header']!r} is not True, False or None.")
    if given["encoding"] is not None:
        check_encoding(given["encoding"])
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
def errors_named(path: str | Path, name: str = "") -> Iterator[None]:
    """Turn whatever a reader fails with into one sentence that names the file, by another name if there is one."""
    name = name or str(path)
    try:
        yield
    except MemoryError:
        raise
    except ImportError as error:
        raise ValueError(f"Reading {name} requires {error.name}: pip install {error.name}.") from error
    except UnreadableError as error:
        raise ValueError(f"{name} {error}") from error
    except Exception as error:  # libraries fail with anything on damaged files
        title = _readable_format(path).title
        raise ValueError(f"{name} cannot be read as {title}: the file is damaged or incomplete.") from error


def _function(module: str, name: str) -> Callable[..., Any]:
    """Import a reader when it is needed: each brings a library that the others do without."""
    return getattr(import_module(f"ufselect.files.{module}"), name)


def _check_table(table: Table) -> None:
    if not table.names:
        reasons = "; ".join(f"{shortened(name)!r}: {reason}" for name, reason in list(table.reasons.items())[:3])
        raise UnreadableError(f"has no numeric column{f' ({reasons})' if reasons else ''}.")
    if not table.shape[0]:
        raise UnreadableError("has columns but no rows.")
