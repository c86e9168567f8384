"""Whether what is written about the selectors is complete, and whether it runs."""

import ast
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import ufselect
from ufselect.datasets.planted import make_planted_clusters

ROOT = Path(__file__).parents[1]
METHODS = ROOT / "docs" / "methods.md"
PAGES = [METHODS, ROOT / "docs" / "benchmark.md", ROOT / "README.md"]
PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0)
# An attribute of some modes only is looked for in one that has it.
MODES = {"SPFS": {"solver": "nes"}}
for_every_selector = pytest.mark.parametrize("name", ufselect.__all__)
for_every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def sections(name):
    """The sections of a class docstring, each a dictionary of its entries: name to what follows the colon."""
    text = inspect.cleandoc(getattr(ufselect, name).__doc__)
    parts = re.split(r"^(\w+)\n-+\n", text, flags=re.MULTILINE)
    entry = re.compile(r"^(\w+) : (.*)$", flags=re.MULTILINE)
    return {title: dict(entry.findall(body)) for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def without_code(page):
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def headings(page, level):
    return re.findall(rf"^#{{{level}}} (.+)$", without_code(page), flags=re.MULTILINE)


def anchors(page):
    """The names that GitHub gives to headings."""
    titles = re.findall(r"^#+ (.+)$", without_code(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def python_blocks(page):
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_methods_has_one_heading_for_every_selector_and_for_nothing_else():
    assert sorted(headings(METHODS, level=3)) == sorted(ufselect.__all__)


def test_the_table_has_one_row_for_every_selector():
    rows = re.findall(r"^\| \[(\w+)\]\(#", without_code(METHODS), flags=re.MULTILINE)
    assert sorted(rows) == sorted(ufselect.__all__)


def test_every_selector_has_its_reference():
    listed = without_code(METHODS).split("## References\n")[1]
    assert sorted(re.findall(r"^- \*\*(\w+):\*\*", listed, flags=re.MULTILINE)) == sorted(ufselect.__all__)


def test_the_picture_shows_every_selector_once():
    spec = importlib.util.spec_from_file_location("draw_taxonomy", ROOT / "docs" / "draw_taxonomy.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    shown = [name for kind in script.KINDS for name in kind.selectors]
    assert sorted(shown) == sorted(ufselect.__all__)
    assert script.PICTURE.is_file()


@for_every_page
def test_links_within_the_project_lead_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", without_code(page))
    assert links
    for link in links:
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@for_every_page
def test_python_in_the_documentation_runs(page):
    blocks = python_blocks(page)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)


@for_every_selector
def test_docstrings_have_all_their_sections(name):
    assert list(sections(name)) == ["Parameters", "Attributes", "References", "Examples"]


@for_every_selector
def test_docstrings_describe_every_parameter_in_its_order_and_no_other(name):
    cls = getattr(ufselect, name)
    described = sections(name)["Parameters"]
    assert set(described) == set(cls().get_params())
    assert list(described) == list(inspect.signature(cls).parameters)


@for_every_selector
def test_docstrings_tell_the_defaults(name):
    described = sections(name)["Parameters"]
    told = {key: ast.literal_eval(text.split("default=")[1]) for key, text in described.items()}
    assert told == getattr(ufselect, name)().get_params()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@for_every_selector
def test_docstrings_describe_all_that_is_learned_and_nothing_else(name):
    selector = getattr(ufselect, name)(4, **MODES.get(name, {})).fit(PLANTED.X)
    described = set(sections(name)["Attributes"])
    learned = {key for key in vars(selector) if key.endswith("_")} - {"n_features_in_"}
    assert learned <= described
    assert not [key for key in described if not hasattr(selector, key)]
