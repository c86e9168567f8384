"""Moderate scaling: columns of one unit by their spread, columns of unlike units by a size that has no unit."""

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ufselect import KernelFSASL
from ufselect.columns.batches import Batches, sparse_within_batches
from ufselect.columns.dense import Columns
from ufselect.columns.moments import ColumnMoments, amplitudes, column_spreads, constant_columns
from ufselect.inspection.explanation import LearnedStructure

LAYOUTS = {"dense": np.asarray, "CSR": sp.csr_array, "CSC": sp.csc_array}


def clusters_beside_noise(kind, n=300, seed=0):
    """Three clusters in ten columns of standard deviation 2, and louder columns of noise behind them."""
    rng = np.random.default_rng(seed)
    useful = rng.standard_normal((3, 10))[rng.integers(3, size=n)] + 0.5 * rng.standard_normal((n, 10))
    noise = {
        "lognormal": lambda: rng.lognormal(0.0, 1.5, (n, 20)),
        "rare": lambda: 10.0 * rng.random((n, 40)) * (rng.random((n, 40)) < 0.02),
    }[kind]()
    size = {"lognormal": 9.0 / noise.std(axis=0), "rare": 4.0}[kind]
    return np.hstack([2.0 * useful / useful.std(axis=0), size * noise])


def table_of_unlike_units(n=200, seed=0):
    """Clusters in five measurements, and skewed amounts, shares, flags and codes without structure."""
    rng = np.random.default_rng(seed)
    X = [
        3.0 * rng.standard_normal((4, 5))[rng.integers(4, size=n)] + rng.standard_normal((n, 5)),
        1e4 * rng.lognormal(0.0, 1.0, (n, 4)),
        0.01 * rng.random((n, 4)),
        rng.random((n, 4)) < [0.5, 0.2, 0.05, 0.02],
        1e6 + rng.integers(0, 9, (n, 3)),
    ]
    return np.hstack(X)


def prepared(X):
    return Columns.prepared(X, center=True, scale="moderate").columns(slice(None))


@pytest.mark.parametrize("layout", LAYOUTS)
@given(powers=st.lists(st.integers(-12, 12), min_size=20, max_size=20))
def test_columns_of_unlike_units_are_the_same_in_any_units(layout, powers):
    X = table_of_unlike_units()
    changed = X * 10.0 ** np.array(powers)
    if np.std(np.log2(amplitudes(changed, *column_spreads(changed)))) > 1.0:  # other powers undo the units
        assert_allclose(prepared(LAYOUTS[layout](changed)), prepared(X), rtol=0, atol=1e-7)


def test_the_variance_is_the_share_of_samples_that_it_comes_from():
    X = prepared(table_of_unlike_units())
    expected = np.sum(X**2, axis=0) ** 2 / np.sum(X**4, axis=0) / len(X)
    assert_allclose(X.var(axis=0), expected, rtol=1e-12)
    rare = np.zeros((1000, 3))
    rare[:10, 0], rare[:500, 1], rare[:, 2] = 7e5, 1e-3, np.random.default_rng(0).standard_normal(1000)
    assert_allclose(prepared(rare).var(axis=0), [0.01, 1.0, 1.0 / 3.0], rtol=0.15)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_columns_of_one_unit_are_scaled_by_their_spread_to_the_bit(layout):
    rng = np.random.default_rng(0)
    X = np.log1p(rng.poisson(rng.lognormal(-1.0, 1.0, 60), (200, 60)))
    X = X[:, ~constant_columns(X)]
    values, (mean, deviation) = LAYOUTS[layout](X), column_spreads(LAYOUTS[layout](X))
    found = Columns.prepared(values, center=True, scale="moderate")
    divisor = deviation + np.median(deviation)
    if layout == "dense":
        assert_allclose(found.values, (X - mean) / divisor, rtol=1e-14, atol=0)
    else:
        assert_array_equal(found.values.toarray(), (values @ sp.diags_array(1.0 / divisor)).toarray())


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
def test_amplitudes_of_all_homes_are_those_of_their_definition(offset):
    X = np.round(table_of_unlike_units() % 1024.0 * 64.0) / 64.0 + offset
    x = X - X.mean(axis=0)
    expected = np.sqrt(np.sum(x**4, axis=0) / np.maximum(np.sum(x**2, axis=0), 1e-300))
    for layout in LAYOUTS.values():
        assert_allclose(amplitudes(layout(X), *column_spreads(layout(X))), expected, rtol=1e-6)
    blocks = np.split(X, [1, 20, 150])
    joined = ColumnMoments.joined([ColumnMoments.of_rows(block) for block in blocks], [len(block) for block in blocks])
    assert_allclose(joined.amplitude, expected, rtol=1e-6)


def test_sparse_columns_within_batches_are_those_that_are_dense():
    X, codes = table_of_unlike_units(), np.arange(200) % 3
    batches = Batches(codes)
    found = sparse_within_batches(sp.csr_array(X), batches, center=True, scale="moderate")
    assert_allclose(found.columns(slice(None)), prepared(batches.without_means(X)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [1e-150, 1e130])
def test_extreme_units_change_no_rank(size):
    X = table_of_unlike_units()
    expected = KernelFSASL(5).fit(X).ranking_
    for columns in (slice(0, 5), slice(3, 4), slice(5, 20)):
        changed = X.copy()
        changed[:, columns] *= size
        assert_array_equal(KernelFSASL(5).fit(changed).ranking_, expected)
        assert_array_equal(KernelFSASL(5).fit(sp.csc_array(changed)).ranking_, expected)
        with dask.config.set(scheduler="synchronous"):
            assert_array_equal(KernelFSASL(5).fit(da.from_array(changed, chunks=(70, -1))).ranking_, expected)


def test_constant_columns_and_standard_deviations_of_one_change_no_rank():
    X = table_of_unlike_units()
    expected = KernelFSASL(5).fit(X).ranking_
    with_constant = np.insert(X, 7, 1e9, axis=1)
    assert_array_equal(np.delete(KernelFSASL(5).fit(with_constant).ranking_, 7), expected)
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_array_equal(KernelFSASL(5).fit(standardised).ranking_, expected)


@pytest.mark.parametrize("kind", ["lognormal", "rare"])
def test_loud_noise_hides_no_clusters(kind):
    assert np.mean(KernelFSASL(10).fit(clusters_beside_noise(kind)).top_features() < 10) >= 0.9


def test_columns_are_aligned_as_in_a_fit_to_those_that_were_found():
    X = clusters_beside_noise("rare")
    found = KernelFSASL(8, fdr=0.05).fit(X)
    assert 0 < found.significance_.n_found < X.shape[1]
    assert np.all(found.top_features() < 10)
    prefixes = [found.top_features(count) for count in range(1, 9)]
    assert_allclose(LearnedStructure(found, X).alignments_of(prefixes), found.alignment_curve_[:8], rtol=1e-9)
