"""Options that several commands share, alone or in groups."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ufselect.files.registry import listed_suffixes


class Scale(StrEnum):
    """How columns are scaled before the fit."""

    moderate = "moderate"
    standard = "standard"
    none = "none"


class Counts(StrEnum):
    """Whether the values are raw counts."""

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
    """Whether the first row contains the column names."""

    yes = "yes"
    no = "no"


_ROLES = ("numeric", "amount", "category", "id", "date", "text")
_SPELLED_OUT = {"tab": "\t", "\\t": "\t", "space": " "}


def _number_of_threads(count: int) -> int:
    if count == 0:
        raise typer.BadParameter("the number of threads cannot be 0; -1 uses all cores")
    return count


def _single_character(delimiter: str | None) -> str | None:
    found = _SPELLED_OUT.get(delimiter or "", delimiter)
    if found is not None and len(found) != 1:
        raise typer.BadParameter(f"{delimiter!r} is not a single character, tab or space")
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
        help=f"File with one sample per row, {listed_suffixes(last='or')}; a pattern such as 'parts/*.parquet' for "
        "several Parquet files; - for standard input.",
        readable=False,  # checked when the file is read
    ),
]
SavedChoice = Annotated[Path, typer.Argument(metavar="CHOICE", help="File that select --save wrote.", readable=False)]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        "-m",
        metavar="N",
        help="Number of columns to select, a fraction or percentage of all columns, or auto.",
        show_default="auto, unless the method has another default",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Selection method: a name listed by ufselect methods, or module:Class for a selector of your own.",
    ),
]
Labels = Annotated[
    str,
    typer.Option(
        "--labels",
        metavar="COLUMN",
        help="Column of known classes, not seen by any method: adds clustering accuracy (ACC) and NMI.",
    ),
]
Ordered = Annotated[
    bool,
    typer.Option(
        "--ordered",
        help="The columns are ordered, e.g. by wavelength or time: those selected are spread over the order, and a "
        "report of select draws the means of all and marks them.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="PAGE.html", readable=False, help="Write an HTML report to this file."),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        help="Number of threads; -1 uses all cores. The result does not depend on it.",
        callback=_number_of_threads,
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")]


def _show_help(context: typer.Context, wanted: bool) -> None:
    if wanted:
        typer.echo(context.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool, typer.Option("--help-all", help="Show all options and exit.", callback=_show_help, is_eager=True)
]


def is_given(context: typer.Context, parameter: str) -> bool:
    """Whether the command line has the option of a parameter, which may be its default."""
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


USUAL = frozenset(
    [
        *("features", "output", "report", "names", "method", "keep", "exclude", "batch", "aside", "impute", "jobs"),
        *("methods", "labels", "repeats", "columns", "above", "help_all", "role", "roles", "save"),
    ]
)
"""Options that ``--help`` shows, by the names of their parameters; ``--help-all`` shows all of them."""


@dataclass(frozen=True)
class FitOptions:
    """Parameters that most methods share."""

    scale: Annotated[
        Scale | None,
        typer.Option(
            "--scale",
            help="Scaling of the columns: standard is unit variance, none leaves them unchanged, moderate is in "
            "between, and independent of units if they differ.",
            show_default="the method's own",
        ),
    ] = None
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            "-c",
            metavar="N",
            help="Approximate number of clusters, or auto; not for KernelFSASL, which needs none.",
            show_default="the method's own",
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random number generator.")] = 0
    jobs: Jobs = 1


def _rate(fdr: float) -> float:
    if not 0.0 < fdr < 1.0:
        raise typer.BadParameter(f"{fdr:g} is not strictly between 0 and 1")
    return fdr


@dataclass(frozen=True)
class TestOptions:
    """Whether columns are tested, and at which rate of errors."""

    fdr: Annotated[
        float,
        typer.Option(
            "--fdr",
            metavar="RATE",
            help="False discovery rate of the test that finds the columns which share structure with others: the "
            "expected share of columns of noise among those found. Columns are selected among those found.",
            callback=_rate,
        ),
    ] = 0.05
    no_test: Annotated[bool, typer.Option("--no-test", help="Do not test the columns: select among all of them.")] = (
        False
    )

    @property
    def rate(self) -> float | None:
        """The false discovery rate; None for no test."""
        return None if self.no_test else self.fdr


@dataclass(frozen=True)
class ColumnOptions:
    """What the user wants of the columns."""

    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="NAMES",
            help="Select these columns before all others, which complement them: names or patterns such as 'CD3*', "
            "separated by commas. Repeatable.",
        ),
    ] = None
    keep_file: Annotated[
        Path | None,
        typer.Option(
            "--keep-file", metavar="FILE", readable=False, help="Same as --keep, from a file with one name per line."
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude",
            metavar="NAMES",
            help="Exclude these columns from the fit: names or patterns such as 'MT-*', separated by commas. "
            "Repeatable.",
        ),
    ] = None
    exclude_file: Annotated[
        Path | None,
        typer.Option(
            "--exclude-file",
            metavar="FILE",
            readable=False,
            help="Same as --exclude, from a file with one name per line.",
        ),
    ] = None
    groups: Annotated[
        str,
        typer.Option(
            "--groups",
            metavar="FILE.csv|prefix:_|var:COLUMN",
            help="Groups of columns that are selected as a whole and count as one each: a file with lines "
            "COLUMN,GROUP, what stands before _ in the names of columns, or a column of var of an .h5ad file.",
            show_default="none",
        ),
    ] = ""
    batch: Annotated[
        str,
        typer.Option(
            "--batch",
            metavar="COLUMN",
            help="Column with the batch of each sample, such as its plate: only structure within batches is used.",
        ),
    ] = ""


@dataclass(frozen=True)
class RequirementOptions:
    """What the selected columns have to fulfil together."""

    costs: Annotated[
        str,
        typer.Option(
            "--costs",
            metavar="FILE.csv|var:COLUMN",
            help="What each column costs, or each of the --groups: a file with lines COLUMN,COST, or a column of var "
            "of an .h5ad file.",
            show_default="none",
        ),
    ] = ""
    budget: Annotated[
        float | None,
        typer.Option("--budget", metavar="COST", help="Select the best columns that cost no more than this together."),
    ] = None
    families: Annotated[
        str,
        typer.Option(
            "--families",
            metavar="FILE.csv|prefix:_|var:COLUMN",
            help="Families of columns for --at-most and --at-least: a file with lines COLUMN,FAMILY, what stands "
            "before _ in the names of columns, or a column of var of an .h5ad file. Columns in none are not limited.",
            show_default="none",
        ),
    ] = ""
    at_most: Annotated[
        list[str] | None,
        typer.Option(
            "--at-most",
            metavar="N|FAMILY=N",
            help="Select at most so many columns of every family, or of those named. Repeatable, or separated by "
            "commas.",
        ),
    ] = None
    at_least: Annotated[
        list[str] | None,
        typer.Option(
            "--at-least",
            metavar="N|FAMILY=N",
            help="Select at least so many columns of every family, or of those named. Repeatable, or separated by "
            "commas.",
        ),
    ] = None
    weights: Annotated[
        str,
        typer.Option(
            "--weights",
            metavar="FILE.csv|var:COLUMN",
            help="How much columns count beside the others, such as the quality of probes: a file with lines "
            "COLUMN,WEIGHT, or a column of var of an .h5ad file. Columns without a weight have 1.",
            show_default="none",
        ),
    ] = ""
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            metavar="STATISTIC=LOW:HIGH",
            help="Select only columns whose mean, deviation, min, max or share of nonzero values in DATA is within "
            "these limits, such as mean=1:100, min=0: or nonzero=:0.9. Repeatable.",
        ),
    ] = None
    positions: Annotated[
        str,
        typer.Option(
            "--positions",
            metavar="FILE.csv|names|var:COLUMN",
            help="Positions of the columns, in whose unit --min-distance is then: a file with lines COLUMN,POSITION, "
            "names for the numbers in the names of columns, such as wavelengths, or a column of var of an .h5ad file.",
            show_default="none",
        ),
    ] = ""


def _roles(given: list[str] | None) -> list[str] | None:
    for text in given or ():
        role, separator, names = text.partition("=")
        if not separator or not names.strip(",") or role.strip() not in _ROLES:
            raise typer.BadParameter(f"{text!r} is not ROLE=NAMES with one of the roles {', '.join(_ROLES)}")
    return given


@dataclass(frozen=True)
class ReadOptions:
    """How DATA is read and prepared."""

    counts: Annotated[
        Counts | None,
        typer.Option(
            "--counts",
            help="Whether the values are raw counts: yes log-normalises each sample, no uses the values unchanged.",
            show_default="detected",
        ),
    ] = None
    impute: Annotated[
        Impute | None,
        typer.Option(
            "--impute", help="Replace missing values by the median of their column, not by what other columns say."
        ),
    ] = None
    aside: Annotated[
        list[str] | None,
        typer.Option(
            "--aside",
            metavar="COLUMN",
            help="Do not use this column as a feature but copy it to the output, as is done with ids, dates and free "
            "text. Repeatable.",
        ),
    ] = None
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role",
            metavar="ROLE=NAMES",
            help="Give columns this role, whatever they look like: numeric, amount (a number, taken as its logarithm), "
            "category, id, date or text; the last three are set aside. Names are separated by commas. Repeatable.",
            callback=_roles,
        ),
    ] = None
    snv: Annotated[
        bool,
        typer.Option(
            "--snv",
            help="The columns are bands of spectra: subtract the mean of each sample and divide by its standard "
            "deviation, which removes what scattering does (SNV). The output has the values of DATA.",
        ),
    ] = False
    layer: Annotated[
        str, typer.Option("--layer", metavar="NAME", help="Layer of an .h5ad file to read instead of X.")
    ] = ""
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            metavar="CHARACTER",
            help="Delimiter of a text file: a character, tab or space.",
            show_default="detected",
            callback=_single_character,
        ),
    ] = None
    decimal: Annotated[
        DecimalMark | None, typer.Option("--decimal", help="Decimal mark of a text file.", show_default="detected")
    ] = None
    na: Annotated[
        list[str] | None,
        typer.Option(
            "--na",
            metavar="TEXT",
            help="Additional text to recognise as a missing value, besides NA, NaN and the like. Repeatable, or "
            "separated by commas.",
        ),
    ] = None
    transpose: Annotated[
        bool,
        typer.Option(
            "--transpose",
            help="Rows are features and columns are samples: the first column contains the names of the features, the "
            "header those of the samples.",
        ),
    ] = False
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="Encoding of a text file, such as latin-1.",
            show_default="utf-8, or utf-16 if marked as such",
            callback=_known_encoding,
        ),
    ] = None
    sheet: Annotated[
        str | None,
        typer.Option("--sheet", metavar="NAME", help="Sheet of an .xlsx file.", show_default="the first one"),
    ] = None
    header: Annotated[
        Header | None,
        typer.Option(
            "--header",
            help="Whether the first row of a text file or sheet contains the column names.",
            show_default="detected",
        ),
    ] = None

    @property
    def roles_of_columns(self) -> dict[str, str]:
        """The roles that columns are given, by name."""
        given = [text.partition("=") for text in self.role or ()]
        return {name.strip(): role.strip() for role, _, names in given for name in names.split(",") if name.strip()}

    @property
    def of_text(self) -> dict[str, Any]:
        """The options given for text files and sheets, as keywords of :func:`ufselect.files.read_table`."""
        missing = tuple(text.strip() for several in self.na or () for text in several.split(",") if text.strip())
        given = {
            "delimiter": self.delimiter,
            "decimal": self.decimal and self.decimal.value,
            "na": missing or None,
            "transpose": self.transpose or None,
            "encoding": self.encoding,
            "sheet": self.sheet or None,
            "header": self.header and self.header is Header.yes,
        }
        return {name: value for name, value in given.items() if value is not None}
