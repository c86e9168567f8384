import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import duality_gaps

from ufselect.columns.dense import Columns
from ufselect.graphs.self_expression import fixed_size_self_expression, sparse_self_expression

BENCHMARK_SETS = ["JAFFE", "TOX", "USPS49"]


def random_samples(n, c, seed=0):
    return np.random.default_rng(seed).standard_normal((n, c))


def largest_correlations(Z):
    correlations = np.abs(Z @ Z.T)
    np.fill_diagonal(correlations, 0.0)
    return correlations.max(axis=1)


def objectives(Z, S, penalties):
    """‖zᵢ − Zᵀsᵢ‖² + αᵢ‖sᵢ‖₁ of every sample."""
    return np.sum((Z - S.T @ Z) ** 2, axis=1) + penalties * np.asarray(abs(S).sum(axis=0)).ravel()


def assert_solved(Z, S, penalties, tol=1e-4):
    values, gaps = duality_gaps(Z, S, penalties)
    assert np.all(gaps <= tol * values + 1e-14 * np.sum(Z**2, axis=1))
    assert_array_equal(S.diagonal(), 0.0)


@settings(max_examples=40)
@given(n=st.integers(2, 60), c=st.integers(1, 10), ratio=st.floats(1e-3, 0.99), seed=st.integers(0, 2**16))
def test_every_column_meets_the_gap_with_a_zero_diagonal(n, c, ratio, seed):
    Z = random_samples(n, c, seed)
    S, penalties = sparse_self_expression(Z, ratio)
    assert_allclose(penalties, 2.0 * ratio * largest_correlations(Z), rtol=1e-12)
    assert_solved(Z, S, penalties)
    assert np.all(S.data != 0.0)


@pytest.mark.parametrize("name", BENCHMARK_SETS)
@pytest.mark.parametrize("ratio", [0.01, 0.5])
def test_every_sample_of_a_learned_space_meets_the_gap(learned_space, name, ratio):
    Z = learned_space(name).Z
    S, penalties = sparse_self_expression(Z, ratio)
    assert_solved(Z, S, penalties)
    assert_allclose(penalties, 2.0 * ratio * largest_correlations(Z), rtol=1e-10)


@pytest.mark.parametrize("name", BENCHMARK_SETS)
def test_a_warm_start_in_a_learned_space_ends_where_a_cold_one_does(learned_space, name):
    Z = learned_space(name).Z
    near = sparse_self_expression(Z * (1.0 + 0.05 * np.cos(np.arange(Z.shape[1]))), 0.1).S
    cold, penalties = sparse_self_expression(Z, 0.1)
    warm, _ = sparse_self_expression(Z, 0.1, warm_start=near)
    reached = objectives(Z, warm, penalties)
    assert np.all(reached <= objectives(Z, near, penalties) * (1.0 + 1e-12))
    assert_allclose(reached, objectives(Z, cold, penalties), rtol=1e-4)


def test_given_penalties_replace_the_ratio():
    Z = random_samples(40, 5)
    wanted = np.linspace(0.05, 1.2, 40) * 2.0 * largest_correlations(Z)
    S, penalties = sparse_self_expression(Z, 0.7, penalties=wanted)
    assert_array_equal(penalties, wanted)
    assert_solved(Z, S, wanted)
    counts = np.diff(S.indptr)
    assert np.all(counts[wanted > 2.0 * largest_correlations(Z)] == 0)
    assert counts[0] > 0


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array])
def test_sparse_columns_give_the_graph_of_dense_ones(layout):
    values = sp.random_array((300, 12), density=0.3, random_state=np.random.default_rng(0)) + sp.eye_array(300, 12)
    dense = Columns.prepared(values.toarray(), center=True, scale="standard")
    sparse = Columns.prepared(layout(values), center=True, scale="standard")
    expected, expected_penalties = sparse_self_expression(dense, 0.1, tol=1e-9)
    S, penalties = sparse_self_expression(sparse, 0.1, tol=1e-9)
    assert_allclose(penalties, expected_penalties, rtol=1e-10)
    assert_allclose(objectives(dense.values, S, penalties), objectives(dense.values, expected, penalties), rtol=1e-8)
    chosen, expected_chosen = fixed_size_self_expression(sparse, 4), fixed_size_self_expression(dense, 4)
    assert_allclose(chosen.toarray(), expected_chosen.toarray(), rtol=0, atol=1e-9)


def test_repeated_and_zero_samples_meet_the_gap():
    Z = np.vstack([np.repeat(random_samples(20, 4), 3, axis=0), np.zeros((3, 4))])
    S, penalties = sparse_self_expression(Z, 0.1)
    assert_solved(Z, S, penalties)
    assert S[:, -3:].nnz == S[-3:].nnz == 0


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_warm_start_of_samples_that_have_become_zero_is_forgotten(share):
    Z = np.random.default_rng(0).standard_normal((60, 5))
    near, _ = sparse_self_expression(Z, 0.01)
    zero = np.arange(60) < share * 60
    Z[zero] = 0.0
    S, penalties = sparse_self_expression(Z, 0.01, warm_start=near)
    assert S[:, zero].nnz == 0
    assert S[zero].nnz == 0
    assert_solved(Z, S, penalties)


def test_a_warm_start_of_a_sample_orthogonal_to_all_others_is_forgotten():
    Z = np.random.default_rng(1).standard_normal((40, 4))
    near, _ = sparse_self_expression(Z, 0.01)
    Z[:, 3] = 0.0
    Z[7] = [0.0, 0.0, 0.0, 2.0]
    S, penalties = sparse_self_expression(Z, 0.01, warm_start=near)
    assert penalties[7] == 0.0
    assert S[:, [7]].nnz == 0


@settings(max_examples=30)
@given(n=st.integers(2, 40), c=st.integers(1, 8), size=st.integers(1, 12), seed=st.integers(0, 2**16))
def test_a_fixed_size_is_kept_exactly_and_the_residual_is_orthogonal_to_the_chosen(n, c, size, seed):
    Z = random_samples(n, c, seed)
    S = fixed_size_self_expression(Z, size)
    assert_array_equal(np.diff(S.indptr), min(size, n - 1))
    assert_array_equal(S.diagonal(), 0.0)
    residuals = Z - S.T @ Z
    for i in range(n):
        chosen = S.indices[S.indptr[i] : S.indptr[i + 1]]
        assert len(set(chosen)) == len(chosen)
        assert i not in chosen
        assert np.abs(Z[chosen] @ residuals[i]).max() <= 1e-9


# More dimensions than samples


def clustered_samples(n, d, seed=0):
    """Three clusters of nearly parallel samples."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((3, d))[np.arange(n) % 3] + 0.1 * rng.standard_normal((n, d))


@pytest.mark.parametrize("ratio", [1e-3, 0.1])
@pytest.mark.parametrize("draw", [random_samples, clustered_samples])
def test_every_column_meets_the_gap_in_many_dimensions(draw, ratio):
    Z = draw(60, 1000)
    S, penalties = sparse_self_expression(Z, ratio)
    assert_allclose(penalties, 2.0 * ratio * largest_correlations(Z), rtol=1e-12)
    assert_solved(Z, S, penalties)


@pytest.mark.parametrize("form", ["float32", "csc, centred"])
def test_other_forms_of_many_dimensions_meet_the_gap(form):
    dense = np.maximum(random_samples(50, 800), 0.0)
    if form == "float32":
        dense = dense.astype(np.float32).astype(np.float64)
        X = Columns(dense.astype(np.float32))
    else:
        means = dense.mean(axis=0)
        X, dense = Columns(sp.csc_array(dense), means, centered=True), dense - means
    S, penalties = sparse_self_expression(X, 0.05)
    assert_solved(dense, S, penalties, 1.01e-4)
