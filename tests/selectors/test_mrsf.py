import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import CLUSTERS, on_every_data_set, relative_width, row_norms, samples, worst_violation
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from ufselect import MRSF
from ufselect.columns.dense import Columns
from ufselect.graphs.kernel import gaussian_kernel, kernel_factor
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import smallest_penalty_for_zero

RATIOS = {"0p5": 0.5, "0p2": 0.2, "0p1": 0.1, "0p05": 0.05}


def as_published(reference, name, n_features):
    """Raw columns and the width of the stored run."""
    X = samples(reference, name)
    width = relative_width(X, np.sqrt(reference(f"spfs_{name}")["t"] / 2.0))
    return MRSF(n_features, n_clusters=CLUSTERS[name], width=width, scale=None, center=False).fit(X)


def steepness(X, Y, W):
    return np.linalg.norm(X.T @ (Y - X @ W), axis=1)


# The authors' arrays


@on_every_data_set
def test_the_factor_of_the_similarity_is_the_stored_one(reference, name):
    X, stored = samples(reference, name), reference(f"spfs_{name}")
    width = relative_width(X, np.sqrt(stored["t"] / 2.0))
    if "K" in stored:
        assert_allclose(gaussian_kernel(Columns(X), width), stored["K"], rtol=0, atol=1e-12)
    Y = kernel_factor(Columns(X), width, count=CLUSTERS[name])
    assert_allclose(Y @ Y.T, stored["Y"] @ stored["Y"].T, rtol=0, atol=1e-10)
    assert_allclose(smallest_penalty_for_zero(Columns(X), Y), 2.0 * stored["exact_lambda_max"], rtol=1e-10)


@on_every_data_set
@pytest.mark.parametrize("ratio", RATIOS)
def test_points_of_the_path_are_no_worse_than_the_stored_optimum(reference, name, ratio):
    X, stored = samples(reference, name), reference(f"spfs_{name}")
    penalty = RATIOS[ratio] * 2.0 * stored["exact_lambda_max"]
    solution = l21_regression(Columns(X), stored["Y"], penalty)
    assert solution.objective <= 2.0 * stored[f"exact_obj_ratio{ratio}"] * (1.0 + 1e-6)
    if name != "wide":  # where weights are unique
        norms = row_norms(l21_regression(Columns(X), stored["Y"], penalty, tol=1e-6).coef)
        expected = stored[f"exact_scores_ratio{ratio}"]
        assert_allclose(norms, expected, rtol=0, atol=1e-4 * expected.max())


@on_every_data_set
def test_the_first_to_enter_are_those_of_both_programs_of_the_authors(reference, name):
    stored = reference(f"spfs_{name}")
    best = as_published(reference, name, 20).top_features(3)
    assert_array_equal(best, stored["lar_idx"][:3])
    assert_array_equal(best, stored["larnes_idx"][:3])


# Where it departs from them


@on_every_data_set
def test_as_many_features_enter_as_are_wanted_where_the_authors_program_stopped_at_half(reference, name):
    assert int(reference(f"spfs_{name}")["m"]) == 20
    assert len(reference(f"spfs_{name}")["larnes_idx"]) < 12
    selector = as_published(reference, name, 20)
    X, Y = samples(reference, name), selector.embedding_
    slopes = steepness(X, Y, selector.coef_)
    used = selector.coef_.any(axis=1)
    assert_allclose(slopes[used], slopes[used].mean(), rtol=2e-4)  # solved to violations of 1e-4
    # All twenty have entered before the path was left, where the steepness is this share of the largest.
    share = slopes[used].mean() / np.linalg.norm(X.T @ Y, axis=1).max()
    assert selector.scores_[selector.top_features()].min() >= share * (1.0 - 2e-4)


@on_every_data_set
def test_the_order_is_that_of_exact_solutions_which_the_steps_of_the_authors_only_approach(reference, name):
    X, stored = samples(reference, name), reference(f"spfs_{name}")
    selector = as_published(reference, name, 20)
    order = selector.top_features()
    assert list(order) != list(stored["lar_idx"])
    falls = np.flatnonzero(selector.scores_[order[1:]] < 0.88 * selector.scores_[order[:-1]])
    assert len(falls) >= 2
    for step in falls:
        # A step of the path lies between these two: there the first is in and the other is not yet.
        first, other = order[step], order[step + 1]
        share = np.sqrt(selector.scores_[first] * selector.scores_[other])
        W = l21_regression(Columns(X), stored["Y"], share * 2.0 * stored["exact_lambda_max"], tol=1e-6).coef
        assert W[first].any()
        assert not W[other].any()


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
