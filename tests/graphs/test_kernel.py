import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from ufselect.columns.dense import Columns
from ufselect.graphs import kernel as kernel_module
from ufselect.graphs.kernel import gaussian_kernel, kernel_factor

LAYOUTS = {"dense": np.asarray, "csr_array": sp.csr_array, "csc_array": sp.csc_array}


def samples(n, d=5, seed=0, dtype=np.float64):
    """Four groups of samples."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, d)) + 3.0 * np.eye(4, d)[np.arange(n) % 4]).astype(dtype)


def formula(X, width):
    distances = cdist(X, X, "sqeuclidean")
    return np.exp(-distances / (2.0 * width**2 * distances.mean()))


def doubly_centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()


# The kernel


@settings(max_examples=20)
@given(
    n=st.integers(3, 40),
    d=st.integers(1, 20),
    width=st.sampled_from([0.3, 1.0, 5.0]),
    layout=st.sampled_from(sorted(LAYOUTS)),
    seed=st.integers(0, 2**16),
)
def test_the_kernel_follows_the_formula(n, d, width, layout, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    K = gaussian_kernel(Columns(LAYOUTS[layout](X)), width)
    assert isinstance(K, np.ndarray)
    assert_allclose(K, np.maximum(formula(X, width), 1e-10), rtol=0, atol=1e-13)
    assert_array_equal(np.diag(K), np.ones(n))


@pytest.mark.parametrize(("n_copies", "needed"), [(1, "16,000.0 GB"), (5, "48,000.0 GB")])
def test_a_kernel_that_fits_no_machine_is_refused_with_its_size(n_copies, needed):
    with pytest.raises(MemoryError, match=f"1000000 samples would need .*{needed}.*fewer samples"):
        gaussian_kernel(Columns(np.zeros((10**6, 2))), 1.0, n_copies=n_copies)


# The factor


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_whole_factor_rebuilds_the_kernel(centered, layout):
    values = samples(80)
    X = Columns.prepared(LAYOUTS[layout](values), center=centered, scale=None)
    K = formula(values, 1.0)
    factor = kernel_factor(X, 1.0, count=None)
    # What is left out is below 1e-10 of the largest eigenvalue.
    assert_allclose(factor @ factor.T, doubly_centred(K) if centered else K, rtol=0, atol=1e-8)


@pytest.mark.parametrize("n", [80, 700])
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("centered", [False, True])
def test_the_factor_holds_the_largest_eigenpairs(n, count, centered):
    values = samples(n)
    K = formula(values, 1.0)
    K = doubly_centred(K) if centered else K
    factor = kernel_factor(Columns.prepared(values, center=centered, scale=None), 1.0, count=count)
    squares = np.sum(factor**2, axis=0)
    assert factor.shape == (n, count)
    assert_allclose(squares, np.linalg.eigvalsh(K)[::-1][:count], rtol=1e-10)
    assert_allclose(factor.T @ factor, np.diag(squares), rtol=0, atol=1e-10 * squares[0])
    assert_allclose(K @ factor, factor * squares, rtol=0, atol=1e-9 * squares[0])
    assert np.all(factor[np.abs(factor).argmax(axis=0), np.arange(count)] > 0.0)


def test_no_column_of_the_factor_is_rounding():
    duplicates = np.repeat(samples(10), 4, axis=0)
    factor = kernel_factor(Columns(duplicates), 1.0, count=None)
    assert factor.shape == (40, 10)
    assert kernel_factor(Columns(duplicates), 1.0, count=30).shape == (40, 10)


def with_landmarks_above(monkeypatch, limit, landmarks):
    monkeypatch.setattr(kernel_module, "LARGEST_EXACT_KERNEL", limit)
    monkeypatch.setattr(kernel_module, "N_LANDMARKS", landmarks)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_with_all_samples_as_landmarks_the_factor_is_exact(monkeypatch, centered, layout):
    X = Columns.prepared(LAYOUTS[layout](samples(60)), center=centered, scale=None)
    exact = kernel_factor(X, 1.0, count=8)
    with_landmarks_above(monkeypatch, 50, 60)
    factor = kernel_factor(X, 1.0, count=8)
    assert_allclose(factor @ factor.T, exact @ exact.T, rtol=0, atol=1e-9)
    assert_allclose(np.sum(factor**2, axis=0), np.sum(exact**2, axis=0), rtol=1e-9)


def test_a_factor_from_landmarks_that_does_not_fit_is_refused(monkeypatch):
    # Of n samples it holds some arrays of n times a thousand numbers: 8 GB each for a million.
    monkeypatch.setattr("ufselect._utils.memory.memory_limit", lambda: 1e5)
    with_landmarks_above(monkeypatch, 50, 100)
    with pytest.raises(MemoryError, match="would need"):
        kernel_factor(Columns(samples(200)), 1.0, count=3)
