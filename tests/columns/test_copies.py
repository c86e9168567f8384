"""Columns that are exact copies."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import ufselect
from ufselect.columns.dense import canonical
from ufselect.columns.in_memory import first_equal_columns
from ufselect.columns.moments import column_extremes
from ufselect.datasets import make_planted_clusters

LAYOUTS = [np.asarray, sp.csr_array, sp.csc_array]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_the_first_equal_column_is_found(layout, dtype, seed):
    X = np.random.default_rng(seed).integers(-1, 2, (4, 30)).astype(dtype)
    expected = [next(i for i in range(30) if np.array_equal(X[:, i], X[:, j])) for j in range(30)]
    given_ = canonical(layout(X))
    assert_array_equal(first_equal_columns(given_, column_extremes(given_)), expected)


def test_minus_zero_is_zero():
    X = np.array([[0.0, -0.0], [1.0, 1.0]])
    assert_array_equal(first_equal_columns(X, column_extremes(X)), [0, 0])


@pytest.mark.parametrize("name", ufselect.__all__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_copies_rank_behind_everything_that_is_none_and_change_nothing_else(name):
    X = make_planted_clusters(60, 3, 8, 7, random_state=0).X
    make = getattr(ufselect, name)
    selector, alone = make(3).fit(np.hstack([X, X[:, [2, 2, 0]], np.ones((60, 1))])), make(3).fit(X)
    assert_array_equal(selector.ranking_[:15], alone.ranking_)
    assert_array_equal(selector.copies_, [-1] * 15 + [2, 2, 0, -1])
    assert set(selector.ranking_[15:18]) == {16, 17, 18}
    assert (selector.ranking_[17] == 16) == (alone.ranking_[0] < alone.ranking_[2])
    assert selector.ranking_[18] == 19
    assert_array_equal(alone.copies_, -1)
