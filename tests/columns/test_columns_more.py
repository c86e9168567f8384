import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from ufselect.columns.dense import Columns

LAYOUTS = {
    "dense": np.asarray,
    "Fortran": np.asfortranarray,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
}
SPARSE = [name for name in LAYOUTS if name[:2] == "cs"]


@st.composite
def data_without_constant_columns(draw):
    n, d = draw(st.integers(4, 10)), draw(st.integers(2, 7))
    X = draw(arrays(np.float64, (n, d), elements=st.integers(-4, 4).map(float), fill=st.just(0.0)))
    X[0], X[1] = 0.0, 5.0
    return X + draw(st.sampled_from([0.0, -5.0, 3.0]))


def dense_of(X):
    """What the columns stand for, offset and all."""
    values = X.values.toarray() if sp.issparse(X.values) else X.values
    return values if X.offset is None else values - X.offset


def unit_range(values):
    return (values - values.min(axis=0)) / np.ptp(values, axis=0)


def with_any_offset(layout, seed=0):
    """Sparse columns less something that is not their mean."""
    rng = np.random.default_rng(seed)
    values = sp.random_array((12, 7), density=0.4, random_state=rng)
    return Columns(LAYOUTS[layout](values), rng.standard_normal(7))


# Columns onto [0, 1]


@settings(max_examples=20)
@given(values=data_without_constant_columns(), layout=st.sampled_from(sorted(LAYOUTS)))
def test_every_column_is_mapped_onto_the_unit_range(values, layout):
    X = Columns.of_unit_range(LAYOUTS[layout](values))
    mapped = X.columns(slice(None))
    assert not X.centered
    assert_allclose(mapped, unit_range(values), rtol=0, atol=1e-15)
    assert_allclose(mapped.min(axis=0), 0.0, rtol=0, atol=1e-15)
    assert_allclose(mapped.max(axis=0), 1.0, rtol=0, atol=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_single_precision_stays_single_when_mapped(layout):
    values = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float32)
    X = Columns.of_unit_range(LAYOUTS[layout](values))
    assert X.dtype == X.values.dtype == np.float32
    assert_allclose(dense_of(X), unit_range(values.astype(np.float64)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("layout", SPARSE)
def test_a_sparse_matrix_is_mapped_without_being_filled_in(layout):
    rng = np.random.default_rng(0)
    negative = sp.random_array((40, 25), density=0.1, random_state=rng) - 0.5 * sp.eye_array(40, 25)
    for values in (negative, abs(negative)):
        given_ = LAYOUTS[layout](values)
        X = Columns.of_unit_range(given_)
        assert sp.issparse(X.values)
        assert X.values.nnz == given_.nnz
        assert (X.offset is None) == (given_.min() >= 0.0)
        assert_allclose(dense_of(X), unit_range(values.toarray()), rtol=0, atol=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_given_matrix_is_left_as_it_was(layout):
    values = np.random.default_rng(0).standard_normal((6, 4))
    given_ = LAYOUTS[layout](values.copy())
    Columns.of_unit_range(given_)
    Columns(given_).scaled(np.arange(1.0, 5.0))
    Columns(given_).gram(weights=np.arange(6.0))
    assert_array_equal(given_.toarray() if sp.issparse(given_) else given_, values)


# Products with weights, and beside any offset


@settings(max_examples=20)
@given(
    values=data_without_constant_columns(),
    layout=st.sampled_from(sorted(LAYOUTS)),
    center=st.booleans(),
    scale=st.sampled_from(["standard", "moderate", None]),
    seed=st.integers(0, 2**16),
)
def test_every_product_equals_that_of_the_explicit_matrix(values, layout, center, scale, seed):
    X = Columns.prepared(LAYOUTS[layout](values), center=center, scale=scale)
    rng = np.random.default_rng(seed)
    n, d = values.shape
    row_weights, column_weights, some = rng.random(n), rng.random(d), rng.permutation(d)[: max(1, d // 2)]
    dense = dense_of(X)
    cases = {
        "gram(weights)": (X.gram(weights=row_weights), dense.T @ np.diag(row_weights) @ dense),
        "gram(some, weights)": (X.gram(some, row_weights), dense[:, some].T @ np.diag(row_weights) @ dense[:, some]),
        "squared_row_norms": (X.squared_row_norms(), np.sum(dense**2, axis=1)),
        "mean_squared_distance": (X.mean_squared_distance(), cdist(dense, dense, "sqeuclidean").mean()),
        "scaled": (dense_of(X.scaled(column_weights)), dense * column_weights),
    }
    for name, (found, expected) in cases.items():
        assert_allclose(found, expected, rtol=0, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("layout", SPARSE)
@pytest.mark.parametrize("seed", range(3))
def test_an_offset_need_not_be_the_mean(layout, seed):
    X = with_any_offset(layout, seed)
    rng, dense = np.random.default_rng(seed), dense_of(X)
    rows, columns, some = rng.random(12), rng.random(7), np.array([4, 0, 6])
    B, C = rng.standard_normal((7, 3)), rng.standard_normal((12, 2))
    cases = {
        "matmul": (X @ B, dense @ B),
        "transposed_matmul": (X.transposed_matmul(C), dense.T @ C),
        "inner_products": (X.inner_products(B.T), B.T @ dense.T),
        "combined": (X.combined(some, B[:3]), dense[:, some] @ B[:3]),
        "columns": (X.columns(some), dense[:, some]),
        "rows": (X.rows(some), dense[some]),
        "gram": (X.gram(), dense.T @ dense),
        "gram(some)": (X.gram(some), dense[:, some].T @ dense[:, some]),
        "gram(weights)": (X.gram(weights=rows), dense.T @ np.diag(rows) @ dense),
        "row_gram": (X.row_gram(columns), dense @ np.diag(columns) @ dense.T),
        "squared_norms": (X.squared_norms(), np.sum(dense**2, axis=0)),
        "squared_row_norms": (X.squared_row_norms(), np.sum(dense**2, axis=1)),
        "mean_squared_distance": (X.mean_squared_distance(), cdist(dense, dense, "sqeuclidean").mean()),
        "scaled": (dense_of(X.scaled(columns)), dense * columns),
    }
    for name, (found, expected) in cases.items():
        assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_matrices_come_back_in_double_precision(layout):
    X = Columns.prepared(
        LAYOUTS[layout](np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32)),
        center=True,
        scale="standard",
    )
    assert X.gram(weights=np.ones(8)).dtype == np.float64
    assert X.squared_row_norms().dtype == np.float64
    assert_allclose(X.gram(weights=np.ones(8)), X.gram(), rtol=0, atol=1e-5)
    assert_allclose(X.squared_row_norms().sum(), 24.0, rtol=1e-6)
    assert_allclose(X.mean_squared_distance(), 6.0, rtol=1e-6)


# The mean distance


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_mean_squared_distance_of_standardised_columns_is_twice_their_number(layout):
    values = np.random.default_rng(0).standard_normal((30, 5))
    X = Columns.prepared(LAYOUTS[layout](values), center=True, scale="standard")
    assert_allclose(X.mean_squared_distance(), 10.0, rtol=1e-12)


@pytest.mark.parametrize("layout", ["dense", "csr_array"])
@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
def test_the_mean_squared_distance_keeps_its_digits_beside_a_large_offset(layout, offset):
    # Multiples of 1/64, so that the offset changes no digit of a difference.
    values = np.round(64.0 * np.random.default_rng(0).standard_normal((50, 6))) / 64.0
    X = Columns(LAYOUTS[layout](values + offset))
    assert_allclose(X.mean_squared_distance(), cdist(values, values, "sqeuclidean").mean(), rtol=1e-9)


@pytest.mark.parametrize("layout", SPARSE)
def test_norms_of_centred_sparse_columns_keep_their_digits_beside_a_large_mean(layout):
    values = np.round(64.0 * np.random.default_rng(0).standard_normal((50, 6))) / 64.0
    X = Columns.prepared(LAYOUTS[layout](values + 1e3), center=True, scale="standard")
    # Taking the means off inside the products costs the square of a thousand, six digits of sixteen.
    assert_allclose(X.squared_norms(), 50.0, rtol=1e-8)
    assert_allclose(X.squared_row_norms().sum(), 300.0, rtol=1e-8)


# Scaled and centred


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("center", [False, True])
def test_scaling_keeps_centring_precision_and_layout(layout, center):
    values = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    X = Columns.prepared(LAYOUTS[layout](values), center=center, scale="standard")
    scaled = X.scaled(np.array([0.5, 0.0, 2.0, -1.0]))
    assert scaled.centered == center
    assert scaled.dtype == scaled.values.dtype == np.float32
    assert sp.issparse(scaled.values) == sp.issparse(X.values)
    assert_allclose(dense_of(scaled), dense_of(X) * [0.5, 0.0, 2.0, -1.0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("layout", ["dense", "csr_array"])
def test_a_target_is_centred_where_the_columns_are(layout):
    values, F = np.random.default_rng(0).standard_normal((8, 4)), np.arange(16.0).reshape(8, 2)
    centred = Columns.prepared(LAYOUTS[layout](values), center=True, scale="standard")
    assert_allclose(centred.centered_like(F), F - F.mean(axis=0), rtol=0, atol=1e-14)
    assert_allclose(centred.centered_like(F).sum(axis=0), 0.0, rtol=0, atol=1e-13)
    plain = Columns.prepared(LAYOUTS[layout](values), center=False, scale="standard")
    assert_array_equal(plain.centered_like(F), F)


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_shuffled_columns_keep_their_values_and_lose_their_order(layout):
    values = np.random.default_rng(0).integers(0, 3, (200, 6)) * np.arange(1.0, 7.0)
    X = Columns.prepared(LAYOUTS[layout](values), center=True, scale="standard")
    shuffled = X.shuffled(np.random.RandomState(0))
    before, after = X.columns(slice(None)), shuffled.columns(slice(None))
    assert_allclose(np.sort(after, axis=0), np.sort(before, axis=0), rtol=1e-12)
    assert np.all(np.any(after != before, axis=0))
    assert np.abs(np.corrcoef(after, rowvar=False) - np.eye(6)).max() < 0.35
