"""The program as a whole: its help, its start, its streams, the methods and the demonstration."""

import html
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from command_line import dense_numbers, fitted, invoke, run_alone, write_source
from warm_python import warm_python

import ufselect
from ufselect.cli.methods import own_parameters

SLOW = {"pandas", "plotly", "torch", "dask", "sklearn", "pyarrow", "anndata", "h5py", "numba", "scipy", "matplotlib"}
COMMANDS = ["select", "compare", "explain", "evaluate", "dedupe", "apply", "diff", "methods", "demo", "bench"]


def in_one_line(text):
    return " ".join(text.split())


# Help and what it costs


@pytest.mark.parametrize(
    "code",
    [
        "import ufselect",
        "from ufselect.cli.app import run; run(['--help'])",
        "from ufselect.cli.app import run; run(['--version'])",
        "from ufselect.cli.app import run; run(['compare', '--help'])",
        "from ufselect.cli.app import run; run(['bench', '--help'])",
    ],
)
def test_nothing_slow_is_imported_before_it_is_needed(tmp_path, code):
    script = f"import sys; {code}; print('\\n', *sorted({SLOW} & sys.modules.keys()))"
    answer = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1].split() == []
    assert answer.stderr == ""


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_all_commands(arguments):
    outcome = invoke(*arguments)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith("Usage: ufselect [OPTIONS] COMMAND")
    assert re.findall(r"^  (\w+)  ", outcome.stdout.partition("Commands:")[2], flags=re.MULTILINE) == COMMANDS


def test_every_command_has_help_and_the_program_a_version():
    for command in COMMANDS:
        outcome = invoke(command, "--help")
        assert (outcome.code, outcome.stderr) == (0, "")
        assert outcome.stdout.startswith(f"Usage: ufselect {command} ")
    assert invoke("--version") == (0, f"ufselect {ufselect.__version__}\n", "")


def options_shown(*arguments):
    outcome = invoke(*arguments)
    assert (outcome.code, outcome.stderr) == (0, ""), arguments
    return re.findall(r"^  (?:-\w, )?--([\w-]+)", outcome.stdout, flags=re.MULTILINE), in_one_line(outcome.stdout)


@pytest.mark.parametrize("command", ["select", "compare", "explain", "evaluate", "dedupe"])
def test_help_shows_the_options_that_people_use_and_help_all_every_one(command):
    (few, text), (every, _) = options_shown(command, "--help"), options_shown(command, "--help-all")
    assert few == [name for name in every if name in few]
    assert 8 <= len(few) <= 16 < len(every)
    assert {"aside", "impute", "jobs", "help-all", "help"} <= set(few)
    assert {"counts", "delimiter", "encoding", "sheet", "debug"} <= set(every) - set(few)
    assert f"ufselect {command} --help-all lists all {len(every)} options" in text


def test_every_option_on_the_page_of_the_command_line_is_in_help_all():
    page = (Path(__file__).parents[2] / "docs/command_line.md").read_text("utf-8")
    named = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", page))
    shown = {option for command in COMMANDS[:5] for option in options_shown(command, "--help-all")[0]}
    of_others = {"from-results"}  # of bench
    of_methods = {option for name in ufselect.__all__ for option in own_parameters(getattr(ufselect, name))}
    assert named - shown - of_others - {option.replace("_", "-") for option in of_methods} == set()


def test_options_that_help_does_not_show_work_and_are_named_in_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path, "cells.csv")
    assert invoke("select", "cells.csv", "-m", "3", "--no-test", "--n-neighbors", "4", "--names").code == 0
    wrong = invoke("select", "cells.csv", "--fdr", "2")
    assert wrong == (
        2,
        "",
        "Error: Invalid value for '--fdr': 2 is not strictly between 0 and 1. See ufselect select --help.\n",
    )
    after = invoke("explain", "cells.csv", "--no-test", "--", "--help-all")
    assert (after.code, "there is no column '--help-all'" in after.stderr) == (2, True)


@pytest.mark.parametrize("method", ufselect.__all__)
def test_every_parameter_is_an_option_with_its_default_and_is_shown(method):
    text = in_one_line(invoke("select", "--method", method, "--help-all").stdout)
    for name, default in own_parameters(getattr(ufselect, method)).items():
        option = name.replace("_", "-")
        shown = option if default is True else f"no-{option}" if default is False else str(default)
        shown = re.escape(shown).replace("\\-", "- ?")  # a line may end there
        assert re.search(rf" --{option} (/ --no-{option} )?((?! --).)*\[default: {shown}\]", text), name
    assert f"parameters of {method}" in text
    outcome = invoke("methods", method.casefold())
    assert outcome.code == 0
    assert outcome.stdout.startswith(f"{method}: ")
    shown = re.findall(r"^(\w+) : .*, default (.*)$", outcome.stdout, flags=re.MULTILINE)
    parameters = inspect.signature(getattr(ufselect, method)).parameters
    assert dict(shown) == {name: repr(parameter.default) for name, parameter in parameters.items()}


def test_options_stand_for_the_parameters_that_methods_share():
    text = in_one_line(invoke("select", "--help-all").stdout)
    defaults = {"-m, --features": "auto", "-c, --clusters": "the method's own", "--seed": "0", "-j, --jobs": "1"}
    for option, default in defaults.items():
        assert re.search(rf"{option} (?:(?! --).)*\[default: \(?{default}[],;)]", text), option


# Parameters reach the method


@pytest.mark.parametrize(
    ("method", "given", "parameter", "value"),
    [
        ("MCFS", ["--n-nonzero", "3"], "n_nonzero", "3"),
        ("LaplacianScore", ["--width", "0.25"], "width", "0.25"),
        ("LaplacianScore", ["--weights", "binary"], "weights", "'binary'"),
        ("LaplacianScore", ["--no-center"], "center", "False"),
        ("MCFS", ["-c", "4"], "n_clusters", "4"),
        ("MCFS", ["--seed", "5"], "random_state", "5"),
        ("MCFS", ["--scale", "none"], "scale", "None"),
        ("MCFS", ["-m", "0.5"], "n_features_to_select", "0.5"),
    ],
)
def test_a_parameter_reaches_the_method_and_the_page(tmp_path, monkeypatch, method, given, parameter, value):
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path, "cells.csv")
    outcome = invoke("select", "cells.csv", "--method", method, "--no-test", "--report", "page.html", *given)
    assert outcome.code == 0, outcome.stderr
    row = r'<th scope="row"><code>(\w+)</code></th><td><code>(.*?)</code></td><td>(\w+)</td>'
    found = re.findall(row, Path("page.html").read_text(encoding="utf-8"), flags=re.DOTALL)
    taken = inspect.signature(getattr(ufselect, method)).parameters
    assert [name for name, *_ in found] == [name for name in taken if name not in ("n_jobs", "verbose")]
    assert (parameter, html.escape(value).replace("&#x27;", "&#39;"), "set") in found


def test_parameters_change_the_selection_as_in_the_library(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path, "cells.npy")
    given = ["--method", "fsasl", "-m", "8", "-c", "4", "--structure", "local", "--no-adaptive", "--no-test"]
    outcome = invoke("select", "cells.npy", *given, "--names")
    chosen = {"n_clusters": 4, "structure": "local", "adaptive": False, "fdr": None}
    selector = fitted("FSASL", dense_numbers(), 8, **chosen)
    assert outcome.stdout.splitlines() == [f"x{column}" for column in selector.top_features()]
    assert selector.top_features().tolist() != fitted("FSASL", dense_numbers(), 8, fdr=None).top_features().tolist()


# Streams


NOTES = "cells.csv: 60 samples × 12 numeric columns (0.0 MB).\nSet aside: cell (text), kind (text).\n"


def test_progress_goes_to_standard_error(tmp_path):
    write_source(tmp_path, "cells.csv")
    outcome = run_alone(tmp_path, "select", "cells.csv", "-m", "3", environment={"TQDM_DELAY": "0"})
    assert outcome.code == 0
    assert re.search(r"KernelFSASL: +\d+%\|", outcome.stderr)
    assert "%|" not in outcome.stdout
    assert "\x1b" not in outcome.stdout + outcome.stderr


def test_a_warning_is_a_note_on_standard_error(tmp_path):
    write_source(tmp_path, "cells.csv")
    fitted("JELSR", dense_numbers(), 3)  # compiles, if need be: no bar
    outcome = run_alone(tmp_path, "select", "cells.csv", "-m", "3", "--method", "JELSR", "--max-iter", "1", "--names")
    assert outcome.code == 0
    notes = outcome.stderr.removesuffix(NOTES)
    assert re.match(r"Note: JELSR .* after max_iter=1 iterations.*\n\d+ of 12 columns share structure ", notes)
    assert len(outcome.stdout.splitlines()) == 3


ON_A_SCREEN = """
import sys
from ufselect.cli import main
sys.stdout.reconfigure(encoding=sys.argv.pop(1))
main()
"""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_letters_that_the_screen_does_not_have_are_spelt_out(tmp_path, encoding):
    pd.DataFrame(dense_numbers()[:, :2], columns=["größe", "名前"]).to_csv(tmp_path / "names.csv", index=False)
    arguments = ["select", "names.csv", "-m", "2", "--method", "MaxVariance"]
    command = [*warm_python(), "-c", ON_A_SCREEN, encoding, *arguments]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300)
    assert (answer.returncode, answer.stderr) == (0, b"")
    assert rb"\u540d\u524d" in answer.stdout
    assert "größe".encode(encoding, "backslashreplace") in answer.stdout


# Python without docstrings


WITHOUT_DOCSTRINGS = """
import sys
from ufselect.cli.app import run
assert run.__doc__ is None
for line in sys.argv[1:]:
    print(run(line.split()))
"""


def test_without_docstrings_everything_is_described_as_with_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path, "cells.npy")
    lines = [
        "--help",
        "select --method MCFS --help-all",
        "methods",
        "methods KernelFSASL",
        "select cells.npy --method MCFS --n-neighbors 7 -m 3 --names",
        "explain cells.npy x3 --method LaplacianScore",
    ]
    command = [sys.executable, "-OO", "-c", WITHOUT_DOCSTRINGS, *lines]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    wanted = "".join(invoke(*line.split()).stdout + "0\n" for line in lines)
    assert [*map(str.rstrip, answer.stdout.splitlines())] == [*map(str.rstrip, wanted.splitlines())]


# Errors


def test_with_debug_the_traceback_is_shown(tmp_path, monkeypatch):
    (tmp_path / "empty.csv").touch()
    outcome = run_alone(tmp_path, "select", "empty.csv", "--debug")
    assert outcome.code == 1
    assert outcome.stderr.startswith("Traceback (most recent call last):\n")
    assert outcome.stderr.endswith("ValueError: empty.csv is empty.\n")
    monkeypatch.chdir(tmp_path)
    assert invoke("select", "empty.csv") == (1, "", "Error: empty.csv is empty.\n")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "Error: Not enough memory.\n"),
        (MemoryError("The distances take 80 GB."), "Error: The distances take 80 GB.\n"),
        (OSError(5, "Input/output error", "disk.csv"), "Error: disk.csv: input/output error.\n"),
        (ImportError("Pages need more."), "Error: Pages need more.\n"),
        (KeyError("x"), "Error: KeyError: 'x' (--debug shows the traceback.)\n"),
        (ValueError("one\n  two."), "Error: one two.\n"),
    ],
)
def test_errors_of_any_kind_are_told_in_a_line(tmp_path, monkeypatch, error, sentence):
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path, "cells.csv")

    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("ufselect.files.read_table", fail)
    assert invoke("select", "cells.csv") == (1, "", sentence)


# Methods and demonstration


def test_methods_are_listed_by_a_process(tmp_path):
    outcome = run_alone(tmp_path, "methods")
    assert (outcome.code, outcome.stderr) == (0, "")
    rows = re.findall(r"^(\w+) {2,}(\S.*?) *$", outcome.stdout, flags=re.MULTILINE)[1:]
    assert [name for name, _ in rows] == sorted(ufselect.__all__, key=str.casefold)
    for name, told in rows:
        assert told == inspect.getdoc(getattr(ufselect, name)).partition("\n\n")[0].replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


def test_the_demonstration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = invoke("demo", "here/there")  # tests of the README run it as a process
    assert outcome.code == 0, outcome.stderr
    folder = tmp_path / "here" / "there"
    assert {path.name for path in folder.iterdir()} == {"digits.csv", "chosen.csv", "digits.html"}
    digits, chosen = pd.read_csv(folder / "digits.csv"), pd.read_csv(folder / "chosen.csv")
    assert (digits.shape, chosen.shape) == ((1797, 65), (1797, 16))
    pd.testing.assert_frame_equal(chosen, digits[chosen.columns])
    page = (folder / "digits.html").read_text(encoding="utf-8")
    assert "<h1>60 of 61 columns share structure with others<" in page
    assert "$ ufselect select here/there/digits.csv --aside digit -m 15" in outcome.stdout
    assert "Open here/there/digits.html in a browser." in outcome.stdout
