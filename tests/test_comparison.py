"""Several selectors on the same data."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from ufselect import MCFS, NDFS, KernelFSASL, LaplacianScore, MaxVariance
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import (
    compare_selectors,
    dense_columns,
    draws_of_samples,
    neighborhoods_kept,
    stability_of,
)
from ufselect.metrics import clustering_agreement, redundancy


@pytest.fixture(scope="module")
def planted():
    return make_planted_clusters(120, 4, 8, 32, random_state=0)


class Counting(MCFS):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y=None):
        type(self).fits += 1
        return super().fit(X, y)


def test_every_figure_is_that_of_the_function_for_it(planted):
    X, classes, _ = planted
    selectors = {"first": MCFS(30, random_state=3), "second": MaxVariance()}
    compared = compare_selectors(
        selectors, X, n_features_to_select=6, labels=classes, n_repeats=3, n_random=4, random_state=5
    )
    assert (compared.failures, compared.counted_by) == ({}, None)
    assert not hasattr(selectors["first"], "ranking_")
    assert (selectors["first"].n_features_to_select, selectors["second"].n_features_to_select) == (30, "auto")
    assert [row.method for row in compared.rows] == ["first", "second", "random"]
    for row, selector in zip(compared.rows, selectors.values(), strict=False):
        fitted = type(selector)(**{**selector.get_params(), "n_features_to_select": 6}).fit(X)
        chosen = fitted.top_features()
        np.testing.assert_array_equal(row.chosen, chosen)
        assert row.redundancy == redundancy(X[:, chosen])
        assert row.neighborhoods == neighborhoods_kept(X, [chosen])[0]
        agreement = clustering_agreement(dense_columns(X, chosen), classes)
        assert row.agreement == {"acc": agreement["acc"], "nmi": agreement["nmi"]}
        assert row.stability.value == stability_of(fitted, X, n_draws=3, random_state=5).value
        assert row.seconds > 0.0
        assert (row.n_fits, row.n_not_converged) == (4, 0)


def test_auto_is_the_number_that_the_first_selects_and_it_is_fitted_once(planted):
    Counting.fits = 0
    compared = compare_selectors({"MCFS": Counting(), "variance": MaxVariance()}, planted.X, n_repeats=0)
    assert Counting.fits == 1
    wanted = MCFS().fit(planted.X)
    assert compared.counted_by == "MCFS"
    assert {len(row.chosen) for row in compared.rows} == {wanted.n_features_}
    np.testing.assert_array_equal(compared.rows[0].chosen, wanted.top_features())


def test_a_selector_that_fails_is_left_out_with_the_reason(planted):
    selectors = {"many": MCFS(n_clusters=500), "variance": MaxVariance()}
    compared = compare_selectors(selectors, planted.X, n_repeats=0)
    assert [row.method for row in compared.rows] == ["variance", "random"]
    assert compared.counted_by == "variance"
    assert list(compared.failures) == ["many"]
    assert "n_clusters=500" in compared.failures["many"]
    with pytest.raises(ValueError, match=r"^no method could be fitted: n_clusters=500 [^:]*120\.$"):
        compare_selectors({"many": MCFS(n_clusters=500), "also": NDFS(n_clusters=500)}, planted.X)
    with pytest.raises(ValueError, match=r"^no method could be fitted: many: n_clusters=500 .* few: .* 120\.$"):
        compare_selectors({"many": MCFS(n_clusters=500), "few": LaplacianScore(n_neighbors=120)}, planted.X)


def test_fits_that_do_not_converge_are_counted_and_not_warned_about(planted):
    selectors = {"stopped": NDFS(n_clusters=4, max_iter=1, tol=0.0), "variance": MaxVariance()}
    compared = compare_selectors(selectors, planted.X, n_features_to_select=5, n_repeats=2)  # warnings are errors
    assert [(row.n_fits, row.n_not_converged) for row in compared.rows] == [(3, 3), (3, 0), (0, 0)]


def test_random_selections_depend_on_the_seed_alone(planted):
    def random_row(*selectors, **options):
        return compare_selectors(dict(selectors), planted.X, n_features_to_select=5, n_repeats=0, **options).rows[-1]

    first, again = random_row(("a", MaxVariance())), random_row(("b", LaplacianScore()), ("c", MaxVariance()))
    assert (first.redundancy, first.neighborhoods) == (again.redundancy, again.neighborhoods)
    assert (first.seconds, first.stability, first.n_fits) == (None, None, 0)
    assert random_row(("a", MaxVariance()), random_state=1).redundancy != first.redundancy
    assert random_row(("a", MaxVariance()), n_random=0).method == "a"


@pytest.mark.parametrize("form", [pd.DataFrame, sp.coo_array])
def test_any_kind_of_table_is_compared(planted, form):
    X = np.where(np.abs(planted.X) > 0.3, planted.X, 0.0)  # no two rows alike: rounding would break ties
    selectors = {"KernelFSASL": KernelFSASL(), "variance": MaxVariance()}
    wanted, found = (
        compare_selectors(selectors, each, n_features_to_select=6, n_repeats=2, labels=planted.clusters)
        for each in (X, form(X))
    )
    for one, other in zip(wanted.rows, found.rows, strict=True):
        assert set(one.chosen) == set(other.chosen)
        np.testing.assert_allclose(
            [one.redundancy, one.neighborhoods, *one.agreement.values()],
            [other.redundancy, other.neighborhoods, *other.agreement.values()],
            rtol=1e-9,
        )


@pytest.mark.parametrize("names", [["round", 2, 3.5, "thin"], [False, 2, -3, 4]])
def test_labels_may_be_of_any_type(planted, names):
    names = np.array(names, dtype=object)[planted.clusters]
    by_name, by_number = (
        compare_selectors({"v": MaxVariance()}, planted.X, n_features_to_select=5, n_repeats=0, labels=labels)
        for labels in (names.tolist(), planted.clusters)
    )
    assert by_name.rows[0].agreement == pytest.approx(by_number.rows[0].agreement)


def test_columns_are_kept_and_excluded_by_name_in_every_fit(planted):
    frame = pd.DataFrame(planted.X, columns=[f"x{column}" for column in range(40)])
    frame["rare"] = 1.0  # constant in the first subset
    frame.loc[draws_of_samples(120, 3)[0], "rare"] = 0.0
    named = {name: cls(keep=["rare", "x3"], exclude="x1") for name, cls in (("v", MaxVariance), ("f", KernelFSASL))}
    by_index = {name: cls(keep=[40, 3], exclude=[1]) for name, cls in (("v", MaxVariance), ("f", KernelFSASL))}
    found, expected = (
        compare_selectors(selectors, X, n_features_to_select=6, n_repeats=3)
        for selectors, X in ((named, frame), (by_index, frame.to_numpy()))
    )
    assert found.failures == {}
    for row, other in zip(found.rows[:2], expected.rows, strict=False):
        assert {40, 3} <= set(row.chosen)
        assert 1 not in row.chosen
        np.testing.assert_array_equal(row.chosen, other.chosen)
        assert row.stability.value == other.stability.value


class Peaks:
    """A plain class, as experiments take it."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X):
        self.scores_ = np.max(np.abs(X) ** self.power, axis=0)
        return self


class Reversed:
    n_features_to_select = None

    def fit(self, X, batch=None):
        self.ranking_ = np.arange(X.shape[1], 0, -1)
        self.n_features_ = self.n_features_to_select or 3
        self.batch_ = batch


def test_plain_objects_that_rank_columns_are_compared(planted):
    methods = {"peaks": Peaks(), "reversed": Reversed()}
    found = compare_selectors(methods, planted.X, n_features_to_select=4, n_repeats=2)
    assert found.failures == {}
    np.testing.assert_array_equal(found.rows[0].chosen, np.argsort(-np.abs(planted.X).max(axis=0))[:4])
    np.testing.assert_array_equal(found.rows[1].chosen, [39, 38, 37, 36])
    assert (found.rows[1].stability.value, found.rows[2].stability) == (1.0, None)
    assert not hasattr(methods["peaks"], "scores_")
    share = compare_selectors(methods, planted.X, n_features_to_select=0.1, n_repeats=0)
    np.testing.assert_array_equal(share.rows[0].chosen, found.rows[0].chosen)


def test_a_plain_object_counts_columns_only_if_it_says_how_many(planted):
    found = compare_selectors({"peaks": Peaks(), "reversed": Reversed()}, planted.X, n_repeats=0)
    assert found.counted_by == "reversed"
    assert len(found.rows[0].chosen) == 3
    reason = "Peaks does not choose the number of features; give it, or put another method first."
    assert found.failures == {"peaks": reason}


class Silent:
    def fit(self, X):
        return self


class Short:
    def fit(self, X):
        self.scores_ = X[0, 1:]


class Broken:
    def fit(self, X):
        raise RuntimeError("out of luck")


def test_plain_objects_that_do_not_rank_are_left_out_with_the_reason(planted):
    methods = {each.__name__: each() for each in (Silent, Short, Broken)} | {"v": MaxVariance()}
    assert compare_selectors(methods, planted.X, n_features_to_select=4, n_repeats=0).failures == {
        "Silent": "the fit of Silent sets neither ranking_ nor scores_.",
        "Short": "scores_ of Short has the shape (39,), but X has 40 columns.",
        "Broken": "RuntimeError: out of luck",
    }
    for wrong in (Peaks, 3, None):
        with pytest.raises(TypeError, match=r"^wrong must be an object with a method fit, got "):
            compare_selectors({"wrong": wrong}, planted.X)


def test_every_fit_is_within_batches(planted):
    batch = np.repeat(["a", "b", "c"], 40)
    shifted = planted.X + 9.0 * np.repeat([[0.0], [1.0], [2.0]], 40, axis=0) * (np.arange(40) % 5 == 0)
    methods = {
        "KernelFSASL": KernelFSASL(),
        "variance": MaxVariance(),
        "own": Counting(),
        "peaks": Peaks(),
        "other": Reversed(),
    }
    settings = {"n_features_to_select": 5, "n_repeats": 2}
    found = compare_selectors(methods, shifted, batch=batch, **settings)
    assert found.failures == {"own": "the fit of Counting takes no batch.", "peaks": "the fit of Peaks takes no batch."}
    assert [row.method for row in found.rows] == ["KernelFSASL", "variance", "other", "random"]
    for row, selector in zip(found.rows[:2], (KernelFSASL(5), MaxVariance(5)), strict=True):
        np.testing.assert_array_equal(row.chosen, selector.fit(shifted, batch=batch).top_features())
        assert row.stability.value == stability_of(selector, shifted, n_draws=2, batch=batch).value
    with pytest.raises(ValueError, match=r"^batch has 3 values, but X has 120 samples\.$"):
        compare_selectors(methods, shifted, batch=["a", "b", "c"])


def test_what_makes_no_sense_is_refused(planted):
    with pytest.raises(ValueError, match="n_repeats=1 is too few"):
        compare_selectors({"v": MaxVariance()}, planted.X, n_repeats=1)
    with pytest.raises(ValueError, match="a selector cannot be named 'random'"):
        compare_selectors({"random": MaxVariance()}, planted.X)
