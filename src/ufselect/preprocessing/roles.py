"""Decide what each column of a table is, without labels: from its name and its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float
from ufselect._utils.wording import percent, shown
from ufselect.preprocessing.amounts import amounts_among
from ufselect.preprocessing.column_names import (
    positions_among,
    says_code,
    says_date,
    says_id,
    says_kind,
    says_number,
    says_rank,
    says_row,
    says_time,
)
from ufselect.preprocessing.encoding import Levels, is_category
from ufselect.preprocessing.near_copies import Numbers, near_copies
from ufselect.preprocessing.number_summary import NumberSummary, known_values, summary_of

_FEWEST_ROWS = 5  # by which row numbers are told: 1, 2, …
_FEWEST_ROWS_WITH_GAPS = 30  # of which some may be missing
_FEWEST_ROWS_FROM_ANYWHERE = 200  # that need not start with 1
_FEWEST_ROWS_IN_ANY_ORDER = 100
_NEARLY_ALL = 0.99
_WIDEST_SPAN = 3  # of row numbers and ranks, in numbers of rows: of counts of this span, many would be equal
_FIRST_YEAR, _LAST_YEAR = 1500, 2100
_FIRST_DAY, _LAST_DAY = 19_000_101, 21_001_231
_FLAGS = 2  # different values, which say yes or no


class Role(StrEnum):
    """What a column of a table is; :class:`TablePreparer` describes the roles.

    Examples
    --------
    >>> from ufselect.preprocessing import Role
    >>> [str(role) for role in Role if role.is_feature]
    ['numeric', 'amount', 'category']
    """

    numeric = "numeric"
    amount = "amount"
    category = "category"
    id = "id"
    date = "date"
    text = "text"
    incomplete = "incomplete"
    constant = "constant"
    copy = "copy"

    @property
    def is_feature(self) -> bool:
        """Whether columns of this role are features."""
        return self in (Role.numeric, Role.amount, Role.category)


@dataclass(frozen=True)
class ColumnRole:
    """What a column of a table is, and why.

    Attributes
    ----------
    name : str
        Name of the column.
    role : Role
        What it is, such as "numeric" or "id".
    reason : str
        Why, in a few words; may be empty for features.
    original : str
        Of a near copy, the column that stands for it; empty for all others.

    Examples
    --------
    >>> from ufselect.preprocessing import ColumnRole, Role
    >>> ColumnRole("customer_id", Role.id, "identifier, by its name").is_feature
    False
    """

    name: str
    role: Role
    reason: str = ""
    original: str = field(default="", repr=False)

    @property
    def is_feature(self) -> bool:
        """Whether the column is a feature: a number, an amount or a category."""
        return self.role.is_feature


@dataclass(frozen=True)
class Rules:
    """What the caller wants of the roles."""

    roles: Mapping[str, Role]
    keep: frozenset[str]
    max_missing: float = 0.5
    near_copies: float | None = 0.999
    logarithms: bool | str = "auto"


def roles_of(
    X: npt.NDArray[np.floating], names: Sequence[str], others: Mapping[str, Levels], rules: Rules
) -> dict[str, ColumnRole]:
    """Return the role of every column, given the numeric ones as a matrix, the others by their levels."""
    summary = summary_of(X)
    found = {each.name: each for each in _roles_of_numbers(X, names, summary, rules)}
    found |= {name: _role_of_levels(name, levels, rules.max_missing) for name, levels in others.items()}
    for name in rules.keep:
        if not found[name].is_feature:
            role = Role.category if name in others else Role.numeric
            found[name] = ColumnRole(name, role, f"kept ({found[name].reason})")
    for name, role in rules.roles.items():
        found[name] = ColumnRole(name, role, "requested")
    if rules.near_copies is not None:
        for name, (original, how) in _copies(X, names, others, summary, found, rules).items():
            found[name] = ColumnRole(name, Role.copy, f"near copy of {original}{how}", original)
    if rules.logarithms:
        index = [j for j, name in enumerate(names) if found[name].role is Role.numeric and name not in rules.roles]
        amounts = amounts_among(X, np.array(index, dtype=np.intp), summary, any_units=rules.logarithms is True)
        for column, reason in amounts.items():
            found[names[column]] = ColumnRole(names[column], Role.amount, reason)
    return found


def _roles_of_numbers(
    X: npt.NDArray[np.floating], names: Sequence[str], summary: NumberSummary, rules: Rules
) -> Iterator[ColumnRole]:
    n = len(X)
    shares, constant = (summary.n_missing / n).tolist(), summary.constant.tolist()
    span = summary.largest - summary.smallest
    may_differ = summary.whole & (span >= _NEARLY_ALL * (n - summary.n_missing) - 1.0)
    for j, name in enumerate(names):
        if shares[j] > rules.max_missing:
            yield ColumnRole(name, Role.incomplete, f"{percent(shares[j])} missing")
        elif constant[j]:
            yield ColumnRole(name, Role.constant, "constant")
        elif not summary.whole[j]:
            yield _role_of_fractions(name, X[:, j])
        else:
            yield _role_of_whole_numbers(name, X[:, j], bool(may_differ[j]))


def _role_of_fractions(name: str, column: npt.NDArray[np.floating]) -> ColumnRole:
    if says_date(name):
        return ColumnRole(name, Role.date, "date, by its name")
    if says_id(name) and _nearly_all_differ(known_values(column)):
        return ColumnRole(name, Role.id, "identifier, by its name")
    return ColumnRole(name, Role.numeric)


def _role_of_whole_numbers(name: str, column: npt.NDArray[np.floating], may_differ: bool) -> ColumnRole:
    """Return the role of whole numbers: ids, days such as 20240131, codes of a category, or numbers."""
    if says_id(name) and len(np.unique(known_values(column))) > _FLAGS:
        return ColumnRole(name, Role.id, "identifier, by its name")
    if may_differ and (reason := _why_row_number(name, known_values(column))):
        return ColumnRole(name, Role.id, reason)
    if says_date(name) or _are_days(column):
        return ColumnRole(name, Role.date, "dates")
    if says_kind(name):
        levels = Levels.of(column)
        if len(levels.names) > _FLAGS and is_category(levels):
            return ColumnRole(name, Role.category, "codes, by its name")
        if len(levels.names) > _FLAGS and says_code(name):
            return ColumnRole(name, Role.id, f"code with {len(levels.names):,} values")
    return ColumnRole(name, Role.numeric)


def _why_row_number(name: str, values: Float) -> str:
    """Return why whole numbers are row numbers or ids, nearly all of which differ; nothing if they are not."""
    n = len(values)
    if n < _FEWEST_ROWS or not _nearly_all_differ(values):
        return ""
    is_time = says_time(name) or bool(values.min() >= _FIRST_YEAR and values.max() <= _LAST_YEAR)
    steps = np.diff(values)
    is_sorted = bool((steps >= 0.0).all() or (steps <= 0.0).all())
    span = float(np.ptp(values))
    if is_sorted and not is_time:
        is_one_by_one = span == n - 1 or (n >= _FEWEST_ROWS_WITH_GAPS and span < _WIDEST_SPAN * n)
        starts = values.min() == 1.0 or n >= _FEWEST_ROWS_FROM_ANYWHERE or says_row(name)
        if is_one_by_one and starts:
            return "row number"
    if says_number(name) or says_code(name):
        return "a different number in nearly all rows, by its name"
    if n >= _FEWEST_ROWS_IN_ANY_ORDER and span < _WIDEST_SPAN * n and not (is_time or says_rank(name)):
        return f"a different number in nearly all rows, up to {values.max():,.0f}"
    return ""


def _nearly_all_differ(values: Float) -> bool:
    return len(np.unique(values)) >= _NEARLY_ALL * len(values)


def _are_days(column: npt.NDArray[np.floating]) -> bool:
    """Whether whole numbers are all days written as 20240131."""
    low, high = np.fmin.reduce(column), np.fmax.reduce(column)
    if not _FIRST_DAY <= low < high <= _LAST_DAY:
        return False
    month, day = np.divmod(known_values(column) % 10_000, 100)
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _role_of_levels(name: str, levels: Levels, max_missing: float) -> ColumnRole:
    """Return the role of a column that holds no numbers."""
    share, n_levels = levels.n_missing / len(levels.codes), len(levels.names)
    if share > max_missing:
        return ColumnRole(name, Role.incomplete, f"{percent(share)} missing")
    if n_levels < 2:
        return ColumnRole(name, Role.constant, "constant")
    if says_id(name) and n_levels > _FLAGS:
        return ColumnRole(name, Role.id, "identifier, by its name")
    if levels.are_dates:
        return ColumnRole(name, Role.date, f"dates such as {shown(levels.names[0])}")
    if is_category(levels):
        return ColumnRole(name, Role.category)
    if levels.look_like_codes:
        return ColumnRole(name, Role.id, f"code with {n_levels:,} values")
    return ColumnRole(name, Role.text, f"{n_levels:,} different texts")


def _copies(
    X: npt.NDArray[np.floating],
    names: Sequence[str],
    others: Mapping[str, Levels],
    summary: NumberSummary,
    found: Mapping[str, ColumnRole],
    rules: Rules,
) -> dict[str, tuple[str, str]]:
    """Return which features are near copies of others, of which, and how."""
    assert rules.near_copies is not None
    differs, positions = ~summary.constant, positions_among(names)  # neighbouring wavelengths are alike
    numeric = [
        j
        for j, name in enumerate(names)
        if found[name].role in (Role.numeric, Role.amount) and differs[j] and name not in positions
    ]
    categories = {name: levels for name, levels in others.items() if found[name].role is Role.category}
    categories |= {name: Levels.of(X[:, j]) for j, name in enumerate(names) if found[name].role is Role.category}
    requested = frozenset(name for name, role in rules.roles.items() if role.is_feature)
    some = Numbers(X, np.array(numeric, dtype=np.intp), names, summary)
    return near_copies(some, categories, rules.near_copies, rules.keep | requested)
