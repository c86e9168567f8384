"""``ufselect evaluate``: any list of columns."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import KINDS, NAMES, dense_numbers, frame, invoke, is_one_sentence, run_alone, write_source
from numpy.testing import assert_array_equal

from ufselect.inspection import evaluate, reconstruction_of
from ufselect.significance import column_significance

# Processes start slowly: one format is enough to see that a command works in one.
IN_A_PROCESS = "cells.h5ad"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cells(folder):
    return write_source(folder, "cells.csv")


def write_list(*names, path="list.txt", between="\n"):
    Path(path).write_text(between.join(names), encoding="utf-8")


def rows_in(stdout):
    """The header of the table and its rows, cell by cell."""
    lines = stdout[re.search(r"^list ", stdout, flags=re.MULTILINE).start() :].splitlines()
    header, _, *rows = (re.split(r" {2,}", line.strip()) for line in lines[: lines.index("")])
    return header, rows


def evaluated(*arguments, data="cells.csv"):
    outcome = invoke("evaluate", data, *arguments)
    assert outcome.code == 0, outcome.stderr
    return outcome


def refused(*arguments, data="cells.csv", code=1):
    outcome = invoke("evaluate", data, *arguments)
    assert outcome.code == code
    assert is_one_sentence(outcome.stderr), outcome.stderr
    assert outcome.stdout == ""
    return outcome.stderr.removeprefix("Error: ").removesuffix("\n")


# What is printed


def check_told(outcome, X, names, columns):
    """The table and the verdict are those of the library."""
    header, rows = rows_in(outcome.stdout)
    assert header == [
        "list",
        "columns",
        "found",
        "alignment",
        "on subsets",
        "stability",
        "redundancy",
        "neighbours",
        "R²",
    ]
    significance = column_significance(X)
    found = evaluate(X, {"list.txt": columns}, significance=significance, n_draws=2)
    given, own, random = found.rows
    sentences = found.reconstructions["list.txt"].sentences(names)
    told = outcome.stdout.split("list.txt, if only its columns are measured:\n")[1].splitlines()
    assert told[: len(sentences)] == [f"  {sentence}" for sentence in sentences]
    n_found = int(significance.found[columns].sum())
    on_subsets = f"{given.alignment_on_subsets:.3f} ± {given.spread_on_subsets:.3f}"
    shares = [f"{100 * given.redundancy:.0f} %", f"{100 * given.neighborhoods:.0f} %", f"{given.r2:.2f}"]
    found = [f"{100 * row.found:.0f} %" for row in (given, own, random)]
    assert rows[0] == ["list.txt", str(len(columns)), found[0], f"{given.alignment:.3f}", on_subsets, "–", *shares]
    assert [row[2] for row in rows] == found
    assert [row[0] for row in rows] == ["list.txt", "KernelFSASL", "random"]
    assert rows[1][3:6:2] == [f"{own.alignment:.3f}", f"{own.stability.value:.2f}"]
    assert rows[2][3] == f"{random.alignment:.3f} ± {random.spreads['alignment']:.3f}"
    by_chance = f"{random.alignment:.2f} ± {random.spreads['alignment']:.2f}"
    assert outcome.stdout.splitlines()[0] == significance.verdict
    assert outcome.stdout.splitlines()[-1] == (
        f"{n_found} of the {len(columns)} columns in list.txt {'shares' if n_found == 1 else 'share'} structure. "
        f"list.txt has an alignment of {given.alignment:.2f}, higher than {given.n_random_below} of 10 random lists "
        f"({by_chance}); KernelFSASL's own {len(columns)} columns reach {own.alignment:.2f}."
    )


@pytest.mark.parametrize("name", [IN_A_PROCESS, "sparse.npz"])
def test_lists_of_every_kind_of_file_are_evaluated_as_the_library_does(folder, name):
    source = write_source(folder, name)
    write_list(*(source.names[column] for column in (0, 3, 7)))
    arguments = ["evaluate", name, "--columns", "list.txt", "--repeats", "2"]
    outcome = run_alone(folder, *arguments) if name == IN_A_PROCESS else invoke(*arguments)
    assert outcome.code == 0, outcome.stderr
    assert name != IN_A_PROCESS or outcome.stderr == ""
    check_told(outcome, source.X, source.names, [0, 3, 7])


def test_labels_and_the_meaning_of_every_column(cells):
    write_list(*NAMES[:4])
    outcome = evaluated("--columns", "list.txt", "--labels", "kind", "--seed", "3", "--repeats", "2")
    header, rows = rows_in(outcome.stdout)
    assert header[-3:] == ["R²", "ACC", "NMI"]
    classes = np.unique(KINDS, return_inverse=True)[1]
    found = evaluate(dense_numbers(), range(4), labels=classes, random_state=3, n_draws=0).rows
    assert rows[0][-2:] == [f"{100 * found[0].acc:.1f} %", f"{100 * found[0].nmi:.1f} %"]
    assert rows[2][-1] == f"{100 * found[2].nmi:.1f} ± {100 * found[2].spreads['nmi']:.1f} %"
    for word in ("alignment", "on subsets", "stability", "redundancy", "neighbours", "R²", "ACC, NMI", "random"):
        assert re.search(rf"^{word}: .*\.$", outcome.stdout, flags=re.MULTILINE), word
    assert "KernelFSASL's own columns are chosen to maximise it, an advantage over other lists.\n" in outcome.stdout


def test_what_is_lost_by_column_and_substitutes_in_a_file(cells):
    write_list(NAMES[0], NAMES[5])
    write_list(*NAMES, path="all.txt")
    outcome = evaluated("--columns", "list.txt", "--columns", "all.txt", "--repeats", "0", "-o", "lost.csv")
    assert outcome.stdout.endswith("\n\nWrote lost.csv.\n")
    assert "all.txt, if only its columns are measured:\n  There is no other column to predict.\n" in outcome.stdout
    lost = pd.read_csv("lost.csv", float_precision="round_trip").set_index(["list", "column"])
    expected = reconstruction_of(dense_numbers(), [0, 5])
    assert_array_equal(lost.loc["list.txt"].index, NAMES)
    assert_array_equal(lost.loc["list.txt"].r2, expected.r2)
    assert lost.loc["all.txt"].r2.isna().all()
    assert_array_equal(np.flatnonzero(lost.loc["list.txt"].in_list), [0, 5])
    for name, best in zip((NAMES[0], NAMES[5]), expected.substitutes, strict=True):
        cells = lost.loc["list.txt", name][["substitute_1", "loss_1", "substitute_3", "loss_3"]].tolist()
        assert cells == [NAMES[best[0].column], best[0].loss, NAMES[best[2].column], best[2].loss]
    write_list(*NAMES)
    evaluated("--columns", "list.txt", "--repeats", "0", "-o", "lost.csv")
    assert list(pd.read_csv("lost.csv").columns) == ["list", "column", "in_list", "r2"]


def test_several_lists_each_with_its_verdict(cells, folder):
    write_list(*NAMES[:3])
    (folder / "other").mkdir()
    write_list(*NAMES[5:7], path="other/list.txt")
    write_list(NAMES[8], path="random")
    arguments = [argument for path in ("list.txt", "other/list.txt", "random") for argument in ("--columns", path)]
    outcome = evaluated(*arguments, "--repeats", "0")
    _, rows = rows_in(outcome.stdout)
    paths = [str(folder / path) for path in ("list.txt", "other/list.txt", "random")]
    assert [row[0] for row in rows[::3]] == [path[:59] + "…" if len(path) > 60 else path for path in paths]
    assert [row[0] for row in rows[1::3]] == ["KernelFSASL"] * 3
    assert [row[1] for row in rows] == [count for count in "321" for _ in range(3)]
    assert len(re.findall(r"has an alignment of \S+, higher than \d+ of 10", outcome.stdout)) == 3
    assert "KernelFSASL's own 1 column reaches" in outcome.stdout


def test_another_method_with_its_parameters(cells):
    write_list(*NAMES[:3])
    outcome = evaluated("--columns", "list.txt", "--method", "mcfs", "-c", "3", "--n-neighbors", "4", "--repeats", "0")
    _, rows = rows_in(outcome.stdout)
    assert [row[0] for row in rows] == ["list.txt", "MCFS", "random"]
    assert "and the structure that MCFS learns" in outcome.stdout
    sentence = refused("--columns", "list.txt", "--method", "MaxVariance")
    assert sentence.startswith("MaxVariance learns no structure to align columns with")


# How lists are written


@pytest.mark.parametrize(
    "text",
    ["\ufeffgene 1\r\n\r\n  gene 2  \r\ngene 5", '"gene 1","gene 2"\n"gene 5"', "gene 1,gene 2,\ngene 5,,"],
    ids=["windows", "quotes", "both"],
)
def test_names_on_lines_or_between_commas(cells, text):
    Path("list.txt").write_text(text, encoding="utf-8", newline="")
    _, rows = rows_in(evaluated("--columns", "list.txt", "--repeats", "0", "--no-test").stdout)
    wanted = evaluate(dense_numbers(), [1, 2, 5], n_draws=0).rows[0]
    assert rows[0][1:3] == ["3", f"{wanted.alignment:.3f}"]


@pytest.mark.parametrize(("name", "first"), [("cells.npy", 0), ("numbers.csv", 1)])
def test_columns_without_names_are_given_by_number_or_by_the_name_shown(folder, name, first):
    if name == "cells.npy":
        write_source(folder, name)
    else:
        pd.DataFrame(dense_numbers()).to_csv(name, index=False, header=False)
    prefix = "x" if first == 0 else "column "
    wanted = evaluate(dense_numbers(), [2, 11], n_draws=0).rows[0]
    for names in ([str(2 + first), str(11 + first)], [f"{prefix}{2 + first}", str(11 + first)]):
        write_list(*names, between=",")
        _, rows = rows_in(evaluated("--columns", "list.txt", "--repeats", "0", "--no-test", data=name).stdout)
        assert rows[0][1:3] == ["2", f"{wanted.alignment:.3f}"]
    write_list("99")
    reason = "list.txt: there is no column '99'."
    assert refused("--columns", "list.txt", data=name, code=2).startswith(f"Invalid value for --columns: {reason}")


# Hostile lists and labels


def test_repeated_and_constant_columns_and_those_that_the_data_lack_are_said():
    frame().assign(flat=1.0, level=2.0).to_csv("cells.csv", index=False)
    write_list("gene 1", "gene 2", "gene 1", "gene 1", "flat")
    text = evaluated("--columns", "list.txt", "--repeats", "0").stdout
    assert "list.txt: 2 duplicate names ignored.\n" in text
    assert "list.txt: ignored columns that are set aside: flat (constant).\n" in text
    write_list("flat", "level")
    assert "column 'flat' is set aside (constant)" in refused("--columns", "list.txt", code=2)
    write_list("gene 1", "CD8A", "geen 2", "gene 3", "x\x1b[31m", "CD8A")
    found = evaluated("--columns", "list.txt", "--repeats", "0").stdout
    assert "list.txt: ignored names that are not columns: 'CD8A', 'geen 2', 'x\\x1b[31m'" in found
    write_list("gene 1", "gene 3")
    assert rows_in(found) == rows_in(evaluated("--columns", "list.txt", "--repeats", "0").stdout)


def test_a_list_of_all_columns(cells):
    write_list(*NAMES, *NAMES[:5])  # more names than columns
    outcome = evaluated("--columns", "list.txt", "--repeats", "0")
    assert [row[0] for row in rows_in(outcome.stdout)[1]] == ["list.txt"]
    verdict = "list.txt contains all 12 columns: there is nothing to compare it with."
    assert outcome.stdout.splitlines()[-1] == f"4 of the 12 columns in list.txt share structure. {verdict}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("geen 2", "list.txt: there is no column 'geen 2'; did you mean 'gene 2'?"),
        ("zzz", "list.txt: there is no column 'zzz'."),
        (
            "geen 1\nb\nc\nd",
            "list.txt: none of 4 names is a column: 'geen 1', 'b', 'c' and 1 more; did you mean 'gene 1'?",
        ),
        (
            "kind,cell",
            "list.txt: column 'kind' is set aside (dates such as 2021-03-01) and takes no part in the selection.",
        ),
        (" \n# gene 1\n", "list.txt contains no names."),
        (",, ,", "list.txt contains no names."),
        ("x" * 200_000, f"list.txt: there is no column '{'x' * 59}…'."),
        ("a\x1b[31m", "list.txt: there is no column 'a\\x1b[31m'."),
    ],
    ids=["typo", "unknown", "several", "aside", "comment", "commas", "long", "control"],
)
def test_lists_that_do_not_fit_are_refused(cells, text, reason):
    Path("list.txt").write_text(text)
    assert refused("--columns", "list.txt", code=2) == in_usage(reason)


def in_usage(reason):
    return f"Invalid value for --columns: {reason} See ufselect evaluate --help."


def test_files_that_are_no_lists_are_refused_before_the_data_are_read(folder):
    (folder / "list.npz").write_bytes(b"PK\x03\x04\xff\xfe\x00")
    reasons = {
        "list.npz": "list.npz cannot be read: it is not UTF-8 text.",
        "nowhere.txt": "nowhere.txt cannot be read: No such file or directory.",
        ".": ". cannot be read: Is a directory.",
    }
    for path, reason in reasons.items():
        assert refused("--columns", path, data="no-such.csv", code=2) == in_usage(reason)
    assert "Missing option '--columns'" in refused(data="no-such.csv", code=2)


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        (["round"] * 60, "kind has the same class for all samples; at least 2 classes are needed."),
        ([None, None, *KINDS[2:]], "2 samples without a value in kind, the column of classes."),
        ([f"kind {row}" for row in range(60)], "kind has a different class for each of the 60 samples."),
    ],
    ids=["one class", "missing", "all different"],
)
def test_labels_that_make_no_sense_are_refused(kinds, sentence):
    frame().assign(kind=kinds).to_csv("cells.csv", index=False)
    write_list("gene 1")
    assert refused("--columns", "list.txt", "--labels", "kind") == sentence
    reason = "list.txt: column 'gene 1' is set aside (requested) and takes no part in the selection."
    assert refused("--columns", "list.txt", "--labels", "gene 1", code=2) == in_usage(reason)
    assert "has no column named 'sort'" in refused("--columns", "list.txt", "--labels", "sort")
    assert "at least two fits" in refused("--columns", "list.txt", "--repeats", "1", code=2)
