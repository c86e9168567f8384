"""The keys of an experiment's file and the values they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from ufselect.benchmark.preparing import VALUES

NO_LABELS = "no-labels"
CONVERGENCE = "convergence"
PROTOCOLS = ("published", NO_LABELS, "ablation", "sensitivity", CONVERGENCE)
MEASURES = ("acc", "nmi", "nmi_arithmetic", "nmi_max", "redundancy", "preservation", "nearest_neighbor")
ALL_FEATURES = "all"  # in place of numbers of features
RAW = "raw"  # of a method: it sees the values of the file


class _Key(NamedTuple):
    values: str
    accepts: Callable[[Any], bool]
    required: bool = False


def check_file(content: Mapping[str, Any]) -> None:
    """Refuse a file with unknown or missing keys, or with values of the wrong kind.

    Raises
    ------
    ValueError
        The message names the key.
    """
    if "name" in content:
        raise ValueError("name is not a key at the top level: an experiment has the name of its file.")
    _check_keys(content, _OF_EXPERIMENT, "")
    known(content["protocol"], PROTOCOLS, "protocol")
    for measure in content.get("measures", ()):
        known(measure, MEASURES, "measure")
    for entry in content["data"]:
        _check_data(entry)
    _check_keys(content.get("quick", {}), _OF_QUICK, "quick: ")
    _check_keys(content.get("stability", {}), _OF_STABILITY, "stability: ")
    if "stability" in content and content["protocol"] != NO_LABELS:
        raise ValueError(f"stability is measured by the protocol {NO_LABELS!r} only.")
    for index, method in enumerate(content["methods"], start=1):
        name = method.get("name")
        _check_keys(method, _OF_METHOD, f"methods, {name if _is_text(name) else f'number {index}'}: ")
        _check_grids(method)


def known(name: str, names: Sequence[str], what: str, where: str = "") -> str:
    """Return the name if it is one of the known names; ``where`` is the key that has it.

    Raises
    ------
    ValueError
        If it is not; the message suggests the closest name, or lists them all.
    """
    if name in names:
        return name
    raise ValueError(f"{where}unknown {what} {name!r}{_suggestion(name, names)}")


def name_of(entry: Any) -> Any:
    """Return the name of a data set that is given as a name or as a table."""
    return entry.get("name") if isinstance(entry, dict) else entry


def _check_keys(table: Mapping[str, Any], keys: Mapping[str, _Key], where: str) -> None:
    for name in table:
        if name not in keys:
            raise ValueError(f"{where}unknown key {name!r}{_hint(name, keys)}")
    for name, key in keys.items():
        if name not in table:
            if key.required:
                raise ValueError(f"{where}{name!r} is missing.")
        elif not key.accepts(table[name]):
            raise ValueError(f"{where}{name} must be {key.values}, got {_shown(table[name])}.")


def _check_data(entry: Any) -> None:
    if isinstance(entry, dict):
        name = entry.get("name")
        where = f"data, {name}: " if _is_text(name) else "data: "
        _check_keys(entry, _OF_DATA, where)
        known(entry.get("values", VALUES[0]), VALUES, "kind of values", where)


def _check_grids(method: Mapping[str, Any]) -> None:
    for grid in (method.get("grid", {}), *method.get("grid_of", {}).values()):
        for name, values in grid.items():
            if not _is_range(values) and not _is_list(values, _is_value):
                raise ValueError(
                    f"methods, {method['name']}: the grid of {name} must be a list of values, or a range such as "
                    f"{{ from = 0, to = 9 }}, got {_shown(values)}."
                )


def _hint(name: str, keys: Mapping[str, _Key]) -> str:
    if name in _OF_EXPERIMENT:
        return "; it belongs at the top of the file, above the first table."
    return _suggestion(name, tuple(keys))


def _suggestion(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; choose from {', '.join(names)}."


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_positive(value: Any) -> bool:
    return _is_integer(value) and value > 0


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_value(value: Any) -> bool:
    """A value that a parameter can be given: dates and times cannot."""
    if isinstance(value, list):
        return all(map(_is_value, value))
    return _is_parameters(value) if isinstance(value, dict) else isinstance(value, str | int | float)


def _is_list(value: Any, of: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and bool(value) and all(map(of, value))


def _is_list_without_repeats(value: Any) -> bool:
    return _is_list(value, _is_text) and len(set(value)) == len(value)


def _is_data(value: Any) -> bool:
    if not _is_list(value, lambda each: _is_text(each) or _is_table(each)):
        return False
    named = [name_of(each) for each in value]
    return all(named.count(name) == 1 for name in named if name is not None)


def _is_counts(value: Any) -> bool:
    return _is_list(value, _is_positive)


def _is_range(value: Any) -> bool:
    if not (isinstance(value, dict) and set(value) == {"from", "to"}):
        return False
    return _is_integer(value["from"]) and _is_integer(value["to"]) and value["from"] <= value["to"]


def _is_parameters(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_value, value.values()))


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _is_table_of_tables(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_table, value.values()))


_TEXT = _Key("a non-empty string", _is_text)
_REQUIRED_TEXT = _TEXT._replace(required=True)
_NAMES = _Key("a list of one or more different names", _is_list_without_repeats)
_COUNTS = _Key("a list of one or more positive integers", _is_counts)
_NUMBER = _Key("a positive integer", _is_positive)
_TRUE_OR_FALSE = _Key("true or false", lambda value: isinstance(value, bool))

_OF_EXPERIMENT = {
    "title": _REQUIRED_TEXT,
    "protocol": _REQUIRED_TEXT,
    "data": _Key("a list of one or more different names, or [[data]] with different names", _is_data, required=True),
    "methods": _Key("a list of one or more [[methods]]", lambda value: _is_list(value, _is_table), required=True),
    "measures": _NAMES,
    "counts": _COUNTS,
    "counts_of": _Key(
        "a table with a list of positive integers for each data set",
        lambda value: _is_table(value) and all(map(_is_counts, value.values())),
    ),
    "n_runs": _NUMBER,
    "reference": _TEXT,
    "stability": _Key("a table such as { samples = 0.9, fits = 10 }", _is_table),
    "quick": _Key("a table", _is_table),
}
_OF_STABILITY = {
    "samples": _Key("a number between 0 and 1", lambda value: isinstance(value, float) and 0.0 < value < 1.0),
    "fits": _Key("an integer of at least 2", lambda value: _is_integer(value) and value >= 2),
}
_OF_DATA = {
    "name": _REQUIRED_TEXT,
    "values": _TEXT,
    "most_samples": _NUMBER,
    "smallest_class": _NUMBER,
}
_OF_QUICK = {"data": _NAMES, "settings": _NUMBER, "counts": _COUNTS}
_OF_METHOD = {
    "name": _Key(
        "a non-empty string without commas, which separate names on the command line",
        lambda value: _is_text(value) and "," not in value,
        required=True,
    ),
    "selector": _REQUIRED_TEXT,
    "parameters": _Key("a table of numbers, strings, booleans and lists", _is_parameters),
    "grid": _Key("a table with a list of values for each parameter", _is_table),
    "grid_of": _Key("a table with a grid for each data set", _is_table_of_tables),
    "most_settings": _NUMBER,
    "most_settings_of": _Key(
        "a table with a positive integer for each data set",
        lambda value: _is_table(value) and all(map(_is_positive, value.values())),
    ),
    "data": _NAMES,
    "features": _Key(f"{ALL_FEATURES!r}", lambda value: value == ALL_FEATURES),
    "values": _Key(f"{RAW!r}", lambda value: value == RAW),
    "baseline": _TRUE_OR_FALSE,
    "stability": _TRUE_OR_FALSE,
}
