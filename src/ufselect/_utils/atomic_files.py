"""Atomic file writes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple


class Replacement(NamedTuple):
    """A temporary file and its final path."""

    path: Path
    inode: int

    @property
    def is_done(self) -> bool:
        """Whether the file has been renamed."""
        try:
            return self.path.stat().st_ino == self.inode
        except OSError:
            return False


_record: ContextVar[list[Replacement] | None] = ContextVar("record", default=None)


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to ``path`` if the block succeeds, and removed if it fails.

    The temporary file is in the same folder and has the same suffix, for writers that look at it. If several blocks
    are nested, no file appears before all are written.
    """
    target = Path(path).resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".ufselect-", suffix="".join(target.suffixes)[-20:])
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else _default_mode())
        if (record := _record.get()) is not None:  # before the renaming: a signal may arrive right after it
            record.append(Replacement(Path(path), temporary.stat().st_ino))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def files_recorded() -> Iterator[list[Replacement]]:
    """Yield a list to which every file that :func:`whole_file` renames during the block is added.

    An inner block continues the list of the outer one.
    """
    outer = _record.get()
    if outer is not None:
        yield outer
        return
    found: list[Replacement] = []
    token = _record.set(found)
    try:
        yield found
    finally:
        _record.reset(token)


def _default_mode() -> int:
    """Return the default permissions of a new file; those of ``mkstemp`` are for the owner only."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
