"""Columns of any scale: results are right, or a column that varies too little to matter ranks last as constant."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from every_selector import METHODS, assert_well_formed, make, may_stop_early
from numpy.testing import assert_allclose, assert_array_equal

from ufselect import KernelFSASL, MaxVariance
from ufselect.datasets.planted import make_planted_clusters

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = pytest.mark.no_cover

PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0).X

UNSCALED = ("MaxVariance", "RUFS")  # which have no parameter scale
FORMS = {"dense": np.asarray, "sparse": sp.csr_array}

in_every_form = pytest.mark.parametrize("form", FORMS)
of_every_selector_on_a_scale = pytest.mark.parametrize(
    ("name", "scale"), [*((name, "standard") for name in METHODS), ("MCFS", None), ("NDFS", None), ("FSASL", None)]
)


def fit(name, X, **params):
    return make(name, **{"max_iter": 10, "n_clusters": 3, **params}).fit(X)


@cache
def expected_fit(name, scale, form, dtype):
    return fit(name, FORMS[form](PLANTED.astype(dtype)), scale=scale)


@may_stop_early
@of_every_selector_on_a_scale
@pytest.mark.parametrize(("dtype", "exponent"), [(np.float64, -660), (np.float64, -1030), (np.float32, -76)])
@in_every_form
def test_a_tiny_column_harms_no_other(name, scale, dtype, exponent, form):
    X = PLANTED.astype(dtype)
    X[:, 3] = np.ldexp(X[:, 3], exponent)
    found = fit(name, FORMS[form](X), scale=scale)
    assert_well_formed(found, X.shape)
    has_its_digits = exponent > np.finfo(dtype).minexp + 25
    if scale == "standard" and has_its_digits and name != "MaxVariance":
        expected = expected_fit(name, scale, form, dtype)
        assert_array_equal(found.scores_, expected.scores_)


@may_stop_early
@of_every_selector_on_a_scale
@in_every_form
@pytest.mark.parametrize(("dtype", "factor"), [(np.float64, 2.0**-600), (np.float32, 2.0**120)])
def test_a_common_power_of_two_changes_nothing(name, scale, form, dtype, factor):
    X = PLANTED.astype(dtype)
    expected = expected_fit(name, scale, form, dtype)
    found = fit(name, FORMS[form](X * dtype(factor)), scale=scale)
    assert_array_equal(found.ranking_, expected.ranking_)
    assert found.n_features_ == expected.n_features_
    if name != "MaxVariance":  # its scores have the unit of X²
        assert_array_equal(found.scores_, expected.scores_)


@may_stop_early
@in_every_form
def test_tiny_columns_beside_others_of_their_own_scale_rank_last(form):
    X = PLANTED.copy()
    X[:, 3] *= 1e-200
    for name in set(METHODS) - set(UNSCALED):
        assert fit(name, FORMS[form](X), scale=None).ranking_[3] == 15, name


@in_every_form
@pytest.mark.parametrize("size", [1e37, 1e30, 1e-30])
def test_variances_beyond_the_range_of_single_precision(form, size):
    X = (PLANTED / np.abs(PLANTED).max()).astype(np.float32) * np.float32(size)
    found = MaxVariance(5).fit(FORMS[form](X))
    expected = X.astype(np.float64).var(axis=0, ddof=1)
    assert_allclose(found.scores_, expected, rtol=1e-6)
    assert_array_equal(found.top_features(), np.argsort(-expected, kind="stable")[:5])


def prepared_by_hand(X, scale, *, center=True):
    """X as the docstrings describe it: centred, and divided by what ``scale`` says."""
    deviation = X.std(axis=0)
    divisor = {None: 1.0, "standard": deviation, "moderate": deviation + np.median(deviation)}[scale]
    return (X - X.mean(axis=0) if center else X) / divisor


EXACT = {
    "UDFS": ("UDFS", {}),
    "KernelFSASL": ("KernelFSASL", {}),
    "FSASL": ("FSASL", {"n_clusters": 3}),
    "FSASL by eigenvectors": ("FSASL", {"n_clusters": 3, "w_solver": "eigen"}),
}


@may_stop_early
@in_every_form
@pytest.mark.parametrize(("scale", "size"), [("moderate", 1.0), ("standard", 1e-30), (None, 1e30)])
@pytest.mark.parametrize("setting", sorted(EXACT))
def test_the_embedding_is_x_times_the_coefficients(setting, scale, size, form):
    name, params = EXACT[setting]
    X = size * (PLANTED + 3.0)
    for center in (True, False):
        found = make(name, scale=scale, center=center, **{"max_iter": 10, **params}).fit(FORMS[form](X))
        assert_allclose(
            prepared_by_hand(X, scale, center=center) @ found.coef_,
            found.embedding_,
            rtol=0,
            atol=1e-9 * np.abs(found.embedding_).max(),
        )


@may_stop_early
@in_every_form
@pytest.mark.parametrize(("scale", "size"), [("moderate", 1.0), ("standard", 1e-30), (None, 1e30)])
@pytest.mark.parametrize("name", ["CGSSL", "FSSL", "GLSPFS", "JELSR", "NDFS", "RUFS"])
def test_scores_are_the_norms_of_coefficients_for_the_columns_as_they_are(name, scale, size, form):
    X = size * (PLANTED + 3.0)
    found = fit(name, FORMS[form](X), scale=scale)
    used = prepared_by_hand(X / np.ptp(X, axis=0) if name == "RUFS" else X, None if name == "RUFS" else scale)
    expected = np.linalg.norm(found.coef_, axis=1) * np.sqrt(np.mean(used**2))
    assert_allclose(found.scores_, expected, rtol=1e-9, atol=1e-12 * expected.max())


@may_stop_early
@in_every_form
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("name", ["MRSF", "SPFS"])
def test_coefficients_of_a_path_are_for_the_columns_as_they_are(name, form, center):
    # At the end of a path, the columns with weights fit the embedding: what is left is no longer than that.
    params = {"scale": None, "center": center, "solver": "lar"}
    small, large = (fit(name, FORMS[form](size * (PLANTED + 3.0)), **params) for size in (1.0, 1024.0))
    Y = small.embedding_ - small.embedding_.mean(axis=0) * center
    residual = Y - prepared_by_hand(PLANTED + 3.0, None, center=center) @ small.coef_
    assert np.linalg.norm(residual) < np.linalg.norm(Y)
    assert_allclose(1024.0 * large.coef_, small.coef_, rtol=1e-9)


@may_stop_early
@in_every_form
@pytest.mark.parametrize("home", ["batches", "single precision"])
@pytest.mark.parametrize("size", [1.0, 2.0**100])
def test_the_embedding_is_x_times_the_coefficients_in_other_homes(home, size, form):
    batch = np.arange(len(PLANTED)) % 2
    X = size * PLANTED
    if home == "batches":
        found = KernelFSASL(5, scale=None).fit(FORMS[form](X), batch=batch)
        X = X - np.array([X[batch == code].mean(axis=0) for code in (0, 1)])[batch]
    else:
        found = KernelFSASL(5, scale=None).fit(FORMS[form](X.astype(np.float32)))
    product = prepared_by_hand(X, None) @ found.coef_
    assert_allclose(product, found.embedding_, rtol=0, atol=1e-5 * np.abs(found.embedding_).max())
