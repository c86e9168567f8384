import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import correlated_problem, worst_violation

from ufselect.columns.dense import Columns
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import smallest_penalty_for_zero

SHAPES = [(60, 20), (20, 60), (40, 40), (30, 400)]


def objective(X, Y, W, penalty):
    return np.sum((Y - X @ W) ** 2) + penalty * np.linalg.norm(W, axis=1).sum()


def assert_solved(X, Y, solution, penalty, tol=1e-4):
    assert solution.converged
    assert worst_violation(X.T @ (Y - X @ solution.coef), solution.coef, penalty / 2.0) <= tol * (1.0 + 1e-6)


@settings(max_examples=40)
@given(
    n=st.integers(3, 40),
    d=st.integers(1, 60),
    c=st.integers(1, 5),
    ratio=st.floats(0.005, 1.5),
    with_gram=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_optimality_conditions_hold(n, d, c, ratio, with_gram, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, c))
    penalty = ratio * smallest_penalty_for_zero(Columns(X), Y)
    solution = l21_regression(Columns(X), Y, penalty, gram=X.T @ X if with_gram else None)
    assert_solved(X, Y, solution, penalty)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ratio", [0.005, 0.05, 0.5])
def test_optimality_conditions_hold_for_correlated_columns(shape, ratio):
    X, Y = correlated_problem(*shape)
    penalty = ratio * smallest_penalty_for_zero(Columns(X), Y)
    for gram in (None, X.T @ X):
        assert_solved(X, Y, l21_regression(Columns(X), Y, penalty, gram=gram), penalty)


@pytest.mark.parametrize("tol", [1e-2, 1e-7])
def test_the_tolerance_asked_for_is_the_one_reached(tol):
    X, Y = correlated_problem(30, 100)
    penalty = 0.05 * smallest_penalty_for_zero(Columns(X), Y)
    assert_solved(X, Y, l21_regression(Columns(X), Y, penalty, tol=tol), penalty, tol)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_solution_is_zero_from_the_named_penalty_on_and_not_before(shape):
    X, Y = correlated_problem(*shape)
    largest = smallest_penalty_for_zero(Columns(X), Y)
    assert_allclose(largest, 2.0 * max(np.linalg.norm(x @ Y) for x in X.T), rtol=1e-12)
    assert_array_equal(l21_regression(Columns(X), Y, largest).coef, 0.0)
    assert_array_equal(l21_regression(Columns(X), Y, 2.0 * largest).coef, 0.0)
    below = l21_regression(Columns(X), Y, 0.999 * largest).coef
    assert np.count_nonzero(np.linalg.norm(below, axis=1)) >= 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("with_gram", [False, True])
def test_a_warm_start_ends_where_a_cold_one_does(shape, with_gram):
    X, Y = correlated_problem(*shape)
    gram = X.T @ X if with_gram else None
    penalty = 0.05 * smallest_penalty_for_zero(Columns(X), Y)
    cold = l21_regression(Columns(X), Y, penalty, gram=gram)
    rng = np.random.default_rng(1)
    for start in (cold.coef, 0.5 * cold.coef, rng.standard_normal(cold.coef.shape)):
        before = start.copy()
        warm = l21_regression(Columns(X), Y, penalty, gram=gram, warm_start=start)
        assert_solved(X, Y, warm, penalty)
        reached = objective(X, Y, warm.coef, penalty)
        assert reached <= objective(X, Y, start, penalty) * (1.0 + 1e-12)
        assert_allclose(reached, objective(X, Y, cold.coef, penalty), rtol=1e-6)
        assert_array_equal(start, before)


def test_stopped_early_it_says_so(monkeypatch):
    monkeypatch.setattr("ufselect.solvers.l21._MOST_ROUNDS", 1)
    X, Y = correlated_problem(30, 400)
    assert not l21_regression(Columns(X), Y, 0.005 * smallest_penalty_for_zero(Columns(X), Y)).converged


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
@pytest.mark.parametrize("with_gram", [False, True])
def test_duplicated_columns_do_not_change_the_optimum(shape, with_gram):
    X, Y = correlated_problem(*shape)
    twice = np.hstack([X, X])
    penalty = 0.05 * smallest_penalty_for_zero(Columns(X), Y)
    solution = l21_regression(Columns(twice), Y, penalty, gram=twice.T @ twice if with_gram else None)
    assert_solved(twice, Y, solution, penalty)
    once = l21_regression(Columns(X), Y, penalty).coef
    assert_allclose(objective(twice, Y, solution.coef, penalty), objective(X, Y, once, penalty), rtol=1e-6)


@pytest.mark.parametrize("name", ["JAFFE", "TOX", "USPS49"])
@pytest.mark.parametrize("ratio", [0.02, 0.3])
def test_optimality_conditions_hold_on_benchmark_data(learned_space, name, ratio):
    X, Y, penalty, _ = learned_space(name)
    penalty = ratio / 0.05 * penalty
    assert_solved(X.values, Y, l21_regression(X, Y, penalty), penalty)
    if X.shape[1] < 2000:
        assert_solved(X.values, Y, l21_regression(X, Y, penalty, gram=X.gram()), penalty)
