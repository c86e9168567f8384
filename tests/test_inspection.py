"""What a selection consists of, and how good it is without labels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ufselect import MCFS, KernelFSASL, LaplacianScore, MaxVariance
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import (
    LearnedStructure,
    alignment_of_selection,
    compare_selectors,
    dense_columns,
    draws_of_samples,
    evaluate,
    explain_features,
    neighborhoods_kept,
    selection_overlap,
    stability_of,
)
from ufselect.significance import column_significance

SELECTIONS = st.lists(st.lists(st.integers(0, 20), unique=True, max_size=12), min_size=1, max_size=6)
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def planted():
    return make_planted_clusters(120, 4, 8, 32, random_state=0).X


class Chosen(MaxVariance):
    """Selects the given columns in that order."""

    def __init__(self, columns=(0,)):
        self.columns = columns
        self.n_features_to_select = len(columns)

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        order = [*self.columns, *np.setdiff1d(np.arange(X.shape[1]), self.columns)]
        self.ranking_ = np.argsort(order) + 1
        self.scores_ = X.shape[1] - self.ranking_.astype(float)
        self.n_features_ = len(self.columns)
        return self


def explain(X, columns, feature, **options):
    (explanation,) = explain_features(Chosen(columns).fit(X), X, [feature], **options)
    return explanation


# Overlap of selections


@given(SELECTIONS)
def test_overlap_is_symmetric_and_whole_with_itself(selections):
    overlap = selection_overlap(selections)
    np.testing.assert_array_equal(overlap, overlap.T)
    np.testing.assert_array_equal(np.diag(overlap), [1.0 if selection else 0.0 for selection in selections])
    assert ((overlap >= 0.0) & (overlap <= 1.0)).all()


def test_overlap_counts_what_is_common_of_what_there_is():
    np.testing.assert_array_equal(selection_overlap([[0, 1, 2], [2, 3]]), [[1.0, 0.25], [0.25, 1.0]])
    np.testing.assert_array_equal(selection_overlap([[0], [1]]), np.eye(2))


# What explains a feature


@given(SEEDS, st.floats(-5.0, 5.0).filter(lambda factor: abs(factor) > 0.01), st.floats(-10.0, 10.0))
def test_a_copy_of_a_selected_column_is_covered_whatever_its_scale(seed, factor, shift):
    X = np.random.default_rng(seed).standard_normal((40, 6))
    X = np.column_stack([X, factor * X[:, 2] + shift])
    explanation = explain(X, [0, 2, 4], 6)
    assert explanation.covered == pytest.approx(1.0, abs=1e-9)
    assert explanation.most_similar[0][0] == 2
    assert explanation.most_similar[0][1] == pytest.approx(np.sign(factor), abs=1e-9)


@given(SEEDS)
def test_noise_is_covered_by_nothing(seed):
    X = np.random.default_rng(seed).standard_normal((2000, 21))
    assert explain(X, range(20), 20).covered < 0.05


def test_a_selected_column_does_not_stand_for_itself():
    X = np.random.default_rng(0).standard_normal((500, 4))
    explanation = explain(X, [0, 1], 1)
    assert explanation.selected
    assert explanation.covered < 0.05
    assert [column for column, _ in explanation.most_similar] == [0]
    alone = explain(X, [1], 1)
    assert (alone.covered, alone.most_similar) == (0.0, ())


def test_with_as_many_columns_as_samples_nothing_is_said_about_what_they_cover():
    X = np.random.default_rng(0).standard_normal((10, 12))
    assert explain(X, range(9), 11).covered is None
    assert explain(X, range(8), 11).covered is not None
    assert explain(X, range(9), 0).covered is not None  # itself left out, there are eight


@given(SEEDS, st.integers(1, 6))
def test_the_most_similar_come_first_and_are_correlations(seed, count):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 8))
    explanation = explain(X, range(7), 7, n_similar=count)
    columns, values = zip(*explanation.most_similar, strict=True)
    wanted = np.corrcoef(X, rowvar=False)[7, :7]
    assert len(columns) == min(count, 7)
    np.testing.assert_allclose(values, wanted[list(columns)], atol=1e-9)
    np.testing.assert_allclose(np.abs(values), np.sort(np.abs(wanted))[::-1][: len(values)], atol=1e-9)


@pytest.mark.parametrize("selector", [MCFS(3, n_clusters=4), LaplacianScore(3)], ids=["MCFS", "LaplacianScore"])
def test_a_constant_feature_carries_nothing(planted, selector):
    X = np.column_stack([planted, np.full(len(planted), 7.3)])
    selector.fit(X)
    (explanation,) = explain_features(selector, X, [X.shape[1] - 1])
    assert explanation.rank == X.shape[1]
    assert not explanation.selected
    assert explanation.covered == 0.0
    assert explanation.alone == (0.0 if hasattr(selector, "embedding_") else None)
    assert [value for _, value in explanation.most_similar] == [0.0, 0.0, 0.0]


# Alignment with the learned structure


@pytest.mark.parametrize("selector", [MCFS(6, n_clusters=4), KernelFSASL(30)])
def test_gains_sum_to_the_alignment_curve(planted, selector):
    selector.fit(planted)
    curve = selector.alignment_curve_
    gains = [each.gain for each in explain_features(selector, planted, selector.top_features(40))]
    known = [gain for gain in gains if gain is not None]
    assert len(known) == min(len(curve), 40)
    assert gains[len(known) :] == [None] * (40 - len(known))
    np.testing.assert_allclose(np.cumsum(known), curve, rtol=1e-12)
    assert alignment_of_selection(selector) == pytest.approx(sum(known[: selector.n_features_]))
    peak = int(np.argmax(curve))
    assert known[peak] > 0.0 > known[peak + 1]  # the columns before agree better without it


def test_methods_without_an_embedding_have_no_structure(planted):
    selector = LaplacianScore(5).fit(planted)
    assert alignment_of_selection(selector) is None
    (explanation,) = explain_features(selector, planted, [0])
    assert explanation.alone is None
    assert explanation.gain is None
    with pytest.raises(ValueError, match="LaplacianScore learns no structure"):
        LearnedStructure(selector, planted)


def test_a_copy_is_aligned_as_its_original(planted):
    X = np.hstack([planted, planted[:, [3, 0]]])
    selector = MCFS(6, n_clusters=4).fit(X)
    np.testing.assert_array_equal(selector.copies_, [*[-1] * 40, 3, 0])
    original, copy = explain_features(selector, X, [0, 41])
    assert original.alone == copy.alone > 0.0
    assert copy.rank > 40 >= original.rank


# Neighbourhoods


@example(np.array([[7.0, 2.0], [9.0, 1e-10], [1e-10, 0.0], *[[1e-10, 1e-10]] * 5], dtype=np.float32).astype(float))
@given(hnp.arrays(np.float64, st.tuples(st.integers(8, 20), st.integers(1, 6)), elements=st.floats(-9, 9, width=32)))
def test_all_columns_in_any_order_keep_all_neighbours(X):
    d = X.shape[1]
    in_order, reversed_ = neighborhoods_kept(X, [range(d), range(d)[::-1]], standardize=False)
    assert in_order == 1.0
    if len(np.unique(X, axis=0)) == len(X):  # equal distances are parted by roundings
        assert reversed_ > 0.5


@pytest.mark.parametrize(("form", "standardize"), [(sp.csc_matrix, True), (sp.csr_array, False)])
def test_sparse_neighbourhoods_are_the_dense_ones(planted, form, standardize):
    X = np.where(np.abs(planted) > 0.3, planted, 0.0)  # no two rows alike: roundings would part equal distances
    chosen = [range(8), range(20), range(0, 40, 3)]
    wanted = neighborhoods_kept(X, chosen, standardize=standardize)
    np.testing.assert_allclose(neighborhoods_kept(form(X), chosen, standardize=standardize), wanted, rtol=1e-12)


def test_standardised_neighbourhoods_do_not_depend_on_units(planted):
    units = 10.0 ** np.random.default_rng(0).integers(-3, 4, 40)
    chosen = [range(8), range(0, 40, 3)]
    assert neighborhoods_kept(planted * units, chosen) == neighborhoods_kept(planted, chosen)
    raw = neighborhoods_kept(planted * units, chosen, standardize=False)
    assert raw != neighborhoods_kept(planted, chosen, standardize=False)


# Draws


@given(st.integers(1, 200), st.integers(0, 6), st.floats(0.05, 1.0), SEEDS)
def test_draws_are_parts_of_the_samples_each_once_and_in_order(n, n_draws, share, seed):
    draws = draws_of_samples(n, n_draws, share, random_state=seed)
    assert len(draws) == n_draws
    for rows in draws:
        assert len(rows) == max(round(share * n), 1)
        assert (np.diff(rows) > 0).all()
        assert 0 <= rows.min() <= rows.max() < n
    again = draws_of_samples(n, n_draws, share, random_state=seed)
    assert all(np.array_equal(a, b) for a, b in zip(draws, again, strict=True))


def test_names_are_those_of_the_data_if_a_selector_was_fitted_on_columns_in_another_order(planted):
    frame = pd.DataFrame(planted, columns=[f"x{column}" for column in range(40)])
    fitted = KernelFSASL(6, keep=["x3"], exclude="x1").fit(frame.iloc[:, ::-1])
    assert stability_of(fitted, frame, n_draws=2).frequencies[[3, 1]].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "measure",
    [
        lambda X, seed: column_significance(X, random_state=seed).p_values,
        lambda X, seed: stability_of(MaxVariance(4).fit(X), X, share=0.1, random_state=seed).frequencies,
        lambda X, seed: draws_of_samples(len(X), 2, random_state=seed),
        lambda X, seed: neighborhoods_kept(X.reshape(-1, 4), [[0, 1]], random_state=seed),
        lambda X, seed: [row.redundancy for row in evaluate(X, [0, 1], n_draws=0, random_state=seed).rows],
        lambda X, seed: [
            row.redundancy for row in compare_selectors({"v": MaxVariance(4)}, X, n_repeats=2, random_state=seed).rows
        ],
    ],
)
def test_random_states_are_those_that_scikit_learn_accepts(planted, measure):
    with pytest.raises(ValueError, match="cannot be used to seed"):
        measure(planted, "7")
    one, same, other = (measure(planted, np.random.RandomState(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    generator = np.random.RandomState(0)
    assert not np.array_equal(measure(planted, generator), measure(planted, generator))
    np.testing.assert_array_equal(measure(planted, np.int64(3)), measure(planted, 3))
    assert len(measure(planted, None)) == len(one)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: stability_of(MaxVariance(4).fit(X), X, n_draws=1), "n_draws == 1, must be >= 2."),
        (lambda X: stability_of(MaxVariance(4).fit(X), X, share=0), "share == 0, must be > 0."),
        (lambda X: stability_of(MaxVariance(4).fit(X), X, max_samples=0), "max_samples == 0, must be >= 1."),
        (lambda X: draws_of_samples(10, -1), "n_draws == -1, must be >= 0."),
        (lambda X: draws_of_samples(10, 2, 1.5), "share == 1.5, must be <= 1."),
        (lambda X: evaluate(X, [0], n_draws=-1), "n_draws == -1, must be >= 0."),
        (lambda X: evaluate(X, [0], n_draws=0, n_random=-1), "n_random == -1, must be >= 0."),
        (lambda X: compare_selectors({"v": MaxVariance()}, X, n_repeats=-1), "n_repeats == -1, must be >= 0."),
        (lambda X: column_significance(X, max_samples=2), "max_samples == 2, must be >= 3."),
        (lambda X: column_significance(X[:2]), ".*minimum of 3 is required.*"),
        (lambda X: column_significance(X, n_splits=0), "n_splits == 0, must be >= 1."),
        (lambda X: column_significance(X, n_splits="many"), "n_splits='many' must be \"auto\" or an integer."),
        (lambda X: column_significance(X, fdr=1.0), "fdr == 1.0, must be < 1."),
    ],
)
def test_numbers_of_draws_that_make_no_sense_are_refused(planted, call, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        call(planted)


# Columns


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(3, 12), st.integers(1, 5)), elements=st.floats(-1e6, 1e6)),
    st.booleans(),
)
def test_columns_come_with_mean_zero_and_variance_one_and_constant_ones_as_zero(X, sparse):
    found = dense_columns(sp.csc_matrix(X) if sparse else X, range(X.shape[1]))
    constant = X.min(axis=0) == X.max(axis=0)
    np.testing.assert_array_equal(found[:, constant], 0.0)
    apart = np.ptp(X, axis=0) > 1e-6 * np.abs(X).max(axis=0, initial=1.0)  # beyond what rounding makes of a mean
    np.testing.assert_allclose(found.mean(axis=0)[apart], 0.0, atol=1e-6)
    np.testing.assert_allclose(found.std(axis=0)[apart], 1.0, rtol=1e-6)


# Any kind of table


def forms_of(X):
    """The same whole numbers as an array, as lists, as frames and as sparse matrices in several formats."""
    names = [f"gene {column}" for column in range(X.shape[1])]
    duplicated = sp.csr_array(X)
    duplicated = sp.csr_array(
        (np.repeat(duplicated.data / 2.0, 2), np.repeat(duplicated.indices, 2), 2 * duplicated.indptr), shape=X.shape
    )
    return {
        "lists": X.tolist(),
        "integers": X.astype(np.int32),
        "pandas": pd.DataFrame(X, columns=names, index=[f"cell {row}" for row in range(len(X))]),
        "polars": pl.DataFrame({name: X[:, column] for column, name in enumerate(names)}),
        "COO of integers": sp.coo_matrix(X.astype(int)),
        "duplicate entries": duplicated,
    }


FORMS = ["lists", "integers", "pandas", "polars", "COO of integers", "duplicate entries"]


@pytest.fixture(scope="module")
def whole_numbers(planted):
    return np.rint(4.0 * planted)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_depends_on_the_kind_of_table(whole_numbers, form):
    table = forms_of(whole_numbers)[form]
    selector = MCFS(6, n_clusters=4).fit(whole_numbers)
    wanted, found = (explain_features(selector, X, range(40)) for X in (whole_numbers, table))
    for one, other in zip(wanted, found, strict=True):
        for part in ("feature", "rank", "selected", "score"):
            assert getattr(one, part) == getattr(other, part)
        assert [column for column, _ in one.most_similar] == [column for column, _ in other.most_similar]
        np.testing.assert_allclose([one.alone, one.covered], [other.alone, other.covered], rtol=1e-9)
    chosen = [range(8), range(0, 40, 3)]
    np.testing.assert_allclose(neighborhoods_kept(table, chosen), neighborhoods_kept(whole_numbers, chosen), rtol=1e-12)
    selector = MaxVariance(6).fit(whole_numbers)
    one, other = (stability_of(selector, X, n_draws=3) for X in (table, whole_numbers))
    assert (one.value, one.value_of_groups, one.by_chance) == (other.value, other.value_of_groups, other.by_chance)
    np.testing.assert_allclose(dense_columns(table, [3, 1]), dense_columns(whole_numbers, [3, 1]), rtol=1e-12)


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_columns_of_a_frame_may_be_given_by_name(whole_numbers, form):
    frame = forms_of(whole_numbers)[form]
    by_name, by_index = MCFS(6, n_clusters=4).fit(frame), MCFS(6, n_clusters=4).fit(whole_numbers)
    names = by_name.top_features()
    assert names[0].startswith("gene ")
    wanted = explain_features(by_index, whole_numbers, by_index.top_features())
    assert explain_features(by_name, frame, names) == wanted
    assert explain_features(by_name, whole_numbers, names) == wanted  # the selector knows the names
    assert explain_features(by_index, frame, names) == wanted
    assert neighborhoods_kept(frame, [names]) == neighborhoods_kept(whole_numbers, [by_index.top_features()])
    np.testing.assert_array_equal(selection_overlap([names, names[:3]]), [[1.0, 0.5], [0.5, 1.0]])
    np.testing.assert_array_equal(dense_columns(frame, names), dense_columns(whole_numbers, by_index.top_features()))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([40], r"there is no column 40: X has 40 columns, counted from 0\."),
        ([-1], r"there is no column -1: X has 40 columns"),
        (["gene 400"], r"there is no column named 'gene 400'; did you mean 'gene 4'\?"),
        (["width"], r"there is no column named 'width'\."),
    ],
)
def test_columns_that_do_not_exist_are_refused(whole_numbers, features, message):
    frame = forms_of(whole_numbers)["pandas"]
    selector = MaxVariance(6).fit(frame)
    with pytest.raises(ValueError, match=message):
        explain_features(selector, frame, features)


def test_a_frame_with_other_columns_than_those_of_the_fit_is_refused(whole_numbers):
    frame = pd.DataFrame(whole_numbers, columns=[f"x{column}" for column in range(whole_numbers.shape[1])])
    selector = KernelFSASL(3).fit(frame)
    for call in (lambda X: explain_features(selector, X, ["x1"]), lambda X: LearnedStructure(selector, X)):
        with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
            call(frame.iloc[:, ::-1])
        call(frame)
        call(whole_numbers)
        with pytest.raises(ValueError, match=r"X has 39 columns, but the selector was fitted on 40\."):
            call(whole_numbers[:, 1:])
