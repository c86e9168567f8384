"""What a float would change is kept aside as it is: long integers, and digits with leading zeros."""

import gzip
import io
import zipfile
from types import SimpleNamespace

import anndata
import numpy as np
import openpyxl
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from stored import everything

from ufselect.files import read_table, write_table

LONG = [2**53 + 1, 2**53 + 3, -(2**53) - 1]
INTEGERS = np.array([LONG, [1, 2, 3], [2**60, 2**53, -(2**62)]], dtype=np.int64).T
TOO_LONG = "integers too long for a float"


def save_h5ad(path, X):
    obs, var = pd.DataFrame(index=list("abc")), pd.DataFrame(index=["x0", "x1", "x2"])
    anndata.AnnData(X, obs=obs, var=var).write_h5ad(path)


SAVE = {
    "npy": np.save,
    "npz": lambda path, X: np.savez(path, X=X),
    "mat": lambda path, X: scipy.io.savemat(path, {"X": X}),
    "h5ad": save_h5ad,
}


@pytest.mark.parametrize("ending", SAVE)
@pytest.mark.parametrize("dtype", [np.int64, ">i8"])
def test_columns_with_long_integers_go_aside_unchanged(tmp_path, ending, dtype):
    path = tmp_path / f"x.{ending}"
    SAVE[ending](path, INTEGERS.astype(dtype))
    table = read_table(path)
    assert table.names == ("x1", "x2")
    assert table.reasons == {"x0": TOO_LONG}
    assert table.aside["x0"].tolist() == LONG
    np.testing.assert_array_equal(table.X, INTEGERS[:, 1:])
    write_table(tmp_path / "out.csv", table, everything(table))
    written = pd.read_csv(tmp_path / "out.csv")
    assert written["x0"].tolist() == LONG
    if ending == "h5ad":
        write_table(tmp_path / "out.h5ad", table, everything(table))
        np.testing.assert_array_equal(anndata.read_h5ad(tmp_path / "out.h5ad").X, INTEGERS)


@pytest.mark.parametrize("ending", ["npz", "h5ad"])
def test_a_sparse_matrix_with_long_integers_is_refused(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    save = {"npz": sp.save_npz, "h5ad": lambda path, X: anndata.AnnData(X).write_h5ad(path)}[ending]
    save(path, sp.csr_matrix(INTEGERS))
    with pytest.raises(ValueError, match="has integers in a sparse matrix that are too long for a float, such as 9007"):
        read_table(path)
    save(path, sp.csr_matrix(INTEGERS[:, 1:]))
    np.testing.assert_array_equal(read_table(path).X.toarray(), INTEGERS[:, 1:])


def test_long_integers_of_a_sheet_go_aside(tmp_path):
    book = openpyxl.Workbook()
    for row in (["id", "a"], [11111, 1], [22222, 2]):
        book.active.append(row)
    book.save(tmp_path / "first.xlsx")  # openpyxl itself writes 16 digits
    with zipfile.ZipFile(tmp_path / "first.xlsx") as first, zipfile.ZipFile(tmp_path / "x.xlsx", "w") as second:
        for name in first.namelist():
            content = first.read(name).replace(b"<v>11111</v>", b"<v>9007199254740993</v>")
            second.writestr(name, content.replace(b"<v>22222</v>", b"<v>9007199254740995</v>"))
    table = read_table(tmp_path / "x.xlsx")
    assert table.reasons == {"id": TOO_LONG}
    assert table.aside["id"].tolist() == ["9007199254740993", "9007199254740995"]


# Leading zeros

CODES = "zip,a,b\n07730,1,2\n10115,3,4\n,5,6\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", CODES),
        ("x.tsv", CODES.replace(",", "\t")),
        ("x.csv.gz", CODES),
        ("-", CODES),
        ("x.csv", CODES.replace(",", ", ")),
        ("x.csv", CODES.replace(",", ";")),
        ("x.csv", CODES.replace("07730", '"07730"')),
    ],
)
def test_digits_with_leading_zeros_are_identifiers(tmp_path, monkeypatch, name, text):
    path = name if name == "-" else tmp_path / name
    if name == "-":
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode()), closed=False, isatty=bool))
    else:
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    table = read_table(path)
    assert [table_name.strip() for table_name in table.names] == ["a", "b"]
    assert table.reasons == {"zip": "leading zeros: taken as identifiers"}
    assert table.aside["zip"].tolist() == ["07730", "10115", None]
    assert table.X.tolist() == [[1, 2], [3, 4], [5, 6]]
    write_table(tmp_path / "out.csv", table, everything(table))
    assert (tmp_path / "out.csv").read_text().splitlines()[1:3] == ["07730,1,2", "10115,3,4"]


@pytest.mark.parametrize(
    "values", [["0", "1"], ["0.5", "00.25"], ["-01", "2"], ["0e1", "2"], ["1", "00.5"], ["NA", "0"]]
)
def test_other_zeros_are_numbers(tmp_path, values):
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f"{value},7\n" for value in values))
    assert read_table(tmp_path / "x.csv").names == ("a", "b")


def test_numbers_of_a_fixed_width_are_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\n007,255,000\n130,100,013\n")
    table = read_table(tmp_path / "x.csv")
    assert table.X.tolist() == [[7, 255, 0], [130, 100, 13]]
    (tmp_path / "x.csv").write_text("a,b,c\n007,255,1\n130,100,2\n")
    assert read_table(tmp_path / "x.csv").names == ("b", "c")
