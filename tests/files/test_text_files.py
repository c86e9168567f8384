"""Text files: numbers, names, and files that are refused."""

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from stored import everything
from warm_python import warm_python

from ufselect.files import FORMATS, Format, check_writable, file_format, read_table, registry, write_table
from ufselect.files.text_columns import NUMBER


@pytest.mark.parametrize(
    ("name", "kind"),
    [("A.CSV.GZ", "csv"), ("a.b.tsv", "tsv"), ("a.pq", "parquet"), ("x/y.H5AD", "h5ad"), ("x.tsv.csv", "csv")],
)
def test_the_suffix_gives_the_format(name, kind):
    assert file_format(name) == kind


@pytest.mark.parametrize("name", ["a.txt", "a", ".csv", "a.csv.zip", "a.gz", "csv"])
def test_other_suffixes_are_refused_with_those_there_are(name):
    with pytest.raises(ValueError, match="unknown suffix") as caught:
        file_format(name)
    for known in FORMATS:
        assert all(suffix in str(caught.value) for suffix in known.suffixes)


def test_one_entry_makes_a_format(tmp_path, monkeypatch):
    entry = Format("dat", "measurement", (".dat",), "text.read_text", options=("delimiter", "decimal", "encoding"))
    monkeypatch.setattr(registry, "FORMATS", (*FORMATS, entry))
    (tmp_path / "x.DAT").write_text("a;b\n1,5;2\n2,5;4\n")
    np.testing.assert_array_equal(read_table(tmp_path / "x.DAT", decimal=",").X, [[1.5, 2], [2.5, 4]])
    with pytest.raises(
        ValueError, match=r"header=True does not apply to .*: only \.csv, \.tsv and \.xlsx files have a"
    ):
        read_table(tmp_path / "x.DAT", header=True)
    with pytest.raises(ValueError, match=r"cannot be written: \.dat files are only read"):
        check_writable("out.dat")


def test_every_suffix_is_documented():
    page = Path(__file__).parents[2].joinpath("docs", "command_line.md").read_text(encoding="utf-8")
    assert [suffix for known in FORMATS for suffix in known.suffixes if f"`{suffix}`" not in page] == []


def test_numbers_and_text_come_apart(read):
    table = read("id,width,site,height\na,1.5,north,2\nb,-2e3,south,.5\n")
    assert table.names == ("width", "height")
    np.testing.assert_array_equal(table.X, [[1.5, 2], [-2000, 0.5]])
    assert table.X.dtype == np.float64
    assert table.X.flags.c_contiguous
    assert list(table.aside) == ["id", "site"]
    assert table.aside["site"].tolist() == ["north", "south"]
    assert table.reasons == {"id": "text", "site": "text"}
    assert table.samples.tolist() == ["a", "b"]
    assert table.shape == (2, 2)
    assert table.memory == 32


@pytest.mark.parametrize("missing", ["", '""', "NA", "NaN", "nan", "null", "N/A", "n/a", "None", "-nan", " NA "])
def test_missing_values(read, missing):
    table = read(f"a,b\n1,{missing}\n2,5\n")
    np.testing.assert_array_equal(table.X, [[1, np.nan], [2, 5]])


def test_truth_values_become_zero_and_one(read):
    np.testing.assert_array_equal(read("a,b\ntrue,1\nFALSE,2\n,3\nTrue,4\n").X[:, 0], [1, 0, np.nan, 1])


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        (["n/q"], "text: 'n/q' in row 2 is not a number; na=['n/q'] (--na n/q) reads it as missing"),
        (["-", "-", "-"], "text: '-' in 3 of 1,000 values; na=['-'] (--na -) reads them as missing"),
        (
            ["?", "no data"],
            "text: '?' in 1 and 'no data' in 1 of 1,000 values; na=['?', 'no data'] (--na '?' --na 'no data')",
        ),
        (["p", "q", "r"], "text: 'p' in row 2 is not a number"),
    ],
)
def test_the_texts_among_numbers_are_named(read, others, reason):
    values = ["1.5"] * 1000
    values[1 : 1 + len(others)] = others
    table = read("a,b\n" + "".join(f"{row},{value}\n" for row, value in enumerate(values)) + "1000,\n1001,NA\n")
    assert table.names == ("a",)
    assert table.reasons["b"].startswith(reason)
    assert table.aside["b"].tolist()[:1000] == values


def test_columns_asked_for_are_kept_aside(read):
    table = read("code,label,size,a\n007,3,0.5,1\n010,,1.5,2\n", aside=["label", "code", "size"])
    assert table.names == ("a",)
    assert list(table.aside) == ["code", "label", "size"]
    assert table.aside["code"].tolist() == ["007", "010"]
    np.testing.assert_array_equal(table.aside["label"], [3, np.nan])
    np.testing.assert_array_equal(table.aside["size"], [0.5, 1.5])
    assert set(table.reasons.values()) == {"requested"}
    with pytest.raises(ValueError, match="has no column named 'heigt'; the closest names are 'height'"):
        read("height,width\n1,2\n", aside=["heigt"])


@pytest.mark.parametrize("name", ["data.csv", "data.tsv"])
def test_quoted_values_and_quotation_marks_within_values(read, name):
    mark = "\t" if name.endswith("tsv") else ","
    rows = ['"x,\ty"', '"1"', "2"], ['"two\nlines"', "3", "4"], ['"a ""word"""', "5", "6"], ['5" pipe', "7", "8"]
    text = mark.join(['"i""d"', "a", "b"]) + "\n" + "".join(mark.join(row) + "\n" for row in rows)
    table = read(text, name)
    assert table.aside['i"d'].tolist() == ["x,\ty", "two\nlines", 'a "word"', '5" pipe']
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 6], [7, 8]])


@pytest.mark.parametrize("text", ["a,b\r\n1,2\r\n\r\n3,4\r\n", "\n\na,b\n\n1,2\n\n\n3,4", "a,b\n1,2\n3,4\n\n"])
def test_blank_lines_and_line_ends_do_not_matter(read, text):
    table = read(text)
    assert table.names == ("a", "b")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n4,5\n", "has 1 value in row 2, but there are 2 columns"),
        ("a,b\n1,2\n\n3,4,5\n", "has 3 values in row 2, but there are 2 columns"),
        ('a,b\n"1\n1",2\n3,4,5\n', "has 3 values in row 2, but there are 2 columns"),
        ('a,b\n5" x,2\n3,4,5\n', "has 3 values in row 2, but there are 2 columns"),
        ("0.5,2\n1\n", "has 1 value in row 2, but there are 2 columns"),
        ("a\n1,2\n3\n", "has 2 values in row 1, but the header has 1 name"),
        ('a,b\n1,"2\n3,4\n', "has a quote that is not closed"),
        ("a,b,a,b,c\n1,2,3,4,5\n", "has several columns named 'a', 'b'; names must be unique"),
        ("a,b\n", "has a header but no rows"),
        ("a,b", "has a header but no rows"),
        ("\n\n", "is empty"),
        ("", "is empty"),
        (b"a,b\n1,caf\xe9\n", "is not UTF-8 text; pass its encoding"),
        (b"caf\xe9,b\n1,2\n", "is not UTF-8 text; pass its encoding"),
        (b'a,b\nx" y,1\ncaf\xe9,2\n', "is not UTF-8 text"),
        ("a,b\r1,2\r", "has carriage returns as line ends"),
        ("a,b\nx,y\n", "has no numeric column"),
    ],
)
def test_broken_text_is_refused_in_one_sentence(read, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(text)
    assert "data.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_first_column_without_a_name_holds_row_labels(read):
    table = read(',a,,"column 3"\nr1,1,2,3\nr2,3,4,5\n')
    assert table.names == ("a", "column 3 without a name", "column 3")
    assert table.reasons == {"": "no name: taken as row labels"}
    assert table.samples.tolist() == ["r1", "r2"]


def test_text_that_comes_late_is_read_whole(read, monkeypatch):
    monkeypatch.setattr("ufselect.files.text_records._BLOCK", 64)
    values = ["late" if i == 400 else repr(i / 7) for i in range(500)]
    table = read("a,b,c\n" + "\n".join(f"{i},{value},{i}" for i, value in enumerate(values)))
    assert table.names == ("a", "c")
    np.testing.assert_array_equal(table.X, np.arange(500.0)[:, None] @ [[1, 1]])
    assert table.aside["b"].tolist() == values
    assert table.reasons["b"].startswith("text: 'late' in row 401 is not a number")


@pytest.mark.parametrize("size", [16, 50, 333, 5000])
def test_the_size_of_blocks_does_not_matter(read, monkeypatch, size):
    ids = [f'{i},\n"{"x" * (i % 70)}' for i in range(300)]
    rows = [f'"{{}}",{i},{"NA" if i % 9 else i}\r\n'.format(each.replace('"', '""')) for i, each in enumerate(ids)]
    whole = read("id,a,b\r\n" + "".join(rows))
    monkeypatch.setattr("ufselect.files.text_records._BLOCK", size)
    parts = read("id,a,b\r\n" + "".join(rows))
    np.testing.assert_array_equal(parts.X, whole.X)
    assert parts.aside["id"].tolist() == whole.aside["id"].tolist() == ids


def test_written_numbers_are_short_and_exact(read, tmp_path):
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 123456789.123]
    table = read("id,whole,x,huge\n" + "".join(f"r{i},{i},{value!r},{2.0**60!r}\n" for i, value in enumerate(values)))
    write_table(tmp_path / "out.csv", table, everything(table))
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "id,whole,x,huge"
    assert lines[1].startswith("r0,0,0.1,")
    again = read_table(tmp_path / "out.csv")
    np.testing.assert_array_equal(again.X, table.X)
    np.testing.assert_array_equal(np.signbit(again.X), np.signbit(table.X))


@given(st.from_regex(r"[-+]?[0-9.eE+ xinfaINFA_d]{0,12}", fullmatch=True) | st.floats().map(repr))
def test_patterns_and_conversion_agree_on_what_a_number_is(text):
    column = pa.array([text])
    try:
        column.cast(pa.float64())
        is_number = True
    except pa.ArrowInvalid:
        is_number = False
    assert pc.match_substring_regex(column, NUMBER)[0].as_py() == is_number


PEAK = """
import sys
from ufselect.files import read_table
table = read_table(sys.argv[1])
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")), table.memory // 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
@pytest.mark.parametrize("shape", [(50_000, 50), (500, 20_000)])
def test_reading_takes_little_more_memory_than_the_numbers(tmp_path, shape):
    path = tmp_path / "data.csv"
    line = ",".join(["0.12345678901234567"] * shape[1])
    with path.open("w") as file:
        file.write("id," + ",".join(f"g{j}" for j in range(shape[1])) + "\n")
        file.writelines(f"sample {i},{line}\n" for i in range(shape[0]))
    answer = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
    peak, memory = map(int, answer.stdout.split())
    assert peak < 2 * memory + 220 * 1024


@example([" 1", "2"])
@example(["1e+15", "2"])
@example([f"{2**53 + 1}", ""])
@given(
    st.lists(st.from_regex(r"[-+]?[0-9]{1,3}(\.[0-9]{1,3})?([eE]-?[0-9])?|", fullmatch=True), min_size=1, max_size=4)
)
def test_columns_aside_are_written_as_they_were_read(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("aside")
    text = "well,a\n" + "".join(f"{value},{row}\n" for row, value in enumerate(values))
    (folder / "in.csv").write_text(text)
    table = read_table(folder / "in.csv", aside=["well"])
    write_table(folder / "out.csv", table, everything(table))
    assert (folder / "out.csv").read_text() == text


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        (["1", "NA", "2"], [1, None, 2]),
        (["0.5", " nan", "2.5"], [0.5, None, 2.5]),
        (["1.10", "N/A", ""], ["1.10", None, None]),
        (["1.10", "NA", "b"], ["1.10", "NA", "b"]),
        (["NA", "", "null"], [None, None, None]),
    ],
    ids=str,
)
def test_a_missing_value_among_numbers_aside_is_none_and_among_text_a_text(read, values, kept):
    table = read("well,a\n" + "".join(f"{value},{row}\n" for row, value in enumerate(values)), aside=["well"])
    assert [None if value != value else value for value in table.aside["well"].tolist()] == kept


@pytest.mark.parametrize("text", ['"a","b"\n"r1",1,2\n"r2",3,4\n', "a,b\nr1,1,2\n\nr2,3,4\n", 'a,b\nr"1,1,2\nr2,3,4\n'])
def test_a_header_one_name_short_leaves_the_row_labels_unnamed(read, text):
    table = read(text)
    assert table.names == ("a", "b")
    assert table.reasons == {"": "no name: taken as row labels"}
    assert table.samples[-1] == "r2"
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("before", ["", "r,"])
def test_an_index_saved_twice_is_taken_as_row_labels(read, tmp_path, first, before):
    head = "," if before else ""
    text = f"{head}Unnamed: 0,id,a\n" + "".join(f"{before}{row + first},{name},5\n" for row, name in enumerate("xyz"))
    table = read(text)
    assert table.names == ("a",)
    assert table.reasons["Unnamed: 0"] == "counts the rows: taken as row labels"
    write_table(tmp_path / "out.csv", table, everything(table))
    assert (tmp_path / "out.csv").read_text() == text


COUNT_OPENED = """
import sys
opened = []
sys.addaudithook(lambda event, details: event == "open" and opened.append(str(details[0])))
from ufselect.cli.app import run
run(["select", sys.argv[1], "--method", "MaxVariance", "-m", "2", "-o", sys.argv[2], "--names"])
print(opened.count(sys.argv[1]))
"""


@pytest.mark.parametrize(("name", "mark"), [("data.csv", ","), ("data.tsv.gz", "\t")])
def test_a_command_opens_a_text_file_once(tmp_path, name, mark):
    rows = ["1,2,5,4", *(f"{i},{i / 7!r},{i % 9},{i**2}" for i in range(500)), "7,late,8,9"]  # and text read again
    text = "\n".join(rows).replace(",", mark).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    command = [*warm_python(), "-c", COUNT_OPENED, str(tmp_path / name), str(tmp_path / "out.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1"
