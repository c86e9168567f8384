import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import config_context

from ufselect.columns.dense import Columns
from ufselect.graphs import spectral
from ufselect.graphs.laplacian import NormalizedLaplacian, column_energies, neighbor_scatters
from ufselect.graphs.neighbors import nearest_others, neighbor_graph
from ufselect.graphs.spectral import Spectrum, rotated_within_repeats, smallest_eigenvectors, spectral_embedding


def groups(n, apart, count=4, seed=0):
    """Samples in groups whose centres are so far apart."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 6)) + apart * np.eye(count, 6)[np.arange(n) % count]


def graph_of(X, k=6):
    return neighbor_graph(Columns(X), nearest_others(X, k))


def components(sizes, seed=0):
    """A graph with a component of every size, its samples in the order of the sizes, and whose they are."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    A = np.random.default_rng(seed).uniform(0.5, 1.0, (len(group), len(group))) * (group[:, None] == group)
    A = A + A.T
    np.fill_diagonal(A, 0.0)
    return sp.csr_array(A), group


def kernel_of(X):
    distances = cdist(X, X, "sqeuclidean")
    kernel = np.exp(-distances / (2.0 * distances.mean()))
    np.fill_diagonal(kernel, 0.0)
    return kernel


def dense_formula(A):
    """I − D^(-1/2) A D^(-1/2)."""
    A = A.toarray() if sp.issparse(A) else A
    degrees = A.sum(axis=1)
    return np.eye(len(A)) - A / np.sqrt(np.outer(degrees, degrees))


def nontrivial_pairs(A, count):
    """Smallest eigenpairs of the dense formula in the complement of D^(1/2)1."""
    L = dense_formula(A)
    trivial = np.sqrt(np.asarray(A.sum(axis=1)).ravel())
    trivial /= np.linalg.norm(trivial)
    values, vectors = np.linalg.eigh(L + 3.0 * np.outer(trivial, trivial))
    return values[:count], vectors[:, :count]


def assert_same_space(U, V, atol):
    assert_allclose(U @ U.T, V @ V.T, rtol=0, atol=atol)


# The operator


@settings(max_examples=20)
@given(n=st.integers(5, 40), k=st.integers(1, 4), dense=st.booleans(), seed=st.integers(0, 2**16))
def test_the_operator_applies_the_formula(n, k, dense, seed):
    rng = np.random.default_rng(seed)
    A = graph_of(rng.standard_normal((n, 3)), k)
    A = A.toarray() if dense else A
    L, expected = NormalizedLaplacian(A), dense_formula(A)
    B = rng.standard_normal((n, 3))
    assert_allclose(L.toarray(), expected, rtol=0, atol=1e-14)
    assert_allclose(L @ B, expected @ B, rtol=0, atol=1e-13)
    assert_allclose(L @ B[:, 0], expected @ B[:, 0], rtol=0, atol=1e-13)
    assert_allclose(L @ L.trivial_vector(), 0.0, rtol=0, atol=1e-13)
    values = np.linalg.eigvalsh(expected)
    assert values[0] >= -1e-13
    assert values[-1] <= 2.0 + 1e-13


@pytest.mark.parametrize("sizes", [[30], [5, 12, 8], [20, 4, 4, 9]])
def test_null_vectors_are_those_of_the_components_largest_first(sizes):
    A, group = components(sizes)
    L = NormalizedLaplacian(A)
    null = L.null_vectors()
    order = np.argsort(-np.array(sizes), kind="stable")
    assert_array_equal(null > 0.0, group[:, None] == order)
    assert_allclose(null.T @ null, np.eye(len(sizes)), rtol=0, atol=1e-14)
    assert_allclose(L @ null, 0.0, rtol=0, atol=1e-14)
    assert np.count_nonzero(np.linalg.eigvalsh(L.toarray()) < 1e-10) == len(sizes)


# Eigenvectors


@pytest.mark.parametrize("n", [120, 700])
@pytest.mark.parametrize("apart", [3.0, 100.0])
@pytest.mark.parametrize("count", [2, 6])
def test_the_embedding_solves_the_generalised_problem(n, apart, count):
    # Far apart: four components, so that the eigenvalue zero is repeated; 700 samples take the iterative route.
    A = graph_of(groups(n, apart))
    D = np.asarray(A.sum(axis=1)).ravel()
    values, Y = spectral_embedding(A, count)
    assert_allclose(Y.T @ (D[:, None] * Y), np.eye(count), rtol=0, atol=1e-10)
    assert_allclose(D @ Y, 0.0, rtol=0, atol=1e-9)
    residuals = np.sqrt(1.0 / D)[:, None] * (D[:, None] * Y - A @ Y - values * D[:, None] * Y)
    # The iterative route ends at 1e-7 of the largest eigenvalue, which is two at most.
    assert np.linalg.norm(residuals, axis=0).max() <= (1e-12 if n <= 500 else 2e-7)
    assert_allclose(values, nontrivial_pairs(A, count)[0], rtol=0, atol=1e-10)


def test_with_fewer_vectors_than_components_the_largest_components_are_told_apart():
    A, group = components([5, 12, 8, 10])
    values, Y = spectral_embedding(A, 1)
    assert_allclose(values, 0.0, rtol=0, atol=1e-14)
    degrees = np.asarray(A.sum(axis=1)).ravel()
    expected = (group == 1) - degrees[group == 1].sum() / degrees.sum()
    expected /= np.sqrt(degrees @ expected**2)
    assert_allclose(Y[:, 0], expected, rtol=1e-10)


@pytest.mark.parametrize("count", [3, 8])
def test_the_iterative_route_converges_on_a_kernel(monkeypatch, count):
    # All eigenvalues but the trivial one are close to one: nothing may let that one grow back.
    monkeypatch.setattr(spectral, "LARGEST_DENSE_SYSTEM", 0)
    A = kernel_of(groups(600, 4.0))
    found = smallest_eigenvectors(NormalizedLaplacian(A), count, nontrivial=True, dense=False)
    assert_allclose(found.values, nontrivial_pairs(A, count)[0], rtol=0, atol=1e-10)


# Repeated eigenvalues


def test_settled_vectors_diagonalise_what_the_data_see_and_keep_their_span():
    rng = np.random.default_rng(0)
    X = Columns(rng.standard_normal((30, 5)))
    Y, _ = np.linalg.qr(rng.standard_normal((30, 7)))
    repeats = [(0, 3), (4, 6)]
    settled = rotated_within_repeats(Spectrum(np.array([0.0, 1e-12, 2e-12, 0.5, 0.7, 0.7 + 1e-12, 0.9]), Y), X)
    for start, stop in [*repeats, (3, 4), (6, 7)]:
        assert_same_space(settled[:, start:stop], Y[:, start:stop], atol=1e-12)
    for start, stop in repeats:
        image = X.transposed_matmul(settled[:, start:stop])
        seen = image.T @ image
        assert_allclose(seen - np.diag(np.diag(seen)), 0.0, rtol=0, atol=1e-11)
        assert np.all(np.diff(np.diag(seen)) <= 0.0)
    assert np.all(settled[np.abs(settled).argmax(axis=0), np.arange(7)] > 0.0)


# Energies of columns


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("working_memory", [0.01, 1024])
@pytest.mark.parametrize("center", [False, True])
def test_energies_and_scatters_follow_their_formulas(layout, working_memory, center):
    # So little working memory that every block is a column.
    values = np.random.default_rng(0).integers(0, 3, (60, 9)).astype(np.float64)
    X = Columns.prepared(layout(values), center=center, scale="standard")
    dense = X.columns(slice(None))
    A = graph_of(values)
    D = np.diag(A.toarray().sum(axis=1))
    between_form = D - D @ np.ones((60, 60)) @ D / D.sum()
    K = np.random.default_rng(1).standard_normal((60, 60))
    with config_context(working_memory=working_memory):
        between, within = neighbor_scatters(X, A)
        one, other = column_energies(X, NormalizedLaplacian(A), K)
    assert_allclose(one, np.diag(dense.T @ dense_formula(A) @ dense), rtol=1e-12)
    assert_allclose(other, np.diag(dense.T @ K @ dense), rtol=0, atol=1e-11)
    assert_allclose(between, np.diag(dense.T @ between_form @ dense), rtol=1e-12)
    assert_allclose(within, np.diag(dense.T @ (D - A.toarray()) @ dense), rtol=1e-12)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_scatters_keep_their_digits_beside_a_large_offset(offset):
    # Multiples of 1/64, so that the offset changes no digit of a difference.
    values = np.round(64.0 * groups(80, 4.0)) / 64.0
    A = graph_of(values)
    for one, other in zip(
        neighbor_scatters(Columns(values), A), neighbor_scatters(Columns(values + offset), A), strict=True
    ):
        # What is taken off is a mean of the size of the offset, rounded.
        assert_allclose(one, other, rtol=1e-15 * offset)


def test_a_small_local_scatter_keeps_its_digits():
    A, group = components([9, 14, 11])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 4))[group] + 1e-6 * rng.standard_normal((34, 4))
    edges = A.tocoo()
    row, column = edges.coords
    expected = 0.5 * edges.data @ (X[row] - X[column]) ** 2
    _, within = neighbor_scatters(Columns(X), A)
    # The data themselves have rounding of 1e-10 in differences of 1e-6.
    assert_allclose(within, expected, rtol=1e-8)
