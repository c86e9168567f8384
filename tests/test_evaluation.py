"""Any list of columns, beside those of a selector and random ones."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from ufselect import MCFS, NDFS, KernelFSASL, MaxVariance
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import LearnedStructure, compare_selectors, evaluate, measures
from ufselect.metrics import redundancy

N_DRAWS, N_RANDOM, SEED = 3, 4, 5


@pytest.fixture(scope="module")
def planted():
    return make_planted_clusters(120, 4, 8, 32, random_state=0)


@pytest.fixture(scope="module")
def lists(planted):
    return {"planted": np.flatnonzero(planted.informative)[:6], "noise": np.flatnonzero(~planted.informative)[:6]}


@pytest.fixture(scope="module")
def evaluation(planted, lists):
    return evaluate(planted.X, lists, labels=planted.clusters, n_random=N_RANDOM, n_draws=N_DRAWS, random_state=SEED)


@pytest.fixture(scope="module")
def comparison(planted):
    selectors = {"KernelFSASL": KernelFSASL(random_state=SEED), "variance": MaxVariance()}
    settings = {"n_repeats": N_DRAWS, "n_random": N_RANDOM, "random_state": SEED}
    return compare_selectors(selectors, planted.X, n_features_to_select=6, labels=planted.clusters, **settings)


def shared(row):
    """The figures that comparisons have as well."""
    agreement = getattr(row, "agreement", None) or {"acc": row.acc, "nmi": row.nmi}
    return row.redundancy, row.neighborhoods, agreement["acc"], agreement["nmi"], row.stability and row.stability.value


def kernel_alignment(X, columns, T):
    """The cosine between two kernels, as it is defined."""
    part, structure = X[:, columns] @ X[:, columns].T, T @ T.T
    return np.sum(part * structure) / (np.linalg.norm(part) * np.linalg.norm(structure))


# What is measured


def test_rows_are_the_lists_then_the_selector_then_chance(evaluation, lists):
    assert [row.name for row in evaluation.rows] == ["planted", "noise", "KernelFSASL", "random"]
    assert {len(row.columns) for row in evaluation.rows} == {6}
    np.testing.assert_array_equal(evaluation.rows[1].columns, lists["noise"])
    assert (evaluation.selector, evaluation.n_fits, evaluation.n_not_converged) == ("KernelFSASL", 1 + N_DRAWS, 0)


def test_figures_that_comparisons_have_are_the_same(planted, evaluation, comparison):
    (by_method, variance, by_chance) = comparison.rows
    assert shared(evaluation.rows[2]) == shared(by_method)
    assert shared(evaluation.rows[3]) == shared(by_chance)
    np.testing.assert_array_equal(evaluation.rows[2].columns, by_method.chosen)
    given = evaluate(planted.X, variance.chosen, labels=planted.clusters, n_draws=0, n_random=0).rows[0]
    assert shared(given)[:4] == shared(variance)[:4]


@pytest.mark.parametrize("scale", ["standard", None])
def test_alignments_are_cosines_between_kernels(planted, lists, scale):
    selector = MCFS(6, n_clusters=4, scale=scale).fit(planted.X)
    X = selector._prepared(planted.X).values
    T = selector.embedding_ - selector.embedding_.mean(axis=0)
    every = [*lists.values(), np.arange(40)]
    found = LearnedStructure(selector, planted.X).alignments_of(every)
    np.testing.assert_allclose(found, [kernel_alignment(X, columns, T) for columns in every], rtol=1e-10)


def test_planted_columns_beat_chance_and_noise_does_not(evaluation):
    planted, noise, own, random = evaluation.rows
    assert (planted.n_random_below, own.n_random_below, random.n_random_below) == (N_RANDOM, N_RANDOM, None)
    assert noise.n_random_below < N_RANDOM
    assert own.alignment > planted.alignment > random.alignment > noise.alignment


def test_spreads_are_those_of_random_lists(planted, evaluation):
    random = evaluation.rows[-1]
    assert all(row.spreads == {} for row in evaluation.rows[:-1])
    rng = np.random.default_rng(SEED)
    drawn = {str(index): rng.choice(40, size=6, replace=False) for index in range(N_RANDOM)}
    each = evaluate(planted.X, drawn, selector=KernelFSASL(random_state=SEED), n_random=0, n_draws=0).rows[:N_RANDOM]
    alignments = [row.alignment for row in each]
    assert random.alignment == pytest.approx(np.mean(alignments))
    assert random.spreads["alignment"] == pytest.approx(np.std(alignments, ddof=1))
    assert {"redundancy", "neighborhoods", "acc", "nmi"} < random.spreads.keys()


def test_on_subsets_the_structure_is_learned_anew(planted, evaluation, lists):
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(N_DRAWS):
        subset = planted.X[np.sort(rng.choice(120, size=96, replace=False))]
        fitted = KernelFSASL(6, random_state=SEED).fit(subset)
        found.append(LearnedStructure(fitted, subset).alignments_of([lists["planted"]])[0])
    row = evaluation.rows[0]
    assert row.alignment_on_subsets == pytest.approx(np.mean(found))
    assert row.spread_on_subsets == pytest.approx(np.std(found, ddof=1))
    assert (row.stability, evaluation.rows[3].stability) == (None, None)
    assert 0.0 < evaluation.rows[2].stability.value <= 1.0


# What may be given


def test_without_subsets_labels_or_random_lists_their_figures_are_missing(planted):
    found = evaluate(planted.X, [0, 1], n_draws=0, n_random=0)
    assert [row.name for row in found.rows] == ["given", "KernelFSASL"]
    for row in found.rows:
        missing = (row.acc, row.nmi, row.alignment_on_subsets, row.spread_on_subsets, row.stability, row.n_random_below)
        assert missing == (None,) * 6
    (row,) = evaluate(planted.X, range(40), n_draws=2).rows  # all columns have nothing beside them
    assert (row.n_random_below, row.stability, row.neighborhoods) == (None, None, 1.0)
    assert row.alignment == pytest.approx(KernelFSASL(40).fit(planted.X).alignment_curve_[39], rel=1e-12)


def test_lists_of_different_lengths_have_their_own_company(planted):
    found = evaluate(planted.X, {"a": [0], "b": [1, 2], "c": [3]}, n_draws=0, n_random=2)
    names = ["a", "c", "KernelFSASL", "random", "b", "KernelFSASL", "random"]
    assert [(row.name, len(row.columns)) for row in found.rows] == list(zip(names, [1, 1, 1, 1, 2, 2, 2], strict=True))


def test_columns_by_name_by_mask_or_repeated_are_the_same(planted):
    X = pd.DataFrame(planted.X, columns=[f"x{column}" for column in range(40)])
    settings = {"n_draws": 0, "n_random": 0, "selector": MCFS(n_clusters=4)}
    mask = np.isin(np.arange(40), [3, 5])
    given = [["x3", "x5"], [3, 5], mask, mask.tolist(), ["x3", "x5", "x3", 5]]
    found = [evaluate(X, each, **settings).rows[0] for each in given]
    assert [row.columns.tolist() for row in found] == [[3, 5]] * 5
    assert len({row.alignment for row in found}) == 1


def test_sparse_data_are_evaluated_as_dense_data(planted, lists):
    X = np.where(np.abs(planted.X) > 0.3, planted.X, 0.0)
    wanted, found = (evaluate(each, lists, n_draws=2, n_random=2).rows for each in (X, sp.coo_array(X)))
    for one, other in zip(wanted, found, strict=True):
        assert other.alignment == pytest.approx(one.alignment, rel=1e-6)
        assert other.alignment_on_subsets == pytest.approx(one.alignment_on_subsets, rel=1e-6)
        assert other.redundancy == pytest.approx(one.redundancy, rel=1e-9)


def test_copies_count_as_what_they_copy_and_constant_columns_add_nothing(planted):
    X = np.column_stack([planted.X, planted.X[:, 3], np.full(120, 7.0)])
    settings = {"n_draws": 0, "n_random": 0}
    alone, copy, both, beside, constant = (
        evaluate(X, columns, **settings).rows[0] for columns in ([3], [40], [3, 40], [3, 41], [41])
    )
    assert alone.alignment == copy.alignment == beside.alignment
    assert both.alignment == pytest.approx(alone.alignment)  # a copy agrees no better
    assert (constant.alignment, constant.redundancy) == (0.0, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_columns_than_samples(dtype):
    X = make_planted_clusters(30, 3, 10, 90, random_state=0).X.astype(dtype)
    selector = KernelFSASL(50).fit(X)
    found = LearnedStructure(selector, X).alignments_of([selector.top_features()])
    np.testing.assert_allclose(found[0], selector.alignment_curve_[49], rtol=1e-5 if dtype == np.float32 else 1e-12)


def test_the_selector_is_left_alone_and_fits_that_do_not_converge_are_counted(planted):
    selector = NDFS(30, n_clusters=4, max_iter=1, tol=0.0)
    found = evaluate(planted.X, [0, 1, 2], selector=selector, n_draws=2)  # warnings are errors
    assert (found.selector, found.n_fits, found.n_not_converged) == ("NDFS", 3, 3)
    assert not hasattr(selector, "ranking_")
    assert selector.n_features_to_select == 30


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_redundancy_of_many_columns_is_that_of_few(planted, monkeypatch, form):
    X = form(np.column_stack([np.where(planted.X > 0.3, planted.X, 0.0), np.full(120, 7.0)]))
    monkeypatch.setattr(measures, "LARGEST_DENSE_SYSTEM", 5)
    columns = [*range(30), 40]
    (found,) = measures.measure_selections(X, [np.array(columns)], standardize=True, classes=None)
    assert found["redundancy"] == pytest.approx(redundancy(X[:, columns]), rel=1e-10)


def test_columns_that_the_selector_excludes_have_no_part_in_the_agreement(planted):
    X = pd.DataFrame(planted.X, columns=[f"x{column}" for column in range(40)])
    settings = {"selector": KernelFSASL(exclude=["x7"], keep=["x3"]), "n_draws": 2, "n_random": 0}
    lists = {"with": ["x1", "x2", "x7"], "without": ["x1", "x2", "x8"]}
    given, without, own = evaluate(X, lists, **settings).rows
    fitted = KernelFSASL(3, exclude=["x7"], keep=["x3"]).fit(X)
    assert own.alignment == pytest.approx(fitted.alignment_curve_[2], rel=1e-12)
    assert own.columns[0] == 3
    wanted = LearnedStructure(fitted, X).alignments_of([np.array([1, 2]), np.array([1, 2, 8])])
    assert [given.alignment, without.alignment] == pytest.approx(wanted)
    with pytest.raises(ValueError, match=r"^X has 39 columns, but the selector was fitted on 40\.$"):
        LearnedStructure(fitted, planted.X[:, 1:])


def test_names_that_the_data_lack_are_left_out_with_a_warning(planted):
    X = pd.DataFrame(planted.X, columns=[f"x{column}" for column in range(40)])
    settings = {"n_draws": 0, "n_random": 0}
    said = r"^Columns of the list 'panel' that X does not have are left out: 'CD3', 'CD8'\.$"
    with pytest.warns(UserWarning, match=said):
        found = evaluate(X, {"panel": ["x1", "CD3", 7, "CD8"], "other": ["x2"]}, **settings)
    expected = evaluate(X, {"panel": ["x1", "x7"], "other": ["x2"]}, **settings)
    assert [row.alignment for row in found.rows] == [row.alignment for row in expected.rows]
    with pytest.raises(ValueError, match=r"^there is no column named 'x40'; did you mean 'x4'\?$"):
        evaluate(X, ["x40", "zzz"], **settings)


# What makes no sense


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ([], r"^the list 'given' is empty; give at least one column\.$"),
        ({}, r"^columns has no list to evaluate\.$"),
        ({"a": [1], "b": np.zeros(40, dtype=bool)}, r"^the list 'b' is empty"),
        ([True, False], r"^a mask of 2 values does not fit 40 columns\.$"),
        ([40], r"^there is no column 40: X has 40 columns"),
        (["x1"], r"^there is no column named 'x1': the columns of X have no names\.$"),
        ({"random": [1]}, r"^a list cannot be named 'random'"),
        (
            {"KernelFSASL": [1]},
            r"^a list cannot be named 'KernelFSASL': the row for the columns that it selects has that name\.$",
        ),
    ],
)
def test_lists_that_make_no_sense_are_refused(planted, columns, sentence):
    with pytest.raises(ValueError, match=sentence):
        evaluate(planted.X, columns)


@pytest.mark.parametrize("columns", ["x1", 3, None])
def test_what_is_no_list_is_refused(planted, columns):
    with pytest.raises(TypeError, match="a list of columns has indices or names"):
        evaluate(planted.X, columns)


@pytest.mark.parametrize(
    "judge", [evaluate, lambda X, _, **options: compare_selectors({"v": MaxVariance()}, X, **options)]
)
@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (np.zeros(120), r"^labels are the same for all samples; at least 2 classes are needed\.$"),
        (np.arange(5), r"^labels have the shape \(5,\), but there must be one for each of 120 samples\.$"),
        ([None, np.nan, *range(118)], r"^labels are missing for 2 samples\.$"),
        (pd.array([None, *"ab" * 59, "a"], dtype="string"), r"^labels are missing for 1 sample\.$"),
        (pd.array([None, *[1, 2] * 59, 1], dtype="Int64"), r"^labels are missing for 1 sample\.$"),
        ([1, "1"] * 60, r"^labels have 1 as a number and as a text; make all of them texts\.$"),
    ],
)
def test_labels_that_make_no_sense_are_refused(planted, judge, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        judge(planted.X, [1, 2], labels=labels)


def test_a_selector_without_structure_and_a_single_subset_are_refused(planted):
    with pytest.raises(ValueError, match=r"^MaxVariance learns no structure to align columns with; use KernelFSASL"):
        evaluate(planted.X, [1], selector=MaxVariance())
    with pytest.raises(ValueError, match=r"^n_draws=1 is too few"):
        evaluate(planted.X, [1], n_draws=1)
