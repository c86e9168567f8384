"""Choices in files: what ``select --save`` writes, and how the next file is read as the one before was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from enum import Enum
from hashlib import file_digest
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from ufselect._utils.wording import counted, q_value, shown
from ufselect.cli.fitting import modest_resources
from ufselect.cli.options import ReadOptions
from ufselect.cli.output import print_table, say
from ufselect.cli.reading import LoadedTable

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.files import Choice
    from ufselect.inspection import Drift

_N_SPLITS = 5
_MOST_VALUES_REFITTED = 10_000_000  # in fits to ten halves and eight quarters that take no longer than people wait
_MOST_ROWS = 20
_LONGEST_CELL = 200

Read = TypeVar("Read")


def choice_of(
    selector: BaseSelector,
    loaded: LoadedTable,
    options: ReadOptions,
    settings: Mapping[str, Any],
    *,
    batch: Any = None,
    n_splits: int | None = None,
    known_digest: str = "",
) -> Choice:
    """Record a choice; unless ``n_splits`` is given, columns are selected again from parts if that is quick.

    They are not if the file is known by its digest: chance has no part in a comparison with itself.
    """
    from sklearn import config_context

    from ufselect.inspection import recorded_choice

    table, X = loaded.table, loaded.X
    summaries = _summaries(selector, loaded)
    digest = _digest(table.path)
    if (digest and digest == known_digest) or hasattr(selector, "given_structure_"):
        n_splits = 0
    elif n_splits is None:
        n_splits = _N_SPLITS if (X.nnz if hasattr(X, "nnz") else X.size) <= _MOST_VALUES_REFITTED else 0

    def recorded(count: int) -> Choice:
        return recorded_choice(
            selector,
            X,
            names=loaded.names,
            variables=loaded.variables,
            summaries=summaries,
            settings=settings,
            n_splits=count,
            batch=batch,
            missing=loaded.filled,
            verbose=1,
        )

    with modest_resources(X, selector.get_params().get("n_jobs", 1)), config_context(assume_finite=True):
        try:
            choice = recorded(n_splits)
        except ValueError:  # too few samples in a part
            choice = recorded(0)
    of_features = {name: loaded.originals[name] for name in loaded.originals if loaded.originals[name] in choice.names}
    return replace(
        choice,
        near_copies=choice.near_copies | of_features,
        aside=_aside(loaded),
        roles=tuple({"name": each.name, "role": each.role.value, "reason": str(each.reason)} for each in loaded.roles),
        settings=_settings(options),
        source=table.path.name,
        sha256=digest,
    )


def _summaries(selector: BaseSelector, loaded: LoadedTable) -> dict[str, Any]:
    """Return how the values of the best variables are distributed in the table as it was read."""
    from ufselect.files.choice import numbers_among
    from ufselect.files.summaries import summaries_of, summarized
    from ufselect.inspection.choices import MOST_SUMMARIZED

    table, place = loaded.table, {name: index for index, name in enumerate(loaded.table.names)}
    best = dict.fromkeys(loaded.variables[column] for column in selector.ranking_.argsort(kind="stable"))
    names = list(best)[:MOST_SUMMARIZED]
    found = summaries_of(table.X, table.names, [place[name] for name in names if name in place])
    categories = {each.name for each in loaded.roles if each.role.value == "category"}
    for name in names:
        if name not in place:
            values = table.aside[name]
            found[name] = summarized(_as_texts(values) if name in categories else numbers_among(values))
    return {name: found[name] for name in names}


def _as_texts(values: Any) -> Any:
    import numpy as np

    from ufselect.files.arrow import as_texts

    return np.array(as_texts(values), dtype=object)


def _aside(loaded: LoadedTable) -> dict[str, str]:
    """Return the columns that are not read as numbers or are no features, in the order that they are written in."""
    features = set(loaded.variables)
    carried = [each.name for each in loaded.roles if each.role.value in ("id", "date", "text")]
    numbers = [name for name in loaded.table.names if name not in features]
    first = [name for name in numbers if name in set(carried)]
    reasons = loaded.table.reasons | {each.name: each.reason for each in loaded.roles}
    return {name: reasons.get(name, "") for name in (*first, *loaded.table.aside, *numbers)}


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; empty for several files and for standard input."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _settings(options: ReadOptions) -> dict[str, Any]:
    """Return the options that differ from their defaults, in the types of JSON."""
    defaults = asdict(ReadOptions())
    given = {name: value for name, value in asdict(options).items() if value != defaults[name]}
    return {name: value.value if isinstance(value, Enum) else value for name, value in given.items()}


def options_of(choice: Choice, given: ReadOptions, data: Path) -> ReadOptions:
    """Return the options that a choice was read with, those that are given instead of them.

    Options that do not apply to the format of ``data`` are left out; columns set aside by either are.
    """
    from ufselect.files.registry import OPTIONS, known_format

    hints, known = get_type_hints(ReadOptions), known_format(data)
    apply = {name for name in hints if known is None or name not in OPTIONS or name in known.options}
    saved = {}
    for name, value in choice.settings.items():
        if name not in hints or not _has_type(value, hints[name]):
            raise ValueError(f"The choice was read with {shown(name)}={shown(str(value))}, which is no such option.")
        kind = get_args(hints[name])[:1]
        saved[name] = kind[0](value) if kind and _is_enum(kind[0]) else value
    own, defaults = vars(given), vars(ReadOptions())
    overruled = {name: value for name, value in own.items() if value != defaults[name]}
    aside = [*(saved.get("aside") or ()), *(own["aside"] or ())]
    merged = {name: value for name, value in saved.items() if name in apply} | overruled
    return ReadOptions(**merged | {"aside": list(dict.fromkeys(aside)) or None})


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def _has_type(value: Any, hint: Any) -> bool:
    """Whether a value of a file has the type of an option, a text, flag, list of texts or enumeration."""
    kind = next((each for each in get_args(hint) if each is not NoneType), hint)
    if _is_enum(kind):
        return value in [each.value for each in kind]
    if get_args(kind):
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    return isinstance(value, kind)


def read_as_before(
    read: Callable[[ReadOptions], Read], choice: Choice, given: ReadOptions, data: Path
) -> tuple[Read, list[str]]:
    """Read a file with the options of a choice; return the columns to set aside that it does not have."""
    from ufselect.files.errors import UnknownColumnsError

    options = options_of(choice, given, data)
    try:
        return read(options), []
    except ValueError as error:
        unknown = error.__cause__.unknown if isinstance(error.__cause__, UnknownColumnsError) else ()
        if not unknown or set(unknown) & set(given.aside or ()) or str(data) == "-":
            raise
        return read(replace(options, aside=[name for name in options.aside or () if name not in unknown])), [*unknown]


def print_drift(drift: Drift) -> None:
    """Print the columns that have drifted, and how."""
    drifted = drift.drifted
    if not drifted:
        return
    rows = [[each.name, each.change, f"{each.difference:.2f}", q_value(each.q_value)] for each in drifted[:_MOST_ROWS]]
    say([""])
    print_table(["drifted column", "change", "difference", "q"], rows, left=[0, 1], longest=_LONGEST_CELL)
    if (n_more := len(drifted) - _MOST_ROWS) > 0:
        say([f"… and {counted(n_more, 'more column')}."])
