from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import worst_violation

from ufselect.solvers.l21_newton import (
    _factor_of_upper,
    _Point,
    _step_to_least,
    l21_solution_by_norms,
)


def problem(n, d, c, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 3.0 * rng.standard_normal((n, 1))
    return X, X[:, :2] @ rng.standard_normal((2, c)) + rng.standard_normal((n, c))


@settings(max_examples=40)
@given(
    n=st.integers(3, 40),
    d=st.integers(2, 40),
    c=st.integers(1, 6),
    ratio=st.floats(0.01, 0.95),
    seed=st.integers(0, 2**16),
)
def test_optimality_conditions_hold_from_any_start(n, d, c, ratio, seed):
    X, Y = problem(n, d, c, seed)
    gram, target = X.T @ X, X.T @ Y
    half = ratio * np.linalg.norm(target, axis=1).max()
    for start in (np.zeros((d, c)), np.random.default_rng(seed).standard_normal((d, c))):
        W = l21_solution_by_norms(gram, target, start, half, 1e-6)
        assert worst_violation(target - gram @ W, W, half) <= 1e-5


def test_rows_of_zero_are_exactly_zero_and_may_enter_again():
    X, Y = problem(60, 30, 4)
    gram, target = X.T @ X, X.T @ Y
    half = 0.3 * np.linalg.norm(target, axis=1).max()
    W = l21_solution_by_norms(gram, target, np.zeros((30, 4)), half, 1e-8)
    zero = ~W.any(axis=1)
    assert 0 < zero.sum() < 30
    other = np.where(zero[:, None], 1.0, 0.0) * np.ones((30, 4))
    assert_array_equal(~l21_solution_by_norms(gram, target, other, half, 1e-8).any(axis=1), zero)


@pytest.mark.parametrize("apart", [0.0, 1e-5])
def test_copies_and_near_copies_of_columns_are_no_obstacle(apart):
    rng = np.random.default_rng(0)
    base = rng.standard_normal((60, 12))
    X = np.hstack([base + apart * rng.standard_normal((60, 12)) for _ in range(5)])
    gram, target = X.T @ X, X.T @ rng.standard_normal((60, 4))
    half = 0.05 * np.linalg.norm(target, axis=1).max()
    W = l21_solution_by_norms(gram, target, np.zeros((60, 4)), half, 1e-6)
    assert worst_violation(target - gram @ W, W, half) <= 1e-5


def test_the_hessian_is_the_derivative_of_the_gradient_for_rows_of_any_norm():
    rng = np.random.default_rng(0)
    X, C = rng.standard_normal((50, 30)), 20.0 * rng.standard_normal((30, 4))
    norms = rng.random(30) + 0.1
    norms[::4], norms[1:4] = 0.0, (1e-310, 1e-14, 1e-7)
    point, step = _Point(X.T @ X, C, 3.0, norms), 1e-7
    rows = np.flatnonzero((norms > 0.0) | (point.gradient < 0.0))
    assert np.any(norms[rows] == 0.0)
    differences = [(replace(point, norms=norms + step * np.eye(30)[j]).gradient - point.gradient) / step for j in rows]
    order, found = point.hessian()
    assert_array_equal(np.sort(order), rows)
    wanted = np.triu(np.array(differences)[np.ix_(np.searchsorted(rows, order), order)])
    assert_allclose(point.unit * np.triu(found), wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_a_step_from_a_point_without_rows_in_use_is_silent(capfd):
    rng = np.random.default_rng(0)
    X, C = rng.standard_normal((50, 6)), rng.standard_normal((6, 2))
    point = _Point(X.T @ X, 9.0 * C, 3.0, np.zeros(6))
    rows, found = point.hessian()
    wanted = ((X.T @ X) * (9.0 * C @ C.T))[np.ix_(rows, rows)]
    assert len(rows) > 2
    assert_allclose(point.unit * np.triu(found), np.triu(wanted), rtol=1e-9, atol=1e-12)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_extreme_norms_are_those_of_other_units(scale):
    X, Y = problem(60, 30, 4)
    gram, target = X.T @ X, X.T @ Y
    half = 0.1 * np.linalg.norm(target, axis=1).max()
    W = l21_solution_by_norms(gram, target, np.zeros((30, 4)), half, 1e-8)
    scaled = l21_solution_by_norms(scale**2 * gram, scale * target, np.zeros((30, 4)), scale * half, 1e-8)
    assert_allclose(scaled * scale, W, rtol=0, atol=1e-7 * np.abs(W).max())


# Quadratic functions over x ≥ 0


def quadratic(d, seed, pull=1.0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d + 2))
    return A @ A.T, pull * rng.standard_normal(d), rng.random(d) * (rng.random(d) < 0.8)


@given(d=st.integers(1, 12), seed=st.integers(0, 2**16))
def test_what_is_positive_has_no_slope_and_nothing_is_negative(d, seed):
    hessian, gradient, now = quadratic(d, seed)
    step = _step_to_least(np.triu(hessian), gradient, now)
    assert np.all(now + step >= 0.0)
    slope = gradient + hessian @ step
    assert_allclose(slope[now + step > 1e-15], 0.0, atol=1e-8 * (1.0 + np.abs(hessian).max()))


def test_an_indefinite_matrix_is_an_error():
    with pytest.raises(np.linalg.LinAlgError):
        _factor_of_upper(np.array([[1.0, 2.0], [0.0, 1.0]]))
