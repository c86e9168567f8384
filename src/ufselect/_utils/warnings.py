"""Warnings attributed to the user's line of code, such as ``ConvergenceWarning``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning

_NOT_THE_USER = ("ufselect", "sklearn", "joblib", "distributed")


def warn_not_converged(message: str) -> None:
    """Issue a ``ConvergenceWarning`` for the line of user code that called this library.

    Call it from the thread that called ``fit``: the stack of a worker thread or process does not contain that line.
    """
    warn_user(message, ConvergenceWarning)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning for the line of user code that called this library."""
    warnings.warn(message, category, stacklevel=_depth_of_user())


def _depth_of_user() -> int:
    """Return the number of frames from the caller of this function up to user code, or to the outermost frame."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in _NOT_THE_USER:
        depth, frame = depth + 1, frame.f_back
    return depth


@contextmanager
def convergence_warnings() -> Iterator[list[str]]:
    """Collect the messages of every ``ConvergenceWarning`` issued in the block, instead of showing them.

    The list is complete when the block ends; other warnings are issued then.
    """
    messages: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            yield messages
    finally:
        for each in caught:
            if issubclass(each.category, ConvergenceWarning):
                messages.append(str(each.message))
            else:
                warnings.warn_explicit(each.message, each.category, each.filename, each.lineno, source=each.source)
