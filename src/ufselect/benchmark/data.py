"""Data sets as experiments use them: known by their content, and what methods and measures see of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ufselect._utils.types import Float, Indices
from ufselect.columns.tabular import dense_part
from ufselect.datasets import Dataset, content_digest, dataset_names, load_dataset
from ufselect.preprocessing import LogNormalize

PLAIN, COUNTS, UNLIKE = "plain", "counts", "unlike"
VALUES = (PLAIN, COUNTS, UNLIKE)

_SEED = 0


@dataclass(frozen=True)
class Preparation:
    """What an experiment does to a data set before any method sees it.

    "counts" are divided by their row sums, multiplied by the median row sum and logged, and samples without any count
    are dropped. "unlike" columns have different units: methods see them as they are, but they are evaluated with mean 0
    and variance 1. "plain" columns are seen and evaluated as they are.
    """

    values: str = PLAIN
    most_samples: int | None = None  # larger sets are subsampled to this size with a fixed seed
    smallest_class: int = 1  # classes with fewer samples are dropped


_AS_IT_IS = Preparation()


class Prepared(NamedTuple):
    """A data set after its preparation; ``raw`` has the same samples with the values of the file."""

    X: Float | sp.csr_array
    raw: Float | sp.csr_array
    y: npt.NDArray[np.int64]
    standardize: bool

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(np.unique(self.y))

    def judged(self, features: Any = slice(None)) -> Float:
        """Return features as they are evaluated, dense."""
        return np.ascontiguousarray(dense_part(self.X, features, standardize=self.standardize))


@dataclass(frozen=True)
class DataVersion:
    """The name of a data set, or the absolute path of its file, the digest of its content, and how it is prepared."""

    name: str
    digest: str
    preparation: Preparation = _AS_IT_IS

    @property
    def identity(self) -> dict[str, Any]:
        """What determines the values that methods see and that are evaluated, wherever they come from."""
        return {"content": self.digest, **asdict(self.preparation)}


def current_version(data: str, preparation: Preparation = _AS_IT_IS) -> DataVersion:
    """Return the version of a data set that its name or path refers to now, which is loaded and hashed."""
    name = data if data in dataset_names() else str(Path(data).absolute())  # workers may run in other folders
    dataset = load_dataset(name)
    return DataVersion(name, content_digest(dataset.X, dataset.y), preparation)


@lru_cache(maxsize=8)
def load_version(version: DataVersion) -> Prepared:
    """Load a data set, make sure that it is the given version, and prepare it."""
    dataset = load_dataset(version.name)
    if content_digest(dataset.X, dataset.y) != version.digest:
        raise ValueError(f"{version.name} changed during the run, or is different on this worker; start the run again.")
    return prepared(dataset, version.preparation)


def prepared(dataset: Dataset, preparation: Preparation) -> Prepared:
    """Return a data set as an experiment uses it."""
    rows = _kept_samples(dataset, preparation)
    whole = len(rows) == len(dataset.y)
    raw = dataset.X if whole else dataset.X[rows]
    y = dataset.y if whole else np.unique(dataset.y[rows], return_inverse=True)[1]
    X = LogNormalize().fit_transform(raw) if preparation.values == COUNTS else raw
    return Prepared(X, raw, y, preparation.values == UNLIKE)


def _kept_samples(dataset: Dataset, preparation: Preparation) -> Indices:
    rows = np.arange(len(dataset.y))
    if preparation.values == COUNTS:
        if dataset.X.min() < 0.0:
            raise ValueError(f"{dataset.name} has negative values, which cannot be counts.")
        rows = np.flatnonzero(np.asarray(dataset.X.sum(axis=1)).ravel() > 0.0)
    if preparation.most_samples is not None and len(rows) > preparation.most_samples:
        rows = np.sort(np.random.default_rng(_SEED).choice(rows, preparation.most_samples, replace=False))
    sizes = np.bincount(dataset.y[rows])
    rows = rows[sizes[dataset.y[rows]] >= preparation.smallest_class]
    if np.count_nonzero(sizes >= preparation.smallest_class) < 2 and preparation.smallest_class > 1:
        raise ValueError(
            f"{dataset.name} has fewer than two classes with {preparation.smallest_class} samples or more."
        )
    return rows
