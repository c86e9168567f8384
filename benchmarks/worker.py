"""One measurement in a process of its own; prints its result as JSON.

``run.py`` starts it: ``worker.py growth '{"n": 5000, "d": 500, "n_clusters": 20, "max_iter": 3, "threads": 1}'``. The
first argument is a key of ``MEASUREMENTS``, the second one the keyword arguments of that function.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import warnings
from functools import cache
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


def growth(n: int, d: int, n_clusters: int, max_iter: int, threads: int) -> dict[str, Any]:
    """Seconds of one fit (total and each step) and peak memory."""
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
    from data import public_set

    from ufselect import FSASL

    name, size = kind.split(", ")[:2]
    n, d = (int(number.replace(",", "")) for number in size.split(" × "))
    makers = {"log counts": log_counts, "clusters": clusters_in_single_precision}
    X = makers[name](n, d) if name in makers else public_set(name).X
    for rows in (200, 1200, 6000):
        FSASL(10).fit(X[:rows, :100])  # compiles
    start, processor = perf_counter(), process_time()
    FSASL(50).fit(X)
    return {"seconds": perf_counter() - start, "processor": process_time() - processor}


def many_samples(n: int, d: int, neighbors: str, threads: int) -> dict[str, Any]:
    """Seconds and peak memory of a default fit of clusters in single precision."""
    from ufselect import FSASL

    X = clusters_in_single_precision(n, d)
    selector = FSASL(50, neighbors=neighbors, n_jobs=threads)
    FSASL(10, neighbors=neighbors, n_jobs=threads).fit(X[:6000, :60])  # compiles
    start_of_fit = perf_counter()
    selector.fit(X)
    return {
        "seconds": perf_counter() - start_of_fit,
        "peak_mb": peak_memory_mb(),
        "matrix_mb": X.nbytes / 2**20,
        "recall": selector.neighbor_recall_,
        "useful": int((selector.top_features() < 50).sum()),
    }


def startup() -> dict[str, float]:
    """Seconds of the import and of two small fits on one core, with the cache of compiled code as it is."""
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
    """Seconds, iterations and best features of one method in one library."""
    from peer_fits import timed_method

    return timed_method(**arguments)


def size_fit(most_memory: int, **arguments: Any) -> dict[str, Any]:
    """Seconds, peak memory and informative columns of one selector, or its message if memory ran out."""
    resource.setrlimit(resource.RLIMIT_DATA, (most_memory, most_memory))
    from sizes import timed_selector

    try:
        found = timed_selector(**arguments)
    except MemoryError as error:
        return {"problem": f"MemoryError: {error}"}
    return {**found, "peak_mb": peak_memory_mb()}


def fits(source: str) -> None:
    """Answer requests, one per line: each asks for one fit of a selector from the package in ``source``."""
    _check_source(source)
    for line in sys.stdin:
        print(json.dumps(_timed_fit(**json.loads(line))), flush=True)


def _check_source(source: str) -> None:
    import ufselect

    if not Path(ufselect.__file__).resolve().is_relative_to(Path(source).resolve()):
        raise ImportError(f"ufselect was imported from {ufselect.__file__} instead of {source}.")


def settings(source: str, data: str, n_settings: int) -> None:
    """Answer requests, one per line: each asks for one setting of FSASL's published grid, evenly thinned.

    No setting takes steps from another. Answers have the seconds of the steps that it could share.
    """
    _check_source(source)
    from certificates import Certificates

    from ufselect import FSASL
    from ufselect.benchmark import pieces as module
    from ufselect.benchmark.experiment import read_experiment
    from ufselect.benchmark.runner import planned_trials
    from ufselect.datasets import load_dataset

    with tempfile.TemporaryDirectory() as folder:
        experiment = read_experiment(_only_fsasl(data, Path(folder))).narrowed(settings=n_settings)
    pieces = [trial.fit for trial in planned_trials(experiment)]
    certificates = Certificates()
    FSASL.published(n_clusters=5, spread="row").fit(load_dataset(data).X[:150, ::8])  # loads compiled code
    parts_of = getattr(module, "_shared_parts", None)  # earlier revisions share nothing
    for line in sys.stdin:
        piece = pieces[json.loads(line)["index"]]
        if parts_of is not None:
            parts_of.cache_clear()
        with certificates.checked() as worst:
            start = process_time()
            outcome = piece.run()
            seconds = process_time() - start - worst.seconds
        parts = {} if parts_of is None else parts_of(piece.data, piece.raw, piece.draw)._parts
        checks = {"_start": worst.seconds_of_violations[0], "_express": worst.seconds_of_gaps[0]}
        answer = {
            "parameters": piece.parameters,
            "seconds": seconds,
            "shared": {step: taken - checks.get(step, 0.0) for (_, step, _), (_, taken) in parts.items()},
            "best": outcome["order"][:50],
            "gap": worst.gap,
            "violation": worst.violation,
        }
        print(json.dumps(answer), flush=True)


def _only_fsasl(data: str, folder: Path) -> Path:
    """The part of the experiment that this needs, without keys that an earlier revision does not know."""
    published = Path(__file__).parents[1] / "experiments" / "published.toml"
    method = published.read_text(encoding="utf-8").split('name = "FSASL"\n')[1].split("[methods.grid_of]")[0]
    path = folder / "fsasl.toml"
    head = f'title = "FSASL"\nprotocol = "published"\ndata = ["{data}"]\nmeasures = ["acc"]\n'
    path.write_text(f'{head}[[methods]]\nname = "FSASL"\n{method}', encoding="utf-8")
    return path


def _timed_fit(name: str, **shape: Any) -> dict[str, Any]:
    """Seconds, iterations and best features of one fit, or its error.

    Neighbours and scale are given, as their defaults have changed: both versions do the same work.
    """
    from sizes import N_FEATURES, selector_with

    X = _data(**shape)
    given = {"n_clusters": shape["n_clusters"], "n_neighbors": 5, "scale": "standard"}
    selector = selector_with(name, n_features_to_select=N_FEATURES, **given)
    start = perf_counter()
    try:
        selector.fit(X)
    except (MemoryError, TypeError, ValueError) as error:
        return {"problem": f"{type(error).__name__}: {error}"}
    seconds = perf_counter() - start
    best = selector.top_features(N_FEATURES).tolist()
    return {"seconds": seconds, "iterations": getattr(selector, "n_iter_", 0), "best": best}


@cache
def _data(kind: str, n: int, d: int, n_clusters: int) -> Any:
    """Noisy clusters; if sparse, only the values above 1 remain, about a sixth of them."""
    import scipy.sparse as sp
    from data import noisy_clusters

    X = noisy_clusters(n, d, n_clusters)
    return sp.csr_array(X * (X > 1.0)) if kind == "sparse" else X


MEASUREMENTS = {
    "growth": growth,
    "default_fit": default_fit,
    "many_samples": many_samples,
    "startup": startup,
    "peer": peer,
    "size": size_fit,
    "fits": fits,
    "settings": settings,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    result = MEASUREMENTS[sys.argv[1]](**json.loads(sys.argv[2]))
    if result is not None:
        print(json.dumps(result))
