import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ufselect import FSASL
from ufselect._backend.policy import LARGEST_EXACT_SEARCH
from ufselect.datasets import make_planted_clusters
from ufselect.graphs.approximate import approximate_others, searches_approximately
from ufselect.graphs.neighbors import nearest_others

PLANTED = make_planted_clusters(600, 5, 12, 8, random_state=0)


@pytest.fixture(scope="module")
def found():
    return approximate_others(PLANTED.X, 10)


def test_most_neighbours_are_found_and_the_recall_is_measured(found):
    exact = nearest_others(PLANTED.X, 10)
    share = np.mean([len({*a} & {*b}) for a, b in zip(found.nearest.index, exact.index, strict=True)]) / 10
    assert share > 0.95
    assert_allclose(found.recall, share, rtol=0, atol=1e-12)  # 1000 samples or all


def test_distances_are_exact_and_ascending(found):
    index, distances = found.nearest.index, found.nearest.squared_distances
    differences = PLANTED.X[:, None, :] - PLANTED.X[index]
    assert_allclose(distances, np.sum(differences**2, axis=2), rtol=1e-12)
    assert np.all(np.diff(distances, axis=1) >= 0.0)
    assert not np.any(index == np.arange(600)[:, None])


def test_a_fit_with_approximate_neighbours_selects_the_same_features_and_says_their_recall():
    exact, approximate = FSASL(8).fit(PLANTED.X), FSASL(8, neighbors="approximate").fit(PLANTED.X)
    assert exact.neighbor_recall_ == 1.0
    assert 0.9 < approximate.neighbor_recall_ <= 1.0
    assert {*exact.top_features()} == {*approximate.top_features()}
    assert_array_equal(FSASL(8, neighbors="approximate").fit(PLANTED.X).scores_, approximate.scores_)


def test_auto_is_exact_up_to_a_size():
    assert not searches_approximately("auto", LARGEST_EXACT_SEARCH)
    assert searches_approximately("auto", LARGEST_EXACT_SEARCH + 1)
    assert searches_approximately("approximate", 10)
    assert not searches_approximately("exact", 10**9)


def test_without_pynndescent_auto_warns_and_is_exact(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.warns(UserWarning, match=r"1,000,000 samples take long.*ufselect\[approximate\]"):
        assert not searches_approximately("auto", 10**6)
    with pytest.raises(ImportError, match=r'neighbors="approximate" needs pynndescent: run `pip install'):
        FSASL(5, neighbors="approximate").fit(PLANTED.X)


def test_what_needs_exact_neighbours_is_refused():
    with pytest.raises(ValueError, match='neighbors="approximate" needs spread="row"'):
        FSASL(5, neighbors="approximate", spread="mean").fit(PLANTED.X)
