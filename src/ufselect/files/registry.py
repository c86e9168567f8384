"""The file formats: one object each, with suffixes, reader, writer and the options that it takes.

To add a format, write a module with its reader, and its writer if there is one, and append an entry to ``FORMATS``.
This module imports no library, so that the help of the command line is built from it at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OPTIONS = {  # what files of the formats that take an option do
    "layer": "have layers",
    "delimiter": "have a delimiter",
    "decimal": "have a decimal mark",
    "na": "hold missing values as text",
    "encoding": "have an encoding",
    "sheet": "have sheets",
    "header": "have a first line that may or may not hold names",
    "transpose": "can be transposed",
}


@dataclass(frozen=True)
class Format:
    """A file format.

    Functions are given as ``module.function`` within :mod:`ufselect.files`, and imported when they are called. A reader
    takes a path, the names of the columns to set aside, and the options as keywords, and returns a ``Table``. A writer
    takes a path, a ``Table`` and a ``Selection``; it is empty if files of this format are only read.
    """

    name: str  # as returned by ``file_format``
    title: str  # in messages
    suffixes: tuple[str, ...]  # in lower case; the first one stands for the format in messages
    reader: str
    writer: str = ""
    options: tuple[str, ...] = ("transpose",)  # of ``read_table`` that the reader takes
    refusals: Mapping[str, str] = field(default_factory=dict)  # why other options do not apply, if there is more to say
    arrays: str = ""  # function that returns the arrays of a file by name, of formats that hold nothing else
    library: str = ""  # package that is required
    magic: bytes = b""  # how files begin, by which standard input is recognised
    annotates: bool = False  # whether a file written from one of this format keeps all of it, and adds the selection

    def suffix_of(self, path: Path) -> str:
        """Return the suffix of a file of this format; empty if it is of another one."""
        name = path.name.casefold()
        return next((each for each in self.suffixes if name.endswith(each) and name != each), "")


_TEXT_OPTIONS = ("delimiter", "decimal", "na", "transpose", "encoding", "header", "verbose")

FORMATS = (
    Format("csv", "CSV", (".csv", ".csv.gz"), "text.read_text", "text.write_text", _TEXT_OPTIONS, library="pyarrow"),
    Format("tsv", "TSV", (".tsv", ".tsv.gz"), "text.read_text", "text.write_text", _TEXT_OPTIONS, library="pyarrow"),
    Format(
        "parquet",
        "Parquet",
        (".parquet", ".pq"),
        "parquet.read_parquet",
        "parquet.write_parquet",
        library="pyarrow",
        magic=b"PAR1",
    ),
    Format(
        "npy",
        "NumPy array",
        (".npy",),
        "arrays.read_npy",
        "arrays.write_npy",
        arrays="arrays.arrays_of_npy",
        magic=b"\x93NUMPY",
    ),
    Format(
        "npz",
        "NumPy archive",
        (".npz",),
        "arrays.read_npz",
        "arrays.write_npz",
        arrays="arrays.arrays_of_npz",
        magic=b"PK\x03\x04",
    ),
    Format(
        "mat",
        "MATLAB file",
        (".mat",),
        "arrays.read_mat",
        "arrays.write_mat",
        arrays="arrays.arrays_of_mat",
        magic=b"MATLAB 5.0",
    ),
    Format(
        "h5ad",
        "AnnData",
        (".h5ad",),
        "annotated.read_h5ad",
        "annotated.write_h5ad",
        options=("layer",),
        refusals={"transpose": "rows of AnnData are always samples; save adata.T instead"},
        library="anndata",
        magic=b"\x89HDF\r\n\x1a\n",
        annotates=True,
    ),
    Format(
        "xlsx",
        "Excel",
        (".xlsx", ".xlsm"),
        "sheets.read_sheet",
        options=("na", "transpose", "sheet", "header"),
        library="openpyxl",
    ),
)


def imported(function: str) -> Any:
    """Import a function of this package by its name."""
    module, name = function.split(".")
    return getattr(import_module(f"ufselect.files.{module}"), name)


def listed_suffixes(formats: Sequence[Format] = FORMATS, *, all_of_each: bool = True, last: str = "and") -> str:
    """Return the suffixes of formats as part of a sentence, or the first suffix of each."""
    found = [suffix for known in formats for suffix in (known.suffixes if all_of_each else known.suffixes[:1])]
    return f" {last} ".join(part for part in (", ".join(found[:-1]), found[-1]) if part)


def known_format(path: str | Path) -> Format | None:
    """Return the format of a file, or None if its suffix is not supported."""
    return next((known for known in FORMATS if known.suffix_of(Path(path))), None)


def format_of(path: str | Path) -> Format:
    """Return the format of a file, or raise an error that lists the suffixes that are supported."""
    if known := known_format(path):
        return known
    raise ValueError(f"{path} has an unknown suffix; supported are {listed_suffixes()}.")


def file_format(path: str | Path) -> str:
    """Return the name of the format of a file, given by its suffix; the file does not need to exist.

    Examples
    --------
    >>> from ufselect.files import file_format
    >>> file_format("samples/cells.CSV.gz")
    'csv'
    """
    return format_of(path).name


def why_option_does_not_apply(option: str, known: Format | None) -> str:
    """Return why an option does not apply to a format, or to several files if that is None."""
    if known and option in known.refusals:
        return known.refusals[option]
    takers = [each for each in FORMATS if option in each.options]
    return f"only {listed_suffixes(takers, all_of_each=False)} files {OPTIONS[option]}"


def check_writable(path: str | Path) -> None:
    """Raise an error if tables are not written in the format of a file, or a package is missing for that."""
    known = format_of(path)
    if not known.writer:
        raise ValueError(
            f"{path} cannot be written: .{known.name} files are only read; use .csv or .parquet, for example."
        )
    if known.library and find_spec(known.library) is None:
        raise ModuleNotFoundError(f"{path} cannot be written without {known.library}: pip install {known.library}.")
