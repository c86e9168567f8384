import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from problems import CLUSTERS, on_every_data_set, row_norms, samples
from sklearn.preprocessing import StandardScaler

from ufselect import JELSR
from ufselect._utils.policy import LARGEST_CROWDED_SPECTRUM
from ufselect.columns.dense import Columns
from ufselect.datasets.planted import make_planted_clusters
from ufselect.graphs.laplacian import SparseLaplacian
from ufselect.graphs.local_models import local_laplacian
from ufselect.graphs.neighbors import nearest_others
from ufselect.graphs.spectral import smallest_eigenvectors
from ufselect.selectors.jelsr import PredictedLaplacian, embed_and_regress
from ufselect.solvers.penalties import penalty_for_zero_of_any_embedding
from ufselect.solvers.reweighted import ReweightedRidge, inverse_weights

WEIGHTS = {"a0p1_b0p1": (0.1, 0.1), "a0p1_b1": (0.1, 1.0), "a1_b0p1": (1.0, 0.1), "a1_b1": (1.0, 1.0)}
with_every_weight = pytest.mark.parametrize("weights", WEIGHTS)
in_every_model = pytest.mark.parametrize("model", ["lle", "lpp", "ltsa"])


def embedding_of(count):
    return lambda L, _: smallest_eigenvectors(L, count).vectors


def iterated(X, L, count, alpha, beta, n_iter):
    """Iterations from equal weights; the last state and the objectives."""
    h, history = np.ones(X.shape[1]), []
    for _ in range(n_iter):
        state = embed_and_regress(Columns(X), SparseLaplacian(sp.csr_array(L)), h, alpha, beta, embedding_of(count))
        h = inverse_weights(state.W)
        history.append(state.objective)
    return state, np.array(history)


def objective(X, L, Y, W, alpha, beta):
    return np.sum(Y * (L @ Y)) + beta * (np.sum((X @ W - Y) ** 2) + alpha * row_norms(W).sum())


def small_problem(n, d, seed=0):
    """Columns, a Laplacian of neighbours, and weights that differ."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    L = local_laplacian(Columns(X), nearest_others(Columns(X), 3), "lle")
    return X, L, rng.uniform(0.1, 2.0, d)


def pieces(values, selector):
    """Standardised columns, the local model and α of a fit."""
    X = StandardScaler(with_mean=selector.center).fit_transform(values)
    columns = Columns(X, centered=selector.center)
    L = local_laplacian(columns, nearest_others(columns, 5), selector.local_model, dimension=selector.n_clusters_)
    return X, L.toarray(), selector.row_penalty * penalty_for_zero_of_any_embedding(columns)


# The authors' arrays


@on_every_data_set
@with_every_weight
@pytest.mark.parametrize("model", ["liang", "lle"])
def test_twenty_iterations_give_the_stored_scores_and_objectives(reference, name, weights, model):
    stored = reference(f"jelsr_{name}")
    L = stored["L_lpp"] if model == "liang" else reference(f"local_{name}")["L_lle"]
    state, history = iterated(samples(reference, name), L, CLUSTERS[name], *WEIGHTS[weights], 20)
    expected = stored[f"{model}_scores_{weights}"]
    assert_allclose(row_norms(state.W), expected, rtol=0, atol=1e-6 * expected.max())
    past = stored[f"obj20_{weights}" if model == "liang" else f"lle_obj20_{weights}"]
    assert_allclose(history, past, rtol=1e-9)
    assert np.diff(history).max() <= 1e-9 * history[-1]


# Where it departs from them


def test_a_constant_takes_no_column_of_the_embedding_where_columns_are_centred(reference):
    X = samples(reference, "syn")
    centred, plain = (JELSR(5, n_clusters=4, regression_weight=1e-6, center=center).fit(X) for center in (True, False))
    assert centred.embedding_.shape[1] == plain.embedding_.shape[1] - 1 == 3
    assert_allclose(centred.embedding_.sum(axis=0), 0.0, rtol=0, atol=1e-9)
    # Without, next to no regression leaves the null vectors of L, the constant among them.
    constant = np.full(80, 80**-0.5)
    assert_allclose(np.linalg.norm(plain.embedding_.T @ constant), 1.0, rtol=1e-3)


# The sub-problem


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_the_operator_is_the_laplacian_and_what_regression_cannot_explain(shape):
    n = shape[0]
    X, L, h = small_problem(*shape)
    alpha, beta = 0.4, 1.7
    operator = PredictedLaplacian(SparseLaplacian(L), ReweightedRidge(Columns(X), h, alpha), beta)
    by_features = np.eye(n) - X @ np.linalg.solve(X.T @ X + alpha * np.diag(1.0 / h), X.T)
    by_samples = alpha * np.linalg.inv(X @ (h[:, None] * X.T) + alpha * np.eye(n))
    for rest in (by_features, by_samples):
        assert_allclose(operator.toarray(), L.toarray() + beta * rest, rtol=0, atol=1e-10)
    B = np.random.default_rng(1).standard_normal((n, 3))
    assert_allclose(operator @ B, operator.toarray() @ B, rtol=0, atol=1e-10)
    assert_allclose(operator @ B[:, 0], operator.toarray() @ B[:, 0], rtol=0, atol=1e-10)


@settings(max_examples=20)
@given(n=st.integers(6, 20), d=st.integers(2, 25), seed=st.integers(0, 999), alpha=st.floats(0.01, 5.0))
def test_embedding_and_weights_are_the_best_for_given_row_weights(n, d, seed, alpha):
    X, L, h = small_problem(n, d, seed)
    beta = 0.8

    def bound(Y, W):
        return np.sum(Y * (L @ Y)) + beta * (np.sum((X @ W - Y) ** 2) + alpha * np.sum(W**2 / h[:, None]))

    state = embed_and_regress(Columns(X), SparseLaplacian(L), h, alpha, beta, embedding_of(2))
    assert_allclose(state.Y.T @ state.Y, np.eye(2), rtol=0, atol=1e-9)
    M = L.toarray() + beta * alpha * np.linalg.inv(X @ (h[:, None] * X.T) + alpha * np.eye(n))
    assert_allclose(bound(state.Y, state.W), np.linalg.eigvalsh(M)[:2].sum(), rtol=1e-8)
    assert_allclose(M @ state.Y, state.Y @ (state.Y.T @ M @ state.Y), rtol=0, atol=1e-8)
    slope = X.T @ (state.Y - X @ state.W) - alpha * state.W / h[:, None]
    assert_allclose(slope, 0.0, rtol=0, atol=1e-8)
    rng = np.random.default_rng(seed)
    other, _ = np.linalg.qr(state.Y + 0.1 * rng.standard_normal(state.Y.shape))
    assert bound(state.Y, state.W) <= bound(other, state.W + 0.01 * rng.standard_normal(state.W.shape))


# Fits


@on_every_data_set
@in_every_model
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.no_cover
def test_the_objective_never_rises(reference, name, model, center):
    params = {"local_model": model, "center": center, "regression_weight": 0.5, "tol": 1e-3}
    selector = JELSR(5, n_clusters=CLUSTERS[name], **params).fit(samples(reference, name))
    history = selector.objective_history_
    assert len(history) == selector.n_iter_ > 3
    assert np.diff(history).max() <= 1e-9 * history[-1]
    assert history[-1] > 0.0
    Y = selector.embedding_
    assert Y.shape[1] == CLUSTERS[name] - center
    assert_allclose(Y.T @ Y, np.eye(Y.shape[1]), rtol=0, atol=1e-9)


# Not digits with tangent spaces: their L has more null vectors than are taken, so that the first embedding, and
# α with it, is not defined to the last digits.
@pytest.mark.parametrize(("name", "model"), [("syn", "lpp"), ("wide", "ltsa"), ("digits200nc", "lle")])
@pytest.mark.parametrize("center", [True, False])
def test_the_objective_is_that_of_what_comes_back(reference, name, model, center):
    values = samples(reference, name)
    params = {"local_model": model, "center": center, "regression_weight": 0.5, "tol": 1e-2}
    selector = JELSR(5, n_clusters=CLUSTERS[name], scale="standard", **params).fit(values)
    X, L, alpha = pieces(values, selector)
    written = objective(X, L, selector.embedding_, selector.coef_, alpha, 0.5)
    assert_allclose(selector.objective_history_[-1], written, rtol=1e-9)
    assert_allclose(selector.scores_, row_norms(selector.coef_) * np.sqrt(np.mean(X**2)), rtol=1e-10)


@in_every_model
def test_order_of_samples_does_not_matter_where_there_are_more_clusters_than_named(model):
    """Six clusters far apart are six null vectors of L, of which an embedding for three clusters takes two."""
    X = make_planted_clusters(90, 6, 12, 8, separation=12.0, random_state=0).X
    order = np.random.default_rng(0).permutation(90)
    selector, permuted = (JELSR(5, n_clusters=3, local_model=model, tol=1e-2).fit(values) for values in (X, X[order]))
    assert_allclose(permuted.objective_history_, selector.objective_history_, rtol=1e-6)
    assert_allclose(permuted.scores_, selector.scores_, rtol=0, atol=1e-6 * selector.scores_.max())


def test_more_samples_than_are_decomposed_densely_lower_the_objective_too():
    data = make_planted_clusters(LARGEST_CROWDED_SPECTRUM + 20, 3, 10, 10, random_state=0)
    selector = JELSR(5, n_clusters=3, tol=1e-3).fit(data.X)
    history = selector.objective_history_
    assert np.diff(history).max() <= 1e-4 * history[-1]  # the precision of the iterative eigensolver
    assert data.informative[selector.top_features()].all()
