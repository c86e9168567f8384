"""Structure within batches: columns are centred within each of them, sparse ones implicitly."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from every_selector import METHODS, make, may_stop_early, of_every_selector
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ufselect import KernelFSASL, MaxVariance
from ufselect.columns.batches import Batches, sparse_within_batches
from ufselect.columns.dense import Columns

DENSE_ONLY = ("RUFS", "MaxVariance")


def shifted_plates(seed=0, n=90, d=24, effect=20.0):
    """Three clusters in six columns, and three plates that shift six other columns."""
    rng = np.random.default_rng(seed)
    cluster, plate = rng.permutation(np.arange(n) % 3), np.arange(n) % 3
    X = rng.standard_normal((n, d))
    X[:, :6] += 3.0 * rng.standard_normal((3, 6))[cluster]
    X[:, 6:12] += effect * rng.standard_normal((3, 6))[plate]
    return X, plate


X, PLATE = shifted_plates()
COUNTS = sp.csr_array(np.random.default_rng(1).poisson(0.4 + (np.arange(90) % 3)[:, None] * (np.arange(24) < 8)) * 1.0)


def fitted(name, X, batch, **params):
    return make(name, 6, **{"n_clusters": 3, "max_iter": 3, "center": True, **params}).fit(X, batch=batch)


def test_what_differs_between_plates_only_is_not_selected():
    assert KernelFSASL(6).fit(X).top_features()[0] in range(6, 12)
    assert set(KernelFSASL(6).fit(X, batch=PLATE).top_features()) == set(range(6))


@may_stop_early
@of_every_selector
def test_the_means_of_batches_do_not_matter(name):
    elsewhere = X + 7.0 * np.random.default_rng(2).standard_normal((3, 24))[PLATE]
    one, other = fitted(name, X, PLATE), fitted(name, elsewhere, PLATE)
    assert_array_equal(one.top_features(), other.top_features())


@may_stop_early
@pytest.mark.parametrize("scale", ["moderate", None])
@pytest.mark.parametrize("name", [name for name in METHODS if name not in DENSE_ONLY])
def test_sparse_columns_give_what_dense_ones_give(name, scale):
    batch = np.arange(90) % 2
    dense, sparse = (fitted(name, values, batch, scale=scale) for values in (COUNTS.toarray(), COUNTS))
    assert_allclose(sparse.scores_, dense.scores_, rtol=1e-5, atol=1e-7 * np.abs(dense.scores_).max())


@pytest.mark.parametrize("name", DENSE_ONLY)
def test_a_method_that_needs_dense_columns_says_so(name):
    with pytest.raises(ValueError, match=rf"^{name} needs a dense X if batch is given; use X.toarray\(\)\.$"):
        METHODS[name](2).fit(COUNTS, batch=np.arange(90) % 2)


def test_batches_reach_a_selector_through_a_pipeline():
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), KernelFSASL(6).set_fit_request(batch=True))
        pipeline.fit(X, batch=PLATE)
    assert_array_equal(pipeline[-1].top_features(), KernelFSASL(6).fit(X / X.std(axis=0), batch=PLATE).top_features())


def test_columns_that_are_constant_within_batches_rank_last():
    constant = np.column_stack([X, PLATE, 2.0 * PLATE])
    selector = KernelFSASL(6).fit(constant, batch=PLATE)
    assert set(selector.ranking_[24:]) == {25, 26}
    with pytest.raises(ValueError, match="all 2 columns are constant within every batch"):
        MaxVariance(1).fit(constant[:, 24:], batch=PLATE)


@pytest.mark.parametrize(("n_batches", "center"), [(2, True), (3, False)])
def test_products_with_sparse_columns_are_those_of_dense_ones(n_batches, center):
    rng = np.random.default_rng(3)
    batches = Batches.of(np.arange(90) % n_batches, 90)
    heavy = COUNTS.toarray()
    heavy[:, 3] += 1e12 * (np.arange(90) % n_batches)  # few digits would be left of a difference of products
    found = sparse_within_batches(sp.csc_array(heavy), batches, center=center, scale="standard")
    dense = Columns.prepared(batches.without_means(heavy), center=center, scale="standard")
    light = np.flatnonzero(np.arange(24) != 3)  # of the dense one, rounding leaves four digits
    V = dense.values[:, light]
    found = found.subset(light)
    B, C, w, r = rng.standard_normal((23, 2)), rng.standard_normal((90, 3)), rng.random(90), rng.random(23)
    pairs = {
        "matmul": (found @ B, V @ B),
        "matmul of a vector": (found @ B[:, 0], V @ B[:, 0]),
        "transposed": (found.transposed_matmul(C), V.T @ C),
        "columns": (found.columns(np.array([5, 2])), V[:, [5, 2]]),
        "rows": (found.rows(np.array([7, 1])), V[[7, 1]]),
        "all rows": (found.by_row, V),
        "gram": (found.gram(), V.T @ V),
        "weighted gram": (found.gram(np.array([4, 1]), w), (V.T * w @ V)[np.ix_([4, 1], [4, 1])]),
        "row gram": (found.row_gram(), V @ V.T),
        "weighted row gram": (found.row_gram(r), V * r @ V.T),
        "squared norms": (found.squared_norms(), np.sum(V**2, axis=0)),
        "squared row norms": (found.squared_row_norms(), np.sum(V**2, axis=1)),
        "distance": (found.mean_squared_distance(), 2.0 * V.var(axis=0).sum()),
        "less means": (found.less_means(w).by_row, V - w @ V / w.sum()),
        "scaled": (found.scaled(r).by_row, V * r),
        "inner products": (found.inner_products(B.T), B.T @ V.T),
    }
    for what, (one, other) in pairs.items():
        assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=what)


@pytest.mark.parametrize("values", [X, COUNTS], ids=["dense", "sparse"])
def test_shuffling_stays_within_batches(values):
    batches = Batches.of(PLATE, 90)
    shuffled = batches.shuffled(values, np.random.RandomState(0))
    as_dense = [each.toarray() if sp.issparse(each) else each for each in (values, shuffled)]
    assert not np.array_equal(*as_dense)
    for code in range(3):
        before, after = (np.sort(each[code == PLATE], axis=0) for each in as_dense)
        assert_array_equal(before, after)


HOSTILE = {
    "All samples are in batch 'a': fit without batch.": ["a"] * 90,
    "Batch 'b' has only one sample, which leaves nothing within it": ["a"] * 89 + ["b"],
    "batch has 3 values, but X has 90 samples.": ["a", "b", "c"],
    r"The batch of sample 4 is missing \(3 in all\).": ["a", "b"] * 2 + [None, np.nan, pd.NA, "b"] + ["a", "b"] * 41,
    r"The batch of sample 0 is missing \(1 in all\).": pd.array([None, *[1, 2, 3] * 29, 1, 2], dtype="Int64"),
    "batches have 1 as a number and as a text; make all of them texts.": [1, "1", 2] * 30,
}


@pytest.mark.parametrize("message", HOSTILE)
def test_batches_that_make_no_sense_are_one_sentence(message):
    with pytest.raises(ValueError, match=f"^{message}"):
        KernelFSASL(3).fit(X, batch=HOSTILE[message])


@pytest.mark.parametrize(
    "batch",
    [
        [0.0, -0.0, 1.0] * 30,
        np.array([0.0, -0.0, 1.0] * 30),
        [0, False, "a"] * 30,
        pd.array([3, 3, "x"] * 30, dtype="object"),
        pd.Categorical(["x", "x", "y"] * 30),
        pd.array([0, 0, 1] * 30, dtype="Int8"),
    ],
)
def test_equal_values_are_one_batch_whatever_their_types(batch):
    expected = KernelFSASL(3).fit(X, batch=["a", "a", "b"] * 30)
    assert_array_equal(KernelFSASL(3).fit(X, batch=batch).scores_, expected.scores_)


def test_a_dask_array_has_no_batches():
    import dask.array as da

    with pytest.raises(ValueError, match=r"^batch needs an array in memory, not a tensor or a Dask array"):
        KernelFSASL(3).fit(da.from_array(X, chunks=(30, 24)), batch=PLATE)
