"""Columns that say the same: groups, representatives, and the transformer that keeps only these."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.utils.estimator_checks import parametrize_with_checks

from ufselect.redundancy import DropRedundant, redundant_columns

ROUNDING = 1e-11  # of correlations by NumPy
STEP = 1e-6  # to which correlations are told apart

seeds = st.integers(0, 2**32 - 1)
thresholds = st.sampled_from([0.3, 0.5, 0.8, 0.9, 0.95, 0.999, 1.0])


def correlations(X):
    """The correlations by NumPy; those of constant columns are 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        R = np.corrcoef(X, rowvar=False)
    R[:, np.ptp(X, axis=0) == 0.0] = 0.0
    R[np.ptp(X, axis=0) == 0.0] = 0.0
    return R


@st.composite
def tables(draw, *, linear_copies=True):
    """Columns around a few others, with copies, negatives, few values, ties and constants among them."""
    rng = np.random.default_rng(draw(seeds))
    n, d, n_factors = draw(st.integers(4, 40)), draw(st.integers(2, 30)), draw(st.integers(1, 5))
    factors = rng.standard_normal((n, n_factors))
    X = factors[:, rng.integers(n_factors, size=d)] + rng.choice([0.0, 0.05, 0.3, 1.0], d) * rng.standard_normal((n, d))
    kinds = rng.integers(5 + 2 * linear_copies, size=d)
    X[:, kinds == 1] = np.round(X[:, kinds == 1])
    X[:, kinds == 2] = X[:, kinds == 2] > 0.5
    X[:, kinds == 3] = 7.0
    for j in np.flatnonzero(kinds >= 5):
        source = X[:, rng.integers(d)]
        X[:, j] = source if kinds[j] == 5 else -2.54 * source + 0.1
    return X if linear_copies else X + 0.05 * rng.standard_normal((n, d)) * (kinds != 3)


def dense_with_zeros(seed, n=60, d=40):
    """Counts, mostly zero, with near-copies; and two columns without zeros."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.2, (n, d)).astype(np.float64)
    X[:, d // 2 :] = X[:, : d - d // 2] * 3.0
    X[0, d // 2 :] += 1.0
    X[:, 0], X[:, 1] = X[:, 0] + 1000.0, rng.standard_normal(n)
    return X


def check(X, above, found):
    """The rules hold by the correlations of NumPy."""
    R, d = np.abs(correlations(X)), X.shape[1]
    chosen, owner = found.representatives, found.representative_of
    assert_array_equal(chosen, np.flatnonzero(owner == np.arange(d)))
    among = R[np.ix_(chosen, chosen)]
    assert among[~np.eye(len(chosen), dtype=bool)].max(initial=0.0) < above + ROUNDING
    others = np.setdiff1d(np.arange(d), chosen)
    own = R[others, owner[others]]
    assert np.all(own >= above - ROUNDING)
    assert np.all(own >= R[np.ix_(others, chosen)].max(axis=1, initial=0.0) - STEP)
    assert_allclose(found.correlations[others], correlations(X)[others, owner[others]], atol=1e-9)
    assert np.all(found.correlations[chosen] == 1.0)
    grouped = np.concatenate([*found.groups, []]).astype(int)
    assert_array_equal(np.sort(grouped), np.flatnonzero(np.bincount(owner, minlength=d)[owner] > 1))
    for group in found.groups:
        assert_array_equal(owner[group], group[0])
        assert np.all(np.diff(np.abs(found.correlations[group])) <= 0.0)
    assert [len(group) for group in found.groups] == sorted(map(len, found.groups), reverse=True)


@given(tables(), thresholds)
def test_no_two_representatives_say_the_same_and_every_column_has_one(X, above):
    check(X, above, redundant_columns(X, above))


def contents(X, found):
    """The values of the representative of every column."""
    return X[:, found.representative_of]


@given(tables(), thresholds, seeds, st.booleans())
def test_another_order_of_columns_gives_the_same_representatives(X, above, seed, named):
    order = np.random.default_rng(seed).permutation(X.shape[1])
    names = [f"column {j}" for j in range(X.shape[1])]
    found = redundant_columns(X, above, names=names if named else None)
    again = redundant_columns(X[:, order], above, names=[names[j] for j in order] if named else None)
    if named:
        assert_array_equal(order[again.representative_of], found.representative_of[order])
    # Without names, equal columns are interchangeable.
    assert_array_equal(contents(X[:, order], again), contents(X, found)[:, order])
    assert_array_equal(np.sort(again.correlations), np.sort(found.correlations))
    assert again.summary == found.summary


@given(tables(), thresholds, st.sampled_from([0.001, 0.01, 0.1]))
def test_the_size_of_blocks_changes_nothing(X, above, megabytes):
    found = redundant_columns(X, above)
    with config_context(working_memory=megabytes):
        again = redundant_columns(X, above)
    assert_array_equal(again.representative_of, found.representative_of)
    assert_array_equal(again.correlations, found.correlations)


@given(tables(linear_copies=False), thresholds, seeds)
def test_another_order_of_samples_or_another_scale_and_sign_of_columns_changes_nothing(X, above, seed):
    rng = np.random.default_rng(seed)
    found = redundant_columns(X, above)
    factors = rng.choice([-1.0, 1.0], X.shape[1]) * 10.0 ** rng.integers(-6, 6, X.shape[1])
    again = redundant_columns((X * factors + factors * rng.integers(-9, 9, X.shape[1]))[rng.permutation(len(X))], above)
    assert_array_equal(again.representative_of, found.representative_of)
    assert_allclose(np.abs(again.correlations), np.abs(found.correlations), atol=1e-9)


@given(tables(), thresholds, st.sampled_from([sp.csr_matrix, sp.csc_array, sp.coo_array]))
def test_sparse_equals_dense(X, above, form):
    X = np.where(X > 0.5, X, 0.0)
    found, of_sparse = redundant_columns(X, above), redundant_columns(form(X), above)
    assert_array_equal(of_sparse.representative_of, found.representative_of)
    assert_array_equal(of_sparse.correlations, found.correlations)
    check(X, above, of_sparse)


@pytest.mark.parametrize("seed", range(5))
def test_products_of_columns_that_are_mostly_zero_are_those_of_dense_ones(seed):
    X = dense_with_zeros(seed)
    X[:, 2:] *= np.random.default_rng(seed).random(X[:, 2:].shape) < 0.3  # so few that sparse products are faster
    X[:, 30] = X[:, 5] * 3.0
    with config_context(working_memory=0.1):  # some blocks with heavy columns, some without
        found, of_sparse = redundant_columns(X, 0.9), redundant_columns(sp.csr_array(X), 0.9)
    assert found.groups
    assert_array_equal(of_sparse.representative_of, found.representative_of)
    check(X, 0.9, of_sparse)


@given(tables(linear_copies=False), thresholds)
def test_single_precision(X, above):
    single = X.astype(np.float32)
    found = redundant_columns(single, above)
    assert_array_equal(found.representative_of, redundant_columns(single.astype(np.float64), above).representative_of)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_the_number_of_threads_changes_nothing(backend):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))[:, rng.integers(4, size=200)] + 0.3 * rng.standard_normal((30, 200))
    expected = redundant_columns(X, 0.9)
    assert len(expected.groups) > 3
    with config_context(working_memory=0.05), parallel_config(backend, n_jobs=2):
        for n_jobs in (None, 1, 2, -1):
            found = redundant_columns(X, 0.9, n_jobs=n_jobs)
            assert_array_equal(found.representative_of, expected.representative_of)
            assert_array_equal(found.correlations, expected.correlations)


def test_a_column_that_is_like_most_others_represents_them():
    rng = np.random.default_rng(0)
    middle = rng.standard_normal(500)
    X = np.column_stack([middle + 0.3 * rng.standard_normal(500) for _ in range(5)] + [middle])
    assert_array_equal(redundant_columns(X, 0.95).representatives, [5])


def test_of_two_columns_the_one_with_more_distinct_values_represents_both():
    fine = np.random.default_rng(0).uniform(0.0, 9.0, 200)
    for X in (np.column_stack([fine, np.round(fine)]), np.column_stack([np.round(fine), fine])):
        found = redundant_columns(X)
        assert found.representatives.tolist() == [int(X[0, 0] == np.round(X[0, 0]))]


def test_of_two_units_the_first_by_name_represents_both_in_any_order():
    celsius = np.random.default_rng(0).normal(15.0, 8.0, 300)
    frame = pd.DataFrame({"fahrenheit": 1.8 * celsius + 32.0, "celsius": celsius, "falling": -celsius})
    for order in (["fahrenheit", "celsius", "falling"], ["falling", "celsius", "fahrenheit"]):
        assert DropRedundant().fit(frame[order]).get_feature_names_out().tolist() == ["celsius"]


def test_constant_columns_stay_and_represent_themselves():
    x = np.random.default_rng(0).standard_normal(20)
    X = np.column_stack([np.zeros(20), x, np.full(20, 0.1) * 3.0, x, np.zeros(20)])
    found = redundant_columns(X)
    assert_array_equal(found.constant, [True, False, True, False, True])
    assert len(found.representatives) == 4
    assert found.summary == "1 of 5 columns says the same as another (|r| ≥ 0.95); 4 are left."
    assert redundant_columns(X[:, [0, 2, 4]]).summary == "No two of 3 columns say the same (|r| ≥ 0.95)."
    assert redundant_columns(X[:, [1, 3, 1]]).summary.endswith(
        "2 of 3 columns say the same as another (|r| ≥ 0.95); 1 is left."
    )


def test_columns_beside_a_large_offset_and_of_extreme_scale():
    rng = np.random.default_rng(0)
    x, noise = rng.standard_normal((2, 100))
    for scale in (1e-300, 1e-150, 1.0, 1e150, 1e300):
        X = np.column_stack([x * scale, x + 1e6, noise, noise * 1e-12 + 1.0])
        found = redundant_columns(X, 0.999)
        assert [sorted(group.tolist()) for group in found.groups] == [[0, 1], [2, 3]]


def test_thresholds_that_correlations_reach_exactly():
    # Orthogonal columns of whole numbers: r = 0.6 and 0.8 up to rounding.
    a, b = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    X = np.column_stack([a, b, 3.0 * a + 4.0 * b])
    for above, owners in ((0.8, [0, 2, 2]), (0.6, [2, 2, 2]), (0.8 + 1e-9, [0, 1, 2]), (0.6 + 1e-9, [0, 2, 2])):
        found = redundant_columns(X, above)
        assert [len(set(found.representative_of[[j, 2]])) == 1 for j in (0, 1, 2)] == [each == 2 for each in owners]


def test_kept_columns_are_representatives_even_if_they_say_the_same():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(50)
    X = x[:, None] + 0.05 * rng.standard_normal((50, 30))
    assert len(redundant_columns(X).representatives) == 1
    for megabytes in (0.001, 1024):  # in several blocks, and in one
        with config_context(working_memory=megabytes):
            found = redundant_columns(X, keep=[3, 7, 21])
        assert_array_equal(found.representatives, [3, 7, 21])
        assert np.all(found.representative_of[[3, 7, 21]] == [3, 7, 21])
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(30)])
    assert DropRedundant(keep=["c3", "c7"]).fit(frame).get_feature_names_out().tolist() == ["c3", "c7"]
    with pytest.raises(ValueError, match="keep: there is no column named 'c99'"):
        DropRedundant(keep=["c99"]).fit(frame)


@parametrize_with_checks([DropRedundant(), DropRedundant(0.5, n_jobs=2)])
def test_the_rules_of_scikit_learn_are_kept(estimator, check):
    assert check(estimator) is None


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_data_frames_keep_their_names(library):
    x = np.random.default_rng(0).standard_normal((30, 2))
    columns = {"a": x[:, 0], "b": x[:, 1], "c": 2.0 * x[:, 0]}
    selector = DropRedundant().set_output(transform=library.__name__)
    chosen = selector.fit_transform(library.DataFrame(columns))
    assert isinstance(chosen, library.DataFrame)
    assert list(chosen.columns) == ["a", "b"]
    assert_array_equal(chosen["a"], x[:, 0])


def test_sparse_matrices_stay_sparse():
    X = sp.csr_array(dense_with_zeros(0))
    chosen = DropRedundant(0.9).fit_transform(X)
    assert chosen.format == "csr"
    assert chosen.shape[1] < X.shape[1]
    assert_array_equal(chosen.toarray(), X.toarray()[:, redundant_columns(X, 0.9).representatives])


def test_the_data_of_the_caller_are_left_alone():
    for X in (dense_with_zeros(0), sp.csr_matrix(dense_with_zeros(0))):
        before = X.copy()
        redundant_columns(X)
        assert abs(X - before).sum() == 0


@pytest.mark.parametrize("above", [0.0, -0.5, 1.5, np.nan])
def test_thresholds_that_make_no_sense_are_refused(above):
    X = np.eye(3)
    with pytest.raises(ValueError, match="above"):
        redundant_columns(X, above)
    with pytest.raises(ValueError, match="'above' parameter of DropRedundant"):
        DropRedundant(above).fit(X)


def test_other_mistakes_are_refused():
    with pytest.raises(ValueError, match="names has 2 names, but X has 3 columns"):
        redundant_columns(np.eye(3), names=["a", "b"])
    with pytest.raises(ValueError, match="NaN"):
        redundant_columns([[1.0, np.nan], [2.0, 3.0]])


def test_a_progress_bar_on_request(capsys):
    x = np.random.default_rng(0).standard_normal((20, 1))
    redundant_columns(np.hstack([x, x]))
    assert capsys.readouterr().err == ""
    redundant_columns(np.hstack([x, x]), verbose=1)
    shown = capsys.readouterr().err
    assert "Correlations: 100%" in shown
    assert "Representatives: 100%" in shown
