"""Finished work on disk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Self

_LAYOUT = "CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, outcome TEXT NOT NULL) WITHOUT ROWID"
_SECONDS_TO_WAIT = 60.0
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class Store:
    """The outcomes of finished fits and evaluations by key, in one SQLite file.

    An outcome is stored when ``add`` returns, even if the process is killed right after: SQLite's write-ahead log rolls
    back incomplete writes. Several runs can share a file, which is created with its folder if it does not exist. Every
    method raises a ValueError as soon as it shows that the file is damaged or not a store.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._errors_named():
            self._connection = _open(self._path)

    def add(self, key: str, outcome: dict[str, Any]) -> None:
        """Store an outcome; one that is already there is kept."""
        with self._errors_named():
            self._connection.execute("INSERT OR IGNORE INTO outcomes VALUES (?, ?)", (key, json.dumps(outcome)))

    def find(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the outcomes that are stored, by key."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, dict[str, Any]] = {}
        for first in range(0, len(wanted), 500):  # SQLite limits the number of its variables
            some = wanted[first : first + 500]
            marks = ",".join("?" * len(some))
            with self._errors_named():
                rows = self._connection.execute(f"SELECT key, outcome FROM outcomes WHERE key IN ({marks})", some)
                found.update((key, _parsed(key, outcome)) for key, outcome in rows)
        return found

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Turn errors of SQLite and of stored outcomes into one sentence with the file's name."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            if isinstance(error, sqlite3.OperationalError) and code is not None and code & 0xFF not in _DAMAGE:
                raise OSError(f"{self._path} cannot be used as a store of finished work: {error}.") from error
            raise ValueError(
                f"{self._path} is damaged, or not a store of finished work: {error}. "
                "Restore a copy, or delete it to run everything again."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()


def _parsed(key: str, outcome: Any) -> dict[str, Any]:
    with suppress(ValueError, TypeError):
        if isinstance(parsed := json.loads(outcome), dict):
            return parsed
    raise sqlite3.DatabaseError(f"the outcome with the key {key} is not a JSON object")


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
    """Switch to write-ahead logging, waiting for others that do so at the same moment: SQLite itself gives up."""
    last = monotonic() + _SECONDS_TO_WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > last:
                raise
        sleep(0.01)
