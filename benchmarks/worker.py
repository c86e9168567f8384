"""One measurement in a process of its own; says what came out as JSON on standard output.

Run by ``run.py``: ``worker.py growth '{"n": 5000, "d": 500, "n_clusters": 20, "max_iter": 3, "threads": 1}'`` or
``worker.py startup '{}'``; ``peer`` takes the arguments of ``peer_fits.timed_method``, ``size`` those of ``size_fit``.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any


def peak_memory_mb() -> float:
    """Most resident memory so far.

    The kernel's mark for this program alone where there is one: ``ru_maxrss`` starts from the parent's on Linux.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        marks = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        if marks:
            return int(marks[0]) / 1024.0
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def growth(n: int, d: int, n_clusters: int, max_iter: int, threads: int) -> dict[str, Any]:
    """Seconds, in all and by step, and peak memory of one fit."""
    from comparison import timed_fit, warm_up
    from data import noisy_clusters, useful_columns
    from threadpoolctl import threadpool_limits

    from ufselect import FSASL

    warm_up()
    X = noisy_clusters(n, d, n_clusters)
    selector = FSASL(50, n_clusters=n_clusters, max_iter=max_iter, tol=0.0)
    with threadpool_limits(limits=threads):
        fit = timed_fit(selector, X)
    useful = int((selector.top_features(50) < useful_columns(d)).sum())
    return {
        "seconds": fit.total,
        "steps": fit.steps,
        "peak_mb": peak_memory_mb(),
        "useful": useful,
    }


def startup() -> dict[str, float]:
    """Seconds of the import and of two small fits on one core, whatever the compiler's cache holds."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    started = perf_counter()
    from ufselect import FSASL

    imported = perf_counter()
    from data import noisy_clusters

    X = noisy_clusters(200, 50, 4)
    seconds = []
    for _ in range(2):
        start = perf_counter()
        FSASL(10, n_clusters=4).fit(X)
        seconds.append(perf_counter() - start)
    return {"import": imported - started, "first_fit": seconds[0], "second_fit": seconds[1]}


def peer(**arguments: Any) -> dict[str, Any]:
    """Seconds, iterations and best features of one method of one library."""
    from peer_fits import timed_method

    return timed_method(**arguments)


def size_fit(most_memory: int, **arguments: Any) -> dict[str, Any]:
    """Seconds, peak memory and useful columns of one selector, or its words where the memory did not suffice."""
    resource.setrlimit(resource.RLIMIT_DATA, (most_memory, most_memory))
    from sizes import timed_selector

    try:
        found = timed_selector(**arguments)
    except MemoryError as error:
        return {"problem": f"MemoryError: {error}"}
    return {**found, "peak_mb": peak_memory_mb()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    measure = {"growth": growth, "startup": startup, "peer": peer, "size": size_fit}[sys.argv[1]]
    print(json.dumps(measure(**json.loads(sys.argv[2]))))
