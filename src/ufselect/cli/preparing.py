"""From a table as it was read to its features: roles are decided, categories encoded, missing values filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import listed, shown
from ufselect.cli.columns import parts_of, why_not_a_column
from ufselect.cli.options import ReadOptions

if TYPE_CHECKING:
    from ufselect.files import Choice, Table
    from ufselect.preprocessing import ColumnRole, TablePreparer

_MOST_COMPARED = 5000  # columns among which near copies are looked for
_MOST_MIXED = 20  # different values of a category of numbers and texts, such as 0, 1, 2 and 3+


@dataclass(frozen=True)
class Features:
    """The features of a table as the methods see them."""

    X: Any
    names: Sequence[str]  # of the columns of X
    variables: Sequence[str]  # the column of the table that each of them comes from
    roles: Sequence[ColumnRole]  # of the columns of the table
    missing: Mapping[str, int]  # number of missing values, by feature, most first
    filled: Any  # which values of X are filled in; None if none is


def prepared(
    table: Table,
    options: ReadOptions,
    keep: Sequence[str],
    in_order: bool,
    like: Choice | None = None,
    *,
    keep_copies: bool = False,
) -> Features:
    """Decide the roles of the columns, and encode those that are features; those in ``keep`` are.

    Of columns ``like`` those of a choice, its features have the roles that they had, and no others are features.
    """
    from ufselect.columns.tabular import columns_matching
    from ufselect.preprocessing import TablePreparer

    names, roles = [*table.names, *table.aside], _requested_roles(table, options)
    roles = _known_roles(table, like) | roles if like else roles
    kept = {names[j] for columns in columns_matching(parts_of(keep, names), names).values() for j in columns}
    texts = _texts(table, options, {*roles, *kept}, in_order)
    preparer = TablePreparer(
        roles=roles or None,
        keep=[name for name in (*table.names, *texts) if name in kept] or None,
        near_copies=None if in_order or keep_copies or len(table.names) + len(texts) > _MOST_COMPARED else 0.999,
        logarithms=False if in_order else "auto",
    )
    _fit(preparer, table, texts)
    features = set(preparer.groups_.tolist())
    most_first = sorted(preparer.missing_.items(), key=lambda item: -item[1])
    missing = {name: count for name, count in most_first if name in features}
    X = table.X if options.impute is None else _with_medians(table, missing)
    return Features(
        preparer.transform_columns(X, table.names, texts),
        preparer.get_feature_names_out().tolist(),
        preparer.groups_.tolist(),
        [_with_what_is_no_number(each, table) for each in preparer.roles_],
        missing,
        _filled(preparer.groups_.tolist(), table, texts) if missing else None,
    )


def _filled(variables: Sequence[str], table: Table, texts: Mapping[str, Any]) -> Any:
    """Return which values of features are missing, given the column of the table that each comes from."""
    import numpy as np

    places = {name: column for column, name in enumerate(table.names)}
    numbers = {name: np.isnan(table.X[:, places[name]]) for name in set(variables) & set(places)}
    others = {name: np.array([value is None for value in texts[name]]) for name in set(variables) - set(places)}
    return np.column_stack([(numbers | others)[name] for name in variables])


def _requested_roles(table: Table, options: ReadOptions) -> dict[str, str]:
    """Return the roles that the user gives to columns; raise an error if there is no such column, or it is aside."""
    from ufselect.files.table import REQUESTED

    roles = options.roles_of_columns
    for name in roles:
        if name not in table.names and table.reasons.get(name, REQUESTED) == REQUESTED:
            reason = why_not_a_column(name, [*table.names, *table.aside], table.reasons)
            raise typer.BadParameter(reason, param_hint="--role")
    return roles


def _known_roles(table: Table, choice: Choice) -> dict[str, str]:
    """Return the roles of features in a choice, and of all other columns that they are set aside."""
    from ufselect.files.table import REQUESTED

    features = {each["name"]: each["role"] for each in choice.roles if each["name"] in choice.names}
    names = [*table.names, *(name for name in table.aside if table.reasons[name] != REQUESTED)]
    return {name: features.get(name, "text") for name in names}


def _texts(table: Table, options: ReadOptions, wanted: set[str], in_order: bool) -> dict[str, Any]:
    """Return the columns without numbers whose roles are to be decided, None where a value is missing."""
    from ufselect.files.table import REQUESTED
    from ufselect.files.text_dialect import MISSING

    missing = {*MISSING, *options.of_text.get("na", ())} - {"None"}  # which is a category of its own
    found = {}
    for name, values in table.aside.items():
        if table.reasons[name] == REQUESTED or not (name in wanted or not in_order):
            continue
        values = values.copy()
        if values.dtype.kind == "O":
            values[[isinstance(value, str) and value in missing for value in values]] = None
        if name in wanted or _may_be_feature(table.reasons[name], values):
            found[name] = values
    return found


def _may_be_feature(reason: str, values: Any) -> bool:
    """Whether a column that the reader sets aside may be a category, or numbers with another mark for missing ones."""
    from ufselect.files.text_columns import LEADING_ZEROS
    from ufselect.preprocessing.encoding import Levels

    if not _is_mixed(reason):
        return reason in ("text", "dates", LEADING_ZEROS)
    return len(set(values)) <= _MOST_MIXED or Levels.of(values).numbers is not None


def _is_mixed(reason: str) -> bool:
    """Whether a column is set aside because some of its values are no numbers."""
    return reason.startswith("text: ") and reason.endswith(("missing", "a number"))


def _with_what_is_no_number(role: ColumnRole, table: Table) -> ColumnRole:
    """Return a role with what the reader says of a column in which some values are no numbers."""
    reason = table.reasons.get(role.name, "")
    if not _is_mixed(reason) or role.role == "category":
        return role
    if role.role != "numeric":
        return replace(role, reason=reason)
    return replace(role, reason=f"{reason.removeprefix('text: ').partition('; ')[0]}: taken as missing")


def _fit(preparer: TablePreparer, table: Table, texts: Mapping[str, Any]) -> None:
    """Decide the roles; raise an error that names the file and options if no column is a feature."""
    try:
        preparer.fit_columns(table.X, table.names, texts)
    except ValueError as error:
        roles = getattr(preparer, "roles_", [])
        if not roles or any(each.is_feature for each in roles):
            raise
        reasons = listed([f"{shown(each.name)} ({each.reason})" for each in roles])
        raise ValueError(f"{table.path.name} has no column to select from: {reasons}; use --role or --keep.") from error


def _with_medians(table: Table, missing: Mapping[str, int]) -> Any:
    """Return the numbers with medians in place of missing ones."""
    from ufselect.files import with_medians

    index = [j for j, name in enumerate(table.names) if name in missing]
    X = table.X.copy()
    X[:, index] = with_medians(replace(table, X=X[:, index], names=tuple(table.names[j] for j in index))).X
    return X
