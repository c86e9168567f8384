"""Data of the benchmark: public sets from a folder the user names, and synthetic clusters of any size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

DATA_VARIABLE = "UFSELECT_DATA"


class LabelledSet(NamedTuple):
    """Samples by rows, and the class of each, for the judge alone."""

    X: NDArray[Any]
    y: NDArray[Any]

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(np.unique(self.y))


def public_set(name: str) -> LabelledSet | None:
    """The set of that name from the folder in ``UFSELECT_DATA``, None where it is not there."""
    folder = os.environ.get(DATA_VARIABLE)
    file = Path(folder, f"{name}.npz") if folder else None
    if file is None or not file.is_file():
        return None
    with np.load(file) as arrays:
        return LabelledSet(arrays["X"].astype(np.float64), arrays["y"])


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
