"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ufselect.files.registry import listed_suffixes


class Scale(StrEnum):
    """How columns are scaled before the fit."""

    moderate = "moderate"
    standard = "standard"
    none = "none"


class Counts(StrEnum):
    """Whether the values are counts."""

    yes = "yes"
    no = "no"


class Impute(StrEnum):
    """What replaces missing values."""

    median = "median"


class DecimalMark(StrEnum):
    """The decimal mark of a text file."""

    point = "."
    comma = ","


class Header(StrEnum):
    """Whether the first line holds the column names."""

    yes = "yes"
    no = "no"


_SPELLED_OUT = {"tab": "\t", "\\t": "\t", "space": " "}


def _some_threads(count: int) -> int:
    if count == 0:
        raise typer.BadParameter("the number of threads cannot be 0; -1 uses all cores")
    return count


def _one_character(delimiter: str | None) -> str | None:
    found = _SPELLED_OUT.get(delimiter or "", delimiter)
    if found is not None and len(found) != 1:
        raise typer.BadParameter(f"{delimiter!r} is not a single character, nor tab or space")
    return found


def _known_encoding(encoding: str | None) -> str | None:
    if encoding is not None:
        from ufselect.files.text_lines import check_encoding

        try:
            check_encoding(encoding)
        except ValueError as error:
            raise typer.BadParameter(str(error).removeprefix("encoding=").rstrip(".")) from error
    return encoding


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help=f"File with one sample per row, {listed_suffixes(last='or')}; several Parquet files as 'parts/*.parquet'; "
        "- for standard input.",
        readable=False,  # checked when the file is read
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        "-m",
        metavar="N",
        help="Number of columns to select, a fraction or percentage of them, or auto.",
        show_default="auto, unless the method has another default",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        help="One of the methods listed by ufselect methods, or module:Class for a selector of your own.",
    ),
]
Aside = Annotated[
    list[str] | None,
    typer.Option(
        "--aside",
        metavar="COLUMN",
        help="Keep this column out of the selection but carry it through, as is done with text. Repeatable.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="NAMES",
        help="Select these columns before all others, which complement them: names or patterns such as 'CD3*', "
        "separated by commas. Repeatable.",
    ),
]
KeepFile = Annotated[
    Path | None,
    typer.Option("--keep-file", metavar="FILE", readable=False, help="The same, with one name per line of a file."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="NAMES",
        help="Leave these columns out of the fit: names or patterns such as 'MT-*', separated by commas. Repeatable.",
    ),
]
ExcludeFile = Annotated[
    Path | None,
    typer.Option("--exclude-file", metavar="FILE", readable=False, help="The same, with one name per line of a file."),
]
Batch = Annotated[
    str,
    typer.Option(
        "--batch",
        metavar="COLUMN",
        help="Column with the batch of each sample, such as its plate: only structure within batches counts.",
    ),
]
Ordered = Annotated[
    bool,
    typer.Option("--ordered", help="The columns are in an order, such as wavelengths or time."),
]
Imputation = Annotated[
    Impute | None, typer.Option("--impute", help="Replace missing values; without this option they are an error.")
]
Labels = Annotated[
    str,
    typer.Option(
        "--labels",
        metavar="COLUMN",
        help="Column of known classes, which no method sees: adds clustering accuracy (ACC) and NMI.",
    ),
]
Layer = Annotated[str, typer.Option("--layer", metavar="NAME", help="Layer of an .h5ad file to read instead of X.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="What separates the values of a text file: a character, tab or space.",
        show_default="detected",
        callback=_one_character,
    ),
]
Decimal = Annotated[
    DecimalMark | None, typer.Option("--decimal", help="Decimal mark of a text file.", show_default="detected")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT",
        help="Treat this text as a missing value, in addition to NA, NaN and the like. Repeatable, or separated by "
        "commas.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Encoding of a text file, such as latin-1.",
        show_default="utf-8, or utf-16 if marked as such",
        callback=_known_encoding,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option("--sheet", metavar="NAME", help="Sheet of an .xlsx file.", show_default="the first one"),
]
HeaderLine = Annotated[
    Header | None,
    typer.Option(
        "--header",
        help="Whether the first line of a text file or sheet holds the column names.",
        show_default="detected",
    ),
]
Transpose = Annotated[
    bool,
    typer.Option(
        "--transpose",
        help="Rows are features and columns are samples: the first column holds the names of the features, the header "
        "those of the samples.",
    ),
]
Scaling = Annotated[
    Scale | None,
    typer.Option(
        "--scale",
        help="standard scales every column to unit variance, none leaves columns as they are, moderate is in between.",
        show_default="the method's own",
    ),
]
Counting = Annotated[
    Counts | None,
    typer.Option(
        "--counts",
        help="yes divides each sample by its sum and takes logarithms, no uses the values as they are.",
        show_default="detected",
    ),
]
Clusters = Annotated[
    str | None,
    typer.Option(
        "--clusters",
        "-c",
        metavar="N",
        help="Approximate number of clusters, or auto. KernelFSASL needs none.",
        show_default="the method's own",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random number generator.")]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        help="Number of threads; -1 uses all cores. Does not change the result.",
        callback=_some_threads,
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
