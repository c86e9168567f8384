"""FSASL's W takes enough features to express the structure, and not too many."""

import numpy as np
import pytest

from ufselect.columns.dense import Columns
from ufselect.solvers.alignment import agreement
from ufselect.solvers.feature_weights import (
    LEAST_AGREEMENT,
    MOST_HALVINGS,
    FeatureWeights,
    expressive_weights,
    regressed_weights,
)
from ufselect.solvers.penalties import smallest_penalty_of_products

SHARE = 0.8


def centred(seed, n, d):
    values = np.random.default_rng(seed).standard_normal((n, d))
    return values - values.mean(axis=0)


def first_weights(X, Y, share=SHARE):
    products = X.T @ Y
    start = FeatureWeights(np.zeros_like(products), Y, products, share * smallest_penalty_of_products(products), share)
    return regressed(X, start)


def regressed(X, start):
    return regressed_weights(Columns(X), None, start, 1e-6, limited=True)[0]


def expressed(X, Y):
    return expressive_weights(Columns(X), first_weights(X, Y), lambda start: regressed(X, start))


def test_the_penalty_is_halved_until_the_embedding_agrees_with_the_structure():
    X = centred(0, 200, 30)
    Y = X @ centred(1, 30, 10)
    before, found = first_weights(X, Y), expressed(X, Y)
    assert agreement(X @ before.W, Y) < LEAST_AGREEMENT <= agreement(X @ found.W, Y)
    assert found.share < SHARE
    assert agreement(X @ first_weights(X, Y, 2.0 * found.share).W, Y) < LEAST_AGREEMENT
    assert found.penalty == pytest.approx(found.share * smallest_penalty_of_products(found.products))


def test_weights_that_express_the_structure_stay():
    X = centred(0, 200, 30)
    weights = first_weights(X, X[:, :1], 0.1)
    assert expressive_weights(Columns(X), weights, pytest.fail) is weights


def test_the_penalty_stays_if_no_features_express_the_structure():
    X, Y = centred(0, 200, 5), centred(1, 200, 20)
    weights, tried = first_weights(X, Y), []

    def regress(start):
        tried.append(start.share)
        return regressed(X, start)

    assert expressive_weights(Columns(X), weights, regress) is weights
    assert tried == [SHARE / 2**halvings for halvings in range(1, MOST_HALVINGS + 1)]


def test_the_penalty_is_not_halved_if_too_many_features_would_take_part():
    X, Y = centred(0, 20, 600), centred(1, 20, 4)
    weights = first_weights(X, Y)._replace(W=np.zeros((600, 4)))

    def doubling(start):
        return start._replace(penalty=2.0 * start.penalty)

    assert expressive_weights(Columns(X), weights, doubling) is weights
