"""``select --save``, ``apply`` and ``diff``: this week's choice on next week's file."""

import json
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import NAMES, dense_numbers, frame, invoke, is_one_sentence, read_back, run_alone, write_source

from ufselect.files import read_choice


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(name="cells.csv", *options, method="MaxVariance"):
    chosen = ["-m", "5", "--no-test", "--method", method, "--save", "choice.json"]
    outcome = invoke("select", name, *chosen, *options)
    assert (outcome.code, outcome.stderr) == (0, ""), outcome.stderr
    return json.loads(Path("choice.json").read_text(encoding="utf-8"))


def next_week(rows=90, seed=3):
    """The same columns in another order, of other cells, with a new column."""
    rng = np.random.default_rng(seed)
    picked = rng.integers(0, 60, rows)
    X = pd.DataFrame(dense_numbers()[picked] + 0.3 * rng.standard_normal((rows, 12)), columns=NAMES)
    X["new"], X["cell"], X["kind"] = rng.standard_normal(rows), [f"later {row}" for row in range(rows)], "flat"
    return X[X.columns[::-1]]


# Save


def test_the_file_holds_the_choice_and_how_it_was_made(folder):
    write_source(folder, "cells.csv")
    content = save(
        "cells.csv", "--aside", "gene 11", "--impute", "median", "--exclude", "gene 10", method="KernelFSASL"
    )
    assert list(content)[:4] == ["format", "version", "ufselect", "command"]
    assert content["command"].startswith("ufselect select cells.csv -m 5 --no-test --method KernelFSASL --save")
    assert content["source"]["name"] == "cells.csv"
    assert content["source"]["samples"] == 60
    assert len(content["source"]["sha256"]) == 64
    assert content["settings"] == {"impute": "median", "aside": ["gene 11"]}
    assert content["aside"] == {
        "cell": "60 different texts",
        "kind": "dates such as 2021-03-01",
        "gene 11": "requested",
    }
    assert (content["record"]["method"], content["record"]["exclude"]) == ("KernelFSASL", ["gene 10"])
    assert content["columns"]["names"] == NAMES[:11]
    assert content["columns"]["q_values"] is None
    assert len(content["record"]["alignment_curve"]) == len(content["selected"]) == 5
    assert len(content["resampled"]["halves"]) == 5
    assert set(content["summaries"]) == set(NAMES[:11])
    assert {each["role"] for each in content["roles"]} == {"numeric", "date", "text"}
    named = invoke(
        "select", "cells.csv", "-m", "5", "--no-test", "--aside", "gene 11", "--exclude", "gene 10", "--names"
    )
    assert named.stdout.splitlines() == content["selected"]


def of_all_kinds(rows=240, seed=0, flipped=0):
    """A table of customers of three kinds: an id, a date, free text, categories, a near copy and missing values."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, rows)
    income = rng.normal(3.0 * kind, 0.5)
    X = pd.DataFrame(
        {
            "noise": rng.standard_normal(rows),
            "customer_id": rng.permutation(rows) + 1000,
            "state": np.array(["CA", "NY", "TX"])[kind],
            "income": income,
            "income again": income * 2.0 + 1e-4 * rng.standard_normal(rows),
            "since": pd.date_range("2021-01-01", periods=rows).strftime("%Y-%m-%d"),
            "debt": rng.normal(-2.0 * kind, 0.5),
            "remark": [f"remark {row} of {rng.integers(1e9)}" for row in range(rows)],
            "colour": rng.choice(["blue", "green", "red"], rows),
            "age": rng.normal(2.0 * (kind == 1), 0.4),
            "flat": 1.0,
        }
    )
    X.loc[rng.random(rows) < 0.1, "age"] = np.nan
    X.loc[rng.random(rows) < 0.05, "state"] = None
    X.loc[: flipped - 1, "state"] = "CA"
    return X


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("method", ["KernelFSASL", "MaxVariance", "LaplacianScore"])
def test_tables_of_columns_of_many_kinds(folder, ending, method):
    write = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}[ending]
    write(of_all_kinds(), f"first.{ending}", index=False)
    chosen = ["-m", "3", "--keep", "state", "--method", method, "--save", "choice.json", "-o", f"selected.{ending}"]
    outcome = invoke("select", f"first.{ending}", *chosen)
    assert outcome.code == 0, outcome.stderr
    choice = read_choice("choice.json")
    assert set(choice.names) == {"noise", "income", "debt", "age", "state", "colour"}
    assert (len(choice.selected), choice.record["n_selected"], "state" in choice.selected) == (3, 3, True)
    assert choice.near_copies["income again"] == "income"
    assert set(choice.summaries["state"].points) == {"CA", "TX", "NY"}
    assert {len(set(part)) for split in choice.resampled.halves for part in split} == {6}
    applied = invoke("apply", "choice.json", f"first.{ending}", "-o", f"applied.{ending}")
    assert (applied.code, applied.stderr) == (0, "")
    assert "None of 3 columns has drifted" in applied.stdout
    assert (folder / f"selected.{ending}").read_bytes() == (folder / f"applied.{ending}").read_bytes()
    same = invoke("diff", "choice.json", f"first.{ending}")
    assert same.stdout.startswith("3 of 3 columns are the same; both were selected from the same data"), same
    later = of_all_kinds(200, seed=1, flipped=120).assign(new="x")
    later["income again"] = 0.0
    write(later[later.columns[::-1]], f"later.{ending}", index=False)
    applied = invoke("apply", "choice.json", f"later.{ending}", "-o", f"applied.{ending}")
    assert applied.code == 0
    assert "has drifted: state." in applied.stdout
    assert "Ignored: 1 column that first." in applied.stdout
    first, second = (read_back(folder / f"{name}.{ending}") for name in ("selected", "applied"))
    assert (second.names, list(second.aside)) == (first.names, list(first.aside))
    outcome = invoke("diff", "choice.json", f"later.{ending}", "--repeats", "2")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert " of 3 columns are the same; by chance " in outcome.stdout
    assert "Left out: 1 column that first." in outcome.stdout
    assert invoke("diff", "choice.json", f"later.{ending}", "--aside", "state").stderr.endswith(
        "Column 'state' is one of the selected columns and cannot be set aside.\n"
    )
    write(later.drop(columns="state"), f"later.{ending}", index=False)
    assert (
        f"later.{ending} lacks 1 of the 3 selected columns: 'state'"
        in invoke("apply", "choice.json", f"later.{ending}").stderr
    )


def test_the_choice_is_written_with_the_other_files_or_not_at_all(folder):
    write_source(folder, "cells.csv")
    for options, message in {
        ("--save", "choice.txt"): "does not end in .json",
        ("--save", "gone/choice.json"): "there is no folder gone",
        ("--save", "choice.json", "-o", "gone/out.csv"): "there is no folder gone",
        ("--save", "choice.json", "--dask", "local"): "does not work with --dask",
    }.items():
        outcome = invoke("select", "cells.csv", *options)
        assert (outcome.code > 0, outcome.stdout) == (True, "")
        assert is_one_sentence(outcome.stderr)
        assert message in outcome.stderr
    assert [path.name for path in folder.iterdir()] == ["cells.csv"]


# Apply

FORMATS = [
    "cells.csv",
    "cells.tsv",
    "cells.csv.gz",
    "cells.parquet",
    "cells.npy",
    "cells.npz",
    "sparse.npz",
    "cells.mat",
]


@pytest.mark.parametrize("name", [*FORMATS, "cells.h5ad"])
def test_the_same_file_gives_the_same_output_as_select(folder, name):
    write_source(folder, name)
    ending = name.partition(".")[2]
    save(name, "-o", f"selected.{ending}", "--counts", "no")
    outcome = invoke("apply", "choice.json", name, "-o", f"applied.{ending}")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith(f"All 5 selected columns are in {name}. None of 5 columns has drifted (false disc")
    assert outcome.stdout.endswith(f"Wrote applied.{ending}.\n")
    if ending != "h5ad":
        if ending in ("csv", "tsv", "npy", "parquet"):
            assert (folder / f"selected.{ending}").read_bytes() == (folder / f"applied.{ending}").read_bytes()
        expected, found = read_back(folder / f"selected.{ending}"), read_back(folder / f"applied.{ending}")
        assert (found.names, found.aside) == (expected.names, expected.aside)
        assert abs(found.X - expected.X).sum() == 0.0
        return
    expected, found = (anndata.read_h5ad(f"{each}.h5ad") for each in ("selected", "applied"))
    pd.testing.assert_frame_equal(found.var, expected.var)
    pd.testing.assert_frame_equal(found.obs, expected.obs)
    assert found.uns["ufselect"]["params"] == {
        key: value for key, value in expected.uns["ufselect"]["params"].items() if key != "device"
    }


def test_a_format_that_keeps_all_columns_has_those_of_a_table_of_many_kinds(folder):
    of_all_kinds().to_csv("first.csv", index=False)
    save("first.csv", "-m", "3", "--keep", "state", "-o", "selected.h5ad")
    later = of_all_kinds()[of_all_kinds().columns[::-1]].assign(new=1.5)
    for table in (of_all_kinds(), later):
        table.to_csv("later.csv", index=False)
        assert invoke("apply", "choice.json", "later.csv", "-o", "applied.h5ad").code == 0
        expected, found = (anndata.read_h5ad(f"{each}.h5ad") for each in ("selected", "applied"))
        assert {"income again", "flat"} <= {*expected.var_names}
        pd.testing.assert_frame_equal(found.var, expected.var)
        pd.testing.assert_frame_equal(found.obs.reset_index(drop=True), expected.obs.reset_index(drop=True))
        np.testing.assert_array_equal(found.X, expected.X)
    later.drop(columns=["flat", "colour"]).to_csv("later.csv", index=False)
    assert invoke("apply", "choice.json", "later.csv", "-o", "applied.h5ad").code == 0
    fewer = anndata.read_h5ad("applied.h5ad")
    assert fewer.var_names.tolist() == [name for name in expected.var_names if name != "flat"]


def test_other_rows_in_another_order_of_columns(folder):
    write_source(folder, "cells.csv")
    content = save()
    next_week().to_csv("later.csv", index=False)
    outcome = invoke("apply", "choice.json", "later.csv", "-o", "out.parquet")
    assert outcome.code == 0
    assert "Ignored: 1 column that cells.csv did not have." in outcome.stdout
    written = pd.read_parquet("out.parquet")
    chosen = [name for name in NAMES if name in content["selected"]]
    assert written.columns.tolist() == ["cell", "kind", *chosen]
    pd.testing.assert_frame_equal(written, pd.read_csv("later.csv")[written.columns], check_dtype=False)
    again = invoke("apply", "choice.json", "later.csv", "-o", "out.h5ad")
    assert again.code == 0
    var = anndata.read_h5ad("out.h5ad").var
    assert var.index[var["ufselect_selected"]].tolist() == chosen
    assert var.index.tolist() == NAMES


def test_settings_hold_for_the_next_file_unless_overruled(folder):
    text = frame().rename(columns={"gene 0": "id"}).to_csv(index=False, sep=";", decimal=",")
    (folder / "cells.csv").write_text(text)
    save("cells.csv", "--aside", "id", "--delimiter", ";", "--decimal", ",")
    (folder / "later.csv").write_text(text)
    assert invoke("apply", "choice.json", "later.csv", "-o", "out.csv").code == 0
    assert pd.read_csv("out.csv").columns.tolist()[:3] == ["cell", "kind", "id"]
    other = frame().drop(columns=["gene 0", "kind"])
    other.to_csv("other.csv", index=False)
    refused = invoke("apply", "choice.json", "other.csv")
    assert refused.code == 1
    assert is_one_sentence(refused.stderr)
    outcome = invoke("apply", "choice.json", "other.csv", "--delimiter", ",", "--decimal", ".", "-o", "out.csv")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert "Missing, but was only set aside: kind, id." in outcome.stdout
    other.to_parquet("other.parquet")
    assert invoke("apply", "choice.json", "other.parquet").code == 0


def test_drift_and_holes_are_told_in_a_table(folder):
    write_source(folder, "cells.csv")
    first, second, third, *_ = save()["selected"]
    later = frame()
    later[first] += 3.0
    later.loc[:, second] = np.nan
    later.loc[later.index[:30], third] = np.nan
    later.to_csv("later.csv", index=False)
    outcome = invoke("apply", "choice.json", "later.csv", "-o", "out.csv")
    assert outcome.code == 0
    assert "3 of 5 columns have drifted: " in outcome.stdout.splitlines()[0]
    rows = {line[:7].strip(): line.split() for line in outcome.stdout.splitlines() if line.startswith("gene ")}
    assert "median" in rows[first]
    assert rows[second][2:7] == ["missing", "0", "%", "→", "100"]
    assert "missing" in rows[third]
    assert pd.read_csv("out.csv")[second].isna().all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, name: X.drop(columns=name), "later.csv lacks 1 of the 5 selected columns: '{name}'."),
        (lambda X, name: X.rename(columns={name: name.upper()}), "'{name}' (is it '{upper}'?)."),
        (
            lambda X, name: X.assign(**{name: [*X[name][:8], "unknown", *X[name][9:]]}),
            "column '{name}' was numeric in cells.csv and is not now: text: 'unknown' in row 9 is not a number",
        ),
        (lambda X, name: X.assign(**{name: "2024-01-31"}), "is not now: dates, '2024-01-31' in row 1."),
        (lambda X, name: X[["cell", "kind"]], "later.csv has no numeric column"),
        (lambda X, name: X[:0], "later.csv has a header but no rows"),
    ],
)
def test_files_that_do_not_fit_are_refused_in_one_sentence(folder, change, message):
    write_source(folder, "cells.csv")
    name = save()["selected"][0]
    change(frame(), name).to_csv("later.csv", index=False)
    outcome = invoke("apply", "choice.json", "later.csv", "-o", "out.csv")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert is_one_sentence(outcome.stderr)
    assert message.format(name=name, upper=name.upper()) in outcome.stderr
    if "is not now" in message:
        assert invoke("diff", "choice.json", "later.csv").stderr == outcome.stderr
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("command", ["apply", "diff"])
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["gone.json", "cells.csv"], 1, "There is no file gone.json."),
        (["cells.csv", "cells.csv"], 1, "cells.csv is no choice that ufselect select --save wrote: it is not JSON"),
        (["choice.json", "gone.csv"], 1, "There is no file gone.csv."),
        (["choice.json", "cells.csv", "--aside", "nix"], 1, "has no column named 'nix'"),
        (["choice.json", "cells.csv", "--colour"], 2, "No such option"),
        (["hostile.json", "cells.csv"], 1, "The choice was read with sheet=7, which is no such option."),
        (["choice.json"], 2, "Missing argument"),
    ],
)
def test_mistakes_are_told_in_one_sentence(folder, command, arguments, code, message):
    write_source(folder, "cells.csv")
    content = save() | {"settings": {"sheet": 7}}
    (folder / "hostile.json").write_text(json.dumps(content))
    outcome = invoke(command, *arguments)
    assert (outcome.code, outcome.stdout) == (code, "")
    assert is_one_sentence(outcome.stderr)
    assert message in outcome.stderr


def test_outputs_never_replace_inputs(folder):
    write_source(folder, "cells.csv")
    save()
    for target in ("cells.csv", "choice.json"):
        outcome = invoke("apply", "choice.json", "cells.csv", "-o", target)
        assert outcome.code > 0
        assert is_one_sentence(outcome.stderr)
    assert read_choice("choice.json")
    selected = invoke("apply", "choice.json", "cells.csv", "--aside", save()["selected"][0])
    assert "is one of the selected columns and cannot be set aside" in selected.stderr


# Diff


def test_a_choice_is_compared_with_what_is_selected_from_the_next_file(folder):
    write_source(folder, "cells.csv")
    save()
    later = next_week(300)
    later["gene 5"] *= 8.0
    later.to_csv("later.csv", index=False)
    outcome = run_alone(folder, "diff", "choice.json", "later.csv", "-j", "2")
    assert (outcome.code, outcome.stderr) == (0, "")
    lines = outcome.stdout.splitlines()
    assert lines[0].startswith("4 of 5 columns are the same; by chance from samples of this size alone ")
    assert lines[0].endswith(". 1 of 12 columns has drifted: gene 5.")
    assert lines[1] == "Before: 5 of 12 columns of cells.csv (60 samples), by MaxVariance."
    assert lines[2] == "After: 5 of 12 columns of later.csv (300 samples), by MaxVariance."
    assert "Left out: 1 column that cells.csv did not have." in lines
    rows = [line.split() for line in lines if line.startswith("gene ")]
    assert next(row for row in rows if row[-1] == "in")[:2] == ["gene", "5"]
    assert sum(row[-1] == "out" for row in rows) == 1
    assert lines[-1].startswith(
        "By chance: extrapolated from what selections from disjoint quarters and halves of cells.csv and of later"
    )
    unknown = invoke("diff", "choice.json", "later.csv", "--repeats", "0")
    assert unknown.code == 0
    assert (
        "By chance: extrapolated from what selections from disjoint quarters and halves of cells.csv have"
        in unknown.stdout
    )


def test_two_choices_are_compared_without_data(folder):
    write_source(folder, "cells.csv")
    save()
    (folder / "choice.json").rename(folder / "first.json")
    next_week(120).to_csv("cells.csv", index=False)
    save("cells.csv", "--aside", "new")
    (folder / "cells.csv").unlink()
    outcome = invoke("diff", "first.json", "choice.json")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert " of 5 columns are the same; by chance from samples of this size alone " in outcome.stdout.splitlines()[0]
    content = json.loads((folder / "choice.json").read_text()) | {"resampled": None, "stability": "It is stable."}
    (folder / "choice.json").write_text(json.dumps(content))
    (folder / "first.json").write_text((folder / "choice.json").read_text().replace(content["source"]["sha256"], ""))
    unknown = invoke("diff", "first.json", "choice.json")
    assert unknown.stdout.startswith(
        "5 of 5 columns are the same; how many would be by chance alone cannot be told, since"
    )
    assert "Before: It is stable.\n" in unknown.stdout
    refused = invoke("diff", "first.json", "choice.json", "--aside", "x")
    assert (refused.code, refused.stdout) == (2, "")
    assert "options apply to a file with data only" in refused.stderr


def test_the_same_data_give_the_same_choice(folder):
    write_source(folder, "cells.h5ad")
    content = save(
        "cells.h5ad", "--keep", "gene 9", "--batch", "kind", "--method", "LaplacianScore", "--n-neighbors", "4"
    )
    outcome = invoke("diff", "choice.json", "cells.h5ad")
    assert outcome.code == 0
    assert outcome.stdout.startswith(
        "5 of 5 columns are the same; both were selected from the same data, so chance has no"
    )
    rows = [line.split() for line in outcome.stdout.splitlines() if line.startswith("gene ")]
    assert [(f"gene {row[1]}", row[2], row[3]) for row in rows] == [
        (name, str(rank), str(rank)) for rank, name in enumerate(content["selected"], start=1)
    ]


def test_counts_and_all_that_are_found_stay_as_they_were(folder):
    rng = np.random.default_rng(0)
    rates = np.full((90, 30), 0.7)
    for kind in range(3):
        rates[30 * kind : 30 * (kind + 1), 3 * kind : 3 * (kind + 1)] = 8.0
    sp.save_npz("counts.npz", sp.csr_matrix(rng.poisson(rates).astype(np.float32)))
    outcome = invoke("select", "counts.npz", "--significant", "--save", "choice.json")
    assert outcome.code == 0
    choice = read_choice("choice.json")
    assert choice.record["counts"] is choice.record["significant"] is True
    sp.save_npz("later.npz", sp.csr_matrix(rng.poisson(rates).astype(np.float32)))
    outcome = invoke("diff", "choice.json", "later.npz", "--repeats", "0")
    assert outcome.code == 0
    assert "Values are log-normalised as raw counts, as requested." in outcome.stdout
    assert "are the same" in outcome.stdout.splitlines()[0]
    assert outcome.stdout.splitlines()[0].endswith("None of 30 columns has drifted (false discovery rate 5 %).")


def test_a_method_of_another_module_is_imported_only_if_it_is_named(folder):
    (folder / "own_methods.py").write_text(
        "from ufselect import MaxVariance\n\n\nclass Own(MaxVariance):\n    pass\n", encoding="utf-8"
    )
    write_source(folder, "cells.csv")
    save("cells.csv", method="own_methods:Own")
    refused = invoke("diff", "choice.json", "cells.csv")
    assert refused.stderr == (
        "Error: The choice was made by own_methods:Own, which is no method of ufselect; import it by --method "
        "own_methods:Own.\n"
    )
    assert invoke("diff", "choice.json", "cells.csv", "--method", "own_methods:Own").code == 0
    other = invoke("diff", "choice.json", "cells.csv", "--method", "MCFS")
    assert "the choice was made by own_methods:Own, not by MCFS" in other.stderr
