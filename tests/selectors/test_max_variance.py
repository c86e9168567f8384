import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from problems import DATA, samples
from sklearn.preprocessing import StandardScaler

from ufselect import MaxVariance


@pytest.mark.parametrize("name", [*DATA, "digits200"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_array])
def test_scores_are_those_of_the_authors(reference, name, layout):
    stored = reference(f"maxvar_{name}")
    selector = MaxVariance().fit(layout(samples(reference, name)))
    assert_allclose(selector.scores_, stored["scores"], rtol=1e-12, atol=0)
    if name in ("syn", "wide"):
        assert_array_equal(np.argsort(selector.ranking_), stored["ranking"])


def test_after_standardising_all_scores_tie_and_the_first_columns_come_first():
    X = StandardScaler().fit_transform(np.random.default_rng(0).standard_normal((40, 6)) * np.arange(1.0, 7.0))
    selector = MaxVariance(3).fit(X)
    assert_allclose(selector.scores_, 40.0 / 39.0, rtol=1e-12)
    assert_array_equal(selector.ranking_, np.arange(1, 7))


def test_auto_takes_what_is_above_the_mean(reference):
    X = samples(reference, "syn")
    selector = MaxVariance().fit(X)
    variance = X.var(axis=0, ddof=1)
    assert_array_equal(selector.get_support(), variance > variance.mean())


def test_how_many_are_above_the_mean_does_not_depend_on_rounding():
    X = np.random.default_rng(0).standard_normal((50, 30))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(1).permutation(50)
    assert MaxVariance().fit(X).n_features_ == MaxVariance().fit(X[order]).n_features_ == 1
