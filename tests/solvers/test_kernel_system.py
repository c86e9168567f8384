import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.columns.dense import Columns
from ufselect.solvers import kernel_system
from ufselect.solvers.kernel_system import KernelSystem, SharedColumns, conjugate_gradients

N, D = 40, 150
ROUNDING, PROMISED = 1e-13, 1.5e-8

# Weights of the columns and the way in which the system is solved
WEIGHTS = {
    "even": (np.full(D, 3.0), "NoneType"),
    "decaying": (10.0 ** np.linspace(1.0, -8.0, D), "_SplitSystem"),
    "few": (np.where(np.arange(D) % 10 == 0, 1.0, 1e-30), "_FewColumnsSystem"),
}
# Weights that neither leave anything out nor need conjugate gradients are exact.
PRECISION = {"even": ROUNDING, "decaying": PROMISED, "few": ROUNDING}
for_all_weights = pytest.mark.parametrize("name", WEIGHTS)


def problem(name, *, noisy=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    weights = rng.permutation(WEIGHTS[name][0])
    shift = 5.0 * rng.uniform(0.5, 2.0, N) if noisy else np.full(N, 5.0)
    return X, weights, shift, rng.standard_normal((N, 4))


def dense(X, weights, shift):
    return X @ (weights[:, None] * X.T) + np.diag(shift)


def relative_error(system, solution, F):
    """In the norm of the system."""
    exact = np.linalg.solve(system, F)
    error = solution - exact
    return np.sqrt(np.max(np.sum(error * (system @ error), axis=0) / np.sum(exact * F, axis=0)))


@for_all_weights
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("many_targets", [False, True])
def test_solutions_are_as_accurate_as_promised(name, noisy, many_targets):
    X, weights, shift, F = problem(name, noisy=noisy)
    solution = KernelSystem(Columns(X), weights, shift, many_targets=many_targets).solve(F)
    assert relative_error(dense(X, weights, shift), solution, F) <= PRECISION[name]


@for_all_weights
def test_every_way_to_solve_is_taken(name):
    X, weights, shift, _ = problem(name)
    assert type(KernelSystem(Columns(X), weights, shift)._quick).__name__ == WEIGHTS[name][1]


def test_a_zero_target_has_a_zero_solution():
    X, weights, shift, F = problem("decaying")
    F[:, 1] = 0.0
    solution = KernelSystem(Columns(X), weights, shift).solve(F)
    assert_array_equal(solution[:, 1], 0.0)
    assert relative_error(dense(X, weights, shift), solution[:, [0, 2, 3]], F[:, [0, 2, 3]]) <= PROMISED


@for_all_weights
@pytest.mark.parametrize("smallest", [1.0, 1e-6])
def test_with_an_intercept_solutions_sum_to_zero(name, smallest):
    X, weights, shift, F = problem(name, noisy=True)
    X -= X.mean(axis=0)
    shift[:3] *= smallest
    Y, b = KernelSystem(Columns(X, centered=True), weights, shift, intercept=True).solve_with_intercept(F)
    assert_allclose(Y.sum(axis=0), 0.0, rtol=0, atol=1e-12 * np.abs(Y).sum())
    assert_allclose(dense(X, weights, shift) @ Y + b, F, rtol=0, atol=1e-10 if name == "even" else 1e-7)


def test_if_conjugate_gradients_do_not_converge_the_kernel_is_formed(monkeypatch):
    X, weights, shift, F = problem("decaying")
    monkeypatch.setattr(kernel_system, "_MOST_STEPS", 1)
    system = KernelSystem(Columns(X), weights, shift)
    assert system._quick is not None
    assert relative_error(dense(X, weights, shift), system.solve(F), F) <= PROMISED
    assert system._quick is None


@for_all_weights
def test_a_shift_that_is_tiny_beside_the_kernel_is_no_obstacle(name):
    X, weights, shift, F = problem(name)
    system = KernelSystem(Columns(X), weights, 1e-13 * shift)
    assert system._quick is None
    residual = dense(X, weights, 1e-13 * shift) @ system.solve(F) - F
    assert np.all(np.isfinite(residual))


@for_all_weights
def test_sparse_columns_give_the_solutions_of_dense_ones(name):
    _, weights, shift, F = problem(name)
    values = sp.random_array((N, D), density=0.3, random_state=np.random.default_rng(2)).toarray()
    means = values.mean(axis=0)
    from_dense = KernelSystem(Columns(values - means, centered=True), weights, shift).solve(F)
    from_sparse = KernelSystem(Columns(sp.csc_array(values), means, centered=True), weights, shift).solve(F)
    assert_allclose(from_sparse, from_dense, rtol=0, atol=10 * PRECISION[name])


@for_all_weights
def test_single_precision_is_as_exact_as_it_can_be(name):
    X, weights, shift, F = problem(name)
    single = X.astype(np.float32)
    solution = KernelSystem(Columns(single), weights, shift).solve(F)
    assert relative_error(dense(single.astype(np.float64), weights, shift), solution, F) <= 1e-4


def test_what_is_shared_does_not_change_solutions_as_weights_come_and_go():
    X, weights, shift, F = problem("few")
    shared = SharedColumns(Columns(X))
    rng = np.random.default_rng(3)
    for n_used in (15, 12, 5, 18, 3):
        weights = np.zeros(D)
        weights[rng.permutation(D)[:n_used]] = rng.uniform(0.5, 2.0, n_used)
        solution = KernelSystem(Columns(X), weights, shift, shared=shared).solve(F)
        assert relative_error(dense(X, weights, shift), solution, F) <= ROUNDING


def test_columns_shared_contain_those_asked_for_and_not_many_others():
    shared = SharedColumns(Columns(np.random.default_rng(0).standard_normal((5, 100))))
    for used in (np.arange(40), np.arange(10, 35), np.arange(5), np.arange(60, 90)):
        index, part = shared.containing(used)
        assert set(used) <= set(index)
        assert len(index) < 2 * len(used)
        assert_array_equal(part.values, shared.X.values[:, index])
        assert_allclose(shared.gram, part.values.T @ part.values, rtol=0, atol=1e-12)


def test_conjugate_gradients_say_if_they_need_more_steps():
    A = np.diag(np.arange(1.0, 31.0))
    F = np.ones((30, 1))
    assert conjugate_gradients(lambda V: A @ V, np.copy, F, 1e-12, 5) is None
    solution = conjugate_gradients(lambda V: A @ V, np.copy, F, 1e-12, 100)
    assert_allclose(solution[:, 0], 1.0 / np.arange(1.0, 31.0), rtol=1e-9)
