"""Data of the benchmark: public sets from a folder the user names, and synthetic clusters of any size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ufselect.datasets import Dataset, load_dataset

DATA_VARIABLE = "UFSELECT_DATA"


def public_set(name: str) -> Dataset | None:
    """The set of that name, None where it is not there."""
    try:
        return load_dataset(name)
    except FileNotFoundError:
        return None


def useful_columns(d: int) -> int:
    """How many columns of synthetic data tell the clusters: every tenth, the first ones."""
    return max(d // 10, 2)


def noisy_clusters(n: int, d: int, n_clusters: int, seed: int = 0) -> NDArray[np.float64]:
    """Samples around centres in the first columns, unit noise in all."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    centres = rng.standard_normal((n_clusters, useful_columns(d)))
    X[:, : useful_columns(d)] += centres[rng.integers(n_clusters, size=n)]
    return X
