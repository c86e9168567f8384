"""Files that cannot be read say so in one plain sentence."""

import os
import subprocess
import sys

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ufselect.files import read_table

X = np.random.default_rng(0).standard_normal((40, 6))
TITLES = {
    "csv.gz": "CSV",
    "parquet": "Parquet",
    "npy": "NumPy array",
    "npz": "NumPy archive",
    "mat": "MATLAB file",
    "h5ad": "AnnData",
}


def write_good_file(path):
    match path.name.split(".", 1)[1]:
        case "csv.gz":
            pd.DataFrame(X, columns=list("abcdef")).to_csv(path, index=False)
        case "parquet":
            pd.DataFrame(X, columns=list("abcdef")).to_parquet(path)
        case "npy":
            np.save(path, X)
        case "npz":
            np.savez_compressed(path, X=X)
        case "mat":
            scipy.io.savemat(path, {"X": X})
        case "h5ad":
            anndata.AnnData(X).write_h5ad(path)
    return path


def plain_sentence(error, path):
    text = str(error)
    return str(path) in text and "\n" not in text and text.endswith(".") and len(text) < len(str(path)) + 200


@pytest.mark.parametrize("ending", TITLES)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_files_cut_short(tmp_path, ending, share):
    path = write_good_file(tmp_path / f"data.{ending}")
    assert read_table(path).shape == (40, 6)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(
        ValueError, match=f"cannot be read as {TITLES[ending]}: the file is damaged or incomplete"
    ) as caught:
        read_table(path)
    assert plain_sentence(caught.value, path)


@pytest.mark.parametrize("ending", TITLES)
@pytest.mark.parametrize(
    "content", [b"<!DOCTYPE html><html><body>Not found</body></html>", bytes(range(256)) * 20, b"\0"]
)
def test_files_of_another_kind(tmp_path, ending, content):
    path = tmp_path / f"data.{ending}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"cannot be read as {TITLES[ending]}") as caught:
        read_table(path)
    assert plain_sentence(caught.value, path)


@pytest.mark.parametrize("ending", ["csv", *TITLES])
def test_files_that_are_not_there_or_empty_and_folders(tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    with pytest.raises(FileNotFoundError) as missing:
        read_table(path)
    assert str(missing.value) == f"There is no file {path}."
    path.touch()
    with pytest.raises(ValueError, match="is empty"):
        read_table(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(OSError, match="is a folder, not a file") as folder:
        read_table(path)
    assert str(folder.value) == f"{path} is a folder, not a file."


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize("ending", ["csv", "tsv", *TITLES])
def test_pipes_and_devices_are_refused_at_once(tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    os.mkfifo(path)
    with pytest.raises(OSError, match="is not a regular file") as caught:
        read_table(path)
    assert str(caught.value) == f"{path} is not a regular file; save the data to a file first."
    path.unlink()
    path.symlink_to(os.devnull)
    with pytest.raises(OSError, match="is not a regular file"):
        read_table(path)


FORBIDDEN = """
import os, sys
import ufselect.files.text  # before the user changes, who may not read it
from ufselect.files import read_table
if os.getuid() == 0:  # who may read everything
    os.setuid(65534)
try:
    read_table(sys.argv[1])
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind are POSIX")
def test_files_that_may_not_be_read(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n")
    path.chmod(0)
    answer = subprocess.run([sys.executable, "-c", FORBIDDEN, str(path)], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == f"{path} cannot be read: permission denied."


def test_matlab_files_of_version_73(tmp_path):
    path = tmp_path / "data.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["X"] = X
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    with pytest.raises(ValueError, match=r"is a MATLAB file of version 7\.3, which is not supported; save it with -v7"):
        read_table(path)


def test_arrays_under_the_wrong_ending(tmp_path):
    np.save(tmp_path / "one.npy", X)
    np.savez(tmp_path / "several.npz", X=X)
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    (tmp_path / "several.npz").rename(tmp_path / "several.npy")
    with pytest.raises(ValueError, match=r"rename it to .npy"):
        read_table(tmp_path / "one.npz")
    with pytest.raises(ValueError, match=r"rename it to .npz"):
        read_table(tmp_path / "several.npy")


@given(st.binary(max_size=200) | st.text("ab1.,;\"'\n\r\t -", max_size=60).map(str.encode))
@example(b'"')
@example(b"a\n\n\r\n")
@example(b",\n,\n")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_a_table_or_refused_in_a_sentence(tmp_path, content):
    path, table = tmp_path / "data.csv", None
    path.write_bytes(content)
    try:
        table = read_table(path)
    except ValueError as error:
        refusal = error
    if table is None:
        assert plain_sentence(refusal, path), refusal
        return
    assert table.shape[0] > 0
    assert table.shape[1] == len(table.names) == len(set(table.names)) > 0
    assert all(len(values) == table.shape[0] for values in table.aside.values())
