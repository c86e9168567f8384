"""The work of a run: fits of selectors found by name, with what they cost, and evaluations of sets of features."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import inspect
import json
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from time import thread_time
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from ufselect._utils.memory import status_bytes
from ufselect._utils.naming import names_a_module, object_named
from ufselect._utils.seeds import draws_of_samples
from ufselect._utils.types import Indices
from ufselect._utils.warnings import convergence_warnings
from ufselect.benchmark.data import DataVersion, load_version
from ufselect.benchmark.experiment import identity
from ufselect.inspection.adapter import best_features
from ufselect.metrics import (
    clustering_agreement,
    nearest_neighbor_accuracy,
    nearest_neighbors,
    neighborhood_overlap,
    redundancy,
)

CLASSES = "classes"  # as the value of a parameter: the number of classes of the data set
NONE = "none"  # as the value of a parameter: None, which TOML does not have

OF_CLUSTERS = ("acc", "nmi", "nmi_arithmetic", "nmi_max")
_N_NEIGHBORS = 5

Outcome = dict[str, Any]
Result = TypeVar("Result")

_OURS = ("ufselect", "ufselect.benchmark.rankings")
_PEAK_COUNTER = Path("/proc/self/clear_refs")


def selector_named(name: str) -> Callable[..., Any]:
    """Return the class of a selector, or its classmethod; nothing but classes with a method ``fit`` is ever called."""
    make = object_named(name, _OURS)
    made = make if isinstance(make, type) else getattr(make, "__self__", None)
    if not (isinstance(made, type) and callable(getattr(made, "fit", None))):
        raise ValueError(f"the selector {name!r} is not a class with a method fit, nor a classmethod of one.")
    return make


def parameters_of(make: Callable[..., Any]) -> set[str]:
    """Return the parameters of a class, or of the class whose classmethod it is."""
    owner = getattr(make, "__self__", None)
    return set(inspect.signature(owner if isinstance(owner, type) else make).parameters)


@cache
def code_digest(selector: str = "") -> str:
    """Return a digest of the code that an outcome depends on: ufselect's, and that of a "package.module:name".

    It is computed once a process, because what runs is what was imported, and empty if the module is only on workers.
    """
    files = {"ufselect": _files_of_ufselect()}
    if names_a_module(selector):
        module = selector.rpartition(":")[0].partition(".")[0]
        files[module] = files.get(module) or _files_of(module)
        if not files[module]:
            return ""
    content = hashlib.sha256()
    for name, paths in files.items():
        for path in paths:
            content.update(f"{name} {path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return content.hexdigest()


def module_folder(selector: str) -> str:
    """Return the folder from which the module of a "package.module:name" is imported; empty for our selectors."""
    top = selector.rpartition(":")[0].partition(".")[0]
    location = _location(top) if top else None
    return "" if location is None else str(location.parent)


def _files_of_ufselect() -> list[Path]:
    return sorted(Path(__file__).parents[1].rglob("*.py"))


def _files_of(module: str) -> list[Path]:
    """Return the files of a package, or those beside a module; of an installed module only itself."""
    location = _location(module)
    if location is None or location.is_dir():
        return sorted(location.rglob("*.py")) if location else []
    installed = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return [location] if location.parent.resolve() in installed else sorted(location.parent.glob("*.py"))


def _location(module: str) -> Path | None:
    """Return the file of a top-level module, or the folder of a package; it is not imported."""
    with suppress(ValueError):  # a module without a specification, such as __main__
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations:
            return Path(next(iter(spec.submodule_search_locations)))
        if spec is not None and spec.has_location and spec.origin:
            return Path(spec.origin)
    return None


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

    ``code`` is its :func:`code_digest`, ``folder`` where workers find its module. A ``raw`` fit sees the values of the
    file instead of the prepared ones, and with a ``draw`` some of the samples.
    """

    data: DataVersion
    selector: str
    parameters: str
    n_features: int
    code: str
    folder: str = ""
    raw: bool = False
    draw: Draw | None = None

    @property
    def key(self) -> str:
        """The same for the same setting of the same code on the same content."""
        return digest_of({"fit": {**asdict(self), "data": self.data.identity, "folder": ""}})

    def run(self) -> Outcome:
        """Return the best features, best first, and the cost of finding them, or why it failed."""
        dataset = load_version(self.data)
        X = dataset.raw if self.raw else dataset.X
        if self.draw is not None:
            X = X[self.draw.rows(X.shape[0])]
        make = self._make()
        parameters = with_values(self.parameters, dataset.n_classes)
        if "n_features_to_select" in parameters_of(make):
            parameters["n_features_to_select"] = self.n_features
        try:
            unfitted = make(**parameters)
        except TypeError as error:
            raise ValueError(f"{self.selector} rejects its parameters: {error}.") from error
        with one_thread():
            if not names_a_module(self.selector):
                _load_compiled_code(self.data, self.selector)
            try:
                with convergence_warnings() as messages:
                    selector, cost = measured(lambda: unfitted.fit(X))
            except Exception as error:  # whatever a method raises, the other fits of a long run go on
                return {"error": f"{type(error).__name__}: {error}"}
        order = best_features(selector, self.n_features).tolist()
        return {"order": order, **cost, "warnings": len(messages), **_course(selector)}

    def _make(self) -> Callable[..., Any]:
        if self.folder and self.folder not in sys.path and not module_folder(self.selector):
            sys.path.append(self.folder)  # this worker was started before the folder was on the path
        if self.code and code_digest(self.selector) != self.code:
            raise ValueError(
                f"the code of {self.selector} changed during the run, or is different on this worker; start it again."
            )
        return selector_named(self.selector)


def fit_of(data: DataVersion, selector: str, parameters: str, n_features: int, *, raw: bool = False) -> Fit:
    """Return the fit of a selector, as its code is now."""
    return Fit(data, selector, parameters, n_features, code_digest(selector), module_folder(selector), raw)


def with_values(parameters: str, n_classes: int) -> dict[str, Any]:
    """Return the parameters of a setting with ``CLASSES`` and ``NONE`` replaced by what they mean."""
    meaning = {CLASSES: n_classes, NONE: None}
    given = json.loads(parameters)
    return {name: meaning.get(value, value) if isinstance(value, str) else value for name, value in given.items()}


def digest_of(content: Any) -> str:
    """Return the SHA-256 of a content, whatever the order of its keys."""
    return hashlib.sha256(identity(content).encode()).hexdigest()


def one_thread() -> Any:
    """Limit BLAS to one thread: fits run side by side and must not compete for cores."""
    return _pools().limit(limits=1)


_pools = cache(ThreadpoolController)


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
def _load_compiled_code(data: DataVersion, selector: str) -> None:
    """Fit one of our selectors to a corner of the data, once per process, so that loading does not count as fitting."""
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        X = load_version(data).X[:80]
        selector_named(selector)().fit(X[:, :: max(X.shape[1] // 40, 1)])


def measured(call: Callable[[], Result]) -> tuple[Result, Outcome]:
    """Return the result of a call in this thread, and what it cost.

    That is its processor time, since fits run side by side, and its peak memory beyond what the process held before,
    None if that is not known.
    """
    before = _memory_before()
    start = thread_time()
    result = call()
    seconds = thread_time() - start
    peak = status_bytes("VmHWM")
    beyond = None if before is None or peak is None else max(peak - before, 0)
    return result, {"seconds": seconds, "peak_bytes": beyond}


def _memory_before() -> int | None:
    """Return free memory to the system, reset the peak, and return the bytes that this process holds."""
    try:
        with suppress(OSError, AttributeError, TypeError):  # only glibc has it
            ctypes.CDLL(None).malloc_trim(0)  # free memory in the heap would hide part of the next peak
        _PEAK_COUNTER.write_text("5")
    except OSError:
        return None
    return status_bytes("VmRSS")


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
