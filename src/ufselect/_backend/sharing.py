"""Parts of a fit that do not depend on some parameters, computed once for all settings of a grid."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import thread_time
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class _Estimator(Protocol):
    random_state: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


class Shared:
    """Parts of fits on the same data, and the processor time that each of them takes.

    ``seconds_saved`` is what the parts taken from here would have taken; a fit on its own takes that much longer.
    """

    def __init__(self) -> None:
        self.seconds_saved = 0.0
        self._parts: dict[Hashable, tuple[Any, float]] = {}

    def part(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the part with the given key; compute it if there is none."""
        if key not in self._parts:
            saved, start = self.seconds_saved, thread_time()
            result = compute()
            # A part may be made of other parts.
            self._parts[key] = result, thread_time() - start + self.seconds_saved - saved
            return result
        result, seconds = self._parts[key]
        self.seconds_saved += seconds
        return result


_active: ContextVar[Shared | None] = ContextVar("shared", default=None)


@contextmanager
def sharing(parts: Shared) -> Iterator[Callable[[], float]]:
    """Let all fits in the block, which must be on the same data, take their parts from others and leave theirs.

    Yields a function that returns the seconds that this has saved so far.
    """
    before = parts.seconds_saved
    token = _active.set(parts)
    try:
        yield lambda: parts.seconds_saved - before
    finally:
        _active.reset(token)


def shared(estimator: _Estimator, name: str, compute: Callable[[], Result], *, whatever: tuple[str, ...]) -> Result:
    """Return a part of a fit: within :func:`sharing` it is computed once, for all values of some parameters.

    Parameters
    ----------
    estimator : estimator
        The part belongs to its class and to its parameters. Unless its ``random_state`` is an integer, it shares none.
    name : str
        The part among others of the same fit.
    compute : callable
        Returns the part. It must be the same for all values of the parameters in ``whatever``, and nobody may change
        it.
    whatever : tuple of str
        Parameters that have no influence on the part.

    Returns
    -------
    object
        What ``compute`` returns.
    """
    parts = _active.get()
    if parts is None or not isinstance(estimator.random_state, int):
        return compute()
    parameters = {key: value for key, value in estimator.get_params(deep=False).items() if key not in whatever}
    return parts.part((type(estimator), name, tuple(sorted(parameters.items()))), compute)
