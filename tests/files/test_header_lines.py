"""A first line of numbers: column names or a sample, and said which."""

import numpy as np
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufselect.files import Selection, Table, read_table, write_table

RNG = np.random.default_rng(0)


def rows_of(values):
    return "".join(",".join(f"{value:g}" for value in row) + "\n" for row in np.asarray(values))


SPECTRA = rows_of(RNG.uniform(0.1, 2.5, (30, 12)).round(3))
NAMES_OF_NUMBERS = {
    "wavelengths": (range(400, 424, 2), SPECTRA),
    "wavelengths with decimals": ([f"{399.8 + 2.05 * j + 0.01 * (j % 3):.2f}" for j in range(12)], SPECTRA),
    "uneven wavelengths": ([412, 443, 490, 510, 560, 620, 665, 681, 709, 753, 778, 865], SPECTRA),
    "wavenumbers that fall": (range(4000, 400, -300), SPECTRA),
    "years of growth": (range(1990, 2002), rows_of(np.cumsum(RNG.integers(1, 900, (9, 12)), axis=1) + 1500)),
    "years of a census": ([1990, 2000, 2011, 2021], rows_of(np.cumsum(RNG.integers(1, 9000, (9, 4)), axis=1))),
    "wavelengths above spectra that rise": (range(400, 424, 2), rows_of(np.sort(RNG.random((9, 12)).round(4)))),
    "doses": ([1, 10, 30, 100], rows_of(RNG.uniform(0, 200, (20, 4)).round(3))),
    "masses among intensities": (np.cumsum(RNG.uniform(1, 9, 40)).round(4), rows_of(RNG.integers(0, 10_000, (30, 40)))),
    "identifiers of genes": ([7157, 672, 1956, 4609, 3845], rows_of(RNG.uniform(0, 12, (20, 5)).round(2))),
    "the number of each column": (range(1, 6), rows_of(RNG.integers(0, 9, (20, 5)))),
    "two rows": (range(400, 424, 2), SPECTRA[: SPECTRA.index("\n", SPECTRA.index("\n") + 1) + 1]),
    "missing values below": ([400, 405, 412, 420], "0.5,,0.2,0.7\nNA,0.3,0.1,0.2\n0.2,0.9,0.3,\n0.4,0.1,0.9,0.3\n"),
    "a name that is missing": (["400", "402", "", "406", "408", "410"], rows_of(RNG.random((9, 6)).round(3))),
}


@pytest.mark.parametrize("case", NAMES_OF_NUMBERS)
def test_a_first_line_unlike_those_below_has_the_names(read, case):
    numbers, rows = NAMES_OF_NUMBERS[case]
    names = [str(number) for number in numbers]
    table = read(f"{','.join(names)}\n{rows}")
    assert table.names == tuple(name or f"column {place}" for place, name in enumerate(names, start=1))
    assert table.shape[0] == rows.count("\n")
    (note,) = table.notes
    assert note.startswith("The first line was read as column names, since ")
    assert note.endswith("; --header no reads it as a sample.")
    all_rows = read(f"{','.join(names)}\n{rows}", header=False)
    np.testing.assert_array_equal(all_rows.X[1:], table.X)
    assert all_rows.names == tuple(f"column {place}" for place in range(1, len(names) + 1))
    assert all_rows.notes == ()


RISING = np.cumsum(RNG.integers(1, 50, (15, 8)), axis=1)
CURVES = (RNG.uniform(1, 3, (9, 1)) / (1 + np.exp(4 - np.arange(30) / RNG.uniform(2, 6, (9, 1))))).round(4)
SAMPLES = {
    "any numbers": RNG.standard_normal((20, 6)).round(3),
    "a first sample that rises": np.vstack([np.sort(RNG.random(6)), RNG.random((20, 6))]).round(3),
    "cumulative counts": RISING,
    "a first sample that is the largest": np.vstack([RISING[0] * 30, RISING[1:]]),
    "curves that rise": CURVES,
    "a curve that rises among falling ones": np.vstack([CURVES[0], CURVES[1:, ::-1]]),
    "columns of different scales": RNG.normal([40, 170, 4e4], [9, 8, 9e3], (12, 3)).round(),
    "lines": np.outer(np.arange(2, 9), np.arange(3, 10)),
    "ratings": np.vstack([[2, 3, 4], RNG.integers(1, 6, (20, 3))]),
    "an outlier": np.vstack([[900.5, 100, 500.5, 700], RNG.random((20, 4)) * 9]).round(2),
    "years as values": RNG.integers(1950, 2020, (9, 3)),
    "two columns": np.vstack([[400, 402], RNG.random((9, 2))]).round(3),
    "one column": RNG.random((9, 1)).round(3),
    "images": RNG.integers(0, 256, (9, 16)),
    "cumulative counts at a nearly constant rate": np.cumsum(RNG.poisson([[4000], [5], [20], [9]], (4, 6)), axis=1),
    "one row of counts that rises": np.vstack([np.arange(1, 61, 2) ** 2, RNG.integers(0, 90, (3, 30))]),
    "indicators": RNG.integers(0, 2, (9, 16)),
}


@pytest.mark.parametrize("case", SAMPLES)
def test_a_first_line_like_those_below_is_a_sample(read, case):
    values = SAMPLES[case]
    table = read(rows_of(values))
    np.testing.assert_array_equal(table.X, [[float(f"{value:g}") for value in row] for row in values])
    assert table.names[0] == "column 1"
    assert table.notes == (
        "The first line holds numbers and was read as a sample; --header yes reads it as column names.",
    )
    first = [f"{value:g}" for value in values[0]]
    if len(set(first)) == len(first):
        named = read(rows_of(values), header=True)
        assert named.names == tuple(first)
        assert named.shape[0] == len(values) - 1
        assert named.notes == ()


@given(st.integers(2, 12), st.integers(3, 9), st.integers(0, 2**32 - 1), st.sampled_from([0, 2, 5]))
def test_rows_of_random_numbers_are_all_samples(tmp_path_factory, n, d, seed, digits):
    values = np.random.default_rng(seed).normal(size=(n, d)).round(digits)
    if digits == 0:
        values[0, :2] = 7  # no header: a name twice
    path = tmp_path_factory.mktemp("samples") / "data.csv"
    path.write_text(rows_of(values))
    table = read_table(path)
    assert table.shape[0] == n or "--header no" in table.notes[0]


def test_what_is_certain_needs_no_note(read):
    for text in ("a,b\n1,2\n", ",400,402\nx,1,2\ny,3,4\n", '"400","402","404"\n1,2,3\n', "#400,402\n1,2\n3,4\n"):
        assert read(text).notes == ()
    assert read("#400,402\n1,2\n3,4\n").names == ("400", "402")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("400,402,400\n1,2,3\n", {"header": True}, "has several columns named '400'; names must be unique"),
        ("400,402,404\n", {"header": True}, "has a header but no rows"),
        ("400,402,404", {"header": True}, "has a header but no rows"),
        (
            "width,height\n1,2\n3,4\n",
            {"header": False},
            r"has text in its first line \('width'\) above numbers; leave out header=F",
        ),
        ("1,2\n", {"header": "yes"}, "header='yes' is not True, False or None"),
        ("1,2\n", {"header": 0}, "header=0 is not True, False or None"),
    ],
)
def test_a_header_that_cannot_be_is_refused_in_one_sentence(read, text, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(text, **options)
    assert "\n" not in str(caught.value)


def test_the_first_row_of_a_sheet_may_be_names(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(list(range(400, 410, 2)))
    for row in RNG.random((9, 5)).tolist():
        book.active.append(row)
    book.save(tmp_path / "book.xlsx")
    table = read_table(tmp_path / "book.xlsx")
    assert table.names == ("400", "402", "404", "406", "408")
    assert table.shape == (9, 5)
    assert "--header no" in table.notes[0]
    assert read_table(tmp_path / "book.xlsx", header=False).shape == (10, 5)
    book.active.delete_rows(1)
    book.save(tmp_path / "book.xlsx")
    assert "--header yes" in read_table(tmp_path / "book.xlsx").notes[0]
    assert read_table(tmp_path / "book.xlsx", header=True).shape == (8, 5)


# Rows that are features


def test_sample_labels_that_are_numbers_and_a_first_feature_without_labels_are_noted(read):
    text = "gene,101,102,105\na,5,3,8\nb,1,7,2\n"
    table = read(text, transpose=True)
    assert table.names == ("a", "b")
    assert table.notes == ("The first line was read as sample labels; --header no reads it as a feature.",)
    whole = read(text, transpose=True, header=False)
    assert whole.names == ("gene", "a", "b")
    np.testing.assert_array_equal(whole.X, [[101, 5, 1], [102, 3, 7], [105, 8, 2]])
    assert (whole.aside, whole.notes) == ({}, ())
    assert read(text, transpose=True, header=True).notes == ()
    table = read("a,1.5,0,0\nb,0,0,2.5\n", transpose=True)
    assert table.names == ("a", "b")
    np.testing.assert_array_equal(table.X, [[1.5, 0], [0, 0], [0, 2.5]])
    assert table.notes == ("The first line was read as a feature; --header yes reads it as sample labels.",)


# What is written is read as it was


@pytest.mark.parametrize("names", [("400", "402"), ("a", "1.5", "2.5"), ("NA", "1"), ("1", "2", "2.5")])
def test_written_names_stay_names(tmp_path, names):
    X = np.random.default_rng(0).random((4, len(names)))
    table = Table(X, names, {}, {}, None, tmp_path / "x.csv")
    write_table(tmp_path / "out.csv", table, Selection(np.ones(len(names)), np.arange(1, len(names) + 1), len(names)))
    again = read_table(tmp_path / "out.csv")
    assert again.names == names
    assert again.notes == ()
    np.testing.assert_array_equal(again.X, X)
