"""A selection on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ufselect.cli.printing import print_table, say

if TYPE_CHECKING:
    from ufselect.base import BaseSelector

_MOST_ROWS = 20


def selected_names(selector: BaseSelector, names: Sequence[str]) -> list[str]:
    """Return the names of the selected columns, best first, given those of all columns."""
    return [names[column] for column in _best(selector, selector.n_features_)]


def _best(selector: BaseSelector, count: int) -> list[int]:
    """Return the indices of the best columns, whether the selector knows their names or not."""
    return [int(column) for column in selector.ranking_.argsort(kind="stable")[:count]]


def print_ranking(selector: BaseSelector, names: Sequence[str], *, further: str) -> None:
    """Print the best of the selected columns; ``further`` says where to find the others.

    Each comes with how much it raised the agreement, or with its score if the method learns no structure.
    """
    from ufselect.inspection import gains_of

    count = min(selector.n_features_, _MOST_ROWS)
    best, gains = _best(selector, count), gains_of(selector)
    figures = {"score": [f"{selector.scores_[column]:.4g}" for column in best]}
    if gains is not None:
        columns = {"gain": (gains, 4), "agreement so far": (selector.alignment_curve_, 3)}
        figures = {title: _of_best(values, digits, count) for title, (values, digits) in columns.items()}
    ranked = [[str(rank), names[column]] for rank, column in enumerate(best, start=1)]
    rows = [[*row, *each] for row, each in zip(ranked, zip(*figures.values(), strict=True), strict=True)]
    print_table(["rank", "column", *figures], rows, left=[1])
    if selector.n_features_ > count:
        say([f"… and {selector.n_features_ - count:,} more; {further}."])


def _of_best(values: Any, digits: int, count: int) -> list[str]:
    """Return the first values as texts; dashes beyond their end."""
    known = [f"{value:.{digits}f}" for value in values[:count]]
    return known + ["–"] * (count - len(known))


def cost(since: float) -> str:
    """Return the time since then, as of ``perf_counter``, and the largest amount of memory in use so far."""
    from ufselect._utils.memory import peak_memory

    peak = peak_memory()
    memory = "an unknown amount" if peak is None else f"{peak / 1e6:,.0f} MB"
    return f"{perf_counter() - since:,.1f} s and {memory} of memory"
