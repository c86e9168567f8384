"""Baselines: what they select, by other means, and their place in a comparison."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from ufselect import LaplacianScore, MaxVariance
from ufselect.inspection import EvenSpacing, PivotedQR, UncorrelatedVariance, compare_selectors
from ufselect.significance import column_significance

BASELINES = (UncorrelatedVariance, PivotedQR, EvenSpacing)


def table(seed, n=40, d=25, rank=8):
    """Columns of unlike size, most of which are nearly combinations of some others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + 0.1 * rng.standard_normal((n, d))
    return X * rng.uniform(0.5, 2.0, d)


def scaled(X, scale):
    spread = X.std(axis=0)
    by = {"standard": spread, "moderate": spread + np.median(spread), None: 1.0}
    return (X - X.mean(axis=0)) / by[scale]


@given(st.integers(0, 2**32 - 1), st.sampled_from(["moderate", None]), st.sampled_from([(40, 25), (12, 60)]))
def test_pivots_are_those_of_lapack(seed, scale, shape):
    X = table(seed, *shape)
    pivots = scipy.linalg.qr(scaled(X, scale), mode="r", pivoting=True)[1]
    count = min(shape) - 1  # the rank
    np.testing.assert_array_equal(PivotedQR(count, scale=scale).fit(X).top_features(), pivots[:count])


def test_kept_columns_come_first_and_linear_combinations_last():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6)) * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    X = np.column_stack([X, X[:, 5] + 9.0 * X[:, 4]])
    assert PivotedQR(scale=None).fit(X).n_features_ == 6
    kept = PivotedQR(4, scale=None, keep=[4, 5], exclude=[3]).fit(X)
    assert kept.top_features().tolist() == [4, 5, 2, 1]  # 6 is a sum of the first two
    assert kept.ranking_[[6, 3]].tolist() == [6, 7]
    assert kept.scores_[6] < 1e-9


def test_variance_ranks_what_is_left_and_then_what_is_dropped():
    X = table(1)
    selector = UncorrelatedVariance().fit(X)
    correlations, variances = np.abs(np.corrcoef(X.T)), X.var(axis=0)
    left = selector.top_features()
    assert 1 < len(left) < 25
    assert correlations[np.ix_(left, left)][~np.eye(len(left), dtype=bool)].max() < 0.8
    dropped = np.setdiff1d(np.arange(25), left)
    assert correlations[np.ix_(dropped, left)].max(axis=1).min() >= 0.8
    order = np.argsort(selector.ranking_)
    assert order.tolist() == sorted(range(25), key=lambda j: (j not in left, -variances[j]))
    assert np.all(np.diff(selector.scores_[order]) <= 0.0)
    np.testing.assert_array_equal(UncorrelatedVariance(scale="standard").fit(X).ranking_, selector.ranking_)
    kept = dropped[0]
    beside = UncorrelatedVariance(keep=[kept]).fit(X).top_features()
    assert beside[0] == kept
    assert correlations[kept, beside[1:]].max() < 0.8


def test_columns_are_at_equal_distances_among_those_that_may_be_taken():
    X = table(2, d=20)
    assert EvenSpacing(4).fit(X).top_features().tolist() == [2, 7, 12, 17]
    X[:, :10] = 1.0
    assert EvenSpacing(4).fit(X).top_features().tolist() == [11, 13, 16, 18]
    assert EvenSpacing(3, keep=[15], exclude=[19]).fit(X).top_features().tolist() == [15, 12, 17]


@pytest.mark.parametrize("cls", BASELINES)
def test_baselines_do_not_depend_on_the_order_of_columns_or_the_kind_of_table(cls):
    X = np.where(np.abs(table(3)) > 1.0, table(3), 0.0)
    expected = cls(6).fit(X)
    for form in (sp.csr_array, sp.csc_array, lambda X: X.astype(np.float32)):
        assert cls(6).fit(form(X)).top_features().tolist() == expected.top_features().tolist()
    batch = np.arange(40) % 3
    centred = X - np.array([X[batch == code].mean(axis=0) for code in range(3)])[batch]
    within = cls(6).fit(X, batch=batch)
    assert within.top_features().tolist() == cls(6).fit(centred).top_features().tolist()
    if cls is not EvenSpacing:
        order = np.random.default_rng(0).permutation(25)
        assert order[cls(6).fit(X[:, order]).top_features()].tolist() == expected.top_features().tolist()


def test_baselines_come_last_take_the_number_of_a_method_and_see_no_test():
    X = np.column_stack([table(4), 1e3 * np.random.default_rng(0).standard_normal((40, 3))])
    significance = column_significance(X)
    assert not significance.found[25:].any()
    selectors = {"qr": PivotedQR(), "first": LaplacianScore(), "even": EvenSpacing(), "second": MaxVariance()}
    compared = compare_selectors(selectors, X, significance=significance, n_repeats=2)
    assert [row.method for row in compared.rows] == ["first", "second", "qr", "even", "random"]
    assert [row.is_baseline for row in compared.rows] == [False, False, True, True, True]
    assert compared.counted_by == "first"
    count = len(compared.rows[0].chosen)
    assert set(compared.rows[2].chosen) == set(PivotedQR(count).fit(X).top_features())
    assert compared.rows[1].found == 1.0 > compared.rows[2].found
    assert compared.rows[3].stability.value == 1.0
