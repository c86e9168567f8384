import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import on_every_data_set, samples
from sklearn.linear_model import Lasso

from ufselect.columns.dense import Columns
from ufselect.solvers.lars import lasso_of_size

SHAPES = [(60, 20), (20, 60), (30, 30)]


def problem(n, d, seed=0):
    """Correlated columns, and a target that a few of them explain."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    return X, X[:, :3] @ rng.standard_normal(3) + 0.5 * rng.standard_normal(n)


def stored_problems(reference, name):
    """Raw columns and the stored targets on which the authors ran their program."""
    return samples(reference, name), reference(f"mcfs_{name}")["Y"]


def assert_on_the_path(X, y, w):
    """Used columns are all as steep as the steepest, up to sign; gives that steepness, half the penalty."""
    slope = X.T @ (y - X @ w)
    half = np.abs(slope).max()
    used = w != 0.0
    assert_allclose(slope[used], half * np.sign(w[used]), rtol=0, atol=1e-9 * np.abs(X.T @ y).max())
    return half


def size_at(X, y, half):
    """Non-zero coefficients of ½‖y − Xw‖² + half‖w‖₁, by coordinate descent."""
    model = Lasso(half / len(X), fit_intercept=False, tol=1e-14, max_iter=1_000_000)
    return np.count_nonzero(model.fit(X, y).coef_)


@settings(max_examples=20)
@given(
    n=st.integers(3, 40),
    d=st.integers(1, 40),
    size=st.integers(1, 12),
    with_gram=st.booleans(),
    seed=st.integers(0, 999),
)
def test_the_solution_is_on_the_path_and_no_larger_than_asked_for(n, d, size, with_gram, seed):
    X, y = problem(n, max(d, 3), seed)
    w = lasso_of_size(Columns(X), y, size, gram=X.T @ X if with_gram else None)
    assert_on_the_path(X, y, w)
    assert 1 <= np.count_nonzero(w) <= size


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 2, 10])
def test_the_path_has_no_more_coefficients_before_and_one_more_just_after(shape, size):
    X, y = problem(*shape)
    w = lasso_of_size(Columns(X), y, size)
    half = assert_on_the_path(X, y, w)
    top = np.abs(X.T @ y).max()
    before = [size_at(X, y, penalty) for penalty in np.linspace(1.0001 * half, top, 25)]
    assert max(before) <= size
    assert size_at(X, y, half * (1.0 - 1e-6)) == size + 1


@on_every_data_set
@pytest.mark.parametrize("size", [5, 20])
def test_the_gram_matrix_leads_to_the_same_point(reference, name, size):
    X, Y = stored_problems(reference, name)
    for y in Y.T:
        by_columns, by_gram = lasso_of_size(Columns(X), y, size), lasso_of_size(Columns(X), y, size, gram=X.T @ X)
        assert_allclose(by_gram, by_columns, rtol=0, atol=1e-9 * np.abs(by_columns).max())


@pytest.mark.parametrize(("name", "column", "size"), [("wide", 1, 5), ("digits200nc", 6, 5), ("digits200nc", 6, 7)])
def test_a_coefficient_that_goes_back_to_zero_was_there_before(reference, name, column, size):
    """On these paths one coefficient leaves as soon as one too many is there: that corner has the right number."""
    X, Y = stored_problems(reference, name)
    y = Y[:, column]
    w = lasso_of_size(Columns(X), y, size)
    half = assert_on_the_path(X, y, w)
    before = [size_at(X, y, penalty) for penalty in np.geomspace(1.0001 * half, np.abs(X.T @ y).max(), 60)]
    assert max(before) <= size


def test_columns_with_little_in_common_with_the_target_are_not_missed():
    """Among many columns only the most correlated are looked at first; here that is not enough."""
    X, y = problem(30, 1500)
    w = lasso_of_size(Columns(X), y, 20)
    place = np.argsort(np.argsort(-np.abs(X.T @ y)))
    assert place[w != 0.0].max() > 1000
    assert_on_the_path(X, y, w)
    assert_allclose(w, lasso_of_size(Columns(X), y, 20, gram=X.T @ X), rtol=0, atol=1e-9 * np.abs(w).max())


def test_with_room_for_all_coefficients_it_is_least_squares():
    X, y = problem(60, 20)
    for gram in (None, X.T @ X):
        assert_allclose(lasso_of_size(Columns(X), y, 50, gram=gram), np.linalg.lstsq(X, y)[0], rtol=0, atol=1e-9)


def test_copies_of_columns_are_legal():
    X, y = problem(40, 10)
    twice = np.hstack([X, X])
    for gram in (None, twice.T @ twice):
        w = lasso_of_size(Columns(twice), y, 5, gram=gram)
        assert 1 <= np.count_nonzero(w) <= 5
        assert_on_the_path(twice, y, w)


def test_a_target_that_no_column_explains_gets_no_coefficient():
    X = np.eye(8)[:, :3]
    y = np.eye(8)[:, 5]
    assert_array_equal(lasso_of_size(Columns(X), y, 2), 0.0)
    assert_array_equal(lasso_of_size(Columns(X), y, 2, gram=X.T @ X), 0.0)
