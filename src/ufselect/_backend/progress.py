"""A progress bar on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def progress(steps: Iterable[int], verbose: int, description: str) -> Iterator[int]:
    """Walk through ``steps``; with ``verbose`` on, show a bar on standard error."""
    if not verbose:
        yield from steps
        return
    from tqdm.auto import tqdm  # costs import time that a silent fit need not pay

    yield from tqdm(steps, desc=description, unit="it", leave=True)
