import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import DATA, samples
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from ufselect import LLCFS
from ufselect.columns.dense import Columns
from ufselect.datasets.planted import make_planted_clusters
from ufselect.graphs.laplacian import SparseLaplacian
from ufselect.graphs.local_models import residual_laplacian, weights_as_matrix
from ufselect.graphs.neighbors import nearest_others
from ufselect.graphs.spectral import smallest_eigenvectors
from ufselect.selectors.llcfs import LocalRegressions, Neighborhoods, feature_weights, mutual_neighborhoods

BETAS = [0.01, 1, 100]
may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def key(beta, kind=2):
    return f"b{beta}_type{kind}".replace(".", "p")


def all_neighborhoods(index):
    return [Neighborhoods(np.arange(len(index)), index)]


def regressions(X, index, tau, beta, **params):
    return LocalRegressions.of(X, Neighborhoods(np.arange(len(index)), index), tau, beta, **params)


def published_iterations(X, beta, count, n_iter, k=5, neighborhoods=all_neighborhoods):
    """τ after all iterations and the c smallest eigenvalues of each, from equal weights."""
    X, tau, values = Columns(X), np.full(X.shape[1], 1.0 / X.shape[1]), []
    for _ in range(n_iter):
        index = nearest_others(X.scaled(np.sqrt(tau)), k).index
        models = [LocalRegressions.of(X, part, tau, beta) for part in neighborhoods(index)]
        prediction = sum(model.prediction for model in models)
        found = smallest_eigenvectors(SparseLaplacian(residual_laplacian(prediction)), count)
        tau = feature_weights(models, X, tau, found.vectors)
        values.append(found.values)
    return tau, np.array(values).T


def with_absolute_parameters(X, beta, count, **params):
    """The selector for raw columns, five neighbours and β as the paper has it."""
    fit_weight = beta * X.var(axis=0).sum() / X.shape[1]
    return LLCFS(5, n_clusters=count, n_neighbors=5, scale=None, center=False, fit_weight=fit_weight, **params)


def random_model(n, d, k, seed):
    """Regressions with random weights of the features, and all they are made of."""
    rng = np.random.default_rng(seed)
    X, tau, beta = rng.standard_normal((n, d)), rng.dirichlet(np.ones(d)), 10.0 ** rng.uniform(-2.0, 2.0)
    index = nearest_others(Columns(X * np.sqrt(tau)), k).index
    return X, tau, beta, index, regressions(Columns(X), index, tau, beta)


def count_parts(index):
    return connected_components(weights_as_matrix(index, np.ones(index.shape)), directed=False)[0]


def ridge_with_intercept(X, Y, tau, beta):
    """The w and b that minimise β‖Y − XW − 1bᵀ‖² + tr(Wᵀdiag(τ)⁻¹W)."""
    d = X.shape[1]
    A = np.hstack([X, np.ones((len(X), 1))])
    penalty = np.diag([*(1.0 / tau), 0.0])
    solution = np.linalg.solve(beta * A.T @ A + penalty, beta * A.T @ Y)
    return solution[:d], solution[d]


# Against the authors' program


@pytest.mark.parametrize("name", [*DATA, "digits200"])
@pytest.mark.parametrize("beta", BETAS)
def test_weights_after_one_iteration_are_those_of_the_authors(reference, name, beta):
    stored = reference(f"llcfs_{name}")
    tau, values = published_iterations(samples(reference, name), beta, int(stored["c"]), 1)
    # No weight falls below 1e-12 here.
    assert_allclose(tau, stored[f"tau_it1_{key(beta)}"], rtol=0, atol=1e-11)
    assert_allclose(values[:, 0], stored[f"evH_{key(beta)}"][:, 0], rtol=0, atol=1e-13)
    if name in DATA:
        selector = with_absolute_parameters(samples(reference, name), beta, int(stored["c"]), tol=2.0)
        selector.fit(samples(reference, name))
        assert selector.n_iter_ == 1
        assert_allclose(selector.scores_, stored[f"tau_it1_{key(beta)}"], rtol=0, atol=1e-11)
        assert_allclose(selector.objective_history_, [stored[f"evH_{key(beta)}"][:, 0].sum()], rtol=1e-9)


@pytest.mark.parametrize("name", ["syn", "wide"])
@pytest.mark.parametrize("beta", BETAS)
def test_weights_of_mutual_neighbours_after_one_iteration_are_those_of_the_authors(reference, name, beta):
    """The authors count a sample among its own 20; integer data are left out, as rounding decides there who is in."""
    stored = reference(f"llcfs_{name}")
    X = samples(reference, name)
    tau, values = published_iterations(X, beta, int(stored["c"]), 1, k=19, neighborhoods=mutual_neighborhoods)
    assert_allclose(tau, stored[f"tau_it1_{key(beta, 1)}"], rtol=0, atol=1e-8)
    assert_allclose(values[:, 0], stored[f"evH_{key(beta, 1)}"][:, 0], rtol=0, atol=1e-8)


@may_stop_early
def test_samples_without_mutual_neighbours_are_legal():
    X = np.vstack([np.random.default_rng(0).standard_normal((40, 6)), np.full((1, 6), 30.0)])
    index = nearest_others(Columns(X), 3).index
    assert 40 not in np.concatenate([part.rows for part in mutual_neighborhoods(index)])
    selector = LLCFS(3, n_clusters=2, n_neighbors=3, neighborhood="mutual", scale=None).fit(X)
    assert np.all(np.isfinite(selector.scores_))


# The local regressions


@pytest.mark.parametrize("shape", [(15, 4, 6), (12, 20, 5), (10, 3, 2)])
def test_predictions_and_weights_are_those_of_ridge_regressions_with_an_intercept(shape):
    X, tau, beta, index, model = random_model(*shape, 0)
    Y = np.random.default_rng(1).standard_normal((len(X), 3))
    predicted, squares = np.empty_like(Y), np.zeros(X.shape[1])
    for i in range(len(X)):
        w, b = ridge_with_intercept(X[index[i]], Y[index[i]], tau, beta)
        predicted[i] = X[i] @ w + b
        squares += np.sum(w**2, axis=1)
    assert_allclose(model.prediction @ Y, predicted, rtol=0, atol=1e-9)
    assert_allclose(feature_weights([model], Columns(X), tau, Y), np.sqrt(squares) / np.sqrt(squares).sum(), rtol=1e-7)


# The selector


@may_stop_early
@pytest.mark.parametrize("center", [True, False])
def test_indicators_are_orthonormal_and_sum_to_zero_where_columns_are_centred(reference, center):
    X = samples(reference, "syn")
    selector = LLCFS(5, n_clusters=4, center=center, max_iter=5).fit(X)
    Y = selector.embedding_
    assert Y.shape == (80, 3 if center else 4)
    assert_allclose(Y.T @ Y, np.eye(Y.shape[1]), rtol=0, atol=1e-10)
    if center:
        assert_allclose(Y.sum(axis=0), 0.0, rtol=0, atol=1e-10)


def test_it_stops_when_its_graph_falls_into_parts():
    planted = make_planted_clusters(120, 3, 10, 10, separation=6.0, random_state=0)
    stopped, once = (LLCFS(5, n_clusters=3, n_neighbors=5, tol=tol, max_iter=100).fit(planted.X) for tol in (0.0, 2.0))
    assert once.n_iter_ == 1
    values = (planted.X - planted.X.mean(axis=0)) / planted.X.std(axis=0)
    index = nearest_others(Columns(values * np.sqrt(stopped.scores_)), 5).index
    assert count_parts(index) > 1
    assert stopped.n_iter_ < 100


def test_auto_takes_more_neighbours_while_the_graph_of_the_original_features_is_in_parts():
    """Three groups of 30 far apart: 20 neighbours stay within, 40 do not."""
    rng = np.random.default_rng(0)
    X = 100.0 * np.eye(3, 6)[np.repeat(np.arange(3), 30)] + rng.standard_normal((90, 6))
    assert [count_parts(nearest_others(Columns(X), k).index) for k in (20, 40)] == [3, 1]
    auto, given = (LLCFS(3, n_clusters=3, n_neighbors=k, scale=None, tol=2.0).fit(X) for k in ("auto", 40))
    assert_allclose(auto.scores_, given.scores_, rtol=1e-12)


def test_groups_without_a_way_out_are_reported_and_avoided_by_auto():
    """Eight groups of six, whose five neighbours are each other, and samples in between that hold the graph together.

    A vector that is constant on every group is predicted without error, whatever the constants: there are eight.
    """
    rng = np.random.default_rng(0)
    centres = 10.0 * np.eye(8, 11)
    between = (centres[:-1] + centres[1:]) / 2.0
    X = np.vstack([np.repeat(centres, 6, axis=0), between]) + 0.3 * rng.standard_normal((55, 11))
    params = {"n_clusters": 3, "scale": None, "tol": 2.0}
    with pytest.warns(
        ConvergenceWarning, match="8 separate parts, more than n_clusters=3: .* Increase n_neighbors"
    ) as caught:
        LLCFS(4, n_neighbors=5, **params).fit(X)
    assert caught[0].filename == __file__
    order = rng.permutation(55)
    original, permuted = (LLCFS(4, **params).fit(x) for x in (X, X[order]))
    assert_allclose(permuted.scores_, original.scores_, rtol=0, atol=1e-6)


@may_stop_early
@pytest.mark.parametrize("center", [True, False])
def test_one_neighbour_tells_no_features_apart_but_is_legal(center):
    X = np.random.default_rng(0).standard_normal((12, 4))
    selector = LLCFS(2, n_clusters=2, n_neighbors=1, center=center).fit(X)
    assert_allclose(selector.scores_, 0.25, rtol=1e-9)


@may_stop_early
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(30, 4), (4, 30)])
def test_one_cluster_is_legal(shape, center):
    """Without centring its indicator is constant: all coefficients are zero, and rounding must not rank."""
    rng = np.random.default_rng(0)
    X, order = rng.standard_normal(shape), rng.permutation(shape[0])
    original, permuted = (LLCFS(2, n_clusters=1, center=center).fit(x) for x in (X, X[order]))
    assert_allclose(permuted.scores_, original.scores_, rtol=0, atol=1e-6)
