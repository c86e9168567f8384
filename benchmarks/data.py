"""The data of the benchmarks: public data sets from a folder of the user, and synthetic clusters of any size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ufselect.datasets import Dataset, load_dataset

DATA_VARIABLE = "UFSELECT_DATA"


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
