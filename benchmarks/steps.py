"""Seconds of each step of a fit: timers around the functions that FSASL calls, in this process only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from time import perf_counter
from typing import Any

from ufselect.selectors import fsasl

FUNCTIONS_OF_STEP = {
    "S": ("sparse_self_expression",),
    "P": ("adaptive_neighbors",),
    "eigen": ("smallest_eigenvectors", "smooth_target"),
    "W": ("regressed_weights",),
    "ranking": ("rank_by_alignment", "rank_by_gain", "rank_by_row_norm"),
}


@contextmanager
def seconds_by_step() -> Iterator[Counter[str]]:
    """Count the seconds that each step takes while the context is open."""
    seconds: Counter[str] = Counter()
    step_of = {name: step for step, names in FUNCTIONS_OF_STEP.items() for name in names}
    originals = {name: getattr(fsasl, name) for name in step_of}
    for name, function in originals.items():
        setattr(fsasl, name, _timed(function, step_of[name], seconds))
    try:
        yield seconds
    finally:
        for name, function in originals.items():
            setattr(fsasl, name, function)


def _timed(function: Callable[..., Any], step: str, seconds: Counter[str]) -> Callable[..., Any]:
    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[step] += perf_counter() - start

    return timed
