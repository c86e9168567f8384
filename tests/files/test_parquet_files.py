"""Parquet files: every type that Arrow knows has its place."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from ufselect.files import Selection, read_table, write_table


@pytest.fixture
def read(tmp_path):
    """Read these columns from a file."""

    def read(columns, **options):
        parquet.write_table(pa.table(columns), tmp_path / "data.parquet")
        return read_table(tmp_path / "data.parquet", **options)

    return read


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 0], pa.int8()),
        pa.array([1, 0], pa.uint64()),
        pa.array([1.0, 0.0], pa.float32()),
        pa.array([1.0, 0.0], pa.float64()),
        pa.array([True, False]),
        pa.array([Decimal("1.00"), Decimal("0.00")]),
        pa.array([1, 0]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_numbers_of_any_type(read, column):
    table = read({"a": column, "b": pa.array([2.5, 3.5])})
    assert table.names == ("a", "b")
    assert table.X.dtype == np.float64
    assert table.X.flags.c_contiguous
    np.testing.assert_array_equal(table.X, [[1, 2.5], [0, 3.5]])


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pa.array(["x", None]), "text"),
        (pa.array(["x", "x"]).dictionary_encode(), "text"),
        (pa.array(["x", "y"], pa.large_string()), "text"),
        (pa.array([b"x", b"y"]), "text"),
        (pa.array([datetime.date(2020, 1, 1), None]), "dates"),
        (pa.array([datetime.datetime(2020, 1, 1), None]), "dates"),
        (pa.array([datetime.datetime(2020, 1, 1), None], pa.timestamp("us", "UTC")), "dates"),
        (pa.array([[1, 2], [3]]), "nested values"),
        (pa.array([{"p": 1}, {"p": 2}]), "nested values"),
        (pa.array([None, None]), "empty"),
        (pa.array([None, None], pa.float64()), "empty"),
        (pa.array([None, None], pa.int32()), "empty"),
    ],
    ids=str,
)
def test_what_is_no_number_goes_aside_and_comes_out_again(read, tmp_path, column, reason):
    table = read({"a": pa.array([1.0, 2.0]), "b": column})
    assert table.names == ("a",)
    assert table.reasons == {"b": reason}
    write_table(tmp_path / "out.parquet", table, Selection(np.ones(1), np.ones(1), 1))
    again = parquet.read_table(tmp_path / "out.parquet")
    assert again.column_names == ["b", "a"]
    wanted = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    assert again["b"].to_pylist() == wanted.to_pylist()


def test_single_precision_stays_where_all_columns_have_it(read):
    short, whole = pa.array([0.1, 0.2], pa.float32()), pa.array([1, 2])
    assert read({"a": short, "b": pa.array([0.5, 1.5], pa.float16())}).X.dtype == np.float32
    assert read({"a": short, "b": whole}).X.dtype == np.float64


def test_missing_values_are_nan_and_written_as_null(read, tmp_path):
    table = read({"a": pa.array([1, None, 3]), "b": pa.array([None, 0.5, float("nan")])})
    np.testing.assert_array_equal(table.X, [[1, np.nan], [np.nan, 0.5], [3, np.nan]])
    write_table(tmp_path / "out.parquet", table, Selection(np.ones(2), np.array([1, 2]), 2))
    assert parquet.read_table(tmp_path / "out.parquet")["b"].to_pylist() == [None, 0.5, None]


def test_the_index_of_a_frame_is_kept_aside(tmp_path):
    path = tmp_path / "frame.parquet"
    pd.DataFrame({"a": [1.0, 2.0]}, index=["r1", "r2"]).to_parquet(path)
    table = read_table(path)
    assert table.reasons == {"__index_level_0__": "no name: taken as row labels"}
    assert table.samples.tolist() == ["r1", "r2"]
    pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index([7, 8], name="number")).to_parquet(path)
    table = read_table(path)
    assert table.names == ("a",)
    assert table.reasons == {"number": "row labels"}


def test_columns_asked_for_are_kept_aside_with_their_type(read):
    table = read({"y": pa.array([3, 4]), "a": pa.array([1.0, 2.0])}, aside=["y"])
    assert table.names == ("a",)
    assert table.aside["y"].dtype == np.int64
    assert table.reasons == {"y": "asked for"}


def test_names_that_begin_alike_are_told_apart(read):
    table = read({"a": pa.array([1.0]), "a.b": pa.array([2.0]), "c": pa.array([{"d": 1}]), "c.d": pa.array([3.0])})
    assert table.names == ("a", "a.b", "c.d")
    np.testing.assert_array_equal(table.X, [[1, 2, 3]])


def test_columns_read_a_few_at_a_time_keep_their_places(read, monkeypatch):
    monkeypatch.setattr("ufselect.files.parquet._COLUMNS", 100)
    X = np.arange(60.0).reshape(5, 12)
    np.testing.assert_array_equal(read({f"g{j}": X[:, j] for j in range(12)}).X, X)


def test_columns_of_one_name_are_refused(tmp_path):
    parquet.write_table(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), tmp_path / "data.parquet")
    with pytest.raises(ValueError, match="several columns named 'a'"):
        read_table(tmp_path / "data.parquet")


def test_tables_without_rows_or_numbers_are_refused(read):
    with pytest.raises(ValueError, match="has columns but no rows"):
        read({"a": pa.array([], pa.float64())})
    with pytest.raises(ValueError, match=r"has no column of numbers \('a': text\)"):
        read({"a": pa.array(["x"])})
