"""Sparse matrices that point outside themselves are refused before any compiled code follows them."""

import subprocess
import sys

import anndata
import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from warm_python import warm_python

from ufselect.files import read_table

X = np.array([[0.0, 1.5, 0.0, 4.0], [2.0, 0.0, 0.25, 0.0]])
FAR = 10**8


def parts_of(kind, **changes):
    """The arrays that SciPy saves of a matrix, some of them changed."""
    matrix = sp.bsr_matrix(X, blocksize=(1, 2)) if kind == "bsr" else sp.csr_matrix(X).asformat(kind)
    names = {"dia": ("offsets",), "coo": ("row", "col")}.get(kind, ("indices", "indptr"))
    parts = {"format": kind, "shape": np.array(matrix.shape), "data": matrix.data}
    return parts | {name: getattr(matrix, name) for name in names} | changes


def without(parts, name):
    return {key: values for key, values in parts.items() if key != name}


GOOD = {
    "csr": parts_of("csr"),
    "csc": parts_of("csc"),
    "bsr": parts_of("bsr"),
    "dia": parts_of("dia"),
    "coo": parts_of("coo"),
    "coords": without(without(parts_of("coo"), "row"), "col") | {"coords": np.array(sp.coo_matrix(X).nonzero())},
    "bytes": parts_of("csr", format=np.array(b"csr")),
    "spare": parts_of("csr", data=np.arange(9.0), indices=np.array([1, 3, 0, 2, 7, 7, 7, 7, 7])),
    "int64": parts_of("csr", indices=sp.csr_matrix(X).indices.astype(">i8")),
}
CRAFTED = {
    "index too large": parts_of("csr", indices=np.array([1, FAR, 0, 2])),
    "index negative": parts_of("csr", indices=np.array([1, -FAR, 0, 2])),
    "csc index too large": parts_of("csc", indices=np.array([1, FAR, 0, 0])),
    "indptr beyond the end": parts_of("csr", indptr=np.array([0, 2, FAR])),
    "indptr falling": parts_of("csr", indptr=np.array([0, FAR, 4])),
    "indptr negative": parts_of("csr", indptr=np.array([-FAR, 2, 4])),
    "indptr returning to zero": parts_of("csr", indptr=np.array([0, FAR, 0])),
    "indptr not from zero": parts_of("csr", indptr=np.array([1, 2, 4])),
    "indptr too short": parts_of("csr", indptr=np.array([0, 4])),
    "indptr too long": parts_of("csr", indptr=np.array([0, 2, 4, 4])),
    "indptr of floats": parts_of("csr", indptr=np.array([0.0, 2.0, 4.0])),
    "indptr of two dimensions": parts_of("csr", indptr=np.array([[0, 2, 4]])),
    "indices of text": parts_of("csr", indices=np.array(["1", "3", "0", "2"])),
    "data too short": parts_of("csr", data=np.ones(1)),
    "data of text": parts_of("csr", data=np.array(list("abcd"))),
    "data complex": parts_of("csr", data=np.ones(4, dtype=complex)),
    "no indices": without(parts_of("csr"), "indices"),
    "shape negative": parts_of("csr", shape=np.array([2, -4])),
    "shape of one number": parts_of("csr", shape=np.array([8])),
    "shape of three numbers": parts_of("csr", shape=np.array([2, 2, 2])),
    "shape of floats": parts_of("csr", shape=np.array([2.5, 4.0])),
    "shape a single number": parts_of("csr", shape=np.array(2)),
    "columns beyond all bounds": parts_of("csr", shape=np.array([2, 2**62])),
    "rows beyond all bounds": parts_of("coo", shape=np.array([2**62, 2**62])),
    "more columns than can be named": parts_of("coo", shape=np.array([2, 5 * 10**7])),
    "shape beyond int64": parts_of("csr", shape=np.array([2, 2**64 - 1], dtype=np.uint64)),
    "block index too large": parts_of("bsr", indices=np.array([0, FAR, 0, 1])),
    "block index negative": parts_of("bsr", indices=np.array([0, -1, 0, 1])),
    "block indptr beyond the end": parts_of("bsr", indptr=np.array([0, 2, FAR])),
    "blocks too wide": parts_of("bsr", shape=np.array([2, 3])),
    "blocks that do not divide": parts_of("bsr", data=np.ones((4, 1, 3))),
    "blocks of no size": parts_of("bsr", data=np.ones((4, 1, 0))),
    "blocks of two dimensions": parts_of("bsr", data=np.ones((4, 2))),
    "offset too large": parts_of("dia", offsets=np.array([-1, 1, 2, FAR])),
    "offset far below": parts_of("dia", offsets=np.array([-FAR, 1, 2, 3])),
    "offset twice": parts_of("dia", offsets=np.array([-1, 1, 1, 3])),
    "offsets too few": parts_of("dia", offsets=np.array([-1])),
    "diagonals of one dimension": parts_of("dia", data=np.ones(4)),
    "row too large": parts_of("coo", row=np.array([0, FAR, 1, 1])),
    "row negative": parts_of("coo", row=np.array([0, -1, 1, 1])),
    "column negative": parts_of("coo", col=np.array([0, -FAR, 1, 1])),
    "rows too few": parts_of("coo", row=np.array([0])),
    "unknown format": parts_of("csr", format="xyz"),
    "format a list": parts_of("csr", format=np.array(["csr", "csr"])),
    "format a number": parts_of("csr", format=np.array(3)),
}
OWN_KEYS = {"data": "X_data", "indices": "X_indices", "indptr": "X_indptr", "shape": "X_shape"}


def write_matlab(path, name, **replaced):
    """A sparse matrix in a MATLAB file, with some of its index bytes replaced; SciPy writes no such thing."""
    matrix = sp.csc_matrix(X)
    scipy.io.savemat(path, {name: matrix, "gnd": np.array([[1], [2]])})
    content = path.read_bytes()
    for part, values in replaced.items():
        before, after = (np.asarray(each, dtype="<i4").tobytes() for each in (getattr(matrix, part), values))
        assert content.count(before) == 1
        content = content.replace(before, after)
    path.write_bytes(content)


MATLAB = {
    "index too large": {"indices": [1, FAR, 1, 0]},
    "index negative": {"indices": [1, -FAR, 1, 0]},
    "indptr falling": {"indptr": [0, FAR, 2, 3, 4]},
    "indptr negative": {"indptr": [0, -FAR, 2, 3, 4]},
    "indptr beyond the end": {"indptr": [0, 1, 2, 3, FAR]},
}


@pytest.fixture(scope="module")
def crafted(tmp_path_factory):
    """A folder of crafted files."""
    folder = tmp_path_factory.mktemp("crafted")
    for name, parts in CRAFTED.items():
        np.savez(folder / f"{name}.npz", **parts)
    for name in ("index too large", "index negative", "indptr beyond the end", "indptr falling", "shape negative"):
        parts = {own: CRAFTED[name][key] for key, own in OWN_KEYS.items()}
        np.savez(folder / f"own keys, {name}.npz", y=[0, 1], **parts)
    for name, replaced in MATLAB.items():
        write_matlab(folder / f"{name}.mat", "fea", **replaced)
    return folder


READ_ALL = """
import sys
from pathlib import Path
from ufselect.datasets import load_dataset
from ufselect.files import read_table
for path in sorted(Path(sys.argv[1]).iterdir()):
    for read in (read_table, load_dataset):
        try:
            read(path)
        except ValueError as error:
            print(str(error).replace(str(path), path.name))
        else:
            print(path.name, "was read")
"""


def test_a_process_that_reads_crafted_files_answers_each_in_a_sentence_and_lives(crafted):
    done = subprocess.run([*warm_python(), "-c", READ_ALL, str(crafted)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    paths = np.repeat(sorted(crafted.iterdir()), 2)  # read by two functions
    lines = done.stdout.splitlines()
    assert len(lines) == len(paths), lines
    for path, line in zip(paths, lines, strict=True):
        assert line.startswith(path.name), line
        assert not line.endswith("was read"), line
        assert line.endswith("."), line


READ_EVERY_CHANGE = """
import sys
from pathlib import Path
from ufselect.files import read_table
path = Path(sys.argv[1])
content = path.read_bytes()
for index in range(128, len(content)):
    for value in (0, 14, 255):
        path.write_bytes(content[:index] + bytes([value]) + content[index + 1 :])
        try:
            read_table(path)
        except ValueError as error:
            assert "\\n" not in str(error)
print("alive")
"""


def test_no_changed_byte_of_a_matlab_file_ends_the_process(tmp_path):
    cells = np.array(["ab", np.eye(2)], dtype=object)
    scipy.io.savemat(tmp_path / "x.mat", {"X": sp.csc_matrix(X), "names": cells, "s": {"f": "text"}, "t": 1j})
    command = [sys.executable, "-W", "ignore", "-c", READ_EVERY_CHANGE, str(tmp_path / "x.mat")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout == "alive\n"


def test_cells_nested_without_end_are_refused(tmp_path):
    nested = np.eye(2)
    for _ in range(60):
        cell = np.empty((1, 1), dtype=object)
        cell[0, 0] = nested
        nested = cell
    scipy.io.savemat(tmp_path / "x.mat", {"X": X, "deep": nested})
    with pytest.raises(ValueError, match=r"x\.mat cannot be read as MATLAB file: the file is damaged or incomplete\.$"):
        read_table(tmp_path / "x.mat")


@pytest.mark.parametrize("compressed", [False, True])
def test_a_sound_matlab_file_with_anything_in_it_is_read(tmp_path, compressed):
    cells = np.array(["ab", np.eye(2), np.array(["x", 1], dtype=object)], dtype=object)
    others = {"c": cells, "s": {"f": [1, 2], "g": "text"}, "t": "text", "z": np.eye(2) * 1j, "e": np.zeros((0, 0))}
    scipy.io.savemat(tmp_path / "x.mat", {"X": X, **others}, do_compression=compressed)
    np.testing.assert_array_equal(read_table(tmp_path / "x.mat").X, X)


def test_matlab_files_of_version_4_are_read(tmp_path):
    scipy.io.savemat(tmp_path / "x.mat", {"X": sp.coo_matrix(X)}, format="4")
    np.testing.assert_array_equal(read_table(tmp_path / "x.mat").X.toarray(), X)


@pytest.mark.parametrize("name", GOOD)
def test_every_format_that_scipy_saves_is_read(tmp_path, name):
    np.savez(tmp_path / "x.npz", **GOOD[name])
    table = read_table(tmp_path / "x.npz")
    assert table.X.format == "csr"
    if name not in ("coords", "spare"):
        np.testing.assert_array_equal(table.X.toarray(), X)


@pytest.mark.parametrize(
    ("part", "values"),
    [("indices", [1, FAR, 0, 2]), ("indices", [1, -5, 0, 2]), ("indptr", [0, 7, 4]), ("indptr", [0, -2, 4])],
)
def test_annotated_data_with_indices_outside_are_refused(tmp_path, part, values):
    anndata.AnnData(sp.csr_matrix(X)).write_h5ad(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "r+") as file:
        file["X"][part][:] = values
    with pytest.raises(ValueError, match="holds a damaged sparse matrix"):
        read_table(tmp_path / "x.h5ad")


# Matrices that are sound but not in canonical form


DUPLICATES = {
    "data": np.array([1, 2, 4, 0, 100, 100, 5, -5]),
    "indices": np.array([3, 1, 3, 0, 2, 2, 0, 0]),
    "indptr": np.array([0, 4, 8]),
    "shape": np.array([2, 4]),
}
SUMMED = [[0, 2, 0, 5], [0, 0, 200, 0]]


def is_canonical(matrix):
    rebuilt = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return rebuilt.has_canonical_format and np.all(matrix.data != 0)


@pytest.mark.parametrize("dtype", ["i1", "i8", "f4", "f8", "u1", "f2", ">f4"])
@pytest.mark.parametrize("keys", ["scipy", "own"])
def test_duplicate_entries_are_summed_whatever_their_type(tmp_path, dtype, keys):
    data = np.abs(DUPLICATES["data"]) if dtype == "u1" else DUPLICATES["data"]
    parts = DUPLICATES | {"data": data.astype(dtype)}
    parts = parts | {"format": "csr"} if keys == "scipy" else {OWN_KEYS[key]: parts[key] for key in parts}
    np.savez(tmp_path / "x.npz", **parts)
    before = (tmp_path / "x.npz").read_bytes()
    table = read_table(tmp_path / "x.npz")
    assert is_canonical(table.X)
    wanted = np.array(SUMMED)
    wanted[1, 0] = 10 * (dtype == "u1")
    np.testing.assert_array_equal(table.X.toarray(), wanted)
    assert (tmp_path / "x.npz").read_bytes() == before


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_annotated_data_with_duplicates_are_summed_and_the_file_stays(tmp_path, form):
    matrix = sp.csr_matrix(tuple(DUPLICATES[key] for key in ("data", "indices", "indptr")), shape=(2, 4), dtype=float)
    if form == "csc":
        matrix = sp.csc_matrix((matrix.data, [0, 0, 0, 1, 1, 1, 0, 0], [0, 2, 4, 6, 8]), shape=(2, 4))
    wanted = matrix.toarray()
    anndata.AnnData(matrix).write_h5ad(tmp_path / "x.h5ad")
    before = (tmp_path / "x.h5ad").read_bytes()
    table = read_table(tmp_path / "x.h5ad")
    assert is_canonical(table.X)
    assert table.X.format == form
    np.testing.assert_array_equal(table.X.toarray(), wanted)
    assert (tmp_path / "x.h5ad").read_bytes() == before
