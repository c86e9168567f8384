"""What several test modules share: stored numbers, benchmark data, small experiments."""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import settings

from ufselect.columns.dense import Columns
from ufselect.columns.moments import constant_columns
from ufselect.datasets import loaders
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.spectral import smallest_eigenvectors
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import smallest_penalty_for_zero

REFERENCE = Path(__file__).parent / "reference"

# The same examples in every run: what fails, fails again. `pytest --hypothesis-profile=explore` looks for new ones.
# There is no deadline, because machines are busy at times.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("same")


class LearnedSpace(NamedTuple):
    """Standardised data, their spectral embedding, and their image under a row-sparse regression on it."""

    X: Columns
    Y: np.ndarray
    penalty: float
    Z: np.ndarray


def load_reference(name):
    """The arrays of ``tests/reference/NAME.npz`` by name."""
    with np.load(REFERENCE / f"{name}.npz") as stored:
        return dict(stored)


@cache
def load_benchmark_set(name):
    folder = os.environ.get("UFSELECT_DATA")
    if not folder:
        pytest.skip("UFSELECT_DATA is not set: no benchmark data")
    path = Path(folder) / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"no file {name}.npz in UFSELECT_DATA")
    with np.load(path) as stored:
        return stored["X"].astype(np.float64), stored["y"]


@cache
def learn_space(name):
    values, y = load_benchmark_set(name)
    X = Columns.prepared(values[:, ~constant_columns(values)], center=True, scale="standard")
    L = structure_laplacian(None, adaptive_neighbors(X, 5).P, 1.0)
    Y = smallest_eigenvectors(L, len(np.unique(y))).vectors
    penalty = 0.05 * smallest_penalty_for_zero(X, Y)
    return LearnedSpace(X, Y, penalty, X @ l21_regression(X, Y, penalty).coef)


@pytest.fixture(scope="session")
def reference():
    """Load stored reference numbers by name."""
    return load_reference


@pytest.fixture(scope="session")
def benchmark_set():
    """Load (X, y) of a benchmark set by name; skips the test where the data are not at hand."""
    return load_benchmark_set


@pytest.fixture(scope="session")
def learned_space():
    """Learn a space from a benchmark set by name; skips the test where the data are not at hand."""
    return learn_space


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
def samples():
    """Values that no decimal writes exactly, and classes that are not sorted."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((7, 3)) * 10.0 ** rng.integers(-5, 5, size=(7, 3)), np.array([2, 0, 0, 1, 2, 1, 1])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which sets are looked for: empty, and nothing is in memory."""
    monkeypatch.setenv("UFSELECT_DATA", str(tmp_path))
    loaders._read_once.cache_clear()
    return tmp_path


@pytest.fixture(scope="module")
def cluster():
    """A client of a Dask cluster of two processes."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        # Workers are forked from a process that has imported Dask.
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs="CRITICAL"
        ) as opened,
        distributed.Client(opened, set_as_default=True) as client,
    ):
        yield client
