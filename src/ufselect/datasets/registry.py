"""Known datasets, listed in registry.csv: sizes, checksums, sources, and the numbers of features to select."""

from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ufselect.datasets.content import Dataset, content_digest

_UP_TO_50 = tuple(range(5, 51, 5))


@dataclass(frozen=True)
class PublicSet:
    """Facts about a dataset.

    Attributes
    ----------
    name : str
    n_samples, n_features, n_classes : int
    feature_counts : tuple of int
        Numbers of features to select; for the datasets of the FSASL paper, those of its tables.
    description, source : str
        What it is, and where to get it.
    sha256 : str or None
        ``content_digest`` of the dataset, or None if no file is known or needed.
    """

    name: str
    n_samples: int
    n_features: int
    n_classes: int
    feature_counts: tuple[int, ...]
    description: str
    source: str
    sha256: str | None = None

    @property
    def size(self) -> str:
        """Number of samples, features and classes, in words."""
        return f"{self.n_samples} samples, {self.n_features} features and {self.n_classes} classes"

    def difference_to(self, dataset: Dataset) -> str | None:
        """Return how a loaded dataset differs from this one, in words, or None if it does not."""
        n_samples, n_features = dataset.X.shape
        found = replace(self, n_samples=n_samples, n_features=n_features, n_classes=dataset.n_classes)
        if found != self:
            return f"{self.name} has {self.size}, but got {found.size}"
        if self.sha256 is not None and (digest := content_digest(dataset.X, dataset.y)) != self.sha256:
            return f"the content of {self.name} has SHA-256 {self.sha256}, but got {digest}"
        return None


def _read_registry() -> dict[str, PublicSet]:
    with Path(__file__).with_name("registry.csv").open(encoding="utf-8", newline="") as file:
        known = {}
        for row in csv.DictReader(file):
            sizes = {name: int(row.pop(name)) for name in ("n_samples", "n_features", "n_classes")}
            counts = tuple(map(int, row.pop("feature_counts").split()))
            facts: dict[str, Any] = row | sizes | {"sha256": row["sha256"] or None}
            known[row["name"]] = PublicSet(feature_counts=counts, **facts)
        return known


PUBLIC_SETS = _read_registry()


def dataset_names() -> tuple[str, ...]:
    """Return the names of all known datasets, those of the FSASL paper first.

    Examples
    --------
    >>> from ufselect.datasets import dataset_names
    >>> dataset_names()[:3]
    ('MFEA', 'USPS49', 'UMIST')
    """
    return tuple(PUBLIC_SETS)


def describe_dataset(name: str) -> PublicSet:
    """Return what is known about a dataset, without loading it.

    Parameters
    ----------
    name : str
        One of ``dataset_names()``.

    Returns
    -------
    PublicSet

    Examples
    --------
    >>> from ufselect.datasets import describe_dataset
    >>> describe_dataset("TOX").size
    '171 samples, 5748 features and 4 classes'
    """
    if name not in PUBLIC_SETS:
        by_folded_name = {known.casefold(): known for known in PUBLIC_SETS}
        close = difflib.get_close_matches(str(name).casefold(), by_folded_name)
        meant = f" (did you mean {' or '.join(by_folded_name[match] for match in close)}?)" if close else ""
        raise ValueError(f"there is no dataset named {name!r}{meant}; known are {', '.join(PUBLIC_SETS)}")
    return PUBLIC_SETS[name]


def default_feature_counts(name: str, n_features: int) -> tuple[int, ...]:
    """Return the numbers of features that the benchmark selects.

    Parameters
    ----------
    name : str
        Name of a dataset, known or not.
    n_features : int
        Number of its features.

    Returns
    -------
    tuple of int
        Ascending, at most ``n_features``: those of the known dataset, or 5, 10, …, 50; all numbers from 1 if there
        are too few features for any of these.

    Examples
    --------
    >>> from ufselect.datasets import default_feature_counts
    >>> default_feature_counts("my own", 23)
    (5, 10, 15, 20)
    """
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {n_features}")
    counts = PUBLIC_SETS[name].feature_counts if name in PUBLIC_SETS else _UP_TO_50
    return tuple(count for count in counts if count <= n_features) or tuple(range(1, n_features + 1))
