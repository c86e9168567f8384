import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import DATA, central_differences, on_every_data_set, samples

from ufselect import NDFS
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import NormalizedLaplacian
from ufselect.selectors.ndfs import Prediction
from ufselect.solvers.nonnegative import unit_columns
from ufselect.solvers.reweighted import ReweightedRidge, inverse_weights

SETTINGS = [(alpha, beta) for alpha in (0.1, 1) for beta in (0.1, 10)]
PUBLISHED_Z = 1e8
may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def key(alpha, beta):
    return f"a{alpha}_b{beta}".replace(".", "p")


def stored_problem(reference, name, alpha, beta):
    """The problem of the authors' runs, whose graph of digits is the same with and without constant columns."""
    X = Columns(samples(reference, name))
    graph = reference("graph_" + name.removesuffix("nc").replace("digits200", "digits200nc"))
    return Prediction(X, NormalizedLaplacian(graph["W_heat_s2"]), alpha, beta)


def published_run(problem, F, n_iter):
    """F and W, from W all ones and with the authors' 2.2e-16 under the root."""
    h = np.full(problem.X.shape[1], 2.0 * np.sqrt(F.shape[1]))
    for _ in range(n_iter):
        F, W = problem.published_step(F, h, PUBLISHED_Z)
        h = 2.0 * np.sqrt(np.sum(W**2, axis=1) + np.finfo(float).eps)
    return F, W


def random_problem(n, d, c, seed, *, centered=False):
    """Data, a connected graph and a positive F."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, d))
    X = Columns(values - values.mean(axis=0), centered=True) if centered else Columns(values)
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.5) + 0.01
    alpha, beta = 10.0 ** rng.uniform(-2.0, [2.0, 0.0])  # β not so large that no feature is left
    return Prediction(X, NormalizedLaplacian(A + A.T), alpha, beta), unit_columns(rng.random((n, c)) + 0.01)


# The published update


@pytest.mark.parametrize("name", [*DATA, "digits200"])
@pytest.mark.parametrize(("alpha", "beta"), SETTINGS)
def test_published_updates_reach_the_indicators_and_weights_of_the_authors(reference, name, alpha, beta):
    stored, problem = reference(f"ndfs_{name}"), stored_problem(reference, name, alpha, beta)
    if "L" in stored:
        assert_allclose(problem.L.toarray(), stored["L"], rtol=0, atol=1e-14)
    F, W = published_run(problem, stored["F_init"], 100)
    assert_allclose(F, stored[f"F_{key(alpha, beta)}"], rtol=0, atol=1e-11)
    assert_allclose(W, stored[f"W_{key(alpha, beta)}"], rtol=0, atol=1e-10)
    norms = np.linalg.norm(W, axis=1)
    clear = np.count_nonzero(norms > 1e-6 * norms.max())  # the rest is left at the floor, in any order
    assert_array_equal(np.argsort(-norms, kind="stable")[:clear], stored[f"idx_{key(alpha, beta)}"][:clear])


# One step


@settings(max_examples=20)
@given(
    n=st.integers(3, 15),
    d=st.integers(1, 20),
    c=st.integers(1, 4),
    exponent=st.floats(-2.0, 8.0),
    centered=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_no_monotone_step_raises_the_objective(n, d, c, exponent, centered, seed):
    problem, F = random_problem(n, d, c, seed, centered=centered)
    z = 10.0**exponent
    F, W = problem.monotone_step(F, np.ones(d), z)
    before = problem.objective(F, W, z)
    for _ in range(30):
        F, W = problem.monotone_step(F, inverse_weights(W), z)
        after = problem.objective(F, W, z)
        assert np.all(F >= 0.0)
        assert after <= before * (1.0 + 1e-10)
        before = after


@pytest.mark.parametrize("shape", [(12, 5), (8, 8), (6, 15)])
@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("z", [0.1, 10.0])
def test_every_indicator_moves_against_the_slope_of_the_objective(shape, centered, z):
    problem, F = random_problem(*shape, 3, 0, centered=centered)
    h = np.random.default_rng(1).uniform(0.1, 2.0, shape[1])
    ridge = ReweightedRidge(problem.X, h, problem.beta)

    def bound(F):
        """The objective with its penalty bounded at h, and the best W for F."""
        target = problem.X.centered_like(F)
        W = ridge.coef(target)
        penalty = problem.beta * np.sum(W**2 / h[:, None])
        prediction = problem.alpha * (np.sum((target - problem.X @ W) ** 2) + penalty)
        return np.sum(F * (problem.L @ F)) + prediction + z / 2.0 * np.sum((F.T @ F - np.eye(3)) ** 2)

    moved, _ = problem.monotone_step(F, h, z)
    slope = central_differences(bound, F)
    clear = np.abs(slope) > 1e-6 * np.abs(slope).max()
    assert_array_equal(np.sign(moved - F)[clear], -np.sign(slope)[clear])
    assert bound(moved) < bound(F)


@pytest.mark.parametrize("shape", [(12, 5), (8, 8), (6, 15)])
def test_both_routes_agree_with_the_formula_of_the_paper(shape):
    problem, F = random_problem(*shape, 3, 0)
    X, alpha, beta = problem.X.values, problem.alpha, problem.beta
    h = np.random.default_rng(1).uniform(0.1, 2.0, shape[1])
    G = np.linalg.inv(X.T @ X + beta * np.diag(1.0 / h))
    M = problem.L.toarray() + alpha * (np.eye(shape[0]) - X @ G @ X.T)
    dual = problem.L.toarray() + alpha * beta * np.linalg.inv(X @ np.diag(h) @ X.T + beta * np.eye(shape[0]))
    assert_allclose(dual, M, rtol=0, atol=1e-11)
    raw = F * (PUBLISHED_Z * F) / (M @ F + PUBLISHED_Z * F @ F.T @ F)
    gram = X.T @ X if shape[1] <= shape[0] else None
    for same in (problem, Prediction(problem.X, problem.L, alpha, beta, gram)):
        found, W = same.published_step(F, h, PUBLISHED_Z)
        assert_allclose(found, unit_columns(raw), rtol=1e-12)
        assert_allclose(W, G @ X.T @ F, rtol=0, atol=1e-12)


# The selector


@may_stop_early
@pytest.mark.parametrize("regression_weight", [0.01, 1e4])
@on_every_data_set
def test_published_update_stays_finite_for_a_heavy_regression(reference, name, regression_weight):
    X = samples(reference, name)
    selector = NDFS(5, n_clusters=4, update="published", regression_weight=regression_weight).fit(X)
    assert np.all(np.isfinite(selector.objective_history_))
    assert np.all(np.isfinite(selector.scores_))
    assert np.all(selector.embedding_ >= 0.0)
