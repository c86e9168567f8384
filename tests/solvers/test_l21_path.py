from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import correlated_problem, on_every_data_set, samples, worst_violation

from ufselect.columns.dense import Columns
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.l21_path import l21_interpolation, l21_path, l21_regression_of_size
from ufselect.solvers.penalties import smallest_penalty_for_zero


def stored_problem(reference, name):
    """Raw columns and the stored factor of their similarity."""
    return samples(reference, name), reference(f"spfs_{name}")["Y"]


def used_rows(W):
    return np.flatnonzero(W.any(axis=1))


def length(A):
    """‖A‖₂,₁."""
    return np.linalg.norm(A, axis=1).sum()


def penalty_of(X, Y, W):
    """γ of which W is the solution: twice the common steepness of its rows."""
    return 2.0 * np.linalg.norm(X.T @ (Y - X @ W), axis=1)[used_rows(W)].mean()


# The path


@on_every_data_set
def test_rows_enter_between_the_penalties_at_which_they_are_out_and_in(reference, name):
    X, Y = stored_problem(reference, name)
    path = l21_path(Columns(X), Y, 20)
    largest = smallest_penalty_for_zero(Columns(X), Y)
    out, share, W = set(range(X.shape[1])), 1.0, None
    while share > path.share * (1.0 + 1e-9):
        before, share = share, 0.9 * share
        W = l21_regression(Columns(X), Y, share * largest, warm_start=W, tol=1e-6).coef
        new = out & set(used_rows(W))
        assert all(share <= path.entries[j] <= before for j in new)
        out -= new
    assert len(out) <= X.shape[1] - 20
    assert max(path.entries[list(out)]) <= path.share


@on_every_data_set
def test_the_path_is_left_at_a_solution(reference, name):
    X, Y = stored_problem(reference, name)
    path = l21_path(Columns(X), Y, 20)
    half = path.share * smallest_penalty_for_zero(Columns(X), Y) / 2.0
    assert worst_violation(X.T @ (Y - X @ path.coef), path.coef, half) <= 1e-4 * (1.0 + 1e-6)
    assert np.count_nonzero(path.entries >= path.share) >= 20
    assert set(used_rows(path.coef)) <= set(np.flatnonzero(path.entries >= path.share))
    out = path.entries < path.share  # placed by nearness to the path
    steepness = np.linalg.norm(X.T @ (Y - X @ path.coef), axis=1)[out]
    assert_allclose(path.entries[out], steepness / (smallest_penalty_for_zero(Columns(X), Y) / 2.0), rtol=1e-9)
    earlier = l21_regression(Columns(X), Y, path.share / 0.9 * smallest_penalty_for_zero(Columns(X), Y)).coef
    assert len(used_rows(earlier)) < 20


def test_where_so_many_never_enter_the_path_ends_at_a_thousandth():
    X, Y = correlated_problem(40, 10)
    X[:, 6:] = 0.0
    path = l21_path(Columns(X), Y, 10)
    assert 0.9e-3 <= path.share <= 1e-3
    assert_array_equal(path.entries[6:], 0.0)
    assert np.all(path.entries[:6] > path.share)


# A number of rows


@on_every_data_set
@pytest.mark.parametrize("n_rows", [1, 20])
def test_about_as_many_rows_are_used_as_asked_for(reference, name, n_rows):
    X, Y = stored_problem(reference, name)
    solution = l21_regression_of_size(Columns(X), Y, n_rows)
    assert abs(len(used_rows(solution.coef)) - n_rows) <= n_rows / 10.0
    penalty = penalty_of(X, Y, solution.coef)
    # γ is read off a solution that is good to 1e-4.
    assert worst_violation(X.T @ (Y - X @ solution.coef), solution.coef, penalty / 2.0) <= 2e-4 * (1.0 + 1e-6)


def test_two_columns_that_enter_together_are_taken_or_left_together():
    Y = np.eye(8)[:, :2]
    X = np.eye(8)[:, :2]  # every penalty uses both or none
    assert len(used_rows(l21_regression_of_size(Columns(X), Y, 1).coef)) in (0, 2)


# An exact fit


def certified_lower_bound(X, Y, share=1e-6):
    """max tr(ΘᵀY) subject to ‖xⱼᵀΘ‖ ≤ 1 bounds ‖A‖₂,₁ from below; a regression of tiny penalty gives Θ."""
    penalty = share * smallest_penalty_for_zero(Columns(X), Y)
    R = Y - X @ l21_regression(Columns(X), Y, penalty, tol=1e-7).coef
    return np.sum(R * Y) / np.linalg.norm(X.T @ R, axis=1).max()


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_fit_is_optimal_by_a_certificate(seed):
    X, Y = correlated_problem(15, 60, seed=seed)
    solution = l21_interpolation(Columns(X), Y)
    assert_allclose(X @ solution.coef, Y, rtol=0, atol=1e-10)
    bound = certified_lower_bound(X, Y)
    # Reweighting comes to rest slowly: it stops at steps of 1e-8, some hundred of them before the end.
    assert bound * (1.0 - 1e-9) <= length(solution.coef) <= bound * (1.0 + 1e-5)


@settings(max_examples=20)
@given(n=st.integers(2, 12), extra=st.integers(1, 20), c=st.integers(1, 4), seed=st.integers(0, 999))
def test_steps_never_lengthen_the_fit_and_keep_it_exact(n, extra, c, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, n + extra)), rng.standard_normal((n, c))
    lengths = []
    for steps in range(8):
        with mock.patch("ufselect.solvers.l21_path._MOST_STEPS", steps):
            solution = l21_interpolation(Columns(X), Y)
        assert_allclose(X @ solution.coef, Y, rtol=0, atol=1e-8)
        assert steps > 2 or not solution.converged
        lengths.append(length(solution.coef))
    assert np.diff(lengths).max() <= 1e-9 * lengths[0]


@pytest.mark.parametrize("centered", [False, True])
def test_a_target_out_of_reach_is_refused(centered):
    X, Y = correlated_problem(20, 60) if centered else correlated_problem(40, 10)
    X = X - X.mean(axis=0)
    with pytest.raises(ValueError, match=r"equals the embedding: the relative error is .*%"):
        l21_interpolation(Columns(X, centered=True), Y + 1.0)
