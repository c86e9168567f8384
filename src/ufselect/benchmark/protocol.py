"""How a set of features is evaluated, whichever method selected it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import lru_cache

from ufselect._utils.types import Indices
from ufselect.benchmark.data import DataVersion, load_version
from ufselect.benchmark.fits import code_digest, digest_of, one_thread
from ufselect.metrics import (
    clustering_agreement,
    nearest_neighbor_accuracy,
    nearest_neighbors,
    neighborhood_overlap,
    redundancy,
)

OF_CLUSTERS = ("acc", "nmi", "nmi_arithmetic", "nmi_max")
_N_NEIGHBORS = 5


@dataclass(frozen=True)
class Evaluation:
    """Evaluate one set of features of a data set."""

    data: DataVersion
    features: tuple[int, ...]
    measures: tuple[str, ...]
    n_runs: int
    code: str = field(default_factory=code_digest)

    @property
    def key(self) -> str:
        """The same for the same features, in whatever order they were selected."""
        return digest_of({"evaluation": {**asdict(self), "data": self.data.identity}})

    def run(self) -> dict[str, float]:
        """Return every measure by its name."""
        if self.code != code_digest():
            raise ValueError("ufselect changed during the run, or is different on this worker; start it again.")
        dataset = load_version(self.data)
        X = dataset.judged(list(self.features))
        with one_thread():
            found: dict[str, float] = {}
            if set(OF_CLUSTERS) & set(self.measures):
                found = clustering_agreement(X, dataset.y, self.n_runs)
            if "redundancy" in self.measures:
                found["redundancy"] = redundancy(X)
            if "preservation" in self.measures:
                after = nearest_neighbors(X, _N_NEIGHBORS)
                found["preservation"] = neighborhood_overlap(_neighbors_in(self.data), after)
            if "nearest_neighbor" in self.measures:
                found["nearest_neighbor"] = nearest_neighbor_accuracy(X, dataset.y)
        return {name: found[name] for name in self.measures}


def evaluation_of(
    data: DataVersion, order: Iterable[int], count: int, measures: tuple[str, ...], n_runs: int
) -> Evaluation:
    """Return the evaluation of the ``count`` best features of a ranking."""
    return Evaluation(data, tuple(sorted(list(order)[:count])), measures, n_runs)


@lru_cache(maxsize=8)
def _neighbors_in(version: DataVersion) -> Indices:
    """Return the nearest neighbours of every sample in all features."""
    return nearest_neighbors(load_version(version).judged(), _N_NEIGHBORS)
