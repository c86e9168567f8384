import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.laplacian import NormalizedLaplacian, quadratic_form, structure_laplacian
from ufselect.graphs.self_expression import sparse_self_expression

PARTS = ["global", "local", "both"]


def structures(Z, part):
    S = sparse_self_expression(Z, 0.2).S if part != "local" else None
    P = adaptive_neighbors(Z, 4).P if part != "global" else None
    return S, P


def dense_formula(S, P, weight, n):
    """(I−S)(I−S)ᵀ + β(D − (P+Pᵀ)/2)."""
    L = np.zeros((n, n))
    if S is not None:
        L += (np.eye(n) - S.toarray()) @ (np.eye(n) - S.toarray()).T
    if P is not None:
        affinity = (P.toarray() + P.toarray().T) / 2.0
        L += weight * (np.diag(affinity.sum(axis=1)) - affinity)
    return L


def separate_groups(sizes, seed=0):
    """Samples in groups far apart, shuffled, and the group of each."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.standard_normal((len(group), 3)) + 100.0 * group[:, None], group


@settings(max_examples=30)
@given(
    n=st.integers(6, 40),
    part=st.sampled_from(PARTS),
    weight=st.sampled_from([0.01, 1.0, 50.0]),
    seed=st.integers(0, 2**16),
)
def test_the_operator_applies_the_formula(n, part, weight, seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 3))
    S, P = structures(Z, part)
    L, expected = structure_laplacian(S, P, weight), dense_formula(S, P, weight, n)
    B = rng.standard_normal((n, 4))
    atol = 1e-12 * np.abs(expected).max()
    assert L.shape == (n, n)
    assert_allclose(L.toarray(), expected, rtol=0, atol=atol)
    assert_allclose(L @ B, expected @ B, rtol=0, atol=10 * n * atol)
    assert_allclose(L @ B[:, 0], expected @ B[:, 0], rtol=0, atol=10 * n * atol)


def test_the_quadratic_form_is_that_of_the_objective():
    rng = np.random.default_rng(0)
    Z, values = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    S, P = structures(Z, "both")
    rebuilt = np.sum((values - S.T @ values) ** 2)
    apart = sum(P[i, j] * np.sum((values[i] - values[j]) ** 2) for i, j in zip(*P.nonzero(), strict=True))
    assert_allclose(quadratic_form(structure_laplacian(S, P, 0.3), values), rebuilt + 0.3 * apart / 2.0, rtol=1e-12)


@settings(max_examples=30)
@given(sizes=st.lists(st.integers(6, 15), min_size=1, max_size=5), seed=st.integers(0, 2**16))
def test_null_vectors_are_the_indicators_of_the_components_largest_first(sizes, seed):
    Z, _ = separate_groups(sizes, seed)
    L = structure_laplacian(None, adaptive_neighbors(Z, 4).P, 2.0)
    null = L.null_vectors()
    eigenvalues = np.linalg.eigvalsh(L.toarray())
    assert null.shape[1] == np.count_nonzero(eigenvalues < 1e-10) >= len(sizes)
    assert_allclose(null.T @ null, np.eye(null.shape[1]), rtol=0, atol=1e-12)
    assert_allclose(L @ null, 0.0, rtol=0, atol=1e-12)
    members = np.count_nonzero(null, axis=0)
    assert np.all(np.diff(members) <= 0)
    assert members.sum() == len(Z)


def test_a_probability_of_zero_that_is_stored_connects_nothing():
    P = sp.csr_array(np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1.0, 0]]))
    with_zero = sp.csr_array(
        (np.append(P.data, 0.0), (np.append(P.tocoo().row, 0), np.append(P.tocoo().col, 3))), (4, 4)
    )
    assert with_zero.nnz == 5
    null = structure_laplacian(None, with_zero, 1.0).null_vectors()
    assert_array_equal(np.count_nonzero(null, axis=0), [2, 2])


def test_of_components_of_the_same_size_the_order_of_the_samples_chooses_none():
    rng = np.random.default_rng(0)
    blocks = [rng.random((5, 5)) for _ in range(8)]
    A = sp.csr_array(sp.block_diag([block + block.T for block in blocks]))
    order = rng.permutation(40)
    found, turned = (NormalizedLaplacian(a).null_vectors(3) for a in (A, sp.csr_array(A[order][:, order])))
    assert_allclose(turned, found[order], rtol=0, atol=1e-12)
