"""Files of NumPy and MATLAB arrays."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from stored import everything

from ufselect.files import Selection, read_table, write_table

X = np.array([[1.0, 0.0, 2.5], [0.0, np.nan, -1.0]])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(5), r"shape \(5,\); a table has rows and columns"),
        (np.zeros((4, 3, 2)), r"3 dimensions, \(4, 3, 2\); flatten each sample with X\.reshape\(len\(X\), -1\)\.$"),
        (np.zeros((2, 2), complex), "complex numbers"),
        (np.array([["a", "b"]]), "text or objects"),
        (np.zeros((2, 2), dtype=[("a", "f8")]), "named fields"),
        (np.zeros((0, 3)), "has columns but no rows"),
        (np.zeros((3, 0)), "has no numeric column"),
    ],
)
def test_arrays_that_are_no_tables_are_refused(tmp_path, values, message):
    np.save(tmp_path / "x.npy", values)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "x.npy")


def test_nothing_is_unpickled(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1, "a"]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "x.npz", X=np.array([[1, "a"]], dtype=object), data=X)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(
            ValueError, match=r"holds Python objects, which are not read; save text with \.astype\(str\)\.$"
        ):
            read_table(tmp_path / name)


def test_arrays_of_python_objects_beside_the_numbers_are_named_and_not_read(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, names=np.array(["a", "b", "c"], dtype=object), y=np.array([4, 5]))
    table = read_table(tmp_path / "x.npz")
    np.testing.assert_array_equal(table.X, X)
    assert table.names == ("x0", "x1", "x2")
    assert list(table.aside) == ["y"]
    assert table.notes == ("An array of Python objects was not read: 'names'; save text with .astype(str).",)


@pytest.mark.parametrize("ending", ["npz", "mat"])
def test_arrays_that_fit_neither_rows_nor_columns_are_named(tmp_path, ending):
    arrays = {"X": X, "y": np.array([4, 5]), "mean": np.zeros(7), "other": np.zeros((2, 4))}
    np.savez(tmp_path / "x.npz", **arrays)
    scipy.io.savemat(tmp_path / "x.mat", arrays)
    table = read_table(tmp_path / f"x.{ending}")
    assert list(table.aside) == ["y"]
    assert table.notes == ("Arrays without one value per sample were left out: 'mean', 'other'.",)


@pytest.mark.parametrize("key", ["names", "feature_names", "featureNames", "Columns", "features", "FEATURES", "genes"])
@pytest.mark.parametrize("ending", ["npz", "mat"])
def test_names_under_any_usual_key(tmp_path, key, ending):
    names = np.array(["a", "b", "数"], dtype=object if ending == "mat" else str)
    save = np.savez if ending == "npz" else lambda path, **arrays: scipy.io.savemat(path, arrays)
    save(tmp_path / f"x.{ending}", **{"X": X, key: names})
    assert read_table(tmp_path / f"x.{ending}").names == ("a", "b", "数")


def test_a_column_aside_called_like_the_names_comes_back(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, names=["a", "b", "c"], Genes=np.array(["p", "q"]))
    write_table(tmp_path / "out.npz", read_table(tmp_path / "x.npz"), Selection(np.ones(3), np.arange(1, 4), 2))
    again = read_table(tmp_path / "out.npz")
    assert again.names == ("a", "b")
    assert again.aside["Genes"].tolist() == ["p", "q"]


@pytest.mark.parametrize("key", ["X", "fea", "data", "anything"])
def test_the_table_of_an_archive(tmp_path, key):
    labels = {"y": np.array([4, 5]), "feature_names": ["a", "b", "c"], "other": np.ones(7)}
    np.savez(tmp_path / "x.npz", **{key: X, **labels})
    table = read_table(tmp_path / "x.npz")
    np.testing.assert_array_equal(table.X, X)
    assert table.names == ("a", "b", "c")
    assert table.aside["y"].tolist() == [4, 5]
    assert table.reasons == {"y": "a separate array"}


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_sparse_matrices_stay_sparse(tmp_path, kind, dtype):
    values = sp.csr_matrix(np.nan_to_num(X)).astype(dtype).asformat(kind)
    sp.save_npz(tmp_path / "x.npz", values)
    table = read_table(tmp_path / "x.npz")
    assert table.X.format == "csr"
    assert table.X.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert table.memory == table.X.data.nbytes + table.X.indices.nbytes + table.X.indptr.nbytes
    np.testing.assert_array_equal(table.X.toarray(), values.toarray())


@pytest.mark.parametrize("names", [("X", "Y"), ("fea", "gnd"), ("data", "y"), ("anything", "y")])
@pytest.mark.parametrize("oned_as", ["row", "column"])
def test_the_table_of_a_matlab_file(tmp_path, names, oned_as):
    arrays = dict(zip(names, (X, np.array([4.0, 5.0])), strict=True))
    cells = np.array(["a", "b", "c"], dtype=object)
    scipy.io.savemat(tmp_path / "x.mat", {**arrays, "columns": cells, "note": "text"}, oned_as=oned_as)
    table = read_table(tmp_path / "x.mat")
    np.testing.assert_array_equal(table.X, X)
    assert table.X.flags.c_contiguous
    assert table.names == ("a", "b", "c")
    assert table.aside[names[1]].tolist() == [4, 5]


def test_matlab_names_that_are_no_identifiers_are_kept_beside(tmp_path):
    aside = {"a b": [1, 2], "_y": [3, 4], "aside_0": [5, 6]}
    np.savez(tmp_path / "x.npz", X=X, **aside)
    table = read_table(tmp_path / "x.npz")
    write_table(tmp_path / "out.mat", table, everything(table))
    assert {"aside_0", "aside_1", "aside_2"} < set(scipy.io.loadmat(tmp_path / "out.mat"))
    again = read_table(tmp_path / "out.mat")
    assert {name: values.tolist() for name, values in again.aside.items()} == aside
