"""What the page contains: the numbers of the selector, safe text, and nothing more than it should."""

import base64
import hashlib
import json
import re
from importlib.resources import files

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import ufselect
from ufselect import FSASL, LaplacianScore, MaxVariance
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import alignment_of_selection
from ufselect.metrics import absolute_correlations, matched_accuracy, redundancy
from ufselect.report import Study, render_page
from ufselect.report.encoding import as_html, as_json

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
    selector = selector or FSASL(n_features_to_select=12, n_clusters=4)
    names = [f"gene {column}" for column in range(X.shape[1])]
    fields = {"groups": {"planted": clusters}, **more}
    return Study(selector.fit(X), X, names, "planted.csv", "ufselect select planted.csv", **fields)


@pytest.fixture(scope="module")
def planted():
    return planted_study()


@pytest.fixture(scope="module")
def content(planted):
    return content_of(render_page(planted))


def content_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page).group(1))


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), f"<{kind}")


def in_rank_order(study):
    return np.argsort(study.selector.ranking_)


def test_names_and_scores_come_best_first(planted, content):
    order = in_rank_order(planted)
    features = content["features"]
    assert features["names"] == [planted.names[column] for column in order]
    np.testing.assert_array_equal(features["scores"], planted.selector.scores_[order])
    assert features["selected"] == planted.selector.n_features_ == 12


def test_gains_add_up_to_the_agreement(planted, content):
    np.testing.assert_allclose(np.cumsum(content["features"]["gains"]), planted.selector.alignment_curve_, atol=1e-5)
    np.testing.assert_array_equal(content["curves"]["agreement"], planted.selector.alignment_curve_)
    np.testing.assert_array_equal(content["curves"]["r2"], planted.selector.r2_curve_)
    assert f">{planted.selector.alignment_curve_[11]:.2f} of 1</dd>" in render_page(planted)


@pytest.mark.parametrize("cls", [FSASL, ufselect.MCFS])
def test_nothing_on_the_page_of_noise_claims_that_columns_explain_it(cls):
    X = np.random.default_rng(0).standard_normal((60, 12))
    study = Study(cls(n_features_to_select=4).fit(X), X, [f"x{i}" for i in range(12)], "noise", "c")
    figure = re.search(r'<section[^>]*id="structure".*?</section>', render_page(study), flags=re.DOTALL)[0]
    assert "Agreement of the best columns with the learned structure" in figure
    assert "Columns of noise agree to some extent, too" in figure
    assert not re.search("explain|kept|keep", figure)


def test_a_method_of_ones_own_may_know_no_r2():
    study = planted_study(FSASL(n_features_to_select=5))
    del study.selector.r2_curve_
    page = render_page(study)
    assert content_of(page)["curves"]["r2"] is None
    assert "R² is that" not in page


def test_agreement_is_known_where_constant_columns_are_selected():
    X, _, _ = make_planted_clusters(120, 4, 10, 10, random_state=0)
    X = np.hstack([X, np.ones((120, 5))])
    study = Study(FSASL(n_features_to_select=25, n_clusters=4).fit(X), X, [str(i) for i in range(25)], "f", "c")
    assert len(study.selector.alignment_curve_) < 25
    agreement = alignment_of_selection(study.selector)
    assert agreement == study.selector.alignment_curve_[-1]
    assert f'<dt>Agreement</dt><dd title="{agreement:.2f} of 1">' in render_page(study)


def test_the_number_of_clusters_stands_on_the_page_if_the_method_has_one():
    assert "<dt>Clusters</dt>" not in render_page(planted_study(FSASL(n_features_to_select=5)))
    assert "the number with the largest silhouette" in render_page(planted_study(FSASL(n_features_to_select=5)))
    assert '<dt>Clusters</dt><dd title="4">' in render_page(planted_study(FSASL(5, n_clusters=4)))


def test_redundancy_is_that_of_the_selected_columns(planted, content):
    chosen = planted.X[:, in_rank_order(planted)[:12]]
    correlations = absolute_correlations(chosen)
    found = unpacked(content["correlations"]["values"], "u2").reshape(12, 12) / 65535
    np.testing.assert_allclose(found, correlations, atol=1e-5)
    np.fill_diagonal(correlations, 0.0)
    np.testing.assert_allclose(content["features"]["redundancy"], correlations.max(axis=1), atol=1e-6)
    assert f"two selected columns is {redundancy(chosen):.2f}." in render_page(planted)
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
    assert len(samples["axes"]) == planted.selector.embedding_.shape[1]
    for axis, values in zip(samples["axes"], planted.selector.embedding_.T, strict=True):
        found = axis["low"] + unpacked(axis["codes"], "u2") / 65535 * (axis["high"] - axis["low"])
        np.testing.assert_allclose(found, values, atol=1e-4 * np.ptp(values))


def test_clusters_are_the_planted_ones_numbered_by_size(planted, content):
    cluster, group = content["samples"]["groups"]
    codes = unpacked(cluster["codes"], "u1")
    assert matched_accuracy(planted.groups["planted"], codes) == 1.0
    assert np.all(np.diff(np.bincount(codes)) <= 0)
    assert cluster["values"] == ["1", "2", "3", "4"]
    assert (group["name"], group["values"], group["listed"], group["colors"]) == ("planted", list("0123"), True, True)
    np.testing.assert_array_equal(unpacked(group["codes"], "u1"), planted.groups["planted"])


def test_blocks_are_shares_of_the_learned_graph(planted, content):
    size = content["blocks"]["size"]
    shares = unpacked(content["blocks"]["shares"], "u2").reshape(size, size) / 65535
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=size / 65535)
    codes = unpacked(content["samples"]["groups"][0]["codes"], "u1")
    order = np.argsort(codes, kind="stable")
    graph = planted.selector.neighbor_graph_.toarray()
    np.testing.assert_allclose(shares, graph[order][:, order], atol=1e-5)  # a cell a sample
    within = graph[codes[:, None] == codes].sum() / graph.sum()
    assert f"{100 * within:.1f}\u00a0% of the weight of all neighbours is within clusters" in render_page(planted)
    assert content["blocks"]["borders"] == np.cumsum(np.bincount(codes))[:-1].tolist()


def test_objective_of_every_iteration_is_there(planted, content):
    np.testing.assert_array_equal(content["objective"], planted.selector.objective_history_)


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
@pytest.mark.parametrize("name", ufselect.__all__)
def test_every_method_has_a_page(name):
    study = planted_study(getattr(ufselect, name)(n_features_to_select=5))
    page = render_page(study)
    content = content_of(page)
    selector = study.selector
    assert content["features"]["names"][:5] == [study.names[column] for column in selector.top_features()]
    assert (content["curves"] is not None) == hasattr(selector, "alignment_curve_")
    assert ("learns no embedding" in page) == (not hasattr(selector, "embedding_"))
    assert (content["objective"] is not None) == hasattr(selector, "objective_history_") == ('id="convergence"' in page)
    assert len(content["samples"]["groups"][0]["values"]) == (getattr(selector, "n_clusters_", None) or 4)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_sparse_data_give_the_page_of_dense_data(format):
    dense = planted_study(LaplacianScore(n_features_to_select=12))
    X = getattr(sp, f"{format}_array")(dense.X)
    sparse = Study(dense.selector, X, dense.names, dense.source, dense.command, groups=dense.groups)
    one, other = content_of(render_page(dense)), content_of(render_page(sparse))
    assert one["features"] == other["features"]
    assert one["samples"]["groups"] == other["samples"]["groups"]


@pytest.mark.parametrize("form", ["lists", "integers", "pandas", "polars", "coo", "dok"])
def test_any_kind_of_table_gives_the_page_of_the_array(form):
    X = np.rint(4.0 * make_planted_clusters(120, 4, 20, 40, random_state=0).X)
    names = [f"gene {column}" for column in range(X.shape[1])]
    tables = {
        "lists": X.tolist(),
        "integers": X.astype(np.int64),
        "pandas": pd.DataFrame(X, columns=names, index=[f"cell {row}" for row in range(120)]),
        "polars": pl.DataFrame({name: X[:, column] for column, name in enumerate(names)}),
        "coo": sp.coo_array(X),
        "dok": sp.dok_matrix(X),
    }
    selector = LaplacianScore(n_features_to_select=12).fit(X)
    wanted, found = (
        content_of(render_page(Study(selector, table, names, "f", "c", image=(6, 10)))) for table in (X, tables[form])
    )
    assert found["features"]["names"] == wanted["features"]["names"]
    np.testing.assert_allclose(found["features"]["redundancy"], wanted["features"]["redundancy"], atol=2e-6)
    for part in ("samples", "image", "curves"):
        if form not in ("coo", "dok") or part != "samples":  # sparse sums round differently
            assert found[part] == wanted[part]


@pytest.mark.parametrize("form", ["fitted on a frame", "given as a frame", "without names"])
def test_names_come_from_the_selector_or_the_data(form):
    X = make_planted_clusters(60, 3, 4, 4, random_state=0).X
    frame = pd.DataFrame(X, columns=[f"gene {column}" for column in range(X.shape[1])])
    selector = MaxVariance(3).fit(frame if form == "fitted on a frame" else X)
    study = Study(selector, frame if form == "given as a frame" else X, None, "f", "c")
    start = "x" if form == "without names" else "gene "
    wanted = [f"{start}{column}" for column in in_rank_order(study)]
    assert content_of(render_page(study))["features"]["names"] == wanted


def test_series_count_by_position_whatever_their_index():
    X = make_planted_clusters(60, 3, 4, 4, random_state=0).X
    rows = pd.Series([f"cell {row}" for row in range(60)], index=range(100, 160))
    names = pd.Series([f"gene {column}" for column in range(X.shape[1])], index=range(50, 50 + X.shape[1]))
    study = Study(MaxVariance(3).fit(X), X, names, "f", "c", samples=rows, groups={"a": rows})
    content = content_of(render_page(study))
    assert content["samples"]["labels"] == rows.tolist()
    assert content["features"]["names"] == [names.iloc[column] for column in in_rank_order(study)]


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
    assert "Computed on 20,000 samples, evenly spaced." in page


def test_page_of_20000_by_5000_is_small():
    rng = np.random.default_rng(0)
    dense = 10.0 * rng.standard_normal((20_000, 20))
    X = sp.hstack([dense, sp.random_array((20_000, 4980), density=0.002, random_state=rng)], format="csr")
    names = [f"ENSG{column:011d}" for column in range(5000)]
    labels = [f"AAACCTGAGAAACC{row:05d}-1" for row in range(20_000)]
    study = Study(MaxVariance(n_features_to_select=20).fit(X), X, names, "cells.h5ad", "command", samples=labels)
    page = render_page(study)
    assert len(content_of(page)["samples"]["axes"]) == 10
    assert len(page.encode()) < 1_500_000


def test_more_selected_columns_than_are_compared_are_said_so():
    X = np.random.default_rng(0).standard_normal((20, 1100))
    study = Study(MaxVariance(n_features_to_select=1050).fit(X), X, [str(i) for i in range(1100)], "w", "c")
    page = render_page(study)
    content = content_of(page)
    assert "Only the best 1,000 columns are compared." in page
    assert "The best 150 are shown." in page
    assert len(content["features"]["redundancy"]) == 1000
    assert content["correlations"]["size"] == 150


def test_hostile_names_stay_text():
    X = np.random.default_rng(0).standard_normal((30, len(HOSTILE)))
    selector = LaplacianScore(n_features_to_select=len(HOSTILE)).fit(X)
    study = Study(
        selector, X, HOSTILE, HOSTILE[0], HOSTILE[1], notes=HOSTILE, facts={name[:40]: name for name in HOSTILE}
    )
    page = render_page(study)
    page.encode("utf-8")
    assert sorted(content_of(page)["features"]["names"]) == sorted(HOSTILE)
    assert "<img" not in page
    assert "<b>" not in page
    assert page.count("</script>") == 2
    assert "\x00" not in page


def utf_16(text):
    return text.encode("utf-16", "surrogatepass")


@given(st.text(st.characters(exclude_categories=())))
@example("\ud800\udc00")
def test_any_text_survives_in_json_and_html(text):
    written = as_json({"name": text})
    # In JSON, as in JavaScript, two halves of a character are that character.
    assert utf_16(json.loads(written)["name"]) == utf_16(text)
    assert written.isascii()
    assert not set("<>&") & set(written)
    as_html(text).encode("utf-8")
    assert not set("<>\"'") & set(as_html(text))


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
    assert "samples close to each other are similar" in render_page(learned)
    learned.selector.embedding_ = learned.selector.embedding_[:, :1]
    for axis, study in {"Dimension": learned, "Component": unlearned}.items():
        page = render_page(study)
        assert f"Only {axis} 1, initially the horizontal axis, shows similarity" in page
        assert "samples close to each other are similar" not in page


def test_single_precision_scores_are_not_padded():
    X = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
    study = Study(LaplacianScore(n_features_to_select=2).fit(X), X, list("abcd"), "f", "c")
    scores = content_of(render_page(study))["features"]["scores"]
    assert [str(score) for score in scores] == [str(score) for score in study.selector.scores_[in_rank_order(study)]]


@pytest.mark.parametrize(("n", "d", "m"), [(3, 1, 1), (3, 2, 2), (4, 300, 290), (50, 3, 1)])
def test_smallest_data_have_a_page(n, d, m):
    X = np.random.default_rng(0).standard_normal((n, d))
    study = Study(MaxVariance(n_features_to_select=m).fit(X), X, [str(i) for i in range(d)], "f", "c")
    page = render_page(study)
    assert content_of(page)["features"]["selected"] == m
    assert ("Only one column is selected" in page) == (m == 1)


def test_constant_selected_columns_and_equal_samples_have_a_page():
    X = np.zeros((12, 3))
    X[6:, 0] = 1.0
    study = Study(MaxVariance(n_features_to_select=3).fit(X), X, list("abc"), "f", "c")
    content = content_of(render_page(study))
    assert content["features"]["redundancy"] == [0.0, 0.0, 0.0]
    assert content["samples"]["count"] == 12


def test_same_study_gives_the_same_bytes(planted):
    assert render_page(planted) == render_page(planted)


def test_python_code_makes_the_same_selection(planted):
    page = render_page(planted)
    code = re.search(r'<pre id="code"><code>(.*?)</code>', page, re.S).group(1)
    assert "FSASL(n_features_to_select=12, n_clusters=4)" in code
    room = {"X": planted.X}
    exec(code, room)
    np.testing.assert_array_equal(room["selector"].ranking_, planted.selector.ranking_)


def test_parameters_of_the_selection_are_listed_and_those_of_the_run_are_not():
    study = planted_study(FSASL(n_features_to_select=12, n_clusters=4, verbose=1))
    found = re.findall(r'<th scope="row"><code>(\w+)</code></th>.*?<td>(default|set)</td>', render_page(study))
    assert [name for name, origin in found if origin == "set"] == ["n_features_to_select", "n_clusters"]
    assert {name for name, _ in found} == set(study.selector.get_params()) - {"n_jobs", "verbose"}


def test_page_may_run_its_own_script_and_reach_nothing(planted):
    page = render_page(planted)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
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


def test_what_does_not_fit_the_data_is_refused_in_plain_words(planted):
    fields = (planted.selector, planted.X, planted.names, "f", "c")
    with pytest.raises(ValueError, match=r"An image of 8 × 9 has 72 pixels, but there are 60 columns\."):
        Study(*fields, image=(8, 9))
    with pytest.raises(ValueError, match=r"There are 2 labels for 120 samples\."):
        Study(*fields, samples=["a", "b"])
    with pytest.raises(ValueError, match=r"There are 1 values of class for 120 samples\."):
        Study(*fields, groups={"class": [1]})
    with pytest.raises(ValueError, match=r"There are 1 names for 60 columns\."):
        Study(planted.selector, planted.X, ["a"], "f", "c")
