import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.dense import Columns
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.self_expression import sparse_self_expression
from ufselect.solvers.reweighted import (
    KernelSystem,
    ReweightedRidge,
    SharedColumns,
    _by_features,
    _by_samples,
    even_row_norms,
    smoother_projection,
)

SHAPES = [(40, 15), (15, 40)]
for_every_shape = pytest.mark.parametrize("shape", SHAPES)


def problem(n, d, seed=0):
    """X, F and h, drawn apart from another."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((n, 3)), rng.uniform(0.1, 2.0, d)


def majorised(X, F, W, h, penalty):
    return np.sum((F - X @ W) ** 2) + penalty * np.sum(np.sum(W**2, axis=1) / h)


@for_every_shape
@pytest.mark.parametrize("penalty", [1e-3, 10.0])
def test_it_is_that_of_the_features_for_any_target(shape, penalty):
    X, F, h = problem(*shape)
    ridge = ReweightedRidge(Columns(X), h, penalty)
    system = X.T @ X + penalty * np.diag(1.0 / h)
    W, fitted = ridge.fit(F)
    assert_allclose(W, np.linalg.solve(system, X.T @ F), rtol=0, atol=1e-9)
    assert_array_equal(W, ridge.coef(F))
    assert_allclose(fitted, X @ W, rtol=0, atol=1e-10)
    assert_allclose(ridge.residual(F), F - X @ W, rtol=0, atol=1e-10)
    if shape[0] >= shape[1]:
        assert_allclose(system @ ridge.solve(F[: shape[1]]), F[: shape[1]], rtol=0, atol=1e-9)


@settings(max_examples=20)
@given(n=st.integers(1, 25), d=st.integers(1, 25), penalty=st.floats(1e-2, 1e2), seed=st.integers(0, 999))
def test_no_other_weights_are_better(n, d, penalty, seed):
    X, F, h = problem(n, d, seed)
    W = ReweightedRidge(Columns(X), h, penalty).coef(F)
    slope = X.T @ (F - X @ W) - penalty * W / h[:, None]
    # If n < d, a kernel system is solved to 1.5e-8; otherwise the solution is exact.
    assert_allclose(slope, 0.0, rtol=0, atol=1e-7 * np.linalg.norm(X) * np.linalg.norm(F) if n < d else 1e-8)
    other = W + 0.01 * np.random.default_rng(seed).standard_normal(W.shape)
    assert majorised(X, F, W, h, penalty) < majorised(X, F, other, h, penalty)


@for_every_shape
def test_zero_rows_stay_zero_and_the_others_are_as_without_them(shape):
    X, F, h = problem(*shape)
    out = np.array([0, 4, 9])
    h[out] = 0.0
    others = np.setdiff1d(np.arange(shape[1]), out)
    ridge, alone = ReweightedRidge(Columns(X), h, 0.3), ReweightedRidge(Columns(X[:, others]), h[others], 0.3)
    W = ridge.coef(F)
    assert_array_equal(W[out], 0.0)
    assert_allclose(W[others], alone.coef(F), rtol=0, atol=1e-10)
    assert_allclose(ridge.residual(F), alone.residual(F), rtol=0, atol=1e-10)


# Systems of the samples

N, D = 40, 150
WEIGHTS = {
    "even": np.full(D, 3.0),
    "decaying": 10.0 ** np.linspace(1.0, -8.0, D),
    "few": np.where(np.arange(D) % 10 == 0, 1.0, 1e-30),
}
PRECISION = {"even": 1e-13, "decaying": 1.5e-8, "few": 1e-13}  # exact, unless columns are left out
for_all_weights = pytest.mark.parametrize("name", WEIGHTS)


def system_of(name, *, noisy=False):
    """X, H, Γ and F."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    weights = rng.permutation(WEIGHTS[name])
    shift = 5.0 * rng.uniform(0.5, 2.0, N) if noisy else np.full(N, 5.0)
    return X, weights, shift, rng.standard_normal((N, 4))


def as_array(X, weights, shift):
    return X @ (weights[:, None] * X.T) + np.diag(shift)


def relative_error(system, solution, F):
    """In the norm of the system."""
    exact = np.linalg.solve(system, F)
    error = solution - exact
    return np.sqrt(np.max(np.sum(error * (system @ error), axis=0) / np.sum(exact * F, axis=0)))


@for_all_weights
@pytest.mark.parametrize("noisy", [False, True])
def test_solutions_are_as_accurate_as_promised(name, noisy):
    X, weights, shift, F = system_of(name, noisy=noisy)
    solution = KernelSystem(Columns(X), weights, shift).solve(F)
    assert relative_error(as_array(X, weights, shift), solution, F) <= PRECISION[name]
    single = X.astype(np.float32)
    solution = KernelSystem(Columns(single), weights, shift).solve(F)
    assert relative_error(as_array(single.astype(np.float64), weights, shift), solution, F) <= 1e-4


@for_all_weights
@pytest.mark.parametrize("smallest", [1.0, 1e-6])
def test_with_an_intercept_solutions_sum_to_zero(name, smallest):
    X, weights, shift, F = system_of(name, noisy=True)
    X -= X.mean(axis=0)
    shift[:3] *= smallest
    Y, b = KernelSystem(Columns(X, centered=True), weights, shift, intercept=True).solve_with_intercept(F)
    assert_allclose(Y.sum(axis=0), 0.0, rtol=0, atol=1e-12 * np.abs(Y).sum())
    assert_allclose(as_array(X, weights, shift) @ Y + b, F, rtol=0, atol=1e-10 if name == "even" else 1e-7)


def test_what_is_shared_does_not_change_solutions_as_weights_come_and_go():
    X, weights, shift, F = system_of("few")
    shared = SharedColumns(Columns(X))
    rng = np.random.default_rng(3)
    for n_used in (15, 12, 5, 18, 3):
        weights = np.zeros(D)
        weights[rng.permutation(D)[:n_used]] = rng.uniform(0.5, 2.0, n_used)
        solution = KernelSystem(Columns(X), weights, shift, shared=shared).solve(F)
        assert relative_error(as_array(X, weights, shift), solution, F) <= 1e-13


# Projections that are smooth on a graph

COUNT = 4


KINDS = {
    "tall": lambda rng: rng.standard_normal((80, 25)),
    "wide": lambda rng: rng.standard_normal((40, 120)),
    "rank-deficient tall": lambda rng: rng.standard_normal((80, 9)) @ rng.standard_normal((9, 25)),
    "rank-deficient wide": lambda rng: rng.standard_normal((40, 9)) @ rng.standard_normal((9, 120)),
    "duplicated columns": lambda rng: np.tile(rng.standard_normal((60, 12)), 2),
    "centred wide": lambda rng: (X := rng.standard_normal((40, 120))) - X.mean(axis=0),
}
for_every_kind = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "rank-deficient wide"])


def make(kind):
    X = KINDS[kind](np.random.default_rng(0))
    L = structure_laplacian(sparse_self_expression(X, 0.3).S, adaptive_neighbors(X, 5).P, 0.5)
    return X, L


def smooth_objective(X, L, W, penalty):
    Z = X @ W
    return np.sum(Z * (L.toarray() @ Z)) + penalty * np.linalg.norm(W, axis=1).sum()


def orthonormality_error(X, W):
    Z = X @ W
    return np.abs(Z.T @ Z - np.eye(W.shape[1])).max()


@for_every_kind
@pytest.mark.parametrize("penalty", [0.01, 10.0])
def test_fifteen_steps_never_raise_the_objective_and_keep_the_constraint(kind, penalty):
    X, L = make(kind)
    columns = Columns(X)
    W = smoother_projection(columns, L, even_row_norms(columns, COUNT), penalty, COUNT)
    assert W.shape == (X.shape[1], COUNT)
    before = np.inf
    for _ in range(15):
        assert orthonormality_error(X, W) <= 1e-8
        now = smooth_objective(X, L, W, penalty)
        assert now <= before * (1.0 + 1e-9)
        before = now
        W = smoother_projection(columns, L, np.linalg.norm(W, axis=1), penalty, COUNT)


@for_every_kind
def test_both_forms_reach_the_same_objective_and_space(kind):
    X, L = make(kind)
    weights = np.random.default_rng(1).uniform(0.01, 0.2, X.shape[1])
    by_features = _by_features(Columns(X), L, weights, 0.3, COUNT, None)
    by_samples = _by_samples(Columns(X), L, weights, 0.3, COUNT)
    assert_allclose(smooth_objective(X, L, by_features, 0.3), smooth_objective(X, L, by_samples, 0.3), rtol=1e-8)
    Z, other = X @ by_features, X @ by_samples
    assert_allclose(Z @ Z.T, other @ other.T, rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", ["tall", "wide"])
def test_zero_rows_of_a_projection_stay_zero(kind):
    X, L = make(kind)
    norms = even_row_norms(Columns(X), COUNT)
    norms[::3] = 0.0
    for _ in range(3):
        W = smoother_projection(Columns(X), L, norms, 0.3, COUNT)
        norms = np.linalg.norm(W, axis=1)
        assert_array_equal(W[::3], 0.0)
        assert np.all(norms[1::3] > 0.0)
        assert orthonormality_error(X, W) <= 1e-8


@pytest.mark.parametrize("kind", ["tall", "rank-deficient tall"])
def test_a_given_gram_matrix_changes_nothing(kind):
    X, L = make(kind)
    norms = even_row_norms(Columns(X), COUNT)
    norms[3] = 0.0
    plain = smoother_projection(Columns(X), L, norms, 0.3, COUNT)
    by_gram = smoother_projection(Columns(X), L, norms, 0.3, COUNT, gram=X.T @ X)
    assert_allclose(X @ by_gram @ (X @ by_gram).T, X @ plain @ (X @ plain).T, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", ["rank-deficient tall", "rank-deficient wide"])
def test_no_more_columns_than_the_rank_come_back(kind):
    X, L = make(kind)
    W = smoother_projection(Columns(X), L, even_row_norms(Columns(X), 15), 0.3, 15)
    assert W.shape == (X.shape[1], 9)
    assert orthonormality_error(X, W) <= 1e-8
