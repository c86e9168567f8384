"""Parquet files: numbers of all Arrow types are features, other types are set aside."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from stored import everything

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


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([9007199254740993, None, 1]), "integers"),
        (pa.array([2**64 - 1, 0, 1], pa.uint64()), "integers"),
        (pa.array([-(2**63) + 1, 0, 1]).dictionary_encode(), "integers"),
        (pa.array([Decimal("9007199254740993"), None, Decimal("1.5")], pa.decimal128(38, 4)), "decimals"),
        (pa.array([Decimal("12345678901234567890.5"), None, Decimal(1)], pa.decimal256(60, 4)), "decimals"),
        (pa.array([Decimal("-99999999999999999999.0001"), None, Decimal(1)], pa.decimal128(38, 4)), "decimals"),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_numbers_that_a_float_would_change_go_aside(read, tmp_path, column, kind):
    table = read({"key": column, "a": pa.array([1.0, 2.0, 3.0])})
    assert table.names == ("a",)
    assert table.reasons == {"key": f"{kind} too long for a float"}
    assert table.aside["key"].tolist() == column.to_pylist()
    write_table(tmp_path / "out.csv", table, everything(table))
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == f"{column[0].as_py()},1"
    write_table(tmp_path / "out.parquet", table, everything(table))
    written = parquet.read_table(tmp_path / "out.parquet")["key"].combine_chunks()
    assert written.to_pylist() == column.to_pylist() if kind == "integers" else written.equals(column)


def test_columns_of_a_frame_keep_their_types_and_index_even_if_the_source_is_gone_or_changed(tmp_path):
    columns = {
        "whole": [1, 2, 3],
        "site": pd.Categorical(["n", "s", "n"]),
        "flag": [True, False, True],
        "gone": [7, 8, 9],
        "short": np.array([1, 2, 4], dtype="f4"),
        "maybe": pd.array([1, None, 3], dtype="Int64"),
        "when": pd.to_datetime(["2020-01-01", "2021-01-01", None]),
    }
    frame = pd.DataFrame(columns, index=pd.Index(["r1", "r2", "r3"], name="row"))
    path, all_but_the_third = tmp_path / "in.parquet", Selection(np.ones(5), np.array([1, 2, 5, 3, 4]), 4)
    frame.to_parquet(path)
    table = read_table(path)
    assert table.names == ("whole", "flag", "gone", "short", "maybe")
    changes = {
        "as it was": lambda: None,
        "changed": lambda: pd.DataFrame({"whole": [5], "site": ["x"]}).to_parquet(path),
        "broken": lambda: path.write_bytes(b"PAR1 no more"),
        "gone": path.unlink,
    }
    order = ["site", "when", "whole", "flag", "short", "maybe"]
    for name, change in changes.items():
        change()
        output = tmp_path / f"{name}.parquet"
        write_table(output, table, all_but_the_third)
        assert pd.read_parquet(output)["whole"].tolist() == [1, 2, 3]
        assert pd.read_parquet(output)["site"].tolist() == ["n", "s", "n"]
        if name == "as it was":
            pd.testing.assert_frame_equal(pd.read_parquet(output), frame[order])
            described = parquet.read_schema(output).pandas_metadata["columns"]
            assert sorted(column["name"] for column in described) == sorted([*order, "row"])
