"""Settings of a grid that share their first steps: the results and certificates of separate fits."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import ufselect.selectors.fsasl as module
from ufselect import FSASL
from ufselect._utils.sharing import Shared, sharing
from ufselect.columns.dense import Columns
from ufselect.datasets.planted import make_planted_clusters
from ufselect.solvers import feature_weights

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

GRID = [
    {"self_expression_penalty": a, "local_weight": b, "row_penalty": g}
    for a in (0.01, 0.1)
    for b in (1e-3, 1.0, 1e3)
    for g in (0.03, 0.3)
]
LEARNED = ("scores_", "ranking_", "coef_", "embedding_", "objective_history_", "half_step_history_")


@pytest.fixture(scope="module")
def X():
    return make_planted_clusters(120, 4, 20, 20, random_state=0).X


def fitted(X, **params):
    return FSASL.published(**{"n_clusters": 4, "spread": "row", "max_iter": 3, "tol": 0.0, **params}).fit(X)


@pytest.fixture(scope="module")
def separate_fit(X):
    """Fit a setting that shares nothing, once for all tests."""
    return cache(lambda **params: fitted(X, **params))


def shared_fits(X, grid, **params):
    parts = Shared()
    with sharing(parts):
        return [fitted(X, **params, **setting) for setting in grid], parts


def assert_same_fit(one, other):
    for name in LEARNED:
        assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("self_expression_", "neighbor_graph_"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None)
        assert left is None or abs(left - right).max() == 0.0


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("params", [{}, {"spread": "mean"}, {"n_clusters": "auto"}, {"structure": "local"}])
def test_settings_that_share_their_first_steps_give_the_results_of_separate_fits(X, order, params, separate_fit):
    for setting, found in zip(GRID[::order], shared_fits(X, GRID[::order], **params)[0], strict=True):
        assert_same_fit(found, separate_fit(**params, **setting))


@pytest.mark.parametrize(
    "params",
    [{"structure": "global"}, {"adaptive": False}, {"w_solver": "eigen"}, {"n_clusters": None}, {"random_state": None}],
)
def test_fits_whose_first_steps_depend_on_all_parameters_share_nothing(X, params):
    found, parts = shared_fits(X, GRID[:4], **params)
    assert parts.seconds_saved == 0.0
    if params.get("random_state", 0) is not None:
        for setting, fit in zip(GRID, found, strict=False):
            assert_same_fit(fit, fitted(X, **params, **setting))


def test_the_first_steps_are_computed_once_for_all_settings_that_share_them(X, monkeypatch):
    calls = {"sparse_self_expression": 0, "affordable_gram": 0}

    def counted(name, solve):
        def call(*arguments, **options):
            calls[name] += 1
            return solve(*arguments, **options)

        return call

    for name in calls:
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    _, parts = shared_fits(X, GRID, max_iter=1)
    assert calls == {"sparse_self_expression": 4, "affordable_gram": 2}  # pairs of α and γ; values of γ
    assert parts.seconds_saved > 0.0
    shared_fits(X, GRID[:1], max_iter=1)
    fitted(X, max_iter=1)
    assert calls == {"sparse_self_expression": 6, "affordable_gram": 4}


def test_a_subset_of_the_block_saves_no_seconds_of_another(X):
    parts = Shared()
    with sharing(parts) as saved:
        fitted(X, **GRID[0])
        assert saved() == 0.0
    with sharing(parts) as saved:
        fitted(X, **GRID[2])
        assert saved() > 0.0
    with sharing(parts) as saved:
        assert saved() == 0.0


def test_lassos_and_regressions_of_a_shared_grid_meet_their_certificates(X, monkeypatch, self_expression_gaps):
    express, regress = module.sparse_self_expression, feature_weights.l21_regression
    checked = []

    def expressed(Z, *arguments, **options):
        found = express(Z, *arguments, **options)
        values, gaps = self_expression_gaps(Z, found.S, found.penalties)
        checked.append(np.all(gaps <= 1e-4 * values + 1e-14 * np.sum(Z**2, axis=1)))
        return found

    def regressed(X, Y, penalty, **options):
        found = regress(X, Y, penalty, **options)
        assert isinstance(X, Columns)
        slope, lengths = X.transposed_matmul(Y - X @ found.coef), np.linalg.norm(found.coef, axis=1)
        unit = found.coef / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        off = np.linalg.norm(slope - penalty / 2.0 * unit, axis=1) - penalty / 2.0 * (lengths == 0.0)
        checked.append(off.max() <= 1e-4 * penalty / 2.0 * (1.0 + 1e-6))
        return found

    monkeypatch.setattr(module, "sparse_self_expression", expressed)
    monkeypatch.setattr(feature_weights, "l21_regression", regressed)
    shared_fits(X, GRID)
    assert len(checked) > 2 * len(GRID)
    assert all(checked)
