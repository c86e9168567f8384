"""``ufselect demo``: a data file, a selection and a report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ufselect._utils.atomic_files import whole_file
from ufselect.cli.output import say


def demo(folder: Annotated[Path, typer.Argument(help="Folder to write the files to.")] = Path("ufselect-demo")) -> None:
    """Select pixels of handwritten digits and write a report."""
    folder.mkdir(parents=True, exist_ok=True)
    data, chosen, page = (str(folder / name) for name in ("digits.csv", "chosen.csv", "digits.html"))
    _write_digits(Path(data))
    say([f"Wrote {data}: 1,797 handwritten digits of 8 × 8 pixels, with the digit itself in the first column."])
    _run("select", data, "--aside", "digit", "-m", "15", "--image", "8x8", "-o", chosen, "--report", page)
    say(["", f"Open {page} in a browser. Then try:"])
    explain = ["explain", data, "row 2 column 4", "--aside", "digit", "-m", "15"]
    methods = "KernelFSASL,MCFS,LaplacianScore,MaxVariance"
    compare = ["compare", data, "--labels", "digit", "-m", "15", "--methods", methods]
    say([f"  ufselect {shlex.join(arguments)}" for arguments in (explain, compare)])


def _run(*arguments: str) -> None:
    """Print a command line and run it."""
    from ufselect.cli.app import run

    say(["", f"$ ufselect {shlex.join(arguments)}", ""])
    if code := run(arguments):
        raise typer.Exit(code)


def _write_digits(path: Path) -> None:
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    header = ",".join(["digit", *(f"row {row} column {column}" for row in range(8) for column in range(8))])
    lines = [",".join(map(str, [digit, *pixels])) for digit, pixels in zip(digits, images.astype(int), strict=True)]
    with whole_file(path) as file:
        file.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
