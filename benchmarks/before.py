"""An earlier revision beside the current code: seconds of every method, with both versions timed in turn."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from processes import environment_for, say
from report import number, table
from sizes import N_FEATURES, selectors

ROOT = Path(__file__).parents[1]
LARGEST_RATIO = 1.1
_FEWEST_FITS, _MOST_FITS, _ENOUGH_SECONDS = 5, 15, 8.0


class Shape(NamedTuple):
    """Synthetic data: dense or sparse, n samples, d features, c clusters."""

    kind: str
    n: int
    d: int
    n_clusters: int

    def __str__(self) -> str:
        return f"{self.kind} {self.n} × {self.d}, c = {self.n_clusters}"


@dataclass(frozen=True)
class Timing:
    """The fits of one method on one data set by both versions, in the order in which they ran."""

    method: str
    shape: Shape
    before: list[dict[str, Any]]
    now: list[dict[str, Any]]

    @property
    def problem(self) -> str:
        """The first error of either version; empty if there is none."""
        errors = [fit["problem"] for fit in self.before + self.now if "problem" in fit]
        return errors[0] if errors else ""

    @property
    def ratio(self) -> float:
        """The shortest time now, divided by the shortest time before."""
        return _shortest(self.now) / _shortest(self.before)

    def row(self) -> list[str]:
        """Shortest times, their ratio, iterations and common features."""
        if self.problem:
            return [self.method, self.problem.replace("|", "/").replace("\n", " "), "", "", "", ""]
        before, now = self.before[0], self.now[0]
        return [
            self.method,
            number(_shortest(self.before)),
            number(_shortest(self.now)),
            f"{self.ratio:.2f}",
            f"{before['iterations'] or '–'} / {now['iterations'] or '–'}",
            str(len({*before["best"]} & {*now["best"]})),
        ]


def compare_with_revision(revision: str, shapes: list[Shape], threads: int) -> str | None:
    """Tables of all methods at their defaults; None if git cannot export the revision."""
    with tempfile.TemporaryDirectory() as folder:
        if not export(revision, Path(folder)):
            print(f"before skipped: git cannot export revision {revision!r}.\n")
            return None
        with answering("fits", Path(folder, "src"), threads) as before, answering("fits", ROOT / "src", threads) as now:
            timings = [_timing(before, now, name, shape) for shape in shapes for name in selectors()]
    tables = [table_of(shape, timings) for shape in shapes]
    return "\n\n".join([f"Before: revision {revision}.", *tables, summary(timings)])


def export(revision: str, folder: Path) -> bool:
    """Write the package as of a revision to a folder; return whether it worked."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", revision, "src"]
    try:
        archive = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return True


@contextmanager
def answering(measure: str, source: Path, threads: int, **arguments: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that imports ufselect from a source folder and answers requests, one per line."""
    given = json.dumps({"source": str(source), **arguments})
    command = [sys.executable, str(Path(__file__).with_name("worker.py")), measure, given]
    path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH", "")]))
    environment = {**environment_for(threads), "PYTHONPATH": path}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait()


def fit(process: subprocess.Popen[str], name: str, shape: Shape) -> dict[str, Any]:
    """Ask a process for one fit."""
    print(json.dumps({"name": name, **shape._asdict()}), file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        raise RuntimeError(f"The process that fits {name} ended with exit status {process.wait()}.")
    return json.loads(answer)


def _timing(before: subprocess.Popen[str], now: subprocess.Popen[str], name: str, shape: Shape) -> Timing:
    """Fit by both versions in turn; the first fit of each, which may compile functions, does not count."""
    say(f"before: {name} on {shape}")
    warm_up = [fit(version, name, shape) for version in (before, now)]
    if any("problem" in fit for fit in warm_up):
        return Timing(name, shape, warm_up[:1], warm_up[1:])
    timing, spent = Timing(name, shape, [], []), 0.0
    while len(timing.now) < _FEWEST_FITS or (len(timing.now) < _MOST_FITS and spent < _ENOUGH_SECONDS):
        pairs = [(before, timing.before), (now, timing.now)]
        # Neither version is always the first.
        for version, fits in pairs if len(timing.now) % 2 else reversed(pairs):
            fits.append(fit(version, name, shape))
            spent += fits[-1]["seconds"]
    say(f"    {timing.row()[1]} s before, {timing.row()[2]} s now, ratio {timing.ratio:.2f}")
    return timing


def _shortest(fits: list[dict[str, Any]]) -> float:
    return min(fit["seconds"] for fit in fits)


def table_of(shape: Shape, timings: list[Timing]) -> str:
    """The fits of all methods on one data set."""
    header = [
        str(shape),
        "before, s",
        "now, s",
        "now / before",
        "iterations, before / now",
        f"in common of {N_FEATURES}",
    ]
    return table(header, [timing.row() for timing in timings if timing.shape == shape])


def summary(timings: list[Timing], largest: float = LARGEST_RATIO) -> str:
    """The largest ratio, beside the requirement, and the geometric mean."""
    ratios = {f"{timing.method}, {timing.shape}": timing.ratio for timing in timings if not timing.problem}
    worst, ratio = max(ratios.items(), key=lambda item: item[1])
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    rows = [
        [f"largest ratio ({worst})", f"**{ratio:.2f}**", f"≤ {largest}"],
        [f"geometric mean of {len(ratios)} of {len(timings)} ratios", f"{mean:.2f}", ""],
    ]
    return table(["measure", "value", "required"], rows)
