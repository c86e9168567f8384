"""One way to say that an iteration did not converge: a warning that points at the user's own line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning

_NOT_THE_USER = ("ufselect", "sklearn", "joblib", "distributed")


def warn_not_converged(message: str) -> None:
    """Issue a ``ConvergenceWarning`` at the innermost line of code that is neither ours nor scikit-learn's.

    Call it from the thread that called ``fit``: a worker thread or process has no line of the user on its stack.

    Parameters
    ----------
    message : str
        What did not converge, after how many iterations, and what to do about it.
    """
    warnings.warn(message, ConvergenceWarning, stacklevel=_depth_of_user() + 1)


def _depth_of_user() -> int:
    """How many frames above ``warn_not_converged`` the user's code is; the outermost frame if there is none."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _package_of(frame.f_globals) in _NOT_THE_USER:
        depth, frame = depth + 1, frame.f_back
    return depth - 1


def _package_of(module: dict[str, object]) -> str:
    return str(module.get("__name__", "")).partition(".")[0]


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
