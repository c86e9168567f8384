"""What a call costs: processor time and peak memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import thread_time
from typing import TypeVar

from ufselect._backend.memory import status_bytes

Result = TypeVar("Result")

_RESET = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Cost:
    """Seconds of processor time, and bytes beyond what the process held before; None where the system does not tell.

    Pieces run side by side, and often more of them than there are cores: time on the clock would tell that, too.
    """

    seconds: float
    peak_bytes: int | None


def measured(call: Callable[[], Result]) -> tuple[Result, Cost]:
    """The result of a call in this thread and what it cost."""
    before = _memory_before()
    start = thread_time()
    result = call()
    seconds = thread_time() - start
    peak = status_bytes("VmHWM")
    return result, Cost(seconds, None if before is None or peak is None else max(peak - before, 0))


def _memory_before() -> int | None:
    """Give back what is free and forget the last peak; the bytes that this process then holds."""
    try:
        with suppress(OSError, AttributeError, TypeError):  # only glibc has it
            ctypes.CDLL(None).malloc_trim(0)  # what lies free would hide part of the next peak
        _RESET.write_text("5")
    except OSError:
        return None
    return status_bytes("VmRSS")
