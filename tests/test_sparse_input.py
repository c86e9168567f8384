"""Sparse data count as the matrix they denote, however their entries are stored."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import ufselect
from ufselect.columns.sparse_arrays import canonical
from ufselect.datasets.planted import make_planted_clusters

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = pytest.mark.no_cover

PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0)
COUNTS = np.maximum(np.round(4.0 * PLANTED.X), 0.0)

of_every_selector = pytest.mark.parametrize("name", ufselect.__all__)
may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(name, X):
    """Fit with those of the parameters that the method has; a difference shows after a few iterations."""
    selector = getattr(ufselect, name)(5)
    accepted = {key: value for key, value in {"n_clusters": 3, "max_iter": 20}.items() if key in selector.get_params()}
    return selector.set_params(**accepted).fit(X)


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


def term_documents():
    """Word counts, an entry for every occurrence, as the documentation of ``scipy.sparse.csr_array`` builds them."""
    rng = np.random.default_rng(1)
    indptr, indices = [0], []
    for topic in np.repeat([0, 1, 2], 20):
        indices.extend(int(word) for word in rng.integers(0, 4, size=12) + 4 * topic)
        indices.extend(int(word) for word in rng.integers(0, 15, size=6))
        indptr.append(len(indices))
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(60, 15))


@may_stop_early
@of_every_selector
@pytest.mark.parametrize(
    ("form", "dtype"), [(sp.csr_array, np.float64), (sp.csc_array, np.float32), (sp.csr_matrix, np.float32)]
)
def test_entries_in_pieces_count_as_their_sum(name, form, dtype):
    X = in_pieces(form, dtype)
    whole = form(COUNTS.astype(dtype))
    assert_array_equal(X.toarray(), COUNTS)
    found, expected = fit(name, X), fit(name, whole)
    assert_array_equal(found.scores_, expected.scores_)
    assert_array_equal(found.ranking_, expected.ranking_)


@may_stop_early
@of_every_selector
def test_word_counts_with_an_entry_for_every_occurrence(name):
    X = term_documents()
    assert not X.copy().has_canonical_format
    assert_array_equal(fit(name, X).ranking_, fit(name, sp.csr_array(X.toarray())).ranking_)


@may_stop_early
@of_every_selector
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_the_array_of_the_caller_is_left_as_it_was(name, form):
    X = in_pieces(form)
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    flags = {key: value for key, value in vars(X).items() if key.startswith("_has")}
    fit(name, X)
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
