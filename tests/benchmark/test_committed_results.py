"""The results in the project: tables that follow from their figures, and the commit that made them."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from ufselect.benchmark.output import write_tables
from ufselect.benchmark.record import read_results

ROOT = Path(__file__).parents[2]
README = ROOT / "results" / "README.md"
FOLDERS = sorted(path.parent.name for path in (ROOT / "results").glob("*/made_by.json") if "-part" not in str(path))
EXPERIMENTS = [name for name in FOLDERS if name != "significance"]


def test_the_readme_says_at_which_commit_each_folder_was_made():
    rows = re.findall(r"^\| \[(\w+)\]\(\1/tables\.md\) \| (\w+) \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    records = {
        name: json.loads((ROOT / "results" / name / "made_by.json").read_text(encoding="utf-8")) for name in FOLDERS
    }
    assert dict(rows) == {name: record["commit"][:7] for name, record in records.items()}


def assert_same_but_for_rounding(text, other):
    """Figures that lie between two printed ones are rounded to either, by the order in which they were added."""
    parts, others = (re.split(r"(\d+\.\d+)", each) for each in (text, other))
    assert parts[::2] == others[::2]
    for number, another in zip(parts[1::2], others[1::2], strict=True):
        last_digit = 10.0 ** -len(number.partition(".")[2])
        assert abs(float(number) - float(another)) < 1.01 * last_digit


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tables_follow_from_the_figures(name, tmp_path, monkeypatch):
    monkeypatch.setattr("ufselect.benchmark.output._Written.picture", lambda *ignored: None)
    for path in (ROOT / "results" / name).glob("*.parquet"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "made_by.json").write_bytes((ROOT / "results" / name / "made_by.json").read_bytes())
    write_tables(*read_results(tmp_path), tmp_path)
    written = [path for path in tmp_path.iterdir() if path.suffix in (".md", ".csv", ".tex")]
    assert len(written) >= 2
    for path in written:
        committed = (ROOT / "results" / name / path.name).read_text(encoding="utf-8")
        assert_same_but_for_rounding(path.read_text(encoding="utf-8"), committed)


def test_tables_of_the_readme_follow_from_the_summaries():
    spec = importlib.util.spec_from_file_location("write_readme", ROOT / "results" / "write_readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = README.read_text(encoding="utf-8")
    tables = module.tables()
    assert len(tables) == 5
    for name, text in tables.items():
        assert module.with_section(page, name, text) == page, f"run results/write_readme.py: {name} has changed"


def test_tables_on_the_test_of_columns_follow_from_the_figures(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    text = importlib.import_module("significance_report").tables()
    assert text == (ROOT / "results" / "significance" / "tables.md").read_text(encoding="utf-8")
