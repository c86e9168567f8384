"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A path to write to, which becomes ``path`` when the block ends well; otherwise nothing is left.

    It lies in the same folder and ends like ``path``, for writers that look at the suffix. Several can be nested: then
    none appears before all are written.
    """
    target = Path(path).resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".ufselect-", suffix="".join(target.suffixes)[-20:])
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else _usual_mode())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _usual_mode() -> int:
    """The permissions of a new file: ``mkstemp`` gives it to its owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
