"""The results in the project: made by the code as it is, or marked as older in results/README.md."""

import re
from pathlib import Path

import pytest

from ufselect.benchmark.experiment import read_experiment
from ufselect.benchmark.provenance import reasons_out_of_date

ROOT = Path(__file__).parents[2]
README = ROOT / "results" / "README.md"
FOLDERS = sorted(
    path.name for path in (ROOT / "results").iterdir() if path.is_dir() and not path.name.endswith("-part")
)


def listed():
    """The folders in the table of results/README.md, and whether they are said to be current."""
    rows = re.findall(
        r"^\| \[(\w+)\]\(\1/tables\.md\) \| (yes|no) \|$", README.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name: answer == "yes" for name, answer in rows}


def test_all_results_are_listed():
    assert sorted(listed()) == FOLDERS


@pytest.mark.parametrize("name", FOLDERS)
def test_results_are_current_unless_they_are_marked_as_older(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)  # for methods in the folder of experiments
    if listed()[name]:
        experiment = read_experiment(ROOT / "experiments" / f"{name}.toml")
        reasons = reasons_out_of_date(experiment, ROOT / "results" / name)
        assert not reasons, f"run it again, or write 'no' in results/README.md: {' '.join(reasons)}"
