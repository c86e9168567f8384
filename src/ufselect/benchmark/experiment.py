"""An experiment as a TOML file says it: which methods, with which settings, on which data, judged how."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

CLASSES = "classes"  # stands for the number of classes of the data at hand
NONE = "none"  # stands for None, which TOML cannot say
ALL_FEATURES = "all"  # in place of numbers of features

PROTOCOLS = ("published", "no-labels", "ablation", "sensitivity", "convergence")
_MEASURES = ("acc", "nmi", "nmi_arithmetic", "nmi_max", "redundancy", "preservation", "nearest_neighbor")


@dataclass(frozen=True, eq=False)
class Method:
    """A row of the table: a selector, what is fixed, and the grid of its settings.

    ``selector`` is a name in ``ufselect`` ("FSASL", "FSASL.published"), in ``ufselect.benchmark.rankings``, or
    "package.module:name" of any class whose ``fit(X)`` leaves ``ranking_`` or ``scores_``.
    """

    name: str
    selector: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    grid_of: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    data: tuple[str, ...] | None = None
    features: str | None = None
    baseline: bool = False

    def settings(self, data: str) -> Iterator[dict[str, Any]]:
        """Every combination of the grid's values for that data set, in the order of the file."""
        grid = {**self.grid, **self.grid_of.get(data, {})}
        for values in itertools.product(*map(_listed, grid.values())):
            yield dict(zip(grid, values, strict=True))


@dataclass(frozen=True)
class Quick:
    """What remains of an experiment with ``--quick``."""

    data: tuple[str, ...] | None = None
    settings: int = 2
    counts: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Experiment:
    """What an experiment's file says."""

    name: str
    title: str
    protocol: str
    data: tuple[str, ...]
    methods: tuple[Method, ...]
    measures: tuple[str, ...] = ("acc", "nmi")
    counts: tuple[int, ...] | None = None
    counts_of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    n_runs: int = 20
    quick: Quick = field(default_factory=Quick)
    most_settings: int | None = None
    options: str = ""  # those of the command that narrowed it

    def methods_for(self, data: str) -> Iterator[Method]:
        """The methods that run on that data set."""
        return (method for method in self.methods if method.data is None or data in method.data)

    def settings(self, method: Method, data: str) -> list[dict[str, Any]]:
        """The settings of a method on that data set, evenly thinned out where only so many are wanted."""
        settings = list(method.settings(data))
        if self.most_settings is None or len(settings) <= self.most_settings:
            return settings
        step = (len(settings) - 1) / max(self.most_settings - 1, 1)
        return [settings[round(place * step)] for place in range(self.most_settings)]

    def narrowed(
        self,
        *,
        data: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        quick: bool = False,
        settings: int | None = None,
    ) -> Experiment:
        """The same with only those data sets and methods, so many settings, or a quick version of it.

        Raises
        ------
        ValueError
            If a name is not in the experiment.
        """
        narrow = self
        if quick:
            keep = self.quick.data or self.data[:1]
            counts = {} if self.quick.counts else dict(self.counts_of)
            narrow = replace(
                self,
                data=keep,
                counts=self.quick.counts or self.counts,
                counts_of=counts,
                most_settings=self.quick.settings,
            )
        if settings is not None:
            narrow = replace(narrow, most_settings=settings)
        if data:
            narrow = replace(narrow, data=tuple(_known(name, self.data, "data set") for name in data))
        if methods:
            known = {method.name: method for method in self.methods}
            narrow = replace(narrow, methods=tuple(known[_known(name, tuple(known), "method")] for name in methods))
        return narrow


def read_experiment(path: str | Path) -> Experiment:
    """Read an experiment's file.

    Raises
    ------
    ValueError
        If the file is no experiment; the message says what is wrong with it.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}.") from error
    try:
        return _experiment(path.stem, content)
    except (KeyError, TypeError) as error:
        cause = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path}: {cause}.") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def varied_values(settings: Sequence[str]) -> list[str]:
    """What tells the settings apart: the values of those parameters that are not the same in all."""
    read = [json.loads(setting) for setting in settings]
    varied = [name for name in read[0] if len({identity(setting.get(name)) for setting in read}) > 1]
    return [", ".join(f"{setting.get(name)}" for name in varied) for setting in read]


def identity(content: Any) -> str:
    """The same text for the same content, whatever the order of its keys."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _experiment(name: str, content: dict[str, Any]) -> Experiment:
    methods = tuple(_method(entry) for entry in content.pop("methods"))
    quick = content.pop("quick", {})
    experiment = Experiment(
        name=name,
        methods=methods,
        quick=Quick(**{key: _frozen(value) for key, value in quick.items()}),
        counts_of={data: tuple(counts) for data, counts in content.pop("counts_of", {}).items()},
        **{key: _frozen(value) for key, value in content.items()},
    )
    _check(experiment)
    return experiment


def _check(experiment: Experiment) -> None:
    """Refuse what nothing goes by: it would be passed over in silence."""
    if not experiment.data or isinstance(experiment.data, str):
        raise ValueError("data is a list of one data set or more.")
    _known(experiment.protocol, PROTOCOLS, "protocol")
    for measure in experiment.measures:
        _known(measure, _MEASURES, "measure")
    methods = experiment.methods
    if len({method.name for method in methods}) < len(methods):
        raise ValueError("two methods have the same name.")
    if not methods:
        raise ValueError("methods is a list of one method or more.")
    for method in methods:
        _check_grids(method)
        if "," in method.name:
            raise ValueError(f"{method.name!r} has a comma, which separates names on the command line.")
        _known(method.features or ALL_FEATURES, (ALL_FEATURES,), "value of features")
    for data in itertools.chain(experiment.counts_of, *((*(each.data or ()), *each.grid_of) for each in methods)):
        _known(data, experiment.data, "data set")


def _method(entry: dict[str, Any]) -> Method:
    return Method(**{**entry, "name": entry["name"], "data": _frozen(entry.get("data"))})


def _check_grids(method: Method) -> None:
    for grid in (method.grid, *method.grid_of.values()):
        for name, values in grid.items():
            counted = isinstance(values, dict) and set(values) == {"from", "to"}
            if not counted and not (isinstance(values, list | tuple) and values):
                raise ValueError(f"{method.name}: the grid of {name} is a list, or {{ from = 0, to = 9 }}.")


def _listed(values: Any) -> Sequence[Any]:
    """The values of a grid: a list, or ``{ from = 0, to = 9 }`` for whole numbers."""
    return range(values["from"], values["to"] + 1) if isinstance(values, dict) else values


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _known(name: str, known: Sequence[str], what: str) -> str:
    if name in known:
        return name
    close = get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(known)}."
    raise ValueError(f"no {what} {name!r}{hint}")
