import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.solvers.bounded_quadratic import factor_of_upper, least_of_quadratic, step_up_to_first_bound


def problem(d, seed, pull=1.0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d + 2))
    return A @ A.T, pull * rng.standard_normal(d), rng.random(d) * (rng.random(d) < 0.8)


def decrease(hessian, gradient, step):
    return 0.5 * step @ hessian @ step + gradient @ step


@given(d=st.integers(1, 12), seed=st.integers(0, 2**16))
def test_what_is_positive_has_no_slope_and_nothing_is_negative(d, seed):
    hessian, gradient, now = problem(d, seed)
    x, positive, factor = least_of_quadratic(np.triu(hessian), gradient, now)
    assert_array_equal(np.flatnonzero(x), positive)
    assert np.all(x >= 0.0)
    slope = gradient + hessian @ (x - now)
    assert_allclose(slope[positive], 0.0, atol=1e-8 * (1.0 + np.abs(hessian).max()))
    part = hessian[np.ix_(positive, positive)]
    assert_allclose(np.tril(factor) @ np.tril(factor).T, part, atol=1e-12 * np.abs(hessian).max())


@given(d=st.integers(1, 12), seed=st.integers(0, 2**16))
def test_a_step_up_to_the_first_bound_decreases_and_stays_within(d, seed):
    hessian, gradient, now = problem(d, seed)
    step = step_up_to_first_bound(np.triu(hessian), gradient, now)
    assert np.all(now + step >= -1e-12)
    assert_array_equal(step[now == 0.0], 0.0)
    assert decrease(hessian, gradient, step) <= 1e-12


def test_single_precision_stays_single_precision_and_finds_nearly_the_same():
    hessian, gradient, now = problem(10, 0)
    x, positive, _ = least_of_quadratic(np.triu(hessian), gradient, now)
    rough, same, factor = least_of_quadratic(np.triu(hessian).astype(np.float32), gradient, now)
    assert factor.dtype == np.float32
    assert_array_equal(same, positive)
    assert_allclose(rough, x, rtol=0, atol=1e-4)


def test_an_indefinite_matrix_is_an_error():
    with pytest.raises(np.linalg.LinAlgError):
        factor_of_upper(np.array([[1.0, 2.0], [0.0, 1.0]]))
