"""Finished pieces on disk, whole or not at all."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self

_LAYOUT = "CREATE TABLE IF NOT EXISTS pieces (key TEXT PRIMARY KEY, outcome TEXT NOT NULL) WITHOUT ROWID"
_SECONDS_TO_WAIT = 60.0


class Store:
    """What every finished piece came to, by its key, in one SQLite file.

    A piece is in it as soon as ``add`` returns, also if the process is killed the moment after: SQLite
    writes ahead and rolls back what is not whole. Several runs may use one file.

    Parameters
    ----------
    path : path
        The file; made with its folder where it is not there.
    """

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = _open(path)
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path} is no store of finished pieces: {error}.") from error

    def add(self, key: str, outcome: dict[str, Any]) -> None:
        """Keep what a piece came to; the first to come stays."""
        self._connection.execute("INSERT OR IGNORE INTO pieces VALUES (?, ?)", (key, json.dumps(outcome)))

    def find(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """What is there of the pieces with these keys."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, dict[str, Any]] = {}
        for first in range(0, len(wanted), 500):  # SQLite limits the number of its variables
            some = wanted[first : first + 500]
            marks = ",".join("?" * len(some))
            rows = self._connection.execute(f"SELECT key, outcome FROM pieces WHERE key IN ({marks})", some)
            found.update((key, json.loads(outcome)) for key, outcome in rows)
        return found

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_SECONDS_TO_WAIT, isolation_level=None)
    try:
        _write_ahead(connection)
        connection.execute(_LAYOUT)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to writing ahead; when others do so at the same moment, SQLite gives up instead of waiting."""
    last = monotonic() + _SECONDS_TO_WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > last:
                raise
        sleep(0.01)
