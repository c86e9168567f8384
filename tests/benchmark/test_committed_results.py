"""The results in the project: made by the code as it is, or marked as older in results/README.md."""

import importlib.util
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from ufselect.benchmark.experiment import read_experiment
from ufselect.benchmark.output import write_tables
from ufselect.benchmark.provenance import reasons_out_of_date
from ufselect.benchmark.restoring import restored

ROOT = Path(__file__).parents[2]
README = ROOT / "results" / "README.md"
FOLDERS = sorted(
    path.name
    for path in (ROOT / "results").iterdir()
    if path.is_dir() and not path.name.endswith("-part") and path.name != "__pycache__"
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


def copied(folder, target):
    """Copy the figures of a folder of results, and the record of what made them."""
    target.mkdir()
    for path in (*folder.glob("*.parquet"), folder / "made_by.json"):
        (target / path.name).write_bytes(path.read_bytes())
    return target


def assert_same_but_for_rounding(text, other):
    """Figures that lie between two printed ones are rounded to either, by the order in which they were added."""
    parts, others = (re.split(r"(\d+\.\d+)", each) for each in (text, other))
    assert parts[::2] == others[::2]
    for number, another in zip(parts[1::2], others[1::2], strict=True):
        last_digit = 10.0 ** -len(number.partition(".")[2])
        assert abs(float(number) - float(another)) < 1.01 * last_digit


@pytest.mark.parametrize("name", FOLDERS)
def test_tables_follow_from_the_figures_unless_they_are_marked_as_older(name, tmp_path, monkeypatch):
    if not listed()[name]:
        return
    monkeypatch.setattr("ufselect.benchmark.output.plots", Mock())
    monkeypatch.setattr("ufselect.benchmark.output._Written.picture", lambda *ignored: None)
    folder = copied(ROOT / "results" / name, tmp_path / name)
    write_tables(*restored(read_experiment(ROOT / "experiments" / f"{name}.toml"), folder), folder)
    written = (folder / "tables.md").read_text(encoding="utf-8")
    assert_same_but_for_rounding(written, (ROOT / "results" / name / "tables.md").read_text(encoding="utf-8"))


def test_tables_of_the_readme_follow_from_the_summaries():
    spec = importlib.util.spec_from_file_location("write_readme", ROOT / "results" / "write_readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = README.read_text(encoding="utf-8")
    tables = module.tables()
    assert len(tables) == 5
    for name, text in tables.items():
        assert module.with_section(page, name, text) == page, f"run results/write_readme.py: {name} has changed"
