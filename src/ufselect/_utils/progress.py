"""Progress bars, and the elapsed time of work without steps."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, TypeVar

from ufselect._utils.wording import visible

Step = TypeVar("Step")


def progress(steps: Iterable[int], verbose: int, description: str) -> Iterator[int]:
    """Iterate over ``steps``; if ``verbose``, show a progress bar on standard error."""
    return with_progress(steps, None, verbose, description, unit="it")


def with_progress(
    steps: Iterable[Step], total: int | None, verbose: int, description: str, unit: str = "piece"
) -> Iterator[Step]:
    """Iterate over ``steps``; if ``verbose``, show a progress bar, with their total number if it is known."""
    if not verbose:
        yield from steps
        return
    from tqdm.auto import tqdm  # costs import time that a silent fit need not pay

    total = len(steps) if total is None and isinstance(steps, Sized) else total
    with tqdm(desc=visible(description), total=total, unit=unit) as bar:
        for step in steps:
            try:
                yield step
            finally:  # the last step counts even if the caller stops there
                bar.update()


@contextmanager
def waiting(description: str) -> Iterator[None]:
    """Show the elapsed time on the terminal while the block runs; progress bars may appear below it."""
    from tqdm.auto import tqdm

    done = Event()
    title = visible(description).replace("{", "{{").replace("}", "}}")
    with tqdm(bar_format=f"{title} {{elapsed}}", leave=False, disable=not sys.stderr.isatty()) as line:
        clock = Thread(target=_refresh_until, args=(done, line), daemon=True)
        clock.start()
        try:
            yield
        finally:
            done.set()
            clock.join()


def _refresh_until(done: Event, line: Any) -> None:
    while not done.wait(1.0):
        line.refresh()
