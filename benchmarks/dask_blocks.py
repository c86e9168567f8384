"""FSASL of a Dask array that is larger than the memory of each of its workers, and than that of the client.

``python benchmarks/dask_blocks.py`` writes the section dask of README.md; ``--print`` only prints it, and ``--quick``
prints that of a small array. The blocks are generated on the workers whenever they are needed, so that nothing but the
generator is kept of them.
"""

from __future__ import annotations

import os
import sys
from time import perf_counter

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from report import machine, table, write_section

from ufselect import FSASL
from ufselect._utils.memory import peak_memory

FULL, QUICK = (1_000_000, 2000), (20_000, 200)
ROWS, USEFUL, CLUSTERS, SELECTED = 10_000, 100, 20, 50
N_WORKERS, WORKER_MEMORY, CLIENT_GB, MOST_SECONDS = 2, "2GB", 4, 1800


def block(number: int, n_columns: int) -> np.ndarray:
    """Rows of clusters that differ in the first 100 columns, in single precision."""
    centres = 2.0 * np.random.default_rng(0).standard_normal((CLUSTERS, USEFUL), dtype=np.float32)
    rng = np.random.default_rng([1, number])
    X = rng.standard_normal((ROWS, n_columns), dtype=np.float32)
    X[:, :USEFUL] += centres[rng.integers(0, CLUSTERS, ROWS)]
    return X


def lazy_array(n: int, d: int) -> da.Array:
    """The blocks as one array, none of which is computed."""
    make = dask.delayed(block, pure=False)
    return da.concatenate(
        [da.from_delayed(make(number, d), shape=(ROWS, d), dtype=np.float32) for number in range(n // ROWS)]
    )


def memory_of_worker() -> int:
    """Peak memory of the process that runs this."""
    return peak_memory() or 0


def main() -> None:
    n, d = QUICK if "--quick" in sys.argv else FULL
    X = lazy_array(n, d)
    with (
        LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, memory_limit=WORKER_MEMORY, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        start = perf_counter()
        selector = FSASL(SELECTED, neighbors="approximate", n_jobs=N_WORKERS, verbose=1).fit(X)
        seconds = perf_counter() - start
        workers = client.run(memory_of_worker)
    useful = int((selector.top_features() < USEFUL).sum())
    rows = [
        ["X", f"{n:,} × {d:,} float32, {X.nbytes / 1e9:.1f} GB in {X.numblocks[0]} blocks", ""],
        ["seconds of a fit, two iterations, compilation included", f"{seconds:.0f}", f"≤ {MOST_SECONDS}"],
        ["peak memory of the client, with the scheduler, GB", f"{(peak_memory() or 0) / 1e9:.2f}", f"≤ {CLIENT_GB}"],
        ["peak memory of a worker, GB", f"{max(workers.values()) / 1e9:.2f}", "≤ 2"],
        ["recall of the neighbours", f"{selector.neighbor_recall_:.3f}", ""],
        ["informative columns", f"{useful} of {SELECTED}", "all"],
    ]
    text = f"{table(['', 'measured', 'required'], rows)}\n\nMachine: {machine()} Workers: {N_WORKERS}."
    print(text)
    if not {"--quick", "--print"} & set(sys.argv):
        write_section("dask", text)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", str(N_WORKERS))
    main()
