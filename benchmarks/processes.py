"""Measurements in processes of their own: how they are started, ended and limited."""

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
    """What a process measured; where it measured nothing, why."""

    values: dict[str, Any] | None
    out_of_time: bool = False
    problem: str = ""


def in_fresh_process(measure: str, environment: dict[str, str] | None = None, **arguments: Any) -> dict[str, Any]:
    """What ``worker.py`` measures, in a process of its own."""
    done = _run(measure, environment, arguments)
    done.check_returncode()
    return json.loads(done.stdout)


def outcome_in_fresh_process(measure: str, threads: int, **arguments: Any) -> Outcome:
    """The same with so many threads, for a measurement that may run out of time or memory, or break."""
    done = _run(measure, dict.fromkeys(_THREAD_VARIABLES, str(threads)), arguments)
    if done.returncode == -signal.SIGALRM:
        return Outcome(None, out_of_time=True)
    if done.returncode:
        return Outcome(None, problem=f"failed, exit status {done.returncode}")
    values = json.loads(done.stdout)
    return Outcome(None, problem=values["problem"]) if "problem" in values else Outcome(values)


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """End this process where the block takes longer, in the midst of a library call too."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a handler in Python would wait for the call to return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _run(
    measure: str, environment: dict[str, str] | None, arguments: dict[str, Any]
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(Path(__file__).with_name("worker.py")), measure, json.dumps(arguments)]
    return subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, **(environment or {})}
    )
