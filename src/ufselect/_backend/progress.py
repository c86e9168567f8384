"""A progress bar on request, and a clock for what has no steps."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, TypeVar

Step = TypeVar("Step")


def progress(steps: Iterable[int], verbose: int, description: str) -> Iterator[int]:
    """Walk through ``steps``; with ``verbose`` on, show a bar on standard error."""
    return with_progress(steps, None, verbose, description, unit="it")


def with_progress(
    steps: Iterable[Step], total: int | None, verbose: int, description: str, unit: str = "piece"
) -> Iterator[Step]:
    """Walk through what comes; with ``verbose`` on, show a bar, of so many where their number is known."""
    if not verbose:
        yield from steps
        return
    from tqdm.auto import tqdm  # costs import time that a silent fit need not pay

    total = len(steps) if total is None and isinstance(steps, Sized) else total
    with tqdm(desc=description, total=total, unit=unit) as bar:
        for step in steps:
            try:
                yield step
            finally:  # a step after which no more are wanted counts, too
                bar.update()


@contextmanager
def waiting(description: str) -> Iterator[None]:
    """Count the seconds in a line on the terminal while the block runs; bars may show up below."""
    from tqdm.auto import tqdm

    over = Event()
    with tqdm(bar_format=f"{description} {{elapsed}}", leave=False, disable=not sys.stderr.isatty()) as line:
        clock = Thread(target=_refresh_until, args=(over, line), daemon=True)
        clock.start()
        try:
            yield
        finally:
            over.set()
            clock.join()


def _refresh_until(over: Event, line: Any) -> None:
    while not over.wait(1.0):
        line.refresh()
