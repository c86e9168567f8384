"""Finished work on disk: none lost, none incomplete."""

import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing

import pytest

import ufselect
from ufselect.benchmark.store import Store

# Without the rest of the package, which takes seconds to import.
STORE_ALONE = """
import sys
sys.modules["ufselect"] = type(sys)("ufselect")
sys.modules["ufselect"].__path__ = [sys.argv[1]]
from ufselect.benchmark.store import Store
"""
ADD_WHEN_TOLD = """
for line in sys.stdin:
    path, first = line.split("|")
    with Store(path) as store:
        for number in range(int(first), int(first) + 8):
            store.add(f"{number}", {"number": number})
    print("added", flush=True)
"""


def start(script, *arguments):
    command = [sys.executable, "-c", STORE_ALONE + script, ufselect.__path__[0], *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "store.sqlite"


def test_outcomes_survive_and_any_number_of_keys_can_be_looked_for(path):
    outcomes = {"a": {"value": 0.1 + 0.2, "order": [3, 1, 2]}, "b": {"error": "ValueError: Ungültig ±"}}
    outcomes |= {f"{number}": {"number": number} for number in (0, 499, 500, 501, 999, 1000, 1200)}
    with Store(path) as store:
        assert store.find(outcomes) == {}
        for key, outcome in outcomes.items():
            store.add(key, outcome)
        assert store.find(outcomes) == outcomes
    with Store(str(path)) as store:
        assert store.find(["b", "c", "a", "b", *map(str, range(1201))]) == outcomes
    with closing(sqlite3.connect(path)) as connection:  # so that what was added survives a kill
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_what_is_no_database_is_refused_and_left_as_it_is(tmp_path):
    path, content = tmp_path / "store.sqlite", b"no database at all " * 100
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"store\.sqlite is damaged, or not a store of finished work"):
        Store(path)
    assert path.read_bytes() == content
    with pytest.raises(OSError, match="cannot be used as a store of finished work: unable to open"):
        Store(tmp_path)


def test_several_processes_write_at_once_and_lose_nothing(tmp_path):
    paths = [tmp_path / f"{number}.sqlite" for number in range(12)]
    with ExitStack() as stack:
        writers = [stack.enter_context(start(ADD_WHEN_TOLD)) for _ in range(4)]
        for path in paths:  # all make the file at the same moment, and half of the outcomes come twice
            for index, writer in enumerate(writers):
                writer.stdin.write(f"{path}|{4 * index}\n")
                writer.stdin.flush()
            assert [writer.stdout.readline() for writer in writers] == ["added\n"] * 4
    for path in paths:
        with Store(path) as store:
            assert store.find(map(str, range(20))) == {f"{number}": {"number": number} for number in range(20)}


# Damage


def filled(path, n_outcomes=400):
    """Write a store of several pages, and move everything from the log into the file."""
    with Store(path) as store:
        for number in range(n_outcomes):
            store.add(f"{number}", {"number": number, "text": "x" * 200})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def use(path):
    """Open a store, read all of it, add to it."""
    with Store(path) as store:
        store.find(map(str, range(400)))
        for number in range(1000, 1400):
            store.add(f"{number}", {"text": "y" * 200})


@pytest.mark.parametrize("damage", ["garbage in the header", "garbage in the middle", "truncated"])
def test_a_damaged_file_is_named_whenever_the_damage_shows(path, damage):
    content = filled(path).read_bytes()
    assert len(content) > 50_000
    half = len(content) // 2
    damaged = {
        "garbage in the header": b"garbage! " * 11 + content[99:],
        "garbage in the middle": content[:half] + b"\xa5" * 8192 + content[half + 8192 :],
        "truncated": content[: half + 100],
    }
    path.write_bytes(damaged[damage])
    with pytest.raises(ValueError, match="is damaged, or not a store of finished work: ") as caught:
        use(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert message.endswith("Restore a copy, or delete it to run everything again.")


@pytest.mark.parametrize("outcome", ["{half", "", "[1, 2]", "7", b"\xff\xfe"])
def test_an_outcome_that_is_not_an_object_names_the_file_and_the_piece(path, outcome):
    filled(path, 3)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE outcomes SET outcome = CAST(? AS TEXT) WHERE key = '1'", (outcome,))
    with Store(path) as store:
        assert store.find("0") == {"0": {"number": 0, "text": "x" * 200}}
        with pytest.raises(ValueError, match="is damaged, or not a store") as caught:
            store.find("01")
    assert str(caught.value).startswith(str(path))
