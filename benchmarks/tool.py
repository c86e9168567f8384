"""The command line: its start-up time, the cost of large files, and the size of a large page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from common import noisy_clusters, number, say, table
from numpy.typing import NDArray

_REPEATS = 9
_MOST_SECONDS = {"import ufselect": 1.0, "ufselect --help": 1.5}
_HEAVY = ("pandas", "plotly", "torch", "dask")
_MOST_PAGE_MB, _MOST_PAGE_SECONDS = 10, 3
_BROWSER = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def starting_times() -> str:
    """Seconds of a whole process with a warm disk cache, including the start of the interpreter."""
    commands = {
        "python -c pass": ["-c", "pass"],
        "import ufselect": ["-c", "import ufselect"],
        "ufselect --help": ["-m", "ufselect", "--help"],
        "from ufselect import KernelFSASL": ["-c", "from ufselect import KernelFSASL"],
    }
    rows = []
    for name, arguments in commands.items():
        say(f"start: {name}")
        limit = _MOST_SECONDS.get(name)
        required = f"≤ {limit}" if limit else ""
        rows.append([name, number(_median_seconds(arguments)), required, _heavy_imports(arguments)])
    return table([f"median of {_REPEATS}", "seconds", "required", "imports of pandas, plotly, torch, dask"], rows)


def _median_seconds(arguments: list[str]) -> float:
    seconds = []
    for _ in range(_REPEATS + 1):
        start = perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        seconds.append(perf_counter() - start)
    return median(seconds[1:])  # the first run warms the disk cache


def _heavy_imports(arguments: list[str]) -> str:
    done = subprocess.run([sys.executable, "-X", "importtime", *arguments], check=True, capture_output=True, text=True)
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    return ", ".join(name for name in _HEAVY if name in modules) or "none"


def large_files(shapes: list[tuple[int, int]], threads: int) -> str:
    """``ufselect select`` on CSV files, with no option but the output file."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n, d in shapes:
            say(f"file: {n} × {d}")
            path = Path(folder, "data.csv")
            _write_csv(path, noisy_clusters(n, d, 6))
            seconds, peak = _cost(["select", str(path), "-o", str(Path(folder, "chosen.csv"))], threads)
            matrix = 8e-6 * n * d
            sizes = [f"{path.stat().st_size / 1e6:.0f}", f"{matrix:.0f}", f"{peak:.0f}", f"≤ {6 * matrix + 500:.0f}"]
            rows.append([f"{n:,} × {d:,}", *sizes, number(seconds)])
    return table(["CSV file", "file, MB", "matrix, MB", "peak memory, MB", "required", "seconds, all"], rows)


def _write_csv(path: Path, X: NDArray[np.float64]) -> None:
    header = ",".join(["id", *(f"g{column}" for column in range(X.shape[1]))])
    with path.open("w", encoding="utf-8") as file:
        file.write(header + "\n")
        for row, values in enumerate(np.round(X, 6).tolist()):
            file.write(f"s{row}," + ",".join(map(repr, values)) + "\n")


def _cost(arguments: list[str], threads: int) -> tuple[float, float]:
    """Seconds of a command, and the peak memory in MB that it reports."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    start = perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "ufselect", *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **limits},
    )
    seconds = perf_counter() - start
    reported = re.search(r"([\d,]+) MB of memory", done.stdout)
    return seconds, float(reported[1].replace(",", ""))


def large_page(n: int, d: int, threads: int) -> str | None:
    """The report of a selection: its size, and the time a browser takes to open it; None without a browser."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        say("page skipped: Chromium is not installed")
        return None
    say(f"page: {n} × {d}")
    with tempfile.TemporaryDirectory() as folder:
        data, page = Path(folder, "data.npy"), Path(folder, "page.html")
        np.save(data, noisy_clusters(n, d, 10).astype(np.float32))
        options = ["-m", "100", "--report", str(page)]
        seconds, peak = _cost(["select", str(data), *options], threads)
        opened = _seconds_to_open(page, browser)
        size = page.stat().st_size / 1e6
    row = [f"{n:,} × {d:,}", f"{size:.2f}", f"≤ {_MOST_PAGE_MB}", number(opened), f"≤ {_MOST_PAGE_SECONDS}"]
    header = ["page of", "MB", "required", "seconds to open", "required", "select, seconds", "peak memory, MB"]
    return table(header, [[*row, number(seconds), f"{peak:.0f}"]])


def _seconds_to_open(page: Path, browser: str) -> float:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        window = started.chromium.launch(executable_path=browser, args=_BROWSER).new_page()
        start = perf_counter()
        window.goto(page.as_uri())
        window.wait_for_selector("html[data-ready=true]")
        return perf_counter() - start
