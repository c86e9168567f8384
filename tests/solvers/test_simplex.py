import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.solvers.simplex import project_rows_onto_simplex


def matrices(bound):
    shapes = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12)
    return arrays(np.float64, shapes, elements=st.floats(-bound, bound, allow_subnormal=False))


def project(row):
    return project_rows_onto_simplex(row[None, :])[0]


@settings(max_examples=50)
@given(matrices(1e8))
def test_every_row_lies_on_the_simplex(A):
    P = project_rows_onto_simplex(A)
    assert P.shape == A.shape
    assert P.min() >= 0.0
    assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@settings(max_examples=50)
@given(matrices(100.0))
def test_projecting_twice_changes_nothing(A):
    P = project_rows_onto_simplex(A)
    assert_allclose(project_rows_onto_simplex(P), P, rtol=0, atol=1e-14)


@settings(max_examples=50)
@given(matrices(100.0))
def test_no_point_of_the_simplex_lies_in_the_direction_of_the_remainder(A):
    # p is the projection of a exactly if (a − p)ᵀ(q − p) ≤ 0 on the simplex, that is at its corners.
    P = project_rows_onto_simplex(A)
    remainder = A - P
    towards_corners = remainder - np.sum(remainder * P, axis=1, keepdims=True)
    assert towards_corners.max() <= 1e-11


@settings(max_examples=50)
@given(matrices(100.0), st.integers(0, 1000))
def test_permuting_the_entries_permutes_the_projection(A, seed):
    order = np.random.default_rng(seed).permutation(A.shape[1])
    assert_array_equal(project_rows_onto_simplex(A[:, order]), project_rows_onto_simplex(A)[:, order])


@settings(max_examples=50)
@given(matrices(100.0))
def test_larger_entries_get_no_less(A):
    P = project_rows_onto_simplex(A)
    order = np.argsort(A, axis=1, kind="stable")
    assert np.all(np.diff(np.take_along_axis(P, order, axis=1), axis=1) >= 0.0)


@settings(max_examples=50)
@given(matrices(100.0), st.floats(-1e3, 1e3))
def test_a_shift_of_a_row_does_not_move_its_projection(A, shift):
    assert_allclose(project_rows_onto_simplex(A + shift), project_rows_onto_simplex(A), rtol=0, atol=1e-11)


def test_rows_are_projected_independently():
    A = np.random.default_rng(0).standard_normal((20, 7)) * np.geomspace(1e-6, 1e6, 20)[:, None]
    assert_array_equal(project_rows_onto_simplex(A), [project(row) for row in A])


def test_the_argument_is_left_as_it_was():
    A = np.random.default_rng(0).standard_normal((4, 5))
    before = A.copy()
    project_rows_onto_simplex(A)
    assert_array_equal(A, before)


@pytest.mark.parametrize("case", range(32))
def test_stored_projections_are_met(reference, case):
    stored = reference("simplex_cases")
    present = ~np.isnan(stored["v"][case])
    assert_allclose(project(stored["v"][case, present]), stored["x"][case, present], rtol=0, atol=1e-12)


def test_projections_of_the_published_program_are_met(reference):
    stored = reference("ref_single")
    assert_allclose(project_rows_onto_simplex(stored["V"]), stored["PS"], rtol=0, atol=1e-10)
