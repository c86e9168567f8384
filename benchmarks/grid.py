"""FSASL's grid of the paper: settings per minute of an earlier revision and of the current code, on one core.

``python benchmarks/grid.py`` writes the section grid of README.md. ``--set COIL --settings 22`` only prints the row of
one data set, so that several can be measured side by side; ``--before FOLDER`` needs no git. Both versions run the same
settings in turn, by the harness, without k-means. What counts is processor time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from before import ROOT, answering, export
from processes import say
from report import machine, number, table, write_section

BEFORE = "b9ad8c3"
DATA = ("COIL", "AR")
LEAST_RATIO = 5
SETTINGS = 22
# Settings of the whole grid that take a step from each other: all α and β, or all β.
SHARED_BY = {"_start": 55, "_express": 11, "_find_neighbors": 11}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=DATA, help="only print the row of this data set")
    parser.add_argument(
        "--settings", type=int, default=SETTINGS, help="number of settings, evenly spread over the grid"
    )
    parser.add_argument("--before", default=BEFORE, help="revision to compare with, or the src folder of one")
    options = parser.parse_args()
    with _source(options.before) as before:
        rows = [_row(data, _fits(before, data, options.settings)) for data in ([options.set] if options.set else DATA)]
    text = f"{_table(rows)}\n\nBefore: revision {BEFORE}. Machine: {machine()} Threads: 1."
    print(text)
    if not options.set:
        write_section("grid", text)


@contextmanager
def _source(before: str) -> Iterator[Path]:
    """The folder with the package as it was before."""
    if Path(before).is_dir():
        yield Path(before)
        return
    with tempfile.TemporaryDirectory() as folder:
        if not export(before, Path(folder)):
            raise SystemExit(f"git cannot export revision {before!r}, and there is no such folder.")
        yield Path(folder, "src")


def _fits(before: Path, data: str, n_settings: int) -> dict[str, list[dict[str, Any]]]:
    """The fits of both versions, setting by setting."""
    fits: dict[str, list[dict[str, Any]]] = {"before": [], "now": []}
    with ExitStack() as stack:
        versions = {
            name: stack.enter_context(answering("settings", source, 1, data=data, n_settings=n_settings))
            for name, source in (("before", before), ("now", ROOT / "src"))
        }
        for index in range(n_settings):
            for name, version in versions.items():
                fits[name].append(_answer(version, index))
            say(_line(data, fits))
    return fits


def _line(data: str, fits: dict[str, list[dict[str, Any]]]) -> str:
    """The latest setting, and the ratio of all so far."""
    before, now = fits["before"][-1], fits["now"][-1]
    return (
        f"{data} {len(fits['now'])}: {now['parameters']} before {before['seconds']:.2f} s, now {now['seconds']:.2f} s, "
        f"in the grid {_seconds_in_grid(now):.2f} s, gap {now['gap']:.1e}, violation {now['violation']:.1e}, "
        f"{_common(before, now)} of 50 in common; ratio so far {_total(fits['before']) / _total(fits['now']):.2f}"
    )


def _seconds_in_grid(fit: dict[str, Any]) -> float:
    """The seconds of a setting in the whole grid, if those of shared steps are divided among all that share them."""
    return fit["seconds"] - sum(seconds * (1.0 - 1.0 / SHARED_BY[step]) for step, seconds in fit["shared"].items())


def _total(fits: list[dict[str, Any]]) -> float:
    return sum(map(_seconds_in_grid, fits))


def _common(before: dict[str, Any], now: dict[str, Any]) -> int:
    return len({*before["best"]} & {*now["best"]})


def _answer(version: subprocess.Popen[str], index: int) -> dict[str, Any]:
    print(json.dumps({"index": index}), file=version.stdin, flush=True)
    answer = version.stdout.readline()
    if not answer:
        raise RuntimeError(f"The process ended with exit status {version.wait()}.")
    return json.loads(answer)


def _row(data: str, fits: dict[str, list[dict[str, Any]]]) -> list[str]:
    before, now = fits["before"], fits["now"]
    alone = sum(fit["seconds"] for fit in now)
    per_minute = [60.0 * len(now) / seconds for seconds in (_total(before), alone, _total(now))]
    return [
        f"{data}, {len(now)} of 605 settings",
        *map(number, per_minute),
        f"**{_total(before) / _total(now):.1f}**",
        f"≥ {LEAST_RATIO}",
        f"{max(fit['gap'] for fit in now):.1e}",
        f"{max(fit['violation'] for fit in now):.1e}",
        f"{sum(map(_common, before, now)) / len(now):.1f}",
    ]


def _table(rows: list[list[str]]) -> str:
    header = [
        "data",
        "per minute before",
        "now, each by itself",
        "now, in the grid",
        "ratio",
        "required",
        "worst gap of a lasso",
        "worst violation of a regression",
        "in common of 50",
    ]
    return table(header, rows)


if __name__ == "__main__":
    main()
