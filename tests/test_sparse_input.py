"""Sparse data count as the matrix they denote, however their entries are stored."""

import numpy as np
import pytest
import scipy.sparse as sp
from every_selector import make, may_stop_early, of_every_selector
from numpy.testing import assert_array_equal

from ufselect.columns.dense import canonical
from ufselect.datasets.planted import make_planted_clusters

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = pytest.mark.no_cover

PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0)
COUNTS = np.maximum(np.round(4.0 * PLANTED.X), 0.0)


def fit(name, X):
    return make(name, n_clusters=3).fit(X)


def in_pieces(form, dtype=np.float64):
    """COUNTS with every entry split in two, rows in random order, and some explicit zeros."""
    rng = np.random.default_rng(0)
    row, column = np.nonzero(COUNTS)
    values = COUNTS[row, column]
    part = np.floor(values / 2.0)
    zero_row, zero_column = np.nonzero(COUNTS == 0.0)
    row = np.concatenate([row, row, zero_row[::3]])
    column = np.concatenate([column, column, zero_column[::3]])
    data = np.concatenate([part, values - part, np.zeros(len(zero_row[::3]))]).astype(dtype)
    shuffled = rng.permutation(len(data))
    major, minor = (row, column) if form in (sp.csr_array, sp.csr_matrix) else (column, row)
    order = shuffled[np.argsort(major[shuffled], kind="stable")]
    n_major = COUNTS.shape[0] if major is row else COUNTS.shape[1]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=n_major))])
    return form((data[order], minor[order], indptr), shape=COUNTS.shape)


@may_stop_early
@of_every_selector
@pytest.mark.parametrize(("form", "dtype"), [(sp.csr_array, np.float64), (sp.csc_matrix, np.float32)])
def test_entries_in_pieces_count_as_their_sum_and_are_left_as_they_were(name, form, dtype):
    X = in_pieces(form, dtype)
    assert not X.copy().has_canonical_format
    assert_array_equal(X.toarray(), COUNTS)
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    flags = {key: value for key, value in vars(X).items() if key.startswith("_has")}
    found, expected = fit(name, X), fit(name, form(COUNTS.astype(dtype)))
    assert_array_equal(found.scores_, expected.scores_)
    assert_array_equal(found.ranking_, expected.ranking_)
    for part, copy in zip((X.data, X.indices, X.indptr), before, strict=True):
        assert_array_equal(part, copy)
    assert {key: value for key, value in vars(X).items() if key.startswith("_has")} == flags


def test_flags_that_claim_canonical_entries_are_not_believed():
    X = in_pieces(sp.csr_array)
    X.has_sorted_indices = X.has_canonical_format = True
    assert_array_equal(fit("MaxVariance", X).scores_, fit("MaxVariance", sp.csr_array(COUNTS)).scores_)


def test_duplicates_that_cancel_leave_no_entry():
    X = sp.csr_array((np.array([1.0, -1.0, 2.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    clean = canonical(X)
    assert clean.nnz == 1
    assert X.nnz == 3


def test_canonical_entries_are_not_copied():
    X = sp.csr_array(COUNTS)
    assert np.shares_memory(canonical(X).data, X.data)
    assert canonical(COUNTS) is COUNTS
