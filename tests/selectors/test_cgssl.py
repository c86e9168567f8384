import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import NormalizedLaplacian
from ufselect.selectors.cgssl import StructuredPrediction
from ufselect.selectors.ndfs import Prediction
from ufselect.solvers.nonnegative import unit_columns
from ufselect.solvers.reweighted import inverse_weights


def random_problem(n, d, c, seed, *, centered=False, gamma=None, rank=None):
    """Data, a connected graph and a positive F."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, d))
    X = Columns(values - values.mean(axis=0), centered=True) if centered else Columns(values)
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.5) + 0.01
    alpha, drawn = 10.0 ** rng.uniform(-2.0, 2.0, 2)
    beta = alpha * 10.0 ** rng.uniform(-2.0, 0.0)  # not so much that no feature is left
    F = unit_columns(rng.random((n, c)) + 0.01)
    drawn = drawn if gamma is None else gamma
    return StructuredPrediction(X, NormalizedLaplacian(A + A.T), alpha, beta, drawn, rank or max(c // 2, 1)), F


def leading_vectors(W, rank):
    return np.linalg.svd(W, full_matrices=False)[0][:, :rank]


def dense_weights(problem, F, W):
    """αH⁻¹XᵀF with H = αXᵀX + βD + γ(I − QQᵀ)."""
    X, Q, h = problem.X.values, leading_vectors(W, problem.rank), inverse_weights(W)
    d = X.shape[1]
    H = problem.alpha * X.T @ X + problem.beta * np.diag(1.0 / h) + problem.gamma * (np.eye(d) - Q @ Q.T)
    return problem.alpha * np.linalg.solve(H, X.T @ problem.X.centered_like(F))


# One step


@settings(max_examples=20)
@given(
    n=st.integers(3, 15),
    d=st.integers(1, 20),
    c=st.integers(1, 5),
    rank=st.integers(1, 6),
    exponent=st.floats(-2.0, 8.0),
    centered=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_no_step_raises_the_objective(n, d, c, rank, exponent, centered, seed):
    problem, F = random_problem(n, d, c, seed, centered=centered, rank=rank)
    z = 10.0**exponent
    W = problem.first_weights(F, np.ones(d))
    before = problem.objective(F, W, z)
    for _ in range(30):
        F, W = problem.step(F, W, z)
        after = problem.objective(F, W, z)
        assert np.all(F >= 0.0)
        assert after <= before * (1.0 + 1e-10)
        before = after


@pytest.mark.parametrize("shape", [(12, 5), (8, 8), (6, 15)])
@pytest.mark.parametrize(("centered", "gamma"), [(False, 1e-6), (True, 1.0), (False, 1e6)])
def test_both_routes_agree_with_a_dense_solution(shape, centered, gamma):
    problem, F = random_problem(*shape, 4, 0, centered=centered, gamma=gamma)
    gram = problem.X.gram() if shape[1] <= shape[0] else None
    W = problem.first_weights(F, np.ones(shape[1]))
    with_gram = StructuredPrediction(
        problem.X, problem.L, problem.alpha, problem.beta, problem.gamma, problem.rank, gram
    )
    for same in (problem, with_gram):
        moved, found = same.step(F, W, 10.0)
        expected = dense_weights(problem, moved, W)
        # γ(I − QQᵀ) is γI less γQQᵀ: a large γ takes its digits from the rest. If n < d, systems are solved to 1.5e-8.
        precision = 1e-14 * max(gamma, 1e6) if shape[0] < shape[1] else 1e-15 * max(gamma, 1e5)
        assert_allclose(found, expected, rtol=0, atol=precision * np.abs(expected).max())


@pytest.mark.parametrize("rank", [1, 3])
def test_the_structure_is_the_best_of_its_rank(rank):
    problem, F = random_problem(10, 6, 4, 0, rank=rank)
    W = np.random.default_rng(1).standard_normal((6, 4))
    X, z = problem.X.values, 10.0
    rest = np.sum(F * (problem.L @ F)) + z / 2.0 * np.sum((F.T @ F - np.eye(4)) ** 2)
    rest += problem.alpha * np.sum((F - X @ W) ** 2) + problem.beta * np.linalg.norm(W, axis=1).sum()
    apart = problem.objective(F, W, z) - rest
    trailing = np.linalg.svd(W, compute_uv=False)[rank:]
    assert_allclose(apart, problem.gamma * np.sum(trailing**2), rtol=1e-8)
    rng = np.random.default_rng(2)
    for _ in range(50):
        Q, _ = np.linalg.qr(rng.standard_normal((6, rank)))
        assert problem.gamma * np.sum((W - Q @ (Q.T @ W)) ** 2) >= apart


# Limits that are known


@pytest.mark.parametrize("shape", [(12, 5), (6, 15)])
def test_without_structure_it_is_ndfs(shape):
    problem, F = random_problem(*shape, 4, 0, gamma=1e-12)
    ndfs = Prediction(problem.X, problem.L, problem.alpha, problem.beta / problem.alpha)
    W = problem.first_weights(F, np.ones(shape[1]))
    same = F
    for z in (1.0, 10.0, 100.0):
        for _ in range(10):
            same, expected = ndfs.monotone_step(same, inverse_weights(W), z)
            F, W = problem.step(F, W, z)
            assert_allclose(F, same, rtol=1e-8)
            assert_allclose(W, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
            assert_allclose(problem.objective(F, W, z), ndfs.objective(same, expected, z), rtol=1e-9)
