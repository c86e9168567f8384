"""What stands below a command on a page is what the command prints."""

import csv
import re
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_digits
from test_docs import ROOT, module_at

script = module_at(ROOT / "docs" / "run_commands.py")


def test_there_is_a_page_for_each_kind_of_user_and_all_are_run():
    stories = [page for page in script.PAGES if page.parent.name == "users"]
    assert {page.stem for page in stories} == {"budget", "cells", "panel", "researcher", "spectra", "table"}
    assert all(page.read_text("utf-8").count("```console\n$ ufselect ") >= 2 for page in script.PAGES)


@pytest.mark.no_cover  # what the commands call, other tests measure
@pytest.mark.filterwarnings("default")  # as in the shell: what a script of a page imports may warn
@pytest.mark.parametrize("page", script.PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_print_what_stands_there(page, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name, value in script.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    text = page.read_text("utf-8")
    assert script.with_output(text, tmp_path, script.printed_here) == text, "run python docs/run_commands.py"


@pytest.mark.no_cover
def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    """On a tenth of the digits; `ufselect demo` itself is on the page of the command line."""
    first, *commands = re.search(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)[
        1
    ].splitlines()
    assert first.startswith("ufselect demo demo ")
    assert len(commands) == 13
    monkeypatch.chdir(tmp_path)
    write_digits(tmp_path / "demo" / "digits.csv")
    for command in commands:
        printed = script.printed_here(command.partition("#")[0].strip())
        assert printed.code == 0, (command, printed.text)


def write_digits(path):
    images, digits = load_digits(return_X_y=True)
    path.parent.mkdir()
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["digit", *(f"row {row} column {column}" for row in range(8) for column in range(8))])
        rows.writerows([digit, *pixels] for digit, pixels in zip(digits[:180], images[:180], strict=True))


def test_output_is_renewed_unless_only_times_differ(tmp_path):
    page = (
        "```console\n$ echo new\nold\n```\n"
        "```console\n$ echo Took 2 s and 7 MB of memory\nTook 1 s and 5 MB of memory\n```\n"
    )
    assert script.with_output(page, tmp_path, script.printed_by_process) == page.replace("old", "new")


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("1  1208 nm  0.4808  0.481", "1  1208 nm  0.4806  0.481", True),
        ("2  1040 nm   0.403  0.618", "2  1040 nm  0.4029  0.618", True),
        ("score 0.4808", "score 0.4829", False),
        ("rank 12, score 0.5", "rank 13, score 0.5", False),
        ("0.1 and 0.2", "0.1 and 0.2 and 0.3", False),
        ("Error: no.", "Error: yes.", False),
    ],
)
def test_the_last_digits_of_decimals_may_differ_and_nothing_else(text, other, same):
    assert script.says_the_same(text, other) == same


def test_a_command_that_fails_although_it_is_not_meant_to_is_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="exit code 1"):
        script.with_output("```console\n$ false\n```\n", tmp_path, script.printed_by_process)
    with pytest.raises(RuntimeError, match="exit code 0"):
        script.with_output("```console\n$ true\nError: no.\n```\n", tmp_path, script.printed_by_process)


def test_files_and_code_of_a_page_are_there_for_the_commands_below_them(tmp_path):
    page = (
        "```{code-block} python\n:caption: say.py\n\nfrom pathlib import Path\nprint(Path('word').read_text())\n```\n"
        "```python\nfrom pathlib import Path\nPath('word').write_text('hello')\n```\n"
        "```console\n$ python say.py\n```\n"
    )
    for printed_by in (script.printed_here, script.printed_by_process):
        assert script.with_output(page, tmp_path, printed_by).endswith("$ python say.py\nhello\n```\n")
    assert Path(tmp_path, "say.py").is_file()
