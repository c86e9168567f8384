"""Read a table from a file, several files or standard input."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ufselect._utils.wording import shortened
from ufselect.files.errors import UnreadableError, check_file, errors_named
from ufselect.files.registry import FORMATS, OPTIONS, Format, format_of, imported, why_option_does_not_apply
from ufselect.files.table import Table
from ufselect.files.text_lines import check_encoding

_STANDARD_INPUT = "standard input"


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
    require_numbers: bool = True,
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
    require_numbers : bool, default=True
        Whether a file without a numeric column is an error.
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
    missing values. The first line holds the names, unless its fields are numbers, none is quoted, and they are like
    those below; then the names are ``column 1``, ``column 2`` and so on. Numbers are names if they count the columns,
    are years, are evenly spaced where others are not, or rise or fall in columns that do not and either lie outside the
    values below or are whole numbers above decimals. ``Table.notes`` says which it was. The first column holds row
    labels if each row has one value more than there are names, as R writes it, if the first name is empty, or if it is
    ``Unnamed: 0`` and counts the rows.

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
    options = {
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
    if str(path) != "-":
        return _read(Path(path), str(path), tuple(aside), require_numbers, options)
    with stored_standard_input() as stored:
        table = _read(stored, _STANDARD_INPUT, tuple(aside), require_numbers, options)
    return replace(table, path=Path(_STANDARD_INPUT))


@contextmanager
def stored_standard_input() -> Iterator[Path]:
    """Yield a file with everything that standard input holds; its suffix says what that is, CSV by default."""
    with TemporaryDirectory(prefix="ufselect-") as folder:
        stored = Path(folder, _STANDARD_INPUT)
        with stored.open("wb") as file:
            is_closed = sys.stdin is None or sys.stdin.closed
            if is_closed or sys.stdin.isatty():
                what = "closed" if is_closed else "a terminal"
                raise OSError(f"{_STANDARD_INPUT} is {what}; pipe a file into the command, or give its name.")
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield stored.rename(stored.with_name(stored.name + _suffix_by_content(stored)))


def _suffix_by_content(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(16)
    if not start:
        raise ValueError(f"{_STANDARD_INPUT} is empty.")
    if start.startswith(b"\x1f\x8b"):
        return ".csv.gz"
    known = next((each for each in FORMATS if each.magic and start.startswith(each.magic)), FORMATS[0])
    if known.annotates:
        raise ValueError(
            f"{_STANDARD_INPUT} is an {known.title} file, which cannot be read from there; give the name of the file."
        )
    if known.name == "npz":
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            if any(name.startswith("xl/") for name in archive.namelist()):
                return ".xlsx"
    return known.suffixes[0]


def is_pattern(path: str | Path) -> bool:
    """Whether a path is a pattern for several files rather than the name of one."""
    return has_magic(str(path)) and not os.path.lexists(path)


def _read(path: Path, name: str, aside: tuple[str, ...], require_numbers: bool, options: Mapping[str, Any]) -> Table:
    """Read a file or several; messages call it by that name."""
    known = None if is_pattern(path) else format_of(path)
    _check_options(name, options, known)
    if known is None:
        table: Table = imported("parquet.read_parquet_parts")(path, aside, options["transpose"])
    else:
        check_file(path)
        with errors_named(path, name):
            table = imported(known.reader)(path, aside, **{name: options[name] for name in known.options})
    with errors_named(path, name):
        if require_numbers and not table.names:
            reasons = "; ".join(f"{shortened(name)!r}: {reason}" for name, reason in list(table.reasons.items())[:3])
            raise UnreadableError(f"has no numeric column{f' ({reasons})' if reasons else ''}.")
        if not table.shape[0]:
            raise UnreadableError("has columns but no rows.")
    if pyarrow := sys.modules.get("pyarrow"):
        pyarrow.default_memory_pool().release_unused()  # what it keeps for its next table
    return table


def read_arrays(path: str | Path) -> dict[str, Any]:
    """Read the arrays of a .npy, .npz or .mat file by name; None for Python objects, which are never unpickled."""
    check_file(path)
    with errors_named(path):
        arrays: dict[str, Any] = imported(format_of(path).arrays)(Path(path))
    return arrays


def _check_options(name: str, options: Mapping[str, Any], known: Format | None) -> None:
    """Raise an error if an option has an invalid value, or does not apply to the format."""
    accepted = known.options if known else ("transpose",)
    for option in OPTIONS:
        value = options[option]
        is_given = value is not None if option == "header" else value
        if is_given and option not in accepted:
            shown = value[0] if isinstance(value, tuple) and len(value) == 1 else value
            reason = why_option_does_not_apply(option, known)
            raise ValueError(f"{option}={shown!r} does not apply to {name}: {reason}.")
    header, decimal, delimiter = options["header"], options["decimal"], options["delimiter"]
    if not isinstance(header, bool | None):
        raise ValueError(f"header={header!r} is not True, False or None.")
    if options["encoding"] is not None:
        check_encoding(options["encoding"])
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal={decimal!r} is not '.' or ','.")
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise ValueError(f"delimiter={delimiter!r} is not one ASCII character other than a quote or line end.")
    if delimiter is not None and delimiter == decimal:
        raise ValueError(f"{delimiter!r} cannot be both the delimiter and the decimal mark.")
