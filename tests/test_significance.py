"""The test of columns: its level and power, what it takes into account, and how selectors use it."""

from dataclasses import replace

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from every_selector import assert_identical, make, may_stop_early, of_every_selector
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, false_discovery_control

import ufselect.base.significance as base
from ufselect import FSASL, MCFS, KernelFSASL, LaplacianScore, MaxVariance
from ufselect.base.screening import KeepExclude, Screening
from ufselect.columns.dask import DaskMatrix
from ufselect.datasets import make_planted_clusters
from ufselect.preprocessing import LogNormalize, MissingValues
from ufselect.significance import ColumnSignificance, column_significance, fit_tested

rng = np.random.default_rng(0)
GROUPED = rng.poisson(0.4, (90, 60)).astype(float)
GROUPED[:45, :8] += rng.poisson(3.0, (45, 8))
PLATE = np.arange(60) % 3
FAMILY = np.arange(130) // 2


def with_holes(X, rng, side=0.4):
    """Up to four times the square of ``side`` is missing, in four blocks of rows and columns."""
    blocks = [(rng.random(len(X)) < side)[:, None] & (rng.random(X.shape[1]) < side) for _ in range(4)]
    return np.where(np.any(blocks, axis=0), np.nan, X)


@pytest.fixture(scope="module")
def planted():
    """Ten columns with four clusters, and forty of noise."""
    return make_planted_clusters(120, 4, 10, 40, random_state=1)


@pytest.fixture(scope="module")
def tested(planted):
    return column_significance(planted.X)


@pytest.fixture(scope="module")
def noise():
    return np.random.default_rng(0).standard_normal((240, 40))


# Level and power

NOISE = {
    "many": lambda rng: (rng.standard_normal((60, 130)), {"n_splits": 4}),
    "rare": lambda rng: ((rng.random((60, 40)) < 0.1) * 1.0, {}),
    "sparse counts": lambda rng: (sp.csr_array(rng.poisson(0.8, (60, 40)) * 1.0), {}),
    "holes": lambda rng: (with_holes(rng.standard_t(2, (60, 40)) ** 2, rng), {}),
    "plates": lambda rng: (rng.standard_t(2, (60, 40)) + 9.0 * rng.standard_normal((3, 40))[PLATE], {"batch": PLATE}),
    "families": lambda rng: (
        rng.standard_normal((60, 130)) + 2.0 * rng.standard_normal((60, 65))[:, FAMILY],
        {"groups": FAMILY, "n_splits": 2},
    ),
}


@pytest.mark.parametrize("kind", NOISE)
def test_columns_of_noise_are_found_no_more_often_than_the_level(kind):
    found, shares = 0, []
    for seed in range(40):
        X, options = NOISE[kind](np.random.default_rng([7, seed]))
        tested = column_significance(X, random_state=seed, **options)
        found += tested.n_found > 0
        shares.append([np.mean(tested.p_values <= level) for level in (0.01, 0.05, 0.2)])
    # Columns of one set are tested on each other, so the standard error is that of the mean of 40 sets.
    error = np.std(shares, axis=0) / np.sqrt(40)
    assert np.all(np.mean(shares, axis=0) <= (0.01, 0.05, 0.2) + 4.0 * error)
    # If nothing is found, there is a second test, so p-values of the first one are divided by 0.9.
    assert np.mean(shares, axis=0)[2] >= 0.9 * 0.2 - 4.0 * error[2]
    assert found <= binom.isf(1e-4, 40, 0.05)


def test_planted_columns_are_found_with_few_others():
    power, false_share = [], []
    for seed in range(10):
        data = make_planted_clusters(100, 4, *((10, 40) if seed % 2 else (30, 270)), random_state=seed)
        found = column_significance(data.X, n_splits=3).found
        power.append(found[data.informative].mean())
        false_share.append(np.mean(~data.informative[found]))
    assert np.mean(power) >= 0.9
    assert np.mean(false_share) <= 0.05 + 4.0 * np.std(false_share) / np.sqrt(10)


def test_columns_are_compared_where_they_are_observed(planted):
    X = np.column_stack([with_holes(planted.X, np.random.default_rng(0), 0.25), np.full(120, np.nan)])
    found = column_significance(X)
    assert found.found[:50][planted.informative].mean() >= 0.9
    assert found.found[:50][~planted.informative].mean() <= 0.05
    assert not found.tested[50]
    whole = ~np.isnan(X)
    assert_array_equal(column_significance(np.where(whole, 2.0**20 * X, np.nan)).p_values, found.p_values)
    filled = MissingValues().fit(X).transform(X)
    for selector in (KernelFSASL(8, fdr=0.05), MCFS(8, n_clusters=4)):
        fit_tested(selector, filled, 0.05, missing=~whole)
        assert_array_equal(selector.significance_.p_values, found.p_values)
        assert found.found[selector.get_support()].all()


def counts_of_different_depth(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(np.exp(rng.normal(-0.5, 0.8, (100, 1))) * rng.gamma(1.0, 1.0, 220))
    return LogNormalize().fit_transform(sp.csr_array(counts[counts.sum(axis=1) > 0][:, counts.max(axis=0) > 0] * 1.0))


def test_depth_alone_is_no_structure():
    shares = np.array(
        [
            [np.mean(column_significance(X, strata=strata, n_splits=1).p_values <= 0.05) for strata in ("auto", None)]
            for X in map(counts_of_different_depth, range(12))
        ]
    )
    error = 4.0 * shares.std(axis=0) / np.sqrt(12)
    assert shares[:, 0].mean() <= 0.05 + error[0]
    assert shares[:, 1].mean() > 0.05 + error[1]
    assert column_significance(counts_of_different_depth(0), n_splits=1).n_strata == 5


@pytest.mark.parametrize("n_tests", [1, 2, 8])
def test_several_tests_make_the_errors_of_one(n_tests):
    shares = base._shares_of_errors(n_tests)
    assert len(shares) == n_tests
    assert np.isclose(sum(shares), 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_few_columns_among_thousands_are_found(seed):
    """Their graph is nearly random until it adapts to the columns that express it."""
    data = make_planted_clusters(200, 4, 10, 1990, random_state=seed)
    found = column_significance(data.X).found
    assert found[data.informative].sum() >= 9
    assert found.sum() <= 13


# Which columns take part


def test_constants_have_one_and_copies_the_values_of_their_originals_and_neither_matters(planted, tested):
    one, other = np.flatnonzero(planted.informative)[0], np.flatnonzero(~planted.informative)[0]
    X = np.column_stack([planted.X, np.full(120, 3.0), planted.X[:, [one, other]]])
    found = column_significance(X)
    assert_array_equal(found.p_values, [*tested.p_values, 1.0, *tested.p_values[[one, other]]])
    assert_array_equal(found.q_values, [*tested.q_values, 1.0, *tested.q_values[[one, other]]])
    assert_array_equal(np.flatnonzero(~found.tested), [50, 51, 52])
    assert (found.n_tested, found.n_found) == (50, tested.n_found)
    assert found.found[51]


def test_excluded_columns_have_one_and_are_not_learned_from(planted):
    exclude = np.flatnonzero(planted.informative)[1:]
    found = column_significance(planted.X, exclude=exclude)
    assert_array_equal(found.p_values[exclude], 1.0)
    assert_array_equal(np.flatnonzero(~found.tested), exclude)
    rest = np.setdiff1d(np.arange(50), exclude)
    assert_array_equal(found.p_values[rest], column_significance(planted.X[:, rest]).p_values)
    # A column that alone carries the clusters is not found.
    assert not found.found.any()


def test_an_excluded_copy_is_not_found():
    X = np.column_stack([GROUPED, GROUPED[:, 3], GROUPED[:, 5]])
    tested = column_significance(X, exclude=[3, 61])
    assert tested.found[60]
    assert_array_equal(tested.q_values[[3, 61]], 1.0)
    assert not tested.tested[[3, 61]].any()


def test_near_copies_are_found_because_of_each_other_unless_they_are_of_one_group(noise):
    X = np.column_stack([noise[:, :12], noise[:, 3] + 0.05 * noise[:, 20]])
    assert_array_equal(np.flatnonzero(column_significance(X).found), [3, 12])
    groups = [*"abcdefghijkl", "d"]
    found = column_significance(X, groups=groups)
    assert found.n_found == 0
    assert found.p_values[3] == found.p_values[12]


def test_a_group_with_one_informative_column_is_found_as_a_whole(planted):
    groups = np.arange(50)
    one = np.flatnonzero(planted.informative)[0]
    members = np.append(np.flatnonzero(~planted.informative)[:2], one)
    groups[members] = 77
    found = column_significance(planted.X, groups=groups)
    assert found.found[members].all()
    assert len(set(found.p_values[members])) == 1
    assert np.mean(planted.informative[np.setdiff1d(np.flatnonzero(found.found), members)]) > 0.7


# What it takes into account


def with_plates(seed=2):
    """Three clusters in the first six columns, three plates that shift the next six, noise, and plates."""
    rng = np.random.default_rng(seed)
    cluster, plate = rng.permutation(np.arange(90) % 3), np.arange(90) % 3
    X = rng.standard_normal((90, 24))
    X[:, :6] += 3.0 * rng.standard_normal((3, 6))[cluster]
    X[:, 6:12] += 4.0 * rng.standard_normal((3, 6))[plate]
    return X, plate


@pytest.mark.parametrize("layout", [np.array, sp.csr_array])
def test_what_differs_between_batches_only_is_found_without_them_and_not_with_them(layout):
    X, plate = with_plates()
    assert column_significance(layout(X)).found[6:12].all()
    learned = {"batch": plate, "selector": KernelFSASL(max_iter=1), "n_splits": 1}
    for options in ({"batch": plate}, {"strata": plate}, {"batch": plate, "strata": np.repeat([0, 1], 45)}, learned):
        found = column_significance(layout(X), **options)
        assert found.found[:6].all()
        assert not found.found[6:12].any()
        assert found.n_strata == (6 if len(options) == 2 else 3)
    order = np.argsort(plate, kind="stable")
    drawn = column_significance(layout(X[order]), strata=plate[order], max_samples=75)
    assert drawn.n_samples == 75
    assert np.count_nonzero(drawn.found[:6]) >= 4
    assert not drawn.found[6:12].any()
    if layout is np.array:  # columns are ranked within batches
        shifted = X + 50.0 * np.random.default_rng(0).standard_normal((3, 24))[plate]
        assert_array_equal(
            column_significance(shifted, batch=plate).p_values, column_significance(X, batch=plate).p_values
        )


def test_samples_are_drawn_and_more_of_them_if_nothing_is_found(noise, monkeypatch):
    few = make_planted_clusters(240, 3, 10, 20, separation=4.0, random_state=0)
    assert column_significance(few.X, max_samples=80).n_samples == 80
    weak = make_planted_clusters(800, 4, 10, 20, separation=0.6, random_state=0).X
    found = column_significance(weak, max_samples=60)
    assert found.n_samples > 60
    assert found.n_found > 0
    assert column_significance(weak, max_samples=None).n_samples == 800
    assert column_significance(noise, max_samples=40).n_samples == 240
    monkeypatch.setattr(base, "_MOST_VALUES", 40 * 200)
    found = column_significance(noise, max_samples=40)
    assert found.verdict == "No structure was found in 40 columns on 200 of 240 samples (false discovery rate 5 %)."
    splits = "on 200 of 240 samples: 3 splits of the columns into 6 parts"
    assert found.procedure.endswith(f"{splits}, up to {found.n_permutations:,} permutations.")
    assert found.n_permutations >= 10


def test_a_column_that_is_constant_on_the_drawn_samples_is_one_of_those_tested(planted):
    rows = base.some_samples(120, 80, 0)
    X = np.column_stack([planted.X, np.isin(np.arange(120), rows) * 1.0])
    found = column_significance(X, max_samples=80)
    assert found.n_samples == 80
    assert found.tested[50]
    assert (found.p_values[50], found.n_tested) == (1.0, 51)
    without = column_significance(planted.X, max_samples=80)
    assert_array_equal(found.p_values[:50], without.p_values)
    assert_allclose(found.q_values, false_discovery_control(found.p_values), rtol=1e-12)


@pytest.mark.parametrize(
    "batch",
    [pytest.param(np.arange(240) // 2, id="pairs"), pytest.param(np.arange(240) >= 238, id="two samples of one batch")],
)
def test_samples_that_are_single_in_their_batch_among_those_drawn_are_left_out(noise, batch):
    for max_samples in (4, 20):
        found = column_significance(noise, batch=batch, max_samples=max_samples)
        assert found.n_samples == 240
    data = make_planted_clusters(240, 3, 10, 20, separation=4.0, random_state=0)
    found = column_significance(data.X, batch=batch, max_samples=160)
    assert 80 < found.n_samples <= 160
    assert found.found[data.informative].mean() > 0.5


class Signs(MaxVariance):
    """A method of an author: its fit takes no batch, and its embedding is the sign of the first column."""

    def fit(self, X, y=None):
        return super().fit(X)

    def _learn(self, X, constraints):
        return replace(super()._learn(X, constraints), embedding=np.sign(X.columns(slice(0, 1))))


@pytest.mark.parametrize(
    "selector",
    [
        FSASL(3, exclude=[1], keep=[0], fdr=0.05, max_iter=2),
        MCFS(0.5, n_clusters=4, exclude=[1], min_distance=3),
        KernelFSASL("auto", exclude=[1], max_iter=2),
    ],
    ids=lambda selector: type(selector).__name__,
)
def test_a_selector_learns_the_structures(planted, selector):
    X = planted.X[:80, :24]
    before = selector.get_params()
    found = column_significance(X, selector, n_splits=1)
    assert found.n_tested == 23
    assert found.p_values[1] == 1.0
    informative = planted.informative[:24] & found.tested
    assert np.mean(found.found[informative]) >= 0.75
    assert np.count_nonzero(found.found & ~informative) <= 1
    assert not np.array_equal(found.p_values, column_significance(X, exclude=[1], n_splits=1).p_values)
    assert selector.get_params() == before


def test_a_method_needs_a_structure_and_with_batches_a_fit_that_takes_them(planted):
    sentence = "learns no structure to test columns on; use a method that learns an embedding."
    with pytest.raises(ValueError, match=f"^MaxVariance {sentence}$"):
        column_significance(planted.X, MaxVariance())
    assert column_significance(planted.X, Signs(), n_splits=1).n_tested == 50
    with pytest.raises(ValueError, match=r"^the fit of Signs takes no batch\.$"):
        column_significance(planted.X, Signs(), batch=np.arange(120) % 2)


# What changes nothing


@pytest.mark.parametrize("n_features", [8, 25, 60])
def test_sparse_columns_have_the_p_values_of_dense_ones(n_features):
    """With few columns and many dimensions of structure, dense columns are permuted rather than the structure."""
    X = GROUPED[:, :n_features]
    dense, sparse = column_significance(X), column_significance(sp.csr_array(X))
    assert dense.n_found > 0
    assert_array_equal(dense.p_values, sparse.p_values)


@settings(max_examples=6)
@given(
    shifts=st.lists(st.floats(-1e3, 1e3), min_size=50, max_size=50),
    scales=st.lists(st.floats(1e-3, 1e3), min_size=50, max_size=50),
    function=st.sampled_from([np.cbrt, np.sinh, np.arctan, np.float32]),
)
def test_units_outliers_and_precision_of_columns_do_not_matter(planted, tested, shifts, scales, function):
    """Columns are ranked, so functions that increase change nothing."""
    found = column_significance(function(planted.X) * scales + shifts)
    assert_array_equal(found.p_values, tested.p_values)
    assert_array_equal(column_significance(planted.X.astype(np.float32)).p_values, tested.p_values)


@pytest.mark.parametrize(
    "X",
    [GROUPED, sp.csr_array(GROUPED), np.hstack([GROUPED, GROUPED[::-1], GROUPED[:, ::-1]])],
    ids=["", "sparse", "wide"],
)
def test_the_result_depends_on_the_seed_but_not_on_the_number_of_threads(X):
    first, *others = (column_significance(X, n_jobs=n_jobs, random_state=3) for n_jobs in (1, 2, 5))
    for other in others:
        assert_array_equal(other.p_values, first.p_values)
    assert not np.array_equal(column_significance(X, random_state=4).p_values, first.p_values)


# Sentences


def result(q_values, fdr=0.05, n_all_samples=100, tested=True):
    q, tested = np.array(q_values), np.full(len(q_values), tested)
    return ColumnSignificance(q, q, tested, fdr, 100, n_all_samples, 3, 6, 1, 1234)


@pytest.mark.parametrize(
    ("found", "verdict", "chosen", "ending"),
    [
        (result([0.2] * 1200), "No structure was found in 1,200 columns", [3, 4], ": the selection of 2 is arbitrary."),
        (
            result([0.2] * 9, n_all_samples=4000),
            "No structure was found in 9 columns on 100 of 4,000 samples",
            [3, 4],
            ": the selection of 2 may be arbitrary.",
        ),
        (
            result([0.05, 0.06, 0.01]),
            "2 of 3 columns share structure with others",
            [0, 2],
            "; 2 were selected, all of them among these.",
        ),
        (
            result([0.05, 0.06, 0.01, 0.01], tested=[True, True, True, False]),
            "2 of 3 columns share structure with others",
            [0, 1, 2],
            "; 3 were selected, 2 of them among these.",
        ),
        (
            result([0.5, 0.01, 1.0]),
            "1 of 3 columns shares structure with others",
            [0, 2],
            "; 2 were selected, none of them among these.",
        ),
        (
            result([0.01, 0.02]),
            "2 of 2 columns share structure with the others",
            [1],
            "; 1 was selected, one of these.",
        ),
        (
            result([0.01, 1.0]),
            "1 of 2 columns shares structure with others",
            [1],
            "; 1 was selected, which is none of these.",
        ),
    ],
)
def test_the_verdict_is_one_sentence_with_an_ending_on_a_selection(found, verdict, chosen, ending):
    assert found.verdict.startswith(verdict)
    assert found.verdict.endswith(" (false discovery rate 5 %).")
    assert found.verdict_on(np.array(chosen)) == found.verdict[:-1] + ending


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": [1, 2]}, r"groups has 2 labels, but X has 8 columns\."),
        ({"groups": [*"abcdefg", None]}, r"groups: the label of column 7 is missing\."),
        ({"strata": np.zeros((90, 1))}, r"strata has the shape \(90, 1\), but X has 90 samples\."),
        ({"strata": [np.nan] * 90}, r"strata has missing values\."),
        ({"strata": "depth"}, r"strata='depth' must be \"auto\", None, or the stratum of each sample\."),
        ({"exclude": range(8)}, r"exclude contains all 8 columns\."),
        ({"exclude": [8]}, r"exclude: there is no column 8: X has 8 columns, counted from 0\."),
        ({"batch": [0, 1]}, r"batch has 2 values, but X has 90 samples\."),
        ({"selector": FSASL}, r"selector=<class '.*FSASL'> is no selector, such as FSASL\(\)\."),
    ],
)
def test_errors_name_the_parameter(options, message):
    with pytest.raises((ValueError, TypeError), match=f"^{message}$"):
        column_significance(GROUPED[:, :8], **options)


# Selectors


@pytest.fixture(scope="module")
def mixed():
    """Six columns with clusters, twelve of noise, a constant column and a copy of an informative one; what is found."""
    data = make_planted_clusters(80, 3, 6, 12, separation=4.0, random_state=0)
    X = np.column_stack([data.X, np.ones(80), data.X[:, np.argmax(data.informative)]])
    return X, column_significance(X)


@may_stop_early
@of_every_selector
def test_selectors_choose_among_the_columns_found(mixed, name):
    X, tested = mixed
    found, others = np.flatnonzero(tested.found[:18]), np.flatnonzero(~tested.found[:18])
    assert 4 <= len(found) <= 8
    few = make(name, len(found) - 1, n_clusters=3, max_iter=5, fdr=0.05).fit(X)
    assert set(few.top_features()) < set(found)
    given = make(name, len(found) - 1, n_clusters=3, max_iter=5).fit(X, significance=tested)
    assert_identical(given, few)
    assert_array_equal(few.significance_.p_values, tested.p_values)
    assert_array_equal(few.q_values_, tested.q_values)
    assert few.scores_[others].max() <= few.scores_[found].min()
    if hasattr(few, "coef_"):
        assert not few.coef_[others].any()
    if hasattr(few, "alignments_"):
        assert np.all(few.alignments_[others] > 0.0)
        by_index = replace(tested, p_values=np.linspace(0.0, 1.0, 20))
        again = make(name, len(found) - 1, n_clusters=3, max_iter=5).fit(X, significance=by_index)
        assert_array_equal(again.top_features(18)[len(found) :], others)
        assert_allclose(again.alignments_, few.alignments_, rtol=1e-9)
    by_p_value = others[np.argsort(tested.p_values[others], kind="stable")]
    assert_array_equal(few.top_features(18)[len(found) :], by_p_value)
    many = make(name, len(found) + 2, n_clusters=3, max_iter=5).fit(X, significance=tested)
    assert set(many.top_features()) == {*found, *by_p_value[:2]}
    auto = make(name, "auto", n_clusters=3, max_iter=5).fit(X, significance=tested)
    assert set(auto.top_features()) <= set(found)


@pytest.mark.parametrize("n_features", [5, "auto"])
@pytest.mark.parametrize("cls", [KernelFSASL, LaplacianScore])
def test_without_anything_found_all_columns_take_part(noise, cls, n_features):
    tested = cls(n_features, fdr=0.05).fit(noise)
    plain = cls(n_features).fit(noise)
    assert tested.significance_.n_found == 0
    assert_identical(tested, plain)
    assert tested.n_features_ == plain.n_features_
    assert not hasattr(plain, "significance_")


@pytest.mark.parametrize("cls", [KernelFSASL, LaplacianScore])
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_kept_columns_come_first_excluded_ones_last_and_selected_ones_are_apart(planted, tested, cls, form):
    found = np.flatnonzero(tested.found)
    kept = int(np.flatnonzero(~tested.found)[4])
    selector = cls(5, keep=[kept], exclude=[found[0]], min_distance=3, fdr=0.05).fit(form(planted.X))
    test, chosen = selector.significance_, selector.top_features()
    assert chosen[0] == kept
    assert np.diff(np.sort(chosen)).min() >= 3
    assert test.found[chosen[1:]].all()
    assert not test.tested[found[0]]
    assert selector.ranking_[found[0]] == 50
    if cls is KernelFSASL:  # the kept column takes part, and the others are chosen beside it
        assert selector.alignment_curve_[0] == pytest.approx(selector.alignments_[kept])
    auto = cls("auto", keep=[kept], min_distance=4, fdr=0.05).fit(form(planted.X))
    assert set(auto.top_features()) <= {kept, *found}
    assert auto.ranking_[kept] == 1
    assert np.diff(np.sort(auto.top_features())).min() >= 4


def test_a_fit_tests_within_batches_at_its_rate_and_with_its_seed():
    X, plate = with_plates()
    selector = KernelFSASL(6, fdr=0.1, random_state=4).fit(X, batch=plate)
    assert set(selector.top_features()) == set(range(6))
    expected = column_significance(X, batch=plate, fdr=0.1, random_state=4)
    assert_array_equal(selector.q_values_, expected.q_values)
    assert selector.significance_.verdict == expected.verdict


def test_a_test_of_other_columns_is_refused(tested):
    with pytest.raises(ValueError, match=r"^significance is of 50 columns, but X has 60 columns\.$"):
        MaxVariance(3).fit(GROUPED, significance=tested)


def test_data_frames_and_dask_arrays_give_the_result_in_memory(planted, tested):
    frame = pd.DataFrame(planted.X, columns=[f"x{column}" for column in range(50)])
    expected = KernelFSASL(6, fdr=0.05).fit(planted.X)
    named = KernelFSASL(6, fdr=0.05).fit(frame)
    assert_identical(named, expected)
    assert list(named.get_feature_names_out()) == [f"x{column}" for column in np.sort(expected.top_features())]
    excluded = column_significance(frame, exclude=["x3"])
    assert_array_equal(np.flatnonzero(~excluded.tested), [3])
    with dask.config.set(scheduler="synchronous"):
        blocks = da.from_array(planted.X, chunks=(50, -1))
        found = KernelFSASL(6, fdr=0.05).fit(blocks)
        nothing = np.empty(0, dtype=int)
        every_column = Screening(np.zeros(50, dtype=bool), np.arange(50), KeepExclude(nothing, nothing))
        drawn = base.SignificanceTest(max_samples=70).of_columns(DaskMatrix(blocks), every_column)
    assert_array_equal(found.significance_.p_values, tested.p_values)
    assert_array_equal(found.ranking_, expected.ranking_)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-6)
    assert_allclose(found.alignments_, expected.alignments_, rtol=1e-6)
    assert drawn.n_samples == 70
    assert_array_equal(drawn.p_values, column_significance(planted.X, max_samples=70).p_values)
