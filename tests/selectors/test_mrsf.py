import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import CLUSTERS, on_every_data_set, relative_width, samples, worst_violation
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from ufselect import MRSF


def as_published(reference, name, n_features):
    """Raw columns and the width of the stored run."""
    X = samples(reference, name)
    width = relative_width(X, np.sqrt(reference(f"spfs_{name}")["t"] / 2.0))
    return MRSF(n_features, n_clusters=CLUSTERS[name], width=width, scale=None, center=False).fit(X)


def steepness(X, Y, W):
    return np.linalg.norm(X.T @ (Y - X @ W), axis=1)


# The authors' arrays


@on_every_data_set
def test_the_first_to_enter_are_those_of_both_programs_of_the_authors(reference, name):
    stored = reference(f"spfs_{name}")
    best = as_published(reference, name, 20).top_features(3)
    assert_array_equal(best, stored["lar_idx"][:3])
    assert_array_equal(best, stored["larnes_idx"][:3])


# The sub-problem


@pytest.mark.parametrize("center", [True, False])
@on_every_data_set
def test_the_weights_meet_the_optimality_conditions_of_their_penalty(reference, name, center):
    values = samples(reference, name)
    selector = MRSF(10, n_clusters=CLUSTERS[name], scale="standard", center=center).fit(values)
    X = StandardScaler(with_mean=center).fit_transform(values)
    W, Y = selector.coef_, selector.embedding_
    used = W.any(axis=1)
    half = steepness(X, Y, W)[used].mean()
    assert worst_violation(X.T @ (Y - X @ W), W, half) <= 2e-4
    # The share at which the path was left: no score of a feature in use is below, none of another above.
    share = half / np.linalg.norm(X.T @ Y, axis=1).max()
    assert selector.scores_[used].min() >= share * (1.0 - 2e-4)
    entered = selector.scores_ > share * (1.0 + 2e-4)
    assert entered.sum() >= 10
    # Scores are penalties of entry as shares of the first, and fewer features are the first of more.
    ranked = selector.scores_[selector.top_features(selector.n_features_in_)]
    assert_allclose(ranked[0], 1.0, rtol=1e-12)
    assert ranked[-1] >= 0.0
    assert np.all(np.diff(ranked) <= 1e-12)
    five = clone(selector).set_params(n_features_to_select=5).fit(values)
    assert_array_equal(five.top_features(), selector.top_features(5))


def test_a_feature_that_says_almost_what_an_earlier_one_says_enters_late(reference):
    X, selector = samples(reference, "syn"), MRSF(8, n_clusters=4, scale="standard")
    best = clone(selector).fit(X).top_features()[0]
    worse = X[:, best] + 0.3 * np.random.default_rng(0).standard_normal(80)
    beside = clone(selector).fit(np.column_stack([X, worse]))
    instead = clone(selector).fit(np.column_stack([np.delete(X, best, axis=1), worse]))
    assert instead.scores_[-1] > 0.8
    assert beside.scores_[-1] < 0.5 * instead.scores_[-1]
