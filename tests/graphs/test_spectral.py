import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.graphs import spectral, subspace_iteration
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.laplacian import StructureLaplacian, structure_laplacian
from ufselect.graphs.self_expression import sparse_self_expression
from ufselect.graphs.spectral import aligned, eigengap, smallest_by_inverse, smallest_eigenvectors, turn_between

GROUPS = 5


def samples(n=300, apart=4.0, seed=0):
    """Samples in groups whose centres are so far apart."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 6)) + apart * np.eye(GROUPS, 6)[np.arange(n) % GROUPS]


def connected():
    return structure_laplacian(None, adaptive_neighbors(samples(), 6).P, 1.0)


def disconnected():
    return structure_laplacian(None, adaptive_neighbors(samples(apart=50.0), 6).P, 1.0)


def with_self_expression():
    Z = samples()
    return structure_laplacian(sparse_self_expression(Z, 0.1).S, adaptive_neighbors(Z, 6).P, 0.5)


def self_expression_alone():
    return structure_laplacian(sparse_self_expression(samples(), 0.1).S, None, 1.0)


def unknown_repeated_zero():
    """Groups that are rebuilt from within by weights that sum to one: a null vector each, not known beforehand."""
    P = adaptive_neighbors(samples(apart=50.0), 6).P
    return structure_laplacian(sp.csc_array(P.T), P, 0.5)


LAPLACIANS = [connected, disconnected, with_self_expression, self_expression_alone, unknown_repeated_zero]


def count_before_a_gap(L):
    """Eigenvalues of L, and a number of them, GROUPS or little more, with a clear gap behind."""
    values = np.linalg.eigvalsh(L.toarray())
    return values, GROUPS + int(np.argmax(np.diff(values[GROUPS - 1 : GROUPS + 6])))


def projector_distance(U, V):
    return np.linalg.norm(U @ U.T - V @ V.T)


def oracle(L, count):
    return np.linalg.eigh(L.toarray())[1][:, :count]


def assert_right(L, spectrum, values, count):
    assert spectrum.vectors.shape == (L.shape[0], count)
    assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(count), rtol=0, atol=1e-10)
    assert_allclose(spectrum.values, values[:count], rtol=0, atol=1e-8)
    assert projector_distance(spectrum.vectors, oracle(L, count)) < 1e-5
    assert np.all(spectrum.vectors[np.abs(spectrum.vectors).argmax(axis=0), np.arange(count)] > 0.0)


@pytest.mark.parametrize("make", LAPLACIANS)
@pytest.mark.parametrize("dense", [True, False, None])
def test_both_routes_find_the_smallest_eigenpairs(make, dense):
    L = make()
    values, count = count_before_a_gap(L)
    assert_right(L, smallest_eigenvectors(L, count, dense=dense), values, count)


def starts(L, count):
    """Warm starts by name: good, bad and beside the point."""
    rng = np.random.default_rng(1)
    exact = oracle(L, count)
    return {
        "the answer": exact,
        "near the answer": exact + 0.01 * rng.standard_normal(exact.shape),
        "random": rng.standard_normal(exact.shape),
        "half of the answer": exact[:, : count // 2],
        "one vector repeated": np.repeat(exact[:, :1], count, axis=1),
        "constant": np.ones((L.shape[0], 1)),
        "indicators of the groups": np.eye(GROUPS)[np.arange(L.shape[0]) % GROUPS],
        "zero": np.zeros((L.shape[0], count)),
        "more vectors than are wanted": rng.standard_normal((L.shape[0], 3 * count)),
        "the largest eigenvectors": np.linalg.eigh(L.toarray())[1][:, -count:],
    }


@pytest.mark.parametrize("make", LAPLACIANS)
def test_no_warm_start_leads_astray(make):
    L = make()
    values, count = count_before_a_gap(L)
    for start in starts(L, count).values():
        assert_right(L, smallest_eigenvectors(L, count, dense=False, warm_start=start), values, count)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("count", [2, GROUPS])
def test_with_more_components_than_vectors_the_largest_components_are_named(dense, count):
    sizes = [40, 70, 55, 30, 60]
    group = np.repeat(np.arange(5), sizes)
    Z = np.random.default_rng(0).standard_normal((len(group), 3)) + 100.0 * group[:, None]
    L = structure_laplacian(None, adaptive_neighbors(Z, 20).P, 1.0)
    assert L.null_vectors().shape[1] == 5
    values, vectors = smallest_eigenvectors(L, count, dense=dense)
    assert_array_equal(values, np.zeros(count))
    expected = np.array([1, 4, 2, 0, 3])[:count]
    assert_allclose(vectors, (group[:, None] == expected) / np.sqrt(np.array(sizes)[expected]), rtol=1e-14)


@pytest.mark.parametrize("name", ["JAFFE", "TOX", "USPS49"])
def test_both_routes_agree_on_benchmark_data_and_the_iterative_one_meets_its_tolerance(learned_space, name):
    # The largest eigenvalues are hundreds of times the smallest; those of USPS49 are a crowd above one.
    space = learned_space(name)
    L = structure_laplacian(sparse_self_expression(space.Z, 0.1).S, adaptive_neighbors(space.Z, 5).P, 1.0)
    dense = smallest_eigenvectors(L, space.Z.shape[1] + 6, dense=True)
    before_a_gap, largest = eigengap(np.append(-1.0, dense.values)) - 1, np.linalg.norm(L.toarray(), 2)
    for count, warm_start in ((before_a_gap, space.Y), (space.Z.shape[1], space.Y), (space.Z.shape[1], None)):
        values, vectors = smallest_eigenvectors(L, count, dense=False, warm_start=warm_start)
        assert_allclose(vectors.T @ vectors, np.eye(count), rtol=0, atol=1e-10)
        vectors = vectors / np.linalg.norm(vectors, axis=0)
        assert np.linalg.norm(L @ vectors - vectors * values, axis=0).max() <= 1e-7 * largest
        if count == before_a_gap:
            assert_allclose(values, dense.values[:count], rtol=0, atol=1e-7)
            # Davis and Kahan: a residual moves a space by at most itself divided by the gap.
            residual, gap = 1e-7 * largest * np.sqrt(count), dense.values[count] - dense.values[count - 1]
            assert projector_distance(vectors, dense.vectors[:, :count]) < 2.0 * residual / gap


@pytest.mark.parametrize(
    ("values", "least", "expected"),
    [
        ([0.0, 0.0, 0.0, 1.0, 1.1], 2, 3),
        ([0.0, 5.0, 5.1, 5.3], 2, 3),
        ([0.0, 5.0, 5.1], 2, 2),
        ([0.0, 1.0, 2.0, 3.0], 2, 2),
        ([0.0, 1.0], 2, 2),
        *[([0.0, 0.0, 5.0, 5.1, 5.2, 6.0, 6.1], *case) for case in ((2, 2), (3, 5), (5, 5), (6, 6), (7, 7))],
    ],
)
def test_the_eigengap_counts_what_lies_before_the_widest_gap_after_the_least_number(values, least, expected):
    assert eigengap(np.array(values), least) == expected


def orthonormal(n, c, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, c)))[0]


@settings(max_examples=30)
@given(n=st.integers(4, 20), c=st.integers(1, 4), seed=st.integers(0, 2**16))
def test_alignment_keeps_the_span_and_comes_nearest(n, c, seed):
    vectors, reference = orthonormal(n, c, seed), orthonormal(n, c, seed + 1)
    turned = aligned(vectors, reference)
    assert_allclose(turned.T @ turned, np.eye(c), rtol=0, atol=1e-12)
    assert_allclose(turned @ turned.T, vectors @ vectors.T, rtol=0, atol=1e-12)
    nearest = np.linalg.norm(turned - reference)
    for other in range(5):
        rotation = orthonormal(c, c, seed + 2 + other)
        assert nearest <= np.linalg.norm(vectors @ rotation - reference) + 1e-12


@settings(max_examples=30)
@given(n=st.integers(6, 20), c=st.integers(1, 3), seed=st.integers(0, 2**16))
def test_the_turn_is_the_distance_of_projectors_and_sees_spans_only(n, c, seed):
    rng = np.random.default_rng(seed)
    U, V = orthonormal(n, c, seed), orthonormal(n, c, seed + 1)
    expected = projector_distance(U, V) / np.sqrt(2.0 * c)
    mixed, other = (
        U @ (rng.standard_normal((c, c)) + 5.0 * np.eye(c)),
        V @ (rng.standard_normal((c, c)) + 5.0 * np.eye(c)),
    )
    assert_allclose(turn_between(U, V), expected, rtol=0, atol=1e-7)
    assert_allclose(turn_between(mixed, other), expected, rtol=0, atol=1e-7)
    assert_allclose(turn_between(V, U), expected, rtol=0, atol=1e-7)


def test_the_turn_between_spaces_of_different_dimension():
    Q = orthonormal(10, 6, 0)
    dependent = np.column_stack([Q[:, 0], Q[:, 1], Q[:, 0] - 2.0 * Q[:, 1]])
    assert turn_between(dependent, Q[:, :2]) < 1e-7
    assert_allclose(turn_between(Q[:, :3], Q[:, :2]), np.sqrt(1.0 - 4.0 / 5.0), rtol=1e-12)


@pytest.mark.parametrize("share", [0.9, 0.5])
def test_a_low_estimate_of_the_largest_eigenvalue_does_no_harm(monkeypatch, share):
    # Seen on UMIST: Lanczos' vectors had settled on the second largest, and the filter then grew the largest.
    L = structure_laplacian(None, adaptive_neighbors(samples(n=700), 6).P, 1.0)
    values = np.linalg.eigvalsh(L @ np.eye(L.shape[0]))
    monkeypatch.setattr(StructureLaplacian, "largest_eigenvalue", lambda *_: share * values[-1])
    found = smallest_eigenvectors(L, 5, nontrivial=True, random_state=0)
    assert_allclose(found.values, values[1:6], atol=1e-6 * values[-1])


# By the inverse of a dense matrix


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


@pytest.mark.parametrize(
    "spectrum",
    [
        np.geomspace(1e-4, 1.0, 300),
        1e-3 + np.geomspace(1e-4, 1.0, 300),
        np.concatenate([np.zeros(6), np.full(4, 1e-2), np.linspace(0.1, 50.0, 290)]),
    ],
    ids=["crowded", "far from zero", "repeated"],
)
def test_the_smallest_of_a_crowded_or_repeated_spectrum_are_found(spectrum):
    matrix = matrix_with(spectrum)
    assert_smallest(matrix, *smallest_by_inverse(matrix.copy(), 10, random_start(300, 18)))


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
    monkeypatch.setattr(spectral, "smallest_by_inverse", lambda *_: None)
    assert_allclose(smallest_eigenvectors(L, 8).vectors, expected.vectors, atol=1e-12)


# Blocks of vectors in place, a few rows at a time


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_basis_is_orthonormal_and_spans_the_block(monkeypatch, dtype):
    monkeypatch.setattr(subspace_iteration, "_ROWS_AT_ONCE", 64)
    rng = np.random.default_rng(0)
    block = rng.standard_normal((300, 8)) @ np.diag(np.logspace(0, -4, 8)) @ rng.standard_normal((8, 8))
    precision = 50 * np.finfo(dtype).eps
    basis = subspace_iteration.orthonormalize(block.astype(dtype))
    assert_allclose(basis.T @ basis, np.eye(8), atol=precision)
    # The smallest direction is 1e-4 of the largest, and loses as many digits.
    assert_allclose(basis @ (basis.T @ block), block, atol=precision * np.abs(block).max())
    of_copies = subspace_iteration.orthonormalize(np.ones((300, 3), dtype=dtype))
    assert_allclose(of_copies.T @ of_copies, np.eye(3), atol=precision)
    avoided = np.linalg.qr(rng.standard_normal((300, 3)))[0]
    expected = block - avoided @ (avoided.T @ block)
    assert subspace_iteration.project_out(avoided, block) is block
    assert_allclose(block, expected, atol=1e-12)
