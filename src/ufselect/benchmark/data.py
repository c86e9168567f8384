"""Data sets known by their content: a file that is rewritten under the same name is another data set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ufselect._backend.columns import Indices
from ufselect.benchmark.protocol import N_NEIGHBORS
from ufselect.datasets import Dataset, content_digest, dataset_names, load_dataset
from ufselect.metrics import nearest_neighbors


@dataclass(frozen=True)
class DataVersion:
    """The name of a data set, or the absolute path of its file, and the digest of its content."""

    name: str
    digest: str


def current_version(data: str) -> DataVersion:
    """Return the version of a data set that its name or path refers to now.

    The data are loaded and hashed; do this once a run, not once a piece.
    """
    name = data if data in dataset_names() else str(Path(data).absolute())  # workers may run in other folders
    dataset = load_dataset(name)
    return DataVersion(name, content_digest(dataset.X, dataset.y))


@lru_cache(maxsize=8)
def load_version(version: DataVersion) -> Dataset:
    """Load a data set, and make sure that it is the given version.

    Raises
    ------
    ValueError
        If the content is not that of the version.
    """
    dataset = load_dataset(version.name)
    if content_digest(dataset.X, dataset.y) != version.digest:
        raise ValueError(f"{version.name} changed during the run, or is different on this worker; start the run again.")
    return dataset


@lru_cache(maxsize=8)
def neighbors_in(version: DataVersion) -> Indices:
    """Return the nearest neighbours of every sample in all features."""
    return nearest_neighbors(load_version(version).X, N_NEIGHBORS)
