"""Delimiter and decimal mark of text files: found if one reading fits, an error if several do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufselect.files import Selection, read_table, write_table

ONE_READING = {
    "points": ("a,b\n1.5,2\n3,4.25\n", ("a", "b"), [[1.5, 2], [3, 4.25]]),
    "decimal commas": ("x;y\n1,5;2,5\n3;4,25\n", ("x", "y"), [[1.5, 2.5], [3, 4.25]]),
    "a comma in the header": ("x, cm;y\n1,5;2,5\n3,5;4,5\n", ("x, cm", "y"), [[1.5, 2.5], [3.5, 4.5]]),
    "a comma in the header, one row": ("x, cm;y\n1,5;2,5\n", ("x, cm", "y"), [[1.5, 2.5]]),
    "commas in a text": ("n;x\np, q;1\nr;2\n", ("x",), [[1], [2]]),
    "tabs": ("a\tb\n1.5\t2\n3\t4\n", ("a", "b"), [[1.5, 2], [3, 4]]),
    "tabs and decimal commas": ("a\tb\n1,5\t2\n3,5\t4\n", ("a", "b"), [[1.5, 2], [3.5, 4]]),
    "integers": ("a;b\n1;2\n3;4\n", ("a", "b"), [[1, 2], [3, 4]]),
    "no header, some decimal commas": ("1,5;2\n2,5;3\n7;8\n", ("column 1", "column 2"), [[1.5, 2], [2.5, 3], [7, 8]]),
    "quoted delimiters": ('n,x\n"p;q",1\n"r;s",2\n', ("x",), [[1], [2]]),
    "quoted delimiters and header": ('"n;m",x\n"p;q",1\n"r;s",2\n', ("x",), [[1], [2]]),
    "quoted lines": ('n;x\n"p\n,,";1,5\n"r";2,5\n', ("x",), [[1.5], [2.5]]),
    "quoted decimals": ('x;y\n"1,5";"2"\n"2,5";"3"\n', ("x", "y"), [[1.5, 2], [2.5, 3]]),
    "bars": ("a|b\n1.5|2\n3|4\n", ("a", "b"), [[1.5, 2], [3, 4]]),
    "bars and decimal commas": ("a|b\n1,5|2\n3,5|4\n", ("a", "b"), [[1.5, 2], [3.5, 4]]),
    "bars in a text": ("n,x\np|q,1\nr|s,2\n", ("x",), [[1], [2]]),
    "signs and exponents": ("x;y\n-1,5;+2,5e3\n,5;1e2\n", ("x", "y"), [[-1.5, 2500], [0.5, 100]]),
    "decimals and missing values": ("x;y\nNA;1\n;2\n2,5;4\n", ("x", "y"), [[np.nan, 1], [np.nan, 2], [2.5, 4]]),
    "points with semicolons": ("x;y\n1.5;2\n2.5;3\n", ("x", "y"), [[1.5, 2], [2.5, 3]]),
    "a single column": ("x\n1.5\n2\n", ("x",), [[1.5], [2]]),
    "row labels as R writes them": ("a;b\nr;1,5;2\ns;3,5;4\n", ("a", "b"), [[1.5, 2], [3.5, 4]]),
    "three integer columns": ("1,5,2\n2,7,3\n", ("column 1", "column 2", "column 3"), [[1, 5, 2], [2, 7, 3]]),
    "two integer columns with names": ("a,b\n1,5\n2,7\n", ("a", "b"), [[1, 5], [2, 7]]),
    "two columns, one negative": ("1,-5\n2,7\n", ("column 1", "column 2"), [[1, -5], [2, 7]]),
}


@pytest.mark.parametrize("case", ONE_READING)
def test_a_file_with_one_reading_needs_no_option(read, case):
    text, names, values = ONE_READING[case]
    table = read(text)
    assert table.names == names
    np.testing.assert_array_equal(table.X, values)


SEVERAL_READINGS = {
    "no header": "1,5;2,5\n3,5;4,5\n",
    "no header, one row": "1,5;2,5\n",
    "a header that fits both": "x, cm;y\n1,5;2\n3,5;4\n",
    "tabs or commas": "1,5\t2,5\n3,5\t4,5\n",
    "two integers or one decimal": "1,5\n2,7\n",
    "row labels or one decimal": "x\n1,5\n2,7\n",
    "counted columns or one decimal": "0,1\n0,2\n",
}


@pytest.mark.parametrize("case", SEVERAL_READINGS)
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_a_file_with_several_readings_stops_and_names_the_options(read, case, name):
    with pytest.raises(ValueError, match=r"(?s)data\.csv") as caught:
        read(SEVERAL_READINGS[case], name)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    for part in ("delimiter=','", "--delimiter", "decimal=','", "--decimal"):
        assert part in message


def test_the_options_settle_which_reading_is_meant(read):
    text = "1,5;2,5\n3,5;4,5\n"
    european = [[1.5, 2.5], [3.5, 4.5]]
    for options in ({"delimiter": ";"}, {"decimal": ","}, {"delimiter": ";", "decimal": ","}):
        np.testing.assert_array_equal(read(text, **options).X, european)
    table = read("a,b,c\n" + text, delimiter=",")
    np.testing.assert_array_equal(table.X, [[1, 5], [3, 5]])
    assert table.aside["b"].tolist() == ["5;2", "5;4"]
    np.testing.assert_array_equal(read("1,5\n2,7\n", delimiter=",").X, [[1, 5], [2, 7]])
    np.testing.assert_array_equal(read("1,5\n2,7\n", decimal=",").X, [[1.5], [2.7]])
    np.testing.assert_array_equal(read("1,5\n2,7\n", decimal=".").X, [[1, 5], [2, 7]])
    np.testing.assert_array_equal(read("x\n1,5\n2,7\n", decimal=",").X, [[1.5], [2.7]])


@pytest.mark.parametrize(("mark", "given"), [("|", "|"), (" ", " "), ("\t", "\t"), ("\t", r"\t"), (":", ":")])
def test_any_character_can_be_the_delimiter(read, mark, given):
    for name in ("data.csv", "data.tsv"):
        table = read(f"a{mark}b\n1,5{mark}2\n3{mark}4\n", name, delimiter=given)
        np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4]])
    assert read("a,b;c\td\n1\t2\n", "data.tsv").names == ("a,b;c", "d")


def test_numbers_of_both_kinds_stop_and_name_the_option(read):
    text = "a;b\n1,5;1.5\n2,5;2.5\n"
    with pytest.raises(ValueError, match=r"has numbers such as '1,5' and '1\.5'; pass decimal=',' \(--decimal ,\)"):
        read(text)
    assert read(text, decimal=",").names == ("a",)
    table = read(text, decimal=".")
    assert table.names == ("b",)
    assert table.reasons["a"] == "text: '1,5' in row 1 has a decimal comma; see decimal (--decimal)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "delimiter=';;' is not one ASCII character"),
        ({"delimiter": ""}, "delimiter='' is not one ASCII character"),
        ({"delimiter": "·"}, "delimiter='·' is not one ASCII character"),
        ({"delimiter": '"'}, "is not one ASCII character other than a quote"),
        ({"decimal": ";"}, "decimal=';' is not '.' or ','"),
        ({"delimiter": ",", "decimal": ","}, "',' cannot be both the delimiter and the decimal mark"),
    ],
)
def test_options_without_sense_are_refused(read, options, message):
    with pytest.raises(ValueError, match=message):
        read("a,b\n1,2\n", **options)


def test_a_quoted_value_longer_than_the_sample_does_no_harm(read, monkeypatch):
    monkeypatch.setattr("ufselect.files.text_records._SAMPLE", 100)
    text = "n;x\n" + "".join(f'"{"word, " * 40}\n{row};";{row},5\n' for row in range(20))
    np.testing.assert_array_equal(read(text, decimal=",").X[:, 0], np.arange(20) + 0.5)


# Thousands separators

INCOMES = "id{0}income\na{0}1,234\nb{0}12,345\nc{0}800\n"


@pytest.mark.parametrize("mark", ["\t", ";", "|"])
def test_thousands_or_decimals_stop_and_name_column_and_option(read, mark):
    with pytest.raises(ValueError, match=r"has '1,234' in 'income', which may mean 1234 or 1\.234; pass") as caught:
        read(INCOMES.format(mark))
    assert str(caught.value).endswith("pass decimal='.' (--decimal .) or decimal=',' (--decimal ,).")
    np.testing.assert_array_equal(read(INCOMES.format(mark), decimal=".").X, [[1234], [12345], [800]])
    np.testing.assert_array_equal(read(INCOMES.format(mark), decimal=",").X, [[1.234], [12.345], [800]])


CERTAIN = {
    "a decimal point after commas": ("x;y\n1,234.00;1\n2,345;-2\n-12,345;3\n", [[1234, 1], [2345, -2], [-12345, 3]]),
    "several groups": ("x\ty\n1,234,567\t1\n2,345\t2\n", [[1234567, 1], [2345, 2]]),
    "decimal points elsewhere": ("x|y\n1,234|1.5\n2,345|2.25\n", [[1234, 1.5], [2345, 2.25]]),
    "quoted, a decimal point": ('x,y\n"1,234.50",1\n"2,345",2\n', [[1234.5, 1], [2345, 2]]),
    "quoted, decimal points elsewhere": ('x,y\n"1,234",1.5\n"2,345",2\n', [[1234, 1.5], [2345, 2]]),
    "points": ("x;y\n1.234,5;1\n2.345;2\n", [[1234.5, 1], [2345, 2]]),
    "points, several groups": ("x;y\n1.234.567;1,5\n2.345;2\n", [[1234567, 1.5], [2345, 2]]),
}


@pytest.mark.parametrize("case", CERTAIN)
def test_thousands_separators_for_certain_are_read_and_noted(read, tmp_path, case):
    text, values = CERTAIN[case]
    table = read(text)
    np.testing.assert_array_equal(table.X, values)
    (note,) = table.notes
    assert note.startswith(("Commas in numbers such as ", "Points in numbers such as "))
    assert note.endswith(" were read as thousands separators.")
    write_table(tmp_path / "out.csv", table, Selection(np.ones(2), np.array([1, 2]), 2))
    np.testing.assert_array_equal(read_table(tmp_path / "out.csv").X, values)


def test_decimal_commas_with_three_digits_are_decimals_if_one_has_another_number(read):
    np.testing.assert_array_equal(read("x;y\n1,234;1,5\n2,345;2\n").X, [[1.234, 1.5], [2.345, 2]])
    np.testing.assert_array_equal(read("x;y\n0,234;1\n2,345;2\n").X, [[0.234, 1], [2.345, 2]])
    np.testing.assert_array_equal(read("x;y\n1234,567;1\n2,345;2\n").X, [[1234.567, 1], [2.345, 2]])
    np.testing.assert_array_equal(read("x;y\n1.234;1\n2.345;2\n").X, [[1.234, 1], [2.345, 2]])


def test_quoted_thousands_between_commas_stop(read):
    text = 'a,income\n1,"1,234"\n2,"2,345"\n'
    with pytest.raises(ValueError, match=r"has '1,234' in 'income', .*; pass decimal='.' \(--decimal .\)\.$"):
        read(text)
    np.testing.assert_array_equal(read(text, decimal=".").X, [[1, 1234], [2, 2345]])


NUMBERS_IN_TEXT = {
    "$1,234.00": "amounts of money",
    "-$5": "amounts of money",
    "€ 12": "amounts of money",
    "12,50 €": "amounts of money",
    "USD 3.5": "amounts of money",
    "(1,234)": "amounts of money",
    "12.3 %": "percentages",
    "-4%": "percentages",
    "1 234": "numbers with separators",
    "1\u202f234,5": "numbers with separators",
    "1'234.5": "numbers with separators",
}


@pytest.mark.parametrize("written", NUMBERS_IN_TEXT)
def test_money_and_percent_are_named(read, written):
    table = read(f"a|b\n1|{written}\n2|\n3|{written}\n")
    assert table.names == ("a",)
    kind = NUMBERS_IN_TEXT[written]
    assert table.reasons["b"] == f"text: {kind} such as {written!r}; write plain numbers to use them"
    assert table.aside["b"].tolist()[0] == written


# What means a missing value


def test_further_texts_for_missing_values(read):
    text = "a,b,site\n1,-,unknown\nunknown,2, - \n3,4,north\n"
    assert read(text, na=["unknown"]).names == ("a",)
    table = read(text, na=["unknown", "-"])
    assert table.names == ("a", "b")
    np.testing.assert_array_equal(table.X, [[1, np.nan], [np.nan, 2], [3, 4]])
    assert table.aside["site"].tolist() == ["unknown", " - ", "north"]


# Both marks over any numbers


@given(
    st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=1, max_size=5)
)
def test_decimal_commas_and_points_give_the_same_numbers(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("decimals") / "data.csv"
    lines = [";".join(map(repr, row)) for row in rows]
    path.write_text("\n".join(["x;y", *lines]))
    points = read_table(path, decimal=".")
    path.write_text("\n".join(["x;y", *(line.replace(".", ",") for line in lines)]))
    commas = read_table(path, decimal=",")
    np.testing.assert_array_equal(points.X, commas.X)
    assert points.names == commas.names
