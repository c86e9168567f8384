"""A selection on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

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
    """Print the best of the selected columns; ``further`` says where to find the others."""
    count = min(selector.n_features_, _MOST_ROWS)
    curve = getattr(selector, "alignment_curve_", None)
    headers = ["rank", "column", "score"] + ([] if curve is None else ["agreement so far"])
    rows = []
    for rank, column in enumerate(_best(selector, count)):
        row = [str(rank + 1), names[column], f"{selector.scores_[column]:.4g}"]
        rows.append(row if curve is None else [*row, f"{curve[rank]:.3f}" if rank < len(curve) else "–"])
    print_table(headers, rows, left=[1])
    if selector.n_features_ > count:
        say([f"… and {selector.n_features_ - count:,} more; {further}."])


def cost(since: float) -> str:
    """Return the time since then, as of ``perf_counter``, and the largest amount of memory in use so far."""
    from ufselect._backend.memory import peak_memory

    peak = peak_memory()
    memory = "an unknown amount" if peak is None else f"{peak / 1e6:,.0f} MB"
    return f"{perf_counter() - since:,.1f} s and {memory} of memory"
