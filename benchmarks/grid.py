"""FSASL's grid of the paper: settings per minute of an earlier revision and of the current code, on one core.

``python benchmarks/grid.py`` writes the section grid of README.md; ``--quick`` only prints a table of few settings.
Both versions run the same settings in turn, by the harness, without k-means. What counts is processor time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from before import ROOT, answering, export
from processes import say
from report import machine, number, table, write_section

BEFORE = "b9ad8c3"
DATA = ("COIL", "AR")
LEAST_RATIO = 5
FULL, QUICK = 31, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--settings", type=int, help="number of settings, evenly spread over the grid")
    parser.add_argument("--before", default=BEFORE, help="revision to compare with")
    options = parser.parse_args()
    n_settings = options.settings or (QUICK if options.quick else FULL)
    with tempfile.TemporaryDirectory() as folder:
        if not export(options.before, Path(folder)):
            raise SystemExit(f"git cannot export revision {options.before!r}.")
        fits = {data: _fits(Path(folder, "src"), data, n_settings) for data in DATA}
    text = f"{_table(fits, n_settings)}\n\nBefore: revision {options.before}. Machine: {machine()} Threads: 1."
    print(text)
    if not options.quick:
        write_section("grid", text)


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
            latest = {name: done[-1]["seconds"] for name, done in fits.items()}
            say(f"grid: {data}, setting {index + 1}: {latest['before']:.1f} s before, {latest['now']:.1f} s now")
    return fits


def _answer(version: subprocess.Popen[str], index: int) -> dict[str, Any]:
    print(json.dumps({"index": index}), file=version.stdin, flush=True)
    answer = version.stdout.readline()
    if not answer:
        raise RuntimeError(f"The process ended with exit status {version.wait()}.")
    return json.loads(answer)


def _table(fits: dict[str, dict[str, list[dict[str, Any]]]], n_settings: int) -> str:
    rows = []
    for data, of_data in fits.items():
        before, now = (sum(fit["seconds"] for fit in of_data[name]) for name in ("before", "now"))
        common = [
            len({*one["best"]} & {*other["best"]}) for one, other in zip(of_data["before"], of_data["now"], strict=True)
        ]
        rows.append(
            [
                data,
                number(60.0 * n_settings / before),
                number(60.0 * n_settings / now),
                f"**{before / now:.1f}**",
                f"≥ {LEAST_RATIO}",
                f"{max(fit['gap'] for fit in of_data['now']):.1e}",
                f"{max(fit['violation'] for fit in of_data['now']):.1e}",
                f"{sum(common) / len(common):.0f}",
            ]
        )
    header = [
        f"{n_settings} of 605 settings",
        "per minute before",
        "per minute now",
        "ratio",
        "required",
        "worst gap of a lasso",
        "worst violation of a regression",
        "in common of 50",
    ]
    return table(header, rows)


if __name__ == "__main__":
    main()
