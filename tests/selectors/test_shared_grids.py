"""Grids of methods that learn clusters and features together: settings share their first steps and nothing else."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ufselect import CGSSL, JELSR, NDFS, RUFS
from ufselect._utils.sharing import Shared, sharing
from ufselect.base import ClusterSelector
from ufselect.datasets.planted import make_planted_clusters

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

GRID = [{"regression_weight": a, "row_penalty": b} for a in (0.1, 10.0) for b in (0.03, 0.3)]
GRIDS = {
    JELSR: GRID,
    NDFS: GRID,
    CGSSL: [*GRID, {"structure_weight": 1.0}],
    RUFS: [*GRID, {"local_weight": 10.0}],
}
LEARNED = ("scores_", "ranking_", "coef_", "embedding_", "objective_history_")
for_all_methods = pytest.mark.parametrize("method", GRIDS)


def fitted(method, d, **params):
    X = make_planted_clusters(60, 3, 10, d - 10, random_state=0).X
    return method(5, **{"n_clusters": 3, "max_iter": 12, **params}).fit(X)


def shared_fits(method, d, grid, **params):
    parts = Shared()
    with sharing(parts):
        return [fitted(method, d, **params, **setting) for setting in grid], parts


@for_all_methods
@pytest.mark.parametrize("d", [30, 90])
@pytest.mark.parametrize("order", [1, -1])
def test_settings_that_share_their_first_steps_give_the_results_of_separate_fits(method, d, order):
    grid = GRIDS[method][::order]
    together, parts = shared_fits(method, d, grid)
    assert parts.seconds_saved > 0.0
    for setting, found in zip(grid, together, strict=True):
        alone = fitted(method, d, **setting)
        for name in LEARNED:
            assert_array_equal(getattr(found, name), getattr(alone, name))


@for_all_methods
def test_neighbours_are_searched_once_for_all_settings(method, monkeypatch):
    calls = []
    search = ClusterSelector._neighborhood
    monkeypatch.setattr(ClusterSelector, "_neighborhood", lambda self, X: calls.append(1) or search(self, X))
    shared_fits(method, 30, GRIDS[method])
    assert len(calls) == 1
    shared_fits(method, 30, [{"n_neighbors": 4}, {"n_neighbors": 5}])
    assert len(calls) == 3


@for_all_methods
def test_without_a_seed_nothing_is_shared(method):
    assert shared_fits(method, 30, GRIDS[method][:2], random_state=np.random.RandomState(0))[1].seconds_saved == 0.0
