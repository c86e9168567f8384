"""Progress bars, the elapsed time of work without steps, and the loop of an iterative method."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, TypeVar

import numpy as np

from ufselect._utils.warnings import warn_not_converged
from ufselect._utils.wording import visible

Step = TypeVar("Step")


def with_progress(
    steps: Iterable[Step], total: int | None, verbose: int, description: str, unit: str = "piece"
) -> Iterator[Step]:
    """Iterate over ``steps``; if ``verbose``, show a progress bar on standard error."""
    if not verbose:
        yield from steps
        return
    from tqdm.auto import tqdm  # costs import time that a silent fit need not pay

    total = len(steps) if total is None and isinstance(steps, Sized) else total
    with tqdm(desc=visible(description), total=total, unit=unit) as bar:
        for step in steps:
            try:
                yield step
            finally:  # the last step counts even if the caller stops there
                bar.update()


@contextmanager
def counting(total: int, verbose: int, description: str, unit: str) -> Iterator[Callable[[int], Any]]:
    """Yield a function that advances a progress bar by some units; without a bar unless ``verbose``."""
    if not verbose:
        yield lambda _: None
        return
    from tqdm.auto import tqdm

    with tqdm(desc=visible(description), total=total, unit=unit) as bar:
        yield bar.update


@contextmanager
def waiting(description: str) -> Iterator[None]:
    """Show the elapsed time on the terminal while the block runs; progress bars may appear below it."""
    from tqdm.auto import tqdm

    done = Event()
    title = visible(description).replace("{", "{{").replace("}", "}}")
    with tqdm(bar_format=f"{title} {{elapsed}}", leave=False, disable=not sys.stderr.isatty()) as line:
        clock = Thread(target=_refresh_until, args=(done, line), daemon=True)
        clock.start()
        try:
            yield
        finally:
            done.set()
            clock.join()


def _refresh_until(done: Event, line: Any) -> None:
    while not done.wait(1.0):
        line.refresh()


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

    def __init__(self, method: Any, settled: float | None = None) -> None:
        self.history: list[float] = []
        self._method = method
        self._settled = settled
        self._change = np.inf

    def __iter__(self) -> Iterator[int]:
        method = self._method
        name = type(method).__name__
        for iteration in with_progress(range(method.max_iter), None, method.verbose, name, unit="it"):
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
