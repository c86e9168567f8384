"""Parts of a fit that do not depend on some parameters, computed once for all settings of a grid."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from time import thread_time
from typing import Any, TypeVar

Result = TypeVar("Result")


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


def shared_whatever(*parameters: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Decorate a method whose result settings share that differ in the given parameters only.

    Within :func:`sharing` it is computed once for them, if ``_shares_first_steps()`` of the selector is true and its
    ``random_state`` is an integer. Its arguments must follow from the data and from the other parameters, and nobody
    may change the result.
    """

    def decorate(method: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(method)
        def shared(selector: Any, *arguments: Any) -> Result:
            parts = _active.get()
            if parts is None or not isinstance(selector.random_state, int) or not selector._shares_first_steps():
                return method(selector, *arguments)
            others = {name: value for name, value in selector.get_params().items() if name not in parameters}
            key = type(selector), method.__name__, tuple(sorted(others.items()))
            return parts.part(key, lambda: method(selector, *arguments))

        return shared

    return decorate
