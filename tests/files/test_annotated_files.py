"""AnnData files: what scanpy wrote stays, and the selection is added."""

import subprocess

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from anndata.io import write_elem
from stored import COUNTS, SELECTION
from warm_python import warm_python

from ufselect.files import Selection, read_table, write_table


@pytest.fixture
def cells(tmp_path):
    """Write an AnnData file with something in each of its parts."""

    def write(X=COUNTS, **changes):
        obs = pd.DataFrame(
            {"kind": pd.Categorical(["t", "b", "t", "b"]), "depth": [1, 2, 3, 4], "g1": [0.5, 1, 2, 3]},
            index=["c1", "c2", "c3", "c4"],
        )
        data = anndata.AnnData(X, obs=obs, var=pd.DataFrame({"length": [7, 8, 9]}, index=["g1", "g2", "g3"]))
        data.layers["raw counts"] = sp.csr_matrix(COUNTS * 2)
        data.obsm["X_pca"] = np.ones((4, 2))
        data.uns["note"] = "kept"
        for name, value in changes.items():
            setattr(data, name, value)
        data.write_h5ad(tmp_path / "cells.h5ad")
        return tmp_path / "cells.h5ad"

    return write


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_numbers_keep_their_form(cells, form, dtype):
    table = read_table(cells(form(COUNTS).astype(dtype)))
    assert table.X.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert getattr(table.X, "format", None) == getattr(form(COUNTS), "format", None)
    np.testing.assert_array_equal(table.X.toarray() if sp.issparse(table.X) else table.X, COUNTS)


@pytest.mark.parametrize(
    ("changes", "layer", "message"),
    [
        ({}, "counts", "has no layer 'counts'; its layers are 'raw counts'"),
        ({"X": None}, None, "has no X; choose one of its layers: 'raw counts'"),
        ({"var_names": ["g1", "g1", "g3"]}, None, "var_names_make_unique"),
    ],
)
def test_files_without_the_layer_x_or_unique_names_are_refused(cells, changes, layer, message):
    with pytest.raises(ValueError, match=message):
        read_table(cells(**changes), layer=layer)


def test_all_that_was_in_the_file_stays(cells, tmp_path):
    path = cells(sp.csr_matrix(COUNTS))
    write_table(
        tmp_path / "out.h5ad",
        read_table(path, layer="raw counts", aside=["g2"]),
        Selection(np.array([0.5, 0.9]), np.array([2, 1]), 1),
    )
    before, after = anndata.read_h5ad(path), anndata.read_h5ad(tmp_path / "out.h5ad")
    np.testing.assert_array_equal(after.X.toarray(), COUNTS)
    np.testing.assert_array_equal(after.layers["raw counts"].toarray(), 2 * COUNTS)
    pd.testing.assert_frame_equal(after.obs, before.obs)
    assert after.obsm["X_pca"].shape == (4, 2)
    assert after.uns["note"] == "kept"
    assert after.var["length"].tolist() == [7, 8, 9]
    np.testing.assert_array_equal(after.var["ufselect_score"], [0.5, np.nan, 0.9])
    assert after.var["ufselect_rank"].tolist() == [2, 0, 1]
    assert after.var["ufselect_selected"].tolist() == [False, False, True]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix], ids=["dense", "csr", "csc"])
def test_a_gene_set_aside_keeps_its_values_beside_an_annotation_of_its_name(cells, tmp_path, form):
    table = read_table(cells(form(COUNTS)), aside=["g1"])
    assert table.names == ("g2", "g3")
    assert table.aside["g1"].tolist() == [0.5, 1, 2, 3]
    assert table.aside["g1_feature"].tolist() == COUNTS[:, 0].tolist()
    assert table.reasons["g1"] == "obs"
    assert table.reasons["g1_feature"] == "requested"
    chosen = Selection(np.ones(2), np.array([1, 2]), 1)
    write_table(tmp_path / "out.csv", table, chosen)
    assert (tmp_path / "out.csv").read_text().splitlines()[:2] == [
        "obs_names,g1_feature,kind,depth,g1,g2",
        "c1,1,t,1,0.5,0",
    ]
    write_table(tmp_path / "out.h5ad", table, chosen)
    after = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert after.var["ufselect_rank"].tolist() == [0, 1, 2]
    assert after.obs["g1"].tolist() == [0.5, 1, 2, 3]


def test_other_tables_become_annotated_ones(tmp_path):
    (tmp_path / "data.csv").write_text("id,a/b,_index,when,a,b\nx,p,q,2020-01-01,1,2\ny,,q,,3,NA\n")
    write_table(
        tmp_path / "out.h5ad", read_table(tmp_path / "data.csv"), Selection(np.array([1, 2]), np.array([2, 1]), 1)
    )
    data = anndata.read_h5ad(tmp_path / "out.h5ad")
    np.testing.assert_array_equal(data.X, [[1, 2], [3, np.nan]])
    assert data.obs_names.tolist() == ["x", "y"]
    assert list(data.obs.columns) == ["id", "a_b", "index", "when"]
    assert data.obs["a_b"].tolist() == ["p", ""]
    assert data.var["ufselect_selected"].tolist() == [False, True]


def test_columns_of_obs_and_var_keep_their_types(tmp_path):
    columns = {
        "words": ["p", "p", "q", "p"],
        "groups": pd.Categorical(["t", "b", "t", "b"]),
        "counts": pd.array([1, None, 3, 4], dtype="Int64"),
        "notes": pd.array(["x", None, "x", "y"], dtype="string"),
        "flags": pd.array([True, None, False, True], dtype="boolean"),
    }
    data = anndata.AnnData(COUNTS, obs=pd.DataFrame(columns, index=list("abcd")))
    data.var_names = ["g1", "g2", "g3"]
    data.var["chromosome"] = ["1", "1", "X"]
    with anndata.settings.override(allow_write_nullable_strings=True):
        data.write_h5ad(tmp_path / "in.h5ad", convert_strings_to_categoricals=False)
    table = read_table(tmp_path / "in.h5ad")
    assert table.aside["notes"].tolist() == ["x", None, "x", "y"]
    write_table(tmp_path / "out.h5ad", table, SELECTION)
    before, after = anndata.read_h5ad(tmp_path / "in.h5ad"), anndata.read_h5ad(tmp_path / "out.h5ad")
    pd.testing.assert_frame_equal(after.obs, before.obs)
    pd.testing.assert_series_equal(after.var["chromosome"], before.var["chromosome"])
    assert not anndata.settings.allow_write_nullable_strings


def test_only_what_is_needed_is_read(cells):
    path = cells(sp.csr_matrix(COUNTS))
    with h5py.File(path, "a") as file:
        del file["layers/raw counts/data"]
    np.testing.assert_array_equal(read_table(path).X.toarray(), COUNTS)
    with pytest.raises(ValueError, match="holds a damaged sparse matrix: it has no array 'data'"):
        read_table(path, layer="raw counts")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("part", ["obs", "var"])
def test_numbers_that_do_not_fit_their_annotations_are_refused(cells, form, part):
    path = cells(form(COUNTS))
    with h5py.File(path, "a") as file:
        write_elem(file, part, pd.DataFrame(index=["a", "b"]))
    with pytest.raises(ValueError, match=r"has X of shape \(4, 3\), but \d rows in obs and \d in var"):
        read_table(path)


@pytest.mark.parametrize("wrong", [None, 2**40, -(2**40)])
def test_indices_of_64_bits_are_read_in_32(cells, wrong):
    X = sp.csr_matrix(COUNTS)
    path = cells(X)
    indices = X.indices.astype(np.int64)
    indices[-1] = indices[-1] if wrong is None else wrong
    with h5py.File(path, "a") as file:
        for name, values in {"indices": indices, "indptr": X.indptr.astype(np.int64)}.items():
            del file[f"X/{name}"]
            file[f"X/{name}"] = values
    if wrong:
        with pytest.raises(ValueError, match="holds a damaged sparse matrix: indices must be"):
            read_table(path)
        return
    table = read_table(path)
    assert table.X.indices.dtype == np.int32
    np.testing.assert_array_equal(table.X.toarray(), COUNTS)


def test_files_of_old_versions_are_read_as_a_whole(cells, tmp_path):
    path = cells(sp.csr_matrix(COUNTS))
    with h5py.File(path, "a") as file:
        del file.attrs["encoding-type"], file.attrs["encoding-version"]
    write_table(tmp_path / "out.h5ad", read_table(path), SELECTION)
    written = anndata.read_h5ad(tmp_path / "out.h5ad")
    np.testing.assert_array_equal(written.X.toarray(), COUNTS)
    assert written.var["ufselect_rank"].tolist() == [2, 3, 1]


WRITE_TO_A_FULL_DISK = """
import os
import resource
import signal
import sys
import numpy as np
from ufselect.files import Selection, read_table, write_table

source, target = sys.argv[1:]
table, selection = read_table(source), Selection(np.ones(300), np.arange(1, 301), 2)
write_table(target, table, selection)
size = os.path.getsize(target)
os.unlink(target)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file that grows too large is then an error, as on a full disk
for share in (0.02, 0.5, 0.75, 0.85, 0.9, 0.93, 0.96, 0.99):
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * size),) * 2)
        try:
            write_table(target, table, selection)
        except OSError as error:
            sys.exit(error.strerror)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.parametrize("ending", ["h5ad", "npz"])
def test_a_full_disk_is_an_error_wherever_it_stops_the_writing(tmp_path, ending):
    X = np.random.default_rng(0).random((20, 300))
    anndata.AnnData(X).write_h5ad(tmp_path / "x.h5ad")
    labels = {f"label{j}": np.array([f"{i}" * 50 for i in range(20)]) for j in range(99)}  # HDF5 reads some of it again
    np.savez(tmp_path / "x.npz", X=X, **labels)
    paths = [str(tmp_path / f"x.{ending}"), str(tmp_path / "out.h5ad")]
    done = subprocess.run(
        [*warm_python(), "-c", WRITE_TO_A_FULL_DISK, *paths], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["1"] * 8, done.stderr[-500:]
    assert done.stderr.splitlines() == ["File too large"] * 8
