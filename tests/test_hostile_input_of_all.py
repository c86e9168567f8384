"""What every selector must refuse with a clear word, and what looks odd but is legal."""

import numpy as np
import pytest
import scipy.sparse as sp
from learned import LEARNED
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import ufselect
from ufselect.datasets.planted import make_planted_clusters

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = pytest.mark.no_cover

PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0)
PLANTED.X.setflags(write=False)
OTHERS = [name for name in ufselect.__all__ if "FSASL" not in name]  # which have a file of its own
of_every_selector = pytest.mark.parametrize("name", OTHERS)
may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def parameters_of(name):
    return getattr(ufselect, name)().get_params()


def selector_of(name, **params):
    """A selector with those of the parameters that it has; what is wrong shows after a few iterations."""
    wanted = {"max_iter": 15, **params}
    return getattr(ufselect, name)(**{key: value for key, value in wanted.items() if key in parameters_of(name)})


def assert_refused(selector, X, message):
    with pytest.raises(ValueError, match=message):
        selector.fit(X)
    with pytest.raises(NotFittedError):
        selector.transform(PLANTED.X)


def assert_well_formed(selector, shape):
    n, d = shape
    assert_array_equal(np.sort(selector.ranking_), np.arange(1, d + 1))
    assert 1 <= selector.n_features_ <= d
    for attribute in LEARNED:
        assert np.all(np.isfinite(getattr(selector, attribute, 0.0))), attribute
    if hasattr(selector, "embedding_"):
        assert selector.embedding_.shape[0] == n
    if hasattr(selector, "coef_"):
        assert selector.coef_.shape[0] == d


# Refused


@of_every_selector
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_values_that_are_not_finite_are_refused(name, form, value, word):
    X = PLANTED.X.copy()
    X[3, 2] = value
    assert_refused(selector_of(name), form(X), word)


@of_every_selector
def test_too_little_data_are_refused(name):
    assert_refused(selector_of(name), PLANTED.X[:2], r"2 sample\(s\).*minimum of 3")
    assert_refused(selector_of(name), PLANTED.X[:, :0], r"0 feature\(s\)")
    assert_refused(selector_of(name), np.ones((60, 15)), "no informative column: all 15 .* constant")
    assert_refused(selector_of(name, n_features_to_select=16), PLANTED.X, "must not exceed the number of features, 15")


@of_every_selector
@pytest.mark.parametrize("parameter", ["n_neighbors", "n_clusters"])
def test_as_many_neighbours_or_clusters_as_samples_are_refused(name, parameter):
    if parameter not in parameters_of(name):
        with pytest.raises(TypeError, match=parameter):
            getattr(ufselect, name)(**{parameter: 60})
        return
    # Kernels know no neighbours: there k serves to count clusters only. SPEC counts them for its third criterion.
    params = {parameter: 60, **({"n_clusters": "auto"} if parameter == "n_neighbors" else {})}
    assert_refused(
        selector_of(name, **params), PLANTED.X, f"{parameter}=60 must be less than the number of samples, 60"
    )


@of_every_selector
def test_unknown_words_are_refused_by_the_name_of_their_parameter(name):
    for parameter in set(parameters_of(name)) - {"keep", "exclude"}:  # for which a word is the name of a column
        selector = selector_of(name, **{parameter: "nonsense"})
        assert_refused(selector, PLANTED.X, rf"'{parameter}' parameter of {name} must be .* Got 'nonsense'")


@of_every_selector
def test_numbers_out_of_range_are_refused(name):
    never_negative = set(parameters_of(name)) - {"n_jobs", "center", "exact", "normalized"}
    for parameter in never_negative:
        selector = selector_of(name, **{parameter: -1})
        assert_refused(selector, PLANTED.X, rf"'{parameter}' parameter of {name} must be .* Got -1")


@of_every_selector
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_values_whose_squares_overflow_are_refused(name, form):
    X = PLANTED.X.copy()
    X[0, 2] = -1e200
    assert_refused(
        selector_of(name), form(X), r"Column 2 of X has a value of magnitude 1e\+200, too large to be squared"
    )


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("count", [-1, 16])
def test_impossible_numbers_of_top_features_are_refused(name, count):
    selector = selector_of(name, n_features_to_select=4, n_clusters=3).fit(PLANTED.X)
    with pytest.raises(ValueError, match=f"n_features={count} must be between 0 and the number of features, 15"):
        selector.top_features(count)
    assert len(selector.top_features(0)) == 0


# Legal


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("n_samples", [3, 4, 5, 7])
@pytest.mark.parametrize("n_features", [1, 2, 15])
def test_very_little_data_are_legal(name, n_samples, n_features):
    X = PLANTED.X[:n_samples, :n_features]
    assert_well_formed(selector_of(name).fit(X), X.shape)


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_of_zeros_are_legal(name, form):
    X = PLANTED.X.copy()
    X[:10] = 0.0
    assert_well_formed(selector_of(name, n_clusters=3).fit(form(X)), X.shape)


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("size", [1e6, 1e12])
@pytest.mark.parametrize("columns", [slice(0, 1), slice(None)])
def test_one_enormous_outlier_is_legal(name, size, columns):
    X = PLANTED.X.copy()
    X[7, columns] = size
    assert_well_formed(selector_of(name, n_clusters=3).fit(X), X.shape)


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("n_different", [2, 4])
def test_few_different_samples_are_legal(name, n_different):
    X = PLANTED.X[np.arange(40) % n_different]
    assert_well_formed(selector_of(name).fit(X), X.shape)


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("n_clusters", [1, 2, 30, 59])
def test_any_number_of_clusters_below_that_of_samples_is_legal(name, n_clusters):
    if "n_clusters" in parameters_of(name):
        assert_well_formed(selector_of(name, n_clusters=n_clusters).fit(PLANTED.X), (60, 15))
    else:
        assert name in {"MaxVariance", "LaplacianScore", "TraceRatio"}


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("form", [np.array, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_read_only_data_are_left_as_they_were(name, form):
    X = form(PLANTED.X)
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    before = [part.copy() for part in parts]
    for part in parts:
        part.setflags(write=False)
    selector_of(name, n_clusters=3).fit(X)
    for part, copy in zip(parts, before, strict=True):
        assert_array_equal(part, copy)


@may_stop_early
@of_every_selector
def test_sparse_data_with_wide_indices_are_legal(name):
    X = sp.csr_array(PLANTED.X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert_well_formed(selector_of(name, n_clusters=3).fit(X), X.shape)


def test_another_fit_leaves_nothing_of_the_one_before():
    selector = ufselect.SPFS(5, solver="nes", n_clusters=3).fit(PLANTED.X)
    assert selector.coef_.shape[0] == 15
    assert not hasattr(selector.set_params(solver="sfs").fit(PLANTED.X[:, :12]), "coef_")
    selector = ufselect.SPEC(5, n_clusters=3).fit(PLANTED.X)
    assert not hasattr(selector.set_params(criterion="phi2").fit(PLANTED.X), "n_clusters_")


FAINT = {
    "planted": PLANTED.X,
    "single precision": PLANTED.X.astype(np.float32),
    "more features": make_planted_clusters(40, 3, 20, 80, random_state=0).X,
    "binary": (np.random.default_rng(0).random((60, 15)) < 0.3).astype(float),
    "repeated samples": np.vstack([PLANTED.X[:20]] * 3),
    "sparse": sp.csr_array(np.where(PLANTED.X > 1.0, PLANTED.X, 0.0)),
    "tiny": 1e-200 * PLANTED.X,
}


@may_stop_early
@pytest.mark.parametrize("name", ufselect.__all__)
@pytest.mark.parametrize("data", FAINT)
def test_a_fit_raises_no_floating_point_error(name, data):
    selector = selector_of(name, n_clusters=3, max_iter=500)
    with np.errstate(all="raise"):
        selector.fit(FAINT[data])
    assert_well_formed(selector, FAINT[data].shape)
