import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.dense import Columns
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import smallest_penalty_for_zero
from ufselect.solvers.reweighted import ReweightedRidge, inverse_weights, row_norm_sum

SHAPES = [(40, 15), (15, 40), (20, 20)]
for_every_shape = pytest.mark.parametrize("shape", SHAPES)
with_and_without_noise = pytest.mark.parametrize("noisy", [False, True])


def problem(n, d, noisy=False, seed=0):
    """X, F, h and e, drawn apart from another."""
    rng = np.random.default_rng(seed)
    X, F = rng.standard_normal((n, d)), rng.standard_normal((n, 3))
    return X, F, rng.uniform(0.1, 2.0, d), rng.uniform(0.2, 3.0, n) if noisy else None


def primal(X, F, h, penalty, noise=None):
    """(XᵀE⁻¹X + γH⁻¹)⁻¹XᵀE⁻¹F, of the size of the features."""
    weighted = X if noise is None else X / noise[:, None]
    return np.linalg.solve(X.T @ weighted + penalty * np.diag(1.0 / h), weighted.T @ F)


def dual(X, F, h, penalty, noise=None):
    """HXᵀ(XHXᵀ + γE)⁻¹F, of the size of the samples."""
    E = np.eye(len(X)) if noise is None else np.diag(noise)
    return h[:, None] * X.T @ np.linalg.solve(X @ (h[:, None] * X.T) + penalty * E, F)


def majorised(X, F, W, h, penalty, noise=None):
    errors = np.sum((F - X @ W) ** 2, axis=1)
    return np.sum(errors if noise is None else errors / noise) + penalty * np.sum(np.sum(W**2, axis=1) / h)


def objective(X, F, W, penalty):
    return np.sum((F - X @ W) ** 2) + penalty * np.linalg.norm(W, axis=1).sum()


@for_every_shape
@with_and_without_noise
@pytest.mark.parametrize("penalty", [1e-3, 1.0, 100.0])
def test_it_agrees_with_the_system_of_the_features_and_with_that_of_the_samples(shape, noisy, penalty):
    X, F, h, noise = problem(*shape, noisy)
    W = ReweightedRidge(Columns(X), h, penalty, noise=noise).coef(F)
    assert_allclose(W, primal(X, F, h, penalty, noise), rtol=0, atol=1e-9)
    assert_allclose(W, dual(X, F, h, penalty, noise), rtol=0, atol=1e-9)


@settings(max_examples=20)
@given(
    n=st.integers(1, 25),
    d=st.integers(1, 25),
    penalty=st.floats(1e-2, 1e2),
    noisy=st.booleans(),
    seed=st.integers(0, 999),
)
def test_no_other_weights_are_better(n, d, penalty, noisy, seed):
    X, F, h, noise = problem(n, d, noisy, seed)
    W = ReweightedRidge(Columns(X), h, penalty, noise=noise).coef(F)
    errors = F - X @ W
    slope = X.T @ (errors if noise is None else errors / noise[:, None]) - penalty * W / h[:, None]
    # If n < d, a kernel system is solved to 1.5e-8; otherwise the solution is exact.
    assert_allclose(slope, 0.0, rtol=0, atol=1e-7 * np.linalg.norm(X) * np.linalg.norm(F) if n < d else 1e-8)
    best = majorised(X, F, W, h, penalty, noise)
    other = W + 0.01 * np.random.default_rng(seed).standard_normal(W.shape)
    assert best < majorised(X, F, other, h, penalty, noise)


@with_and_without_noise
def test_a_gram_matrix_at_hand_changes_nothing(noisy):
    X, F, h, noise = problem(40, 15, noisy)
    plain = ReweightedRidge(Columns(X), h, 0.5, noise=noise)
    given_gram = ReweightedRidge(Columns(X), h, 0.5, gram=X.T @ X, noise=noise)
    assert_allclose(given_gram.coef(F), plain.coef(F), rtol=0, atol=1e-12)


def test_a_gram_matrix_given_is_left_alone():
    X, _, h, _ = problem(40, 15)
    gram = X.T @ X
    before = gram.copy()
    ReweightedRidge(Columns(X), h, 0.5, gram=gram)
    assert_array_equal(gram, before)


@for_every_shape
@with_and_without_noise
def test_the_residual_is_what_the_fit_leaves(shape, noisy):
    X, F, h, noise = problem(*shape, noisy)
    ridge = ReweightedRidge(Columns(X), h, 0.3, noise=noise)
    assert_allclose(ridge.residual(F), F - X @ ridge.coef(F), rtol=0, atol=1e-10)


@for_every_shape
def test_what_makes_residuals_is_symmetric_and_between_zero_and_one(shape):
    X, _, h, _ = problem(*shape)
    rest = ReweightedRidge(Columns(X), h, 0.3).residual(np.eye(shape[0]))
    assert_allclose(rest, rest.T, rtol=0, atol=1e-10)
    values = np.linalg.eigvalsh((rest + rest.T) / 2.0)
    assert values.min() > -1e-12
    assert values.max() < 1.0 + 1e-12
    # I − X(XᵀX + γH⁻¹)⁻¹Xᵀ = γ(XHXᵀ + γI)⁻¹
    assert_allclose(rest, 0.3 * np.linalg.inv(X @ (h[:, None] * X.T) + 0.3 * np.eye(shape[0])), rtol=0, atol=1e-10)


@for_every_shape
@with_and_without_noise
def test_solve_inverts_the_system_of_the_features(shape, noisy):
    X, _, h, noise = problem(*shape, noisy)
    V = np.random.default_rng(1).standard_normal((shape[1], 4))
    weighted = X if noise is None else X / noise[:, None]
    system = X.T @ weighted + 0.7 * np.diag(1.0 / h)
    solved = ReweightedRidge(Columns(X), h, 0.7, noise=noise).solve(V)
    assert_allclose(system @ solved, V, rtol=0, atol=1e-9)


@for_every_shape
@with_and_without_noise
def test_zero_rows_stay_zero_and_the_others_are_as_without_them(shape, noisy):
    X, F, h, noise = problem(*shape, noisy)
    out = np.array([0, 4, 9])
    h[out] = 0.0
    others = np.setdiff1d(np.arange(shape[1]), out)
    ridge = ReweightedRidge(Columns(X), h, 0.3, noise=noise)
    alone = ReweightedRidge(Columns(X[:, others]), h[others], 0.3, noise=noise)
    W = ridge.coef(F)
    assert_array_equal(W[out], 0.0)
    assert_allclose(W[others], alone.coef(F), rtol=0, atol=1e-10)
    assert_allclose(ridge.residual(F), alone.residual(F), rtol=0, atol=1e-10)
    V = np.random.default_rng(1).standard_normal((shape[1], 2))
    assert_array_equal(ridge.solve(V)[out], 0.0)
    assert_allclose(ridge.solve(V)[others], alone.solve(V[others]), rtol=0, atol=1e-10)


@for_every_shape
def test_without_any_row_nothing_is_explained(shape):
    X, F, _, _ = problem(*shape)
    ridge = ReweightedRidge(Columns(X), np.zeros(shape[1]), 0.3)
    assert_array_equal(ridge.coef(F), 0.0)
    assert_allclose(ridge.residual(F), F, rtol=1e-12)


@for_every_shape
def test_noise_of_one_is_no_noise(shape):
    X, F, h, _ = problem(*shape)
    with_ones = ReweightedRidge(Columns(X), h, 0.3, noise=np.ones(shape[0]))
    assert_allclose(with_ones.coef(F), ReweightedRidge(Columns(X), h, 0.3).coef(F), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(40, 15), (15, 40)])
@with_and_without_noise
def test_sparse_centred_columns_give_the_weights_of_dense_ones(shape, noisy):
    _, F, h, noise = problem(*shape, noisy)
    values = sp.random_array(shape, density=0.3, random_state=np.random.default_rng(2)).toarray()
    dense = ReweightedRidge(Columns(values - values.mean(axis=0)), h, 0.3, noise=noise)
    sparse = ReweightedRidge(Columns(sp.csc_array(values), values.mean(axis=0), centered=True), h, 0.3, noise=noise)
    assert_allclose(sparse.coef(F), dense.coef(F), rtol=0, atol=1e-10)
    assert_allclose(sparse.residual(F), dense.residual(F), rtol=0, atol=1e-10)
    assert_allclose(sparse.solve(dense.coef(F)), dense.solve(dense.coef(F)), rtol=0, atol=1e-10)


# The step of a majorisation


def reweighted_steps(X, F, penalty, n_steps):
    W = ReweightedRidge(Columns(X), np.ones(X.shape[1]), penalty).coef(F)
    yield W
    for _ in range(n_steps):
        W = ReweightedRidge(Columns(X), inverse_weights(W), penalty).coef(F)
        yield W


@settings(max_examples=20)
@given(n=st.integers(2, 25), d=st.integers(1, 40), ratio=st.floats(0.01, 0.9), seed=st.integers(0, 999))
def test_steps_never_raise_the_row_sparse_objective(n, d, ratio, seed):
    X, F, _, _ = problem(n, d, seed=seed)
    penalty = ratio * smallest_penalty_for_zero(Columns(X), F)
    history = np.array([objective(X, F, W, penalty) for W in reweighted_steps(X, F, penalty, 30)])
    assert np.diff(history).max() <= 1e-12 * history[0]


@for_every_shape
@pytest.mark.parametrize("ratio", [0.05, 0.3])
def test_steps_lead_to_the_row_sparse_optimum(shape, ratio):
    X, F, _, _ = problem(*shape)
    penalty = ratio * smallest_penalty_for_zero(Columns(X), F)
    optimum = l21_regression(Columns(X), F, penalty, tol=1e-8).objective
    *_, W = reweighted_steps(X, F, penalty, 500)
    # Rows that leave do so slowly.
    assert optimum * (1.0 - 1e-9) <= objective(X, F, W, penalty) <= optimum * (1.0 + 1e-7)


def test_the_row_sparse_optimum_is_a_fixed_point():
    X, F, _, _ = problem(40, 15)
    penalty = 0.6 * smallest_penalty_for_zero(Columns(X), F)
    W = l21_regression(Columns(X), F, penalty, tol=1e-10).coef
    assert 0 < np.count_nonzero(W.any(axis=1)) < 15
    again = ReweightedRidge(Columns(X), inverse_weights(W), penalty).coef(F)
    assert_allclose(again, W, rtol=0, atol=1e-8)


def test_weights_are_twice_the_norms_of_rows():
    W = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]])
    assert_array_equal(inverse_weights(W), [10.0, 0.0, 2.0])
    assert row_norm_sum(W) == 6.0
