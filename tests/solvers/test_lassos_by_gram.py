import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.solvers.lasso import lassos_by_gram


def solved(Z, ratio, start=None, tol=1e-4, points=None):
    gram = Z @ Z.T
    others = np.abs(gram - np.diag(np.diag(gram)))
    penalties = ratio * others.max(axis=1)
    guess = sp.csc_array(gram.shape) if start is None else sp.csc_array(start.T)
    found = lassos_by_gram(gram, np.arange(len(Z)), penalties, guess, tol, points=points)
    assert found.n_unsolved == 0
    assert np.all(found.coefs != 0.0)
    coefs = np.zeros_like(gram)
    coefs[np.repeat(np.arange(len(Z)), found.counts), found.members] = found.coefs
    return coefs, penalties


def assert_solved(gaps, Z, coefs, penalties, tol=1e-4):
    values, gap = gaps(Z, coefs.T, 2.0 * penalties)
    assert np.all(gap <= tol * values + 1e-14 * np.sum(Z**2, axis=1))
    assert_array_equal(np.diag(coefs), 0.0)


@settings(max_examples=40)
@given(n=st.integers(2, 60), c=st.integers(1, 30), ratio=st.floats(1e-3, 0.99), seed=st.integers(0, 2**16))
def test_every_problem_is_solved_from_zero_and_from_any_start(self_expression_gaps, n, c, ratio, seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, c))
    start = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.3)
    np.fill_diagonal(start, 0.0)
    for given_start in (None, start):
        for points in (None, Z):
            coefs, penalties = solved(Z, ratio, given_start, points=points)
            assert_solved(self_expression_gaps, Z, coefs, penalties)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("by_points", [False, True])
def test_the_gap_asked_for_is_the_gap_reached(self_expression_gaps, tol, by_points):
    Z = np.random.default_rng(0).standard_normal((80, 30))
    coefs, penalties = solved(Z, 0.01, tol=tol, points=Z if by_points else None)
    assert_solved(self_expression_gaps, Z, coefs, penalties, tol)


@pytest.mark.parametrize("length", [1.0, 1e3, 1e6])
def test_rounding_errors_of_slopes_in_single_precision_are_part_of_the_gap(self_expression_gaps, length):
    # One long sample makes the errors of the slopes of all others large beside their penalties.
    Z = np.random.default_rng(0).standard_normal((200, 10)) + 5.0
    Z[17] *= length
    coefs, penalties = solved(Z, 1e-3 / length, tol=1e-5, points=Z)
    assert_solved(self_expression_gaps, Z, coefs, penalties, 1e-5)


def test_samples_in_any_number_of_lanes_are_all_candidates(self_expression_gaps):
    rng = np.random.default_rng(0)
    for n in (2, 63, 64, 65, 129):
        Z = rng.standard_normal((n, 4))
        coefs, penalties = solved(Z, 0.02, points=Z)
        assert_solved(self_expression_gaps, Z, coefs, penalties)


def test_a_solution_is_kept_as_it_is_and_the_start_is_not_changed():
    Z = np.random.default_rng(0).standard_normal((80, 30))
    coefs, _ = solved(Z, 0.01)
    before = coefs.copy()
    again, _ = solved(Z, 0.01, coefs)
    assert_array_equal(again, coefs)
    assert_array_equal(coefs, before)


def test_zero_and_repeated_samples_and_other_lengths_are_no_obstacle(self_expression_gaps):
    Z = np.repeat(np.random.default_rng(0).standard_normal((30, 25)), 2, axis=0) * np.geomspace(1e-3, 1e3, 60)[:, None]
    Z[[0, 7]] = 0.0
    for points in (None, Z):
        coefs, penalties = solved(Z, 0.05, points=points)
        assert_solved(self_expression_gaps, Z, coefs, penalties)


@pytest.mark.parametrize("scale", [2.0**-200, 2.0**200])  # powers of two: rounding errors are the same
def test_samples_beyond_the_range_of_single_precision_are_expressed_as_others(self_expression_gaps, scale):
    Z = np.random.default_rng(0).standard_normal((150, 6))
    coefs, penalties = solved(scale * Z, 0.01, points=scale * Z)
    assert_solved(self_expression_gaps, Z, coefs, penalties / scale**2)
    assert_array_equal(coefs, solved(Z, 0.01, points=Z)[0])


@pytest.mark.parametrize("ratio", [0.002, 0.05, 0.5])
def test_the_samples_themselves_lead_to_the_solution_by_the_gram_matrix_alone(ratio):
    Z = np.random.default_rng(0).standard_normal((150, 6))
    by_gram, _ = solved(Z, ratio, tol=1e-10)
    by_points, _ = solved(Z, ratio, tol=1e-10, points=Z)
    assert_allclose(by_points, by_gram, rtol=0, atol=1e-4)


def test_more_coefficients_than_the_start_has_find_room(self_expression_gaps):
    Z = np.random.default_rng(0).standard_normal((100, 80))
    coefs, penalties = solved(Z, 1e-3, 1e-3 * np.eye(100, k=1))
    assert np.count_nonzero(coefs) > 4 * 99 + 100
    assert_solved(self_expression_gaps, Z, coefs, penalties)
