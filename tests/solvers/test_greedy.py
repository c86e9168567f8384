import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from ufselect.columns.dense import Columns
from ufselect.solvers.greedy import ridge_path


def problem(n, d, c=2, seed=0):
    """Columns of very different norms, and a target that some of them explain."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.01, 100.0, d)
    return X, X[:, : min(3, d)] @ rng.standard_normal((min(3, d), c)) + rng.standard_normal((n, c))


def explained(X, Y, chosen, ridge):
    """‖Y‖² less min_W ‖Y − X̂_C W‖² + λ‖W‖², as a share of ‖Y‖², with unit-norm columns."""
    part = (X / np.linalg.norm(X, axis=0))[:, chosen]
    W = np.linalg.solve(part.T @ part + ridge * np.eye(len(chosen)), part.T @ Y)
    return 1.0 - (np.sum((Y - part @ W) ** 2) + ridge * np.sum(W**2)) / np.sum(Y**2)


def refitted_path(X, Y, n_steps, ridge):
    """The greedy path by a new fit for every candidate."""
    order, shares = [], [0.0]
    for _ in range(n_steps):
        left = [j for j in range(X.shape[1]) if j not in order]
        best = max(left, key=lambda j: explained(X, Y, [*order, j], ridge))
        order.append(best)
        shares.append(explained(X, Y, order, ridge))
    return order, np.diff(shares)


@settings(max_examples=25)
@given(
    n=st.integers(4, 15),
    d=st.integers(1, 9),
    c=st.integers(1, 3),
    ridge=st.sampled_from([0.01, 0.3, 1.0, 10.0]),
    seed=st.integers(0, 2**16),
)
def test_order_and_gains_are_those_of_refitting_every_candidate(n, d, c, ridge, seed):
    X, Y = problem(n, d, c, seed)
    path = ridge_path(Columns(X), Y, d, ridge=ridge)
    order, gains = refitted_path(X, Y, d, ridge)
    assert_array_equal(path.order, order)
    assert_allclose(path.gains, gains, rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_a_given_order_is_followed_with_its_own_gains(shape):
    X, Y = problem(*shape)
    order = np.random.default_rng(1).permutation(shape[1])
    path = ridge_path(Columns(X), Y, 6, order=order)
    assert_array_equal(path.order, order[:6])
    shares = [explained(X, Y, list(order[:step]), 1.0) for step in range(1, 7)]
    assert_allclose(np.cumsum(path.gains), shares, rtol=0, atol=1e-10)


def test_without_ridge_to_speak_of_it_is_orthogonal_least_squares():
    X, Y = problem(40, 6)
    path = ridge_path(Columns(X), Y, 6, ridge=1e-8)
    fitted = X @ np.linalg.lstsq(X, Y)[0]
    assert_allclose(path.gains.sum(), np.sum(fitted**2) / np.sum(Y**2), rtol=1e-6)


@settings(max_examples=40)
@given(d=st.integers(2, 6), factor=st.sampled_from([1.0, 2.0, 3.0, -0.7]), seed=st.integers(0, 2**16))
def test_of_equal_columns_the_lower_comes_first(d, factor, seed):
    X, Y = problem(25, d, seed=seed)
    places = np.random.default_rng(seed).permutation(2 * d)
    twice = np.empty((25, 2 * d))
    twice[:, places] = np.hstack([X, factor * X])
    order = ridge_path(Columns(twice), Y, 2 * d).order
    rank = np.argsort(order)
    for pair in zip(places[:d], places[d:], strict=True):
        assert rank[min(pair)] < rank[max(pair)]


def test_of_all_equal_columns_the_order_is_theirs():
    x = np.random.default_rng(0).standard_normal((20, 1))
    assert_array_equal(ridge_path(Columns(np.repeat(x, 8, axis=1)), x, 8).order, np.arange(8))


@settings(max_examples=30)
@given(n=st.integers(3, 20), d=st.integers(1, 20), ridge=st.sampled_from([0.1, 1.0, 5.0]), seed=st.integers(0, 2**16))
def test_the_gains_of_all_columns_sum_to_the_share_of_all(n, d, ridge, seed):
    X, Y = problem(n, d, seed=seed)
    share = explained(X, Y, list(range(d)), ridge)
    assert_allclose(ridge_path(Columns(X), Y, d, ridge=ridge).gains.sum(), share, rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", [(40, 15), (15, 40)])
@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array])
def test_sparse_centred_columns_take_the_path_of_dense_ones(shape, layout):
    n, d = shape
    values = sp.random_array(shape, density=0.3, random_state=np.random.default_rng(0))
    values = values + sp.coo_array((np.ones(d), (np.arange(d) % n, np.arange(d))), shape=shape)
    sparse = Columns.prepared(layout(values), center=True, scale="standard")
    dense = Columns.prepared(values.toarray(), center=True, scale="standard")
    Y = np.random.default_rng(1).standard_normal((n, 3))
    path, expected = ridge_path(sparse, Y, d), ridge_path(dense, Y, d)
    assert_array_equal(path.order, expected.order)
    assert_allclose(path.gains, expected.gains, rtol=0, atol=1e-10)


@pytest.mark.parametrize("shape", [(60, 40), (20, 50)])
def test_a_given_gram_matrix_changes_nothing(shape):
    X, Y = problem(*shape)
    plain, by_gram = ridge_path(Columns(X), Y, 40), ridge_path(Columns(X), Y, 40, gram=X.T @ X)
    assert_array_equal(by_gram.order, plain.order)
    assert_allclose(by_gram.gains, plain.gains, rtol=0, atol=1e-12)


def test_the_units_of_columns_and_target_do_not_matter():
    X, Y = problem(30, 12)
    scaled = X * np.geomspace(1e-4, 1e4, 12)
    path, expected = ridge_path(Columns(scaled), 1e3 * Y, 12), ridge_path(Columns(X), Y, 12)
    assert_array_equal(path.order, expected.order)
    assert_allclose(path.gains, expected.gains, rtol=0, atol=1e-12)


def test_it_goes_on_until_the_share_is_explained():
    X, Y = problem(40, 20)
    whole = ridge_path(Columns(X), Y, 20)
    share = whole.gains[:7].sum() - 1e-9
    path = ridge_path(Columns(X), Y, 2, sufficient_share=share)
    assert_array_equal(path.order, whole.order[:7])
    assert len(ridge_path(Columns(X), Y, 12, sufficient_share=share).order) == 12
    assert len(ridge_path(Columns(X), Y, 2, sufficient_share=2.0).order) == 20


def test_it_takes_no_more_columns_than_memory_allows():
    X, Y = problem(10, 2000)
    with config_context(working_memory=1):
        path = ridge_path(Columns(X), Y, 2000)
    assert len(path.order) == 2**20 // (8 * 2000)
    assert_array_equal(path.order, ridge_path(Columns(X), Y, len(path.order)).order)


def test_columns_are_taken_once_each():
    X, Y = problem(12, 70)
    assert_array_equal(np.sort(ridge_path(Columns(X), Y, 70).order), np.arange(70))
