import numpy as np
import pytest
from numpy.testing import assert_allclose

from ufselect.solvers._active_set_kernels import best_candidates, largest_magnitude
from ufselect.solvers._inverse_kernels import add_combination, append_to_inverse, remove_from_inverse


@pytest.fixture
def gram():
    Z = np.random.default_rng(0).standard_normal((30, 12))
    return Z @ Z.T


def extended(gram, counts):
    """The inverse after candidates have joined, a few at a time."""
    active, inverse, used = np.empty(30, dtype=np.int64), np.full((40, 40), np.nan), 0
    for count in counts:
        assert append_to_inverse(gram, active, inverse, used, np.arange(used, used + count))
        used += count
    return active, inverse, used


@pytest.mark.parametrize("counts", [(9,), (1, 4, 3, 1), (2, 5, 2)])
def test_an_inverse_is_that_of_all_who_joined(gram, counts):
    active, inverse, used = extended(gram, counts)
    assert_allclose(inverse[:used, :used] @ gram[np.ix_(active[:used], active[:used])], np.eye(used), atol=1e-9)


@pytest.mark.parametrize("position", [0, 4, 8])
def test_one_who_leaves_takes_its_part_of_the_inverse_and_of_a_solution_away(gram, position):
    active, inverse, used = extended(gram, (4, 4, 1))
    right = dict(zip(active[:used], np.linspace(-1.0, 1.0, used), strict=True))
    step = inverse[:used, :used] @ np.array(list(right.values()))
    remove_from_inverse(active, inverse, step, used, position, np.empty(used))
    left = active[: used - 1]
    part = gram[np.ix_(left, left)]
    assert position not in left
    assert_allclose(inverse[: used - 1, : used - 1] @ part, np.eye(used - 1), atol=1e-9)
    assert_allclose(part @ step[: used - 1], [right[j] for j in left], atol=1e-9)


def test_more_than_the_rank_can_join_and_one_of_them_leave(gram):
    active, inverse, used = extended(gram, (4, 4, 4, 1))
    assert np.all(np.linalg.eigvalsh(inverse[:used, :used]) > 0.0)
    remove_from_inverse(active, inverse, np.zeros(used), used, used - 1, np.empty(used))
    assert_allclose(inverse[:12, :12] @ gram[:12, :12], np.eye(12), atol=1e-6)


def test_an_inverse_that_has_lost_its_digits_shows(gram):
    active, inverse, used = extended(gram, (4, 4))
    inverse *= 10.0
    assert not append_to_inverse(gram, active, inverse, used, np.array([20, 21, 22, 23]))


@pytest.mark.parametrize("count", [1, 7, 64, 130])
def test_the_largest_magnitude_is_found_among_any_signs_and_sizes(count):
    values = np.random.default_rng(count).standard_normal(count) * 10.0 ** np.arange(-150, -150 + count)
    assert largest_magnitude(values) == np.abs(values).max()
    assert largest_magnitude(-np.sort(values)) == np.abs(values).max()


@pytest.mark.parametrize("values", [[0.0, -0.0], [-0.0, 5e-324], [np.inf, -1.0], [-np.inf, 1e308]])
def test_the_largest_magnitude_of_extreme_numbers_is_exact(values):
    assert largest_magnitude(np.array(values)) == np.abs(values).max()


@pytest.mark.parametrize("count", range(18))
def test_a_combination_has_every_row_once(count):
    rng = np.random.default_rng(count)
    rows, which, weights = rng.standard_normal((20, 9)), rng.permutation(20)[:count], rng.standard_normal(count)
    vector = np.ones(7)  # shorter than the rows
    add_combination(vector, rows, which, weights)
    assert_allclose(vector, 1.0 + weights @ rows[which, :7], atol=1e-12)


def test_the_best_candidates_are_those_of_a_sort(gram):
    correlations = np.concatenate([gram[0], -gram[1], np.zeros(70), gram[2]])
    taken = np.zeros(len(correlations), dtype=bool)
    taken[[3, 40]] = True
    floor = 0.5 * np.abs(correlations).max()
    strengths = np.where(taken, 0.0, np.abs(correlations))
    wanted = [j for j in np.argsort(-strengths, kind="stable") if strengths[j] > floor]
    for room in (2, len(wanted), len(wanted) + 5):
        best, found = best_candidates(correlations, taken, floor, room)
        assert best[:found].tolist() == wanted[:room]
