"""What every selector must refuse in a clear sentence, and what looks odd but is legal."""

import re
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from every_selector import METHODS, assert_well_formed, has, make, may_stop_early, of_every_selector
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from ufselect import FSASL, KernelFSASL
from ufselect.datasets.planted import make_planted_clusters

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = pytest.mark.no_cover

PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0)
PLANTED.X.setflags(write=False)
# A filter, a spectral one with lassos, one with an iteration, and those whose features have weights.
SOME = ["MaxVariance", "LaplacianScore", "MCFS", "NDFS", "LLCFS", "FSASL", "KernelFSASL"]
of_some_selectors = pytest.mark.parametrize("name", SOME)
MODES = {
    "local": {"structure": "local", "spread": "row"},
    "eigenvectors": {"w_solver": "eigen", "recalibrate": False},
    "size": {"self_expression_size": 2, "center": True, "scale": "moderate"},
}
in_every_mode = pytest.mark.parametrize("mode", MODES)


def in_mode(mode, **params):
    return FSASL(1, **{**MODES[mode], "n_neighbors": "auto", "max_iter": 15, **params})


def assert_refused(selector, X, message):
    """A ValueError says why, and the selector is as unfitted as before."""
    with pytest.raises(ValueError, match=message):
        selector.fit(X)
    assert {name for name in vars(selector) if name.endswith("_")} <= {"n_features_in_"}
    for call in (lambda: selector.transform(PLANTED.X), selector.get_support, selector.top_features):
        with pytest.raises(NotFittedError):
            call()


# Refused


@of_every_selector
def test_too_little_data_are_refused(name):
    assert_refused(make(name), PLANTED.X[:2], r"2 sample\(s\).*minimum of 3")
    assert_refused(make(name), PLANTED.X[:, :0], r"0 feature\(s\)")
    assert_refused(make(name), np.ones((60, 15)), "no informative column: all 15 .* constant")
    assert_refused(make(name, 16), PLANTED.X, "n_features_to_select=16 must not exceed the number of features, 15")


@of_every_selector
@pytest.mark.parametrize("parameter", ["n_neighbors", "n_clusters"])
def test_as_many_neighbours_or_clusters_as_samples_are_refused(name, parameter):
    if not has(name, parameter):
        with pytest.raises(TypeError, match=parameter):
            METHODS[name](**{parameter: 60})
        return
    # Kernels know no neighbours: there k serves to count clusters only. SPEC counts them for its third criterion.
    params = {parameter: 60, **({"n_clusters": "auto"} if parameter == "n_neighbors" else {})}
    assert_refused(make(name, **params), PLANTED.X, f"{parameter}=60 must be less than the number of samples, 60")


@of_every_selector
def test_values_out_of_range_are_refused_by_the_name_of_their_parameter(name):
    for parameter in METHODS[name]().get_params():
        if parameter not in {"keep", "exclude", "groups"}:  # for which a word is the name of a column
            selector = METHODS[name](**{parameter: "nonsense"})
            assert_refused(selector, PLANTED.X, rf"'{parameter}' parameter of {name} must be .* Got 'nonsense'")
        if parameter not in {"n_jobs", "center", "exact", "normalized"}:
            selector = METHODS[name](**{parameter: -1})
            assert_refused(selector, PLANTED.X, rf"'{parameter}' parameter of {name} must be .* Got -1")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *(("n_features_to_select", value) for value in (0, 1.5, 0.0, None)),
        *((penalty, value) for penalty in ("row_penalty", "self_expression_penalty") for value in (0, 1, 1.5)),
        *((count, value) for count in ("n_neighbors", "n_clusters", "graph_components") for value in (0, 2.5)),
        *(("max_iter", value) for value in (0, 1.5, None)),
        ("n_neighbors", None),
        ("n_jobs", 1.5),
    ],
)
def test_numbers_at_the_edge_of_their_range_are_refused(parameter, value):
    name = "FSASL" if has("FSASL", parameter) else "KernelFSASL"
    message = rf"'{parameter}' parameter of {name} must be .* Got {re.escape(repr(value))}"
    assert_refused(METHODS[name](**{parameter: value}), PLANTED.X, message)


@of_some_selectors
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1e200])
def test_values_that_are_not_finite_or_too_large_to_be_squared_are_refused(name, form, value):
    X = PLANTED.X.astype(np.float32 if np.isnan(value) else np.float64)
    X[3, 2] = value
    word = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else r"Column 2 of X .* 1e\+200, too large to be"
    assert_refused(make(name), form(X), word)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([["a", "b"], ["c", "d"], ["e", "f"]], dtype=object), "could not convert string"),
        (PLANTED.X[:, 0], "Expected 2D array"),
        (PLANTED.X[None], "dim 3"),
        (PLANTED.X.astype(complex), "Complex data not supported"),
        (sp.csr_array(PLANTED.X.astype(complex)), "Complex data not supported"),
        (sp.csc_array(np.full((60, 15), -7.3)), "no informative column: all 15 .* constant"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X, message):
    assert_refused(KernelFSASL(), X, message)
    assert_refused(make("MCFS"), X, message)


def test_no_threads_at_all_are_refused():
    assert_refused(KernelFSASL(n_jobs=0), PLANTED.X, "n_jobs")


@pytest.mark.parametrize("count", [-1, 16])
def test_impossible_numbers_of_top_features_are_refused(count):
    selector = make("MaxVariance").fit(PLANTED.X)
    with pytest.raises(ValueError, match=f"n_features={count} must be between 0 and the number of features, 15"):
        selector.top_features(count)
    assert len(selector.top_features(0)) == 0


def test_a_failed_fit_does_not_change_a_fitted_selector_into_a_mixture():
    selector = FSASL(4).fit(PLANTED.X)
    before = selector.ranking_.copy()
    selector.set_params(n_neighbors=60)
    with pytest.raises(ValueError, match="n_neighbors=60"):
        selector.fit(PLANTED.X[::-1])
    assert_array_equal(selector.ranking_, before)
    assert selector.transform(PLANTED.X).shape == (60, 4)


# Legal


LITTLE = {
    "three samples": PLANTED.X[:3],
    "three values": PLANTED.X[:3, :1],
    "four samples of two columns": PLANTED.X[:4, :2],
    "one column": PLANTED.X[:, :1],
    "two different samples": PLANTED.X[np.arange(40) % 2],
    "more copies than neighbours": PLANTED.X[np.arange(40) % 4],
    "one varying column": np.where(np.arange(6) == 4, PLANTED.X[:, :1], 1.0),
    "rows of zeros": PLANTED.X * (np.arange(60) >= 10)[:, None],
    "sparse rows of zeros": sp.csr_array(PLANTED.X * (np.arange(60) >= 10)[:, None]),
    "an outlier": np.where((np.arange(60) == 7)[:, None] & (np.arange(15) == 0), 1e12, PLANTED.X),
    "an outlying sample": np.where((np.arange(60) == 7)[:, None], 1e6, PLANTED.X),
}


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("data", LITTLE)
def test_odd_data_are_legal(name, data):
    X = LITTLE[data]
    assert_well_formed(make(name, 1, n_neighbors="auto").fit(X), X.shape)


@may_stop_early
@in_every_mode
@pytest.mark.parametrize("data", LITTLE)
def test_odd_data_are_legal_in_every_mode(mode, data):
    X = LITTLE[data]
    selector = in_mode(mode).fit(X)
    assert_well_formed(selector, X.shape)
    if data == "one varying column":
        assert_array_equal(selector.top_features(), [4])


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("parameter", ["n_neighbors", "n_clusters"])
def test_one_less_than_the_samples_is_the_most_that_is_legal(name, parameter):
    if has(name, parameter):
        assert_well_formed(make(name, **{parameter: 19}).fit(PLANTED.X[:20]), (20, 15))
        assert_well_formed(make(name, **{parameter: 1}).fit(PLANTED.X[:20]), (20, 15))


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("form", [np.asfortranarray, sp.csc_array])
def test_read_only_data_are_left_as_they_were(name, form):
    X = form(PLANTED.X)
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    before = [part.copy() for part in parts]
    for part in parts:
        part.setflags(write=False)
    make(name, n_clusters=3, max_iter=3).fit(X)
    for part, copy in zip(parts, before, strict=True):
        assert_array_equal(part, copy)


@may_stop_early
@of_some_selectors
@pytest.mark.parametrize("dtype", [np.int8, np.bool_])
def test_whole_numbers_are_taken_as_their_floating_point_values(name, dtype):
    X = (PLANTED.X > 0.0) if dtype == np.bool_ else np.clip(10 * PLANTED.X, -100, 100).astype(dtype)
    whole, real = make(name, n_clusters=3).fit(X), make(name, n_clusters=3).fit(X.astype(np.float64))
    assert whole.scores_.dtype == np.float64
    assert_array_equal(whole.scores_, real.scores_)


@may_stop_early
@of_some_selectors
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_single_precision_stays_single_precision(name, form):
    X = form(PLANTED.X.astype(np.float32))
    selector = make(name).fit(X)
    for learned in ("scores_", "coef_", "embedding_", "alignment_curve_", "alignments_", "r2_curve_"):
        assert getattr(selector, learned, selector.scores_).dtype == np.float32
    assert selector.transform(X).dtype == np.float32
    assert selector.transform(X.astype(np.float64)).dtype == np.float64


@may_stop_early
@of_some_selectors
def test_memory_layout_does_not_matter(name):
    expected = make(name).fit(PLANTED.X).scores_
    for X in (np.asfortranarray(PLANTED.X), np.repeat(PLANTED.X, 2, axis=1)[:, ::2], PLANTED.X.tolist()):
        assert_allclose(make(name).fit(X).scores_, expected, rtol=1e-9)


@may_stop_early
@of_some_selectors
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array])
def test_sparse_data_stay_sparse_and_may_have_wide_indices(name, form):
    dense = np.where(np.abs(PLANTED.X) > 1.5, PLANTED.X, 0.0)
    X = form(dense)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    selector = make(name).fit(X)
    selected = selector.transform(X)
    assert sp.issparse(selected)
    assert_array_equal(selected.toarray(), dense[:, selector.get_support()])


def test_constant_columns_are_selected_where_all_are_asked_for():
    X = np.insert(PLANTED.X, [3, 15], [2.0, -1e12], axis=1)
    selector = KernelFSASL(17).fit(X)
    assert selector.get_support().all()
    assert_array_equal(selector.top_features()[15:], [3, 16])
    assert np.all(selector.scores_[[3, 16]] == 0.0)
    assert not selector.coef_[[3, 16]].any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [0.1, 1e12 / 7])
def test_a_column_that_differs_from_a_constant_by_rounding_only_is_constant(value, dtype):
    column = np.full(60, value, dtype=dtype)
    column[::7] = np.nextafter(column[0], dtype(np.inf))
    beyond_exact = dtype == np.float32 and value > 2**24
    with pytest.warns(UserWarning, match="float32 resolves") if beyond_exact else nullcontext():
        selector = KernelFSASL(1).fit(np.column_stack([column, PLANTED.X.astype(dtype)]))
    assert selector.ranking_[0] == 16
    assert selector.scores_[0] == 0.0


FAINT = {
    "single precision": PLANTED.X.astype(np.float32),
    "more features": make_planted_clusters(40, 3, 20, 80, random_state=0).X,
    "repeated samples": np.vstack([PLANTED.X[:20]] * 3),
    "sparse": sp.csr_array(np.where(PLANTED.X > 1.0, PLANTED.X, 0.0)),
    "tiny": 1e-200 * PLANTED.X,
}


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("data", FAINT)
def test_a_fit_raises_no_floating_point_error(name, data):
    with np.errstate(all="raise"):
        selector = make(name, n_clusters=3, max_iter=500).fit(FAINT[data])
    assert_well_formed(selector, FAINT[data].shape)
