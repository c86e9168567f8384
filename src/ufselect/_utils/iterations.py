"""The loop of an iterative method: progress bar, history, stopping rule and convergence warning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ufselect._utils.progress import progress
from ufselect._utils.warnings import warn_not_converged


class _Iterative(Protocol):
    max_iter: int
    tol: float | None
    verbose: int


class Iterations:
    """Iterate until the recorded change is at most ``tol``, for at most ``max_iter`` iterations.

    The body of the loop calls :meth:`record` once. If ``max_iter`` is reached first, a ``ConvergenceWarning`` is
    issued. If ``tol`` is None, there are ``max_iter`` iterations, or fewer with ``settled``, and no warning. Leaving
    the loop by ``break`` counts as convergence.

    Parameters
    ----------
    method : selector
        Its ``max_iter``, ``tol`` and ``verbose`` apply; its class name labels the progress bar and the warning.
    settled : float, optional
        If ``tol`` is None, a change of at most this ends the loop after two or more iterations.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ufselect.base import Iterations
    >>> value = 1.0
    >>> iterations = Iterations(SimpleNamespace(max_iter=50, tol=0.1, verbose=0))
    >>> for _ in iterations:
    ...     value = (value + 2.0 / value) / 2.0
    ...     iterations.record(value)
    >>> len(iterations.history)
    2
    """

    def __init__(self, method: _Iterative, settled: float | None = None) -> None:
        self.history: list[float] = []
        self._method = method
        self._settled = settled
        self._change = np.inf

    def __iter__(self) -> Iterator[int]:
        method = self._method
        name = type(method).__name__
        for iteration in progress(range(method.max_iter), method.verbose, name):
            yield iteration
            if self._ends():
                return
        if method.tol is None:
            return
        warn_not_converged(
            f"{name} did not converge after max_iter={method.max_iter} iterations: the last change was "
            f"{self._change:.2g}, tol is {method.tol:g}. Increase max_iter or tol."
        )

    def _ends(self) -> bool:
        if self._method.tol is not None:
            return self._change <= self._method.tol
        return self._settled is not None and len(self.history) > 1 and self._change <= self._settled

    def record(self, objective: float, change: float | None = None) -> None:
        """Record the outcome of an iteration.

        Parameters
        ----------
        objective : float
            Value of the objective.
        change : float, optional
            Relative change of what the method iterates on. By default it is the relative decrease of the objective
            since the last iteration, infinite in the first one.
        """
        if change is None:
            change = relative_decrease(self.history[-1], objective) if self.history else np.inf
        self.history.append(objective)
        self._change = change

    def attributes(self) -> dict[str, Any]:
        """``objective_history_`` and ``n_iter_``."""
        return {"objective_history_": np.array(self.history), "n_iter_": len(self.history)}


def relative_decrease(before: float, after: float) -> float:
    """(before − after)/|after|; an increase is negative."""
    decrease = before - after
    if after == 0.0:
        return np.inf if decrease > 0.0 else 0.0
    return decrease / abs(after)
