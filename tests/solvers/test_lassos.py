import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import duality_gaps
from sklearn.linear_model import orthogonal_mp_gram

from ufselect.columns.dense import Columns
from ufselect.solvers._lasso_kernels import append_to_inverse, remove_from_inverse
from ufselect.solvers.lassos import Targets, lassos_without_self, omp_without_self


def solve(Z, ratio, block=None, *, penalties=None, guess=None, tol=1e-4, columns=None):
    """Coefficients of a block of targets as a dense (n, b) array, and their penalties."""
    targets = Targets(
        Columns(Z) if columns is None else columns, np.arange(len(Z))[slice(None) if block is None else block]
    )
    if penalties is None:
        penalties = ratio * targets.largest_correlations()
    members, counts, coefs, n_unsolved = lassos_without_self(targets, penalties, guess, tol)
    assert n_unsolved == 0
    S = np.zeros((len(Z), len(members)))
    for t, count in enumerate(counts):
        S[members[t, :count], t] = coefs[t, :count]
    return S, penalties


def objectives(Z, S, penalties):
    """½‖zₜ − Zᵀs‖² + λₜ‖s‖₁ of every target."""
    return 0.5 * np.sum((Z - S.T @ Z) ** 2, axis=1) + penalties * np.abs(S).sum(axis=0)


def random_samples(n, c, seed=0):
    return np.random.default_rng(seed).standard_normal((n, c))


def assert_solved(Z, S, penalties, tol=1e-4):
    values, gap = duality_gaps(Z, S, 2.0 * penalties)
    assert np.all(gap <= tol * values + 1e-14 * np.sum(Z**2, axis=1))
    assert_array_equal(np.diag(S), 0.0)


def test_the_gap_asked_for_is_the_gap_reached_for_samples_of_any_length_and_precision():
    Z = random_samples(60, 6)
    for tol in (1e-2, 1e-6, 1e-9):
        assert_solved(Z, *solve(Z, 0.05, tol=tol), tol)
    of_many_lengths = Z * np.geomspace(1e-4, 1e4, 60)[:, None]
    assert_solved(of_many_lengths, *solve(of_many_lengths, 0.05))
    single = Z.astype(np.float32)
    assert_solved(single.astype(np.float64), *solve(single, 0.1))


@settings(max_examples=30)
@given(ratio=st.floats(0.01, 0.8), spoilt=st.floats(0.0, 2.0), seed=st.integers(0, 2**16))
def test_a_start_is_never_made_worse_and_leads_to_the_same_objective(ratio, spoilt, seed):
    Z = random_samples(30, 6, seed)
    cold, penalties = solve(Z, ratio)
    rng = np.random.default_rng(seed)
    guess = cold + spoilt * sp.random_array((30, 30), density=0.15, random_state=rng).toarray()
    np.fill_diagonal(guess, 0.0)
    warm, _ = solve(Z, ratio, guess=sp.csc_array(guess))
    reached = objectives(Z, warm, penalties)
    assert np.all(reached <= objectives(Z, guess, penalties) * (1.0 + 1e-12))
    assert_allclose(reached, objectives(Z, cold, penalties), rtol=1e-4)


def test_from_the_largest_correlation_on_the_solution_is_zero():
    Z = random_samples(25, 4)
    at_it, _ = solve(Z, 1.0)
    assert_array_equal(at_it, 0.0)
    below, _ = solve(Z, 0.999, tol=1e-9)
    assert np.all(np.abs(below).sum(axis=0) > 0.0)


def pursued(Z, n_nonzero, columns=None):
    members, coefs = omp_without_self(Targets(Columns(Z) if columns is None else columns, np.arange(len(Z))), n_nonzero)
    S = np.zeros((len(Z), len(Z)))
    np.put_along_axis(S.T, members, coefs, axis=1)
    return members, S


@pytest.mark.parametrize("n_nonzero", [1, 2, 4])
def test_pursuit_agrees_with_that_of_scikit_learn(n_nonzero):
    Z = random_samples(25, 6)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    _, S = pursued(Z, n_nonzero)
    for t in range(25):
        others = np.delete(np.arange(25), t)
        gram = Z[others] @ Z[others].T
        coef = orthogonal_mp_gram(gram, Z[others] @ Z[t], n_nonzero_coefs=n_nonzero)
        assert_allclose(S[others, t], coef, rtol=0, atol=1e-10)


@settings(max_examples=50)
@given(copies=st.integers(1, 3), n_nonzero=st.integers(1, 11), seed=st.integers(0, 2**16))
@example(copies=3, n_nonzero=11, seed=515)
@example(copies=2, n_nonzero=7, seed=949)
def test_pursuit_leaves_a_residual_orthogonal_to_the_chosen(copies, n_nonzero, seed):
    Z = np.repeat(random_samples(12, 6, seed), copies, axis=0)
    members, S = pursued(Z, n_nonzero)
    residuals = Z - S.T @ Z
    for t, chosen in enumerate(members):
        assert len(set(chosen)) == n_nonzero
        assert t not in chosen
        assert np.abs(Z[chosen] @ residuals[t]).max() <= 1e-9


# Kernels


@pytest.fixture
def gram():
    Z = np.random.default_rng(0).standard_normal((30, 12))
    return Z @ Z.T


def extended(gram, count):
    """The inverse after candidates have joined, one by one."""
    active, inverse = np.empty(30, dtype=np.int64), np.full((40, 40), np.nan)
    for used in range(count):
        assert append_to_inverse(gram, active, inverse, used, used)
    return active, inverse


@pytest.mark.parametrize("position", [0, 8])
def test_candidates_join_and_leave_an_inverse_and_a_solution(gram, position):
    active, inverse = extended(gram, 9)
    assert_allclose(inverse[:9, :9] @ gram[:9, :9], np.eye(9), atol=1e-9)
    right = dict(zip(active[:9], np.linspace(-1.0, 1.0, 9), strict=True))
    step = inverse[:9, :9] @ np.array(list(right.values()))
    remove_from_inverse(active, inverse, step, 9, position)
    left = active[:8]
    part = gram[np.ix_(left, left)]
    assert position not in left
    assert_allclose(inverse[:8, :8] @ part, np.eye(8), atol=1e-9)
    assert_allclose(part @ step[:8], [right[j] for j in left], atol=1e-9)


def test_an_inverse_that_has_lost_its_digits_shows(gram):
    active, inverse = extended(gram, 8)
    inverse *= 10.0
    assert not append_to_inverse(gram, active, inverse, 8, 20)
