"""``-`` is standard input."""

import gzip
import tempfile
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from ufselect.files import read_table
from ufselect.files.reading import stored_standard_input

FRAME = pd.DataFrame({"name": ["x", "y"], "a": [1.5, 2.0], "b": [3.0, 4.0]})


@pytest.fixture
def given(monkeypatch, tmp_path):
    """Let standard input hold these bytes; temporary files go to a folder of their own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def give(data, terminal=False):
        stream = data if data is None else SimpleNamespace(buffer=BytesIO(data), closed=False, isatty=lambda: terminal)
        monkeypatch.setattr("sys.stdin", stream)

    yield give
    assert not list(folder.iterdir())


def written(write):
    stream = BytesIO()
    write(stream)
    return stream.getvalue()


CONTENTS = {
    "text": FRAME.to_csv(index=False).encode(),
    "tabs": FRAME.to_csv(index=False, sep="\t").encode(),
    "UTF-16": FRAME.to_csv(index=False).encode("utf-16"),
    "gzip": gzip.compress(FRAME.to_csv(index=False).encode()),
    "Parquet": written(lambda stream: FRAME.to_parquet(stream, index=False)),
    "Excel": written(lambda stream: FRAME.to_excel(stream, index=False)),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_tables_are_recognized_by_how_they_begin(given, kind):
    given(CONTENTS[kind])
    table = read_table("-")
    assert table.names == ("a", "b")
    assert table.X.tolist() == [[1.5, 3.0], [2.0, 4.0]]
    assert table.aside["name"].tolist() == ["x", "y"]
    assert table.path == Path("standard input")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (None, {}, "standard input is closed; pipe a file into the command, or give its name"),
        (b"", {"terminal": True}, "standard input is a terminal; pipe a file into the command"),
        (b"", {}, "standard input is empty"),
        (b"\n\n", {}, "standard input is empty"),
        (b"\x89HDF\r\n\x1a\nmore", {}, "standard input is an AnnData file, which cannot be read from there"),
        (b"PAR1 and no more", {}, "standard input cannot be read as Parquet: the file is damaged or incomplete"),
        (b"PK\x03\x04 and no more", {}, "standard input cannot be read as NumPy archive: the file is damaged"),
        (b"\x1f\x8b and no more", {}, "standard input cannot be read as CSV: the file is damaged"),
        (b"a,b\n1\n", {}, "standard input has 1 value in row 1, but the header has 2 names"),
        (b"caf\xe9\n1\n", {}, "standard input is not UTF-8 text; pass its encoding"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(given, data, options, message):
    given(data, **options)
    with pytest.raises((ValueError, OSError), match=message) as caught:
        read_table("-")
    assert "\n" not in str(caught.value)


def test_options_apply_and_nothing_is_left_if_reading_is_interrupted(given):
    given("# a\nä;b\n1,5;-\n".encode("latin-1"))
    table = read_table("-", encoding="latin-1", na="-", delimiter=";")
    assert table.names == ("ä",)
    assert table.notes == ("1 comment line was skipped.",)
    given(b"a,b\n1,2\n")
    with pytest.raises(KeyboardInterrupt), stored_standard_input():
        raise KeyboardInterrupt
