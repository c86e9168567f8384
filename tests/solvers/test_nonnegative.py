import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.solvers.nonnegative import (
    Tightening,
    cluster_indicators,
    indicators,
    monotone_step,
    project_rows_onto_simplex,
    published_step,
    unit_columns,
    unit_rows,
)


def mixed_signs(n, seed):
    """A symmetric positive semi-definite matrix with entries of both signs."""
    root = np.random.default_rng(seed).standard_normal((n, n))
    return root @ root.T / n


def cost(M, F, z):
    return np.sum(F * (M @ F)) + z / 2.0 * np.sum((F.T @ F - np.eye(F.shape[1])) ** 2)


def step(M, F, z):
    """One step for tr(FᵀMF) + (z/2)‖FᵀF − I‖²."""
    return monotone_step(F, np.maximum(-M, 0.0) @ F, np.maximum(M, 0.0) @ F, z)


def descended(M, F, z, n_steps):
    for _ in range(n_steps):
        F = step(M, F, z)
    return F


# Starts


@settings(max_examples=20)
@given(n=st.integers(1, 20), c=st.integers(1, 5), seed=st.integers(0, 2**16))
def test_a_start_is_positive_has_unit_columns_and_prefers_the_cluster_of_a_sample(n, c, seed):
    labels = np.random.default_rng(seed).integers(0, c, n)
    F = indicators(labels, c)
    assert np.all(F > 0.0)
    assert_allclose(np.linalg.norm(F, axis=0), 1.0, rtol=1e-12)
    for j in range(c):
        own, other = F[labels == j, j], F[labels != j, j]
        assert_allclose(own, 1.2 / 0.2 * other[0] if len(other) else n**-0.5, rtol=1e-12)


def test_a_start_by_k_means_finds_groups_that_are_apart():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(3), 10))
    points = 20.0 * np.eye(3)[labels] + np.random.default_rng(1).standard_normal((30, 3))
    F = cluster_indicators(points, 3, 0)
    found = F.argmax(axis=1)
    assert len({(int(a), int(b)) for a, b in zip(labels, found, strict=True)}) == 3
    assert_array_equal(F, cluster_indicators(points, 3, 0))
    assert_array_equal(F, indicators(found, 3))


def test_rows_and_columns_come_to_unit_length_and_a_zero_row_stays():
    Y = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]])
    assert_allclose(unit_rows(Y), [[0.6, 0.8], [0.0, 0.0], [1.0, 0.0]], rtol=1e-15)
    assert_allclose(np.linalg.norm(unit_columns(Y), axis=0), 1.0, rtol=1e-15)


# The monotone step


@settings(max_examples=20)
@given(
    n=st.integers(2, 15),
    c=st.integers(1, 4),
    exponent=st.floats(-3.0, 8.0),
    seed=st.integers(0, 2**16),
)
def test_no_step_raises_the_objective_for_any_weight_of_orthogonality(n, c, exponent, seed):
    M, z = mixed_signs(n, seed), 10.0**exponent
    F = np.random.default_rng(seed).random((n, c))
    before = cost(M, F, z)
    for _ in range(40):
        F = step(M, F, z)
        after = cost(M, F, z)
        assert np.all(F >= 0.0)
        assert after <= before * (1.0 + 1e-12)
        before = after


@settings(max_examples=20)
@given(n=st.integers(2, 12), c=st.integers(1, 4), exponent=st.floats(-2.0, 4.0), seed=st.integers(0, 2**16))
def test_linear_and_concave_terms_may_take_part(n, c, exponent, seed):
    """tr(FᵀMF) − 2tr(BᵀF) − tr(FᵀPF), the last one linearised where the step begins."""
    rng = np.random.default_rng(seed)
    M, P, B, z = mixed_signs(n, seed), mixed_signs(n, seed + 1), rng.standard_normal((n, c)), 10.0**exponent
    F = rng.random((n, c))

    def value(F):
        return cost(M - P, F, z) - 2.0 * np.sum(B * F)

    for _ in range(40):
        linear = B + P @ F
        pull = np.maximum(-M, 0.0) @ F + np.maximum(linear, 0.0)
        push = np.maximum(M, 0.0) @ F + np.maximum(-linear, 0.0)
        before, F = value(F), monotone_step(F, pull, push, z)
        assert value(F) <= before + 1e-12 * (abs(before) + np.sum(np.abs(P)) + z)


@pytest.mark.parametrize("z", [1.0, 10.0])
def test_steps_end_where_the_optimality_conditions_hold(z):
    M = mixed_signs(10, 0)
    F = descended(M, np.random.default_rng(0).random((10, 2)) + 0.1, z, 8000)
    slope = 2.0 * (M @ F) + 2.0 * z * (F @ (F.T @ F) - F)
    # Entries that end at zero get there in the limit only, so that F ∘ slope is small but not zero.
    assert np.max(np.abs(F * slope)) <= 1e-6 * z
    assert slope.min() >= -1e-3 * z


# The published step


def test_published_step_stays_finite_where_its_denominator_is_negative():
    F = np.array([[1.0, 1e-9], [1e-9, 1.0]])
    slope, z = np.full(F.shape, -10.0), 1e8
    assert np.min(slope + z * (F @ F.T @ F)) < 0.0
    G = published_step(F, slope, z)
    assert np.all(G >= 0.0)
    assert_allclose(np.linalg.norm(G, axis=0), 1.0, rtol=1e-12)


# How the weight of orthogonality grows


def test_a_weight_is_left_when_the_objective_stands_still():
    tightening = Tightening(max_iter=400, tol=0.01)
    seen = []
    for objective in (10.0, 9.0, 8.995, 20.0, 15.0, 15.5, 40.0, 39.9, 80.0, 50.0, 49.9):
        seen.append(tightening.weight)
        change = tightening.change_after(objective)
        assert (change == np.inf) == (tightening.weight < 1000.0 or len(seen) < 10)
    assert seen == [1.0, 1.0, 1.0, 10.0, 10.0, 10.0, 100.0, 100.0, 1000.0, 1000.0, 1000.0]
    assert change <= 0.01


def test_a_weight_is_left_when_it_has_had_its_share_of_the_iterations():
    tightening = Tightening(max_iter=20, tol=0.0)
    weights = []
    for iteration in range(20):
        weights.append(tightening.weight)
        change = tightening.change_after(1000.0 - iteration)
    assert weights == [1.0] * 5 + [10.0] * 5 + [100.0] * 5 + [1000.0] * 5
    assert change > 0.0


def test_the_order_of_the_samples_does_not_choose_the_start():
    # Noise, in which k-means has many local optima.
    points = np.random.default_rng(0).standard_normal((90, 4))
    start = cluster_indicators(points, 6, 0)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(90)
        turned = cluster_indicators(points[order], 6, 0)
        assert_allclose(turned @ turned.T, (start @ start.T)[order][:, order], rtol=0, atol=1e-12)


# Rows on the simplex


def matrices(bound):
    shapes = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12)
    return arrays(np.float64, shapes, elements=st.floats(-bound, bound, allow_subnormal=False))


@settings(max_examples=50)
@given(matrices(100.0) | matrices(1e8))
def test_every_row_lies_on_the_simplex_and_no_point_of_it_in_the_direction_of_the_remainder(A):
    # p is the projection of a exactly if (a − p)ᵀ(q − p) ≤ 0 on the simplex, that is at its corners.
    P = project_rows_onto_simplex(A)
    assert P.shape == A.shape
    assert P.min() >= 0.0
    assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    remainder = A - P
    towards_corners = remainder - np.sum(remainder * P, axis=1, keepdims=True)
    assert towards_corners.max() <= 1e-13 * max(100.0, np.abs(A).max())
