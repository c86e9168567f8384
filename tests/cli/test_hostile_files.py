"""Errors are one sentence, and nothing is written."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import NAMES, contents, dense_numbers, frame, invoke, is_one_sentence
from warm_python import warm_python

FAILURE, WRONG_USE = 1, 2
GOOD = frame().to_csv(index=False)
CONSTANT = "a,b\n" + "1,2\n" * 20
TWO_ROWS = "a,b\n1,2\n3,4\n"


def with_value(row, column, value):
    table = frame()
    table.loc[row, column] = value
    return table.to_csv(index=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with one good file in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cells.csv").write_text(GOOD)
    return tmp_path


def refused(folder, *arguments, code=FAILURE):
    """Run the program on something that it must refuse, and return its error message."""
    before = contents(folder)
    outcome = invoke(*arguments)
    assert outcome.code == code, outcome
    assert is_one_sentence(outcome.stderr), outcome.stderr
    assert contents(folder) == before
    return outcome.stderr


# Files that are broken


@pytest.mark.parametrize("command", [["select"], ["compare"], ["explain"]])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "bad.csv is empty."),
        ("a,b,c\n", "bad.csv has a header but no rows."),
        ("a,b,c\n1,2,3\n4,5\n6,7,8\n", "bad.csv has 2 values in row 2, but there are 3 columns."),
        ("a,b,a\n1,2,3\n4,5,6\n7,8,8\n", "bad.csv has several columns named 'a'; names must be unique."),
        ("a,b\nred,x\nblue,y\n", "bad.csv has no column to select from: a (2 different texts), b (code with 2 values)"),
        (with_value(3, "gene 5", np.inf), "1 infinite value in gene 5 (1); replace them, or set the columns aside"),
        (TWO_ROWS, "Found array with 2 sample(s)"),
        (CONSTANT, "bad.csv has no column to select from: a (constant), b (constant); use --role or --keep."),
    ],
    ids=["empty", "header", "ragged", "twice", "text", "infinite", "two rows", "constant"],
)
def test_a_broken_file_is_refused(folder, command, content, sentence):
    (folder / "bad.csv").write_text(content)
    columns = [content.partition("\n")[0].split(",")[0] or "a"] if command == ["explain"] else []
    output = ["-o", "out.csv"] if command != ["explain"] else []
    assert sentence in refused(folder, *command, "bad.csv", *columns, *output)


def test_folders_and_files_that_are_not_there(folder):
    (folder / "data.csv").mkdir()
    assert refused(folder, "select", "data.csv") == "Error: data.csv is a folder, not a file.\n"
    assert refused(folder, "select", "gone.csv") == "Error: There is no file gone.csv.\n"
    assert refused(folder, "select", "gone/gone.csv") == "Error: There is no file gone/gone.csv.\n"
    assert "cells.txt has an unknown suffix; supported are .csv" in refused(folder, "select", "cells.txt")


# Places that cannot be written to


def test_outputs_that_cannot_be(folder):
    (folder / "folder.csv").mkdir()
    before = ["select", "cells.csv", "--method", "MaxVariance", "-m", "5"]
    assert refused(folder, *before, "-o", "folder.csv") == "Error: folder.csv is a folder, not a file.\n"
    no_folder = "cannot be written: there is no folder no.\n"
    assert refused(folder, *before, "-o", "no/out.csv") == f"Error: no/out.csv {no_folder}"
    assert refused(folder, *before, "--report", "no/a.html").endswith(no_folder)
    assert refused(folder, *before, "-o", "cells.csv/out.csv").endswith("there is no folder cells.csv.\n")
    unknown = refused(folder, *before, "-o", "out.txt", code=WRONG_USE)
    assert "Invalid value for --output: out.txt has an unknown suffix; supported are .csv" in unknown
    only_read = refused(folder, *before, "-o", "out.xlsx", code=WRONG_USE)
    assert "Invalid value for --output: out.xlsx cannot be written: .xlsx files are only read; use .csv" in only_read
    assert "name too long" in refused(folder, *before, "-o", "o" * 300 + ".csv")


def test_the_data_are_never_written_over(folder):
    (folder / "link.csv").symlink_to("cells.csv")
    os.link(folder / "cells.csv", folder / "other.csv")
    for output in ("cells.csv", "./cells.csv", str(folder / "cells.csv"), "link.csv", "other.csv"):
        for command, option in (("select", "--output"), ("compare", "--output"), ("select", "--report")):
            sentence = refused(folder, command, "cells.csv", option, output, code=WRONG_USE)
            reason = f"{Path(output)} is the input file." if option == "--output" else ""
            assert sentence.startswith(f"Error: Invalid value for {option}: {reason}")


OUTPUTS = [
    ["select", "cells.csv", "-o", "there.csv"],
    ["select", "cells.csv", "--report", "there.html"],
    ["compare", "cells.csv", "-o", "there.csv"],
]


@pytest.mark.skipif(os.name != "posix", reason="devices are files on POSIX only")
@pytest.mark.parametrize("arguments", OUTPUTS)
def test_a_read_only_file_or_a_device_is_not_replaced(folder, arguments):
    name = arguments[-1]
    (folder / name).write_text("kept")
    (folder / name).chmod(0o444)
    assert refused(folder, *arguments) == f"Error: {name} is read-only.\n"
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert refused(folder, *arguments) == f"Error: {name} is not a regular file.\n"
    assert (folder / name).is_fifo()


def test_links_that_lead_nowhere_are_refused_before_the_data_are_read(folder):
    (folder / "out.csv").symlink_to("gone/there.csv")
    (folder / "loop.csv").symlink_to("loop.csv")
    there = (folder / "gone").resolve()
    for command in ("select", "compare"):
        sentence = refused(folder, command, "not-there.csv", "-o", "out.csv")
        link = f"it is a link to {there / 'there.csv'}, and there is no folder {there}"
        assert sentence == f"Error: out.csv cannot be written: {link}.\n"
        assert "a link that leads back to itself" in refused(folder, command, "not-there.csv", "-o", "loop.csv")


AS_NOBODY = """
import os, sys
import sklearn.base, ufselect.files.text, ufselect.inspection, ufselect.report
import ufselect.selectors.fsasl  # compiled functions are loaded by someone who may write their cache
from ufselect.cli.app import run
if os.getuid() == 0:  # who may do everything
    os.setuid(65534)
os.chdir(sys.argv[1])
for line in sys.argv[2:]:
    print(run(line.split()))
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind are POSIX")
def test_data_that_may_not_be_read_and_a_folder_that_may_not_be_written_to():
    with tempfile.TemporaryDirectory() as name:  # others may look into it, unlike the folders of pytest
        folder = Path(name)
        for file in ("cells.csv", "secret.csv"):
            (folder / file).write_text(GOOD)
        (folder / "secret.csv").chmod(0)
        folder.chmod(0o555)
        command = [*warm_python(), "-c", AS_NOBODY, name, "select secret.csv", "select cells.csv -o out.csv"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=300)
        folder.chmod(0o755)
        assert sorted(path.name for path in folder.iterdir()) == ["cells.csv", "secret.csv"]
    assert answer.stderr == (
        "Error: secret.csv cannot be read: permission denied.\nError: out.csv cannot be written: permission denied.\n"
    )
    assert (answer.returncode, answer.stdout) == (0, f"{FAILURE}\n" * 2)


ENDINGS = ["csv", "csv.gz", "tsv", "parquet", "npy", "npz", "mat", "h5ad"]
WHILE_FILES_ARE_SMALL = """
import resource, sys
from ufselect.cli.app import run
run(["select", "cells.npy", "--method", "MaxVariance", "-o", "first.h5ad", "--report", "first.html"])  # and compile
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for line in sys.argv[1:]:
    print(run(["select", "cells.npy", "--method", "MaxVariance", "--names", *line.split()]))
"""


@pytest.mark.skipif(os.name != "posix", reason="the limit is POSIX")
def test_a_full_disk_leaves_the_old_file_as_it_was(tmp_path):
    np.save(tmp_path / "cells.npy", np.random.default_rng(0).standard_normal((60, 300)))
    (tmp_path / "out.csv").write_text("old")
    # The last table is small enough, but its page is not: neither appears.
    lines = [*(f"-m 300 -o out.{ending}" for ending in ENDINGS), "-m 2 -o small.npy --report page.html"]
    command = [*warm_python(), "-c", WHILE_FILES_ARE_SMALL, *lines]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    codes = [line for line in answer.stdout.splitlines() if line.isdigit()]
    assert codes == [str(FAILURE)] * len(lines), answer
    errors = [line for line in answer.stderr.splitlines() if line and "%|" not in line]  # without progress bars
    assert errors.pop() == "Error: page.html could not be written: file too large."
    for ending, line in zip(ENDINGS, errors, strict=True):
        reason = "the file is incomplete" if ending == "npy" else "file too large"
        assert line == f"Error: out.{ending} could not be written: {reason}."
    assert {path.name for path in tmp_path.iterdir()} == {"cells.npy", "first.h5ad", "first.html", "out.csv"}
    assert (tmp_path / "out.csv").read_text() == "old"


# Options that make no sense


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["-m", "13"], WRONG_USE, "13 is more than the 12 columns to select from; 2 are set aside."),
        (["-m", "0"], WRONG_USE, "--features must be an integer of at least 1, a number greater than 0 and at most"),
        (["-m", "abc"], WRONG_USE, "or 'auto'; got 'abc'."),
        (["-m"], WRONG_USE, "requires an argument"),
        (["--clusters", "abc"], WRONG_USE, "--clusters must be an integer of at least 1 or 'auto'; got 'abc'."),
        (["--clusters", "60"], FAILURE, "n_clusters=60 must be less than the number of samples, 60."),
        (["--seed", "-1"], WRONG_USE, "'--seed'"),
        (["--jobs", "0"], WRONG_USE, "the number of threads cannot be 0; -1 uses all cores."),
        (["--width", "-1"], WRONG_USE, "--width must be a number greater than 0; got -1."),
        (["--weights", "blue"], WRONG_USE, "--weights must be one of '"),
        (["--image", "28"], WRONG_USE, "Invalid value for --image: '28' does not have the form 28x28."),
        (["--image", "3x5"], WRONG_USE, "3 × 5 is 15 pixels, but there are 12 columns."),
        (["--aside", "gene 99"], FAILURE, "cells.csv has no column named 'gene 99'; the closest names are 'gene 9'"),
        (["--counts", "yes"], FAILURE, "; --counts yes requires non-negative values."),
        (["--counts", "maybe"], WRONG_USE, "'maybe' is not one of 'yes', 'no'"),
        (["--layer", "counts"], FAILURE, "layer='counts' does not apply to cells.csv: only .h5ad files have layers."),
        (["extra"], WRONG_USE, "unexpected extra argument"),
    ],
)
def test_options_that_make_no_sense(folder, arguments, code, sentence):
    before = ["select", "cells.csv", "-o", "out.csv", "--report", "page.html", "--method", "MCFS"]
    assert sentence in refused(folder, *before, *arguments, code=code)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("select cells.csv --method FSAL", "'FSAL' is not a method; did you mean FSASL?"),
        ("explain cells.csv x --method=zzz", "'zzz' is not a method; ufselect methods lists all"),
        ("compare cells.csv --methods MCFS,MaxVarianc", "Invalid value for --methods: 'MaxVarianc' is not"),
        ("methods mcf", "Invalid value for NAME: 'mcf' is not a method; did you mean MCFS?"),
        ("select cells.csv --method LaplacianScore -c 3", "LaplacianScore has no parameter n_"),
        ("select cells.csv --method RUFS --scale standard", "RUFS has no parameter scale"),
        ("compare cells.csv --repeats 1", "stability needs at least two fits"),
        ("compare cells.csv --repeats -2", "Invalid value for '--repeats'"),
        ("explain cells.csv gene99 --method MCFS", "there is no column 'gene99'; did you mean '"),
        ("explain cells.csv", "Missing argument"),
        ("select", "Missing argument 'DATA'. See ufselect select --help."),
        ("selct cells.csv", "No such command 'selct'."),  # typer 0.20 and later add what was meant
    ],
)
def test_calls_that_make_no_sense(folder, line, sentence):
    assert sentence in refused(folder, *line.split(), code=WRONG_USE)


@pytest.mark.parametrize(
    ("line", "option", "command"),
    [
        ("--colour", "--colour", "ufselect"),
        ("select cells.csv --colour red -o out.csv", "--colour", "ufselect select"),
        # Another method has it.
        ("select cells.csv --method MCFS --row-penalty 1", "--row-penalty", "ufselect select"),
    ],
)
def test_unknown_options_are_named(folder, line, option, command):
    # Versions of click differ in punctuation and in whether they suggest others.
    sentence = rf"No such option:? '?{option}\b.* See {command} --help\."
    assert re.search(sentence, refused(folder, *line.split(), code=WRONG_USE))


# Strange names


LONG = "gene " * 2000
UNICODE = "größe 名前 🧬 مثال"
MARKUP = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
CONTROL = "red\x1b[31m\nbell\x07\x9b"
STRANGE = [LONG, UNICODE, MARKUP, CONTROL]


def write_strange(folder):
    """A file with names that could do harm on a terminal or a page."""
    X = np.random.default_rng(0).standard_normal((60, 6)) * [6, 5, 4, 3, 2, 1]
    names = [*STRANGE, "plain", "other"]
    np.savez(folder / "strange.npz", X=X, names=np.array(names), kind=np.array(["a\x1b[2J", "b"] * 30))
    return X, names


def has_control_characters(text):
    return re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text) is not None


@pytest.mark.parametrize("command", [["select"], ["select", "--names"], ["compare"], ["explain"]])
def test_strange_names_do_no_harm_on_a_screen(folder, command):
    write_strange(folder)
    columns = STRANGE if command == ["explain"] else []
    methods = ["--methods", "MaxVariance"] if command == ["compare"] else ["--method", "MaxVariance"]
    outcome = invoke(command[0], "strange.npz", *columns, *command[1:], "-m", "4", *methods)
    assert outcome.code == 0, outcome.stderr
    assert not has_control_characters(outcome.stdout + outcome.stderr.replace("\r", ""))  # of progress bars
    if command != ["compare"]:
        assert UNICODE in outcome.stdout
        assert MARKUP[:20] in outcome.stdout
        assert r"red\x1b[31m\nbell\x07\x9b" in outcome.stdout


@pytest.mark.parametrize("name", ["\x1b[31mred\x07.csv", "two\nlines.csv", "\udcff.csv", "\u202efsc.csv"])
@pytest.mark.parametrize("command", ["select", "compare", "explain"])
def test_file_names_do_no_harm_on_a_screen(folder, name, command):
    Path(name).write_text(GOOD)
    methods = ["--methods", "MaxVariance"] if command == "compare" else ["--method", "MaxVariance"]
    columns = ["gene 0"] if command == "explain" else []
    outputs = ["-o", f"out {name}"] if command != "explain" else []
    outcome = invoke(command, name, *columns, "-m", "4", *methods, *outputs)
    assert outcome.code == 0, outcome.stderr
    (folder / name).unlink()
    for text in (*outcome[1:], invoke(command, name, *columns).stderr, invoke(command, f"no/{name}").stderr):
        assert not has_control_characters(text.replace("\r", ""))
        assert "\u202e" not in text
        text.encode()
    shown = name.encode("unicode_escape").decode()
    assert f"\n{shown}: 60 samples" in outcome.stdout
    assert f"Wrote out {shown}." in outcome.stdout or command == "explain"
    assert shown.replace("\\n", " ") in invoke(command, name, *columns).stderr  # an error is on one line


@pytest.mark.parametrize("name", ["--weird-name", "-m", "--method=MCFS", "--method", "--debug", "--help"])
def test_names_that_look_like_options_come_after_two_dashes(folder, name):
    table = pd.DataFrame(dense_numbers(), columns=[*NAMES[:-1], name])
    table.to_csv("weird.csv", index=False)
    outcome = invoke("explain", "weird.csv", "--method", "LaplacianScore", "-m", "3", "--", "gene 0", name, "gene 1")
    assert outcome.code == 0, outcome.stderr
    assert f"\n{name}: " in outcome.stdout
    assert "\ngene 1: " in outcome.stdout
    refused(folder, "explain", "weird.csv", "--", name, "--debug me", code=WRONG_USE)


def test_markup_in_names_is_text_on_the_page(folder):
    write_strange(folder)
    arguments = ["--method", "MaxVariance", "-m", "4", "--report", "page.html"]
    for further in (["--aside", MARKUP], []):
        assert invoke("select", "strange.npz", *arguments, *further).code == 0
        page = (folder / "page.html").read_text(encoding="utf-8")
        assert not re.search("<img|alert\\(2\\)</script>|\x1b|\x07", page)
        assert page.count("<script") == page.count("</script>") == 2
    assert "<li><bdi>&lt;img src=x onerror=alert(1)&gt;&lt;/script&gt;" in page
