"""Limits on memory, checked before an array is allocated."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from sklearn import get_config

_STATUS = Path("/proc/self/status")
_CONTROL_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def ensure_fits(n_bytes: int, what: str, instead: str) -> None:
    """Raise a MemoryError if this process may not use ``n_bytes`` for what a sentence begins with."""
    limit = memory_limit()
    if n_bytes > limit:
        needed, allowed = (f"{size / 1e9:,.1f} GB" for size in (n_bytes, limit))
        raise MemoryError(f"{what} would need {needed}, but this process may use only {allowed}; {instead}.")


def memory_limit() -> float:
    """Return the number of bytes that this process may use: the physical memory, or less if a limit is set."""
    limits = [float("inf")]
    if hasattr(os, "sysconf"):
        limits.append(float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES"))
    if _CONTROL_GROUP_LIMIT.is_file() and (text := _CONTROL_GROUP_LIMIT.read_text().strip()).isdigit():
        limits.append(float(text))
    return min(*limits, *_resource_limits())


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes, or None if the system does not report it."""
    # On Linux, resource usage starts from the peak of the parent process; the status file does not.
    if (peak := status_bytes("VmHWM")) is not None:
        return peak
    try:
        import resource
    except ImportError:  # Windows
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage if sys.platform == "darwin" else 1024 * usage


def status_bytes(field: str) -> int | None:
    """Return a field of the status file of this process in bytes, or None on systems other than Linux."""
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(f"{field}:"):
                return 1024 * int(line.split()[1])
    return None


def _resource_limits() -> list[float]:
    try:
        import resource
    except ImportError:  # Windows
        return [float("inf")]
    soft = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return [float("inf") if value == resource.RLIM_INFINITY else float(value) for value in soft]


def affordable_rows(row_bytes: int) -> int:
    """Return the number of rows of ``row_bytes`` bytes that fit into scikit-learn's ``working_memory``, at least 1."""
    return max(1, int(get_config()["working_memory"] * 2**20) // row_bytes)
