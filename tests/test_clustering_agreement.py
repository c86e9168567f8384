from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ufselect.metrics import SEED, clustering_agreement, kmeans_starts, matched_accuracy, normalized_mutual_information
from ufselect.solvers.kmeans import kmeans_labels


def draw_one_by_one(uniform, n, c):
    if 4 * c > n:
        return sorted(range(n), key=[uniform() for _ in range(n)].__getitem__)[:c]
    marked = set()
    while len(marked) < c:
        marked.update([floor(n * uniform()) for _ in range(c - len(marked))])
    ascending, keys = sorted(marked), [uniform() for _ in range(c)]
    return [sample for _, sample in sorted(zip(keys, ascending, strict=True))]


@st.composite
def sizes(draw):
    n = draw(st.integers(1, 300))
    return n, draw(st.integers(1, n))


class TestStarts:
    def test_the_first_by_hand(self):
        first = [0.8147, 0.9058, 0.1270, 0.9134]
        assert_allclose(np.random.RandomState(5489).random_sample(4), first, rtol=0, atol=5e-5)
        # More than a quarter of 4: the two smallest. Less of 100: ⌊81.47⌋ and ⌊90.58⌋, and 0.1270 < 0.9134.
        assert_array_equal(kmeans_starts(4, 2, 1), [[2, 0]])
        assert_array_equal(kmeans_starts(100, 2, 1), [[81, 90]])

    @given(sizes(), st.integers(1, 20))
    def test_they_are_drawn_from_one_stream_of_which_fewer_runs_take_the_first(self, drawn, n_runs):
        uniform = np.random.RandomState(SEED).random_sample
        assert_array_equal(kmeans_starts(*drawn), [draw_one_by_one(uniform, *drawn) for _ in range(20)])
        assert_array_equal(kmeans_starts(*drawn, n_runs), kmeans_starts(*drawn)[:n_runs])

    def test_they_are_the_same_each_time_and_stay_so(self):
        starts = kmeans_starts(213, 10)
        kmeans_starts.cache_clear()
        assert_array_equal(kmeans_starts(213, 10), starts)
        with pytest.raises(ValueError, match="read-only"):
            starts[0, 0] = 0
        assert np.any(kmeans_starts(213, 10, seed=1) != starts)


class TestClusteringAgreement:
    def test_it_is_the_mean_over_the_runs(self):
        rng = np.random.default_rng(0)
        classes = np.repeat([0, 1, 2, 3], 15)
        X = rng.standard_normal((60, 3)) + rng.standard_normal((4, 3))[classes]
        runs = kmeans_labels(X, kmeans_starts(60, 4, 4))
        expected = {"acc": [matched_accuracy(classes, run) for run in runs]}
        for name, average in {"nmi": "geometric", "nmi_arithmetic": "arithmetic", "nmi_max": "max"}.items():
            expected[name] = [normalized_mutual_information(classes, run, average) for run in runs]
        found = clustering_agreement(X, classes, 4)
        assert found == pytest.approx({name: np.mean(values) for name, values in expected.items()}, rel=0, abs=1e-14)

    # All features, in the table of the paper; that row of AR alone is over the larger entropy.
