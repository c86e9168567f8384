import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import correlated_problem, row_sparse_gap, worst_violation

from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import neighbor_laplacian
from ufselect.graphs.neighbors import nearest_others, neighbor_graph
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import smallest_penalty_for_zero

SHAPES = [(60, 20), (20, 60), (40, 40)]
for_every_shape = pytest.mark.parametrize("shape", SHAPES)
with_and_without_gram = pytest.mark.parametrize("with_gram", [False, True])


def problem(n, d, c=3, seed=0):
    """A regression, and the Laplacian of neighbours."""
    X, Y = correlated_problem(n, d, c, seed)
    columns = Columns(X)
    return X, Y, neighbor_laplacian(neighbor_graph(columns, nearest_others(columns, 4)))


def metric_of(L, weight):
    return sp.csr_array(sp.eye_array(L.shape[0]) + weight * L)


def objective(X, Y, W, L, weight, penalty):
    """‖Y − XW‖² + r tr(WᵀXᵀLXW) + γ‖W‖₂,₁."""
    Z = X @ W
    return np.sum((Y - Z) ** 2) + weight * np.sum(Z * (L @ Z)) + penalty * np.linalg.norm(W, axis=1).sum()


def violation(X, Y, W, M, penalty):
    return worst_violation(X.T @ (Y - M @ (X @ W)), W, penalty / 2.0)


def transformed(X, Y, M):
    """CᵀX and C⁻¹Y with CCᵀ = M, for which the metric is that of the identity."""
    C = np.linalg.cholesky(M.toarray())
    return C.T @ X, np.linalg.solve(C, Y)


@settings(max_examples=20)
@given(
    n=st.integers(6, 30),
    d=st.integers(3, 40),
    weight=st.floats(0.0, 20.0),
    ratio=st.floats(0.01, 1.2),
    with_gram=st.booleans(),
    seed=st.integers(0, 999),
)
def test_optimality_conditions_hold(n, d, weight, ratio, with_gram, seed):
    X, Y, L = problem(n, d, seed=seed)
    M = metric_of(L, weight)
    penalty = ratio * smallest_penalty_for_zero(Columns(X), Y)
    solution = l21_regression(Columns(X), Y, penalty, metric=M, gram=X.T @ (M @ X) if with_gram else None)
    assert solution.converged
    assert violation(X, Y, solution.coef, M, penalty) <= 1e-4 * (1.0 + 1e-6)
    assert_allclose(solution.objective, objective(X, Y, solution.coef, L, weight, penalty), rtol=1e-9)


@for_every_shape
@with_and_without_gram
@pytest.mark.parametrize("weight", [0.1, 10.0])
def test_it_is_the_plain_problem_of_transformed_columns_and_target(shape, with_gram, weight):
    X, Y, L = problem(*shape)
    M = metric_of(L, weight)
    penalty = 0.05 * smallest_penalty_for_zero(Columns(X), Y)
    solution = l21_regression(Columns(X), Y, penalty, metric=M, gram=X.T @ (M @ X) if with_gram else None, tol=1e-7)
    other_X, other_Y = transformed(X, Y, M)
    plain = l21_regression(Columns(other_X), other_Y, penalty, tol=1e-7)
    assert_allclose(smallest_penalty_for_zero(Columns(other_X), other_Y), 20.0 * penalty, rtol=1e-9)
    # The two differ by a constant: ‖Y‖² − tr(YᵀM⁻¹Y).
    constant = np.sum(Y**2) - np.sum(other_Y**2)
    assert_allclose(solution.objective, plain.objective + constant, rtol=1e-9)
    assert row_sparse_gap(other_X, other_Y, solution.coef, penalty) <= 1e-7
    # With more columns than samples only what is fitted is unique.
    assert_allclose(X @ solution.coef, X @ plain.coef, rtol=0, atol=1e-6)


@for_every_shape
def test_the_penalty_from_which_all_is_zero_does_not_depend_on_the_metric(shape):
    X, Y, L = problem(*shape)
    largest = smallest_penalty_for_zero(Columns(X), Y)
    M = metric_of(L, 5.0)
    assert_array_equal(l21_regression(Columns(X), Y, largest, metric=M).coef, 0.0)
    assert l21_regression(Columns(X), Y, 0.999 * largest, metric=M).coef.any()
