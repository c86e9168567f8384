"""Datasets by name and by path, from a folder."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from ufselect.datasets import content_digest, data_folder, describe_dataset, load_dataset, registry
from ufselect.datasets.registry import PublicSet

NEED_A_FILE = ("MFEA", "USPS49", "UMIST", "JAFFE", "AR", "COIL", "LUNG", "TOX")
NEED_NONE = ("digits", "wine", "breast_cancer", "iris", "planted")


@pytest.fixture
def tiny(samples, monkeypatch):
    """A known set that has to be put into the folder."""
    X, y = samples
    public = PublicSet("TINY", 7, 3, 3, (1, 2), "a test", "the attic", content_digest(X, y))
    monkeypatch.setitem(registry.PUBLIC_SETS, "TINY", public)
    return public


def save(path, X, y):
    np.savez(path, X=X, y=y)
    return path


# By name


@pytest.mark.parametrize("name", NEED_NONE)
def test_sets_without_a_file_are_as_described(name, folder):
    dataset, public = load_dataset(name), describe_dataset(name)
    assert dataset.name == name
    assert public.difference_to(dataset) is None
    assert load_dataset(name) is dataset
    assert not dataset.X.flags.writeable


def test_a_set_is_read_from_any_format_in_the_folder(tiny, samples, folder):
    X, y = samples
    np.savetxt(folder / "TINY.csv", np.column_stack([X, y]), "%.17g", delimiter=",", header="a,b,c,y", comments="")
    assert load_dataset("TINY").name == "TINY"
    savemat(folder / "TINY.mat", {"fea": X + 1.0, "gnd": y + 1})
    np.testing.assert_array_equal(load_dataset("TINY", verify=False).X, X + 1.0)


@pytest.mark.parametrize("name", ["MFEA", "TOX", "sc_baron_h1"])
def test_a_missing_file_says_what_to_get_and_where_to_put_it(name, folder):
    with pytest.raises(FileNotFoundError) as failure:
        load_dataset(name)
    message, public = str(failure.value), describe_dataset(name)
    files = f"{name}.npz, {name}.mat, {name}.csv, {name}.csv.gz is in {folder} or its subfolder more."
    for part in (files, public.size, public.source, "UFSELECT_DATA", "arrays X", "fea and gnd", "label"):
        assert part in message


def test_a_set_in_the_subfolder_is_found_unless_the_folder_has_it(tiny, samples, folder):
    X, y = samples
    (folder / "more").mkdir()
    save(folder / "more" / "TINY.npz", X, y)
    np.testing.assert_array_equal(load_dataset("TINY").X, X)
    save(folder / "TINY.npz", X + 1.0, y)
    np.testing.assert_array_equal(load_dataset("TINY", verify=False).X, X + 1.0)


def test_the_derived_set_has_the_first_hundred_of_each_class(folder):
    y = np.random.default_rng(0).permutation(np.repeat([4, 9], [120, 130]))
    X = np.column_stack([np.arange(250.0), y])
    save(folder / "USPS49.npz", X, y)
    dataset = load_dataset("USPS200", verify=False)
    first = np.sort(np.concatenate([np.flatnonzero(y == digit)[:100] for digit in (4, 9)]))
    np.testing.assert_array_equal(dataset.X, X[first])
    assert dataset.name == "USPS200"
    assert dataset.n_classes == 2
    with pytest.raises(ValueError, match="USPS49 has 1673 samples"):
        load_dataset("USPS200")


@pytest.mark.parametrize("name", ["tox", "TOXX", "", "my set", "data/mine.txt"])
def test_an_unknown_name_is_answered_with_the_known_ones(name, folder):
    with pytest.raises(
        ValueError, match=rf"there is no dataset named '{name}'.*MFEA.*expr_tissues; or .* ends in \.npz, \.mat"
    ):
        load_dataset(name)


# Unexpected content


@pytest.mark.parametrize(
    ("nudge", "most_classes", "message"),
    [(0.0, 1, "but got 7 samples, 3 features and 2 classes"), (1e-3, 2, "SHA-256")],
)
def test_another_dataset_is_refused_unless_it_is_not_verified(nudge, most_classes, message, tiny, samples, folder):
    X, y = samples[0] + nudge, np.minimum(samples[1], most_classes)
    path = save(folder / "TINY.npz", X, y)
    with pytest.raises(ValueError, match=message) as failure:
        load_dataset("TINY")
    for part in (str(path), "delete it", "the attic", "load_dataset('TINY', verify=False)"):
        assert part in str(failure.value)
    np.testing.assert_array_equal(load_dataset("TINY", verify=False).X, X)
    with pytest.raises(ValueError, match=message):
        load_dataset("TINY")


# By path


def test_own_data_are_read_by_path(samples, folder, monkeypatch):
    path = save(folder / "mine.npz", *samples)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    for given in (path, str(path), "mine.npz", Path("mine.npz"), "~/mine.npz"):
        dataset = load_dataset(given)
        assert dataset.name == "mine"
        np.testing.assert_array_equal(dataset.X, samples[0])


# The folder


def test_the_folder_is_that_of_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for given, folder in ((tmp_path / "données",) * 2, ("~/sets", tmp_path / "sets"), ("sets", Path.cwd() / "sets")):
        monkeypatch.setenv("UFSELECT_DATA", str(given))
        assert data_folder() == folder


@pytest.mark.parametrize(
    ("platform", "set_there", "expected"),
    [
        ("linux", {}, ".cache"),
        ("linux", {"XDG_CACHE_HOME": "elsewhere"}, "elsewhere"),
        ("linux", {"XDG_CACHE_HOME": "", "UFSELECT_DATA": ""}, ".cache"),
        ("darwin", {}, "Library/Caches"),
        ("win32", {"LOCALAPPDATA": "Local"}, "Local"),
        ("win32", {}, "AppData/Local"),
    ],
)
def test_by_default_the_folder_is_in_the_cache_of_the_user(platform, set_there, expected, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("UFSELECT_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in set_there.items():
        monkeypatch.setenv(name, str(tmp_path / value) if value else "")
    assert data_folder() == tmp_path / expected / "ufselect"


# In memory


def test_a_file_is_read_once_until_it_changes(tiny, samples, folder):
    X, y = samples
    path = save(folder / "TINY.npz", X, y)
    first = load_dataset("TINY")
    assert load_dataset("TINY") is first
    assert not first.X.flags.writeable
    assert not first.y.flags.writeable
    save(path, X + 1, y)
    os.utime(path, ns=(0, 0))
    assert load_dataset("TINY", verify=False).X[0, 0] == X[0, 0] + 1
    path.unlink()
    with pytest.raises(FileNotFoundError, match="TINY"):
        load_dataset("TINY")


def test_importing_loads_neither_pandas_nor_the_sets_of_scikit_learn():
    program = (
        "import sys, sklearn.utils, scipy.sparse; before = set(sys.modules);"
        "import ufselect.datasets; added = set(sys.modules) - before;"
        "print(sorted({'pandas', 'sklearn.datasets', 'scipy.io', 'urllib.request'} & added))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# The files of the benchmark


@pytest.mark.parametrize("name", NEED_A_FILE)
def test_the_files_of_the_benchmark_are_the_ones_described(name, benchmark_set):
    X, y = benchmark_set(name)
    dataset = load_dataset(name)
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.y, y)
    assert describe_dataset(name).difference_to(dataset) is None
