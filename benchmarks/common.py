"""What the benchmarks share: their data, processes with limits on threads and time, and the tables of README.md."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ufselect
from ufselect.datasets import Dataset, load_dataset

DATA_VARIABLE = "UFSELECT_DATA"
README = Path(__file__).with_name("README.md")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def public_set(name: str) -> Dataset | None:
    """Load a data set by name; None if its file does not exist."""
    try:
        return load_dataset(name)
    except FileNotFoundError:
        return None


def useful_columns(d: int) -> int:
    """The number of informative columns of synthetic data: the first tenth."""
    return max(d // 10, 2)


def noisy_clusters(n: int, d: int, n_clusters: int, seed: int = 0) -> NDArray[np.float64]:
    """Samples from Gaussian clusters that differ in the first columns only, with unit noise in all columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    centres = rng.standard_normal((n_clusters, useful_columns(d)))
    X[:, : useful_columns(d)] += centres[rng.integers(n_clusters, size=n)]
    return X


@dataclass(frozen=True)
class Outcome:
    """The values that a process measured, or the reason why there are none."""

    values: dict[str, Any] | None
    out_of_time: bool = False
    problem: str = ""


def in_fresh_process(measure: str, environment: dict[str, str] | None = None, **arguments: Any) -> dict[str, Any]:
    """Run a measurement of ``worker.py`` in a new process and return its values."""
    done = _run(measure, environment, arguments)
    done.check_returncode()
    return json.loads(done.stdout)


def outcome_in_fresh_process(measure: str, threads: int, **arguments: Any) -> Outcome:
    """Run a measurement that may fail or exceed its time or memory, with the given number of threads."""
    done = _run(measure, environment_for(threads), arguments)
    if done.returncode == -signal.SIGALRM:
        return Outcome(None, out_of_time=True)
    if done.returncode:
        return Outcome(None, problem=f"failed, exit status {done.returncode}")
    values = json.loads(done.stdout)
    return Outcome(None, problem=values["problem"]) if "problem" in values else Outcome(values)


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """End this process if the block takes longer, even in the middle of a library call."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a Python handler would run only after the call returns
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def environment_for(threads: int) -> dict[str, str]:
    """The environment variables of this process, with a limit on the threads of the numerical libraries."""
    return {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, str(threads))}


def say(line: str) -> None:
    """Report progress on standard error."""
    print(line, file=sys.stderr, flush=True)


def _run(
    measure: str, environment: dict[str, str] | None, arguments: dict[str, Any]
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(Path(__file__).with_name("worker.py")), measure, json.dumps(arguments)]
    return subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, **(environment or {})}
    )


def table(header: list[str], rows: list[list[Any]]) -> str:
    """A Markdown table with all columns except the first right-aligned."""
    alignment = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in (header, alignment, *rows))


def number(value: float) -> str:
    """The number with three significant digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine() -> str:
    """The cores, memory, operating system and versions of the main libraries."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba"))
    return (
        f"{_cores()} cores ({platform.machine()}), {_memory()}{platform.system()}; "
        f"Python {platform.python_version()}, {versions}."
    )


def revision() -> str:
    """The commit that is measured, and whether files differ from it."""
    command = ["git", "-C", str(README.parent), "describe", "--always", "--dirty=, with changes"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or ufselect.__version__


def write_section(name: str, text: str) -> None:
    """Replace the text between the two markers of a section in the README."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    page = README.read_text(encoding="utf-8")
    if not pattern.search(page):
        raise ValueError(f"{README.name} has no section {name!r}.")
    README.write_text(pattern.sub(lambda _: f"{begin}\n{text}\n{end}", page), encoding="utf-8")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> str:
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return ""
    return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB of memory, "
