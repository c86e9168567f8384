import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.dense import Columns
from ufselect.columns.moments import column_moments, constant_columns

LAYOUTS = {
    "dense": np.asarray,
    "Fortran": np.asfortranarray,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
}

CHECKED_METHODS = {
    "matmul": lambda X, B, C, w, j, i: X @ B,
    "matmul of a vector": lambda X, B, C, w, j, i: X @ B[:, 0],
    "transposed_matmul": lambda X, B, C, w, j, i: X.transposed_matmul(C),
    "transposed_matmul of a vector": lambda X, B, C, w, j, i: X.transposed_matmul(C[:, 0]),
    "inner_products": lambda X, B, C, w, j, i: X.inner_products(B.T),
    "combined": lambda X, B, C, w, j, i: X.combined(j, B[: len(j)]),
    "columns": lambda X, B, C, w, j, i: X.columns(j),
    "columns of a slice": lambda X, B, C, w, j, i: X.columns(slice(0, 2)),
    "rows": lambda X, B, C, w, j, i: X.rows(i),
    "rows of a slice": lambda X, B, C, w, j, i: X.rows(slice(1, 3)),
    "gram": lambda X, B, C, w, j, i: X.gram(),
    "gram of some": lambda X, B, C, w, j, i: X.gram(j),
    "row_gram": lambda X, B, C, w, j, i: X.row_gram(w),
    "squared_norms": lambda X, B, C, w, j, i: X.squared_norms(),
}

EXPECTED = {
    "combined": lambda X, B, C, w, j, i: X[:, j] @ B[: len(j)],
    "matmul": lambda X, B, C, w, j, i: X @ B,
    "matmul of a vector": lambda X, B, C, w, j, i: X @ B[:, 0],
    "transposed_matmul": lambda X, B, C, w, j, i: X.T @ C,
    "transposed_matmul of a vector": lambda X, B, C, w, j, i: X.T @ C[:, 0],
    "inner_products": lambda X, B, C, w, j, i: B.T @ X.T,
    "columns": lambda X, B, C, w, j, i: X[:, j],
    "columns of a slice": lambda X, B, C, w, j, i: X[:, :2],
    "rows": lambda X, B, C, w, j, i: X[i],
    "rows of a slice": lambda X, B, C, w, j, i: X[1:3],
    "gram": lambda X, B, C, w, j, i: X.T @ X,
    "gram of some": lambda X, B, C, w, j, i: X[:, j].T @ X[:, j],
    "row_gram": lambda X, B, C, w, j, i: X @ np.diag(w) @ X.T,
    "squared_norms": lambda X, B, C, w, j, i: np.sum(X**2, axis=0),
}


@st.composite
def data_without_constant_columns(draw):
    n, d = draw(st.integers(4, 10)), draw(st.integers(2, 7))
    X = draw(arrays(np.float64, (n, d), elements=st.integers(-4, 4).map(float), fill=st.just(0.0)))
    X[0], X[1] = 0.0, 5.0
    return X * draw(st.sampled_from([1.0, 1e-6, 1e6]))


def transformed(X, center, scale):
    centred = X - X.mean(axis=0) if center else X
    if scale == "standard":
        return centred / X.std(axis=0)
    if scale == "moderate":
        return centred / (X.std(axis=0) + np.median(X.std(axis=0)))
    return centred / 2.0 ** np.round(np.log2(np.sqrt(np.mean(centred**2))))


def arguments(X, seed):
    rng = np.random.default_rng(seed)
    n, d = X.shape
    some_columns, some_rows = rng.permutation(d)[: max(1, d // 2)], rng.permutation(n)[:3]
    return rng.standard_normal((d, 3)), rng.standard_normal((n, 2)), rng.random(d), some_columns, some_rows


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
    oracle = transformed(values, center, scale)
    given_ = arguments(values, seed)
    for name, method in CHECKED_METHODS.items():
        result = method(X, *given_)
        assert isinstance(result, np.ndarray), name
        assert_allclose(result, EXPECTED[name](oracle, *given_), rtol=0, atol=1e-11, err_msg=name)


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
    oracle = transformed(values.astype(np.float32).astype(np.float64), center, scale)
    given_ = arguments(values, 0)
    for name, method in CHECKED_METHODS.items():
        assert_allclose(method(X, *given_), EXPECTED[name](oracle, *given_), rtol=0, atol=2e-4, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_and_small_matrices_come_back_in_double_precision(dtype):
    values = np.random.default_rng(0).standard_normal((6, 4)).astype(dtype)
    for layout in LAYOUTS.values():
        X = Columns.prepared(layout(values), center=True, scale="standard")
        given_ = arguments(values, 1)
        for name in ("matmul", "transposed_matmul", "inner_products", "gram", "row_gram", "squared_norms"):
            assert CHECKED_METHODS[name](X, *given_).dtype == np.float64, name


@pytest.mark.parametrize("layout", ["csr_array", "csc_array", "csr_matrix", "csc_matrix"])
@pytest.mark.parametrize("center", [False, True])
def test_a_sparse_matrix_is_never_filled_in(layout, center):
    values = LAYOUTS[layout](
        sp.random_array((40, 25), density=0.1, random_state=np.random.default_rng(0)) + sp.eye_array(40, 25)
    )
    X = Columns.prepared(values, center=center, scale="standard")
    for method in CHECKED_METHODS.values():
        method(X, *arguments(values, 0))
    assert sp.issparse(X.values)
    assert sp.issparse(X.by_row)
    assert X.values.nnz == X.by_row.nnz == values.nnz


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_the_given_matrix_is_left_as_it_was(layout):
    values = np.random.default_rng(0).standard_normal((6, 4))
    given_ = LAYOUTS[layout](values.copy())
    Columns.prepared(given_, center=True, scale="standard")
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


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_moments_keep_their_digits_beside_a_large_offset(layout, offset):
    values = np.round(np.random.default_rng(0).standard_normal((50, 3)) * 1024) / 1024 + offset
    mean, variance = column_moments(LAYOUTS[layout](values))
    assert_allclose(mean, offset + (values - offset).mean(axis=0), rtol=1e-14, atol=1e-14)
    assert_allclose(variance, (values - offset).var(axis=0), rtol=1e-6)


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


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
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
