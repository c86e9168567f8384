"""What the name of a column says about it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_IDS = {"id", "ids", "uid", "uuid", "guid", "rowid", "rowname", "rownames", "rownum", "rowno", "rownumber", "unnamed"}
_OWNERS = "account|band|case|client|contract|customer|device|employee|flight|house|household|invoice|item|loan|member"
_OWNERS += "|order|participant|passenger|patient|person|product|pupil|record|respondent|row|sample|seq|serial|session"
_OWNERS += "|student|subject|transaction|user"
_ID = re.compile(rf"(?:{_OWNERS})ids?$")
_NUMBER = re.compile(rf"(?:{_OWNERS})(?:no|nr|num|number|key|index|idx|ref|reference|code)$")
_NUMBERED = {"pid", "no", "nr", "idx", "index", "key", "reference", "serial", "barcode", "phone", "isbn", "iban", "ssn"}
_ROWS = {"obs", "observation", "case", "individual", "number", *_OWNERS.split("|")}
_CODES = {"code", "zip", "zipcode", "postcode", "fips", "iso"}
_KINDS = _CODES | {"type", "class", "zone", "segment", "cluster", "category", "region", "district", "department"}
_KINDS |= {"species", "country", "brand", "race", "ethnicity", "religion", "occupation", "industry"}
_KIND = re.compile(r"(?:type|code|class|segment|cluster|category)$")
_TIMES = {"time", "year", "date", "day", "month", "week", "hour", "minute", "second", "timestamp", "datetime", "t"}
_TIMES |= {"times", "years", "days", "months", "weeks", "hours", "minutes", "seconds", "yr", "age", "wavelength"}
_DATES = {"date", "datetime", "timestamp"}
_POSITION = re.compile(r"(\d+(?:\.\d+)?)(\D*)")
_FEWEST_POSITIONS, _EVEN = 10, 0.1  # share by which steps may differ: they are rounded
_RANKS = {"rank", "ranking", "position", "place", "score", "count"}


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case, as in customerID, customer_id, Customer Id or customer.id.1."""
    return [word.lower() for word in _WORD.findall(name)]


def says_id(name: str) -> bool:
    """Whether a name is that of an identifier: ID, customer_id, rownames, Unnamed: 0."""
    words = words_of(name)
    return bool(words) and (words[0] in _IDS or words[-1] in _IDS or bool(_ID.search("".join(words))))


def says_number(name: str) -> bool:
    """Whether a name is that of a number by which rows are known: order_no, index, FlightNumber."""
    words = words_of(name)
    return bool(words) and (words[-1] in _NUMBERED or bool(_NUMBER.search("".join(words))))


def says_row(name: str) -> bool:
    """Whether a name is that of what the rows are: obs, case, patient."""
    words = words_of(name)
    return len(words) == 1 and words[0] in _ROWS


def says_code(name: str) -> bool:
    """Whether a name is that of a code, which has any number of values."""
    return not _CODES.isdisjoint(words_of(name)[-1:]) or name.lower().endswith("code")


def says_kind(name: str) -> bool:
    """Whether a name is that of a category: area_code, MSSubClass, customer_type."""
    words = words_of(name)
    return bool(words) and (words[-1] in _KINDS or bool(_KIND.search(words[-1])))


def says_time(name: str) -> bool:
    """Whether a name is that of a quantity by which tables are sorted."""
    return not _TIMES.isdisjoint(words_of(name))


def says_rank(name: str) -> bool:
    """Whether a name is that of a quantity that may be different in all rows."""
    return not _RANKS.isdisjoint(words_of(name))


def positions_among(names: Iterable[str]) -> set[str]:
    """Return the names that are positions at equal steps, such as 1100 nm, 1104 nm …; not those that count columns."""
    by_unit: dict[str, dict[float, str]] = {}
    for name in names:
        if found := _POSITION.fullmatch(name.strip()):
            by_unit.setdefault(found[2], {})[float(found[1])] = name
    positions = set()
    for called in by_unit.values():
        steps = [second - first for first, second in pairwise(sorted(called))]
        is_count = set(steps) == {1.0} and min(called) <= 1.0
        if len(called) >= _FEWEST_POSITIONS and max(steps) <= (1.0 + _EVEN) * min(steps) and not is_count:
            positions |= set(called.values())
    return positions


def says_date(name: str) -> bool:
    """Whether a name is that of a point in time."""
    return not _DATES.isdisjoint(words_of(name)[-1:])
