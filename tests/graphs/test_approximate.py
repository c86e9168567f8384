import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from ufselect import KernelFSASL
from ufselect._utils.policy import LARGEST_EXACT_SEARCH
from ufselect.datasets import make_planted_clusters
from ufselect.graphs.approximate import approximate_others, searches_approximately
from ufselect.graphs.neighbors import nearest_others

PLANTED = make_planted_clusters(600, 5, 12, 8, random_state=0)


@pytest.mark.more  # pynndescent is compiled, which takes a minute
def test_most_neighbours_are_found_with_exact_distances_and_a_measured_recall():
    # One test, as every process that searches compiles pynndescent.
    X = PLANTED.X
    found, exact = approximate_others(X, 10), nearest_others(X, 10)
    index, distances = found.nearest.index, found.nearest.squared_distances
    share = np.mean([len({*a} & {*b}) for a, b in zip(index, exact.index, strict=True)]) / 10
    assert share > 0.95
    assert_allclose(found.recall, share, rtol=0, atol=1e-12)  # 1000 samples or all
    assert_allclose(distances, np.sum((X[:, None, :] - X[index]) ** 2, axis=2), rtol=1e-12)
    assert np.all(np.diff(distances, axis=1) >= 0.0)
    assert not np.any(index == np.arange(len(X))[:, None])

    expected, selector = KernelFSASL(8).fit(X), KernelFSASL(8, neighbors="approximate").fit(X)
    assert expected.neighbor_recall_ == 1.0
    assert 0.9 < selector.neighbor_recall_ <= 1.0
    assert {*selector.top_features()} == {*expected.top_features()}
    assert_array_equal(KernelFSASL(8, neighbors="approximate").fit(X).scores_, selector.scores_)


def test_auto_is_exact_up_to_a_size():
    assert not searches_approximately("auto", np.zeros((LARGEST_EXACT_SEARCH, 1)))
    assert searches_approximately("auto", np.zeros((LARGEST_EXACT_SEARCH + 1, 1)))
    assert searches_approximately("approximate", np.zeros((10, 1)))
    assert not searches_approximately("exact", np.zeros((10**6, 1)))


def test_without_pynndescent_auto_warns_and_is_exact(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.warns(UserWarning, match="1,000,000 samples take a long time.*pip install pynndescent"):
        assert not searches_approximately("auto", np.zeros((10**6, 1)))
    with pytest.raises(ImportError, match=r'neighbors="approximate" needs pynndescent: run `pip install pynndescent`'):
        KernelFSASL(5, neighbors="approximate").fit(PLANTED.X)


def test_what_needs_exact_neighbours_is_refused():
    X = sp.csr_array(PLANTED.X)
    with pytest.raises(ValueError, match='neighbors="approximate" needs a dense X or more features than'):
        KernelFSASL(5, neighbors="approximate", graph_components=None).fit(X)
