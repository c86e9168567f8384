"""One measurement in a process of its own; prints its result as JSON.

``run.py`` starts it: ``worker.py many_samples '{"n": 6000, "d": 100, "neighbors": "exact", "threads": 1}'``. The
first argument is a key of ``MEASUREMENTS``, the second one the keyword arguments of that function.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import warnings
from pathlib import Path
from time import perf_counter, process_time
from typing import Any


def peak_memory_mb() -> float:
    """Peak resident memory of this process.

    It is read from /proc if possible: on Linux, ``ru_maxrss`` includes the peak of the parent process.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        marks = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        if marks:
            return int(marks[0]) / 1024.0
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def clusters_in_single_precision(n: int, d: int) -> Any:
    """Clusters that differ in the first 50 columns."""
    import numpy as np

    rng = np.random.default_rng(0)
    centres = 3.0 * rng.standard_normal((20, 50), dtype=np.float32)
    X = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, 10_000):
        block = X[start : start + 10_000]
        block[...] = rng.standard_normal(block.shape, dtype=np.float32)
        block[:, :50] += centres[rng.integers(0, 20, len(block))]
    return X


def log_counts(n: int, d: int) -> Any:
    """Log-normalised counts along a gradient, a weak structure."""
    import numpy as np

    from ufselect.preprocessing import LogNormalize

    rng = np.random.default_rng(0)
    position, depth = rng.random((n, 1)), rng.lognormal(0.0, 0.4, (n, 1))
    rates = depth * rng.gamma(0.5, 1.0, d) * np.exp(position * rng.normal(0.0, 0.7, d))
    return LogNormalize().fit_transform(rng.poisson(rates).astype(np.float64))


def default_fit(kind: str) -> dict[str, float]:
    """Seconds and processor seconds of a default fit to data of a kind and size such as "clusters, 6,000 × 100"."""
    from common import public_set

    from ufselect import KernelFSASL

    name, size = kind.split(", ")[:2]
    n, d = (int(number.replace(",", "")) for number in size.split(" × "))
    makers = {"log counts": log_counts, "clusters": clusters_in_single_precision}
    X = makers[name](n, d) if name in makers else public_set(name).X
    for rows in (200, 1200, 6000):
        KernelFSASL(10).fit(X[:rows, :100])  # compiles
    start, processor = perf_counter(), process_time()
    KernelFSASL(50).fit(X)
    return {"seconds": perf_counter() - start, "processor": process_time() - processor}


def many_samples(n: int, d: int, neighbors: str, threads: int) -> dict[str, Any]:
    """Seconds and peak memory of a default fit of clusters in single precision."""
    from ufselect import KernelFSASL

    X = clusters_in_single_precision(n, d)
    selector = KernelFSASL(50, neighbors=neighbors, n_jobs=threads)
    KernelFSASL(10, neighbors=neighbors, n_jobs=threads).fit(X[:6000, :60])  # compiles
    start_of_fit = perf_counter()
    selector.fit(X)
    return {
        "seconds": perf_counter() - start_of_fit,
        "peak_mb": peak_memory_mb(),
        "matrix_mb": X.nbytes / 2**20,
        "recall": selector.neighbor_recall_,
        "useful": int((selector.top_features() < 50).sum()),
    }


def significance(kind: str, tested: bool, threads: int) -> dict[str, Any]:
    """Seconds and peak memory of the test of columns, or of a fit without it."""
    import scipy.sparse as sp
    from cells import make_cells
    from common import noisy_clusters

    from ufselect import KernelFSASL
    from ufselect._utils.memory import status_bytes
    from ufselect.preprocessing import LogNormalize
    from ufselect.significance import column_significance

    name, size = kind.split(", ")
    n, d = (int(each.replace(",", "")) for each in size.split(" × "))
    small = sp.csr_array(make_cells(400, 400).X) if name == "cells" else noisy_clusters(400, 100, 5)
    column_significance(small)  # compiles
    KernelFSASL(10).fit(small)
    X = LogNormalize().fit_transform(make_cells(n, d).X) if name == "cells" else noisy_clusters(n, d, 5)
    before, start = status_bytes("VmRSS") or 0, perf_counter()
    result = column_significance(X, n_jobs=threads) if tested else KernelFSASL(50, n_jobs=threads).fit(X)
    seconds = perf_counter() - start
    found = result.n_found if tested else 0
    return {"seconds": seconds, "before_mb": before / 2**20, "peak_mb": peak_memory_mb(), "found": found}


def dedupe(kind: str, n: int, d: int, threads: int) -> dict[str, Any]:
    """Seconds, processor seconds and peak memory of the search for columns that say the same."""
    from redundancy import made

    from ufselect._utils.memory import status_bytes
    from ufselect.redundancy import redundant_columns

    X = made(kind, n, d)
    before, start, processor = status_bytes("VmRSS") or 0, perf_counter(), process_time()
    found = redundant_columns(X, n_jobs=threads)
    return {
        "seconds": perf_counter() - start,
        "processor": process_time() - processor,
        "before_mb": before / 2**20,
        "peak_mb": peak_memory_mb(),
        "left": len(found.representatives),
    }


def startup() -> dict[str, float]:
    """Seconds of the import and of two small fits on one core, with the cache of compiled code as it is."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    started = perf_counter()
    from ufselect import KernelFSASL

    imported = perf_counter()
    from common import noisy_clusters

    X = noisy_clusters(200, 50, 4)
    seconds = []
    for _ in range(2):
        start = perf_counter()
        KernelFSASL(10).fit(X)
        seconds.append(perf_counter() - start)
    return {"import": imported - started, "first_fit": seconds[0], "second_fit": seconds[1]}


def peer(**arguments: Any) -> dict[str, Any]:
    """Seconds, iterations and best features of one method in one library."""
    from peers import timed_method

    return timed_method(**arguments)


def size_fit(most_memory: int, **arguments: Any) -> dict[str, Any]:
    """Seconds, peak memory and informative columns of one selector, or its message if memory ran out."""
    resource.setrlimit(resource.RLIMIT_DATA, (most_memory, most_memory))
    from large_data import timed_selector

    try:
        found = timed_selector(**arguments)
    except MemoryError as error:
        return {"problem": f"MemoryError: {error}"}
    return {**found, "peak_mb": peak_memory_mb()}


MEASUREMENTS = {
    "default_fit": default_fit,
    "many_samples": many_samples,
    "significance": significance,
    "dedupe": dedupe,
    "startup": startup,
    "peer": peer,
    "size": size_fit,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    result = MEASUREMENTS[sys.argv[1]](**json.loads(sys.argv[2]))
    if result is not None:
        print(json.dumps(result))
