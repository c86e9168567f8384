"""An experiment, as described by a TOML file: methods, their settings, data sets, and how selections are judged."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ufselect.benchmark.preparing import Preparation
from ufselect.benchmark.schema import ALL_FEATURES, RAW, check_file, known, name_of

__all__ = [
    "ALL_FEATURES",
    "RAW",
    "Experiment",
    "Method",
    "Quick",
    "Stability",
    "identity",
    "read_experiment",
    "varied_values",
]


@dataclass(frozen=True, eq=False)
class Method:
    """A row of the table: a selector, its fixed parameters, and the grid of its settings.

    ``selector`` is a name in ``ufselect`` ("FSASL", "FSASL.published") or in ``ufselect.benchmark.rankings``, or
    "package.module:name" of any class whose ``fit(X)`` sets ``ranking_`` or ``scores_``. The value "classes" of a
    parameter means the number of classes of the data set, "none" means None. With ``values="raw"`` it sees the values
    of the file instead of the prepared ones. ``most_settings`` and ``most_settings_of`` limit the number of settings,
    on all data sets and on one.
    """

    name: str
    selector: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    grid_of: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    most_settings: int | None = None
    most_settings_of: Mapping[str, int] = field(default_factory=dict)
    data: tuple[str, ...] | None = None
    features: str | None = None
    values: str | None = None
    baseline: bool = False
    stability: bool = True  # whether it is measured, if the experiment says how

    def settings(self, data: str) -> Iterator[dict[str, Any]]:
        """Yield every combination of the grid's values for a data set, in the order of the file."""
        grid = {**self.grid, **self.grid_of.get(data, {})}
        for values in itertools.product(*map(_listed, grid.values())):
            yield dict(zip(grid, values, strict=True))

    def limit(self, data: str) -> int | None:
        """Return the largest number of settings on a data set; None if the whole grid is tried."""
        return self.most_settings_of.get(data, self.most_settings)


@dataclass(frozen=True)
class Quick:
    """The part of an experiment that ``--quick`` runs."""

    data: tuple[str, ...] | None = None
    settings: int = 2
    counts: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Stability:
    """How stability is measured: the agreement of fits, each on a random share of the samples."""

    samples: float = 0.9
    fits: int = 10


@dataclass(frozen=True)
class Experiment:
    """The content of an experiment's file."""

    name: str
    title: str
    protocol: str
    data: tuple[str, ...]
    methods: tuple[Method, ...]
    preparations: Mapping[str, Preparation] = field(default_factory=dict)  # of data sets that are not used as they are
    measures: tuple[str, ...] = ("acc", "nmi")
    counts: tuple[int, ...] | None = None
    counts_of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    n_runs: int = 20
    stability: Stability | None = None
    reference: str | None = None  # the method that is compared with every other over the data sets
    quick: Quick = field(default_factory=Quick)
    most_settings: int | None = None
    options: str = ""  # of the command that narrowed it
    unavailable: tuple[str, ...] = ()  # data sets of the file that are left out because they are not found

    def methods_for(self, data: str) -> Iterator[Method]:
        """Yield the methods that run on a data set."""
        return (method for method in self.methods if method.data is None or data in method.data)

    def preparation(self, data: str) -> Preparation:
        """Return how a data set is prepared before any method sees it."""
        return self.preparations.get(data, Preparation())

    def settings(self, method: Method, data: str) -> list[dict[str, Any]]:
        """Return the settings of a method on a data set, evenly spread over its grid.

        There are at most as many as the method's own limit and, of these, at most ``most_settings``: a thinned run is
        part of the whole one.
        """
        settings = list(method.settings(data))
        return evenly_spread(evenly_spread(settings, method.limit(data)), self.most_settings)

    def narrowed(
        self,
        *,
        data: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        quick: bool = False,
        settings: int | None = None,
    ) -> Experiment:
        """Return a part of the experiment.

        Parameters
        ----------
        data, methods : sequence of str, optional
            Only these data sets and methods.
        quick : bool, default=False
            Only what the file gives under ``quick``.
        settings : int, optional
            Maximum number of settings per method.

        Raises
        ------
        ValueError
            If a name is not in the experiment.
        """
        part = self._quick_part() if quick else self
        if settings is not None:
            part = replace(part, most_settings=settings)
        if data:
            part = replace(part, data=tuple(known(name, self.data, "data set") for name in data))
        if methods:
            by_name = {method.name: method for method in self.methods}
            part = replace(part, methods=tuple(by_name[known(name, tuple(by_name), "method")] for name in methods))
        return part

    def _quick_part(self) -> Experiment:
        return replace(
            self,
            data=self.quick.data or self.data[:1],
            counts=self.quick.counts or self.counts,
            counts_of={} if self.quick.counts else dict(self.counts_of),
            most_settings=self.quick.settings,
            stability=self.stability and replace(self.stability, fits=2),
        )


def evenly_spread(settings: list[dict[str, Any]], most: int | None) -> list[dict[str, Any]]:
    """Return at most so many settings, from the first to the last."""
    if most is None or most >= len(settings):
        return settings
    step = (len(settings) - 1) / max(most - 1, 1)
    return [settings[round(index * step)] for index in range(most)]


def read_experiment(path: str | Path) -> Experiment:
    """Read an experiment from a TOML file.

    Raises
    ------
    ValueError
        If the file is not an experiment; the message names the file and the key.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}.") from error
    try:
        check_file(content)
        experiment = _experiment(path.stem, content)
        _check_names(experiment)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return experiment


def varied_values(settings: Sequence[str]) -> list[str]:
    """Return for each setting the values of the parameters that are not the same in all settings."""
    read = [json.loads(setting) for setting in settings]
    varied = [name for name in read[0] if len({identity(setting.get(name)) for setting in read}) > 1]
    return [", ".join(f"{setting.get(name)}" for name in varied) for setting in read]


def identity(content: Any) -> str:
    """Return a text that is the same for the same content, whatever the order of its keys."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _experiment(name: str, content: Mapping[str, Any]) -> Experiment:
    fields = {key: _frozen(value) for key, value in content.items()}
    fields["data"] = tuple(map(name_of, content["data"]))
    fields["preparations"] = dict(map(_preparation, filter(_is_prepared, content["data"])))
    fields["methods"] = tuple(Method(**{**entry, "data": _frozen(entry.get("data"))}) for entry in content["methods"])
    fields["quick"] = Quick(**{key: _frozen(value) for key, value in content.get("quick", {}).items()})
    if "stability" in content:
        fields["stability"] = Stability(**content["stability"])
    fields["counts_of"] = {data: tuple(counts) for data, counts in content.get("counts_of", {}).items()}
    return Experiment(name=name, **fields)


def _is_prepared(entry: Any) -> bool:
    return isinstance(entry, dict) and len(entry) > 1


def _preparation(entry: Mapping[str, Any]) -> tuple[str, Preparation]:
    return entry["name"], Preparation(**{key: value for key, value in entry.items() if key != "name"})


def _check_names(experiment: Experiment) -> None:
    """Refuse names that the file does not define: they would be ignored silently."""
    names = [method.name for method in experiment.methods]
    repeated = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if repeated is not None:
        raise ValueError(f"methods: two methods have the same name, {repeated!r}.")
    if experiment.reference is not None:
        known(experiment.reference, names, "method", "reference: ")
    used = {"counts_of": tuple(experiment.counts_of), "quick: data": experiment.quick.data or ()}
    for method in experiment.methods:
        used[f"methods, {method.name}: data"] = method.data or ()
        used[f"methods, {method.name}: grid_of"] = tuple(method.grid_of)
        used[f"methods, {method.name}: most_settings_of"] = tuple(method.most_settings_of)
    for key, data in used.items():
        for each in data:
            known(each, experiment.data, "data set", f"{key}: ")


def _listed(values: Any) -> Sequence[Any]:
    """Return the values of a grid, given as a list, or as ``{ from = 0, to = 9 }`` for integers."""
    return range(values["from"], values["to"] + 1) if isinstance(values, dict) else values


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
