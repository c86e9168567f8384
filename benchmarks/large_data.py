"""KernelFSASL on large data: many samples, one thread beside two, a Dask array; and every method at two sizes.

``run.py`` calls it. Each fit runs in a new process.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from common import (
    Outcome,
    ended_after,
    environment_for,
    in_fresh_process,
    noisy_clusters,
    number,
    outcome_in_fresh_process,
    say,
    table,
    useful_columns,
)

import ufselect
from ufselect import KernelFSASL
from ufselect._utils.memory import peak_memory

THREADS = 2
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "many_samples.png"
# Number of samples, of columns, and how neighbours are searched.
SAMPLES = [
    (20_000, 500, "exact"),
    (10_000, 1000, "exact"),
    (30_000, 1000, "exact"),
    (100_000, 1000, "exact"),
    (10_000, 100, "approximate"),
    (100_000, 100, "approximate"),
    (1_000_000, 100, "approximate"),
]
MOST_EXPONENT = {"exact": 1.9, "approximate": 1.2}
REQUIRED = {(20_000, 500): "≤ 17", (100_000, 1000): "≤ 300, 4 GB", (1_000_000, 100): "≤ 1200"}
N_FEATURES = 50
MOST_MEMORY = 4 * 10**9  # bytes
MOST_BESIDE_OTHERS = 3
ROWS, USEFUL, CLUSTERS = 10_000, 100, 20  # of a block of the Dask array
N_WORKERS, WORKER_MEMORY, CLIENT_GB, MOST_SECONDS = 2, "2GB", 4, 1800


def many_samples(sizes: list[tuple[int, int, str]], *, picture: bool = True) -> str:
    """Seconds and memory of a default fit, and how they grow."""
    fits = {size: _many_samples_fit(*size) for size in sizes}
    if picture:
        draw(fits)
    return tables(fits)


def _many_samples_fit(n: int, d: int, neighbors: str) -> dict[str, Any]:
    say(f"{n:,} × {d:,}, {neighbors} neighbours")
    return in_fresh_process("many_samples", environment_for(THREADS), n=n, d=d, neighbors=neighbors, threads=THREADS)


def exponent(fits: dict[tuple[int, int, str], dict[str, Any]], neighbors: str, d: int) -> float:
    """The slope of log seconds over log n between the smallest and the largest size."""
    sizes = sorted(size for size in fits if size[1:] == (d, neighbors))
    first, last = sizes[0], sizes[-1]
    return float(np.log(fits[last]["seconds"] / fits[first]["seconds"]) / np.log(last[0] / first[0]))


def tables(fits: dict[tuple[int, int, str], dict[str, Any]]) -> str:
    """The fits, and how they grow."""
    rows = [
        [
            f"{n:,} × {d:,}",
            neighbors,
            number(fit["seconds"]),
            REQUIRED.get((n, d), ""),
            f"{fit['peak_mb']:.0f}",
            f"{fit['matrix_mb']:.0f}",
            f"{fit['recall']:.3f}",
            f"{fit['useful']} of 50",
        ]
        for (n, d, neighbors), fit in fits.items()
    ]
    header = [
        "size, float32",
        "neighbours",
        "seconds",
        "required",
        "peak, MB",
        "X, MB",
        "recall",
        "informative columns",
    ]
    growth = [
        [f"{neighbors}, {d:,} columns", f"{exponent(fits, neighbors, d):.2f}", f"≤ {MOST_EXPONENT[neighbors]}"]
        for neighbors, d in (("exact", 1000), ("approximate", 100))
        if sum(size[1:] == (d, neighbors) for size in fits) > 1
    ]
    return "\n\n".join([table(header, rows), table(["exponent of n", "value", "required"], growth)])


def draw(fits: dict[tuple[int, int, str], dict[str, Any]]) -> None:
    """Seconds over the number of samples, both logarithmic."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for neighbors, d, marker in (("exact", 1000, "o"), ("approximate", 100, "s")):
        sizes = sorted(size for size in fits if size[1:] == (d, neighbors))
        seconds = [fits[size]["seconds"] for size in sizes]
        slope = exponent(fits, neighbors, d)
        label = f"{neighbors} neighbours, {d:,} columns: exponent {slope:.2f}"
        axes.loglog([size[0] for size in sizes], seconds, marker=marker, label=label)
    axes.set(xlabel="samples", ylabel="seconds of a default fit, two threads")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.0f}")
        axis.set_minor_formatter("")
    axes.grid(which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(PICTURE, dpi=150)


def one_and_two_threads(repeats_of: dict[str, int]) -> str:
    """Default fits with one thread and with two, in turn, and with two beside two busy processes; the best counts."""
    header = ["default fit", "one thread, s", "two, s", "two / one", "processor: one, s", "two, s", "busy / quiet"]
    rows = [_row_of_threads(kind, repeats) for kind, repeats in repeats_of.items()]
    required = f"Required: two / one at most 1, busy / quiet at most {MOST_BESIDE_OTHERS}."
    return f"{table(header, rows)}\n\n{required}"


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep some cores busy."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _default_fit(kind: str, threads: int) -> dict[str, Any]:
    """Seconds and processor seconds of a fit."""
    say(f"{kind}, threads: {threads}")
    return in_fresh_process("default_fit", environment_for(threads), kind=kind)


def _row_of_threads(kind: str, repeats: int) -> list[str]:
    """Both numbers of threads in turn, and two threads beside two busy processes."""
    fits: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    for _ in range(repeats):
        for threads in fits:
            fits[threads].append(_default_fit(kind, threads))
    quickest = {threads: min(found, key=lambda fit: fit["seconds"]) for threads, found in fits.items()}
    with busy_processes(2):
        beside = min(_default_fit(kind, 2)["seconds"] for _ in range(repeats))
    one, two = quickest[1]["seconds"], quickest[2]["seconds"]
    processor = [number(quickest[threads]["processor"]) for threads in (1, 2)]
    return [kind, number(one), number(two), f"{two / one:.2f}", *processor, f"{beside / two:.2f}"]


def dask_array(n: int, d: int) -> str:
    """A fit to a Dask array that exceeds the memory of each worker and is generated whenever it is needed."""
    from distributed import Client, LocalCluster

    X = lazy_array(n, d)
    size = {"n_workers": N_WORKERS, "threads_per_worker": 1, "memory_limit": WORKER_MEMORY, "dashboard_address": None}
    with LocalCluster(**size) as cluster, Client(cluster) as client:
        start = perf_counter()
        selector = KernelFSASL(N_FEATURES, neighbors="approximate", n_jobs=N_WORKERS, verbose=1).fit(X)
        seconds = perf_counter() - start
        workers = client.run(memory_of_worker)
    useful = int((selector.top_features() < USEFUL).sum())
    rows = [
        ["X", f"{n:,} × {d:,} float32, {X.nbytes / 1e9:.1f} GB in {X.numblocks[0]} blocks", ""],
        ["seconds of a fit, two iterations, compilation included", f"{seconds:.0f}", f"≤ {MOST_SECONDS}"],
        ["peak memory of the client, with the scheduler, GB", f"{(peak_memory() or 0) / 1e9:.2f}", f"≤ {CLIENT_GB}"],
        ["peak memory of a worker, GB", f"{max(workers.values()) / 1e9:.2f}", "≤ 2"],
        ["recall of the neighbours", f"{selector.neighbor_recall_:.3f}", ""],
        ["informative columns", f"{useful} of {N_FEATURES}", "all"],
    ]
    return table(["", "measured", "required"], rows)


def block(number: int, n_columns: int) -> np.ndarray:
    """Rows of clusters that differ in the first 100 columns, in single precision."""
    centres = 2.0 * np.random.default_rng(0).standard_normal((CLUSTERS, USEFUL), dtype=np.float32)
    rng = np.random.default_rng([1, number])
    X = rng.standard_normal((ROWS, n_columns), dtype=np.float32)
    X[:, :USEFUL] += centres[rng.integers(0, CLUSTERS, ROWS)]
    return X


def lazy_array(n: int, d: int) -> Any:
    """The blocks as one array, none of which is computed."""
    import dask
    import dask.array as da

    make = dask.delayed(block, pure=False)
    return da.concatenate(
        [da.from_delayed(make(number, d), shape=(ROWS, d), dtype=np.float32) for number in range(n // ROWS)]
    )


def memory_of_worker() -> int:
    """Peak memory of the process that runs this."""
    return peak_memory() or 0


@dataclass(frozen=True)
class Size:
    """The size of synthetic data, and the number of clusters if the selectors are told."""

    n: int
    d: int
    n_clusters: int
    told: bool = True
    most_seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.n} × {self.d}, c = {self.n_clusters}" + ("" if self.told else ", not given")


def fit_every_selector(size: Size, threads: int, time_limit: float) -> str:
    """A table of seconds, peak memory and informative columns found, or the reason why a fit failed."""
    rows = []
    for name in selectors():
        say(f"sizes: {name}, {size}")
        outcome = outcome_in_fresh_process(
            "size", threads, most_memory=MOST_MEMORY, name=name, size=asdict(size), time_limit=time_limit
        )
        rows.append([name, *_cells(outcome, size.d, time_limit)])
        say("    " + ", ".join(filter(None, rows[-1][1:])))
    text = table([str(size), "processor seconds", "iterations", "peak memory, MB", "informative columns found"], rows)
    required = "" if size.most_seconds is None else f"\n\nRequired: at most {number(size.most_seconds)} s each."
    return text + required


def selectors() -> list[str]:
    """The names of all selectors."""
    return [name for name in ufselect.__all__ if hasattr(getattr(ufselect, name), "fit")]


def timed_selector(name: str, size: dict[str, Any], time_limit: float) -> dict[str, Any]:
    """Processor seconds and iterations of a fit after small warm-up fits, and the informative columns of 50."""
    shape = Size(**size)
    for n, d in ((1200, 60), (200, 300)):
        selector_with(name, n_features_to_select=5, n_clusters=4, max_iter=2).fit(noisy_clusters(n, d, 4))
    X = noisy_clusters(shape.n, shape.d, shape.n_clusters)
    told = {"n_clusters": shape.n_clusters} if shape.told else {}
    selector = selector_with(name, n_features_to_select=N_FEATURES, **told)
    with ended_after(time_limit):
        start = process_time()
        selector.fit(X)
        seconds = process_time() - start
    useful = int((selector.top_features(N_FEATURES) < useful_columns(shape.d)).sum())
    return {"seconds": seconds, "iterations": getattr(selector, "n_iter_", None), "useful": useful}


def selector_with(name: str, **wanted: Any) -> Any:
    """The selector with those of the given parameters that its constructor accepts."""
    kind = getattr(ufselect, name)
    known = inspect.signature(kind).parameters
    return kind(**{key: value for key, value in wanted.items() if key in known})


def _cells(outcome: Outcome, d: int, time_limit: float) -> list[str]:
    if outcome.values is None:
        reason = f"stopped after {number(time_limit)} s" if outcome.out_of_time else outcome.problem
        return [reason.replace("|", "/").replace("\n", " "), "", "", ""]
    most = min(N_FEATURES, useful_columns(d))
    values = outcome.values
    iterations = "" if values["iterations"] is None else str(values["iterations"])
    return [number(values["seconds"]), iterations, f"{values['peak_mb']:.0f}", f"{values['useful']} of {most}"]
