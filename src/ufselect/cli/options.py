"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Scale(StrEnum):
    """What is done to the columns first."""

    standard = "standard"
    none = "none"
    log1p = "log1p"


class Impute(StrEnum):
    """What missing values are replaced by."""

    median = "median"


def _some_threads(count: int) -> int:
    if count == 0:
        raise typer.BadParameter("0 threads do nothing; -1 takes all cores")
    return count


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV or TSV (also .gz), Parquet, .npy, .npz, .mat or .h5ad; a sample in each row.",
        readable=False,  # whether it is, is told when it is read
    ),
]
Features = Annotated[
    str, typer.Option("--features", "-m", metavar="N", help="How many columns, which fraction of them, or auto.")
]
Method = Annotated[str, typer.Option("--method", metavar="NAME", help="One of those that ufselect methods lists.")]
Aside = Annotated[
    list[str] | None,
    typer.Option("--aside", metavar="COLUMN", help="Keep this column aside, as text is; may be given several times."),
]
Imputation = Annotated[
    Impute | None, typer.Option("--impute", help="Replace missing values; without it they are an error.")
]
Layer = Annotated[str, typer.Option("--layer", metavar="NAME", help="The layer of an .h5ad file; without it, X.")]
Scaling = Annotated[
    Scale | None,
    typer.Option(
        "--scale",
        help="Unit variance for all columns; columns as they are; or log(1 + x) of them, then as they are.",
        show_default="standard where the method takes it",
    ),
]
Clusters = Annotated[
    str, typer.Option("--clusters", "-c", metavar="N", help="About how many clusters there are, or auto.")
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, metavar="N", help="Start of what is random; the same seed, the same result.")
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", help="Threads; -1 for all cores. The result is the same.", callback=_some_threads),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
