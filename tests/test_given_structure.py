"""A structure that the user brings: what is selected by it, what is found, and what is refused."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from every_selector import METHODS, assert_well_formed, make, may_stop_early
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from ufselect import FSSL, MCFS, SPEC, KernelFSASL, LaplacianScore
from ufselect.base import BaseSelector, structure
from ufselect.base.structure import TAKING, GivenStructure
from ufselect.columns.batches import Batches
from ufselect.datasets import make_planted_clusters
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.smooth_target import smooth_target
from ufselect.significance import column_significance, fit_tested

TAKES = [name for name, cls in METHODS.items() if cls._learn_from is not BaseSelector._learn_from]
BY_NEIGHBORS = ["LaplacianScore", "TraceRatio", "SPEC", "NDFS", "CGSSL", "JELSR"]
X, Y, INFORMATIVE = make_planted_clusters(90, 3, 6, 18, random_state=0)
X = X[:, np.argsort(~INFORMATIVE, kind="stable")]
USEFUL = set(range(6))
STANDARD = (X - X.mean(axis=0)) / X.std(axis=0)
GRAPH = KernelFSASL(adaptive=False).fit(X).neighbor_graph_
SEEN = 3.0 * np.eye(3)[Y] + np.random.default_rng(7).standard_normal((90, 3))  # had no part in X
KINDS = {"labels": Y, "embedding": SEEN, "graph": KernelFSASL(adaptive=False).fit(SEEN).neighbor_graph_}
PLATE = np.arange(90) % 3

of_every_kind = pytest.mark.parametrize("kind", KINDS)
of_methods = pytest.mark.parametrize("name", TAKES)


def rows_of(given, rows):
    return given[rows][:, rows] if sp.issparse(given) else given[rows]


# What is selected


def test_messages_name_the_methods_that_take_a_structure():
    assert sorted(TAKING.replace(" and ", ", ").split(", ")) == sorted(TAKES)


@may_stop_early
@of_every_kind
@of_methods
def test_a_fit_says_which_structure_was_given(name, kind):
    selector = make(name, n_clusters=3).fit(X, structure=KINDS[kind])
    assert_well_formed(selector, X.shape)
    assert ("this is a supervised selection" in selector.given_structure_) == (kind == "labels")
    assert not hasattr(selector.fit(X), "given_structure_")


def test_the_graph_of_a_fit_gives_the_same_columns_as_that_fit():
    learned, given = KernelFSASL(8, adaptive=False).fit(X), KernelFSASL(8).fit(X, structure=GRAPH)
    assert_array_equal(given.ranking_, learned.ranking_)
    assert_allclose(given.alignment_curve_, learned.alignment_curve_)
    T = smooth_target(structure_laplacian(None, GRAPH, 1.0), nontrivial=True)
    assert_array_equal(KernelFSASL(8).fit(X, structure=T).ranking_, learned.ranking_)


@pytest.mark.parametrize("method", [MCFS, FSSL])
def test_the_embedding_of_a_fit_gives_the_same_columns_as_that_fit(method):
    learned = method(8, n_clusters=3).fit(X)
    assert_array_equal(method(8).fit(X, structure=learned.embedding_).top_features(), learned.top_features())


@may_stop_early
@pytest.mark.parametrize("name", BY_NEIGHBORS)
def test_the_neighbours_in_an_embedding_are_those_of_the_columns_if_these_are_the_embedding(name):
    params = {"scale": "standard", "local_model": "lpp"}
    learned, given = make(name, **params).fit(X), make(name, **params).fit(X, structure=STANDARD)
    assert_allclose(given.scores_, learned.scores_, rtol=1e-6, atol=1e-9)


@may_stop_early
def test_labels_select_what_tells_the_groups_apart():
    data = make_planted_clusters(120, 4, 6, 60, random_state=1)
    for name in TAKES:
        best = make(name, 4).fit(data.X, structure=data.clusters.astype(str)).top_features()
        assert np.count_nonzero(data.informative[best]) >= 3, name


@may_stop_early
@of_every_kind
@of_methods
def test_the_order_of_the_samples_does_not_matter(name, kind):
    rows = np.random.default_rng(0).permutation(len(X))
    one = make(name, n_clusters=3).fit(X, structure=KINDS[kind])
    other = make(name, n_clusters=3).fit(X[rows], structure=rows_of(KINDS[kind], rows))
    if name in ("NDFS", "CGSSL"):  # which start from k-means
        assert len({*one.top_features()} & {*other.top_features()}) >= 3
        return
    assert_allclose(other.scores_, one.scores_, rtol=1e-5, atol=1e-7 * np.abs(one.scores_).max())


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["z", "m", "a"])[Y],
        pd.Series(Y).map({0: "b", 1: "a", 2: "c"}).astype("category"),
        Y.astype(float),
        pd.DataFrame({"kind": np.array(list("xyz"))[Y]}),
        [f"group {9 - label}" for label in Y],
    ],
)
def test_names_of_groups_do_not_matter(labels):
    one, other = (KernelFSASL(6).fit(X, structure=each) for each in (Y, labels))
    assert other.given_structure_ == one.given_structure_
    assert_array_equal(other.top_features(), one.top_features())
    assert_allclose(other.scores_, one.scores_)


def test_numbers_that_are_not_whole_are_an_embedding_and_a_column_always_is():
    time = np.linspace(0.0, 4.5, 90)
    assert KernelFSASL(6).fit(X, structure=time).given_structure_ == "the given embedding of 1 column"
    whole = np.arange(90.0)
    assert KernelFSASL(6).fit(X, structure=whole[:, None]).given_structure_ == "the given embedding of 1 column"


def test_only_the_leading_directions_of_a_wide_embedding_count():
    wide = np.random.default_rng(0).standard_normal((90, 80))
    wide[:, :3] += 9.0 * np.eye(3)[Y]
    given = GivenStructure.of(wide, 90)
    assert given.points.shape == (90, 60)
    centered = wide - wide.mean(axis=0)
    assert np.sum(given.points**2) > 0.95 * np.sum(centered**2)
    assert_allclose(np.linalg.norm(given.points, 2), np.linalg.norm(centered, 2))


def test_samples_of_large_groups_are_joined_to_some_of_their_group(monkeypatch):
    data = make_planted_clusters(900, 3, 6, 18, random_state=2)
    exact = LaplacianScore(6).fit(data.X, structure=data.clusters)
    parts = [data.X[data.clusters == each] for each in range(3)]
    within = sum(len(part) * part.var(axis=0) for part in parts)
    assert_allclose(exact.laplacian_scores_, within / (900 * data.X.var(axis=0)))
    whole = SPEC(6, scale="standard", criterion="phi2").fit(data.X, structure=data.clusters)
    assert_allclose(whole.scores_, exact.scores_)
    monkeypatch.setattr(structure, "_MOST_PAIRS", 1000)
    graph = GivenStructure.of(data.clusters, 900).affinity
    assert graph.nnz <= 900 * 100
    row, column = graph.nonzero()
    assert_array_equal(data.clusters[row], data.clusters[column])
    close = SPEC(6, scale="standard", criterion="phi2").fit(data.X, structure=data.clusters)
    assert_allclose(2.0 - close.scores_, exact.laplacian_scores_, rtol=0.02)


def test_a_structure_goes_with_wishes_for_columns():
    given = {"structure": Y}
    kept = KernelFSASL(4, keep=[20], exclude=[0]).fit(X, **given)
    assert 20 in kept.top_features()
    assert kept.ranking_[0] == X.shape[1]
    assert np.all(np.diff(np.sort(KernelFSASL(4, min_distance=3).fit(X, **given).top_features())) >= 3)
    groups = KernelFSASL(2, groups=np.arange(24) // 2).fit(X, **given)
    assert len(np.unique(groups.top_features() // 2)) == 2
    assert KernelFSASL(3).fit(pd.DataFrame(X).rename(columns="x{}".format), **given).top_features()[0].startswith("x")


# Batches and sparse columns


def test_what_differs_between_batches_is_no_part_of_a_structure():
    shifted = X.copy()
    shifted[:, 12:18] += 9.0 * np.random.default_rng(0).standard_normal((3, 6))[PLATE]
    both = np.hstack([np.eye(3)[Y], 5.0 * np.eye(3)[PLATE]])
    assert set(KernelFSASL(4).fit(shifted, structure=both).top_features()) <= set(range(12, 18))
    within = KernelFSASL(4).fit(shifted, structure=both, batch=PLATE)
    assert set(within.top_features()) <= USEFUL
    assert_allclose(Batches.of(PLATE, 90).indicator @ GivenStructure.of(both, 90, Batches.of(PLATE, 90)).factor, 0.0,
                    atol=1e-9)  # fmt: skip
    for given in (PLATE, 1.5 * PLATE):
        with pytest.raises(ValueError, match=r"^structure is the same for all samples of each batch: nothing .*\.$"):
            KernelFSASL(6).fit(shifted, structure=given, batch=PLATE)


@may_stop_early
@of_every_kind
@pytest.mark.parametrize("batch", [None, np.arange(90) % 2])
def test_sparse_columns_give_what_dense_ones_give(kind, batch):
    counts = sp.csr_array(np.random.default_rng(1).poisson(0.4 + Y[:, None] * (np.arange(24) < 8)) * 1.0)
    for name in TAKES:
        dense, sparse = (
            make(name, n_clusters=3).fit(each, structure=KINDS[kind], batch=batch)
            for each in (counts.toarray(), counts)
        )
        assert_allclose(sparse.scores_, dense.scores_, rtol=1e-5, atol=1e-6 * np.abs(dense.scores_).max(), err_msg=name)


# The test of columns


@of_every_kind
def test_columns_of_noise_are_found_as_often_as_the_level_says(kind):
    noise = np.random.default_rng(3).standard_normal((90, 400))
    result = column_significance(noise, structure=KINDS[kind])
    assert binom.ppf(0.001, 400, 0.05) <= np.sum(result.p_values <= 0.05) <= binom.ppf(0.999, 400, 0.05)
    assert result.n_found <= 2
    assert (result.n_splits, result.n_strata) == (0, 1)


def test_counts_that_only_follow_depth_are_not_found():
    rng = np.random.default_rng(4)
    depth = np.where(rng.random(90) < 0.1 + 0.4 * Y, 1.5, 0.3)
    counts = rng.poisson(depth[:, None], (90, 400)) * 1.0
    counts[:, :5] += rng.poisson(3.0 * (Y == 0)[:, None], (90, 5))
    assert column_significance(counts, structure=Y, strata=None).n_found > 30
    result = column_significance(sp.csr_array(counts), structure=Y)
    assert result.n_strata > 1
    assert set(range(5)) <= set(np.flatnonzero(result.found))
    assert result.n_found <= 8


@of_every_kind
def test_columns_with_the_structure_are_found(kind):
    result = column_significance(X, structure=KINDS[kind])
    assert set(np.flatnonzero(result.found)) - USEFUL in (set(), {20})
    assert set(np.flatnonzero(result.found)) >= USEFUL
    assert "share the given structure (false discovery rate 5 %)." in result.verdict
    assert "Each column was compared with the given structure on 90 samples" in result.procedure
    assert "p-values are too small" in result.limits
    fitted = KernelFSASL(4, fdr=0.05).fit(X, structure=KINDS[kind])
    assert_array_equal(fitted.significance_.p_values, result.p_values)


def test_nothing_is_found_in_a_structure_of_chance():
    result = column_significance(X, structure=np.random.default_rng(0).permutation(Y))
    assert result.verdict == "The given structure was not found in 24 columns (false discovery rate 5 %)."


def test_some_of_many_samples_are_tested_where_columns_are_observed():
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    result = column_significance(holes, structure=Y, max_samples=60, groups=np.arange(24) // 2, batch=PLATE)
    assert (result.n_samples, result.n_strata) == (60, 3)
    assert set(np.flatnonzero(result.found)) >= USEFUL
    assert np.count_nonzero(result.found) <= 8


def test_columns_that_a_structure_was_computed_from_are_found_whatever_they_are():
    assert {10, 11} <= set(np.flatnonzero(column_significance(X, structure=STANDARD[:, 10:12]).found))


def test_the_test_of_filled_columns_is_of_the_given_structure():
    missing = np.random.default_rng(0).random(X.shape) < 0.1
    selector = KernelFSASL(4, fdr=0.05)
    fit_tested(selector, X, 0.05, missing=missing, structure=Y)
    assert selector.significance_.of_given_structure


# What is refused

HOSTILE = {
    "samples": (Y[:50], "structure has 50 samples, but X has 90."),
    "graph of other samples": (GRAPH[:50, :50], "structure has 50 samples, but X has 90."),
    "no rows": ([], "structure has the shape (0,): give an embedding of shape (n_samples, n_dimensions), a sparse"),
    "text": ("leiden", "structure has the shape (): give an embedding"),
    "cube": (np.ones((90, 2, 2)), "structure has the shape (90, 2, 2): give an embedding"),
    "one group": (np.full(90, "a"), "structure has all samples in one group, 'a'."),
    "single": (["rest"] * 89 + ["a"], "Group 'a' of structure has only one sample (1 such groups in all): leave"),
    "ids": (np.arange(90), "Group '0' of structure has only one sample (90 such groups in all): leave it out, or give"),
    "missing labels": (["a", None, "b"] * 30, "structure is missing for 30 samples: leave them out"),
    "missing numbers": (np.where(Y == 0, np.nan, 0.5), "structure is missing for"),
    "mixed": ([1, "1"] * 45, "The labels of structure have 1 as a number and as a text; make all of them texts."),
    "NaN": (np.where(np.eye(90)[:, :3] > 0, np.nan, 1.0), "structure has missing or infinite values for 3 samples."),
    "infinite": (np.full((90, 2), np.inf), "structure has missing or infinite values for 90 samples."),
    "constant": (np.ones((90, 2)), "structure has the same values for all samples."),
    "enormous": (1e200 * STANDARD, "structure has values of magnitude"),
    "tiny": (1e-200 * STANDARD, "structure has values of magnitude"),
    "words": (np.full((90, 2), "a"), "structure has values in two dimensions that are not numbers."),
    "complex": (1j * STANDARD, "structure has values in two dimensions that are not numbers."),
    "square": (np.eye(90), "structure is a dense array of shape (90, 90), which may be a graph or an embedding: make"),
    "sparse embedding": (sp.csr_array(STANDARD), "structure is a sparse array of shape (90, 24), but a graph has"),
    "negative": (-GRAPH, "structure is a graph with negative weights; similar samples have large weights"),
    "unknown weights": (GRAPH * np.nan, "structure is a graph with missing or infinite weights."),
    "complex weights": (1j * GRAPH, "structure is a graph with weights that are not numbers."),
    "empty": (sp.csr_array((90, 90)), "Sample 0 has no neighbour in the graph that is given as structure (90 in all)"),
    "loops": (sp.eye_array(90).tocsr(), "Sample 0 has no neighbour in the graph"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_structures_are_refused_in_one_sentence(case):
    given, message = HOSTILE[case]
    for call in (KernelFSASL(3).fit, column_significance):
        with pytest.raises(ValueError, match=r"^[^\n]*\.$") as caught:
            call(X, structure=given)
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(TAKES)))
def test_methods_that_take_no_structure_say_which_do(name):
    with pytest.raises(ValueError, match=rf"^{name} takes no structure; the methods that do are KernelFSASL, .*\.$"):
        METHODS[name](3).fit(X, structure=Y)


def test_a_structure_needs_an_array_in_memory_and_no_learner():
    with pytest.raises(ValueError, match=r"^structure needs an array in memory, not a tensor or a Dask array"):
        KernelFSASL(3).fit(da.from_array(X), structure=Y)
    with pytest.raises(ValueError, match=r"^selector learns a structure, so it cannot go with structure"):
        column_significance(X, KernelFSASL(), structure=Y)


def test_the_fit_of_an_author_may_take_no_structure():
    class Own(LaplacianScore):
        def fit(self, X, y=None):
            return super().fit(X)

    with pytest.raises(ValueError, match=r"^the fit of Own takes no structure\.$"):
        fit_tested(Own(3), X, None, structure=Y)


def test_enormous_weights_and_both_directions_of_a_graph_do_no_harm():
    one = KernelFSASL(6).fit(X, structure=GRAPH)
    for other in (1e300 * GRAPH, sp.csc_matrix(GRAPH), sp.csr_array(GRAPH + 3.0 * sp.eye_array(90))):
        assert_array_equal(KernelFSASL(6).fit(X, structure=other).ranking_, one.ranking_)
