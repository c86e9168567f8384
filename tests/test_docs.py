"""Whether what is written about the selectors is complete, and whether it runs."""

import ast
import importlib.util
import inspect
import os
import re
import runpy
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import matplotlib.pyplot as plt
import pytest

import ufselect
from ufselect.datasets.planted import make_planted_clusters

ROOT = Path(__file__).parents[1]
METHODS = ROOT / "docs" / "methods.md"
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
# Arguments that keep an example short.
EXAMPLES = {
    "anndata_genes": [],
    "digits": [],
    "genes": ["1"],
    "pipeline": [],
    "planted": ["1000"],
    "thousands": ["2000"],
}
OUTSIDE = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks", "examples", "experiments", "results"]
PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0)
# An attribute of some modes only is looked for in one that has it.
MODES = {"SPFS": {"solver": "nes"}}
for_every_selector = pytest.mark.parametrize("name", ufselect.__all__)


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


def links(page):
    return re.findall(r"\]\(([^)\s]+)\)", without_code(page))


def module_at(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages_with(what):
    """A mark that runs a test for every page that has something."""
    pages = [page for page in PAGES if what(page)]
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.name)


class Parsed(HTMLParser):
    """The links of a page, and the places in it that links can lead to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places.add(found.get("id"))
        self.links += [found[key] for key in ("href", "src") if found.get(key)]


def test_methods_has_one_heading_for_every_selector_and_for_nothing_else():
    assert sorted(headings(METHODS, level=3)) == sorted(ufselect.__all__)


def test_the_table_has_one_row_for_every_selector():
    rows = re.findall(r"^\| \[(\w+)\]\(#", without_code(METHODS), flags=re.MULTILINE)
    assert sorted(rows) == sorted(ufselect.__all__)


def test_every_selector_has_its_reference():
    listed = without_code(METHODS).split("## References\n")[1]
    assert sorted(re.findall(r"^- \*\*(\w+):\*\*", listed, flags=re.MULTILINE)) == sorted(ufselect.__all__)


def test_the_picture_shows_every_selector_once():
    script = module_at(ROOT / "docs" / "draw_taxonomy.py")
    shown = [name for kind in script.KINDS for name in kind.selectors]
    assert sorted(shown) == sorted(ufselect.__all__)
    assert script.PICTURE.is_file()


@pages_with(links)
def test_links_within_the_project_lead_somewhere(page):
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pages_with(python_blocks)
def test_python_in_the_documentation_runs(page, monkeypatch, tmp_path):
    # A module of its own, as what is defined on a page may be pickled and named by others.
    module = ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), module.__dict__)


def test_every_example_is_run_here_and_in_the_gallery():
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert names == set(EXAMPLES)
    pattern = re.search(r'"filename_pattern": r"(.+)"', (ROOT / "docs" / "conf.py").read_text("utf-8"))[1]
    assert {name for name in names if re.search(pattern, f"/{name}.py")} == names - {"planted"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, monkeypatch, tmp_path, capsys):
    path = ROOT / "examples" / f"{name}.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path), *EXAMPLES[name]])
    monkeypatch.delenv("DISPLAY", raising=False)
    plt.switch_backend("Agg")
    try:
        runpy.run_path(str(path), run_name="__main__")
        assert plt.get_fignums()
    finally:
        plt.close("all")
    assert capsys.readouterr().out


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages made from a copy of docs/, examples not run."""
    folder = tmp_path_factory.mktemp("project")
    generated = shutil.ignore_patterns("_build", "auto_examples", "project", "api")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=generated)
    for name in OUTSIDE:
        (folder / name).symlink_to(ROOT / name)
    command = ["-m", "sphinx", "-W", "--keep-going", "-q", "-D", "plot_gallery=0", "-b", "html", "docs", "html"]
    made = subprocess.run(
        [sys.executable, *command], cwd=folder, env={**os.environ, "MPLBACKEND": "Agg"}, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    return folder / "html"


def test_every_page_is_made(site):
    for page in (page for page in PAGES if page.parent.name == "docs"):
        assert (site / f"{page.stem}.html").is_file(), page
    for name in ufselect.__all__:
        assert f"class ufselect.{name}(" in text_of(site / "api" / "generated" / f"ufselect.{name}.html")
    for name in EXAMPLES:
        assert (site / "auto_examples" / f"{name}.html").is_file()
    assert "Without labels" in text_of(site / "project" / "results" / "README.html")


def text_of(page):
    return re.sub(r"<[^>]+>", "", page.read_text("utf-8"))


def test_links_of_the_pages_made_lead_somewhere(site):
    pages = {path.resolve(): Parsed(path.read_text("utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"\w+:", link):
                continue
            name, _, place = link.partition("#")
            target = (path.parent / unquote(name.partition("?")[0])).resolve() if name else path
            assert target.exists(), (path.name, link)
            assert not place or target not in pages or unquote(place) in pages[target].places, (path.name, link)


def test_formulas_in_docstrings_become_blocks_and_marks_mean_themselves():
    plain = module_at(ROOT / "docs" / "plain_docstrings.py")
    text = ["Minimise, with n_iter_ steps,", "", "    |x_| + y_", "", "over ``x_`` and |y|."]
    assert plain.formulas_set_apart(text) == [
        r"Minimise, with n_iter\_ steps,", "", "::", "", "    |x_| + y_", "", r"over ``x_`` and \|y\|."
    ]  # fmt: skip
    assert plain.without_marks("coef_ : ndarray of shape (n_iter_, 3)") == r"coef_ : ndarray of shape (n_iter\_, 3)"


def test_links_from_and_to_copied_files_lead_to_the_same_file_as_before():
    files = module_at(ROOT / "docs" / "project_files.py")
    assert files.with_links_to_copies("[a](../results/README.md#x) [b](start.md)") == (
        "[a](project/results/README.md#x) [b](start.md)"
    )
    assert files.with_links_to_copies("[a](../experiments) [b](../examples/genes.py) [c](../examples)") == (
        "[a](project/experiments/index.md) [b](auto_examples/genes.rst) [c](auto_examples/index.rst)"
    )
    assert files.with_links_from_docs("[a](../docs/benchmark.md) [b](docs/methods.md) [c](no_labels/tables.md)") == (
        "[a](../../benchmark.md) [b](../methods.md) [c](no_labels/tables.md)"
    )


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
