"""Files of samples and classes: all formats give the same dataset, and damaged ones an error."""

import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from ufselect.datasets import content_digest, load_dataset
from ufselect.datasets.loaders import SUFFIXES, known_suffix
from ufselect.files import read_table


def as_csv(X, y):
    rows = [",".join([*(f"f{j}" for j in range(X.shape[1])), "class"])]
    rows += [",".join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), y, strict=True)]
    return "\n".join(rows) + "\n"


def write(path, X, y):
    match known_suffix(path):
        case ".npz":
            np.savez_compressed(path, X=X, y=y)
        case ".mat":
            savemat(path, {"X": X, "Y": y[:, None] + 1})
        case ".csv":
            path.write_text(as_csv(X, y), encoding="utf-8")
        case ".csv.gz":
            path.write_bytes(gzip.compress(as_csv(X, y).encode()))
    return path


def assert_holds(dataset, X, y):
    values = dataset.X.toarray() if sp.issparse(dataset.X) else dataset.X
    np.testing.assert_array_equal(values, X)
    assert content_digest(dataset.X, dataset.y) == content_digest(X, y)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_formats_give_the_same_set_to_the_last_bit(suffix, samples, tmp_path):
    dataset = load_dataset(write(tmp_path / f"données.of 2024 ☂{suffix}", *samples))
    assert dataset.name == "données.of 2024 ☂"
    assert_holds(dataset, *samples)


@pytest.mark.parametrize("name", ["mine.txt", "mine", ".npz", "mine.gz", "mine.npy"])
def test_other_suffixes_are_refused_with_those_that_are_known(name, tmp_path):
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=r"\.npz with arrays X .*\.mat .*\.csv or \.csv\.gz"):
        load_dataset(tmp_path / name)


# .npz


class Grenade:
    """Its unpickling would be noticed."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was opened",)


@pytest.mark.parametrize("armed", ["X", "y"])
def test_pickled_arrays_are_never_opened(armed, samples, tmp_path):
    arrays = dict(zip("Xy", samples, strict=True)) | {armed: np.array([Grenade()], dtype=object)}
    np.savez(tmp_path / "armed.npz", **arrays)
    with pytest.raises(ValueError, match=rf"armed\.npz cannot be read.*: {armed} holds Python objects"):
        load_dataset(tmp_path / "armed.npz")


def test_missing_arrays_are_named_beside_those_that_are_there(samples, tmp_path):
    np.savez(tmp_path / "mine.npz", X=samples[0], labels=samples[1])
    with pytest.raises(ValueError, match="it has no arrays X and y, only 'X', 'labels'"):
        load_dataset(tmp_path / "mine.npz")


# .mat


@pytest.mark.parametrize("names", [("X", "Y"), ("X", "y"), ("fea", "gnd")])
@pytest.mark.parametrize("oned_as", ["row", "column"])
def test_matlab_files_are_read_by_all_usual_names(names, oned_as, samples, tmp_path):
    savemat(tmp_path / "mine.mat", dict(zip(names, samples, strict=True)) | {"junk": 1.0}, oned_as=oned_as)
    assert_holds(load_dataset(tmp_path / "mine.mat"), *samples)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"X": np.eye(3), "gnd": [1, 2, 3]}, "it has no arrays X and Y or X and y or fea and gnd, only 'X', 'gnd'"),
        ({"X": np.array([["a"], [1.0]], dtype=object), "Y": [1, 2]}, "real numbers"),
        ({"X": {"a": 1.0}, "Y": [1]}, "real numbers"),
        ({"X": np.eye(3), "Y": {"a": 1.0}}, "class labels must be numbers or texts"),
        ({"X": np.eye(3), "Y": np.eye(3)}, "one class label per sample"),
    ],
)
def test_matlab_files_with_other_things_are_refused(stored, message, tmp_path):
    savemat(tmp_path / "mine.mat", stored)
    with pytest.raises(ValueError, match=message):
        load_dataset(tmp_path / "mine.mat")


# .csv


def read_csv(tmp_path, text):
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    return load_dataset(path)


@pytest.mark.parametrize("name", ["y", "Target", " CLASS ", '"label"'])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_class_column_is_found_by_name_wherever_it_is(name, place, tmp_path):
    def line(values, label):
        return ",".join([*values[:place], label, *values[place:]])

    text = "\n".join([line(["a", "b"], name), line(["1", "2"], "u"), line(["3", "4"], "v"), line(["5", "6"], "u")])
    assert_holds(read_csv(tmp_path, text), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [0, 1, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,c\n1,2,3\n", "must be named y or class or label or target, but 0 are; its columns are 'a', 'b', 'c'"),
        ("a,y,class\n1,2,3\n", "but 2 are"),
        ("1,2,3\n4,5,6\n", "but 0 are; its columns are '1', '2', '3'"),
        ("y\n1\n", "features as columns"),
        ("a,b,y\n1,two,0\n3,4,1\n5,6,1\n", r"column 'b' is not numeric \(text: 'two' in row 1 is not a number"),
        ("a,b,y\n1,x,0\n3,z,1\n", r"column 'b' is not numeric \(text\)"),
        ("a,b,y\n1,,0\n", r"column 'b' is not numeric \(empty\)"),
        (",b,y\nr,1,0\ns,2,0\n", r"column '' is not numeric \(no name: taken as row labels\)"),
        ("a,b,y\n0,1,2,0\n1,3,4,1\n", r"column '' is not numeric \(no name: taken as row labels\)"),
        ("a,b,y\n1,2,0\n3,nan,1\n", "got nan at row 1, column 1"),
        ("a,b,y\n1,2,u\n3,4,\n", "row 1 .* has none"),
        ("a,b,y\n1,2,u\n3,4, \n", "row 1 .* has none"),
        ("a,b,y\n1,2,0\n3,4,\n", "row 1 .* has none"),
        ("a,b,y\n1,2,\n", "row 0 .* has none"),
    ],
)
def test_tables_of_other_things_are_refused_with_the_cause(text, message, tmp_path):
    with pytest.raises(ValueError, match=f"mine\\.csv cannot be read as samples and classes: .*{message}"):
        read_csv(tmp_path, text)


def test_sparse_samples_are_read_from_the_parts_of_a_csr_array_beside_other_arrays(tmp_path):
    X = sp.csr_array(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]))
    parts = {"data": X.data.astype(np.uint16), "indices": X.indices.astype(np.uint16), "indptr": X.indptr}
    np.savez(tmp_path / "mine.npz", **parts, shape=np.array(X.shape), y=[1, 2], features=["a", "b", "c"])
    dataset = load_dataset(tmp_path / "mine.npz")
    assert sp.issparse(dataset.X)
    assert_holds(dataset, X.toarray(), [0, 1])
    table = read_table(tmp_path / "mine.npz")
    assert table.names == ("a", "b", "c")
    np.testing.assert_array_equal(table.X.toarray(), X.toarray())
