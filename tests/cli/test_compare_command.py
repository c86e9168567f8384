"""``ufselect compare``: several methods on one file."""

import html
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from command_line import CLASSES, KINDS, contents, dense_numbers, fitted, invoke, run_alone, write_source

import ufselect
from ufselect.cli import compare
from ufselect.inspection import dense_columns, neighborhoods_kept, selection_overlap, stability_of
from ufselect.metrics import clustering_agreement, redundancy
from ufselect.significance import column_significance

# Processes start slowly: one format is enough to see that a command works in one.
IN_A_PROCESS = "sparse.h5ad"
PLAIN = [
    "method",
    "baseline",
    "columns",
    "found",
    "redundancy",
    "neighbours_kept",
    "stability",
    "stability_by_chance",
    "stability_of_groups",
    "seconds",
    "fits",
    "not_converged",
]


def table_in(stdout, first):
    """The rows below a line that begins with these words, up to a blank one."""
    lines = stdout[re.search(rf"^{first}", stdout, flags=re.MULTILINE).start() :].splitlines()
    end = lines.index("") if "" in lines else None
    return [re.split(r" {2,}", line.strip()) for line in lines[2:end]]


def check_compared(folder, source, outcome, methods):
    """The printed table is complete, and the figures written are those of the library."""
    assert {path.name for path in folder.iterdir()} == {source.path.name, "figures.csv"}
    assert "\x1b" not in outcome.stdout
    assert [row[0] for row in table_in(outcome.stdout, "method")] == [*methods, "baseline: random"]
    figures = pd.read_csv(folder / "figures.csv", float_precision="round_trip").set_index("method")
    for method in methods:
        chosen = fitted(method, source.X).top_features()
        assert figures.loc[method, "columns"] == 5
        assert figures.loc[method, "redundancy"] == pytest.approx(redundancy(source.X[:, chosen]), rel=1e-12)
        assert figures.loc[method, "neighbours_kept"] == neighborhoods_kept(source.X, [chosen])[0]


@pytest.mark.parametrize(
    ("name", "first"), [(IN_A_PROCESS, "KernelFSASL"), ("cells.csv", "LaplacianScore"), ("cells.npz", "LaplacianScore")]
)
def test_files_of_any_format_are_compared(tmp_path, monkeypatch, name, first):
    monkeypatch.chdir(tmp_path)
    source, methods = write_source(tmp_path, name), [first, "MaxVariance"]
    arguments = ["-m", "5", "--methods", ",".join(methods), "--repeats", "2", "-o", "figures.csv"]
    run = partial(run_alone, tmp_path) if name == IN_A_PROCESS else invoke
    outcome = run("compare", name, *arguments)
    assert outcome.code == 0, outcome.stderr
    assert name != IN_A_PROCESS or outcome.stderr == ""
    check_compared(tmp_path, source, outcome, methods)


# In this process


@pytest.fixture
def cells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_source(tmp_path, "cells.csv")


def test_all_figures_are_those_of_the_library(cells):
    arguments = ["-m", "4", "--methods", "mcfs, LaplacianScore", "--repeats", "3", "--labels", "kind", "--seed", "7"]
    outcome = invoke("compare", "cells.csv", *arguments, "-o", "figures.csv")
    assert outcome.code == 0, outcome.stderr
    table = pd.read_csv("figures.csv", float_precision="round_trip")
    assert list(table.columns) == [*PLAIN, "ACC", "NMI"]
    assert table["method"].tolist() == ["MCFS", "LaplacianScore", "random"]
    assert (table["columns"] == 4).all()
    X = dense_numbers()
    classes = np.unique(KINDS, return_inverse=True)[1]
    significance = column_significance(X, random_state=7)
    for row, parameters in [(0, {"random_state": 7}), (1, {})]:
        selector = getattr(ufselect, table["method"][row])(4, **parameters).fit(X, significance=significance)
        chosen = selector.top_features()
        agreement = clustering_agreement(dense_columns(X, chosen), classes)
        assert table["found"][row] == significance.found[chosen].mean()
        assert table["redundancy"][row] == redundancy(X[:, chosen])
        assert table["neighbours_kept"][row] == neighborhoods_kept(X, [chosen])[0]
        stability = stability_of(selector, X, n_draws=3, random_state=7)
        told = (stability.value, stability.by_chance, stability.value_of_groups)
        assert tuple(table.loc[row, "stability":"stability_of_groups"]) == told
        assert (table["ACC"][row], table["NMI"][row]) == (agreement["acc"], agreement["nmi"])
        assert table["seconds"][row] > 0.0


def test_the_table_and_what_its_columns_mean(cells):
    outcome = invoke("compare", "cells.csv", "-m", "4", "--methods", "MCFS,MaxVariance", "--labels", "kind")
    header = next(line for line in outcome.stdout.splitlines() if line.startswith("method"))
    assert header.split() == ["method", "found", "redundancy", "neighbours", "stability", "seconds", "ACC", "NMI"]
    rows = table_in(outcome.stdout, "method")
    assert [row[0] for row in rows] == ["MCFS", "MaxVariance", "baseline: random"]
    assert rows[-1][4:6] == ["–", "–"]
    assert all(len(row) == 8 for row in rows)
    for word in ("found", "redundancy", "neighbours", "stability", "ACC, NMI", "random"):
        assert re.search(rf"^{word}: .*\.$", outcome.stdout, flags=re.MULTILINE), word
    assert "4 columns selected by each method:" in outcome.stdout
    assert outcome.stdout.startswith("4 of 12 columns share structure with others (false discovery rate 5 %).\n")
    assert [row[1] for row in rows[:2]] == ["100 %", "100 %"]


def test_the_page_has_the_same_table_and_the_command(cells, tmp_path):
    arguments = ["compare", "cells.csv", "-m", "4", "--methods", "MCFS,MaxVariance", "--labels", "kind"]
    outcome = invoke(*arguments, "--report", "page.html", "-o", "figures.csv", "--ordered")
    assert outcome.stdout.endswith("\nWrote figures.csv.\nWrote page.html.\n")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>2 methods, 4 of 12 columns each: " in page
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in page.splitlines() if line.startswith("<tr")]
    table = pd.read_csv("figures.csv")
    for line, row in zip(lines, table.to_dict("records"), strict=True):
        assert line[0].partition(" <")[0] == row["method"]
        shares = [row[key] for key in ("found", "redundancy", "neighbours_kept", "ACC", "NMI")]
        assert [line[index] for index in (1, 2, 3, 6, 7)] == [f"{100 * share:.0f}\u00a0%" for share in shares]
    assert "compare cells.csv -m 4 --methods MCFS,MaxVariance --labels kind --report page.html" in page
    assert re.findall(r'<tr class="baseline"><th scope="row" title="(.*?)"', page) == ["evenly spaced", "random"]
    explained = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html.unescape(page))
    assert [f"{what}: {meaning}" in outcome.stdout for what, meaning in explained] == [True] * len(explained)
    assert {"redundancy", "neighbours", "stability", "random", "evenly spaced"} <= {what for what, _ in explained}
    refused = invoke("compare", "cells.csv", "--report", "page.txt")
    assert (refused.code, "page.txt does not end in .html" in refused.stderr) == (2, True)


def test_columns_that_are_not_asked_for_are_not_there(cells):
    arguments = ["-m", "4", "--methods", "MaxVariance", "--repeats", "0", "--no-test", "-o", "figures.csv"]
    outcome = invoke("compare", "cells.csv", *arguments)
    header = next(line for line in outcome.stdout.splitlines() if line.startswith("method"))
    assert header.split() == ["method", "redundancy", "neighbours", "seconds"]
    assert not re.search("stability:|ACC|Overlap|found", outcome.stdout)
    table = pd.read_csv("figures.csv")
    assert list(table.columns) == PLAIN
    assert table[["stability", "found"]].isna().all(axis=None)


def test_what_methods_have_in_common(cells):
    methods = ["MCFS", "LaplacianScore", "MaxVariance"]
    outcome = invoke("compare", "cells.csv", "-m", "5", "--methods", ",".join(methods), "--repeats", "0")
    shares = selection_overlap([fitted(method, cells.X).top_features() for method in methods])
    rows = outcome.stdout.partition("two methods (Jaccard index):")[2].splitlines()
    found = [re.split(r" {2,}", row) for row in rows if row.startswith(tuple(methods))]
    assert found == [
        [method, *(f"{100.0 * share:.0f} %" for share in line)] for method, line in zip(methods, shares, strict=True)
    ]


def test_without_a_number_all_take_as_many_as_the_first(cells):
    outcome = invoke("compare", "cells.csv", "--methods", "MCFS,MaxVariance", "--repeats", "0", "-o", "figures.csv")
    count = fitted("MCFS", cells.X, "auto").n_features_
    assert f"Columns: {count} for every method, as many as MCFS selects.\n" in outcome.stdout
    assert pd.read_csv("figures.csv")["columns"].tolist() == [count] * 3


def test_the_usual_methods(cells):
    outcome = invoke("compare", "cells.csv", "-m", "4", "--repeats", "0", "-o", "figures.csv")
    assert outcome.code == 0, outcome.stderr
    usual = ["KernelFSASL", "MCFS", "FSSL", "SPFS", "LaplacianScore", "MaxVariance"]
    baselines = ["UncorrelatedVariance", "PivotedQR", "random"]
    table = pd.read_csv("figures.csv")
    assert table["method"].tolist() == [*usual, *baselines]
    assert table["baseline"].tolist() == [False] * 6 + [True] * 3
    assert [row[0] for row in table_in(outcome.stdout, "method")][6:] == [f"baseline: {name}" for name in baselines]
    for name in baselines:
        assert re.search(rf"^{name}: .*\.$", outcome.stdout, flags=re.MULTILINE), name


def test_baselines_are_named_in_any_order_and_come_last(cells):
    methods = ["--methods", "pivotedqr,LaplacianScore,UncorrelatedVariance"]
    outcome = invoke("compare", "cells.csv", *methods, "--repeats", "0", "-o", "figures.csv")
    assert outcome.code == 0, outcome.stderr
    table = pd.read_csv("figures.csv").set_index("method")
    assert table.index.tolist() == ["LaplacianScore", "PivotedQR", "UncorrelatedVariance", "random"]
    count = fitted("LaplacianScore", cells.X, "auto").n_features_
    assert "as many as LaplacianScore selects.\n" in outcome.stdout
    for name in ("PivotedQR", "UncorrelatedVariance"):
        chosen = getattr(ufselect.inspection, name)(count).fit(cells.X).top_features()
        assert table.loc[name, "redundancy"] == redundancy(cells.X[:, chosen])
    alone = invoke("compare", "cells.csv", "--methods", "PivotedQR", "-m", "3", "--report", "page.html")
    assert alone.code == 0, alone.stderr
    assert "<h1>1 baseline, 3 of 12 columns each: " in (cells.path.parent / "page.html").read_text(encoding="utf-8")


def test_baselines_respect_batches_and_what_is_kept_and_excluded(cells):
    arguments = ["-m", "3", "--methods", "MaxVariance,PivotedQR,UncorrelatedVariance", "--ordered", "--repeats", "0"]
    panel = ["--keep", "gene 7", "--exclude", "gene 0", "--batch", "kind"]
    outcome = invoke("compare", "cells.csv", *arguments, *panel, "-o", "figures.csv")
    assert (outcome.code, outcome.stderr) == (0, "")
    table = pd.read_csv("figures.csv").set_index("method")
    for name, row in (("PivotedQR",) * 2, ("UncorrelatedVariance",) * 2, ("EvenSpacing", "evenly spaced")):
        selector = getattr(ufselect.inspection, name)(3, keep=[7], exclude=[0]).fit(cells.X, batch=KINDS)
        assert table.loc[row, "redundancy"] == redundancy(cells.X[:, selector.top_features()])
    assert "random: mean of 10 random selections of all columns.\n" in outcome.stdout


# Methods that do not converge


def test_fits_that_do_not_converge_are_counted(cells, monkeypatch):
    usual = compare.make_selector

    def make(name, *options, **more):
        impatient = {"parameters": {"max_iter": 1, "tol": 0.0}} if name == "NDFS" else {}
        return usual(name, *options, **more, **impatient)

    monkeypatch.setattr(compare, "make_selector", make)
    arguments = ["-m", "4", "--methods", "NDFS,MaxVariance", "--repeats", "3", "-o", "a.csv"]
    outcome = invoke("compare", "cells.csv", *arguments)
    assert outcome.code == 0, outcome.stderr
    assert "\nnot converged: NDFS in 4 of 4 fits.\n" in outcome.stdout
    assert "Note" not in outcome.stderr
    table = pd.read_csv("a.csv").set_index("method")
    assert table["fits"].tolist()[:2] == [4, 4]
    assert table["not_converged"].tolist()[:2] == [4, 0]
    assert table.loc["random", ["fits", "not_converged"]].isna().all()


# Methods that fail


@pytest.mark.parametrize("count", [["-m", "4"], []], ids=["given", "auto"])
def test_a_method_that_fails_is_left_out_with_a_note(cells, count):
    arguments = [*count, "-c", "60", "--repeats", "0", "-o", "figures.csv"]
    outcome = invoke("compare", "cells.csv", "--methods", "MCFS,LaplacianScore,FSASL", *arguments)
    assert outcome.code == 0, outcome.stderr
    sentence = "n_clusters=60 must be less than the number of samples, 60."
    assert outcome.stderr.splitlines() == [f"Note: {name} was skipped: {sentence}" for name in ("MCFS", "FSASL")]
    assert pd.read_csv("figures.csv")["method"].tolist() == ["LaplacianScore", "random"]
    assert "MCFS" not in outcome.stdout


def test_where_all_fail_there_is_no_table(cells, tmp_path):
    before = contents(tmp_path)
    outcome = invoke("compare", "cells.csv", "--methods", "MCFS,FSASL", "-m", "4", "-c", "60", "-o", "figures.csv")
    assert outcome.code == 1
    assert outcome.stderr.splitlines()[-1].startswith("Error: no method could be fitted")
    assert "n_clusters=60 must be less than the number of samples, 60" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert contents(tmp_path) == before


def test_columns_in_an_order_are_compared_with_evenly_spaced_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("spectra.npy", np.random.default_rng(0).standard_normal((40, 20)).cumsum(axis=1))
    told = invoke("compare", "spectra.npy", "--methods", "MaxVariance", "-m", "4", "--repeats", "0", "--ordered").stdout
    line = next(line for line in told.splitlines() if line.startswith("baseline: evenly spaced "))
    (expected,) = neighborhoods_kept(np.load("spectra.npy"), [[2, 7, 12, 17]])
    assert f"{100 * expected:.0f} %" in line
    assert "evenly spaced: columns at equal distances." in told


def test_labels_may_be_a_column_of_numbers(cells):
    pd.DataFrame(dense_numbers()).assign(group=CLASSES).to_csv("numbered.csv", index=False)
    outcome = invoke("compare", "numbered.csv", "-m", "4", "--methods", "MaxVariance", "--labels", "group")
    assert outcome.code == 0, outcome.stderr
    assert "60 samples × 1" in outcome.stdout
