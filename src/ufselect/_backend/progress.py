"""A progress bar on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

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

    yield from tqdm(steps, desc=description, total=total, unit=unit, leave=True)
