"""A choice of columns in a file: what is needed to apply it to the next table, and to compare it with another one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import pairwise
from operator import le
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect import __version__
from ufselect._utils.atomic_files import whole_file
from ufselect._utils.wording import listed, shown
from ufselect.files.arrow import as_texts
from ufselect.files.errors import UnreadableError, check_file
from ufselect.files.summaries import CATEGORIES, KINDS, QUANTILES, VALUES, ColumnSummary, summaries_of, summarized
from ufselect.files.table import REQUESTED, Selection, Table, with_columns_aside

FORMAT, VERSION = "ufselect choice", 1
_LARGEST = 200_000_000  # bytes
_LARGEST_NUMBER = float(np.finfo(np.float64).max)
_MOST_NAMED = 5
_CARRIED = ("id", "date", "text")  # roles of columns that are copied to outputs


@dataclass(frozen=True)
class Resampled:
    """What is selected from random halves and quarters of the samples.

    Attributes
    ----------
    halves, quarters : tuple of tuple of tuple of int
        For each split of the samples into two or four parts, and each part, the best columns, best first: twice as many
        as are selected.
    """

    halves: tuple[tuple[tuple[int, ...], ...], ...]
    quarters: tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """The columns that a selector chose, and what is known of the data that they were chosen from.

    Attributes
    ----------
    selected : tuple of str
        The selected columns, best first.
    names : tuple of str
        All columns that took part, in their order in the file, numbers first. A category is one column.
    ranking, scores : ndarray of shape (n_columns,)
        1 is the best column; larger scores are better.
    q_values : ndarray of shape (n_columns,) or None
        None if the columns were not tested.
    record : dict
        ``method``, ``params`` and how else the selection was made, as in ``uns["ufselect"]`` of AnnData files.
    n_samples : int
        Number of samples.
    near_copies : dict
        Selected column that each other column nearly copies, by name.
    summaries : dict of ColumnSummary
        How the values of the best columns are distributed, by name.
    resampled : Resampled or None
        What is selected from random halves and quarters of the samples.
    stability : str
        A sentence on the stability of the selection; empty if it was not measured.
    aside : dict
        Columns that are not features, and features that were not read as numbers, in the order in which they are
        written, and why.
    roles : tuple of dict
        ``name``, ``role`` and ``reason`` of columns.
    settings : dict
        Options that the file was read with.
    source, sha256, command : str
        Name and digest of the file, and the command; empty if unknown.
    version : str
        Version of ufselect.
    """

    selected: tuple[str, ...]
    names: tuple[str, ...]
    ranking: NDArray[np.intp]
    scores: NDArray[np.float64]
    q_values: NDArray[np.float64] | None
    record: dict[str, Any]
    n_samples: int
    near_copies: dict[str, str] = field(default_factory=dict)
    summaries: dict[str, ColumnSummary] = field(default_factory=dict)
    resampled: Resampled | None = None
    stability: str = ""
    aside: dict[str, str] = field(default_factory=dict)
    roles: tuple[dict[str, str], ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    sha256: str = ""
    command: str = ""
    version: str = __version__

    @property
    def origin(self) -> str:
        """What sentences call the data."""
        return shown(self.source) or "the data"

    @property
    def encoded(self) -> frozenset[str]:
        """Features that were not read as numbers: categories, and numbers among which are texts."""
        return frozenset(self.names) & self.aside.keys()

    @property
    def carried(self) -> list[str]:
        """Columns that are written before the selected ones that were read as numbers."""
        role_of = {each["name"]: each["role"] for each in self.roles}
        plain = {name for name in self.aside if role_of.get(name, "text") in _CARRIED} - self.encoded
        return [name for name in self.aside if name in plain or name in self.selected]

    @property
    def unused(self) -> list[str]:
        """Columns that are neither features nor carried: constants, copies and those that are mostly missing."""
        role_of = {each["name"]: each["role"] for each in self.roles}
        return [name for name in self.aside if role_of.get(name, "text") not in _CARRIED and name not in self.names]

    def __repr__(self) -> str:
        return f"Choice({len(self.selected)} of {len(self.names)} columns by {self.record['method']})"


def choice_as_json(choice: Choice) -> str:
    """Return a choice as the text of a JSON file, with a line for each entry.

    Examples
    --------
    >>> from ufselect import MaxVariance
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.files.choice import choice_as_json
    >>> from ufselect.inspection import recorded_choice
    >>> X = make_planted_clusters(random_state=0).X
    >>> print(choice_as_json(recorded_choice(MaxVariance(2).fit(X), X))[:58])
    {
    "format": "ufselect choice",
    "version": 1,
    "ufselect": "
    """
    content = {
        "format": FORMAT,
        "version": VERSION,
        "ufselect": choice.version,
        "command": choice.command,
        "source": {"name": choice.source, "sha256": choice.sha256, "samples": choice.n_samples},
        "settings": choice.settings,
        "record": choice.record,
        "selected": choice.selected,
        "columns": {
            "names": choice.names,
            "ranks": choice.ranking,
            "scores": choice.scores,
            "q_values": choice.q_values,
        },
        "near_copies": choice.near_copies,
        "resampled": choice.resampled and vars(choice.resampled),
        "stability": choice.stability,
        "aside": choice.aside,
        "roles": choice.roles,
        "summaries": {name: vars(summary) for name, summary in choice.summaries.items()},
    }
    lines = [f"{json.dumps(key)}: {_line(plain(value, key))}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_choice(path: str | Path, choice: Choice) -> None:
    """Write a choice to a file, whole or not at all."""
    text = choice_as_json(choice)
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _line(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def plain(value: Any, where: str = "") -> Any:
    """Return a value in the types of JSON; numbers that are not finite become null."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(each, f"{where}.{key}" if where else str(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, where) for each in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    raise ValueError(f"{where}={value!r} cannot be saved: it is no number, text or list.")


# Reading


def read_choice(path: str | Path) -> Choice:
    """Read a choice that ``ufselect select --save`` wrote.

    Parameters
    ----------
    path : path

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is not such a file. The message is one sentence that names the file and the cause.
    """
    check_file(path)
    try:
        return _choice(_content(Path(path)))
    except UnreadableError as error:
        raise ValueError(f"{path} {error}") from None
    except RecursionError:
        raise ValueError(f"{path} is no choice that ufselect select --save wrote: it is nested too deeply.") from None


def _content(path: Path) -> Any:
    if path.stat().st_size > _LARGEST:
        raise UnreadableError(f"is too large for a choice: {path.stat().st_size / 1e6:,.0f} MB.")
    try:
        text = path.read_bytes().decode("utf-8-sig")
        content = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refused)
    except UnicodeDecodeError:
        raise _foreign("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise _foreign(f"it is not JSON (line {error.lineno}, column {error.colno})") from None
    except UnreadableError:
        raise
    except ValueError:  # integers of thousands of digits
        raise _foreign("it has a number that is too long") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _foreign(f'it has no "format": "{FORMAT}"')
    version: Any = content.get("version")
    if _is_count(version) and version > VERSION:
        raise UnreadableError(
            f"was saved by a newer ufselect (format {version}; version {__version__} reads {VERSION}); update ufselect."
        )
    if not _is_count(version) or version != VERSION:
        raise _damaged("version", "1")
    return content


def _foreign(why: str) -> UnreadableError:
    return UnreadableError(f"is no choice that ufselect select --save wrote: {why}.")


def _damaged(where: str, what: str) -> UnreadableError:
    return UnreadableError(f"is damaged: {shown(where)} is not {what}; save the choice again.")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise UnreadableError(f"is damaged: it has the key '{shown(twice)}' twice; save the choice again.")
    return found


def _refused(constant: str) -> Any:
    raise UnreadableError(f"is damaged: it has the value {constant}, which is not JSON; save the choice again.")


_Test = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST_NUMBER


def _is_score(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, dict)):
        return all(map(_is_plain, value.values() if isinstance(value, dict) else value))
    return value is None or isinstance(value, (str, bool)) or _is_number(value)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("([0-9a-f]{64})?", value) is not None


def _list_of(accepts: _Test) -> _Test:
    return lambda value: isinstance(value, list) and all(map(accepts, value))


def _dict_of(accepts: _Test) -> _Test:
    return lambda value: isinstance(value, dict) and all(map(accepts, value.values()))


def _or_null(accepts: _Test) -> _Test:
    return lambda value: value is None or accepts(value)


_ENTRIES: dict[str, tuple[_Test, str]] = {
    "ufselect": (_is_text, "a text"),
    "command": (_is_text, "a text"),
    "source.name": (_is_text, "a text"),
    "source.sha256": (_is_digest, "a SHA-256 digest"),
    "source.samples": (_is_count, "a whole number"),
    "settings": (_dict_of(_is_plain), "an object with plain values"),
    "record": (_dict_of(_is_plain), "an object with plain values"),
    "record.method": (_is_text, "a text"),
    "record.params": (_dict_of(_is_plain), "an object with plain values"),
    "selected": (_list_of(_is_text), "a list of texts"),
    "columns.names": (_list_of(_is_text), "a list of texts"),
    "columns.ranks": (_list_of(_is_count), "a list of whole numbers"),
    "columns.scores": (_list_of(_is_score), "a list of numbers"),
    "columns.q_values": (_or_null(_list_of(_is_share)), "null or a list of numbers from 0 to 1"),
    "near_copies": (_dict_of(_is_text), "an object with texts"),
    "resampled": (_or_null(lambda value: isinstance(value, dict)), "null or an object"),
    "stability": (_is_text, "a text"),
    "aside": (_dict_of(_is_text), "an object with texts"),
    "roles": (_list_of(_dict_of(_is_text)), "a list of objects with texts"),
    "summaries": (_dict_of(lambda value: isinstance(value, dict)), "an object with objects"),
}
_IF_GIVEN: dict[str, tuple[_Test, str]] = {
    "keep": (_list_of(_is_text), "a list of texts"),
    "exclude": (_list_of(_is_text), "a list of texts"),
    "groups": (_dict_of(_is_text), "an object with texts"),
    "batch_key": (_is_text, "a text"),
    "layer": (_is_text, "a text"),
    "counts": (_is_flag, "true or false"),
    "significant": (_is_flag, "true or false"),
    "test": (lambda value: isinstance(value, dict) and _is_share(value.get("fdr")), "an object with an fdr"),
}
_OF_RESAMPLED: dict[str, tuple[_Test, str]] = {
    "halves": (_list_of(_list_of(_list_of(_is_count))), "a list of pairs of lists of columns"),
    "quarters": (_list_of(_list_of(_list_of(_is_count))), "a list of fours of lists of columns"),
}
_OF_SUMMARIES: dict[str, tuple[_Test, str]] = {
    "kind": (lambda value: value in KINDS, f"one of {', '.join(KINDS)}"),
    "points": (lambda value: isinstance(value, list), "a list"),
    "counts": (_list_of(_is_count), "a list of whole numbers"),
    "n_rows": (_is_count, "a whole number"),
    "n_missing": (_is_count, "a whole number"),
    "ties": (_list_of(_is_count), "a list of whole numbers"),
    "median": (_is_score, "null or a number"),
}


def _entries(content: Any, expected: Mapping[str, tuple[_Test, str]], within: str = "") -> dict[str, Any]:
    """Return the entries of an object, by their keys or by keys within keys; raise an error if one is not as it is."""
    found = {}
    for path, (accepts, what) in expected.items():
        value = content
        for key in path.split("."):
            if not isinstance(value, dict) or key not in value:
                raise UnreadableError(f"is damaged: {shown(within + path)} is missing; save the choice again.")
            value = value[key]
        if not accepts(value):
            raise _damaged(within + path, what)
        found[path] = value
    return found


def _choice(content: Any) -> Choice:
    found = _entries(content, _ENTRIES)
    _entries(found["record"], {key: _IF_GIVEN[key] for key in _IF_GIVEN if key in found["record"]}, "record.")
    names, selected, q_values = found["columns.names"], found["selected"], found["columns.q_values"]
    known, d = set(names), len(names)
    _ensure(found["source.samples"] > 0, "source.samples", "above 0")
    _ensure(len(known) == d > 0, "columns.names", "a list of different names")
    _ensure(0 < len(set(selected)) == len(selected), "selected", "a list of different names")
    for name in (*selected, *found["near_copies"].values()):
        if name not in known:
            raise UnreadableError(f"is damaged: '{shown(name)}' is not among its columns; save the choice again.")
    _ensure(sorted(found["columns.ranks"]) == list(range(1, d + 1)), "columns.ranks", f"the ranks 1 to {d:,}")
    _ensure(len(found["columns.scores"]) == d, "columns.scores", f"a list of {d:,} numbers")
    _ensure(q_values is None or len(q_values) == d, "columns.q_values", f"a list of {d:,} numbers")
    _ensure(all({"name", "role", "reason"} <= set(role) for role in found["roles"]), "roles", "a list of roles")
    scores = np.array([np.nan if score is None else score for score in found["columns.scores"]], dtype=np.float64)
    return Choice(
        selected=tuple(selected),
        names=tuple(names),
        ranking=np.array(found["columns.ranks"], dtype=np.intp),
        scores=scores,
        q_values=None if q_values is None else np.array(q_values, dtype=np.float64),
        record=found["record"],
        n_samples=found["source.samples"],
        near_copies=found["near_copies"],
        summaries={name: _summary(name, each) for name, each in found["summaries"].items()},
        resampled=_resampled(found["resampled"], d),
        stability=found["stability"],
        aside=found["aside"],
        roles=tuple(found["roles"]),
        settings=found["settings"],
        source=found["source.name"],
        sha256=found["source.sha256"],
        command=found["command"],
        version=found["ufselect"],
    )


def _ensure(is_right: bool, where: str, what: str) -> None:
    if not is_right:
        raise _damaged(where, what)


def _resampled(content: Any, d: int) -> Resampled | None:
    if content is None:
        return None
    found = _entries(content, _OF_RESAMPLED, "resampled.")
    for (key, splits), count in zip(found.items(), (2, 4), strict=True):
        parts = [part for split in splits for part in split]
        right = all(part and max(part) < d and len(set(part)) == len(part) for part in parts)
        is_split = bool(splits) and all(len(split) == count for split in splits)
        _ensure(right and is_split, f"resampled.{key}", f"a list of splits into {count} lists of columns")
    return Resampled(*(tuple(tuple(map(tuple, split)) for split in splits) for splits in found.values()))


def _summary(name: str, content: Any) -> ColumnSummary:
    within = f"summaries.{name}."
    found = _entries(content, _OF_SUMMARIES, within)
    points = found["points"]
    if found["kind"] == CATEGORIES:
        right = all(map(_is_text, points)) and len(set(points)) == len(points)
    else:
        right = all(map(_is_number, points)) and all(low < high for low, high in pairwise(points))
    _ensure(right, f"{within}points", "a list of different texts, or of ascending numbers")
    n_values = found["n_rows"] - found["n_missing"]
    right = len(found["counts"]) == len(points) and sum(found["counts"]) <= n_values
    _ensure(right, f"{within}counts", "a list of as many counts as points, none of them beyond the number of rows")
    if found["kind"] == QUANTILES:
        right = len(found["ties"]) == len(points) and all(map(le, found["ties"], found["counts"]))
        _ensure(right, f"{within}ties", "a list of at most as many values as counts")
        _ensure(found["median"] is not None, f"{within}median", "a number")
    if found["kind"] == VALUES:
        _ensure(sum(found["counts"]) == n_values, f"{within}counts", "a count of all values")
    return ColumnSummary(**found | {key: tuple(found[key]) for key in ("points", "counts", "ties")})


# Application


def chosen_from(choice: Choice, table: Table, *, all_columns: bool = False) -> tuple[Table, Selection]:
    """Return the selected columns of another table, in the order that they were chosen from, with those set aside.

    Columns that the choice does not know are left out. With ``all_columns``, those that were not selected are in the
    table as well, constants and copies behind all others, for formats that keep them.

    Raises
    ------
    ValueError
        If a selected column is missing, or is not numeric. The message is one sentence.
    """
    check_still_numeric(choice, table)
    others = choice.unused if all_columns else []
    table = with_columns_aside(table, [name for name in choice.aside if name in set(table.names) - set(others)])
    table = _with_empty_columns(choice, table)
    _check_present(choice, table)
    place = {name: index for index, name in enumerate(table.names)}
    known, in_file = [*choice.names, *others], {each["name"]: number for number, each in enumerate(choice.roles)}
    wanted = set(known if all_columns else choice.selected) & place.keys()
    in_order = sorted(range(len(known)), key=lambda index: in_file.get(known[index], index))
    kept = [index for index in in_order if known[index] in wanted]
    columns = [place[known[index]] for index in kept]
    X = table.X if columns == list(range(table.shape[1])) else _columns(table.X, columns)
    carried = choice.aside if all_columns else choice.carried
    aside = {name: table.aside[name] for name in carried if name in table.aside}
    names = tuple(known[index] for index in kept)
    scores = np.r_[choice.scores, np.zeros(len(others))][kept]
    q_values = None if choice.q_values is None else np.r_[choice.q_values, np.ones(len(others))][kept]
    chosen = replace(table, X=X, names=names, aside=aside)
    ranking = np.r_[_ranking(choice), len(choice.names) + 1 + np.arange(len(others))][kept]
    count = sum(name not in choice.encoded for name in choice.selected)
    if choice.encoded:  # which are not ranked among the numbers
        ranking = np.argsort(np.argsort(ranking)) + 1
    return chosen, Selection(scores, ranking, count, choice.record, q_values)


def column_summaries(table: Table, like: Mapping[str, ColumnSummary]) -> dict[str, ColumnSummary]:
    """Return summaries of the columns of a table at the points of other summaries, by name."""
    columns = [index for index, name in enumerate(table.names) if name in like]
    found = summaries_of(table.X, table.names, columns, like=like)
    return found | {name: _summary_aside(table.aside[name], each) for name, each in like.items() if name in table.aside}


def _summary_aside(values: NDArray[Any], like: ColumnSummary) -> ColumnSummary:
    """Return the summary of a column that is set aside, as text or as numbers as before."""
    if like.kind == CATEGORIES:
        return summarized(np.array(as_texts(values), dtype=object), like)
    return summarized(numbers_among(values) if values.dtype.kind == "O" else values, like)


def numbers_among(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the numbers among texts, NaN for all others."""
    return np.array([float(text) if text and _is_numeral(text) else np.nan for text in as_texts(values)])


def _columns(X: Any, columns: Sequence[int]) -> Any:
    part = X[:, columns]
    return part if hasattr(X, "nnz") else np.ascontiguousarray(part)


def _ranking(choice: Choice) -> NDArray[np.intp]:
    """Return the ranks of all columns: of the selected ones in their order, also if it was edited."""
    place = {name: index for index, name in enumerate(choice.names)}
    first = [place[name] for name in choice.selected]
    in_order = np.argsort(choice.ranking, kind="stable")
    ranking = np.empty(len(place), dtype=np.intp)
    ranking[[*first, *in_order[~np.isin(in_order, first)]]] = np.arange(1, len(place) + 1)
    return ranking


def _with_empty_columns(choice: Choice, table: Table) -> Table:
    """Return the table with those selected columns that have no values: readers set them aside."""
    aside = [name for name in choice.selected if name in table.aside and name not in choice.encoded]
    empty = [name for name in aside if not any(_known(table.aside[name]))]
    if not empty:
        return table
    X = np.full((table.shape[0], len(empty)), np.nan, dtype=table.X.dtype)
    if hasattr(table.X, "nnz"):
        import scipy.sparse as sp

        values = sp.hstack([table.X, sp.csr_array(X)], format=table.X.format)
    else:
        values = np.hstack([table.X, X])
    others = {name: values for name, values in table.aside.items() if name not in empty}
    return replace(table, X=values, names=(*table.names, *empty), aside=others)


def _known(values: NDArray[Any]) -> list[str]:
    return [text for text in as_texts(values) if text]


def check_still_numeric(choice: Choice, table: Table) -> None:
    """Raise an error if a selected column has other values than numbers."""
    refused = [name for name in choice.selected if table.reasons.get(name) == REQUESTED]
    texts = [name for name in choice.selected if name in table.aside and name not in choice.encoded]
    changed = next((name for name in refused + texts if any(_known(table.aside[name]))), None)
    if changed is not None:
        row, text = _first_text(table.aside[changed])
        reason = table.reasons.get(changed, "set aside")
        if reason == REQUESTED:
            raise ValueError(f"Column '{shown(changed)}' is one of the selected columns and cannot be set aside.")
        raise ValueError(
            f"{table.path}: column '{shown(changed)}' was numeric in {choice.origin} and is not now: {reason}"
            f"{'' if text in reason else f', {shown(text)!r} in row {row:,}'}."
        )


def _check_present(choice: Choice, table: Table) -> None:
    """Raise an error if a selected column is missing."""
    present = {*table.names, *(choice.encoded & set(table.aside))}
    lacking = [name for name in choice.selected if name not in present]
    if not lacking:
        return
    new = [name for name in (*table.names, *table.aside) if name not in choice.names]
    named = [f"'{shown(name)}'{_guess(name, new)}" for name in lacking[:_MOST_NAMED]]
    raise ValueError(
        f"{table.path} lacks {len(lacking):,} of the {len(choice.selected):,} selected columns: "
        f"{listed(named + lacking[_MOST_NAMED:], _MOST_NAMED, longest=200)}."
    )


def _guess(name: str, names: Sequence[str]) -> str:
    lower = {each.casefold(): each for each in names}
    near = get_close_matches(name.casefold(), lower, n=1)
    return f" (is it '{shown(lower[near[0]])}'?)" if near else ""


def _first_text(values: NDArray[Any]) -> tuple[int, str]:
    """Return the first value that is no number, or else the first value, and the number of its row."""
    texts = [(row, text) for row, text in enumerate(as_texts(values), start=1) if text]
    return next((each for each in texts if not _is_numeral(each[1])), texts[0])


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
