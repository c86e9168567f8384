import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import correlated_problem, worst_violation

from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import neighbor_laplacian
from ufselect.graphs.neighbors import nearest_others, neighbor_graph
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import smallest_penalty_for_zero


def problem(n, d, c=3, seed=0):
    """A regression, and the Laplacian of neighbours."""
    X, Y = correlated_problem(n, d, c, seed)
    columns = Columns(X)
    return X, Y, neighbor_laplacian(neighbor_graph(columns, nearest_others(columns, 4)))


def metric_of(L, weight):
    return sp.csr_array(sp.eye_array(L.shape[0]) + weight * L)


def violation(X, Y, W, M, penalty):
    return worst_violation(X.T @ (Y - M @ (X @ W)), W, penalty / 2.0)


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
