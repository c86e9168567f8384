from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from ufselect.metrics import (
    agreement_of_runs,
    matched_accuracy,
    nearest_neighbor_accuracy,
    nearest_neighbors,
    neighborhood_overlap,
    neighborhood_preservation,
    normalized_mutual_information,
    redundancy,
    selection_stability,
)

AVERAGES = ["geometric", "arithmetic", "max"]
NMI_OF_RUNS = {"geometric": "nmi", "arithmetic": "nmi_arithmetic", "max": "nmi_max"}


def labels(n, groups=5):
    return arrays(np.int64, n, elements=st.integers(0, groups - 1))


@st.composite
def labelings(draw, groups=5):
    n = draw(st.integers(1, 40))
    return draw(labels(n, groups)), draw(labels(n, groups))


@st.composite
def classes_and_runs(draw):
    n, r = draw(st.integers(1, 30)), draw(st.integers(1, 6))
    return draw(labels(n)), draw(labels((r, n), draw(st.integers(1, 8))))


class TestMatchedAccuracy:
    @given(labelings(groups=4))
    def test_it_is_the_best_of_all_matchings(self, both):
        classes, clusters = both
        shares = [np.mean(np.array(of_cluster)[clusters] == classes) for of_cluster in permutations(range(4))]
        assert matched_accuracy(classes, clusters) == max(shares)

    def test_the_figures_of_the_published_program_are_met(self, reference):
        stored = reference("ref_single")
        both = stored["lab1"].ravel(), stored["lab2"].ravel()
        assert_allclose(matched_accuracy(*both), stored["ev_acc"].item(), rtol=0, atol=1e-12)
        for average, name in (("max", "ev_nmi_max"), ("geometric", "ev_nmi_sqrt")):
            assert_allclose(normalized_mutual_information(*both, average), stored[name].item(), rtol=0, atol=1e-12)


class TestNormalizedMutualInformation:
    @given(labelings(), st.sampled_from(AVERAGES))
    def test_it_is_that_of_scikit_learn(self, both, average):
        assume(all(len(np.unique(part)) > 1 for part in both))
        expected = normalized_mutual_info_score(*both, average_method=average)
        assert_allclose(normalized_mutual_information(*both, average), expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("average", AVERAGES)
    def test_it_is_that_of_scikit_learn_where_entropies_are_small(self, average):
        classes, clusters = np.zeros(2000), np.zeros(2000)
        classes[[3, 5]], clusters[[5, 7]] = 1, 1
        expected = normalized_mutual_info_score(classes, clusters, average_method=average)
        assert_allclose(normalized_mutual_information(classes, clusters, average), expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("average", AVERAGES)
    def test_a_single_group(self, average):
        assert normalized_mutual_information([4, 4, 4], [0, 0, 0], average) == 1.0
        assert normalized_mutual_information([4, 4, 4], [0, 1, 0], average) == 0.0
        assert normalized_mutual_information([4, 5, 4], [1, 1, 1], average) == 0.0

    def test_an_unknown_mean_is_refused(self):
        with pytest.raises(ValueError, match="average must be one of geometric, arithmetic, max, got 'min'"):
            normalized_mutual_information([0, 1], [0, 1], "min")


class TestAgreementOfRuns:
    @given(classes_and_runs())
    def test_it_is_that_of_every_run_alone(self, given_labels):
        classes, runs = given_labels
        found = agreement_of_runs(classes, runs)
        assert_array_equal(found["acc"], [matched_accuracy(classes, run) for run in runs])
        for average, name in NMI_OF_RUNS.items():
            alone = [normalized_mutual_information(classes, run, average) for run in runs]
            assert_allclose(found[name], alone, rtol=0, atol=1e-14)

    @pytest.mark.parametrize(
        "move",
        [
            lambda run: run + 10**12,
            lambda run: -3 * run,
            *[lambda run, dtype=dtype: run.astype(dtype) for dtype in (np.int8, np.uint64, np.float32)],
        ],
    )
    def test_neither_the_type_nor_the_size_of_labels_matters(self, move):
        classes = np.arange(60) % 6
        runs = np.random.default_rng(0).integers(6, size=(4, 60))
        found, expected = agreement_of_runs(classes, move(runs)), agreement_of_runs(classes, runs)
        for name, values in found.items():
            assert_allclose(values, expected[name], rtol=0, atol=1e-14)


class TestHostileLabels:
    @pytest.mark.parametrize("measure", [matched_accuracy, normalized_mutual_information])
    @pytest.mark.parametrize(
        ("classes", "clusters"),
        [
            ([], []),
            ([0, 1], [0, 1, 1]),
            ([[0, 1]], [[0, 1]]),
            (0, 1),
            ([0, 1], [0.0, np.nan]),
            ([np.nan, 1.0], [0, 1]),
            ([0, 1], np.array([0, np.nan], dtype=object)),
            ([0, 1], [0.0, np.inf]),
            (pd.array(["a", None], dtype="string"), [0, 1]),
            ([0, 1], np.array([1, "1"], dtype=object)),
        ],
    )
    def test_labels_that_are_none_are_refused(self, measure, classes, clusters):
        with pytest.raises(ValueError, match=r"[Ll]abels|NaN"):
            measure(classes, clusters)

    @pytest.mark.parametrize("measure", [matched_accuracy, normalized_mutual_information])
    def test_labels_of_several_types_are_told_apart(self, measure):
        classes = np.array([1, "a", 2.5, 1.0, "a", 2.5], dtype=object)
        assert measure(classes, [7, 8, 9, 7, 8, 9]) == pytest.approx(1.0)

    @pytest.mark.parametrize("runs", [[], [[]], [0, 1], [[0, 1, 1]], np.empty((0, 2)), [[0.0, np.nan]]])
    def test_runs_that_are_none_are_refused(self, runs):
        with pytest.raises(ValueError, match=r"[Ll]abels"):
            agreement_of_runs([0, 1], runs)


class TestRedundancy:
    @given(st.integers(2, 12), st.integers(2, 8), st.integers(0, 1000), st.floats(-1e6, 1e6))
    def test_it_is_the_mean_of_the_correlations(self, n, m, seed, shift):
        X = np.random.default_rng(seed).standard_normal((n, m)) + shift
        correlations = np.abs(np.corrcoef(X, rowvar=False))
        assert_allclose(redundancy(X), correlations[np.triu_indices(m, 1)].mean(), rtol=0, atol=1e-12)

    @given(arrays(np.float64, (9, 4), elements=st.integers(-3, 3)), st.sampled_from([sp.csr_array, sp.csc_matrix]))
    def test_sparse_is_as_dense(self, X, container):
        assert_allclose(redundancy(container(X)), redundancy(X), rtol=0, atol=1e-12)

    @pytest.mark.parametrize("offset", [1e4, 1e8])
    def test_sparse_columns_keep_their_digits_beside_an_offset(self, offset):
        X = np.random.default_rng(0).standard_normal((60, 4)) + offset * np.array([0, 1, 1, 0])
        X[:, 1] += X[:, 0]
        assert_allclose(redundancy(sp.csr_array(X)), redundancy(X), rtol=0, atol=1e-7)

    @pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
    def test_a_constant_column_correlates_with_nothing(self, container):
        x = np.random.default_rng(0).standard_normal(50)
        X = np.column_stack([x, np.full(50, 0.1), -2 * x, np.full(50, 1e5 / 3)])
        # One pair in six correlates, and does so fully.
        assert_allclose(redundancy(container(X)), 1 / 6, rtol=0, atol=1e-12)

    def test_one_column_or_one_sample_has_none(self):
        assert redundancy([[1.0], [2.0], [4.0]]) == 0.0
        assert redundancy(sp.csr_array([[1.0], [2.0], [4.0]])) == 0.0
        assert redundancy([[1.0, 2.0, 4.0]]) == 0.0

    @pytest.mark.parametrize("X", [np.empty((0, 3)), np.empty((3, 0)), [1.0, 2.0], [[1.0, np.nan]], [[np.inf, 1.0]]])
    def test_data_that_are_none_are_refused(self, X):
        with pytest.raises(ValueError, match=r"array|NaN|infinity"):
            redundancy(X)


class TestNeighborhoods:
    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    @pytest.mark.parametrize(("unit", "dtype"), [(1e-310, "d"), (1e200, "d"), (1e25, "f")])
    def test_the_unit_of_the_data_does_not_choose_neighbours(self, unit, dtype, form):
        X = np.random.default_rng(0).standard_normal((40, 30))
        expected = nearest_neighbors(X, 5)
        assert_array_equal(nearest_neighbors(form((unit * X).astype(dtype)), 5), expected)

    def test_sparse_is_as_dense(self):
        X = np.random.default_rng(0).standard_normal((40, 30))
        X[np.abs(X) < 1.0] = 0.0
        assert_array_equal(nearest_neighbors(sp.csr_array(X), 5), nearest_neighbors(X, 5))
        assert neighborhood_preservation(sp.csr_array(X), X[:, :9]) == neighborhood_preservation(X, X[:, :9])

    @given(st.integers(1, 20), st.integers(1, 8), st.integers(1, 8), st.integers(0, 1000))
    def test_the_overlap_is_that_of_sets(self, n, k_before, k_after, seed):
        rng = np.random.default_rng(seed)
        before, after = (np.array([rng.permutation(12)[:k] for _ in range(n)]) for k in (k_before, k_after))
        expected = [len({*a} & {*b}) / len({*a} | {*b}) for a, b in zip(before, after, strict=True)]
        overlap = neighborhood_overlap(before, after)
        assert_allclose(overlap, np.mean(expected), rtol=0, atol=1e-15)
        assert overlap == neighborhood_overlap(after, before)

    @pytest.mark.parametrize("k", [0, 3])
    def test_too_many_neighbours_and_other_samples_are_refused(self, k):
        with pytest.raises(ValueError, match=f"n_neighbors={k} must be between 1 and 2"):
            neighborhood_preservation(np.eye(3), np.eye(3), k)
        with pytest.raises(ValueError, match=r"same samples, got shapes \(5, 2\) and \(4, 2\)"):
            neighborhood_preservation(np.eye(5), np.eye(4), 2)

    @pytest.mark.parametrize("X", [np.empty((0, 3)), np.empty((9, 0)), np.full((9, 2), np.nan), np.arange(9.0)])
    def test_data_that_are_none_are_refused(self, X):
        with pytest.raises(ValueError, match=r"array|NaN"):
            neighborhood_preservation(np.eye(9), X)


class TestNearestNeighborAccuracy:
    def test_it_is_that_of_scikit_learn(self):
        X, y = load_iris(return_X_y=True)
        # Without ties, which either may settle its own way.
        X = X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)
        expected = cross_val_score(KNeighborsClassifier(1), X, y, cv=LeaveOneOut()).mean()
        assert nearest_neighbor_accuracy(X, y) == expected

    def test_duplicates_vouch_for_each_other(self):
        X = np.repeat(np.random.default_rng(0).standard_normal((5, 3)), 2, axis=0)
        assert nearest_neighbor_accuracy(X, np.arange(10) // 2) == 1.0
        assert nearest_neighbor_accuracy(X, np.arange(10)) == 0.0
        assert nearest_neighbor_accuracy([[0.0], [1.0]], [0, 1]) == 0.0  # a sample does not vouch for itself

    @pytest.mark.parametrize("classes", [[0, 1], [0, 1, 1, 0], [[0], [1], [1]], [0.0, np.nan, 1.0], 0])
    def test_classes_that_are_none_are_refused(self, classes):
        with pytest.raises(ValueError, match=r"one class for each of the|NaN"):
            nearest_neighbor_accuracy(np.eye(3), classes)


def kuncheva_index(a, b, d):
    k = len(a)
    return (len({*a} & {*b}) - k**2 / d) / (k - k**2 / d)


@st.composite
def selections_of_any_size(draw):
    d = draw(st.integers(1, 12))
    selections = st.lists(st.integers(0, d - 1), unique=True)
    return draw(st.lists(selections, min_size=2, max_size=6)), d


class TestSelectionStability:
    @given(st.integers(2, 15), st.integers(2, 6), st.integers(0, 1000), st.data())
    def test_for_equal_sizes_it_is_the_mean_index_of_kuncheva(self, d, M, seed, data):
        k = data.draw(st.integers(1, d - 1))
        rng = np.random.default_rng(seed)
        selections = [rng.permutation(d)[:k] for _ in range(M)]
        indices = [kuncheva_index(a, b, d) for a, b in combinations(selections, 2)]
        assert_allclose(selection_stability(selections, d), np.mean(indices), rtol=0, atol=1e-12)

    @given(selections_of_any_size())
    @example(([[0], [1]], 2))
    def test_it_lies_between_its_bounds(self, drawn):
        selections, d = drawn
        assert -1.0 / (len(selections) - 1) - 1e-12 <= selection_stability(selections, d) <= 1.0

    @pytest.mark.parametrize("sizes", [[8, 8, 8, 8, 8], [1, 5, 8, 12, 30]])
    def test_random_selections_are_at_chance_level(self, sizes):
        rng = np.random.default_rng(0)
        draws = [selection_stability([rng.permutation(40)[:k] for k in sizes], 40) for _ in range(2000)]
        # E[(1/d) Σ s_f²] = q(1 − q) + var(k/d)/(M − 1) with q = k̄/d: below 0 by how much the sizes differ.
        shares = np.array(sizes) / 40
        chance = -shares.var() / 4 / (shares.mean() * (1.0 - shares.mean()))
        error = np.std(draws) / np.sqrt(len(draws))
        assert error < 2e-3
        assert abs(np.mean(draws) - chance) < 4 * error

    @pytest.mark.parametrize("chosen", [[], [0, 2], [0, 1, 2]])
    def test_equal_selections_agree_fully_even_of_nothing_or_everything(self, chosen):
        assert selection_stability([chosen, np.array(chosen[::-1], dtype=int)], 3) == 1.0

    @pytest.mark.parametrize(
        ("selections", "message"),
        [
            ([], "at least two selections, got 0"),
            ([[0, 1]], "at least two selections, got 1"),
            ([[0, 1], [0, 4]], "outside 0 to 3"),
            ([[0, 1], [-1, 2]], "outside 0 to 3"),
            ([[0, 1], [2, 2]], "an index twice"),
            ([[0, 1], [0.0, 1.0]], "one-dimensional array of integers"),
            ([[0, 1], [True, False, True, False]], "one-dimensional array of integers"),
            ([[0, 1], [[0, 1]]], "one-dimensional array of integers"),
            ([[0, 1], 2], "one-dimensional array of integers"),
        ],
    )
    def test_selections_that_are_none_are_refused(self, selections, message):
        with pytest.raises(ValueError, match=message):
            selection_stability(selections, n_features=4)
