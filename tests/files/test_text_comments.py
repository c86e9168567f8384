"""Lines that begin with #: comments, or names, or neither."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufselect.files import Selection, read_table, write_table
from ufselect.files.text_lines import Comments

SKIPPED = {
    "as many words as names": ("a,b\n1,2\n# first, second\n#by me, today\n3,4\n", 2),
    "names again": ("a,b\n1,2\n#a,b\n3,4\n", 1),
    "two marks": ("a,b\n## 1\n1,2\n##\n3,4\n", 2),
    "an error explained": ("a,b\n1,2\n#N/A means missing\n3,4\n", 1),
    "before the header": ("# by me\n# today, at 8\na,b\n1,2\n3,4\n", 2),
    "blank lines, too": ("\n# by me\n\na,b\n1,2\n3,4\n", 1),
    "between records": ("a,b\n# first\n1,2\n#3 or 5\n3,4\n", 2),
    "at the end": ("a,b\n1,2\n3,4\n# done", 1),
    "with quotes": ('# 5" by "me\na,b\n1,2\n# 5" more\n3,4\n', 2),
    "Windows": ("# by me\r\na,b\r\n1,2\r\n#x\r\n3,4\r\n", 2),
    "as many fields as names": ("# one,two\na,b\n1,2\n3,4\n", 1),
    "as R writes labels": ("# one\na,b\nr,1,2\n# two\ns,3,4\n", 2),
}


@pytest.mark.parametrize("case", SKIPPED)
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_comments_are_skipped_and_counted(read, case, name):
    text, count = SKIPPED[case]
    table = read(text, name)
    assert table.names == ("a", "b")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.notes == (f"{count} comment line{'s were' if count > 1 else ' was'} skipped.",)


HEADERS = {
    "#gene\ta\tb\nx\t1\t2\ny\t3\t4\n": {"gene"},
    "# gene\ta\tb\nx\t1\t2\ny\t3\t4\n": {"gene"},
    "##version=4\n##by,me\n#gene\ta\tb\nx\t1\t2\ny\t3\t4\n": {"gene"},
    "#\ta\tb\nx\t1\t2\ny\t3\t4\n": {""},
    "#a|b\n1|2\n3|4\n": set(),
    '#"gene";a;b\nx;1,0;2\ny;3,0;4\n': {"gene"},
}


@pytest.mark.parametrize("text", HEADERS)
def test_a_comment_with_a_name_for_each_column_is_the_header(read, text):
    table = read(text)
    assert table.names == ("a", "b")
    assert set(table.aside) == HEADERS[text]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.notes == (("2 comment lines were skipped.",) if text.startswith("##") else ())


@pytest.mark.parametrize(
    ("text", "name", "labels", "n_comments"),
    [
        ("# by me\ncolour,a,b\n#ff0000,1,2\n#00ff00,3,4\n\n", "colour", ["#ff0000", "#00ff00"], 1),
        ("#colour,a,b\n#ff0000,1,2\n", "#colour", ["#ff0000"], 0),
        ("n,a,b\nx,1,2\n#2,3,4\n# two comments, and\n#no,words,only\n#3,NA,\n", "n", ["x", "#2", "#3"], 2),
        ('n,a\n5" long,1\n#N/A,2\n#3,3\n# done\n', "n", ['5" long', "#N/A", "#3"], 1),  # quotes need a closer look
    ],
)
def test_labels_that_begin_with_the_mark_are_no_comments(read, text, name, labels, n_comments):
    table = read(text)
    assert table.aside[name].tolist() == labels
    notes = {0: (), 1: ("1 comment line was skipped.",), 2: ("2 comment lines were skipped.",)}
    assert table.notes == notes[n_comments]


ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(("name", "mark"), [("data.csv", ","), ("data.csv.gz", ";"), ("data.tsv", "\t")])
def test_errors_of_excel_are_missing_values_and_lose_no_sample(read, error, name, mark):
    table = read(f"a,b,c\n1,{error},3\n{error},5,6\n7,8, {error}\n".replace(",", mark), name)
    assert table.names == ("a", "b", "c")
    nan = np.nan
    np.testing.assert_array_equal(table.X, [[1, nan, 3], [nan, 5, 6], [7, 8, nan]])
    assert table.notes == ()


RECORDS = ("#N/A,5\n", "#1,2\n", '#1,"2"\n', "#x,\n", "#REF!,x\n")


LINES = ["1,2\n", '"x\n#y",3\n', "# a, b\n", '#"\n', *RECORDS]


@given(st.lists(st.sampled_from([*LINES, '"#",4\n', '#"x\n', '5" z,4\n'])), st.integers(1, 9))
def test_blocks_of_any_size_and_rows_read_one_by_one_have_the_same_records(lines, size):
    kept = [line for line in lines if line in RECORDS or not line.startswith("#")]
    comments = Comments()
    records = list(comments.skipped("".join(lines).splitlines(keepends=True), ",", 2))
    assert [len(record) for record in records] == [2] * len(kept)
    assert comments.n_between == len(lines) - len(kept)
    if '5" z,4\n' in lines:  # blocks take quotes for the ends of values
        return
    rest, found, comments = b"", b"", Comments()
    data = "".join(lines).encode()
    for start in range(0, len(data), size):
        rest = comments.removed(rest + data[start : start + size], ",", 2)
        if rest.endswith(b"\n") and rest.count(b'"') % 2 == 0:
            found, rest = found + rest, b""
    assert (found.decode(), rest) == ("".join(kept), b"")
    assert comments.n_between == len(lines) - len(kept)


def test_what_is_written_has_no_comments(read, tmp_path):
    table = read('"#n";"#a";"b|c"\n"#1";1;2\nx;3;4\n')
    write_table(tmp_path / "out.csv", table, Selection(np.ones(2), np.array([1, 2]), 2))
    again = read_table(tmp_path / "out.csv")
    assert again.names == ("#a", "b|c")
    assert again.aside["#n"].tolist() == ["#1", "x"]
    assert again.notes == ()
