"""``ufselect select``: what it writes, read by other libraries, and what it prints."""

import html
import json
import re
import shlex
import subprocess
import sys
from collections import Counter

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from command_line import (
    MODULE,
    NAMES,
    SCRIPT,
    contents,
    fitted,
    frame,
    invoke,
    read_back,
    run_alone,
    started_at_once,
    write_source,
)

import ufselect.files
from ufselect import FSSL, KernelFSASL
from ufselect._utils.wording import q_value
from ufselect.base.significance import LIMITS
from ufselect.cli import fitting
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import LearnedStructure, alignment_of_selection, neighborhoods_kept, stability_of

# Every format in, every format out, each method on several. Processes start slowly: a few show that they work alike.
ALONE = [
    ("cells.csv", "KernelFSASL", "chosen.parquet"),
    ("sparse.npz", "LaplacianScore", "chosen.npz"),
    ("sparse.h5ad", "KernelFSASL", "chosen.h5ad"),
]
INSTALLED = {"cells.csv": MODULE, "sparse.npz": SCRIPT}  # the others start without importing
IN_PROCESS = [
    ("cells.csv.gz", "MCFS", "chosen.csv"),
    ("cells.tsv", "LaplacianScore", "chosen.tsv.gz"),
    ("cells.parquet", "MCFS", "chosen.parquet"),
    ("cells.npy", "MaxVariance", "chosen.npy"),
    ("cells.mat", "LaplacianScore", "chosen.mat"),
    ("cells.npz", "MaxVariance", "chosen.npz"),
    ("cells.csv", "LaplacianScore", "chosen.h5ad"),
]


def as_dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def headline_of(page):
    """The first sentence on a page."""
    headline = re.search(r"<h1>(.*?)</h1>", page.read_text(encoding="utf-8"), flags=re.DOTALL)[1]
    return html.unescape(re.sub(r"<[^>]*>", "", headline)).replace("\u00a0", " ")


def check_selected(path, source, selector):
    """The file has what was aside and the selected columns, all as they were."""
    chosen = np.flatnonzero(selector.get_support())
    written = read_back(path)
    np.testing.assert_array_equal(as_dense(written.X), as_dense(source.X)[:, chosen])
    if path.suffix != ".npy":
        assert written.names == [source.names[column] for column in chosen]
        assert written.aside == source.aside
    if path.suffix in (".npz", ".mat"):
        assert sp.issparse(written.X) == sp.issparse(source.X)


def check_annotated(path, source, selector):
    """The file has all columns, each with its score, its rank and whether it is selected."""
    data = anndata.read_h5ad(path)
    assert sp.issparse(data.X) == sp.issparse(source.X)
    np.testing.assert_array_equal(as_dense(data.X), as_dense(source.X))
    assert data.var_names.tolist() == source.names
    np.testing.assert_array_equal(data.var["ufselect_score"], selector.scores_)
    np.testing.assert_array_equal(data.var["ufselect_rank"], selector.ranking_)
    np.testing.assert_array_equal(data.var["ufselect_selected"], selector.get_support())
    np.testing.assert_array_equal(data.var["ufselect_q"], selector.q_values_)
    aside = {name: data.obs[name].tolist() for name in data.obs}
    assert aside == {name: values for name, values in source.aside.items() if name != "obs_names"}


def check_printed(stdout, source, selector):
    best = [source.names[column] for column in selector.top_features()]
    curve = getattr(selector, "alignment_curve_", None)
    significance = selector.significance_
    assert stdout.startswith(f"{significance.verdict_on(selector.top_features())}\n{LIMITS}\n")
    assert ("alignment" in stdout) == (curve is not None)
    alignment = "" if curve is None else r" +([01]\.\d{3}|–)"
    rows = re.findall(rf"^ *(\d+)  (\S.*?) +(\S+){alignment} +(\S+)$", stdout, flags=re.MULTILINE)
    assert [(int(rank), name) for rank, name, *_ in rows] == list(enumerate(best, start=1))
    figures = [figure for _, _, figure, *_ in rows]
    assert [row[-1] for row in rows] == [q_value(q) for q in selector.q_values_[selector.top_features()]]
    assert ("gain" in stdout.split(), "score" in stdout.split()) == (curve is not None, curve is None)
    if curve is None:
        scores = [float(f"{score:.4g}") for score in selector.scores_[selector.top_features()]]
        assert [float(figure) for figure in figures] == scores
    else:
        n_best = min(len(curve), 5)  # the curve ends with the last column found
        dashes = ["–"] * (5 - n_best)
        assert figures == [*(f"{gain:.4f}" for gain in np.diff(curve[:5], prepend=0.0)), *dashes]
        assert [row[3] for row in rows] == [*(f"{value:.3f}" for value in curve[:5]), *dashes]
        others = np.flatnonzero(~significance.found)
        others = others[np.argsort(selector.ranking_[others])][:5]
        (reached,) = LearnedStructure(selector, source.X).alignments_of([others])
        which = "selected columns" if n_best == 5 else f"{n_best} best columns"
        aligned = f"Alignment of the {which} with the learned structure: {curve[n_best - 1]:.2f} of 1"
        assert f"\n{aligned} ({len(others)} columns not found: {reached:.2f}).\n" in stdout
    assert f"{source.path.name}: 60 samples × 1" in stdout
    assert "Columns: 5, as requested.\n" in stdout
    assert re.search(r"5 of 12 columns preserve [\d.]+ % of .* neighbours \(random columns: [\d.]+ %\)\.\n", stdout)
    n_clusters = getattr(selector, "n_clusters_", None)
    assert ("Clusters: " in stdout) == (n_clusters is not None)
    if n_clusters is not None:
        assert f"Clusters: {n_clusters}, by the widest gap between the eigenvalues of" in stdout


@pytest.mark.parametrize(("name", "method", "output"), ALONE + IN_PROCESS)
def test_a_format_becomes_another_as_by_the_library(tmp_path, monkeypatch, name, method, output):
    source = write_source(tmp_path, name)
    monkeypatch.chdir(tmp_path)
    arguments = ["select", name, "-m", "5", "--method", method, "-o", output]
    if (name, method, output) in ALONE:
        outcome = run_alone(tmp_path, *arguments, program=INSTALLED.get(name))
        assert (outcome.code, outcome.stderr) == (0, "")
    else:
        outcome = invoke(*arguments)
        assert outcome.code == 0, outcome.stderr
    assert {path.name for path in tmp_path.iterdir()} == {name, output}
    selector = fitted(method, source.X)
    check_printed(outcome.stdout, source, selector)
    (check_annotated if output.endswith(".h5ad") else check_selected)(tmp_path / output, source, selector)
    assert f"Wrote {output}.\n" in outcome.stdout
    assert "\x1b" not in outcome.stdout


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """A file of the small table in the current folder, which is empty else."""
    monkeypatch.chdir(tmp_path)
    return write_source(tmp_path, "cells.csv")


def test_names_alone_come_best_first_and_the_rest_is_said_on_standard_error(cells):
    outcome = invoke("select", "cells.csv", "-m", "7", "--method", "MCFS", "--names")
    best = [NAMES[column] for column in fitted("MCFS", cells.X, 7).top_features()]
    assert outcome[:2] == (0, "".join(f"{name}\n" for name in best))
    assert "Set aside: " in outcome.stderr
    assert outcome.stderr.startswith("4 of 12 columns share structure with others (false discovery rate 5 %); 7 were ")


def test_the_numbers_of_columns_and_clusters_and_why(cells):
    asked = invoke("select", "cells.csv", "--method", "MCFS", "-m", "0.25", "-c", "4").stdout
    assert "Columns: 3, 0.25 of all columns as requested.\n" in asked
    assert "Clusters: 4, as requested.\n" in asked
    found = invoke("select", "cells.csv", "--method", "MCFS").stdout
    count = fitted("MCFS", cells.X, "auto").n_features_
    assert f"Columns: {count}, up to the peak of the alignment with the learned structure.\n" in found
    assert "Clusters: 3, by the widest gap between the eigenvalues" in found
    assert "Clusters: " not in invoke("select", "cells.csv", "-m", 4, "--no-test").stdout


def test_columns_asked_for_are_kept_aside(cells):
    outcome = invoke("select", "cells.csv", "-m", "2", "--method", "MaxVariance", "-o", "out.csv", "--aside", "gene 0")
    assert re.search("^set aside: requested +1  gene 0 *$", outcome.stdout, flags=re.MULTILINE)
    table = pd.read_csv("out.csv")
    assert list(table.columns[:3]) == ["cell", "kind", "gene 0"]
    chosen = fitted("MaxVariance", cells.X[:, 1:], 2).top_features() + 1
    assert list(table.columns[3:]) == [NAMES[column] for column in sorted(chosen)]


def test_of_many_selected_columns_the_best_are_shown_and_constant_ones_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((30, 40))
    X[:, 32:] = 1.0
    np.save("wide.npy", X)
    stdout = invoke("select", "wide.npy", "-m", "35", "--method", "MaxVariance").stdout
    assert "\n  20  x" in stdout
    assert "\n  21  x" not in stdout
    assert "… and 15 more; --names lists all, -o writes them.\n" in stdout
    assert "3 of them are constant" in stdout


def test_missing_values_are_filled_in_where_asked_for_and_come_out_as_they_were(cells):
    table = frame()
    table.loc[[3, 7], "gene 2"] = np.nan
    table.to_csv("holes.csv", index=False)
    outcome = invoke("select", "holes.csv", "-m", "5", "--method", "MCFS", "--impute", "median", "-o", "out.csv")
    assert outcome.code == 0
    assert "2 missing values in gene 2 (2), replaced by the median of the column.\n" in outcome.stdout
    X = table[NAMES].fillna(table[NAMES].median()).to_numpy()
    chosen = [NAMES[column] for column in sorted(fitted("MCFS", X).top_features())]
    assert "gene 2" in chosen
    pd.testing.assert_frame_equal(pd.read_csv("out.csv")[chosen], table[chosen])


def test_an_output_that_is_there_is_replaced_whole(cells, tmp_path):
    (tmp_path / "out.csv").write_text("old, " * 100_000)
    (tmp_path / "out.csv").chmod(0o640)
    assert invoke("select", "cells.csv", "-m", "5", "--method", "MCFS", "-o", "out.csv").code == 0
    check_selected(tmp_path / "out.csv", cells, fitted("MCFS", cells.X))
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o640
    assert set(map(str, contents(tmp_path))) == {"cells.csv", "out.csv"}


def test_the_page_shows_the_selection_and_the_command(cells, tmp_path):
    outcome = invoke("select", "cells.csv", "-m", "5", "--method", "MCFS", "--report", "page.html", "-o", "out.csv")
    assert outcome.code == 0
    assert "Wrote out.csv.\nWrote page.html.\n" in outcome.stdout
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "ufselect select cells.csv -m 5 --method MCFS --report page.html -o out.csv" in page
    assert headline_of(tmp_path / "page.html") == outcome.stdout.splitlines()[0]
    best = [NAMES[column] for column in fitted("MCFS", cells.X).top_features()]
    assert re.findall(r"<li><bdi>(.*?)</bdi></li>", page) == best
    assert ">Image<" not in page
    for image in ("3x4", "3×4", "3X4"):
        arguments = ["--method", "MaxVariance", "-m", "5", "--report", "page.html", "--image", image]
        assert invoke("select", "cells.csv", *arguments).code == 0
        assert ">Image<" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_outputs_are_written_also_when_nobody_reads_what_is_printed(tmp_path):
    np.save(tmp_path / "data.npy", np.random.default_rng(0).normal(size=(60, 12)))
    command = f"{shlex.join(started_at_once())} select data.npy --method MaxVariance -m 5 -o chosen.npy | true"
    subprocess.run(command, shell=True, cwd=tmp_path, check=True, capture_output=True)
    assert np.load(tmp_path / "chosen.npy").shape == (60, 5)


def test_as_many_columns_as_from_python_whatever_memory_blocks_may_take(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fitting, "_LEAST_WORKING_MEMORY", 0)
    X = np.random.default_rng(0).normal(size=(60, 1500))
    np.save("data.npy", X)
    outcome = invoke("select", "data.npy", "--method", "FSSL", "-c", 20)
    assert f"Columns: {FSSL(n_clusters=20).fit(X).n_features_}, up to the peak" in outcome.stdout


def test_more_columns_than_samples_are_chosen_beyond_chance(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = make_planted_clusters(60, 3, 10, 90, random_state=0).X
    np.save("wide.npy", X)
    rule = "where the alignment exceeds that of shuffled columns most"
    told = invoke("select", "wide.npy", "--no-test").stdout
    assert f"Columns: {KernelFSASL().fit(X).n_features_}, {rule}.\n" in told


def test_x_is_validated_once_and_missing_values_are_counted_once(cells, monkeypatch):
    calls = Counter()

    def counting(name, function, is_counted):
        def counted(X, *arguments, **options):
            calls[name] += is_counted(X)
            return function(X, *arguments, **options)

        return counted

    def is_checked(X):
        return getattr(X, "shape", None) == cells.X.shape and not sklearn.get_config()["assume_finite"]

    check = sklearn.utils.validation._assert_all_finite
    monkeypatch.setattr("sklearn.utils.validation._assert_all_finite", counting("X", check, is_checked))
    count = ufselect.files.missing_values
    monkeypatch.setattr("ufselect.files.missing_values", counting("missing", count, lambda table: True))
    assert invoke("select", "cells.csv", "-m", 5, "-o", "out.csv", "--report", "page.html").code == 0
    assert calls["X"] == 1
    assert calls["missing"] <= 1


def test_dates_stand_on_the_page_as_dates(tmp_path, monkeypatch):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)), columns=list("abcd"))
    table["when"] = pd.date_range("2024-01-01", periods=30)
    table.to_parquet(tmp_path / "data.parquet")
    monkeypatch.chdir(tmp_path)
    assert invoke("select", "data.parquet", "--method", "MaxVariance", "-m", 2, "--report", "page.html").code == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "2024-01-05" in page
    assert "17040672000" not in page


# Alignment with the learned structure


@pytest.fixture
def noise(tmp_path, monkeypatch):
    """A file without structure in the current folder."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((120, 40))
    np.save("noise.npy", X)
    return X


@pytest.mark.parametrize("method", ["KernelFSASL", "MCFS"])
def test_noise_is_called_noise_and_the_page_says_so(noise, tmp_path, method):
    outcome = invoke("select", "noise.npy", "-m", 8, "--method", method, "--report", "page.html")
    assert outcome.code == 0
    assert "Note" not in outcome.stderr
    verdict = "No structure was found in 40 columns (false discovery rate 5 %): the selection of 8 is arbitrary."
    assert outcome.stdout.startswith(f"{verdict}\n{LIMITS}\n")
    assert "not found: " not in outcome.stdout
    assert headline_of(tmp_path / "page.html") == verdict


def test_verdict_and_cost_are_the_same_on_the_page_as_in_the_terminal(cells, tmp_path):
    printed = invoke("select", "cells.csv", "-m", 4, "--report", "page.html").stdout
    assert headline_of(tmp_path / "page.html") == printed.splitlines()[0]
    page = (tmp_path / "page.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    cost = r"[\d,.]+ s and [\d,]+ MB of memory"
    (of_fit,) = re.findall(rf"^Took {cost}; the fit ({cost})\.$", printed, flags=re.MULTILINE)
    assert f'<dt>Fit</dt><dd title="{of_fit}">' in page
    assert "<dt>Time</dt>" not in page


def test_page_without_a_test_says_so_and_has_the_stability(cells, tmp_path):
    table = pd.DataFrame(cells.X, columns=NAMES)
    table.loc[:14, "gene 1"] = np.nan
    table.to_csv("holes.csv", index=False)
    arguments = ["-m", 4, "--no-test", "--impute", "median", "--report", "page.html"]
    assert invoke("select", "holes.csv", *arguments).code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>4 of 12 columns selected<" in page
    assert ": whether they share structure with others was not tested." in page
    assert "have a stability of" in page
    features = json.loads(re.search(r'id="data">(.*?)</script>', page).group(1))["features"]
    missing = dict(zip(features["names"], features["missing"], strict=True))
    assert missing == {name: 0.25 if name == "gene 1" else 0.0 for name in NAMES}
    assert set(features["stability"]) <= {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}


def test_page_says_how_small_the_subsets_are_if_larger_ones_would_take_too_long(cells, tmp_path, monkeypatch):
    monkeypatch.setattr("ufselect.cli.select._MOST_VALUES_REFITTED", 12 * 31)
    monkeypatch.setattr("ufselect.cli.select._FEWEST_REFITTED", 20)
    assert invoke("select", "cells.csv", "-m", 4, "--method", "MaxVariance", "--report", "page.html").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    features = json.loads(re.search(r'id="data">(.*?)</script>', page).group(1))["features"]
    assert features["subsets"] == "5 random subsets of 31 of 60 samples (52 %)"
    selector = fitted("MaxVariance", cells.X, 4)
    expected = stability_of(selector, cells.X, max_samples=31)
    np.testing.assert_allclose(features["stability"], expected.frequencies[np.argsort(selector.ranking_)])
    assert expected.sentence in page.replace("\u00a0", " ")


def test_without_the_test_the_alignment_is_told_alone_and_without_an_embedding_none(cells, noise):
    for name, X in (("cells.csv", cells.X), ("noise.npy", noise)):
        outcome = invoke("select", name, "-m", 4, "--no-test")
        found = alignment_of_selection(fitted("KernelFSASL", X, 4, fdr=None))
        assert f"selected columns with the learned structure: {found:.2f} of 1.\n" in outcome.stdout
        assert not re.search("not found|No structure|share structure", outcome.stdout)
    outcome = invoke("select", "cells.csv", "-m", 4, "--method", "LaplacianScore")
    assert outcome.code == 0
    assert "lignment" not in outcome.stdout


def test_neighbours_kept_stand_beside_those_of_random_columns(cells, tmp_path):
    printed = invoke(
        "select", "cells.csv", "-m", 3, "--method", "MaxVariance", "--seed", 2, "--report", "page.html"
    ).stdout
    rng = np.random.default_rng(2)
    random = [rng.choice(12, size=3, replace=False) for _ in range(5)]
    kept, *by_chance = neighborhoods_kept(cells.X, [fitted("MaxVariance", cells.X, 3).top_features(), *random])
    digits = 1 if min(kept, np.mean(by_chance)) < 0.1 else 0
    shares = [f"{100 * share:.{digits}f} %" for share in (kept, np.mean(by_chance))]
    sentence = f"3 of 12 columns preserve {shares[0]} of the samples' nearest neighbours (random columns: {shares[1]})."
    assert f"\n{sentence}\n" in printed
    page = html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert sentence in page.replace("\u00a0", " ")


# Copies


@pytest.mark.parametrize("method", ["KernelFSASL", "MaxVariance"])
def test_copies_are_counted_and_rank_behind_others(cells, tmp_path, method):
    table = pd.DataFrame(cells.X, columns=NAMES)
    without = invoke("select", "cells.csv", "-m", 12, "--method", method, "--no-test").stdout
    assert "cop" not in without
    table["again"] = table["gene 0"]
    np.savez("one.npz", X=table, names=np.array(table.columns, dtype=str))  # copies in tables are set aside
    one = invoke("select", "one.npz", "-m", 12, "--method", method, "--no-test", "--report", "page.html").stdout
    sentence = "1 column is an exact copy of another and ranks behind it."
    assert f"\n{sentence}\n" in one
    assert sentence in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "\n  13  again" not in one
    table[["and again", "and once more"]] = table[["gene 0", "gene 1"]]
    np.savez("several.npz", X=table, names=np.array(table.columns, dtype=str))
    outcome = invoke("select", "several.npz", "-m", 15, "--method", method, "--no-test")
    assert "\n3 columns are exact copies of others and rank behind them.\n" in outcome.stdout
    last = re.findall(r"^  1[345]  (\S.*?) {2,}", outcome.stdout, flags=re.MULTILINE)
    assert set(last) == {"again", "and again", "and once more"}


# Where and how it computes


def test_without_pytorch_a_gpu_is_refused_in_one_sentence(cells, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "ufselect.columns.tensors", raising=False)
    outcome = invoke("select", "cells.csv", "-m", 4, "--device", "cuda")
    assert outcome.code == 1
    assert outcome.stderr == "Error: The parameter device needs PyTorch: run `pip install torch`.\n"


def test_the_recall_of_approximate_neighbours_is_told(cells):
    selector = KernelFSASL(4).fit(cells.X)
    assert not any("Neighbours" in sentence for sentence in fitting.notes_on_fit(selector))
    selector.neighbor_recall_ = 0.987
    told = "Neighbours: approximate, with a recall of 98.7 % on 1,000 samples."
    assert told in fitting.notes_on_fit(selector)
