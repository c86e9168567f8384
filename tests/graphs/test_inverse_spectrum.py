import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import ufselect.graphs.spectral as module
from ufselect.graphs.inverse_spectrum import smallest_by_inverse
from ufselect.graphs.laplacian import StructureLaplacian
from ufselect.graphs.spectral import smallest_eigenvectors


def matrix_with(values, seed=0):
    """A symmetric matrix with the given eigenvalues."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


def random_start(n, width):
    return np.random.default_rng(1).standard_normal((n, width))


def assert_smallest(matrix, values, vectors, atol=1e-9):
    expected = np.linalg.eigvalsh(matrix)[: len(values)]
    top = np.abs(matrix).sum(axis=0).max()
    assert_allclose(values, expected, rtol=1e-6, atol=atol * top)
    assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-10)
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() <= 1e-7 * top


@pytest.mark.parametrize("smallest", [0.0, 1e-8, 1e-3])
def test_the_smallest_of_a_crowded_spectrum_are_found(smallest):
    matrix = matrix_with(smallest + np.geomspace(1e-4, 1.0, 300))
    assert_smallest(matrix, *smallest_by_inverse(matrix.copy(), 10, random_start(300, 18)))


def test_all_copies_of_repeated_eigenvalues_are_found():
    matrix = matrix_with(np.concatenate([np.zeros(6), np.full(4, 1e-2), np.linspace(0.1, 50.0, 290)]))
    assert_smallest(matrix, *smallest_by_inverse(matrix.copy(), 10, random_start(300, 18)))


def test_eigenvalues_of_very_different_sizes_are_told_apart():
    matrix = matrix_with(np.concatenate([np.geomspace(1e-4, 1.0, 20), np.linspace(1e3, 1e5, 280)]))
    values, vectors = smallest_by_inverse(matrix.copy(), 12, random_start(300, 20))
    assert_smallest(matrix, values, vectors, atol=1e-12)


def test_an_indefinite_matrix_and_one_without_gaps_are_left_to_others():
    assert smallest_by_inverse(matrix_with(np.linspace(-1.0, 1.0, 60)), 5, random_start(60, 13)) is None
    without_gaps = matrix_with(1.0 + 1e-3 * np.arange(800))
    assert smallest_by_inverse(without_gaps, 5, random_start(800, 6)) is None


def expression(n, seed=0):
    """An L of a self-expression and a ring of neighbours."""
    rng = np.random.default_rng(seed)
    S = 0.3 * (rng.random((n, n)) - 0.5) * (rng.random((n, n)) < 8 / n)
    P = sp.csr_array(sp.eye_array(n, k=1) + sp.eye_array(n, k=-1)) / 2.0
    return StructureLaplacian(sp.csc_array(S), P, 0.1)


@pytest.mark.parametrize("nontrivial", [False, True])
@pytest.mark.parametrize("start", ["none", "near", "dependent"])
def test_a_laplacian_with_an_expression_has_the_vectors_of_its_decomposition(nontrivial, start):
    L = expression(520)
    expected = smallest_eigenvectors(L, 8, nontrivial=nontrivial, dense=True)
    near = expected.vectors + 0.01 * np.random.default_rng(0).standard_normal(expected.vectors.shape)
    warm = {"none": None, "near": near, "dependent": np.repeat(near[:, :2], 4, axis=1)}[start]
    found = smallest_eigenvectors(L, 8, nontrivial=nontrivial, warm_start=warm)
    assert_allclose(found.values, expected.values, rtol=1e-8)
    assert_allclose(found.vectors, expected.vectors, atol=1e-5)


def test_a_laplacian_is_decomposed_if_the_iteration_does_not_converge(monkeypatch):
    L = expression(520)
    expected = smallest_eigenvectors(L, 8, dense=True)
    monkeypatch.setattr(module, "smallest_by_inverse", lambda *_: None)
    assert_allclose(smallest_eigenvectors(L, 8).vectors, expected.vectors, atol=1e-12)


def test_many_entries_in_an_expression_are_multiplied_as_a_dense_array():
    rng = np.random.default_rng(0)
    S = rng.standard_normal((40, 40)) * (rng.random((40, 40)) < 0.5)
    dense = StructureLaplacian(sp.csc_array(S), None, 1.0).toarray()
    assert_allclose(dense, (np.eye(40) - S) @ (np.eye(40) - S).T, atol=1e-12)
