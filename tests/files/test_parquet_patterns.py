"""Several Parquet files as one table in memory."""

import os

import numpy as np
import pandas as pd
import pytest

from ufselect.files import Selection, infinite_values, read_table, write_table

WHOLE = pd.DataFrame(
    {
        "name": ["p", "q", "r", "s", "t"],
        "a": [1.0, 2.0, 3.0, 4.0, 5.0],
        "n": [1, 2, 3, 4, 5],
        "kind": pd.Categorical(["u", "v", "u", "v", "w"]),
        "day": pd.to_datetime(["2024-01-01"] * 5),
        "long": [2**60 + 1, 1, 2, 3, 4],
        "empty": [np.nan] * 5,
        "half": [np.nan, np.nan, np.nan, 1.0, 2.0],
    }
)
PIECES = {"a-1": WHOLE[:2], "a-10": WHOLE[2:3], "a-2": WHOLE[3:]}


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """Write frames to files in the folder parts, which is in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()

    def write(pieces=PIECES):
        for name, frame in pieces.items():
            frame.to_parquet(f"parts/{name}.parquet", index=False)
        return "parts/*.parquet"

    return write


def test_files_are_read_as_one_table_in_the_order_of_their_names(parts):
    WHOLE.to_parquet("whole.parquet", index=False)
    table, whole = read_table(parts(), aside=["n"]), read_table("whole.parquet", aside=["n"])
    assert table.names == whole.names == ("a", "half")
    np.testing.assert_array_equal(table.X, whole.X)
    assert table.reasons == whole.reasons
    assert set(table.aside) == set(whole.aside)
    for name, values in whole.aside.items():
        np.testing.assert_array_equal(table.aside[name], values)
        assert table.aside[name].dtype.kind == values.dtype.kind
    assert table.samples.tolist() == list("pqrst")
    assert table.notes == ("3 files were read.",)
    assert not infinite_values(table)


@pytest.mark.parametrize("output", ["out.parquet", "out.csv"])
def test_selected_columns_of_all_rows_are_written(parts, output):
    table = read_table(parts())
    write_table(output, table, Selection(np.ones(3), np.array([2, 1, 3]), 1))
    written = pd.read_parquet(output) if output.endswith("parquet") else pd.read_csv(output)
    assert written["n"].tolist() == [1, 2, 3, 4, 5]
    assert written["name"].tolist() == list("pqrst")
    assert written["long"].tolist() == WHOLE["long"].tolist()
    assert "a" not in written


@pytest.mark.parametrize(
    ("pieces", "options", "message"),
    [
        ({}, {}, r"^No file matches parts/\*\.parquet\.$"),
        (PIECES | {"b": WHOLE.drop(columns="a")}, {}, "^parts/b.parquet has no numeric column 'a', unlike parts/a-1"),
        (PIECES | {"b": WHOLE.drop(columns="name")}, {}, "^parts/b.parquet has no column 'name', unlike parts/a-1"),
        (PIECES | {"b": WHOLE.assign(note="x")}, {}, "^parts/b.parquet has a column 'note', unlike .*same columns"),
        (PIECES | {"b": WHOLE.assign(x=1)}, {}, "^parts/b.parquet has a column 'x', unlike"),
        (
            PIECES | {"b": WHOLE.assign(day="x")},
            {},
            "^parts/b.parquet has 'day' as .*string, another file as timestamp",
        ),
        (PIECES, {"aside": ["z"]}, "has no column named 'z'"),
        (PIECES, {"transpose": True}, "only a single file can be transposed"),
        (PIECES, {"encoding": "latin-1"}, r"does not apply to parts/\*\.parquet"),
        ({"1": WHOLE[["name"]]}, {}, "has no numeric column"),
        ({"1": WHOLE[["name", "empty"]]}, {}, "has no numeric column .*'empty': empty"),
        ({"1": WHOLE[:0]}, {}, "has columns but no rows"),
    ],
)
def test_files_that_do_not_fit_are_refused_in_one_sentence(parts, pieces, options, message):
    with pytest.raises((ValueError, OSError), match=message) as caught:
        read_table(parts(pieces), **options)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_are_named(parts):
    pattern = parts()
    with open("parts/a-2.parquet", "wb") as file:
        file.write(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"^parts/a-2\.parquet cannot be read as Parquet: the file is damaged"):
        read_table(pattern)
    os.rename("parts/a-2.parquet", "parts/a-2.csv")
    with pytest.raises(ValueError, match=r"^parts/a-2\.csv is not a Parquet file; only Parquet files are read"):
        read_table("parts/*")


def test_more_than_the_memory_is_refused(parts, monkeypatch):
    monkeypatch.setattr("ufselect._utils.memory.memory_limit", lambda: 16)
    with pytest.raises(MemoryError, match="--dask local reads them block by block"):
        read_table(parts())
