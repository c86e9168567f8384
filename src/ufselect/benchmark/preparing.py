"""Data sets as experiments use them: which samples, what methods see, and what is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ufselect._utils.types import Float, Indices
from ufselect.columns.tabular import dense_part
from ufselect.datasets import Dataset
from ufselect.preprocessing import LogNormalize

PLAIN, COUNTS, UNLIKE = "plain", "counts", "unlike"
VALUES = (PLAIN, COUNTS, UNLIKE)

_SEEN = {PLAIN: "as they are", COUNTS: "divided by row sums (to the median row sum), log(1 + x)", UNLIKE: "as they are"}
_JUDGED = {PLAIN: "as they are, unscaled", COUNTS: "the same, unscaled", UNLIKE: "scaled to mean 0 and variance 1"}
_SEED = 0


@dataclass(frozen=True)
class Preparation:
    """What an experiment does to a data set before any method sees it.

    Parameters
    ----------
    values : {"plain", "counts", "unlike"}
        "counts" are divided by their row sums, multiplied by the median row sum and logged, and samples without any
        count are left out. "unlike" columns have unlike units: methods see them as they are, but they are judged
        with mean 0 and variance 1. All others are seen and judged as they are.
    most_samples : int or None
        Of more samples, so many are drawn at random, always the same.
    smallest_class : int
        Classes with fewer samples are left out.
    """

    values: str = PLAIN
    most_samples: int | None = None
    smallest_class: int = 1

    @property
    def seen(self) -> str:
        """The values that methods see, in words."""
        return _SEEN[self.values]

    @property
    def judged(self) -> str:
        """The values that k-means and the other measures see, in words."""
        return _JUDGED[self.values]


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
        """Return features as they are judged, dense."""
        return np.ascontiguousarray(dense_part(self.X, features, standardize=self.standardize))


def prepared(dataset: Dataset, preparation: Preparation) -> Prepared:
    """Return a data set as an experiment uses it.

    Raises
    ------
    ValueError
        If counts are negative, or no two classes are left.
    """
    rows = _kept_samples(dataset, preparation)
    whole = len(rows) == len(dataset.y)
    raw = dataset.X if whole else dataset.X[rows]
    y = dataset.y if whole else np.unique(dataset.y[rows], return_inverse=True)[1]
    X = LogNormalize().fit_transform(raw) if preparation.values == COUNTS else raw
    return Prepared(X, raw, y, preparation.values == UNLIKE)


def _kept_samples(dataset: Dataset, preparation: Preparation) -> Indices:
    rows = _with_counts(dataset) if preparation.values == COUNTS else np.arange(len(dataset.y))
    if preparation.most_samples is not None and len(rows) > preparation.most_samples:
        rows = np.sort(np.random.default_rng(_SEED).choice(rows, preparation.most_samples, replace=False))
    sizes = np.bincount(dataset.y[rows])
    rows = rows[sizes[dataset.y[rows]] >= preparation.smallest_class]
    if np.count_nonzero(sizes >= preparation.smallest_class) < 2 and preparation.smallest_class > 1:
        raise ValueError(
            f"{dataset.name} has fewer than two classes with {preparation.smallest_class} samples or more."
        )
    return rows


def _with_counts(dataset: Dataset) -> Indices:
    """Return the samples with at least one count."""
    if dataset.X.min() < 0.0:
        raise ValueError(f"{dataset.name} has negative values, which cannot be counts.")
    return np.flatnonzero(np.asarray(dataset.X.sum(axis=1)).ravel() > 0.0)
