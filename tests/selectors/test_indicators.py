"""Selectors with nonnegative indicators of clusters that become orthogonal: CGSSL, NDFS and RUFS."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import DATA, samples

from ufselect import CGSSL, NDFS, RUFS
from ufselect.datasets.planted import make_planted_clusters

SETTINGS = [
    *[(cls, name, {}) for cls in (CGSSL, NDFS, RUFS) for name in (*DATA, "digits200")],
    *[(cls, "wide", {"center": False}) for cls in (CGSSL, NDFS, RUFS)],
    (CGSSL, "wide", {"structure_weight": 1e3}),
    (NDFS, "wide", {"scale": None}),
    (NDFS, "wide", {"weights": "binary"}),
    (RUFS, "wide", {"local_weight": 10.0}),
    (RUFS, "wide", {"width": 0.3}),
]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
of_all_three = pytest.mark.parametrize("cls", [CGSSL, NDFS, RUFS])


@pytest.mark.parametrize(("cls", "name", "params"), SETTINGS)
@pytest.mark.no_cover
def test_the_objective_never_rises_while_the_weight_of_orthogonality_stays(reference, cls, name, params):
    selector = cls(5, n_clusters=4, **params).fit(samples(reference, name))
    history, weights = selector.objective_history_, selector.orthogonality_history_
    assert len(history) == len(weights) == selector.n_iter_
    assert_array_equal(np.unique(weights), [1.0, 10.0, 100.0, 1000.0])
    assert np.all(np.diff(weights) >= 0.0)
    same = np.diff(weights) == 0.0
    assert np.all(np.diff(history)[same] <= 1e-9 * history[:-1][same])
    F = selector.embedding_
    assert F.min() >= 0.0
    if not params:
        assert np.linalg.norm(F.T @ F - np.eye(4)) < 0.05


@of_all_three
def test_the_largest_indicator_of_a_sample_tells_its_cluster(cls):
    for seed in range(2):
        data = make_planted_clusters(120, 4, 20, 80, random_state=seed)
        found = cls(10, n_clusters=4, **({} if cls is RUFS else {"scale": "standard"})).fit(data.X)
        assert len({*zip(data.clusters.tolist(), found.embedding_.argmax(axis=1).tolist(), strict=True)}) == 4
    if cls is CGSSL:
        assert_allclose(found.scores_, np.linalg.norm(found.coef_, axis=1), rtol=1e-12)


@of_all_three
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(20, 4), (4, 20)])
def test_one_cluster_is_legal(cls, shape, center):
    X = np.random.default_rng(0).standard_normal(shape)
    selector = cls(2, n_clusters=1, center=center).fit(X)
    assert np.all(np.isfinite(selector.scores_))
    assert_array_equal(np.sort(selector.ranking_), np.arange(1, shape[1] + 1))
