import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.dense import Columns
from ufselect.solvers.reweighted import SharedColumns
from ufselect.solvers.robust_ridge import Known, RobustRidge, _System

N, D, C, PENALTY = 40, 30, 3, 2.0
NEGLIGIBLE = np.arange(D) % 3 == 0
for_both = pytest.mark.parametrize("centered", [True, False])


def problem(seed=0):
    rng = np.random.default_rng(seed)
    h = np.where(NEGLIGIBLE, 1e-14, rng.uniform(0.1, 2.0, D))
    return rng.standard_normal((N, D)), rng.standard_normal((N, C)), h, rng.uniform(0.5, 3.0, N)


def columns(X, centered):
    return Columns(X - X.mean(axis=0), centered=True) if centered else Columns(X)


def ridge_on(P):
    return RobustRidge(P, PENALTY, SharedColumns(P))


def slopes(P, G, h, noise, W, b):
    """Half the gradients of the objective in W, times h, and in b."""
    pull = (P @ W + b - G) / noise[:, None]
    return h[:, None] * (P.T @ pull) + PENALTY * W, pull.sum(axis=0)


@for_both
def test_weights_and_intercept_have_no_slope_although_columns_are_left_out(centered):
    X, G, h, noise = problem()
    P = columns(X, centered)
    ridge = ridge_on(P)
    coef, used, b, fitted = ridge.fit(G, h, noise, ridge.columns_in_use(h, noise))
    assert_array_equal(used, np.flatnonzero(~NEGLIGIBLE))
    W = np.zeros((D, C))
    W[used] = coef
    assert_allclose(fitted, P.values @ W, rtol=0, atol=1e-13)
    in_weights, in_intercept = slopes(P.values, G, h, noise, W, b)
    assert_allclose(in_weights, 0.0, rtol=0, atol=1e-11)
    if centered:
        assert_allclose(in_intercept, 0.0, rtol=0, atol=1e-11)
    else:
        assert_array_equal(b, 0.0)


@for_both
def test_columns_are_left_out_only_as_long_as_they_do_not_matter(centered):
    X, G, h, noise = problem()
    P = columns(X, centered)
    ridge = ridge_on(P)
    ridge.fit(G, h, noise, ridge.columns_in_use(h, noise))
    h[NEGLIGIBLE] = 0.5  # they return
    coef, used, b, _ = ridge.fit(G, h, noise, ridge.columns_in_use(h, noise))
    assert_array_equal(used, np.arange(D))
    assert_allclose(slopes(P.values, G, h, noise, coef, b)[0], 0.0, rtol=0, atol=1e-11)


def test_what_all_columns_left_out_weigh_is_below_the_error_of_solutions():
    X, _, _, noise = problem()
    P = columns(X, False)
    h = 10.0 ** np.linspace(0.0, -14.0, D)
    out = np.setdiff1d(np.arange(D), ridge_on(P).columns_in_use(h, noise))
    assert 0 < len(out) < D
    kernel = (X[:, out] * h[out]) @ X[:, out].T
    assert np.linalg.eigvalsh(kernel).max() <= 1.5e-8 * PENALTY * noise.min()


# From a known W


MANY, WIDE = 400, 120


def larger_problem(centered, sparse=False):
    """A problem whose factor is worth keeping, with weights over six orders of magnitude."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((MANY, WIDE)) @ rng.standard_normal((WIDE, WIDE)) / 10.0
    X[np.abs(X) < 0.5] = 0.0
    if not sparse:
        P = columns(X, centered)
    else:
        P = Columns(sp.csc_array(X), X.mean(axis=0), centered=True) if centered else Columns(sp.csc_array(X))
    return P, rng.standard_normal((MANY, C)), 10.0 ** rng.uniform(-4.0, 2.0, WIDE), 10.0 ** rng.uniform(-2.0, 1.0, MANY)


def bound(P, G, h, noise, fit):
    rest = G - fit.fitted - fit.intercept
    return float(np.sum(rest**2 / noise[:, None]) + PENALTY * np.sum(fit.coef**2 / h[:, None]))


def changed(values, share, seed=1):
    return values * np.exp(share * np.random.default_rng(seed).standard_normal(len(values)))


def count_factors(monkeypatch):
    made, matrix = [], _System.matrix
    monkeypatch.setattr(_System, "matrix", lambda self: made.append(1) or matrix(self))
    return made


@for_both
@pytest.mark.parametrize("sparse", [True, False])
def test_from_a_known_solution_nearly_all_of_the_decrease_takes_no_factor(centered, sparse, monkeypatch):
    P, G, h, noise = larger_problem(centered, sparse)
    made, used = count_factors(monkeypatch), np.arange(WIDE)
    ridge = ridge_on(P)
    fit = ridge.fit(G, h, noise, used)
    for seed in range(5):
        h, noise = changed(h, 0.1, seed), changed(noise, 0.1, seed)
        first = bound(P, G, h, noise, fit)
        fit = ridge.fit(G, h, noise, used, Known(fit.coef, fit.fitted))
        best = bound(P, G, h, noise, ridge_on(P).fit(G, h, noise, used))
        assert best * (1.0 - 1e-12) <= bound(P, G, h, noise, fit) <= best + 3e-4 * (first - best)
        assert_allclose(fit.fitted, P @ fit.coef, rtol=0, atol=1e-12)
    assert len(made) == 1 + 5


@for_both
def test_a_solution_far_from_the_known_one_takes_another_factor_and_is_exact(centered, monkeypatch):
    P, G, h, noise = larger_problem(centered)
    made, used = count_factors(monkeypatch), np.arange(WIDE)
    ridge = ridge_on(P)
    fit = ridge.fit(G, h, noise, used)
    h, noise = h[::-1].copy(), noise[::-1].copy()
    fit = ridge.fit(G, h, noise, used, Known(fit.coef, fit.fitted))
    assert len(made) == 2
    assert_allclose(slopes(P.values, G, h, noise, fit.coef, fit.intercept)[0], 0.0, rtol=0, atol=1e-9)


def test_another_factor_is_made_before_solutions_take_more_time_than_with_it(monkeypatch):
    P, G, h, noise = larger_problem(True)
    made, used = count_factors(monkeypatch), np.arange(WIDE)
    ridge = ridge_on(P)
    fit = ridge.fit(G, h, noise, used)
    for seed in range(40):
        h = changed(h, 0.3, seed)
        fit = ridge.fit(G, h, noise, used, Known(fit.coef, fit.fitted))
    assert 2 <= len(made) <= 20
