"""Processor time and peak memory of a call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import thread_time
from typing import TypeVar

from ufselect._utils.memory import status_bytes

Result = TypeVar("Result")

_RESET = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Cost:
    """Seconds of processor time, and peak bytes beyond what the process held before; None if they are not known.

    Processor time, because pieces run side by side, often more of them than there are cores.
    """

    seconds: float
    peak_bytes: int | None


def measured(call: Callable[[], Result]) -> tuple[Result, Cost]:
    """Return the result of a call in this thread, and its cost."""
    before = _memory_before()
    start = thread_time()
    result = call()
    seconds = thread_time() - start
    peak = status_bytes("VmHWM")
    return result, Cost(seconds, None if before is None or peak is None else max(peak - before, 0))


def _memory_before() -> int | None:
    """Return free memory to the system, reset the peak, and return the bytes that this process holds."""
    try:
        with suppress(OSError, AttributeError, TypeError):  # only glibc has it
            ctypes.CDLL(None).malloc_trim(0)  # free memory in the heap would hide part of the next peak
        _RESET.write_text("5")
    except OSError:
        return None
    return status_bytes("VmRSS")
