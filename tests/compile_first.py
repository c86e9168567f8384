"""Compile functions that many tests need; `make test` runs this before them.

Without it, each test process would compile them in a fresh checkout, slowed down by the measuring of coverage.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from ufselect import FSASL, KernelFSASL
from ufselect.datasets.planted import make_planted_clusters
from ufselect.solvers.kmeans import kmeans_labels

DATA = make_planted_clusters(60, 3, 10, 5, random_state=0).X


def fit(structure: str, spread: str, precision: type) -> None:
    FSASL(5, structure=structure, spread=spread, max_iter=2, tol=1.0).fit(DATA.astype(precision))


def fit_default() -> None:
    KernelFSASL(5).fit(DATA)


def main() -> None:
    with ProcessPoolExecutor(2) as processes:
        tasks = [
            processes.submit(partial(fit, "both", "row", np.float64)),  # takes as long as all others
            processes.submit(fit_default),
            processes.submit(kmeans_labels, DATA, np.array([[0, 1, 2]])),
            processes.submit(partial(fit, "local", "mean", np.float64)),
            processes.submit(partial(fit, "global", "row", np.float32)),
        ]
        for task in tasks:
            task.result()


if __name__ == "__main__":
    main()
