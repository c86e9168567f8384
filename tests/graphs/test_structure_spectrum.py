import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh, subspace_angles
from scipy.spatial.distance import cdist

import ufselect.graphs.structure_spectrum as module
from ufselect.graphs.laplacian import StructureLaplacian
from ufselect.graphs.spectral import smallest_eigenvectors
from ufselect.graphs.structure_spectrum import smallest_of_structure

N = 600
COUNT = 8


def graph(n, per_sample, seed):
    """Random weights on the nearest of some random points, which sum to 1 for every sample."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 3))
    distances = cdist(points, points) + 9.0 * np.eye(n)
    near = np.argsort(distances, axis=1)[:, :per_sample]
    weights = rng.random(near.shape)
    rows = np.repeat(np.arange(n), per_sample)
    return sp.csr_array(((weights / weights.sum(axis=1, keepdims=True)).ravel(), (rows, near.ravel())), shape=(n, n))


def expression_of(n, per_sample=8):
    return sp.csc_array(0.97 * graph(n, per_sample, 0).T)


def neighbors_of(n):
    return graph(n, 5, 0)


def several(part, count):
    return sp.block_diag([part] * count, format="csr")


def laplacian(local_weight=0.1):
    return StructureLaplacian(expression_of(N), neighbors_of(N), local_weight)


def near(vectors, amount=0.01):
    return vectors + amount * np.random.default_rng(0).standard_normal(vectors.shape)


def random_block(count=COUNT, n=N):
    return np.random.default_rng(3).standard_normal((n, count))


@pytest.fixture
def without_others(monkeypatch):
    """The other route is an error."""
    monkeypatch.setattr(module, "smallest_eigenvectors", None)


def assert_smallest(L, found, *, nontrivial=False):
    """Orthonormal, with the smallest values, and eigenvectors of the inverse as well."""
    dense, count = L.toarray(), len(found.values)
    if nontrivial:
        centring = np.eye(len(dense)) - 1.0 / len(dense)
        assert_allclose(found.vectors.sum(axis=0), 0.0, atol=1e-10)
        dense = centring @ dense @ centring + np.trace(dense) / len(dense)  # which moves the constant to the end
    top = np.linalg.norm(dense, 2)
    values = eigh(dense, eigvals_only=True, subset_by_index=[0, count - 1])
    assert_allclose(found.values, values, rtol=1e-8, atol=1e-13 * top)
    assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-12)
    shifted = dense + 1e-10 * top * np.eye(len(dense))
    images = np.linalg.solve(shifted, found.vectors) * (found.values + 1e-10 * top)
    assert np.linalg.norm(images - found.vectors, axis=0).max() <= 3e-6


@pytest.mark.parametrize("nontrivial", [False, True])
@pytest.mark.parametrize("start", ["near", "far", "dependent", "constant"])
def test_the_vectors_are_those_of_the_decomposition(without_others, nontrivial, start):
    L = laplacian()
    expected = smallest_eigenvectors(L, COUNT, nontrivial=nontrivial, dense=True)
    warm = {
        "near": near(expected.vectors),
        "far": random_block(),
        "dependent": np.repeat(near(expected.vectors[:, :2]), 4, axis=1),
        "constant": np.ones((N, COUNT)),
    }[start]
    found = smallest_of_structure(L, COUNT, nontrivial=nontrivial, warm_start=warm)
    assert_smallest(L, found, nontrivial=nontrivial)
    assert np.sin(subspace_angles(found.vectors, expected.vectors)).max() <= 1e-5


@pytest.mark.parametrize("local_weight", [0.0, 1e-12, 1e-3, 1e3, 1e6])
def test_the_weight_of_the_neighbours_may_be_tiny_or_huge(local_weight):
    L = laplacian(local_weight)
    assert_smallest(L, smallest_of_structure(L, COUNT, warm_start=random_block()))


def test_an_expression_needs_no_neighbours(without_others):
    L = StructureLaplacian(expression_of(N), None, 1.0)
    assert_smallest(L, smallest_of_structure(L, COUNT, warm_start=random_block()))


def test_all_copies_of_repeated_eigenvalues_are_found(without_others):
    L = StructureLaplacian(several(expression_of(N // 3), 3), several(neighbors_of(N // 3), 3), 0.1)
    assert_smallest(L, smallest_of_structure(L, COUNT + 1, warm_start=random_block(COUNT + 1)))


def test_vectors_of_a_component_that_the_start_misses_are_found(without_others):
    L = StructureLaplacian(several(expression_of(N // 2), 2), several(neighbors_of(N // 2), 2), 0.1)
    half = StructureLaplacian(expression_of(N // 2), neighbors_of(N // 2), 0.1)
    warm = np.zeros((N, COUNT))
    warm[: N // 2] = smallest_eigenvectors(half, COUNT, dense=True).vectors
    assert_smallest(L, smallest_of_structure(L, COUNT, warm_start=warm))


def test_samples_without_expression_in_several_components_have_a_null_space(without_others):
    own = sp.csc_array(np.full((4, 4), 1.0) - np.eye(4)) / 3.0  # expresses constants exactly
    S = sp.block_diag([own, expression_of(N - 4)], format="csc")
    P = sp.block_diag([sp.csr_array(own), neighbors_of(N - 4)], format="csr")
    L = StructureLaplacian(S, P, 1.0)
    found = smallest_of_structure(L, COUNT, warm_start=random_block())
    assert abs(found.values[0]) <= 1e-12
    assert_smallest(L, found)


def test_copies_of_samples_express_each_other():
    # Every sample is the copy of another, and neighbours do not count: half of the eigenvalues are zero.
    pairs = several(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), N // 2)
    L = StructureLaplacian(sp.csc_array(pairs), None, 1.0)
    found = smallest_of_structure(L, COUNT, warm_start=random_block())
    assert_allclose(found.values, 0.0, atol=1e-12)
    assert_allclose(L @ found.vectors, 0.0, atol=1e-7)
    assert_allclose(found.vectors.T @ found.vectors, np.eye(COUNT), atol=1e-10)


def test_a_start_that_is_the_solution_remains(without_others):
    L = laplacian()
    expected = smallest_eigenvectors(L, COUNT, dense=True)
    found = smallest_of_structure(L, COUNT, warm_start=expected.vectors)
    assert_allclose(found.vectors, expected.vectors, atol=1e-6)


def test_the_result_is_the_same_every_time(without_others):
    first, second = (smallest_of_structure(laplacian(), COUNT, warm_start=random_block()) for _ in range(2))
    assert_array_equal(first.vectors, second.vectors)
    assert_array_equal(first.values, second.values)


def indefinite(*_, **__):
    return None, 1


@pytest.mark.parametrize(
    ("name", "replacement"),
    [("spotrf", indefinite), ("_MOST_STEPS", 2), ("_SHIFT", 0.5)],
    ids=["breakdown", "too few steps", "eigenvalues below the shift"],
)
def test_without_convergence_the_vectors_are_those_of_the_other_route(monkeypatch, name, replacement):
    L = laplacian()
    monkeypatch.setattr(module, name, replacement)
    found = smallest_of_structure(L, COUNT, warm_start=random_block())
    expected = smallest_eigenvectors(L, COUNT, warm_start=random_block())
    assert_array_equal(found.vectors, expected.vectors)


def test_a_search_space_without_room_is_given_up(monkeypatch):
    L, count = laplacian(), 20
    inverse = module.RoughInverse.of(L, nontrivial=False)
    space = module._SearchSpace(L, inverse.trivial, random_block(290))
    assert not space.grow(random_block(20))
    monkeypatch.setattr(module._SearchSpace, "grow", lambda *_: False)
    assert module.smallest_by_rough_inverse(L, inverse, random_block(count), 0) is None


@pytest.mark.parametrize("reason", ["no expression", "no start", "few samples", "many vectors", "dense expression"])
def test_what_has_no_cheap_factor_takes_the_other_route(monkeypatch, reason):
    monkeypatch.setattr(module.RoughInverse, "of", None)
    n, count = (300 if reason == "few samples" else N), (25 if reason == "many vectors" else COUNT)
    S = None if reason == "no expression" else expression_of(n, n // 2 if reason == "dense expression" else 8)
    L = StructureLaplacian(S, neighbors_of(n), 0.1)
    warm = None if reason == "no start" else random_block(count, n)
    found = smallest_of_structure(L, count, warm_start=warm)
    assert_array_equal(found.vectors, smallest_eigenvectors(L, count, warm_start=warm).vectors)


def test_nearly_dependent_vectors_extend_a_basis_by_orthonormal_ones():
    basis = np.linalg.qr(random_block(10))[0]
    block = basis[:, :3] + 1e-12 * random_block(3)
    beyond = module._orthonormal_beyond(basis, block)
    together = np.column_stack([basis, beyond])
    assert_allclose(together.T @ together, np.eye(13), atol=1e-12)


def test_the_triangle_is_that_of_the_dense_matrix():
    L = laplacian()
    triangle, top = module._triangle_in_single_precision(L)
    dense = L.toarray()
    assert top == pytest.approx(dense.diagonal().max())
    assert_allclose(triangle, np.tril(dense) / top, atol=1e-6)
