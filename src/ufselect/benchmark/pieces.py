"""The two kinds of work of a run, each known by its content: fit one setting, judge one set of features."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

import ufselect
from ufselect._backend.columns import Float, Indices
from ufselect.benchmark.experiment import CLASSES, NONE, identity
from ufselect.benchmark.measure import measured
from ufselect.benchmark.protocol import N_NEIGHBORS, clustering_agreement
from ufselect.datasets import Dataset, content_digest, dataset_names, describe_dataset, load_dataset
from ufselect.metrics import nearest_neighbor_accuracy, nearest_neighbors, neighborhood_overlap, redundancy

Outcome = dict[str, Any]


class Piece(Protocol):
    """Work that can be done anywhere, at any time, once."""

    @property
    def key(self) -> str:
        """The same for the same work."""
        ...

    def run(self) -> Outcome:
        """Do it; what comes out can be written as JSON."""
        ...


@dataclass(frozen=True)
class Fit:
    """Rank the features of a data set with one setting of a selector."""

    data: str
    selector: str
    parameters: str
    n_features: int

    @property
    def key(self) -> str:
        """The same for the same fit by the same version."""
        return _digest({"fit": {**asdict(self), "data": _content_of(self.data)}})

    def run(self) -> Outcome:
        """The best features, best first, what it took to find them, or why it failed."""
        dataset = load_dataset(self.data)
        make = selector_named(self.selector)
        parameters = _with_classes(self.parameters, dataset)
        if "n_features_to_select" in _parameters_of(make):
            parameters["n_features_to_select"] = self.n_features
        try:
            unfitted = make(**parameters)
        except TypeError as error:
            raise ValueError(f"{self.selector} cannot be made: {error}.") from error
        with warnings.catch_warnings(), _one_thread():
            warnings.simplefilter("ignore", ConvergenceWarning)
            if not names_a_module(self.selector):
                _load_compiled_code(self.data, self.selector)
            try:
                selector, cost = measured(lambda: unfitted.fit(dataset.X))
            except (ValueError, MemoryError, np.linalg.LinAlgError) as error:
                return {"error": f"{type(error).__name__}: {error}"}
        return {"order": best_features(selector, self.n_features).tolist(), **asdict(cost), **_course(selector)}


@dataclass(frozen=True)
class Judgement:
    """Judge one set of features of a data set, whoever selected it."""

    data: str
    features: tuple[int, ...]
    measures: tuple[str, ...]
    n_runs: int

    @property
    def key(self) -> str:
        """The same for the same features, in whatever order they were selected."""
        return _digest({"judgement": {**asdict(self), "data": _content_of(self.data)}})

    def run(self) -> Outcome:
        """Every measure by its name."""
        dataset = load_dataset(self.data)
        selected = np.ascontiguousarray(dataset.X[:, list(self.features)])
        with _one_thread():
            found = clustering_agreement(selected, dataset.y, self.n_runs)
            for name in self.measures:
                if name not in found:
                    found[name] = _BESIDE_CLUSTERING[name](selected, self.data)
        return {name: found[name] for name in self.measures}


def judgement_of(data: str, order: Iterable[int], count: int, measures: tuple[str, ...], n_runs: int) -> Judgement:
    """The piece that judges the best so many features of a ranking."""
    return Judgement(data, tuple(sorted(list(order)[:count])), measures, n_runs)


def names_a_module(selector: str) -> bool:
    """Whether a selector is somebody else's, "package.module:name"."""
    return ":" in selector


def selector_named(name: str) -> Callable[..., Any]:
    """What makes the selector: "FSASL", "FSASL.published", "RandomRanking", or "package.module:name".

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    module, _, attribute = name.rpartition(":")
    places = [module] if names_a_module(name) else ["ufselect", "ufselect.benchmark.rankings"]
    why = ""
    for place in places:
        try:
            found: Any = importlib.import_module(place)
            for part in attribute.split("."):
                found = getattr(found, part)
        except ImportError as error:
            why = f": {error}"
        except AttributeError:
            continue
        else:
            return found
    raise ValueError(f"there is no selector {name!r} in {' or '.join(places)}{why}.")


def best_features(selector: Any, n_features: int) -> Indices:
    """The best features of a fitted selector, best first."""
    if hasattr(selector, "ranking_"):
        return np.argsort(selector.ranking_, kind="stable")[:n_features]
    return np.argsort(-np.asarray(selector.scores_), kind="stable")[:n_features]


def _with_classes(parameters: str, dataset: Dataset) -> dict[str, Any]:
    stands_for = {CLASSES: dataset.n_classes, NONE: None}
    given = json.loads(parameters)
    return {name: stands_for.get(value, value) if isinstance(value, str) else value for name, value in given.items()}


def _parameters_of(make: Callable[..., Any]) -> set[str]:
    """The parameters of a class, or of the class of a classmethod that takes any."""
    owner = getattr(make, "__self__", None)
    return set(inspect.signature(owner if isinstance(owner, type) else make).parameters)


def _course(selector: Any) -> Outcome:
    """How an iterative selector went: iterations, clusters, and the objective after each iteration."""
    course: Outcome = {}
    for name in ("n_iter_", "n_clusters_"):
        if (value := getattr(selector, name, None)) is not None:
            course[name.rstrip("_")] = int(value)
    if (history := getattr(selector, "objective_history_", None)) is not None:
        course["objective"] = np.asarray(history, dtype=float).tolist()
    return course


@lru_cache(maxsize=64)
def _load_compiled_code(data: str, selector: str) -> None:
    """Fit one of our selectors to a corner of the data, once in a process: loading is not to count as fitting."""
    with suppress(Exception):
        X = load_dataset(data).X[:80]
        selector_named(selector)().fit(X[:, :: max(X.shape[1] // 40, 1)])


@lru_cache(maxsize=1)
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def _one_thread() -> Any:
    """Pieces run beside each other: none may take the threads of another."""
    return _pools().limit(limits=1)


@lru_cache(maxsize=8)
def _neighbors_in(data: str) -> Indices:
    return nearest_neighbors(load_dataset(data).X, N_NEIGHBORS)


_BESIDE_CLUSTERING: dict[str, Callable[[Float, str], float]] = {
    "redundancy": lambda selected, _: redundancy(selected),
    "preservation": lambda selected, data: neighborhood_overlap(
        _neighbors_in(data), nearest_neighbors(selected, N_NEIGHBORS)
    ),
    "nearest_neighbor": lambda selected, data: nearest_neighbor_accuracy(selected, load_dataset(data).y),
}


@lru_cache(maxsize=64)
def _content_of(data: str) -> str:
    """The name of a data set whose content the registry vouches for, else a digest of the content."""
    if data in dataset_names() and describe_dataset(data).sha256 is not None:
        return data
    dataset = load_dataset(data)
    return content_digest(dataset.X, dataset.y)


def _digest(content: Any) -> str:
    return hashlib.sha256(identity({**content, "version": ufselect.__version__}).encode()).hexdigest()
