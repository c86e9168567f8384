"""What a call costs: seconds and peak memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TypeVar

Result = TypeVar("Result")

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Cost:
    """Seconds, and bytes beyond what the process held before; None where the system does not tell."""

    seconds: float
    peak_bytes: int | None


def measured(call: Callable[[], Result]) -> tuple[Result, Cost]:
    """The result of a call and what it cost."""
    before = _memory_before()
    start = perf_counter()
    result = call()
    seconds = perf_counter() - start
    peak = _status_bytes("VmHWM")
    return result, Cost(seconds, None if before is None or peak is None else max(peak - before, 0))


def _memory_before() -> int | None:
    """Give back what is free and forget the last peak; the bytes that this process then holds."""
    try:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # what lies free would hide part of the next peak
        _RESET.write_text("5")
    except OSError:
        return None
    return _status_bytes("VmRSS")


def _status_bytes(field: str) -> int | None:
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(f"{field}:"):
                return 1024 * int(line.split()[1])
    return None
