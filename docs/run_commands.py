"""Run the commands on pages and write what they print below them.

Run it from anywhere after a change to the output of a command: ``python docs/run_commands.py`` for all pages, or with
the paths of some. The blocks of a page are run from top to bottom in one empty folder:

- A ``console`` block is one command after ``$ `` and, below it, its output. If the command is meant to fail, the output
  starts with ``Error:``; write that by hand before the first run.
- A ``{code-block}`` with a ``:caption:`` is a file; it is written to the folder.
- A ``python`` block is run; its names are known to the ``python`` blocks below it.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ufselect.cli.app import run

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "docs" / "command_line.md",
    ROOT / "docs" / "significance.md",
    *sorted((ROOT / "docs" / "users").glob("*.md")),
]
_BLOCK = re.compile(
    r"^```console\n\$ (?P<command>.*?)\n(?P<output>.*?)^```"
    r"|^```\{code-block\} \w+\n:caption: (?P<file>\S+)\n\n(?P<content>.*?)^```"
    r"|^```python\n(?P<code>.*?)^```",
    flags=re.MULTILINE | re.DOTALL,
)
_DECIMAL = re.compile(r"(\d+\.\d+)")
_LAST_DIGITS = 2e-3
_PROGRESS_BAR = re.compile(r"[^\n]*\r[^\n]*\n?")  # in this process, where tqdm may have been imported before
# No bar appears in the middle of the output if a machine is slow.
ENVIRONMENT = {"TQDM_DELAY": "600", "MPLBACKEND": "Agg"}


class Printed(NamedTuple):
    """What a command prints, notes and errors first, and its exit code."""

    text: str
    code: int


def main() -> None:
    """Write the output on the pages given as arguments, or on all pages."""
    for page in map(Path, sys.argv[1:] or PAGES):
        with TemporaryDirectory() as folder:
            text = page.read_text("utf-8")
            page.write_text(with_output(text, Path(folder), printed_by_process), "utf-8")


def with_output(text: str, folder: Path, printed_by: Callable[[str], Printed]) -> str:
    """Return a page with what its commands print now.

    Output that says the same as the present one stays as it is.

    Raises
    ------
    RuntimeError
        If a command fails that is not meant to.
    """
    names: dict[str, Any] = {"__name__": "page"}

    def renewed(block: re.Match[str]) -> str:
        if block["file"]:
            Path(block["file"]).write_text(block["content"], "utf-8")
        elif block["code"]:
            exec(block["code"], names)
        else:
            return _renewed_output(block, printed_by(block["command"]))
        return block[0]

    with contextlib.chdir(folder):
        return _BLOCK.sub(renewed, text)


def _renewed_output(block: re.Match[str], printed: Printed) -> str:
    if (printed.code != 0) != block["output"].startswith("Error: "):
        raise RuntimeError(f"{block['command']} ended with exit code {printed.code}:\n{printed.text}")
    if says_the_same(printed.text, block["output"]):
        return block[0]
    lines = "".join(f"{line.rstrip()}\n" for line in printed.text.rstrip().splitlines())
    return f"```console\n$ {block['command']}\n{lines}```"


def says_the_same(text: str, other: str) -> bool:
    """Whether two outputs are the same but for seconds, memory and the last digits of decimals.

    On another processor sums have other rounding errors, and iterations that stop at a tolerance end elsewhere.
    """
    parts, others = (_DECIMAL.split(re.sub(" +", " ", "\n".join(without_times(each)))) for each in (text, other))
    return parts[::2] == others[::2] and all(
        math.isclose(float(number), float(another), rel_tol=_LAST_DIGITS)
        for number, another in zip(parts[1::2], others[1::2], strict=True)
    )


def without_times(text: str) -> list[str]:
    """Return the lines of a text without seconds and memory, which differ from run to run, also in tables."""
    text = re.sub(r"[\d,.]+ s and [\d,]+ MB of memory", "# s and # MB of memory", text)
    lines, end = [], None
    for line in map(str.rstrip, text.rstrip().splitlines()):
        if "seconds" in line.split():
            end = line.index("seconds") + len("seconds")
        elif not line:
            end = None
        elif end is not None and re.search(r" +[\d.]+$", line[:end]):
            line = re.sub(r" +[\d.]+$", " #", line[:end]) + line[end:]
        lines.append(line)
    return lines


def printed_by_process(command: str) -> Printed:
    """Run a command in a shell."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, **ENVIRONMENT, "PATH": path}
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, timeout=300)
    return Printed(done.stderr + done.stdout, done.returncode)


def printed_here(command: str) -> Printed:
    """Run a command in this process if it is one of ufselect or a script, which takes less time."""
    words = shlex.split(command)
    if set(command) & set("|<>&;") or words[0] not in ("ufselect", "python"):
        return printed_by_process(command)
    code = 0
    with _output_caught() as streams:
        if words[0] == "ufselect":
            code = run(words[1:])
        else:
            runpy.run_path(words[1], run_name="__main__")
    printed = "".join(stream.getvalue() for stream in streams)
    return Printed(_PROGRESS_BAR.sub("", printed), code)


@contextlib.contextmanager
def _output_caught() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        yield errors, output


if __name__ == "__main__":
    main()
