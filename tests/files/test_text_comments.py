"""Lines that begin with #: comments, or names, or neither."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufselect.files import Selection, read_table, write_table
from ufselect.files.text_comments import Comments


@pytest.fixture
def read(tmp_path):
    def read(text, name="data.csv", **options):
        path = tmp_path / name
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return read_table(path, **options)

    return read


SKIPPED = {
    "before the header": ("# by me\n# today, at 8\na,b\n1,2\n3,4\n", 2),
    "blank lines, too": ("\n# by me\n\na,b\n1,2\n3,4\n", 1),
    "between records": ("a,b\n# first\n1,2\n#3,5\n3,4\n", 2),
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


@pytest.mark.parametrize("start", ["", "# wide\n"])
def test_a_header_may_be_longer_than_any_field(read, start):
    names = [f"column {j}" for j in range(12_000)]
    table = read(f"{start}{','.join(names)}\n" + 2 * f"{','.join(['1.5'] * len(names))}\n")
    assert table.names == tuple(names)


def test_a_file_without_comments_has_no_note(read):
    assert read('a,b\n1,"#2"\n').notes == ()


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


def test_genes_by_samples_may_have_a_commented_header(read):
    table = read("#made by me\n#gene\tp\tq\na\t1\t3\nb\t2\t4\n", "data.tsv", transpose=True)
    assert table.names == ("a", "b")
    assert table.samples.tolist() == ["p", "q"]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.notes == ("1 comment line was skipped.",)


def test_a_comment_may_be_long(read):
    assert read(f"# {'x' * 200_000}\na,b\n1,2\n").names == ("a", "b")


def test_one_column_has_no_commented_header(read):
    table = read("# metres\n1.5\n2.5\n")
    assert table.names == ("column 1",)
    assert table.X.tolist() == [[1.5], [2.5]]


def test_labels_that_all_begin_with_the_mark_are_no_comments(read):
    table = read("# by me\ncolour,a,b\n#ff0000,1,2\n#00ff00,3,4\n\n")
    assert table.aside["colour"].tolist() == ["#ff0000", "#00ff00"]
    assert table.notes == ("1 comment line was skipped.",)
    assert read("#colour,a,b\n#ff0000,1,2\n").aside["#colour"].tolist() == ["#ff0000"]


def test_a_quoted_value_may_begin_with_the_mark_or_have_such_a_line(read):
    table = read('n,a\n"#1",1\n"x\n#2",2\n# skipped\n"#\n#",3\n')
    assert table.aside["n"].tolist() == ["#1", "x\n#2", "#\n#"]
    assert table.notes == ("1 comment line was skipped.",)


def test_a_file_of_comments_has_no_rows(read):
    with pytest.raises(ValueError, match=r"data\.csv has a header but no rows\."):
        read("# nothing\n")


def test_rows_are_counted_without_comments(read):
    with pytest.raises(ValueError, match="has 1 value in row 2, but there are 2 columns"):
        read("a,b\n# one\n1,2\n# two\n3\n")


@given(st.lists(st.sampled_from(["1,2\n", '"x\n#y",3\n', "# a, b\n", '#"\n', '"#",4\n', '#"x\n'])), st.integers(1, 9))
def test_blocks_of_any_size_have_the_same_records(lines, size):
    rest, found, comments = b"", b"", Comments()
    data = "".join(lines).encode()
    for start in range(0, len(data), size):
        rest = comments.removed(rest + data[start : start + size])
        if rest.endswith(b"\n") and rest.count(b'"') % 2 == 0:
            found, rest = found + rest, b""
    assert found.decode() == "".join(line for line in lines if not line.startswith("#"))
    assert comments.n_between == sum(line.startswith("#") for line in lines)
    assert rest == b""


@given(st.lists(st.sampled_from(["1,2\n", '"x\n#y",3\n', "# a, b\n", '#"\n', '5" z,4\n'])))
def test_rows_read_one_by_one_have_the_same_records(lines):
    comments = Comments()
    records = list(comments.skipped("".join(lines).splitlines(keepends=True), ","))
    assert len(records) == sum(not line.startswith("#") for line in lines)
    assert all(len(record) == 2 for record in records)
    assert comments.n_between == sum(line.startswith("#") for line in lines)


def test_what_is_written_has_no_comments(read, tmp_path):
    table = read('"#n";"#a";"b|c"\n"#1";1;2\nx;3;4\n')
    write_table(tmp_path / "out.csv", table, Selection(np.ones(2), np.array([1, 2]), 2))
    again = read_table(tmp_path / "out.csv")
    assert again.names == ("#a", "b|c")
    assert again.aside["#n"].tolist() == ["#1", "x"]
    assert again.notes == ()
