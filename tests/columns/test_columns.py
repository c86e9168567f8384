"""Columns: every product is that of the matrix they stand for, in every layout, without filling in sparse ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from ufselect.columns.dense import Columns, column_moments, constant_columns

LAYOUTS = {
    "dense": np.asarray,
    "Fortran": np.asfortranarray,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
}
SPARSE = [name for name in LAYOUTS if name[:2] == "cs"]


def dense_of(X):
    """What the columns stand for, offset and all."""
    values = X.values.toarray() if sp.issparse(X.values) else X.values
    return values if X.offset is None else values - X.offset


# What is asked of columns X, and of the matrix D that they stand for: with B, C, weights v of rows and w of columns,
# some columns j and some rows i.
PRODUCTS = {
    "matmul": (lambda X, B, C, v, w, j, i: X @ B, lambda D, B, C, v, w, j, i: D @ B),
    "matmul of a vector": (lambda X, B, C, v, w, j, i: X @ B[:, 0], lambda D, B, C, v, w, j, i: D @ B[:, 0]),
    "transposed_matmul": (lambda X, B, C, v, w, j, i: X.transposed_matmul(C), lambda D, B, C, v, w, j, i: D.T @ C),
    "transposed_matmul of a vector": (
        lambda X, B, C, v, w, j, i: X.transposed_matmul(C[:, 0]),
        lambda D, B, C, v, w, j, i: D.T @ C[:, 0],
    ),
    "inner_products": (lambda X, B, C, v, w, j, i: X.inner_products(B.T), lambda D, B, C, v, w, j, i: B.T @ D.T),
    "combined": (
        lambda X, B, C, v, w, j, i: X.combined(j, B[: len(j)]),
        lambda D, B, C, v, w, j, i: D[:, j] @ B[: len(j)],
    ),
    "columns": (lambda X, B, C, v, w, j, i: X.columns(j), lambda D, B, C, v, w, j, i: D[:, j]),
    "columns of a slice": (lambda X, B, C, v, w, j, i: X.columns(slice(0, 2)), lambda D, B, C, v, w, j, i: D[:, :2]),
    "rows": (lambda X, B, C, v, w, j, i: X.rows(i), lambda D, B, C, v, w, j, i: D[i]),
    "rows of a slice": (lambda X, B, C, v, w, j, i: X.rows(slice(1, 3)), lambda D, B, C, v, w, j, i: D[1:3]),
    "gram": (lambda X, B, C, v, w, j, i: X.gram(), lambda D, B, C, v, w, j, i: D.T @ D),
    "gram of some": (lambda X, B, C, v, w, j, i: X.gram(j), lambda D, B, C, v, w, j, i: D[:, j].T @ D[:, j]),
    "gram of weighted rows": (
        lambda X, B, C, v, w, j, i: X.gram(weights=v),
        lambda D, B, C, v, w, j, i: D.T @ np.diag(v) @ D,
    ),
    "gram of some, weighted": (
        lambda X, B, C, v, w, j, i: X.gram(j, v),
        lambda D, B, C, v, w, j, i: D[:, j].T @ np.diag(v) @ D[:, j],
    ),
    "row_gram": (lambda X, B, C, v, w, j, i: X.row_gram(w), lambda D, B, C, v, w, j, i: D @ np.diag(w) @ D.T),
    "squared_norms": (lambda X, B, C, v, w, j, i: X.squared_norms(), lambda D, *_: np.sum(D**2, axis=0)),
    "squared_row_norms": (lambda X, B, C, v, w, j, i: X.squared_row_norms(), lambda D, *_: np.sum(D**2, axis=1)),
    "mean_squared_distance": (
        lambda X, B, C, v, w, j, i: np.array(X.mean_squared_distance()),
        lambda D, *_: cdist(D, D, "sqeuclidean").mean(),
    ),
    "scaled": (lambda X, B, C, v, w, j, i: dense_of(X.scaled(w)), lambda D, B, C, v, w, j, i: D * w),
}


def check_products(X, D, seed, atol):
    rng = np.random.default_rng(seed)
    n, d = D.shape
    asked = rng.standard_normal((d, 3)), rng.standard_normal((n, 2)), rng.random(n), rng.random(d)
    places = rng.permutation(d)[: max(1, d // 2)], rng.permutation(n)[:3]
    for name, (product, expected) in PRODUCTS.items():
        found = product(X, *asked, *places)
        assert isinstance(found, np.ndarray), name
        assert_allclose(found, expected(D, *asked, *places), rtol=0, atol=atol, err_msg=name)


@st.composite
def data_without_constant_columns(draw):
    n, d = draw(st.integers(4, 10)), draw(st.integers(2, 7))
    X = draw(arrays(np.float64, (n, d), elements=st.integers(-4, 4).map(float), fill=st.just(0.0)))
    X[0], X[1] = 0.0, 5.0
    return X + draw(st.sampled_from([0.0, -5.0, 3.0]))


def transformed(X, center, scale):
    centred = X - X.mean(axis=0) if center else X
    if scale == "standard":
        return centred / X.std(axis=0)
    if scale == "moderate":
        return centred / (X.std(axis=0) + np.median(X.std(axis=0)))
    return centred / 2.0 ** np.round(np.log2(np.sqrt(np.mean(centred**2))))


@settings(max_examples=60)
@given(
    values=data_without_constant_columns(),
    unit=st.sampled_from([1.0, 1e-6, 1e6]),
    layout=st.sampled_from(sorted(LAYOUTS)),
    center=st.booleans(),
    scale=st.sampled_from(["standard", "moderate", None]),
    seed=st.integers(0, 2**16),
)
def test_every_product_equals_that_of_the_explicitly_transformed_matrix(values, unit, layout, center, scale, seed):
    values = unit * values
    X = Columns.prepared(LAYOUTS[layout](values), center=center, scale=scale)
    check_products(X, transformed(values, center, scale), seed, 1e-11)


@settings(max_examples=25)
@given(
    values=data_without_constant_columns(),
    layout=st.sampled_from(sorted(LAYOUTS)),
    center=st.booleans(),
    scale=st.sampled_from(["standard", "moderate", None]),
)
def test_single_precision_stays_single_and_agrees_to_its_digits(values, layout, center, scale):
    X = Columns.prepared(LAYOUTS[layout](values.astype(np.float32)), center=center, scale=scale)
    assert X.values.dtype == X.dtype == np.float32
    check_products(X, transformed(values.astype(np.float32).astype(np.float64), center, scale), 0, 2e-4)


@pytest.mark.parametrize("layout", SPARSE)
@pytest.mark.parametrize("seed", range(3))
def test_an_offset_need_not_be_the_mean(layout, seed):
    rng = np.random.default_rng(seed)
    X = Columns(LAYOUTS[layout](sp.random_array((12, 7), density=0.4, random_state=rng)), rng.standard_normal(7))
    check_products(X, dense_of(X), seed, 1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_and_small_matrices_come_back_in_double_precision(layout, dtype):
    values = np.random.default_rng(0).standard_normal((8, 3)).astype(dtype)
    X = Columns.prepared(LAYOUTS[layout](values), center=True, scale="standard")
    rows, columns, B = np.ones(8), np.ones(3), np.ones((3, 2))
    products = [X @ B, X.transposed_matmul(np.ones((8, 2))), X.inner_products(B.T), X.row_gram(columns), X.gram()]
    products += [X.gram(weights=rows), X.squared_norms(), X.squared_row_norms()]
    assert [product.dtype for product in products] == [np.float64] * len(products)
    assert_allclose(X.gram(weights=rows), X.gram(), rtol=0, atol=1e-5)
    assert_allclose(X.squared_row_norms().sum(), 24.0, rtol=1e-6)
    assert_allclose(X.mean_squared_distance(), 6.0, rtol=1e-6)  # twice the number of standardised columns


@pytest.mark.parametrize("layout", SPARSE)
@pytest.mark.parametrize("center", [False, True])
def test_a_sparse_matrix_is_never_filled_in(layout, center):
    values = LAYOUTS[layout](
        sp.random_array((40, 25), density=0.1, random_state=np.random.default_rng(0)) + sp.eye_array(40, 25)
    )
    X = Columns.prepared(values, center=center, scale="standard")
    check_products(X, transformed(values.toarray(), center, "standard"), 0, 1e-10)
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


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_common_scale_changes_no_digit(layout):
    values = np.random.default_rng(0).standard_normal((6, 4)) * 1e20
    kept = dense_of(Columns.prepared(LAYOUTS[layout](values), center=False, scale=None))
    ratio = np.unique(values / kept)
    assert len(ratio) == 1
    assert np.log2(ratio[0]) == np.round(np.log2(ratio[0]))
    assert 0.5 < np.sqrt(np.mean(kept**2)) < 2.0


# Columns onto [0, 1]


def unit_range(values):
    return (values - values.min(axis=0)) / np.ptp(values, axis=0)


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


# Large offsets


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_moments_keep_their_digits_beside_a_large_offset(layout, offset):
    values = np.round(np.random.default_rng(0).standard_normal((50, 3)) * 1024) / 1024 + offset
    mean, variance = column_moments(LAYOUTS[layout](values))
    assert_allclose(mean, offset + (values - offset).mean(axis=0), rtol=1e-14, atol=1e-14)
    assert_allclose(variance, (values - offset).var(axis=0), rtol=1e-6)


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


# Scaled, centred and shuffled


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


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shuffled_columns_keep_their_values_and_lose_their_order(layout):
    values = np.random.default_rng(0).integers(0, 3, (200, 6)) * np.arange(1.0, 7.0)
    X = Columns.prepared(LAYOUTS[layout](values), center=True, scale="standard")
    shuffled = X.shuffled(np.random.RandomState(0))
    before, after = X.columns(slice(None)), shuffled.columns(slice(None))
    assert_allclose(np.sort(after, axis=0), np.sort(before, axis=0), rtol=1e-12)
    assert np.all(np.any(after != before, axis=0))
    assert np.abs(np.corrcoef(after, rowvar=False) - np.eye(6)).max() < 0.35


# Constant columns


def columns_to_judge(dtype):
    """Columns by name, and whether they are constant."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(60)
    eps = np.finfo(dtype).eps
    return {
        "zeros": (np.zeros(60), True),
        "one value": (np.full(60, 0.1), True),
        "one negative value": (np.full(60, -7e8), True),
        "large offset with the rounding of its sum": (1e8 * (1.0 + eps * rng.integers(-1, 2, 60)), True),
        "tiny value with rounding": (1e-12 * (1.0 + eps * rng.integers(-1, 2, 60)), True),
        "noise": (noise, False),
        "tiny noise": (1e-12 * noise, False),
        "small changes beside a large offset": (1e8 * (1.0 + 1e3 * eps * noise), False),
        "one entry of many": (np.where(np.arange(60) == 17, 1.0, 0.0), False),
        "one tiny entry of many": (np.where(np.arange(60) == 17, 1e-12, 0.0), False),
    }


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(columns_to_judge(np.float64)))
def test_a_column_is_constant_when_it_differs_by_rounding_only(layout, dtype, name):
    column, constant = columns_to_judge(dtype)[name]
    values = np.column_stack([np.arange(60.0), column]).astype(dtype)
    assert_array_equal(constant_columns(LAYOUTS[layout](values)), [False, constant])


@settings(max_examples=50)
@given(
    scale=st.sampled_from([1e-12, 1.0, 1e12]),
    value=st.floats(-100, 100, allow_subnormal=False),
    seed=st.integers(0, 99),
)
def test_scaling_a_matrix_does_not_change_which_columns_are_constant(scale, value, seed):
    rng = np.random.default_rng(seed)
    values = scale * np.column_stack([np.full(12, value), rng.standard_normal(12), value + rng.standard_normal(12)])
    for layout in (np.asarray, sp.csr_array, sp.csc_array):
        assert_array_equal(constant_columns(layout(values)), [True, False, False])
