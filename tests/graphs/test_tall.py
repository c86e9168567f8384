"""Blocks of vectors in place, a few rows at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ufselect.graphs import tall


@pytest.fixture(autouse=True)
def few_rows_at_once(monkeypatch):
    monkeypatch.setattr(tall, "_ROWS_AT_ONCE", 64)


@pytest.fixture
def block():
    rng = np.random.default_rng(0)
    return rng.standard_normal((300, 8)) @ np.diag(np.logspace(0, -4, 8)) @ rng.standard_normal((8, 8))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_basis_is_orthonormal_and_spans_the_block(block, dtype):
    basis = tall.orthonormalize(block.astype(dtype))
    precision = 50 * np.finfo(dtype).eps
    assert_allclose(basis.T @ basis, np.eye(8), atol=precision)
    # The smallest direction is 1e-4 of the largest, and loses as many digits.
    assert_allclose(basis @ (basis.T @ block), block, atol=precision * np.abs(block).max())


def test_dependent_vectors_have_an_orthonormal_basis_all_the_same():
    block = np.ones((300, 3), dtype=np.float32)
    basis = tall.orthonormalize(block)
    assert_allclose(basis.T @ basis, np.eye(3), atol=50 * np.finfo(np.float32).eps)


def test_what_is_projected_out_is_gone(block):
    avoided = np.linalg.qr(np.random.default_rng(1).standard_normal((300, 3)))[0]
    expected = block - avoided @ (avoided.T @ block)
    result = tall.project_out(avoided, block)
    assert result is block
    assert_allclose(result, expected, atol=1e-12)
    assert_allclose(avoided.T @ result, 0.0, atol=1e-12)


def test_residuals_are_those_of_the_rotated_image(block):
    rng = np.random.default_rng(2)
    image, values = rng.standard_normal((300, 8)), rng.standard_normal(8)
    rotation = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    expected = np.linalg.norm(image @ rotation - block * values, axis=0)
    assert_allclose(tall.residuals(image, rotation, block, values), expected, rtol=1e-12)


def test_a_block_is_rotated_in_place(block):
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((8, 8)))[0]
    expected = block @ rotation
    tall.rotate(block, rotation)
    assert_allclose(block, expected, atol=1e-12)
