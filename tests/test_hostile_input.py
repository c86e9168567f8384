"""Input that must be refused with a clear word, and input that looks odd but is legal."""

import re
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from ufselect import FSASL, KernelFSASL
from ufselect.datasets.planted import make_planted_clusters

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = pytest.mark.no_cover

PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0)
PLANTED.X.setflags(write=False)

MODES = {
    "default": {},
    "fixed": {"adaptive": False},
    "raw": {"scale": None},
}
PUBLISHED_MODES = {
    "published": {},
    "global": {"structure": "global"},
    "local": {"structure": "local", "spread": "row"},
    "eigen": {"w_solver": "eigen"},
    "one objective": {"w_solver": "eigen", "recalibrate": False},
    "size": {"self_expression_size": 2},
}
in_every_mode = pytest.mark.parametrize("mode", [*MODES, *PUBLISHED_MODES])
may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(X, mode="default", **params):
    if mode in MODES:
        params.pop("n_clusters", None)
        return KernelFSASL(**{"n_features_to_select": 1, **MODES[mode], **params}).fit(X)
    return FSASL(**{"n_features_to_select": 1, "n_neighbors": "auto", **PUBLISHED_MODES[mode], **params}).fit(X)


def curves_of(selector):
    return selector.alignment_curve_, selector.alignments_, selector.r2_curve_


def assert_well_formed(selector, shape):
    """All that a fit leaves is finite, and the ranking is one."""
    n, d = shape
    assert_array_equal(np.sort(selector.ranking_), np.arange(1, d + 1))
    assert selector.scores_.shape == (d,)
    assert np.all(selector.scores_ >= 0.0)
    assert selector.coef_.shape[0] == d
    assert selector.embedding_.shape[0] == n
    for learned in (selector.scores_, selector.coef_, selector.embedding_, *curves_of(selector)):
        assert np.all(np.isfinite(learned))
    assert np.all(np.isfinite(selector.objective_history_))
    assert selector.get_support().sum() == selector.n_features_
    for graph in (selector.neighbor_graph_, getattr(selector, "self_expression_", None)):
        if graph is not None:
            assert np.all(np.isfinite(graph.data))
            assert np.all(graph.diagonal() == 0.0)
    if selector.neighbor_graph_ is not None:
        assert_allclose(selector.neighbor_graph_.sum(axis=1), 1.0, rtol=0, atol=1e-9)


def assert_refused(selector, X, message):
    """A ValueError says why, and the selector is as unfitted as before."""
    with pytest.raises(ValueError, match=message):
        selector.fit(X)
    assert {name for name in vars(selector) if name.endswith("_")} <= {"n_features_in_"}
    with pytest.raises(NotFittedError):
        selector.transform(PLANTED.X)
    with pytest.raises(NotFittedError):
        selector.get_support()
    with pytest.raises(NotFittedError):
        selector.top_features()


def with_entry(value, dtype=np.float64):
    X = PLANTED.X.astype(dtype)
    X[3, 2] = value
    return X


# Refused


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_values_that_are_not_finite_are_refused(value, word, dtype, form):
    assert_refused(KernelFSASL(), form(with_entry(value, dtype)), word)


@pytest.mark.parametrize("n_samples", [0, 1, 2])
def test_fewer_than_three_samples_are_refused(n_samples):
    assert_refused(KernelFSASL(), PLANTED.X[:n_samples], rf"{n_samples} sample\(s\).*minimum of 3")


def test_no_columns_are_refused():
    assert_refused(KernelFSASL(), np.empty((60, 0)), r"0 feature\(s\)")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("value", [0.0, 1.0, -7.3, 1e12])
def test_constant_columns_alone_are_refused(value, form):
    assert_refused(KernelFSASL(), form(np.full((60, 15), value)), "no informative column: all 15 .* constant")


@pytest.mark.parametrize("wanted", [16, 1000])
def test_more_features_than_there_are_are_refused(wanted):
    assert_refused(
        KernelFSASL(wanted), PLANTED.X, f"n_features_to_select={wanted} must not exceed the number of features, 15"
    )


@pytest.mark.parametrize("wanted", [0, -1, 1.5, 0.0, -0.5, "all", None])
def test_impossible_numbers_of_features_are_refused(wanted):
    message = rf"'n_features_to_select' parameter of KernelFSASL must be .* Got {wanted!r}"
    assert_refused(KernelFSASL(wanted), PLANTED.X, message)


@pytest.mark.parametrize("name", ["n_neighbors", "n_clusters"])
@pytest.mark.parametrize("value", [60, 61, 10**6])
def test_as_many_neighbours_or_clusters_as_samples_are_refused(name, value):
    message = f"{name}={value} must be less than the number of samples, 60"
    assert_refused(FSASL(**{name: value}), PLANTED.X, message)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in ("row_penalty", "self_expression_penalty") for value in (-0.1, 0, 0.0, 1, 1.5)),
        *(("local_weight", value) for value in (-1, -1e-9)),
        *((name, value) for name in ("n_neighbors", "n_clusters") for value in (0, -1, 2.5)),
        ("n_neighbors", None),
        *(("graph_components", value) for value in (0, -1, 2.5)),
        *(("self_expression_size", value) for value in (0, -1, 0.5)),
        *(("max_iter", value) for value in (0, -1, 1.5, None)),
        ("tol", -1e-3),
        ("n_jobs", 1.5),
        ("random_state", -1),
        ("verbose", -1),
    ],
)
def test_numbers_out_of_range_are_refused_by_the_name_of_their_parameter(name, value):
    cls = FSASL if name in FSASL().get_params() else KernelFSASL
    message = rf"'{name}' parameter of {cls.__name__} must be .* Got {re.escape(repr(value))}"
    assert_refused(cls(**{name: value}), PLANTED.X, message)


@pytest.mark.parametrize("cls", [FSASL, KernelFSASL])
def test_unknown_words_are_refused_by_the_name_of_their_parameter(cls):
    for name in {*cls().get_params()} - {"keep", "exclude"}:  # words there are column names
        message = rf"'{name}' parameter of {cls.__name__} must be .* Got 'nonsense'"
        assert_refused(cls(**{name: "nonsense"}), PLANTED.X, message)


def test_no_threads_at_all_are_refused():
    assert_refused(KernelFSASL(n_jobs=0), PLANTED.X, "n_jobs")


@pytest.mark.parametrize("dtype", [str, object])
def test_words_in_place_of_numbers_are_refused(dtype):
    assert_refused(
        KernelFSASL(), np.array([["a", "b"], ["c", "d"], ["e", "f"]], dtype=dtype), "could not convert string"
    )


def test_one_dimensional_data_are_refused():
    assert_refused(KernelFSASL(), PLANTED.X[:, 0], "Expected 2D array")


def test_three_dimensional_data_are_refused():
    assert_refused(KernelFSASL(), PLANTED.X[None], "dim 3")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_complex_data_are_refused(form):
    assert_refused(KernelFSASL(), form(PLANTED.X.astype(complex)), "Complex data not supported")


@pytest.mark.parametrize("columns", [slice(0, 14), slice(0, 1)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_transform_refuses_another_number_of_columns(columns, form):
    selector = fitted(PLANTED.X)
    with pytest.raises(ValueError, match="expecting 15 features"):
        selector.transform(form(PLANTED.X[:, columns]))


def test_a_failed_fit_does_not_change_a_fitted_selector_into_a_mixture():
    selector = fitted(PLANTED.X, n_features_to_select=4)
    before = selector.ranking_.copy()
    selector.set_params(n_neighbors=60)
    with pytest.raises(ValueError, match="n_neighbors=60"):
        selector.fit(PLANTED.X[::-1])
    assert_array_equal(selector.ranking_, before)
    assert selector.transform(PLANTED.X).shape == (60, 4)


# Legal


@in_every_mode
def test_constant_columns_rank_last_in_their_order(mode):
    X = np.insert(PLANTED.X, [0, 4, 15], [0.0, 0.1, -1e12], axis=1)
    constant = np.flatnonzero(X.min(axis=0) == X.max(axis=0))
    selector = fitted(X, mode, n_features_to_select=15)
    assert_well_formed(selector, X.shape)
    assert_array_equal(selector.top_features(18)[15:], constant)
    assert not selector.get_support()[constant].any()
    assert np.all(selector.scores_[constant] == 0.0)
    assert not selector.coef_[constant].any()


def test_constant_columns_are_selected_where_all_are_asked_for():
    X = np.insert(PLANTED.X, 3, 2.0, axis=1)
    selector = fitted(X, n_features_to_select=16)
    assert selector.get_support().all()
    assert selector.ranking_[3] == 16


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 / 7, 1e12 / 7])
def test_a_column_that_differs_from_a_constant_by_rounding_only_is_constant(value, dtype):
    column = np.full(60, value, dtype=dtype)
    column[::7] = np.nextafter(column[0], dtype(np.inf))
    beyond_exact = dtype == np.float32 and value > 2**24
    with pytest.warns(UserWarning, match="float32 resolves") if beyond_exact else nullcontext():
        selector = fitted(np.column_stack([column, PLANTED.X.astype(dtype)]))
    assert selector.ranking_[0] == 16
    assert selector.scores_[0] == 0.0


@may_stop_early
@in_every_mode
def test_duplicated_columns_are_legal(mode):
    X = np.hstack([PLANTED.X] * 3)
    selector = fitted(X, mode, n_features_to_select=20, n_clusters=3)
    assert_well_formed(selector, X.shape)
    once = fitted(PLANTED.X, mode, n_features_to_select=15, n_clusters=3)
    assert_array_equal(selector.copies_, [*[-1] * 15, *range(15), *range(15)])
    assert_array_equal(selector.top_features(15), once.top_features())
    assert_array_equal(selector.scores_[:15], once.scores_)
    assert_array_equal(selector.alignments_, np.tile(once.alignments_, 3))


@may_stop_early
@in_every_mode
@pytest.mark.parametrize("copies", [2, 9])
def test_duplicated_rows_are_legal_even_when_more_than_the_neighbours(mode, copies):
    X = np.repeat(PLANTED.X[:30], copies, axis=0)
    selector = fitted(X, mode, n_features_to_select=3, n_clusters=3)
    assert_well_formed(selector, X.shape)


@may_stop_early
@in_every_mode
def test_two_distinct_rows_are_legal(mode):
    X = np.repeat(PLANTED.X[:2], 20, axis=0)
    assert_well_formed(fitted(X, mode, n_clusters=2), X.shape)


@may_stop_early
@in_every_mode
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.bool_])
def test_whole_numbers_are_taken_as_their_floating_point_values(mode, dtype):
    X = (PLANTED.X > 0.0) if dtype in (np.bool_, np.uint8) else np.clip(10 * PLANTED.X, -100, 100)
    X = X.astype(dtype)
    whole, real = fitted(X, mode, n_clusters=3), fitted(X.astype(np.float64), mode, n_clusters=3)
    assert_well_formed(whole, X.shape)
    assert whole.scores_.dtype == np.float64
    assert_array_equal(whole.scores_, real.scores_)
    assert_array_equal(whole.ranking_, real.ranking_)


@in_every_mode
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_single_precision_stays_single_precision(mode, form):
    X = form(PLANTED.X.astype(np.float32))
    selector = fitted(X, mode, n_features_to_select=4)
    assert_well_formed(selector, X.shape)
    for learned in (selector.scores_, selector.coef_, selector.embedding_, *curves_of(selector)):
        assert learned.dtype == np.float32
    assert selector.transform(X).dtype == np.float32
    assert selector.transform(X.astype(np.float64)).dtype == np.float64


@in_every_mode
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_tiny_and_huge_values_rank_as_ordinary_ones(mode, dtype, size):
    X = PLANTED.X.astype(dtype)
    ordinary = fitted(X, mode, n_features_to_select=5)
    scaled = fitted(X * dtype(size), mode, n_features_to_select=5)
    assert_well_formed(scaled, X.shape)
    assert_array_equal(scaled.top_features(), ordinary.top_features())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_units_of_the_columns_do_not_matter_if_scaled_to_unit_variance(dtype):
    units = np.where(np.arange(15) % 2, 1e-12, 1e12).astype(dtype)
    X = PLANTED.X.astype(dtype)
    ordinary, mixed = (fitted(values, n_features_to_select=5, scale="standard") for values in (X, X * units))
    assert_well_formed(mixed, X.shape)
    assert_array_equal(mixed.top_features(), ordinary.top_features())


@may_stop_early
@in_every_mode
@pytest.mark.parametrize("n_features", [1, 2, 15])
def test_three_samples_are_enough(mode, n_features):
    X = PLANTED.X[:3, :n_features]
    assert_well_formed(fitted(X, mode), X.shape)


@may_stop_early
@in_every_mode
@pytest.mark.parametrize("n_clusters", ["auto", 1, 2])
def test_one_column_is_enough(mode, n_clusters):
    X = PLANTED.X[:, :1]
    selector = fitted(X, mode, n_clusters=n_clusters)
    assert_well_formed(selector, X.shape)
    assert_array_equal(selector.transform(X), X)


@may_stop_early
@in_every_mode
def test_the_only_column_that_varies_is_selected(mode):
    X = np.ones((60, 6))
    X[:, 4] = PLANTED.X[:, 0]
    selector = fitted(X, mode)
    assert_well_formed(selector, X.shape)
    assert_array_equal(selector.top_features(), [4])


@pytest.mark.parametrize("name", ["n_neighbors", "n_clusters"])
@in_every_mode
@may_stop_early
def test_one_less_than_the_samples_is_the_most_that_is_legal(mode, name):
    X = PLANTED.X[:20]
    assert_well_formed(fitted(X, mode, **{name: 19}), X.shape)


@in_every_mode
@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix])
def test_sparse_forms_are_kept_and_ranked_as_dense_data(mode, form):
    dense = np.where(np.abs(PLANTED.X) > 1.5, PLANTED.X, 0.0)
    sparse = form(dense)
    selector = fitted(sparse, mode, n_features_to_select=4)
    assert_well_formed(selector, dense.shape)
    assert_array_equal(selector.top_features(), fitted(dense, mode, n_features_to_select=4).top_features())
    selected = selector.transform(sparse)
    assert sp.issparse(selected)
    assert_array_equal(selected.toarray(), dense[:, selector.get_support()])
    assert_array_equal(sparse.toarray(), dense)


def test_explicit_zeros_and_unsorted_indices_of_a_sparse_matrix_do_not_matter():
    dense = np.where(np.abs(PLANTED.X) > 1.5, PLANTED.X, 0.0)
    rows = np.repeat(np.arange(60), 15)
    backwards = np.tile(np.arange(15)[::-1], 60)
    stored = sp.csr_array((dense[rows, backwards], backwards, np.arange(0, 901, 15)), shape=dense.shape)
    assert stored.nnz == dense.size
    assert_allclose(fitted(stored).scores_, fitted(sp.csr_array(dense)).scores_, rtol=1e-9)


@in_every_mode
def test_memory_layout_does_not_matter(mode):
    expected = fitted(PLANTED.X, mode)
    every_other = np.repeat(PLANTED.X, 2, axis=1)[:, ::2]
    for X in (np.asfortranarray(PLANTED.X), every_other, PLANTED.X.tolist()):
        assert_allclose(fitted(X, mode).scores_, expected.scores_, rtol=1e-9)


@in_every_mode
@pytest.mark.parametrize("form", [np.array, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_read_only_data_are_legal_and_left_as_they_were(mode, form, dtype):
    X = form(PLANTED.X.astype(dtype))
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    before = [part.copy() for part in parts]
    for part in parts:
        part.setflags(write=False)
    assert_well_formed(fitted(X, mode), X.shape)
    for part, copy in zip(parts, before, strict=True):
        assert_array_equal(part, copy)


@may_stop_early
@in_every_mode
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_zero", [1, 10])
def test_rows_of_zeros_are_legal(mode, form, n_zero):
    X = PLANTED.X.copy()
    X[:n_zero] = 0.0
    assert_well_formed(fitted(form(X), mode, n_clusters=3), X.shape)


@may_stop_early
@in_every_mode
@pytest.mark.parametrize("size", [1e4, 1e6, 1e12])
@pytest.mark.parametrize("columns", [slice(0, 1), slice(None)])
def test_one_enormous_outlier_is_legal(mode, columns, size):
    X = PLANTED.X.copy()
    X[7, columns] = size
    assert_well_formed(fitted(X, mode, n_clusters=3), X.shape)
