"""Run measurements in separate processes, with limits on threads and time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """The values that a process measured, or the reason why there are none."""

    values: dict[str, Any] | None
    out_of_time: bool = False
    problem: str = ""


def in_fresh_process(measure: str, environment: dict[str, str] | None = None, **arguments: Any) -> dict[str, Any]:
    """Run a measurement of ``worker.py`` in a new process and return its values."""
    done = _run(measure, environment, arguments)
    done.check_returncode()
    return json.loads(done.stdout)


def outcome_in_fresh_process(measure: str, threads: int, **arguments: Any) -> Outcome:
    """Run a measurement that may fail or exceed its time or memory, with the given number of threads."""
    done = _run(measure, environment_for(threads), arguments)
    if done.returncode == -signal.SIGALRM:
        return Outcome(None, out_of_time=True)
    if done.returncode:
        return Outcome(None, problem=f"failed, exit status {done.returncode}")
    values = json.loads(done.stdout)
    return Outcome(None, problem=values["problem"]) if "problem" in values else Outcome(values)


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """End this process if the block takes longer, even in the middle of a library call."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a Python handler would run only after the call returns
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def environment_for(threads: int) -> dict[str, str]:
    """The environment variables of this process, with a limit on the threads of the numerical libraries."""
    return {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, str(threads))}


def say(line: str) -> None:
    """Report progress on standard error."""
    print(line, file=sys.stderr, flush=True)


def _run(
    measure: str, environment: dict[str, str] | None, arguments: dict[str, Any]
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(Path(__file__).with_name("worker.py")), measure, json.dumps(arguments)]
    return subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, **(environment or {})}
    )
