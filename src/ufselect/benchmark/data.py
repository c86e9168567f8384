"""Data sets known by their content: a file that is rewritten under the same name is another data set."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ufselect._utils.types import Indices
from ufselect.benchmark.preparing import Preparation, Prepared, prepared
from ufselect.benchmark.protocol import N_NEIGHBORS
from ufselect.benchmark.sources import source_digest
from ufselect.datasets import content_digest, dataset_names, load_dataset
from ufselect.metrics import nearest_neighbors

_AS_IT_IS = Preparation()


@dataclass(frozen=True)
class DataVersion:
    """The name of a data set, or the absolute path of its file, the digest of its content, and how it is prepared."""

    name: str
    digest: str
    preparation: Preparation = _AS_IT_IS

    @property
    def identity(self) -> Any:
        """What determines the values that methods see and that are judged."""
        if self.preparation == _AS_IT_IS:
            return self.digest
        return {"content": self.digest, **asdict(self.preparation), "source": preparing_source()}


@lru_cache(maxsize=1)
def preparing_source() -> str:
    """Return the digest of the source code that prepares data sets."""
    return source_digest("ufselect.benchmark.preparing")


def current_version(data: str, preparation: Preparation = _AS_IT_IS) -> DataVersion:
    """Return the version of a data set that its name or path refers to now.

    The data are loaded and hashed; do this once a run, not once a piece.
    """
    name = data if data in dataset_names() else str(Path(data).absolute())  # workers may run in other folders
    dataset = load_dataset(name)
    return DataVersion(name, content_digest(dataset.X, dataset.y), preparation)


@lru_cache(maxsize=8)
def load_version(version: DataVersion) -> Prepared:
    """Load a data set, make sure that it is the given version, and prepare it.

    Raises
    ------
    ValueError
        If the content is not that of the version.
    """
    dataset = load_dataset(version.name)
    if content_digest(dataset.X, dataset.y) != version.digest:
        raise ValueError(f"{version.name} changed during the run, or is different on this worker; start the run again.")
    return prepared(dataset, version.preparation)


@lru_cache(maxsize=8)
def neighbors_in(version: DataVersion) -> Indices:
    """Return the nearest neighbours of every sample in all features, as they are judged."""
    return nearest_neighbors(load_version(version).judged(), N_NEIGHBORS)
