"""An experiment, as described by a TOML file: methods, their settings, data sets, and how selections are judged."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from ufselect.benchmark.data import VALUES, Preparation

NO_LABELS = "no-labels"
CONVERGENCE = "convergence"
PROTOCOLS = ("published", NO_LABELS, "ablation", "sensitivity", CONVERGENCE)
MEASURES = ("acc", "nmi", "nmi_arithmetic", "nmi_max", "redundancy", "preservation", "nearest_neighbor")
ALL_FEATURES = "all"  # in place of numbers of features
RAW = "raw"  # of a method: it sees the values of the file


@dataclass(frozen=True, eq=False)
class Method:
    """A row of the table: a selector, its fixed parameters, and the grid of its settings.

    ``selector`` is a name in ``ufselect`` ("FSASL", "MCFS") or in ``ufselect.benchmark.rankings``, or
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
        """Return the settings of a method on a data set, evenly spread: a thinned run is part of the whole one."""
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
        """Return a part of the experiment, with at most so many settings per method; an unknown name is an error."""
        part = self
        if quick:
            part = replace(
                self,
                data=self.quick.data or self.data[:1],
                counts=self.quick.counts or self.counts,
                counts_of={} if self.quick.counts else dict(self.counts_of),
                most_settings=self.quick.settings,
                stability=self.stability and replace(self.stability, fits=2),
            )
        if settings is not None:
            part = replace(part, most_settings=settings)
        if data:
            part = replace(part, data=tuple(known(name, self.data, "data set") for name in data))
        if methods:
            by_name = {method.name: method for method in self.methods}
            part = replace(part, methods=tuple(by_name[known(name, tuple(by_name), "method")] for name in methods))
        return part


def evenly_spread(settings: list[dict[str, Any]], most: int | None) -> list[dict[str, Any]]:
    """Return at most so many settings, from the first to the last."""
    if most is None or most >= len(settings):
        return settings
    step = (len(settings) - 1) / max(most - 1, 1)
    return [settings[round(index * step)] for index in range(most)]


def read_experiment(path: str | Path) -> Experiment:
    """Read an experiment from a TOML file; if it is none, the error names the file and the key."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}.") from error
    try:
        _check_file(content)
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
    fields = with_tuples(content)
    fields["data"] = tuple(map(_name_of, content["data"]))
    fields["preparations"] = {
        entry["name"]: Preparation(**{key: value for key, value in entry.items() if key != "name"})
        for entry in content["data"]
        if isinstance(entry, dict) and len(entry) > 1
    }
    fields["methods"] = tuple(Method(**with_tuples(entry)) for entry in content["methods"])
    fields["quick"] = Quick(**with_tuples(content.get("quick", {})))
    if "stability" in content:
        fields["stability"] = Stability(**content["stability"])
    fields["counts_of"] = with_tuples(content.get("counts_of", {}))
    return Experiment(name=name, **fields)


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


def with_tuples(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a table with tuples in place of lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}


# The keys of a file and the values they take


class _Key(NamedTuple):
    values: str
    accepts: Callable[[Any], bool]
    required: bool = False


def _check_file(content: Mapping[str, Any]) -> None:
    """Refuse a file with unknown or missing keys, or with values of the wrong kind; the message names the key."""
    if "name" in content:
        raise ValueError("name is not a key at the top level: an experiment has the name of its file.")
    _check_keys(content, _OF_EXPERIMENT, "")
    known(content["protocol"], PROTOCOLS, "protocol")
    for measure in content.get("measures", ()):
        known(measure, MEASURES, "measure")
    for entry in filter(_is_table, content["data"]):
        where = f"data, {entry['name']}: " if _is_text(entry.get("name")) else "data: "
        _check_keys(entry, _OF_DATA, where)
        known(entry.get("values", VALUES[0]), VALUES, "kind of values", where)
    _check_keys(content.get("quick", {}), _OF_QUICK, "quick: ")
    _check_keys(content.get("stability", {}), _OF_STABILITY, "stability: ")
    if "stability" in content and content["protocol"] != NO_LABELS:
        raise ValueError(f"stability is measured by the protocol {NO_LABELS!r} only.")
    for index, method in enumerate(content["methods"], start=1):
        name = method.get("name")
        _check_keys(method, _OF_METHOD, f"methods, {name if _is_text(name) else f'number {index}'}: ")
        _check_grids(method)


def known(name: str, names: Sequence[str], what: str, where: str = "") -> str:
    """Return the name if it is known; the error suggests the closest one. ``where`` is the key that has it."""
    if name in names:
        return name
    raise ValueError(f"{where}unknown {what} {name!r}{_suggestion(name, names)}")


def _name_of(entry: Any) -> Any:
    """Return the name of a data set that is given as a name or as a table."""
    return entry.get("name") if isinstance(entry, dict) else entry


def _check_keys(table: Mapping[str, Any], keys: Mapping[str, _Key], where: str) -> None:
    for name in table:
        if name not in keys:
            if name in _OF_EXPERIMENT:
                raise ValueError(
                    f"{where}unknown key {name!r}; it belongs at the top of the file, above the first table."
                )
            raise ValueError(f"{where}unknown key {name!r}{_suggestion(name, tuple(keys))}")
    for name, key in keys.items():
        if name not in table:
            if key.required:
                raise ValueError(f"{where}{name!r} is missing.")
        elif not key.accepts(table[name]):
            raise ValueError(f"{where}{name} must be {key.values}, got {_shown(table[name])}.")


def _check_grids(method: Mapping[str, Any]) -> None:
    for grid in (method.get("grid", {}), *method.get("grid_of", {}).values()):
        for name, values in grid.items():
            if not _is_range(values) and not _list_of(_is_value)(values):
                raise ValueError(
                    f"methods, {method['name']}: the grid of {name} must be a list of values, or a range such as "
                    f"{{ from = 0, to = 9 }}, got {_shown(values)}."
                )


def _suggestion(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; choose from {', '.join(names)}."


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_positive(value: Any) -> bool:
    return _is_integer(value) and value > 0


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _is_value(value: Any) -> bool:
    """A value that a parameter can be given: dates and times cannot."""
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else None
    return isinstance(value, str | int | float) if inner is None else all(map(_is_value, inner))


def _is_range(value: Any) -> bool:
    is_range = isinstance(value, dict) and set(value) == {"from", "to"} and all(map(_is_integer, value.values()))
    return is_range and value["from"] <= value["to"]


def _list_of(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(map(accepts, value))


def _by_data(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(accepts, value.values()))


def _is_data(value: Any) -> bool:
    if not _list_of(lambda each: _is_text(each) or _is_table(each))(value):
        return False
    named = [_name_of(each) for each in value]
    return all(named.count(name) == 1 for name in named if name is not None)


_is_counts = _list_of(_is_positive)

_TEXT = _Key("a non-empty string", _is_text)
_REQUIRED_TEXT = _TEXT._replace(required=True)
_NAMES = _Key(
    "a list of one or more different names", lambda value: _list_of(_is_text)(value) and len(set(value)) == len(value)
)
_COUNTS = _Key("a list of one or more positive integers", _is_counts)
_NUMBER = _Key("a positive integer", _is_positive)
_TRUE_OR_FALSE = _Key("true or false", lambda value: isinstance(value, bool))

_OF_EXPERIMENT = {
    "title": _REQUIRED_TEXT,
    "protocol": _REQUIRED_TEXT,
    "data": _Key("a list of one or more different names, or [[data]] with different names", _is_data, required=True),
    "methods": _Key("a list of one or more [[methods]]", _list_of(_is_table), required=True),
    "measures": _NAMES,
    "counts": _COUNTS,
    "counts_of": _Key("a table with a list of positive integers for each data set", _by_data(_is_counts)),
    "n_runs": _NUMBER,
    "reference": _TEXT,
    "stability": _Key("a table such as { samples = 0.9, fits = 10 }", _is_table),
    "quick": _Key("a table", _is_table),
}
_OF_STABILITY = {
    "samples": _Key("a number between 0 and 1", lambda value: isinstance(value, float) and 0.0 < value < 1.0),
    "fits": _Key("an integer of at least 2", lambda value: _is_integer(value) and value >= 2),
}
_OF_DATA = {"name": _REQUIRED_TEXT, "values": _TEXT, "most_samples": _NUMBER, "smallest_class": _NUMBER}
_OF_QUICK = {"data": _NAMES, "settings": _NUMBER, "counts": _COUNTS}
_OF_METHOD = {
    "name": _Key(
        "a non-empty string without commas, which separate names on the command line",
        lambda value: _is_text(value) and "," not in value,
        required=True,
    ),
    "selector": _REQUIRED_TEXT,
    "parameters": _Key(
        "a table of numbers, strings, booleans and lists", lambda value: _is_table(value) and _is_value(value)
    ),
    "grid": _Key("a table with a list of values for each parameter", _is_table),
    "grid_of": _Key("a table with a grid for each data set", _by_data(_is_table)),
    "most_settings": _NUMBER,
    "most_settings_of": _Key("a table with a positive integer for each data set", _by_data(_is_positive)),
    "data": _NAMES,
    "features": _Key(f"{ALL_FEATURES!r}", lambda value: value == ALL_FEATURES),
    "values": _Key(f"{RAW!r}", lambda value: value == RAW),
    "baseline": _TRUE_OR_FALSE,
    "stability": _TRUE_OR_FALSE,
}
