"""Signals that end a command, even if Python discards the exception that they raise."""

from __future__ import annotations

import signal
import sys
from threading import Event
from types import FrameType

_received = Event()


def raise_on_signals() -> None:
    """Raise ``KeyboardInterrupt`` on SIGINT, SIGTERM and SIGHUP, unless they are ignored or handled already."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP, and nohup ignores it
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)
    sys.unraisablehook = _report_unless_interrupted


def raise_if_interrupted() -> None:
    """Raise ``KeyboardInterrupt`` if a signal was received, as Python discards exceptions within finalizers."""
    if _received.is_set():
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a signal handler
    _received.set()
    raise KeyboardInterrupt


def _report_unless_interrupted(unraisable: sys.UnraisableHookArgs) -> None:
    """Report an exception that Python discards; an interruption within a finalizer is kept in mind, so it is silent."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
