"""What several test modules share: stored numbers, benchmark data, and certificates of optimality."""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from ufselect._backend.columns import Columns, constant_columns
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.spectral import smallest_eigenvectors
from ufselect.solvers.l21 import l21_regression, smallest_penalty_for_zero

REFERENCE = Path(__file__).parent / "reference"


class LearnedSpace(NamedTuple):
    """Standardised data, their spectral embedding, and their image under a row-sparse regression on it."""

    X: Columns
    Y: np.ndarray
    penalty: float
    Z: np.ndarray


def load_reference(name):
    """The arrays of ``tests/reference/NAME.npz`` by name; those made of benchmark data lie beside that data."""
    path = REFERENCE / f"{name}.npz"
    if not path.is_file():
        path = Path(os.environ.get("UFSELECT_DATA", ""), "..", "reference", "fsasl", path.name)
    if not path.is_file():
        pytest.skip(f"{path.name} is not part of the project, nor in reference/fsasl beside UFSELECT_DATA")
    with np.load(path) as stored:
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
    X = Columns.standardized(values[:, ~constant_columns(values)], center=True, unit_variance=True)
    L = structure_laplacian(None, adaptive_neighbors(X, 5).P, 1.0)
    Y = smallest_eigenvectors(L, len(np.unique(y))).vectors
    penalty = 0.05 * smallest_penalty_for_zero(X, Y)
    return LearnedSpace(X, Y, penalty, X @ l21_regression(X, Y, penalty).coef)


def duality_gaps(Z, S, penalties):
    """Objectives ‖zᵢ − Zᵀsᵢ‖² + αᵢ‖sᵢ‖₁ of all columns of S, and their duality gaps.

    With λ = α/2, θᵀz − ½‖θ‖² is a lower bound of half the objective for every θ with |zⱼᵀθ| ≤ λ, j ≠ i;
    θ is the best multiple of the residual.
    """
    S = S.toarray() if sp.issparse(S) else S
    residuals = Z - S.T @ Z
    correlations = residuals @ Z.T
    np.fill_diagonal(correlations, 0.0)
    objectives = np.sum(residuals**2, axis=1) + penalties * np.abs(S).sum(axis=0)
    bounds = np.empty(len(Z))
    for i, residual in enumerate(residuals):
        steepest = np.abs(correlations[i]).max()
        longest = np.inf if steepest == 0.0 else penalties[i] / 2.0 / steepest
        length2 = residual @ residual
        scale = 0.0 if length2 == 0.0 else min(residual @ Z[i] / length2, longest)
        bounds[i] = 2.0 * scale * (residual @ Z[i]) - scale**2 * length2
    return objectives, objectives - bounds


@pytest.fixture(scope="session")
def reference():
    """Load stored reference numbers by name."""
    return load_reference


@pytest.fixture(scope="session")
def reference_path():
    """The folder of the stored reference numbers."""
    return REFERENCE


@pytest.fixture(scope="session")
def benchmark_set():
    """Load (X, y) of a benchmark set by name; skips the test where the data are not at hand."""
    return load_benchmark_set


@pytest.fixture(scope="session")
def learned_space():
    """Learn a space from a benchmark set by name; skips the test where the data are not at hand."""
    return learn_space


@pytest.fixture(scope="session")
def self_expression_gaps():
    """Objectives and duality gaps of the columns of S."""
    return duality_gaps
