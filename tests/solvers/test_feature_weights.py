"""FSASL's W takes enough features to express the structure, and not too many."""

import numpy as np
import pytest

from ufselect.columns.dense import Columns
from ufselect.solvers import feature_weights
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


def weights(X, Y, share):
    return regressed_weights(Columns(X), weights_at_zero(Columns(X), Y, share))


def test_the_penalty_is_halved_until_the_embedding_agrees_with_the_structure():
    X = centred(0, 200, 30)
    Y = X @ centred(1, 30, 10)
    found = expressive_weights(Columns(X), Y, SHARE)
    assert kernel_alignment(X @ weights(X, Y, SHARE).W, Y) < LEAST_ALIGNMENT <= kernel_alignment(X @ found.W, Y)
    assert found.share < SHARE
    assert kernel_alignment(X @ weights(X, Y, 2.0 * found.share).W, Y) < LEAST_ALIGNMENT
    assert found.penalty == pytest.approx(found.share * smallest_penalty_of_products(found.products))


@pytest.mark.parametrize(
    ("X", "Y", "share", "halvings"),
    [
        (centred(0, 200, 30), centred(0, 200, 30)[:, :1], 0.1, 0),  # it expresses the structure
        (centred(0, 200, 5), centred(1, 200, 20), SHARE, MOST_HALVINGS),  # no features express it
    ],
)
def test_the_penalty_stays_if_it_suffices_or_none_does(monkeypatch, X, Y, share, halvings):
    tried = []
    monkeypatch.setattr(
        feature_weights,
        "regressed_weights",
        lambda X, start, **options: tried.append(start.share) or regressed_weights(X, start, **options),
    )
    found = expressive_weights(Columns(X), Y, share)
    assert found.share == share
    np.testing.assert_array_equal(found.W, weights(X, Y, share).W)
    assert tried == [share / 2**halving for halving in range(halvings + 1)]


def test_the_penalty_is_not_halved_if_too_many_features_would_take_part(monkeypatch):
    def doubling(X, start, **_):
        return start if start.share == SHARE else start._replace(penalty=2.0 * start.penalty)

    monkeypatch.setattr(feature_weights, "regressed_weights", doubling)
    assert expressive_weights(Columns(centred(0, 20, 600)), centred(1, 20, 4), SHARE).share == SHARE
