"""Columns: products, norms, scales and what single precision keeps, for every layout of the data."""

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
def data_without_constant_columns(draw, changes=((1.0, 0.0), (1e-6, 0.0), (1e6, 0.0), (1.0, -5.0), (1.0, 3.0))):
    n, d = draw(st.integers(4, 10)), draw(st.integers(2, 7))
    X = draw(arrays(np.float64, (n, d), elements=st.integers(-4, 4).map(float), fill=st.just(0.0)))
    X[0], X[1] = 0.0, 5.0
    factor, offset = draw(st.sampled_from(changes))
    return factor * X + offset


def dense_of(X):
    """What the columns stand for, offset and all."""
    values = X.values.toarray() if sp.issparse(X.values) else X.values
    return values if X.offset is None else values - X.offset


def unit_range(values):
    return (values - values.min(axis=0)) / np.ptp(values, axis=0)


def products(X, dense, seed=0):
    """Everything that is computed from X, and what it should be by the matrix that X stands for."""
    rng = np.random.default_rng(seed)
    n, d = dense.shape
    some, rows = rng.permutation(d)[: max(1, d // 2)], rng.permutation(n)[:3]
    B, C, weights, row_weights = rng.standard_normal((d, 3)), rng.standard_normal((n, 2)), rng.random(d), rng.random(n)
    part = dense[:, some]
    return {
        "matmul": (X @ B, dense @ B),
        "matmul of a vector": (X @ B[:, 0], dense @ B[:, 0]),
        "transposed_matmul": (X.transposed_matmul(C), dense.T @ C),
        "transposed_matmul of a vector": (X.transposed_matmul(C[:, 0]), dense.T @ C[:, 0]),
        "inner_products": (X.inner_products(B.T), B.T @ dense.T),
        "matmul of some": (X.subset(some) @ B[: len(some)], part @ B[: len(some)]),
        "columns": (X.columns(some), part),
        "columns of a slice": (X.columns(slice(0, 2)), dense[:, :2]),
        "rows": (X.rows(rows), dense[rows]),
        "rows of a slice": (X.rows(slice(1, 3)), dense[1:3]),
        "gram": (X.gram(), dense.T @ dense),
        "gram of some": (X.gram(some), part.T @ part),
        "kept_gram": (X.kept_gram(some), part.T @ part),
        "kept_gram of overlapping sets": (X.kept_gram(np.arange(X.shape[1])[::-1]), (dense.T @ dense)[::-1, ::-1]),
        "gram(weights)": (X.gram(weights=row_weights), dense.T @ np.diag(row_weights) @ dense),
        "gram(some, weights)": (X.gram(some, row_weights), part.T @ np.diag(row_weights) @ part),
        "row_gram": (X.row_gram(weights), dense @ np.diag(weights) @ dense.T),
        "squared_norms": (X.squared_norms(), np.sum(dense**2, axis=0)),
        "squared_row_norms": (X.squared_row_norms(), np.sum(dense**2, axis=1)),
        "mean_squared_distance": (X.mean_squared_distance(), cdist(dense, dense, "sqeuclidean").mean()),
        "scaled": (dense_of(X.scaled(weights)), dense * weights),
    }


def assert_products(X, dense, seed=0, *, atol):
    for name, (found, expected) in products(X, dense, seed).items():
        assert_allclose(found, expected, rtol=0, atol=atol, err_msg=name)


def transformed(X, center, scale):
    centred = X - X.mean(axis=0) if center else X
    if scale == "standard":
        return centred / X.std(axis=0)
    if scale == "moderate":
        return centred / (X.std(axis=0) + np.median(X.std(axis=0)))
    return centred / 2.0 ** np.round(np.log2(np.sqrt(np.mean(centred**2))))


@settings(max_examples=50)
@given(
    values=data_without_constant_columns(),
    layout=st.sampled_from(sorted(LAYOUTS)),
    center=st.booleans(),
    scale=st.sampled_from(["standard", "moderate", None]),
    seed=st.integers(0, 2**16),
)
def test_every_product_equals_that_of_the_explicitly_transformed_matrix(values, layout, center, scale, seed):
    X = Columns.prepared(LAYOUTS[layout](values), center=center, scale=scale)
    assert_products(X, transformed(values, center, scale), seed, atol=1e-11)


@settings(max_examples=25)
@given(
    values=data_without_constant_columns(((1.0, 0.0), (1e-6, 0.0), (1e6, 0.0))),
    layout=st.sampled_from(sorted(LAYOUTS)),
    center=st.booleans(),
    scale=st.sampled_from(["standard", "moderate", None]),
)
def test_single_precision_stays_single_and_agrees_to_its_digits(values, layout, center, scale):
    X = Columns.prepared(LAYOUTS[layout](values.astype(np.float32)), center=center, scale=scale)
    assert X.values.dtype == X.dtype == np.float32
    assert_products(X, transformed(values.astype(np.float32).astype(np.float64), center, scale), atol=2e-4)


@pytest.mark.parametrize("layout", SPARSE)
@pytest.mark.parametrize("seed", range(3))
def test_an_offset_need_not_be_the_mean(layout, seed):
    rng = np.random.default_rng(seed)
    X = Columns(LAYOUTS[layout](sp.random_array((12, 7), density=0.4, random_state=rng)), rng.standard_normal(7))
    assert_products(X, dense_of(X), seed, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_and_small_matrices_come_back_in_double_precision(dtype, layout):
    values = np.random.default_rng(0).standard_normal((6, 4)).astype(dtype)
    X = Columns.prepared(LAYOUTS[layout](values), center=True, scale="standard")
    found = products(X, dense_of(X))
    for name in ("matmul", "transposed_matmul", "inner_products", "gram", "gram(weights)", "row_gram"):
        assert found[name][0].dtype == np.float64, name
    assert X.squared_norms().dtype == X.squared_row_norms().dtype == np.float64
    rtol = 1e-12 if dtype == np.float64 else 1e-6
    assert_allclose(X.squared_row_norms().sum(), 24.0, rtol=rtol)
    assert_allclose(X.mean_squared_distance(), 8.0, rtol=rtol)  # twice the number of standardised columns


@pytest.mark.parametrize("layout", SPARSE)
@pytest.mark.parametrize("center", [False, True])
def test_a_sparse_matrix_is_never_filled_in(layout, center):
    values = LAYOUTS[layout](
        sp.random_array((40, 25), density=0.1, random_state=np.random.default_rng(0)) + sp.eye_array(40, 25)
    )
    X = Columns.prepared(values, center=center, scale="standard")
    products(X, dense_of(X))
    assert sp.issparse(X.values)
    assert sp.issparse(X.by_row)
    assert X.values.nnz == X.by_row.nnz == values.nnz


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_given_matrix_is_left_as_it_was(layout):
    values = np.random.default_rng(0).standard_normal((6, 4))
    given_ = LAYOUTS[layout](values.copy())
    Columns.prepared(given_, center=True, scale="standard")
    Columns.of_unit_range(given_)
    Columns(given_).scaled(np.arange(1.0, 5.0))
    Columns(given_).gram(weights=np.arange(6.0))
    assert_array_equal(given_.toarray() if sp.issparse(given_) else given_, values)


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_the_common_scale_changes_no_digit(layout):
    values = np.random.default_rng(0).standard_normal((6, 4)) * 1e20
    X = Columns.prepared(LAYOUTS[layout](values), center=False, scale=None)
    kept = X.values.toarray() if sp.issparse(X.values) else X.values
    ratio = np.unique(values / kept)
    assert len(ratio) == 1
    assert np.log2(ratio[0]) == np.round(np.log2(ratio[0]))
    assert 0.5 < np.sqrt(np.mean(kept**2)) < 2.0


# Columns onto [0, 1]


@settings(max_examples=20)
@given(
    values=data_without_constant_columns(((1.0, 0.0), (1.0, -5.0), (1.0, 3.0))), layout=st.sampled_from(sorted(LAYOUTS))
)
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


# Digits kept beside large offsets


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


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_shuffled_columns_keep_their_values_and_lose_their_order(layout):
    values = np.random.default_rng(0).integers(0, 3, (200, 6)) * np.arange(1.0, 7.0)
    X = Columns.prepared(LAYOUTS[layout](values), center=True, scale="standard")
    shuffled = X.shuffled(np.random.RandomState(0))
    before, after = X.columns(slice(None)), shuffled.columns(slice(None))
    assert_allclose(np.sort(after, axis=0), np.sort(before, axis=0), rtol=1e-12)
    assert np.all(np.any(after != before, axis=0))
    assert np.abs(np.corrcoef(after, rowvar=False) - np.eye(6)).max() < 0.35
