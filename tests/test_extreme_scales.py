"""Columns of any scale: results are right, or a column that varies too little to matter ranks last as constant."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from learned import LEARNED
from numpy.testing import assert_allclose, assert_array_equal

import ufselect
from ufselect import MaxVariance
from ufselect.datasets.planted import make_planted_clusters

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = pytest.mark.no_cover

PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0).X

UNSCALED = ("MaxVariance", "RUFS")  # which have no parameter scale
FORMS = {"dense": np.asarray, "sparse": sp.csr_array}

in_every_form = pytest.mark.parametrize("form", FORMS)
of_every_selector_on_every_scale = pytest.mark.parametrize(
    ("name", "scale"),
    [(name, scale) for name in ufselect.__all__ for scale in ("standard", None) if name not in UNSCALED]
    + [(name, "standard") for name in UNSCALED],
)
may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(name, X, **params):
    """Fit with those of the parameters that the method has; what is wrong shows after a few iterations."""
    selector = getattr(ufselect, name)(5)
    accepted = {key: value for key, value in {"max_iter": 10, **params}.items() if key in selector.get_params()}
    return selector.set_params(**accepted).fit(X)


@cache
def expected_fit(name, scale, form, dtype):
    return fit(name, FORMS[form](PLANTED.astype(dtype)), scale=scale, n_clusters=3)


def assert_finite(selector, n_features):
    assert_array_equal(np.sort(selector.ranking_), np.arange(1, n_features + 1))
    for attribute in LEARNED:
        assert np.all(np.isfinite(getattr(selector, attribute, 0.0))), attribute


@may_stop_early
@of_every_selector_on_every_scale
@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [(np.float64, -660), (np.float64, -1030), (np.float32, -76), (np.float32, -145)],
)
@in_every_form
def test_a_tiny_column_harms_no_other(name, scale, dtype, exponent, form):
    X = PLANTED.astype(dtype)
    X[:, 3] = np.ldexp(X[:, 3], exponent)
    found = fit(name, FORMS[form](X), scale=scale, n_clusters=3)
    assert_finite(found, 15)
    has_its_digits = exponent > np.finfo(dtype).minexp + 25
    if scale == "standard" and has_its_digits and name != "MaxVariance":
        expected = expected_fit(name, scale, form, dtype)
        assert_array_equal(found.scores_, expected.scores_)


@may_stop_early
@of_every_selector_on_every_scale
@in_every_form
@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(np.float64, 2.0**-600), (np.float32, 2.0**-100), (np.float32, 2.0**120)],
)
def test_a_common_power_of_two_changes_nothing(name, scale, form, dtype, factor):
    X = PLANTED.astype(dtype)
    expected = expected_fit(name, scale, form, dtype)
    found = fit(name, FORMS[form](X * dtype(factor)), scale=scale, n_clusters=3)
    assert_array_equal(found.ranking_, expected.ranking_)
    assert found.n_features_ == expected.n_features_
    if name != "MaxVariance":  # its scores have the unit of X²
        assert_array_equal(found.scores_, expected.scores_)


@may_stop_early
@in_every_form
def test_tiny_columns_beside_others_of_their_own_scale_rank_last(form):
    X = PLANTED.copy()
    X[:, 3] *= 1e-200
    for name in set(ufselect.__all__) - set(UNSCALED):
        assert fit(name, FORMS[form](X), scale=None, n_clusters=3).ranking_[3] == 15, name


@in_every_form
@pytest.mark.parametrize("size", [1e37, 1e30, 1e-30])
def test_variances_beyond_the_range_of_single_precision(form, size):
    X = (PLANTED / np.abs(PLANTED).max()).astype(np.float32) * np.float32(size)
    found = MaxVariance(5).fit(FORMS[form](X))
    expected = X.astype(np.float64).var(axis=0, ddof=1)
    assert_allclose(found.scores_, expected, rtol=1e-6)
    assert_array_equal(found.top_features(), np.argsort(-expected, kind="stable")[:5])


def test_variances_within_the_range_of_single_precision_keep_it():
    assert MaxVariance(5).fit(PLANTED.astype(np.float32)).scores_.dtype == np.float32
