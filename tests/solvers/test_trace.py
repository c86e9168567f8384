import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.dense import Columns
from ufselect.graphs.adaptive import adaptive_neighbors
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.self_expression import sparse_self_expression
from ufselect.solvers.trace import _by_features, _by_samples, even_row_norms, smoother_projection

COUNT = 4


def tall(rng):
    return rng.standard_normal((80, 25))


def wide(rng):
    return rng.standard_normal((40, 120))


def square(rng):
    return rng.standard_normal((50, 50))


def rank_deficient_tall(rng):
    return rng.standard_normal((80, 9)) @ rng.standard_normal((9, 25))


def rank_deficient_wide(rng):
    return rng.standard_normal((40, 9)) @ rng.standard_normal((9, 120))


def duplicated_columns(rng):
    return np.tile(rng.standard_normal((60, 12)), 2)


def centred_wide(rng):
    X = wide(rng)
    return X - X.mean(axis=0)


KINDS = [tall, wide, square, rank_deficient_tall, rank_deficient_wide, duplicated_columns, centred_wide]


def make(kind):
    X = kind(np.random.default_rng(0))
    L = structure_laplacian(sparse_self_expression(X, 0.3).S, adaptive_neighbors(X, 5).P, 0.5)
    return X, L


def objective(X, L, W, penalty):
    Z = X @ W
    return np.sum(Z * (L.toarray() @ Z)) + penalty * np.linalg.norm(W, axis=1).sum()


def orthonormality_error(X, W):
    Z = X @ W
    return np.abs(Z.T @ Z - np.eye(W.shape[1])).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", [0.01, 0.3, 10.0])
def test_fifteen_steps_never_raise_the_objective_and_keep_the_constraint(kind, penalty):
    X, L = make(kind)
    columns = Columns(X)
    W = smoother_projection(columns, L, even_row_norms(columns, COUNT), penalty, COUNT)
    assert W.shape == (X.shape[1], COUNT)
    before = np.inf
    for _ in range(15):
        assert orthonormality_error(X, W) <= 1e-8
        now = objective(X, L, W, penalty)
        assert now <= before * (1.0 + 1e-9)
        before = now
        W = smoother_projection(columns, L, np.linalg.norm(W, axis=1), penalty, COUNT)


@pytest.mark.parametrize("kind", KINDS)
def test_both_forms_reach_the_same_objective_and_space(kind):
    X, L = make(kind)
    weights = np.random.default_rng(1).uniform(0.01, 0.2, X.shape[1])
    by_features = _by_features(Columns(X), L, weights, 0.3, COUNT, None)
    by_samples = _by_samples(Columns(X), L, weights, 0.3, COUNT, None)
    assert_allclose(objective(X, L, by_features, 0.3), objective(X, L, by_samples, 0.3), rtol=1e-8)
    Z, other = X @ by_features, X @ by_samples
    assert_allclose(Z @ Z.T, other @ other.T, rtol=0, atol=1e-7)


def test_a_step_minimises_its_majoriser():
    X, L = make(tall)
    rng = np.random.default_rng(1)
    norms = rng.uniform(0.01, 0.2, X.shape[1])
    W = smoother_projection(Columns(X), L, norms, 0.3, COUNT)

    def majoriser(V):
        Z = X @ V
        return np.sum(Z * (L @ Z)) + 0.3 * np.sum(np.linalg.norm(V, axis=1) ** 2 / (2.0 * norms))

    best = majoriser(W)
    for size in (1e-3, 1e-1, 10.0):
        V = W + size * rng.standard_normal(W.shape)
        Q, R = np.linalg.qr(X @ V)
        assert np.abs(Q.T @ Q - np.eye(COUNT)).max() < 1e-12
        assert majoriser(V @ np.linalg.inv(R)) >= best


@pytest.mark.parametrize("kind", [tall, wide])
def test_zero_rows_stay_zero(kind):
    X, L = make(kind)
    norms = even_row_norms(Columns(X), COUNT)
    norms[::3] = 0.0
    for _ in range(3):
        W = smoother_projection(Columns(X), L, norms, 0.3, COUNT)
        norms = np.linalg.norm(W, axis=1)
        assert_array_equal(W[::3], 0.0)
        assert np.all(norms[1::3] > 0.0)
        assert orthonormality_error(X, W) <= 1e-8


@pytest.mark.parametrize("kind", [tall, rank_deficient_tall])
def test_a_given_gram_matrix_changes_nothing(kind):
    X, L = make(kind)
    norms = even_row_norms(Columns(X), COUNT)
    norms[3] = 0.0
    plain = smoother_projection(Columns(X), L, norms, 0.3, COUNT)
    by_gram = smoother_projection(Columns(X), L, norms, 0.3, COUNT, gram=X.T @ X)
    assert_allclose(X @ by_gram @ (X @ by_gram).T, X @ plain @ (X @ plain).T, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", [rank_deficient_tall, rank_deficient_wide])
def test_no_more_columns_than_the_rank_come_back(kind):
    X, L = make(kind)
    W = smoother_projection(Columns(X), L, even_row_norms(Columns(X), 15), 0.3, 15)
    assert W.shape == (X.shape[1], 9)
    assert orthonormality_error(X, W) <= 1e-8


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
def test_sparse_centred_columns_give_the_space_of_dense_ones(shape):
    n, d = shape
    values = sp.random_array(shape, density=0.3, random_state=np.random.default_rng(0))
    values = values + sp.coo_array((np.ones(d), (np.arange(d) % n, np.arange(d))), shape=shape)
    sparse = Columns.prepared(sp.csr_array(values), center=True, scale="standard")
    dense = Columns.prepared(values.toarray(), center=True, scale="standard")
    L = structure_laplacian(None, adaptive_neighbors(dense, 5).P, 1.0)
    norms = even_row_norms(dense, COUNT)
    assert_allclose(even_row_norms(sparse, COUNT), norms, rtol=1e-12)
    Z = dense @ smoother_projection(dense, L, norms, 0.3, COUNT)
    other = dense @ smoother_projection(sparse, L, norms, 0.3, COUNT)
    assert_allclose(other @ other.T, Z @ Z.T, rtol=0, atol=1e-8)


def test_even_row_norms_fit_the_constraint_on_average():
    X = tall(np.random.default_rng(0))
    norms = even_row_norms(Columns(X), COUNT)
    assert len(set(norms)) == 1
    assert_allclose(np.sum(norms**2 * np.sum(X**2, axis=0)), COUNT, rtol=1e-12)
