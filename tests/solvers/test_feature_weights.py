"""W takes enough features to express the structure, and not too many."""

import numpy as np
import pytest

from ufselect.columns.dense import Columns
from ufselect.solvers.alignment import kernel_alignment
from ufselect.solvers.feature_weights import (
    LEAST_ALIGNMENT,
    MOST_HALVINGS,
    expressive_weights,
    regressed_weights,
    weights_at_zero,
)
from ufselect.solvers.penalties import smallest_penalty_of_products

SHARE = 0.8


def centred(seed, n, d):
    values = np.random.default_rng(seed).standard_normal((n, d))
    return values - values.mean(axis=0)


def first_weights(X, Y, share=SHARE):
    return regressed_weights(Columns(X), weights_at_zero(Columns(X), Y, share))


def test_the_penalty_is_halved_until_the_embedding_agrees_with_the_structure():
    X = centred(0, 200, 30)
    Y = X @ centred(1, 30, 10)
    before, found = first_weights(X, Y), expressive_weights(Columns(X), Y, SHARE)
    assert kernel_alignment(X @ before.W, Y) < LEAST_ALIGNMENT <= kernel_alignment(X @ found.W, Y)
    assert SHARE / 2**MOST_HALVINGS <= found.share < SHARE
    assert kernel_alignment(X @ first_weights(X, Y, 2.0 * found.share).W, Y) < LEAST_ALIGNMENT
    assert found.penalty == pytest.approx(found.share * smallest_penalty_of_products(found.products))


def test_the_penalty_stays_if_it_suffices_or_no_features_express_the_structure():
    X = centred(0, 200, 30)
    assert expressive_weights(Columns(X), X[:, :1], 0.1).share == 0.1
    X, Y = centred(0, 200, 5), centred(1, 200, 20)
    found = expressive_weights(Columns(X), Y, SHARE)
    assert found.share == SHARE
    np.testing.assert_array_equal(found.W, first_weights(X, Y).W)


def test_the_penalty_grows_while_too_many_features_take_part(monkeypatch):
    monkeypatch.setattr("ufselect.solvers.feature_weights._ALWAYS_ALLOWED_ROWS", 30)
    X, Y = centred(0, 20, 600), centred(1, 20, 19)
    start = weights_at_zero(Columns(X), Y, 0.05)
    found = regressed_weights(Columns(X), start)
    assert found.penalty > start.penalty
    assert 0 < np.count_nonzero(found.W.any(axis=1)) <= 30
