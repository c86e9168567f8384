import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import DATA, samples
from sklearn.preprocessing import StandardScaler

from ufselect import UDFS
from ufselect.columns.dense import Columns
from ufselect.graphs.local_models import assembled, centered_grams, difference_grams, discriminant_blocks, with_self
from ufselect.graphs.neighbors import nearest_others
from ufselect.selectors.udfs import DiscriminantProblem

UNIQUE = ["syn", "digits200nc"]  # with more samples than features, the first eigenproblem has one answer
SETTINGS = [(lam, gamma) for lam in (1, 1000) for gamma in (0.1, 1, 10)]
may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def key(lam, gamma):
    return f"lam{lam}_g{gamma}".replace(".", "p")


def discriminant_matrix(X, ridge, k=5):
    """M of the k nearest neighbours of every sample."""
    index = nearest_others(Columns(X), k).index
    index, grams = with_self(index, difference_grams(Columns(X), index))
    return assembled(index, discriminant_blocks(centered_grams(grams), ridge))


def mean_eigenvalue(X, k=5):
    """Of the inner products of centred neighbourhoods."""
    index = nearest_others(Columns(X), k).index
    _, grams = with_self(index, difference_grams(Columns(X), index))
    return np.einsum("ijj->", centered_grams(grams)) / (len(X) * (k + 1))


def own_costs(X, ridge):
    """Aⱼⱼ, what every feature would cost on its own."""
    return np.einsum("ij,ij->j", X, discriminant_matrix(X, ridge) @ X)


def penalty_for_no_entry(X, M):
    return 2.0 * np.linalg.norm(X.T @ M @ X, axis=1).max()


def published_iterations(problem, d, gamma, count, n_iter=20):
    """Objectives and the last W, from weights that are all one, with the authors' 2.2e-16 under the root."""
    weights, objectives = np.ones(d), []
    for _ in range(n_iter):
        W = problem.projection(weights, gamma, count)
        norms = np.sqrt(np.sum(W**2, axis=1) + np.finfo(float).eps)
        weights = 0.5 / norms
        objectives.append(problem.cost(W) + gamma * norms.sum())
    return np.array(objectives), W


def routes(X, M):
    """The problem with A formed, and with M in its place."""
    return tuple(DiscriminantProblem(Columns(X), sp.csr_array(M), A) for A in (X.T @ M @ X, None))


# The matrix of local discriminants


@settings(max_examples=15)
@given(seed=st.integers(0, 2**16), exponent=st.integers(-6, 6), ridge=st.floats(0.01, 100.0))
def test_discriminants_do_not_see_the_origin_and_scale_with_the_ridge(seed, exponent, ridge):
    rng = np.random.default_rng(seed)
    X, factor = rng.standard_normal((15, 6)), 2.0**exponent
    A = X.T @ discriminant_matrix(X, ridge, 4) @ X
    moved = X + 10.0 * rng.standard_normal(6)
    assert_allclose(moved.T @ discriminant_matrix(moved, ridge, 4) @ moved, A, rtol=0, atol=1e-9 * np.abs(A).max())
    scaled = factor * X
    again = scaled.T @ discriminant_matrix(scaled, factor**2 * ridge, 4) @ scaled
    assert_allclose(again, A, rtol=0, atol=1e-12 * np.abs(A).max())


# One step


@pytest.mark.parametrize("shape", [(20, 8), (20, 20), (10, 30)])
@pytest.mark.parametrize("gamma", [1e-3, 100.0])
def test_both_routes_find_the_smallest_eigenvectors_of_a_dense_decomposition(shape, gamma):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    M = discriminant_matrix(X, 1.0).toarray()
    weights = 10.0 ** rng.uniform(-1.0, 1.0, shape[1])
    system = X.T @ M @ X + gamma * np.diag(weights)
    values, vectors = np.linalg.eigh(system)
    expected = vectors[:, :3] @ vectors[:, :3].T
    for problem in routes(X, M):
        W = problem.projection(weights, gamma, 3)
        assert_allclose(W.T @ W, np.eye(3), rtol=0, atol=1e-12)
        assert_allclose(np.diag(W.T @ system @ W), values[:3], rtol=1e-9)
        assert_allclose(system @ W, W * values[:3], rtol=0, atol=1e-8 * values[-1])
        assert_allclose(W @ W.T, expected, rtol=0, atol=1e-7)
        assert_allclose(problem.cost(W), np.trace(W.T @ X.T @ M @ X @ W), rtol=1e-9, atol=1e-12)


# The published iterations


@pytest.mark.parametrize("name", UNIQUE)
@pytest.mark.parametrize(("lam", "gamma"), SETTINGS)
def test_published_iterations_reach_the_objectives_and_scores_of_the_authors(reference, name, lam, gamma):
    stored = reference(f"udfs_{name}")
    X, count = samples(reference, name), int(stored["c"])
    problem = DiscriminantProblem.of(Columns(X), discriminant_matrix(X, lam))
    objectives, W = published_iterations(problem, X.shape[1], gamma, count)
    assert_allclose(objectives, stored[f"obj_{key(lam, gamma)}"], rtol=1e-10)
    # Rounding grows in W, which is not at rest after 20 iterations, more than in the objective.
    assert_allclose(np.sum(W**2, axis=1), stored[f"scores_{key(lam, gamma)}"], rtol=0, atol=1e-7)


# The selector


@may_stop_early
@pytest.mark.parametrize(
    ("name", "params"),
    [
        *[(name, {}) for name in (*DATA, "digits200")],
        *[("wide", params) for params in ({"center": False}, {"scale": None}, {"row_penalty": 0.01})],
    ],
    ids=str,
)
def test_the_objective_never_rises(reference, name, params):
    history = UDFS(5, n_clusters=4, tol=0.0, max_iter=30, **params).fit(samples(reference, name)).objective_history_
    assert np.all(np.diff(history) <= 1e-9 * np.abs(history[:-1]))


@may_stop_early
@pytest.mark.parametrize("row_penalty", [0.001, 0.3])
def test_the_start_is_not_arbitrary_with_more_features_than_samples(reference, row_penalty):
    X = samples(reference, "wide")
    order = np.random.default_rng(0).permutation(120)
    original, permuted = (UDFS(5, n_clusters=4, row_penalty=row_penalty).fit(x) for x in (X, X[:, order]))
    assert_allclose(permuted.scores_, original.scores_[order], rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", [(20, 8), (10, 30)])
def test_a_zero_row_stays_zero_from_the_largest_penalty_on(shape):
    rng = np.random.default_rng(1)
    X = rng.standard_normal(shape)
    M = discriminant_matrix(X, 1.0).toarray()
    largest = penalty_for_no_entry(X, M)
    for problem in routes(X, M):
        assert_allclose(problem.penalty_for_no_entry(), largest, rtol=1e-10)
    W, _ = np.linalg.qr(rng.standard_normal((shape[1], 3)))
    slopes = 2.0 * np.linalg.norm(X.T @ M @ X @ W, axis=1)
    assert slopes.max() <= largest
    # The bound is attained by a W that has the direction of the largest row of A.
    steepest = (X.T @ M @ X)[np.linalg.norm(X.T @ M @ X, axis=1).argmax()]
    W = (steepest / np.linalg.norm(steepest))[:, None]
    assert_allclose(2.0 * np.abs(X.T @ M @ X @ W).max(), largest, rtol=1e-10)


@pytest.mark.parametrize("name", ["syn", "wide"])
def test_what_is_left_out_ranks_by_its_own_cost_and_other_weights_are_orthonormal_and_scored_by_norm(reference, name):
    X = samples(reference, name)
    selector = UDFS(5, n_clusters=4).fit(X)
    values = StandardScaler().fit_transform(X)
    costs = own_costs(values, mean_eigenvalue(values))
    left_out = np.flatnonzero(selector.scores_ == 0.0)
    assert 3 <= X.shape[1] - len(left_out) < X.shape[1] / 2
    assert_array_equal(selector.coef_[left_out], 0.0)
    assert_array_equal(selector.top_features(X.shape[1])[-len(left_out) :], left_out[np.argsort(costs[left_out])])
    # Rows below 1e-4 of the largest are left out.
    assert_allclose(selector.coef_.T @ selector.coef_, np.eye(3), rtol=0, atol=1e-4)
    assert_allclose(selector.scores_, np.linalg.norm(selector.coef_, axis=1), rtol=1e-12)
    assert_allclose(selector.embedding_, values @ selector.coef_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_features", [20, 150])
def test_features_that_all_cost_nothing_are_taken_in_their_order(n_features):
    # Every sample has more copies than neighbours.
    X = np.repeat(np.random.default_rng(0).standard_normal((12, n_features)), 10, axis=0)
    order = np.random.default_rng(1).permutation(120)
    for each in (X, sp.csr_array(X), X[order]):
        scores = UDFS(5, n_clusters=5).fit(each).scores_
        assert_allclose(scores, np.arange(n_features) < 4, rtol=0, atol=1e-12)
