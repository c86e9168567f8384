from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import central_differences, on_every_data_set, samples
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import adjusted_rand_score

from ufselect import RUFS
from ufselect.columns.dense import Columns
from ufselect.datasets.planted import make_planted_clusters
from ufselect.graphs.local_models import (
    difference_grams,
    gaussian_of_grams,
    kernel_prediction_weights,
    residual_laplacian,
    with_self,
)
from ufselect.graphs.neighbors import nearest_others
from ufselect.selectors.rufs import RobustPrediction
from ufselect.solvers.nonnegative import indicators

SMOOTHING = 1e-6
may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def run(problem, state, z, n_iter):
    values = [problem.objective(state, z)]
    for _ in range(n_iter):
        state = problem.step(state, z)
        values.append(problem.objective(state, z))
    return state, np.array(values)


def random_problem(n, d, c, seed, *, centered=False):
    """Data that are not negative, predictions from others, and a start; predicted with an intercept if centred."""
    rng = np.random.default_rng(seed)
    X = Columns(rng.random((n, d)))
    T = residual_laplacian(sp.csr_array(0.3 * rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.5)))
    rho, nu, alpha = 10.0 ** rng.uniform(-1.0, 1.0, 3)
    beta = alpha * 10.0 ** rng.uniform(-2.0, 0.0)  # not so much that no feature is left
    problem = RobustPrediction(X, X.less_means() if centered else X, T, rho, nu, alpha, beta)
    return problem, problem.start(indicators(rng.permutation(np.arange(n) % c), c))


def smoothed(residuals):
    return np.sqrt(np.sum(residuals**2, axis=1) + SMOOTHING**2)


# Local learning


def test_weights_of_neighbours_are_those_of_kernel_ridge_regression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    index = nearest_others(Columns(X), 4).index
    _, grams = with_self(index, difference_grams(Columns(X), index))
    weights = kernel_prediction_weights(gaussian_of_grams(grams, 2.0), 0.1)
    y = rng.standard_normal(12)
    for i in range(12):
        model = KernelRidge(alpha=0.1, kernel="rbf", gamma=1.0 / (2.0 * 2.0)).fit(X[index[i]], y[index[i]])
        assert_allclose(weights[i] @ y[index[i]], model.predict(X[[i]]).item(), rtol=1e-9)


# One step


@settings(max_examples=20)
@given(
    n=st.integers(4, 15),
    d=st.integers(1, 20),
    c=st.integers(1, 3),
    exponent=st.floats(-2.0, 7.0),
    centered=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_no_part_of_a_step_raises_the_objective(n, d, c, exponent, centered, seed):
    problem, state = random_problem(n, d, c, seed, centered=centered)
    z = 10.0**exponent
    value = problem.objective(state, z)
    for _ in range(20):
        after = problem.step(state, z)
        for part in (replace(state, W=after.W, b=after.b), replace(after, G=state.G), after):
            before, value = value, problem.objective(part, z)
            assert value <= before * (1.0 + 1e-10)
        state = after
        assert np.all(state.G >= 0.0)
        assert np.all(state.F >= 0.0)


@pytest.mark.parametrize("centered", [False, True])
def test_the_objective_is_that_of_the_paper_or_has_an_intercept(centered):
    problem, state = random_problem(10, 6, 3, 0, centered=centered)
    X, G, F, W = problem.X.values, state.G, state.F, state.W
    b = np.array([0.1, -0.2, 0.3]) if centered else np.zeros(3)
    predicted = (X - X.mean(axis=0)) @ W + b if centered else X @ W
    expected = (
        problem.rho * smoothed(X - G @ F).sum()
        + problem.nu * np.trace(G.T @ problem.T @ G)
        + problem.alpha * smoothed(predicted - G).sum()
        + problem.beta * np.linalg.norm(W, axis=1).sum()
        + 7.0 / 2.0 * np.sum((G.T @ G - np.eye(3)) ** 2)
    )
    assert_allclose(problem.objective(replace(state, b=b), 7.0), expected, rtol=1e-10)
    assert_allclose(problem.reconstruction_norms(G, F), smoothed(X - G @ F), rtol=1e-9)


@pytest.mark.parametrize("shape", [(12, 5), (6, 15)])
@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.no_cover
def test_weights_converge_to_the_optimality_conditions_of_a_robust_regression(shape, centered):
    problem, state = random_problem(*shape, 3, 0, centered=centered)
    G = state.G
    for _ in range(1000):
        state = replace(problem.step(state, 10.0), G=G)
    P, W = problem.predictors.values, state.W
    residuals = P @ W + state.b - G
    directions = residuals / smoothed(residuals)[:, None]
    slope = problem.alpha * P.T @ directions
    norms = np.linalg.norm(W, axis=1)
    kept = norms > 1e-6 * norms.max()
    assert kept.any()
    # Rows that go to zero do so slowly, and samples that are fitted exactly count 10⁶ times as much as others.
    assert_allclose(slope[kept], -problem.beta * W[kept] / norms[kept, None], rtol=0, atol=0.01 * problem.beta)
    assert np.all(np.linalg.norm(slope[~kept], axis=1) <= problem.beta * 1.01)
    if centered:
        assert_allclose(directions.sum(axis=0), 0.0, rtol=0, atol=1e-3)


@pytest.mark.parametrize("shape", [(12, 5), (6, 15)])
@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("z", [0.1, 100.0])
def test_every_indicator_moves_against_the_slope_of_the_objective(shape, centered, z):
    problem, state = random_problem(*shape, 3, 0, centered=centered)
    after = problem.step(state, z)
    slope = central_differences(lambda G: problem.objective(replace(after, G=G), z), state.G)
    clear = np.abs(slope) > 1e-6 * np.abs(slope).max()
    assert_array_equal(np.sign(after.G - state.G)[clear], -np.sign(slope)[clear])


def test_samples_that_are_fitted_exactly_do_no_harm():
    """Where the authors' program divides by zero."""
    G = np.eye(3)[np.repeat(np.arange(3), 4)] / 2.0
    X = Columns(G @ np.random.default_rng(0).random((3, 5)))
    problem = RobustPrediction(X, X, sp.csr_array((12, 12)), 1.0, 1.0, 1.0, 1e-3)
    exact = replace(problem.start(G), F=np.linalg.pinv(G) @ X.values)
    assert_allclose(problem.reconstruction_norms(G, exact.F), SMOOTHING, rtol=1e-2)
    state, values = run(problem, exact, 10.0, 50)
    assert np.all(np.isfinite(state.W))
    # Residuals of next to nothing are differences of squared norms, and rounded like these.
    assert np.all(np.diff(values) <= 1e-9 * np.linalg.norm(X.values, axis=1).sum())


def test_one_outlier_does_not_carry_the_basis_off():
    """The norm of a sample counts once, not squared: a basis by least squares goes much further."""
    values = 1.0 + 0.1 * np.random.default_rng(0).random((30, 4))
    values[0] = 100.0
    X, G = Columns(values), np.full((30, 1), 30.0**-0.5)
    problem = RobustPrediction(X, X, sp.csr_array((30, 30)), 1.0, 1.0, 1.0, 1e-3)
    state = problem.start(G)
    assert_allclose((G @ state.F)[1], values.mean(axis=0), rtol=1e-3)
    for _ in range(200):
        state = replace(problem.step(state, 1.0), G=G)
    assert_allclose((G @ state.F)[1], np.median(values, axis=0), rtol=0.02)


# The selector


@on_every_data_set
@pytest.mark.parametrize("center", [True, False])
def test_terms_begin_at_the_number_of_clusters_and_the_penalty_at_a_share_of_its_largest(reference, name, center):
    """W = 0 is optimal for given G if and only if β is at least α‖pⱼᵀ(G/‖gᵢ‖)‖ for every feature j."""
    X, c = Columns.of_unit_range(samples(reference, name)), 4
    n = X.shape[0]
    P, G = X.less_means() if center else X, indicators(np.arange(n) % c, c)
    T = sp.csr_array((n, n))
    problem = RUFS(n_clusters=c, row_penalty=0.3, center=center)._in_units_of_the_start(X, P, T, G)
    assert_allclose(problem.rho * problem.reconstruction_norms(G, problem.start(G).F).sum(), c, rtol=1e-9)
    target = G - G.mean(axis=0) if center else G
    lengths = np.linalg.norm(target, axis=1)
    assert_allclose(problem.alpha * lengths.sum(), c, rtol=1e-9)
    slope = problem.alpha * np.linalg.norm(P.values.T @ (target / lengths[:, None]), axis=1)
    assert_allclose(problem.beta, 0.3 * slope.max(), rtol=1e-9)


@may_stop_early
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("shape", "seed"), [((200, 6, 40, 100), 0), ((200, 4, 40, 400), 1)])
def test_faint_clusters_are_found_in_any_order_of_the_samples(shape, seed, form):
    X, clusters, informative = make_planted_clusters(*shape, separation=1.0, random_state=seed)
    order = np.random.default_rng(0).permutation(len(X))
    first, second = (RUFS(40, n_clusters=shape[1]).fit(form(each)) for each in (X, X[order]))
    assert adjusted_rand_score(clusters, first.embedding_.argmax(axis=1)) > 0.95
    assert informative[first.top_features()].sum() >= 32
    assert_allclose(second.scores_, first.scores_, rtol=0, atol=1e-3 * first.scores_.max())


@may_stop_early
@pytest.mark.parametrize("sizes", [(20, 14, 14, 11), (16, 12, 12, 8)])
def test_samples_between_two_clusters_go_to_the_same_one_from_dense_and_sparse_data(sizes):
    corners = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], sizes, axis=0)
    corners = np.random.default_rng(1).permutation(corners)
    X = np.hstack([np.eye(2)[corners[:, 0]], np.eye(2)[corners[:, 1]]])
    dense, sparse = (RUFS(2, n_clusters=3, max_iter=5).fit(form(X)).scores_ for form in (np.array, sp.csr_array))
    assert_allclose(sparse, dense, rtol=0, atol=1e-6 * dense.max())
