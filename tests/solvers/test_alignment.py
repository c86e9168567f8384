"""Selection of columns by the alignment of their kernel with a structure."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.dense import Columns
from ufselect.graphs.spectral import turn_between
from ufselect.solvers.alignment import POWER, alignment_path, alignments_with, kernel_alignment, kernel_turn, r2_curve


def drawn(seed, n=30, d=12, q=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * rng.uniform(0.1, 3.0, d), rng.standard_normal((n, q))


def alignment(X, T):
    left, right = X @ X.T, T @ T.T
    return np.sum(left * right) / (np.linalg.norm(left) * np.linalg.norm(right))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_every_step_takes_the_best_column(seed):
    X, T = drawn(seed)
    path = alignment_path(Columns(X), T, 12)
    a = np.sum((X.T @ T) ** 2, axis=1)
    H = (X.T @ X) ** 2
    for m in range(12):
        before = list(path.order[:m])
        values = {j: a[[*before, j]].sum() ** POWER / H[np.ix_([*before, j], [*before, j])].sum() for j in range(12)}
        best = max(value for j, value in values.items() if j not in before)
        assert values[path.order[m]] == pytest.approx(best, rel=1e-9)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_the_curve_is_the_cosine_between_two_kernels(seed):
    X, T = drawn(seed)
    path = alignment_path(Columns(X), T, 12)
    assert_allclose(path.curve, [alignment(X[:, path.order[:m]], T) for m in range(1, 13)], rtol=1e-10)
    assert_allclose(path.alone, [alignment(X[:, [j]], T) for j in range(12)], rtol=1e-10)
    assert_allclose(alignments_with(Columns(X), [T]), path.alone, rtol=1e-12)


def test_copies_are_aligned_as_well_as_one_of_them_and_the_structure_itself_perfectly():
    X, T = drawn(0)
    three = Columns(np.repeat(X[:, [0]], 3, axis=1))
    assert_allclose(alignment_path(three, T, 3, order=np.arange(3)).curve, alignment(X[:, [0]], T), rtol=1e-12)
    curve = alignment_path(Columns(T), T, 3).curve
    assert curve[-1] == pytest.approx(1.0)
    assert np.all(curve[:-1] < 1.0)


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array])
def test_sparse_columns_are_selected_like_dense_ones(layout):
    values = sp.random_array((60, 40), density=0.3, random_state=np.random.default_rng(0))
    T = np.random.default_rng(1).standard_normal((60, 4))
    T -= T.mean(axis=0)
    dense = Columns.prepared(values.toarray(), center=True, scale="moderate")
    sparse = Columns.prepared(layout(values), center=True, scale="moderate")
    expected, found = alignment_path(dense, T, 40), alignment_path(sparse, T, 40)
    assert_array_equal(found.order, expected.order)
    assert_allclose(found.curve, expected.curve, rtol=1e-9)


def test_the_gram_matrix_changes_nothing_and_a_given_order_is_followed():
    X, T = drawn(2, n=80, d=50)
    plain, by_gram = alignment_path(Columns(X), T, 50), alignment_path(Columns(X), T, 50, gram=X.T @ X)
    assert_array_equal(plain.order, by_gram.order)
    assert_allclose(plain.curve, by_gram.curve, rtol=1e-12)
    order = np.random.default_rng(0).permutation(50)
    path = alignment_path(Columns(X), T, 7, order=order)
    assert_array_equal(path.order, order[:7])
    assert path.curve[-1] == pytest.approx(alignment(X[:, order[:7]], T))


def test_the_path_ends_well_past_its_peak():
    rng = np.random.default_rng(0)
    T = rng.standard_normal((50, 2))
    X = np.hstack([T, rng.standard_normal((50, 400))])
    path = alignment_path(Columns(X), T, 402, past_peak=True)
    assert int(np.argmax(path.curve)) + 1 == 2
    assert len(path.curve) == 2 * 2 + 32


def test_a_column_that_hardly_varies_is_neither_an_error_nor_first():
    X, T = drawn(4)
    X[:, 5] *= 1e-120
    path = alignment_path(Columns(X), T, 12)
    assert path.order[0] != 5
    assert np.all(np.isfinite(path.curve))
    assert np.all(np.isfinite(path.rest))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_r2_is_that_of_least_squares(seed):
    X, Y = drawn(seed, n=20, d=25)
    X[:, 3] = X[:, 1] - 2.0 * X[:, 0]
    order = np.random.default_rng(seed).permutation(25)
    expected = []
    for m in range(1, 26):
        part = X[:, order[:m]]
        residual = Y - part @ np.linalg.lstsq(part, Y, rcond=None)[0]
        expected.append(1.0 - np.sum(residual**2) / np.sum(Y**2))
    assert_allclose(r2_curve(Columns(X), Y, order), expected, rtol=0, atol=1e-6)


# Two kernels


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_the_alignment_is_the_cosine_between_two_kernels(seed):
    X, T = drawn(seed)
    assert kernel_alignment(X, T) == pytest.approx(alignment(X, T), rel=1e-10)
    assert kernel_alignment(3.0 * X, X) == pytest.approx(1.0)
    assert kernel_turn(X, X) == pytest.approx(0.0, abs=1e-7)


def test_the_turn_of_kernels_is_that_of_spaces_and_one_without_common_directions():
    A, B = (np.linalg.qr(T)[0] for T in drawn(2, d=3))
    assert kernel_turn(A, B) == pytest.approx(turn_between(A, B), rel=1e-10)
    assert kernel_turn(np.eye(4)[:, :2], np.eye(4)[:, 2:]) == 1.0
    assert kernel_alignment(np.zeros((4, 2)), np.eye(4)) == 0.0
