"""A small set of data in a file, and experiments on it."""

import numpy as np
import pytest

from ufselect.benchmark.experiment import read_experiment

LOGGED = "logged_selectors:Logged"  # beside this file, where pytest, joblib's and Dask's workers find it


@pytest.fixture
def small_set(tmp_path):
    """The path of a file with 30 samples of three classes in 12 columns, the first four of which tell them apart."""
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 10)
    X = rng.standard_normal((30, 12))
    X[:, :4] += 3.0 * rng.standard_normal((3, 4))[classes]
    path = tmp_path / "small.npz"
    np.savez(path, X=X, y=classes)
    return str(path)


@pytest.fixture
def write_experiment(tmp_path):
    """Write an experiment's file: the methods and further lines are TOML, the rest has values that serve."""

    def write(methods, *, data, name="small", protocol="published", counts="[2, 4, 6]", more="", folder=tmp_path):
        sets = ", ".join(f"'{each}'" for each in data)
        path = folder / f"{name}.toml"
        path.write_text(
            f'title = "A small one"\nprotocol = "{protocol}"\ndata = [{sets}]\n'
            f"counts = {counts}\nn_runs = 2\n{more}\n{methods}",
            encoding="utf-8",
        )
        return path

    return write


@pytest.fixture
def make_experiment(write_experiment):
    """The same, read again."""
    return lambda methods, **fields: read_experiment(write_experiment(methods, **fields))
