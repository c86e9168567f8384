"""The two kinds of work in a run, each identified by its content: fit one setting, judge one set of features."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from ufselect._plain import best_features
from ufselect._utils.naming import names_a_module
from ufselect._utils.types import Indices
from ufselect._utils.warnings import convergence_warnings
from ufselect.benchmark.data import DataVersion, load_version, neighbors_in
from ufselect.benchmark.experiment import identity
from ufselect.benchmark.measure import measured
from ufselect.benchmark.preparing import Prepared
from ufselect.benchmark.protocol import measures_of
from ufselect.benchmark.selecting import (
    current_selector,
    parameters_of,
    selector_folder,
    selector_source,
    with_values,
)
from ufselect.benchmark.sources import source_digest
from ufselect.columns.tabular import draws_of_samples

Outcome = dict[str, Any]

_one_parser = Lock()  # pieces may run in threads of one process, in which `ast.parse` of Python 3.11 may fail


class Piece(Protocol):
    """Work that can be done once, at any time, by any worker."""

    @property
    def key(self) -> str:
        """The same for the same work."""
        ...

    def run(self) -> Outcome:
        """Do the work; the outcome can be written as JSON."""
        ...


@lru_cache(maxsize=1)
def judging_source() -> str:
    """Return the digest of the source code that determines how a selection is judged."""
    return source_digest("ufselect.benchmark.protocol")


@dataclass(frozen=True)
class Draw:
    """One of several random shares of the samples, the same for all methods."""

    share: float
    index: int

    def rows(self, n_samples: int) -> Indices:
        """Return the samples that are drawn."""
        return draws_of_samples(n_samples, self.index + 1, self.share)[self.index]


@dataclass(frozen=True)
class Fit:
    """Rank the features of a data set with one setting of a selector.

    ``source`` is the digest of the selector's code, ``folder`` where workers find its module, see :func:`fit_of`.
    A ``raw`` fit sees the values of the file instead of the prepared ones, and with a ``draw`` some of the samples.
    """

    data: DataVersion
    selector: str
    parameters: str
    n_features: int
    source: str
    folder: str = ""
    raw: bool = False
    draw: Draw | None = None

    @property
    def key(self) -> str:
        """The same for the same setting of the same code on the same content."""
        content = {**asdict(self), "data": self.data.identity}
        del content["folder"]
        for name in ("raw", "draw"):
            if not content[name]:
                del content[name]
        return _digest({"fit": content})

    def run(self) -> Outcome:
        """Return the best features, best first, and the cost of finding them, or why it failed."""
        dataset = load_version(self.data)
        X = dataset.raw if self.raw else dataset.X
        if self.draw is not None:
            X = X[self.draw.rows(X.shape[0])]
        unfitted = self._selector(dataset)
        with _one_thread():
            if not names_a_module(self.selector):
                _load_compiled_code(self.data, self.selector, self.source)
            try:
                (selector, cost), n_warnings = _counting_warnings(lambda: measured(lambda: unfitted.fit(X)))
            except Exception as error:  # whatever a method raises, the other fits of a long run go on
                return {"error": f"{type(error).__name__}: {error}"}
        order = best_features(selector, self.n_features).tolist()
        return {"order": order, **asdict(cost), "warnings": n_warnings, **_course(selector)}

    def _selector(self, dataset: Prepared) -> Any:
        with _one_parser:
            make = current_selector(self.selector, self.source, self.folder)
        parameters = with_values(self.parameters, dataset.n_classes)
        if "n_features_to_select" in parameters_of(make):
            parameters["n_features_to_select"] = self.n_features
        try:
            return make(**parameters)
        except TypeError as error:
            raise ValueError(f"{self.selector} rejects its parameters: {error}.") from error


@dataclass(frozen=True)
class Judgement:
    """Judge one set of features of a data set, whichever method selected it."""

    data: DataVersion
    features: tuple[int, ...]
    measures: tuple[str, ...]
    n_runs: int
    source: str = field(default_factory=judging_source)

    @property
    def key(self) -> str:
        """The same for the same features, in whatever order they were selected."""
        return _digest({"judgement": {**asdict(self), "data": self.data.identity}})

    def run(self) -> Outcome:
        """Return every measure by its name."""
        with _one_parser:
            source = judging_source()
        if self.source != source:
            raise ValueError("ufselect changed during the run, or is different on this worker; start it again.")
        dataset = load_version(self.data)
        selected = dataset.judged(list(self.features))
        with _one_thread():
            return measures_of(selected, dataset.y, self.measures, self.n_runs, lambda: neighbors_in(self.data))


def fit_of(data: DataVersion, selector: str, parameters: str, n_features: int) -> Fit:
    """Return the piece that fits a selector, as its code is now."""
    return Fit(data, selector, parameters, n_features, selector_source(selector), selector_folder(selector))


def judgement_of(
    data: DataVersion, order: Iterable[int], count: int, measures: tuple[str, ...], n_runs: int
) -> Judgement:
    """Return the piece that judges the ``count`` best features of a ranking."""
    return Judgement(data, tuple(sorted(list(order)[:count])), measures, n_runs)


def _counting_warnings(call: Callable[[], Any]) -> tuple[Any, int]:
    """Return the result of a call and its number of ConvergenceWarnings; other warnings are issued as usual."""
    with convergence_warnings() as messages:
        result = call()
    return result, len(messages)


def _course(selector: Any) -> Outcome:
    """Return the number of iterations and clusters of a fitted selector, and its objective after each iteration."""
    course: Outcome = {}
    for name in ("n_iter_", "n_clusters_"):
        if (value := getattr(selector, name, None)) is not None:
            course[name.rstrip("_")] = int(value)
    for name, attribute in (("objective", "objective_history_"), ("half_steps", "half_step_history_")):
        if (history := getattr(selector, attribute, None)) is not None:
            course[name] = np.asarray(history, dtype=float).tolist()
    return course


@lru_cache(maxsize=64)
def _load_compiled_code(data: DataVersion, selector: str, source: str) -> None:
    """Fit one of our selectors to a corner of the data, once per process, so that loading does not count as fitting."""
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        X = load_version(data).X[:80]
        with _one_parser:
            make = current_selector(selector, source)
        make().fit(X[:, :: max(X.shape[1] // 40, 1)])


@lru_cache(maxsize=1)
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def _one_thread() -> Any:
    """Limit BLAS to one thread: pieces run side by side and must not compete for cores."""
    return _pools().limit(limits=1)


def _digest(content: Any) -> str:
    return hashlib.sha256(identity(content).encode()).hexdigest()
