"""What the page contains: the numbers of the selector, safe text, and nothing more than it should."""

import base64
import copy
import hashlib
import html
import json
import re
from dataclasses import replace
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import escape
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import ufselect
from ufselect import MCFS, KernelFSASL, LaplacianScore, MaxVariance
from ufselect.base.significance import LIMITS
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import LearnedStructure, explain_features, reconstruction_of, stability_of
from ufselect.metrics import absolute_correlations, matched_accuracy, redundancy
from ufselect.preprocessing import TablePreparer
from ufselect.report import SetAside, Study, render_page
from ufselect.report.columns import alignment_of_all
from ufselect.report.samples import MOST_GROUPS, grouped
from ufselect.report.template import as_json, fit_for_html
from ufselect.significance import column_significance

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><b>bold",
    "\ud800 half",
    "nul\x00",
    "line\u2028end",
    'a"b,c',
    "x" * 10_000,
]


def planted_study(selector=None, **more):
    X, clusters, _ = make_planted_clusters(120, 4, 20, 40, random_state=0)
    selector = selector or KernelFSASL(n_features_to_select=12)
    names = [f"gene {column}" for column in range(X.shape[1])]
    fields = {"groups": {"planted": clusters}, **more}
    return Study(selector.fit(X), X, names, "planted.csv", "ufselect select planted.csv", **fields)


@pytest.fixture(scope="module")
def planted():
    return planted_study()


@pytest.fixture(scope="module")
def tested(planted):
    """With a test of the columns and the stability, as the command makes it."""
    study = planted_study(KernelFSASL(n_features_to_select=12, fdr=0.05))
    return replace(study, stability=stability_of(planted.selector, planted.X))


@pytest.fixture(scope="module")
def content(planted):
    return content_of(render_page(planted))


def content_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page).group(1))


def headline_of(page):
    """The first sentence."""
    return text_of(re.search(r"<h1>.*?</h1>", page).group())


def text_of(part):
    """What people read of a part of the page."""
    shown = re.sub(r"<(script|style|details)\b.*?</\1>", "", part, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "", shown)).replace("\u00a0", " ")


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), f"<{kind}")


def in_rank_order(study):
    return np.argsort(study.selector.ranking_)


def test_names_and_scores_come_best_first(planted, content):
    order = in_rank_order(planted)
    features = content["features"]
    assert features["names"] == [planted.names[column] for column in order]
    np.testing.assert_array_equal(features["scores"], planted.selector.scores_[order])
    np.testing.assert_allclose(features["gains"], np.diff(planted.selector.alignment_curve_, prepend=0.0), atol=1e-6)
    assert features["selected"] == planted.selector.n_features_ == 12
    filtered = planted_study(MaxVariance(12))
    assert content_of(render_page(filtered))["features"]["gains"] is None


def test_r2_is_by_the_selected_columns_and_within_them_by_the_others(planted, content):
    found = reconstruction_of(planted.X, planted.selector.top_features())
    r2 = found.r2.copy()
    r2[found.columns] = found.r2_within
    np.testing.assert_allclose(content["features"]["r2"], r2[in_rank_order(planted)], atol=1e-6)
    page = text_of(render_page(planted))
    assert found.sentences(planted.names)[0] in page
    everything = planted_study(MaxVariance(60))
    assert "There is no other column" not in render_page(everything)


def test_curves_come_with_that_of_columns_not_found_and_with_all_columns(tested):
    content = content_of(render_page(tested))["curves"]
    selector = tested.selector
    np.testing.assert_array_equal(content["alignment"], selector.alignment_curve_)
    np.testing.assert_array_equal(content["r2"], selector.r2_curve_)
    structure, rng = LearnedStructure(selector, tested.X), np.random.default_rng(0)
    others = np.flatnonzero(~selector.significance_.found)
    for count in (1, 5, 20):
        lists = [rng.choice(others, count, replace=False) for _ in range(200)]
        mean = structure.alignments_of(lists).mean()
        assert content["notFound"][count - 1] == pytest.approx(mean, rel=0.05)
    everything = structure.alignments_of([np.arange(60)])[0]
    assert content["all"] == pytest.approx(everything, rel=1e-6)
    assert "mean of as many random columns that were not found." in render_page(tested)


@pytest.mark.parametrize("case", ["not tested", "all found", "in batches", "no structure learned"])
def test_without_columns_not_found_or_their_alignment_there_is_no_such_line(case):
    X, _, _ = make_planted_clusters(120, 4, 20, 0 if case == "all found" else 20, random_state=0)
    method = LaplacianScore if case == "no structure learned" else KernelFSASL
    selector = method(8, fdr=None if case == "not tested" else 0.05)
    if case == "in batches":
        batch = np.arange(120) % 2
        X = X + 100.0 * batch[:, None]
        selector.fit(X, batch=batch)
    else:
        selector.fit(X)
    page = render_page(Study(selector, X, None, "f", "c"))
    assert (content_of(page)["curves"] or {}).get("notFound") is None
    assert "grey line" not in page


def test_alignment_of_all_columns_is_the_end_of_the_curve_or_estimated_from_some_samples(monkeypatch):
    X = make_planted_clusters(600, 4, 20, 40, random_state=0).X
    X = np.hstack([X, X[:, :3], np.ones((600, 2))])  # copies and constant columns change nothing
    study = Study(KernelFSASL(60).fit(X), X, None, "f", "c")
    exact = content_of(render_page(study))["curves"]["all"]
    assert exact == pytest.approx(study.selector.alignment_curve_[-1], rel=1e-6)
    monkeypatch.setattr("ufselect.report.columns.MOST_ROWS", 200)
    assert alignment_of_all(study) != exact
    assert alignment_of_all(study) == pytest.approx(exact, abs=0.03)


def test_first_sentence_is_the_verdict_on_the_selection_and_the_limits_follow(tested, planted):
    page, significance = render_page(tested), tested.selector.significance_
    assert significance.n_found == 20
    assert headline_of(page) == (
        "20 of 60 columns share structure with others (false discovery rate 5 %); 12 were selected, all of them among "
        "these."
    )
    assert "<title>20 of 60 columns share structure with others: planted.csv</title>" in page
    shown = text_of(page)
    assert LIMITS in shown
    assert significance.procedure in shown
    assert tested.stability.sentence in shown
    assert "arbitrary" not in shown
    filtered = planted_study(MaxVariance(12))
    for untested in (planted, filtered):
        page = render_page(untested)
        assert (
            headline_of(page) == "12 of 60 columns selected: whether they share structure with others was not tested."
        )
        assert LIMITS not in text_of(page)
        assert content_of(page)["features"]["significance"] is None


def test_first_sentence_counts_the_selected_columns_that_were_not_found():
    study = planted_study(KernelFSASL(30, fdr=0.05))
    assert headline_of(render_page(study)).endswith("30 were selected, 20 of them among these.")
    of_other = planted_study(MaxVariance(10), significance=study.significance)
    chosen = of_other.selector.top_features()
    assert headline_of(render_page(of_other)) == study.significance.verdict_on(chosen)


def test_page_says_how_many_samples_were_tested(planted):
    significance = column_significance(planted.X, max_samples=60)
    page = text_of(render_page(replace(planted, significance=significance)))
    assert "on 60 of 120 samples" in page
    assert significance.verdict_on(planted.selector.top_features()) in page


@pytest.mark.parametrize("method", [KernelFSASL, MCFS])
def test_page_of_noise_says_that_nothing_was_found_and_claims_nothing(method):
    X = np.random.default_rng(0).standard_normal((120, 40))
    selector = method(n_features_to_select=8, fdr=0.05).fit(X)
    page = render_page(Study(selector, X, None, "noise", "c", stability=stability_of(selector, X)))
    assert headline_of(page) == (
        "No structure was found in 40 columns (false discovery rate 5 %): the selection of 8 is arbitrary."
    )
    shown = text_of(page)
    assert "No structure was found: columns of noise reach such an alignment, too." in shown
    assert "No clusters are shown because no structure was found." in shown
    assert not re.search("within clusters|carry structure|stability of|k-means|grey line", shown)
    content = content_of(page)
    assert content["markers"] is None
    assert content["samples"]["groups"][0]["values"] == ["1"]


def test_q_values_come_by_rank_with_what_was_found_and_tested():
    X = make_planted_clusters(120, 4, 20, 40, random_state=0).X
    X = np.hstack([X, X[:, :2], np.ones((120, 1))])
    study = Study(KernelFSASL(12, fdr=0.05, exclude=[3]).fit(X), X, None, "f", "c")
    order, significance = in_rank_order(study), study.selector.significance_
    shown = content_of(render_page(study))["features"]["significance"]
    np.testing.assert_allclose(shown["q"], significance.q_values[order], rtol=1e-3)
    np.testing.assert_array_equal(unpacked(shown["found"], "u1"), significance.found[order])
    untested = order[unpacked(shown["tested"], "u1") == 0]
    assert sorted(untested) == [3, 62]  # excluded and constant, but no copies
    assert shown["rate"] == "5 %"


def test_constant_columns_may_be_selected():
    X, _, _ = make_planted_clusters(120, 4, 10, 10, random_state=0)
    X = np.hstack([X, np.ones((120, 5))])
    study = Study(KernelFSASL(n_features_to_select=25).fit(X), X, [str(i) for i in range(25)], "f", "c")
    content = content_of(render_page(study))
    assert len(content["curves"]["alignment"]) < 25
    assert content["features"]["distinct"][20:] == [1] * 5


def test_the_number_of_clusters_is_that_of_the_method_or_by_the_eigengap():
    free, given = (render_page(planted_study(selector)) for selector in (KernelFSASL(5), MCFS(5, n_clusters=4)))
    assert "<dt>Clusters</dt>" not in free
    assert "Colours show 4 clusters by k-means on these coordinates, their number chosen by the eigengap" in free
    assert '<dt>Clusters</dt><dd title="4">' in given
    assert "Colours show 4 clusters by k-means on these coordinates; for orientation only." in given


def test_clusters_are_grouped_whole_and_by_similarity():
    rng = np.random.default_rng(0)
    bunches = rng.permutation(np.repeat(np.arange(MOST_GROUPS), 3))
    centers = 100.0 * rng.standard_normal((MOST_GROUPS, 5))[bunches] + rng.standard_normal((len(bunches), 5))
    clusters = rng.integers(len(bunches), size=500)
    groups, sizes = grouped(clusters, centers)
    assert adjusted_rand_score(groups, bunches[clusters]) == 1.0
    assert_array_equal(sizes, 3)


def test_ten_outliers_do_not_squash_the_other_samples(planted):
    selector = copy.copy(planted.selector)
    selector.embedding_ = planted.selector.embedding_.copy()
    far = np.arange(0, 120, 12)
    selector.embedding_[far, 0] += 1e6 * np.where(far < 60, 1.0, -1.0)
    page = render_page(replace(planted, selector=selector))
    samples = content_of(page)["samples"]
    axis = samples["axes"][0]
    others = np.delete(planted.selector.embedding_[:, 0], far)
    assert axis["high"] - axis["low"] < 3 * np.ptp(others)
    bits = unpacked(samples["outlying"], "u2")
    np.testing.assert_array_equal(np.flatnonzero(bits & 1), far)
    assert set(unpacked(axis["codes"], "u2")[far]) == {0, 65535}
    assert "Rings at the edge are outliers beyond the axes." in page
    assert "Rings" not in render_page(planted)


def test_redundancy_is_that_of_the_selected_columns(planted, content):
    chosen = planted.X[:, in_rank_order(planted)[:12]]
    correlations = absolute_correlations(chosen)
    found = unpacked(content["correlations"]["values"], "u2").reshape(12, 12) / 65535
    np.testing.assert_allclose(found, correlations, atol=1e-5)
    of_all = redundancy(planted.X)  # 60 columns: all of them are the random ones
    assert f"two selected columns is {redundancy(chosen):.2f}, that of two random columns {of_all:.2f}." in render_page(
        planted
    )
    assert sorted(content["correlations"]["similar"]) == list(range(12))


def test_similar_columns_stand_together():
    rng = np.random.default_rng(0)
    sources = rng.standard_normal((200, 3))
    X = np.repeat(sources, 2, axis=1)[:, [0, 2, 4, 1, 3, 5]] + 0.1 * rng.standard_normal((200, 6))
    study = Study(MaxVariance(n_features_to_select=6).fit(X), X, list("abcdef"), "f", "c")
    place = in_rank_order(study)[content_of(render_page(study))["correlations"]["similar"]].tolist()
    assert {abs(place.index(column) - place.index(column + 3)) for column in range(3)} == {1}


def test_samples_are_where_the_selector_puts_them(planted, content):
    samples = content["samples"]
    assert samples["count"] == len(planted.X)
    assert len(samples["axes"]) == 10 < planted.selector.embedding_.shape[1]
    for axis, values in zip(samples["axes"], planted.selector.embedding_.T, strict=False):
        found = axis["low"] + unpacked(axis["codes"], "u2") / 65535 * (axis["high"] - axis["low"])
        values = np.clip(values, axis["low"], axis["high"])
        np.testing.assert_allclose(found, values, atol=1e-4 * np.ptp(values))


def test_clusters_are_the_planted_ones_numbered_by_size(planted, content):
    cluster, group = content["samples"]["groups"]
    codes = unpacked(cluster["codes"], "u1")
    assert matched_accuracy(planted.groups["planted"], codes) == 1.0
    assert np.all(np.diff(np.bincount(codes)) <= 0)
    assert cluster["values"] == ["1", "2", "3", "4"]
    assert (group["name"], group["values"], group["listed"], group["colors"]) == ("planted", list("0123"), True, True)
    np.testing.assert_array_equal(unpacked(group["codes"], "u1"), planted.groups["planted"])


def test_means_by_cluster_are_those_of_standardised_columns(planted, content):
    markers = content["markers"]
    codes = unpacked(content["samples"]["groups"][0]["codes"], "u1")
    order = in_rank_order(planted)
    Z = (planted.X - planted.X.mean(axis=0)) / planted.X.std(axis=0)
    expected = [
        [Z[codes == cluster, order[rank]].mean() for cluster in markers["codes"]] for rank in markers["columns"]
    ]
    np.testing.assert_allclose(markers["means"], expected, atol=1e-5)
    assert sorted(markers["columns"][:-3]) == list(range(12))
    assert markers["controls"] == 3
    assert min(markers["columns"][-3:]) >= 12
    assert sorted(markers["codes"]) == list(range(4))
    standing_out = np.abs(markers["means"][:12]).argmax(axis=1)
    assert np.all(np.diff(standing_out) >= 0)


def test_values_of_selected_columns_are_counted(planted, content):
    features = content["features"]
    for index, column in enumerate(in_rank_order(planted)[:12]):
        values = planted.X[:, column]
        counts = np.histogram(values, bins=24)[0]
        heights = unpacked(features["histograms"][index], "u1")
        np.testing.assert_array_equal(heights > 0, counts > 0)
        assert heights.argmax() == counts.argmax()
        assert features["ranges"][index] == [values.min(), values.max()]
        assert features["distinct"][index] == len(np.unique(values))


def test_selected_columns_stand_for_similar_ones_and_copies():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6)) * [9, 8, 1, 1, 1, 1]
    X[:, 2] += X[:, 0] / 2.0
    X[:, 3] = X[:, 0]
    X[:, 4] -= X[:, 1] / 8.0
    study = Study(MaxVariance(2).fit(X), X, list("abcdef"), "f", "c")
    features = content_of(render_page(study))["features"]
    of_a, of_b = features["standsFor"]
    named = [(features["names"][rank], round(value, 2)) for rank, value in of_a["nearest"]]
    assert of_a["count"] == 2
    assert named == [("d", 1.0), ("c", round(abs(np.corrcoef(X[:, 0], X[:, 2])[0, 1]), 2))]
    assert [features["names"][rank] for rank, copied in enumerate(features["copies"]) if copied] == ["d"]
    assert [features["names"][rank] for rank, _ in of_b["nearest"]] == ["e"]


def columns_left_out_in(page):
    """The kinds, their numbers, reasons and columns, as they stand on the page."""
    section = page[page.index('id="left-out"') :]
    row = r'<tr><th scope="row">(.*?) \(([\d,]+)\)</th><td>(.*?)</td><td>(.*?)</td></tr>'
    rows = re.findall(row, section, re.DOTALL)
    return {kind: (int(count), reason, re.findall("<bdi>(.*?)</bdi>", names)) for kind, count, reason, names in rows}


class Kind(NamedTuple):
    name: str
    role: str
    reason: str
    is_feature: bool


def test_every_column_is_selected_or_left_out_for_a_reason():
    X = make_planted_clusters(120, 4, 20, 40, random_state=0).X.copy()
    X[:, 30] = 7.0
    X[:, 31] = X[:, 0]
    X[:, 32] = X[:, 1] + 1e-3 * X[:, 32]
    names = [f"gene {column}" for column in range(60)]
    selector = KernelFSASL(12, keep=[0, 1], exclude=[40, 41], fdr=0.05).fit(X)
    roles = [
        Kind("gene 3", "amount", "", True),
        Kind("row", "id", "counts the rows", False),
        Kind("name", "text", "free text", False),
        Kind("<b>note", "text", "free text", False),
        Kind("day", "date", "dates", False),
        Kind("hour", "date", "times", False),
    ]
    page = render_page(Study(selector, X, names, "f", "c", roles=roles))
    found = columns_left_out_in(page)
    assert found.pop("id") == (1, "counts the rows", ["row"])
    assert found.pop("text") == (2, "free text", ["name", "&lt;b&gt;note"])
    assert found.pop("date") == (2, "", ["day (dates)", "hour (times)"])
    assert found["excluded"][2] == ["gene 40", "gene 41"]
    assert found["constant"][2] == ["gene 30"]
    assert found["copy"][2] == ["gene 31 (gene 0)"]
    assert "gene 32 (gene 1)" in found["near-copy"][2]
    significance = selector.significance_
    assert {int(name.split()[1]) for name in found["not found"][2]} <= set(np.flatnonzero(~significance.found))
    left_out = [name.split(" (")[0] for _, _, several in found.values() for name in several]
    chosen = [names[column] for column in selector.top_features()]
    assert sorted(left_out + chosen) == sorted(names)
    assert [count for count, *_ in found.values()] == [len(several) for *_, several in found.values()]
    features = content_of(page)["features"]
    assert [role for role in features["roles"] if role] == ["amount"]
    ranks = selector.ranking_ - 1
    assert features["alike"][str(ranks[31])] == [ranks[0], 1.0]
    assert features["alike"][str(ranks[32])] == [ranks[1], 1.0]
    assert content_of(render_page(Study(selector, X, names, "f", "c")))["features"]["roles"] is None


def test_many_columns_that_are_not_selected_are_counted_and_all_that_are_no_features_are_named():
    X = np.random.default_rng(0).standard_normal((20, 300))
    roles = [SetAside(f"label {number}", "text") for number in range(150)]
    page = render_page(Study(MaxVariance(5).fit(X), X, None, "f", "c", roles=roles))
    found = columns_left_out_in(page)
    assert {kind: (count, len(names)) for kind, (count, _, names) in found.items()} == {
        "set aside": (150, 150),
        "not selected": (295, 100),
    }
    assert "and 195 more in the table above" in page
    everything = Study(MaxVariance(300).fit(X), X, None, "f", "c")
    assert 'id="left-out"' not in render_page(everything)


def test_equal_scores_are_ties_unless_columns_take_no_part():
    X = np.random.default_rng(0).standard_normal((40, 9)) * np.arange(9, 0, -1)
    X[:, 2], X[:, 3], X[:, 6], X[:, 7], X[:, 8] = X[::-1, 1], -X[:, 1], X[:, 5] + 4.0, 1.0, 2.0
    features = content_of(render_page(Study(MaxVariance(4).fit(X), X, None, "f", "c")))["features"]
    assert features["names"][1:4] == ["x1", "x2", "x3"]
    assert features["ties"] == [[1, 3], [5, 6]]
    assert features["alike"] == {"3": [1, 1.0]}  # x6 is like x5, which is not selected either


def test_noise_stands_for_nothing():
    X = np.random.default_rng(0).standard_normal((8, 300))  # some of so many are similar by chance
    study = Study(MaxVariance(2).fit(X), X, None, "f", "c")
    assert [each["count"] for each in content_of(render_page(study))["features"]["standsFor"]] == [0, 0]


def test_explanations_are_those_of_the_command(planted, content):
    best = in_rank_order(planted)[:20].tolist()
    explained = explain_features(planted.selector, planted.X, best)
    assert content["features"]["explanations"][:20] == [each.sentences(planted.names) for each in explained]


def test_stability_and_missing_values_come_by_rank(tested):
    missing = np.arange(60) / 100
    features = content_of(render_page(replace(tested, missing=missing)))["features"]
    np.testing.assert_allclose(features["missing"], missing[in_rank_order(tested)])
    np.testing.assert_allclose(features["stability"], tested.stability.frequencies[in_rank_order(tested)])
    assert content_of(render_page(replace(tested, missing=0 * missing)))["features"]["missing"] is None


def test_alignment_by_cost_rises_up_to_the_best_choice_and_marks_the_selection():
    X = planted_study().X
    costs = np.where(np.arange(60) % 2, 10.0, 25.0)
    selector = KernelFSASL(requirements={"costs": costs, "budget": 100}).fit(X)
    page = render_page(Study(selector, X, None, "prices.csv", "command"))
    found, features = content_of(page)["costs"], content_of(page)["features"]
    assert found["costs"][found["chosen"]] == selector.cost_ <= found["budget"] == 100
    assert found["costs"] == sorted(found["costs"])
    selected = selector.get_support(indices=True)
    assert found["alignment"][found["chosen"]] == pytest.approx(
        LearnedStructure(selector, X).alignments_of([selected])[0], abs=1e-6
    )
    assert found["counts"][found["chosen"]] == len(selected)
    assert set(found["columns"][found["chosen"]]) <= {f"x{column}" for column in selected}
    cheaper, dearer = np.split(np.array(found["alignment"]), [found["chosen"]])
    assert all(np.diff(cheaper) > 0)
    assert all(np.diff(dearer) > 0)
    assert features["costs"] == costs[np.argsort(selector.ranking_)].tolist()
    assert f"for {selector.cost_:g} within a budget of 100." in html.unescape(page)
    assert f"requirements={{'costs': {costs.tolist()}, 'budget': 100}}" in html.unescape(page)


def test_without_costs_there_is_no_chart_of_them(content):
    assert content["costs"] is None
    assert content["features"]["costs"] is None
    filtered = planted_study(MaxVariance(12, requirements={"costs": np.ones(60)}))
    assert content_of(render_page(filtered))["costs"] is None


def test_spectrum_has_the_mean_of_every_column_in_order():
    study = planted_study(MaxVariance(5), ordered=True)
    spectrum = content_of(render_page(study))["spectrum"]
    np.testing.assert_allclose(spectrum["mean"], study.X.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(spectrum["spread"], study.X.std(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(unpacked(spectrum["columns"], "u4"), in_rank_order(study))


def test_samples_can_be_coloured_by_the_values_of_selected_columns(planted, content):
    found = content["samples"]["values"]
    assert len(found) == 12
    values = planted.X[:, in_rank_order(planted)[0]]
    shares = (values - found[0]["low"]) / (found[0]["high"] - found[0]["low"])
    np.testing.assert_allclose(unpacked(found[0]["codes"], "u1") / 255, shares.clip(0, 1), atol=1 / 255)


def test_picture_has_the_mean_and_the_ranks():
    X, digits = load_digits(return_X_y=True)
    X, digits = X[:200], digits[:200]
    selector = LaplacianScore(n_features_to_select=10).fit(X)
    study = Study(selector, X, [str(i) for i in range(64)], "digits", "c", image=(8, 8), groups={"digit": digits})
    image = content_of(render_page(study))["image"]
    assert (image["height"], image["width"]) == (8, 8)
    np.testing.assert_array_equal(unpacked(image["columns"], "u4"), in_rank_order(study))
    means = X.mean(axis=0)
    np.testing.assert_allclose(unpacked(image["mean"], "u1") / 255, means / means.max(), atol=1 / 255)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["FSASL", "KernelFSASL", "LLCFS", "MaxVariance", "NDFS", "SPEC", "TraceRatio", "UDFS"])
def test_any_method_has_a_page(name):
    study = planted_study(getattr(ufselect, name)(n_features_to_select=5))
    page = render_page(study)
    content = content_of(page)
    selector = study.selector
    assert content["features"]["names"][:5] == [study.names[column] for column in selector.top_features()]
    assert (content["curves"] is not None) == hasattr(selector, "alignment_curve_")
    assert (content["objective"] is not None) == hasattr(selector, "objective_history_")
    assert ('id="convergence"' in page) == (len(content["objective"] or []) > 1)
    assert ('id="scores"' in page) == (content["curves"] is None) != ('id="structure"' in page)
    assert len(content["samples"]["groups"][0]["values"]) == (getattr(selector, "n_clusters_", None) or 4)


@pytest.mark.parametrize("form", ["lists", "pandas", "polars", "coo", "csr", "csc"])
def test_any_kind_of_table_gives_the_page_of_the_array(form):
    X = np.rint(4.0 * make_planted_clusters(120, 4, 20, 40, random_state=0).X)
    names = [f"gene {column}" for column in range(X.shape[1])]
    make = {
        "lists": np.ndarray.tolist,
        "pandas": lambda X: pd.DataFrame(X, columns=names, index=[f"cell {row}" for row in range(120)]),
        "polars": lambda X: pl.DataFrame({name: X[:, column] for column, name in enumerate(names)}),
        **{kind: getattr(sp, f"{kind}_array") for kind in ("coo", "csr", "csc")},
    }
    selector = LaplacianScore(n_features_to_select=12).fit(X)
    wanted, found = (
        content_of(render_page(Study(selector, table, names, "f", "c", image=(6, 10)))) for table in (X, make[form](X))
    )
    assert found["features"] == wanted["features"]
    assert found["samples"]["groups"] == wanted["samples"]["groups"]
    for part in ("samples", "image", "curves"):
        if not form.startswith("c") or part != "samples":  # sparse sums round differently
            assert found[part] == wanted[part]


@pytest.mark.parametrize("form", ["fitted on a frame", "given as a frame", "a series", "without names"])
def test_names_come_from_the_selector_or_the_data_or_a_series_by_position(form):
    X = make_planted_clusters(60, 3, 4, 4, random_state=0).X
    frame = pd.DataFrame(X, columns=[f"gene {column}" for column in range(X.shape[1])])
    selector = MaxVariance(3).fit(frame if form == "fitted on a frame" else X)
    names = pd.Series(frame.columns, index=range(50, 50 + X.shape[1])) if form == "a series" else None
    rows = pd.Series([f"cell {row}" for row in range(60)], index=range(100, 160))
    data = frame if form == "given as a frame" else X
    study = Study(selector, data, names, "f", "c", samples=rows, groups={"a": rows})
    content = content_of(render_page(study))
    assert content["samples"]["labels"] == rows.tolist()
    start = "x" if form == "without names" else "gene "
    assert content["features"]["names"] == [f"{start}{column}" for column in in_rank_order(study)]


def test_many_samples_are_thinned_evenly_and_said_so():
    n = 60_000
    X = np.random.default_rng(0).standard_normal((n, 4)).astype(np.float32)
    study = Study(MaxVariance(n_features_to_select=2).fit(X), X, list("abcd"), "many.npz", "command")
    page = render_page(study)
    samples = content_of(page)["samples"]
    rows = unpacked(samples["rows"], "u4").astype(int)
    assert len(rows) == samples["count"] == 50_000
    assert (rows[0], rows[-1]) == (0, n - 1)
    assert set(np.diff(rows)) == {1, 2}
    assert "50,000 of 60,000 samples are shown, evenly spaced." in page


def test_page_of_20000_by_5000_is_small():
    rng = np.random.default_rng(0)
    dense = 10.0 * rng.standard_normal((20_000, 20))
    X = sp.hstack([dense, sp.random_array((20_000, 4980), density=0.002, random_state=rng)], format="csr")
    names = [f"ENSG{column:011d}" for column in range(5000)]
    labels = [f"AAACCTGAGAAACC{row:05d}-1" for row in range(20_000)]
    study = Study(MaxVariance(n_features_to_select=20).fit(X), X, names, "cells.h5ad", "command", samples=labels)
    page = render_page(study)
    assert len(content_of(page)["samples"]["axes"]) == 10
    assert len(page.encode()) < 2_000_000


def test_more_selected_columns_than_are_compared_are_said_so():
    X = np.random.default_rng(0).standard_normal((20, 1100))
    study = Study(MaxVariance(n_features_to_select=1050).fit(X), X, [str(i) for i in range(1100)], "w", "c")
    page = render_page(study)
    content = content_of(page)
    assert "Only the best 1,000 columns are compared." in page
    assert "The best 150 are shown." in page
    assert len(content["features"]["distinct"]) == 1000
    assert content["correlations"]["size"] == 150


def test_hostile_names_stay_text():
    X = np.random.default_rng(0).standard_normal((30, len(HOSTILE)))
    selector = LaplacianScore(n_features_to_select=len(HOSTILE)).fit(X)
    facts = {name[:40]: name for name in HOSTILE}
    page = render_page(Study(selector, X, HOSTILE, HOSTILE[0], HOSTILE[1], notes=HOSTILE, facts=facts))
    page.encode("utf-8")
    assert sorted(content_of(page)["features"]["names"]) == sorted(HOSTILE)
    assert not re.search("<img|<b>|\x00", page)
    assert page.count("</script>") == 2


@given(st.text(st.characters(exclude_categories=())))
@example("\ud800\udc00")
def test_any_text_survives_in_json_and_html(text):
    written = as_json({"name": text})
    # In JSON, as in JavaScript, two halves of a character are that character.
    read, given_ = (each.encode("utf-16", "surrogatepass") for each in (json.loads(written)["name"], text))
    assert read == given_
    assert written.isascii()
    assert not set("<>&") & set(written)
    in_html = escape(fit_for_html(text))
    in_html.encode("utf-8")
    assert not set("<>\"'") & set(in_html)


def test_what_is_no_number_is_null():
    study = planted_study(groups={"id": [f"s{i}" for i in range(120)], "depth": [float("nan"), None, 1.5] * 40})
    study.selector.scores_[0] = np.nan
    content = content_of(render_page(study))
    assert content["features"]["scores"].count(None) == 1
    _, id_group, depth = content["samples"]["groups"]
    assert (id_group["listed"], id_group["colors"]) == (True, False)
    assert depth["values"] == ["1.5", "no value"]


def test_groups_are_told_up_to_three_and_coloured_up_to_20_values():
    rows = np.arange(120)
    groups = {"a": rows % 2, "b": rows % 20, "c": rows % 21, "d": rows % 21, "e": rows % 3, "f": rows * 0}
    found = content_of(render_page(planted_study(groups=groups)))["samples"]["groups"][1:]
    assert [(group["name"], group["listed"], group["colors"]) for group in found] == [
        ("a", True, True),
        ("b", True, True),
        ("c", True, False),
        ("e", False, True),
    ]
    assert found[1]["values"] == [str(number) for number in range(20)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, None, 2, 1], ["1", "2", "10", "no value"]),
        ([10.0, float("nan"), 2.0, -1.5], ["-1.5", "2.0", "10.0", "no value"]),
        (["10", "2", "nan", "z"], ["10", "2", "nan", "z"]),
        (["z", None, "a", "B"], ["B", "a", "z", "no value"]),
    ],
)
def test_values_of_groups_come_by_number_or_letter_and_missing_ones_last(values, expected):
    found = content_of(render_page(planted_study(groups={"a": values * 30})))["samples"]["groups"][1]
    assert found["values"] == expected
    first, last = unpacked(found["codes"], "u1")[[0, 3]]
    assert (expected[first], expected[last]) == (str(values[0]), str(values[3]))


def test_single_dimension_is_said_to_be_the_only_one_that_counts():
    learned, unlearned = planted_study(), planted_study(MaxVariance(n_features_to_select=1))
    assert "1 varies" not in render_page(learned)
    learned.selector.embedding_ = learned.selector.embedding_[:, :1]
    for axis, study in {"Dimension": learned, "Component": unlearned}.items():
        page = render_page(study)
        assert f"Only {axis} 1 varies; the other axis is the order in the file." in page
        assert render_page(study) == page


@pytest.mark.parametrize(("n", "d", "m"), [(3, 1, 1), (3, 2, 2), (4, 300, 290), (50, 3, 1)])
def test_smallest_data_have_a_page(n, d, m):
    X = np.random.default_rng(0).standard_normal((n, d))
    study = Study(MaxVariance(n_features_to_select=m).fit(X), X, [str(i) for i in range(d)], "f", "c")
    page = render_page(study)
    assert content_of(page)["features"]["selected"] == m
    assert ('id="redundancy"' in page) == (m > 1)


def test_python_code_makes_the_same_selection_and_its_parameters_are_listed():
    study = planted_study(KernelFSASL(n_features_to_select=12, verbose=1))
    page = render_page(study)
    code = re.search(r'<pre id="code"><code>(.*?)</code>', page, re.S).group(1)
    assert "KernelFSASL(n_features_to_select=12)" in code
    room = {"X": study.X}
    exec(code, room)
    np.testing.assert_array_equal(room["selector"].ranking_, study.selector.ranking_)
    found = re.findall(r'<th scope="row"><code>(\w+)</code></th>.*?<td>(default|set)</td>', page)
    assert [name for name, origin in found if origin == "set"] == ["n_features_to_select"]
    assert {name for name, _ in found} == set(study.selector.get_params()) - {"n_jobs", "verbose"}  # not of the run


def test_page_may_run_its_own_script_and_reach_nothing(planted):
    page = render_page(planted)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    policy = html.unescape(policy)
    assert policy.startswith("default-src 'none'; ")
    texts = re.findall(r"<(?:script|style)(?: id=\"dark\"[^>]*)?>(.*?)</(?:script|style)>", page, re.S)
    assert len(texts) == 3
    for text in texts:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    addresses = re.findall(r"https?://[^\s'\"]+", page)
    assert set(addresses) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(src|srcset|action)\s*=\s*\"", page)


def test_dark_theme_has_a_color_for_every_one_of_the_light_theme():
    light, dark = (
        re.findall(r"^  (--[\w-]+): ", files("ufselect.report").joinpath(name).read_text(encoding="utf-8"), re.M)
        for name in ("page.css", "dark.css")
    )
    assert len(light) > 20
    assert light == dark


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"image": (8, 9)}, r"An image of 8 × 9 has 72 pixels, but there are 60 columns\."),
        ({"samples": ["a", "b"]}, r"There are 2 labels for 120 samples\."),
        ({"groups": {"class": [1]}}, r"There are 1 values of class for 120 samples\."),
        ({"names": ["a"]}, r"There are 1 names for 60 columns\."),
        ({"significance": column_significance(np.eye(5))}, r"There are 5 q-values for 60 columns\."),
        ({"missing": [0.5]}, r"There are 1 values of missing for 60 columns\."),
    ],
)
def test_what_does_not_fit_the_data_is_refused_in_plain_words(planted, fields, message):
    with pytest.raises(ValueError, match=message):
        replace(planted, **fields)


def test_the_stability_of_other_columns_is_refused(tested):
    some = tested.X[:, :50]
    with pytest.raises(ValueError, match=r"There are 50 values of stability for 60 columns\."):
        replace(tested, stability=stability_of(MaxVariance(3).fit(some), some))


def customers_study(**more):
    """Three kinds of customers with a plan of three levels, and a region that says nothing."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 150)
    spending = {f"spent on {what}": rng.normal(3.0 * rng.permutation(3)[kind]) for what in ("food", "toys", "books")}
    plan, region = np.array(["basic", "gold", "plus"])[kind], rng.choice(["east", "north", "west"], 150)
    noise = {f"noise {j}": rng.standard_normal(150) for j in range(6)}
    preparer = TablePreparer().set_output(transform="pandas")
    X = preparer.fit_transform(pd.DataFrame(spending | {"plan": plan, "region": region} | noise))
    selector = KernelFSASL(3, groups="prefix:=", fdr=0.05).fit(X)
    roles, variables = preparer.roles_, preparer.groups_.tolist()
    return Study(selector, X, None, "customers.csv", "command", roles=roles, variables=variables, **more)


def test_the_levels_of_a_category_are_one_row():
    study = customers_study()
    page = render_page(
        replace(study, missing=np.full(study.X.shape[1], 0.25), stability=stability_of(study.selector, study.X))
    )
    features, selector = content_of(page)["features"], study.selector
    shown, names = features["variables"], features["variables"]["names"]
    assert sorted(names) == sorted(set(study.variables))
    assert (shown["selected"], len(features["names"]), len(names)) == (3, 15, 11)
    plan, columns = names.index("plan"), [j for j, name in enumerate(study.variables) if name == "plan"]
    ranks = selector.ranking_[columns]
    assert plan < 3
    assert sorted(shown["levels"][plan]) == ["basic", "gold", "plus"]
    assert [shown["levels"][names.index(name)] for name in ("spent on toys", "noise 1")] == [None, None]
    assert shown["ranks"][plan] == ranks.min() - 1
    assert shown["scores"][plan] == pytest.approx(selector.scores_[columns].max())
    assert sum(shown["gains"][:3]) == pytest.approx(selector.alignment_curve_[selector.n_features_ - 1], abs=1e-5)
    assert (features["histograms"][plan], features["distinct"][plan], features["roles"][plan]) == (None, 3, "category")
    assert features["significance"]["q"][plan] == pytest.approx(selector.q_values_[columns[0]], rel=1e-3)
    assert len(features["significance"]["q"]) == len(features["stability"]) == len(features["missing"]) == 11
    assert features["explanations"][plan] == explain_features(selector, study.X, [columns])[0].sentences(study.names)
    named = {name for _, _, several in columns_left_out_in(page).values() for name in several}
    assert named == set(names[3:])
    untested = replace(study, selector=KernelFSASL(3, groups=study.variables).fit(study.X), significance=None)
    assert "3 of 11 columns selected" in render_page(untested)
    assert content_of(render_page(replace(study, variables=None)))["features"]["variables"] is None
    with pytest.raises(ValueError, match="There are 2 variables for 15 columns"):
        replace(study, variables=["a", "b"])
