import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import on_every_data_set
from problems import samples as stored_samples

from ufselect.columns.dense import Columns
from ufselect.graphs.local_models import (
    alignment_blocks,
    assembled,
    centered_grams,
    difference_grams,
    discriminant_blocks,
    local_laplacian,
    reconstruction_weights,
    residual_laplacian,
    weights_as_matrix,
    with_self,
)
from ufselect.graphs.neighbors import nearest_others

MODELS = ["lpp", "lle", "ltsa"]
in_every_model = pytest.mark.parametrize("model", MODELS)


def columns(reference, name):
    """The columns as the authors' programs took them: neither centred nor scaled."""
    return Columns(stored_samples(reference, name))


def samples(n=30, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def neighborhoods(values, k=5):
    """Indices and differences' inner products of neighbourhoods, the sample itself first."""
    X = Columns(values)
    index = nearest_others(X, k).index
    return with_self(index, difference_grams(X, index))


def laplacian_of(values, model, k=5, dimension=2):
    X = Columns(values)
    return local_laplacian(X, nearest_others(X, k), model, dimension=dimension).toarray()


def assert_local_laplacian(L):
    """Symmetric, positive semi-definite, and blind to a constant."""
    size = np.abs(L).max()
    assert_allclose(L, L.T, rtol=0, atol=1e-12 * size)
    assert_allclose(L.sum(axis=1), 0.0, rtol=0, atol=1e-9 * size)
    assert np.linalg.eigvalsh(L).min() >= -1e-9 * size


# The authors' arrays


@on_every_data_set
def test_reconstruction_weights_are_the_stored_ones(reference, name):
    X, stored = columns(reference, name), reference(f"local_{name}")
    index = nearest_others(X, 5).index
    S = weights_as_matrix(index, reconstruction_weights(difference_grams(X, index), ridge=1e-12))
    assert_allclose(S.toarray(), stored["exact_S_lle"], rtol=0, atol=1e-10)
    assert_allclose(residual_laplacian(S).toarray(), stored["L_lle"], rtol=0, atol=1e-10)


@on_every_data_set
def test_too_high_a_dimension_is_cut_to_what_the_neighbourhoods_allow(reference, name):
    X = columns(reference, name)
    nearest = nearest_others(X, 5)
    cut = local_laplacian(X, nearest, "ltsa", dimension=10).toarray()
    assert_array_equal(cut, local_laplacian(X, nearest, "ltsa", dimension=3).toarray())
    assert np.linalg.eigvalsh(cut)[-1] > 1.0
    assert_local_laplacian(cut)


@on_every_data_set
@pytest.mark.parametrize("ridge", [1, 1000])
def test_discriminant_blocks_sum_to_the_stored_matrix(reference, name, ridge):
    index, grams = neighborhoods(columns(reference, name).values)
    M = assembled(index, discriminant_blocks(centered_grams(grams), float(ridge))).toarray()
    stored = reference(f"udfs_{name}")[f"M_lam{ridge}"]
    assert_allclose(M, stored, rtol=0, atol=1e-10 * np.abs(stored).max())


@pytest.mark.parametrize("exponent", [-6, -14])
def test_discriminant_blocks_are_accurate_however_small_the_ridge(reference, exponent):
    _, grams = neighborhoods(columns(reference, "wide").values)
    centered = centered_grams(grams)
    ridge = 10.0**exponent * np.trace(centered[0])
    # On the directions in which a neighbourhood varies, the inverse is that of the eigenvalues; along 1 it drops out.
    values, vectors = np.linalg.eigh(centered)
    inverted = np.where(np.arange(6) == 0, 0.0, 1.0 / (values + ridge))
    expected = np.einsum("iab,ib,icb->iac", vectors, inverted, vectors)
    blocks = discriminant_blocks(centered, ridge)
    assert_allclose(blocks, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


# Laplacians of all models


@settings(max_examples=20)
@given(
    n=st.integers(8, 30),
    d=st.integers(1, 12),
    k=st.integers(3, 6),
    dimension=st.integers(1, 4),
    seed=st.integers(0, 999),
)
@in_every_model
def test_a_local_laplacian_is_positive_semi_definite_and_blind_to_a_constant(model, n, d, k, dimension, seed):
    assert_local_laplacian(laplacian_of(samples(n, d, seed), model, k, dimension))


# Reconstruction


@settings(max_examples=20)
@given(k=st.integers(1, 8), d=st.integers(1, 12), ridge=st.sampled_from([1e-6, 1e-3, 1.0]), seed=st.integers(0, 999))
def test_reconstruction_weights_meet_their_optimality_conditions(k, d, ridge, seed):
    """They minimise wᵀCw + r·tr(C)‖w‖² subject to 1ᵀw = 1: the gradient is the same in all directions."""
    X = Columns(samples(12, d, seed))
    grams = difference_grams(X, nearest_others(X, k).index)
    weights = reconstruction_weights(grams, ridge=ridge)
    assert_allclose(weights.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    for C, w in zip(grams, weights, strict=True):
        gradient = C @ w + ridge * np.trace(C) * w
        assert_allclose(gradient, gradient.mean(), rtol=0, atol=1e-9 * np.trace(C) * np.abs(w).max())


def test_neighbours_that_all_coincide_with_the_sample_weigh_the_same():
    values = np.vstack([np.ones((6, 3)), samples(6, 3)])
    X = Columns(values)
    weights = reconstruction_weights(difference_grams(X, nearest_others(X, 5).index))
    assert_allclose(weights[:6], 0.2, rtol=1e-12)
    assert np.all(np.isfinite(weights))


# Tangent spaces


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_alignment_blocks_project_apart_from_the_constant_and_the_tangent_space(dimension):
    values = samples(30, 7)
    index, grams = neighborhoods(values, 4)
    blocks = alignment_blocks(centered_grams(grams), dimension)
    for members, B in zip(index, blocks, strict=True):
        Z = values[members] - values[members].mean(axis=0)
        tangent = np.linalg.svd(Z)[0][:, :dimension]
        G = np.column_stack([np.full(5, 5**-0.5), tangent])
        assert_allclose(B, np.eye(5) - G @ G.T, rtol=0, atol=1e-12)
        assert_allclose(B @ B, B, rtol=0, atol=1e-12)
        assert round(np.trace(B)) == 4 - dimension


def test_too_few_neighbours_for_a_tangent_space_are_refused():
    X = Columns(samples())
    with pytest.raises(ValueError, match="n_neighbors of at least 3, got 2"):
        local_laplacian(X, nearest_others(X, 2), "ltsa", dimension=1)


# Parts


def test_inner_products_do_not_cancel_far_from_the_origin():
    values = np.random.default_rng(0).integers(0, 50, size=(20, 4)).astype(float)
    index = nearest_others(Columns(values), 4).index
    far = difference_grams(Columns(values + 2.0**40), index)
    assert_array_equal(far, difference_grams(Columns(values), index))
