"""Text for people: names that are safe to print, lists of names, counts, percentages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from unicodedata import category

_LONGEST_NAME = 60
_MOST_NAMES = 8
# Control characters, lone surrogates, line and paragraph separators; and the marks that reverse the text after them.
_ACTING = ("Cc", "Cs", "Zl", "Zp")
_REVERSING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    """Escape control characters, which a terminal would interpret."""
    if text.isascii() and text.isprintable():
        return text
    acting = {letter for letter in text if letter in _REVERSING or category(letter) in _ACTING}
    return "".join(letter.encode("unicode_escape").decode() if letter in acting else letter for letter in text)


def shortened(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return the text, or its beginning and an ellipsis if it is longer than ``longest`` characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def shown(name: str, longest: int = _LONGEST_NAME) -> str:
    """Return a name for a table or a sentence, escaped and shortened."""
    return shortened(visible(name[: longest + 1]), longest)


def listed(names: Sequence[str], most: int = _MOST_NAMES, *, longest: int = _LONGEST_NAME, quoted: bool = False) -> str:
    """Return at most ``most`` names, shortened to ``longest`` characters, and the number of the others."""
    text = ", ".join(f"'{shown(name, longest)}'" if quoted else shown(name, longest) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most:,} more"


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, in the plural unless the count is 1."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def amount(cost: float) -> str:
    """Return a cost with two decimals at most, or three digits if it is less than 1."""
    text = f"{cost:,.2f}" if abs(cost) >= 1.0 else f"{cost:.3g}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def q_value(q: float) -> str:
    """Return a q-value with three decimals."""
    return "< 0.001" if q < 0.0005 else f"{q:.3f}"


def occurrences(kind: str, counts: Mapping[str, int], most: int = _MOST_NAMES) -> str:
    """Return how many values of a kind there are, and in which columns, at most ``most`` of them by name."""
    columns = listed([f"{name} ({count:,})" for name, count in counts.items()], most)
    return f"{counted(sum(counts.values()), f'{kind} value')} in {columns}"


def percent(share: float | None, digits: int = 0, space: str = " ") -> str:
    """Return a share as a percentage; a dash if it is None."""
    return "–" if share is None else f"{100.0 * share:.{digits}f}{space}%"


def in_one_line(text: str) -> str:
    """Return the text with every run of white space replaced by a single space."""
    return " ".join(text.split())
