"""The documentation is complete, its code runs, its links work, and its generated pages are up to date."""

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
from browsers import LONGEST_WAIT, started_browser
from PIL import Image

import ufselect
from ufselect.base import BaseSelector
from ufselect.datasets.planted import make_planted_clusters

ROOT = Path(__file__).parents[1]
METHODS = ROOT / "docs" / "methods.md"
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("users/*.md")), ROOT / "README.md"]
# Arguments that keep the examples fast.
EXAMPLES = {
    "anndata_genes": ["1"],
    "digits": [],
    "genes": ["1"],
    "pipeline": [],
    "planted": ["200"],
    "thousands": ["2000"],
}
OUTSIDE = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks", "examples", "experiments", "results"]
PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0)
# Parameters for which a selector learns all the attributes that its docstring describes.
WISHES = {"costs": [1.0] * 15, "limits": {"max": (0, None)}}
MODES = {"KernelFSASL": {"fdr": 0.05, "groups": [*range(13), 0, 1], "requirements": WISHES}, "SPFS": {"solver": "nes"}}
for_every_selector = pytest.mark.parametrize("name", ufselect.__all__)


def sections(name):
    """The sections of a class docstring, each a dictionary from the name of an entry to the text after its colon."""
    text = inspect.cleandoc(getattr(ufselect, name).__doc__)
    parts = re.split(r"^([A-Z]\w+(?: Also)?)\n-+\n", text, flags=re.MULTILINE)
    entry = re.compile(r"^(\w+) : (.*)$", flags=re.MULTILINE)
    return {title: dict(entry.findall(body)) for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def without_code(page):
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def headings(page, level):
    return re.findall(rf"^#{{{level}}} (.+)$", without_code(page), flags=re.MULTILINE)


def anchors(page):
    """The anchors that GitHub makes from headings."""
    titles = re.findall(r"^#+ (.+)$", without_code(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def python_blocks(page):
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def python_files(page):
    """Scripts on a page, and code that needs a package which tests do without."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```\{code-block\} python\n(?::.*\n)?(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def imported_names(code):
    """The dotted names of all modules and objects that the code imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_private(dotted_name):
    return any(part.startswith("_") and not part.endswith("__") for part in dotted_name.split("."))


def links(page):
    return re.findall(r"\]\(([^)\s]+)\)", without_code(page))


def module_at(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages_with(what):
    """Parametrize a test over the pages for which ``what`` finds something."""
    pages = [page for page in PAGES if what(page)]
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.name)


class Parsed(HTMLParser):
    """The links of a page, the anchors in it, and what a browser loads to show it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.loaded = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.add(found.get("id"))
        urls = [found[key] for key in ("href", "src") if found.get(key)]
        self.links += urls
        if tag != "a":
            self.loaded += urls


def test_the_methods_page_has_one_heading_for_every_selector():
    assert sorted(headings(METHODS, level=3)) == sorted(ufselect.__all__)


def test_the_table_of_methods_has_one_row_for_every_selector():
    rows = re.findall(r"^\| \[(\w+)\]\(#", without_code(METHODS), flags=re.MULTILINE)
    assert sorted(rows) == sorted(ufselect.__all__)


def found_in(page, pattern):
    return re.findall(pattern, page.read_text(encoding="utf-8"), flags=re.MULTILINE)


def measured_of_methods():
    """The last two columns of the table: informative and distinct features that a method finds."""
    return {name: figures for name, *figures in found_in(METHODS, r"^\| \[(\w+)\]\(.*\| ([\d.]+) \| ([\d.]+) \|$")}


def test_figures_in_the_text_on_a_method_are_those_of_its_row_in_the_table():
    quoted = [
        (part.split(maxsplit=1)[0], figure)
        for part in METHODS.read_text(encoding="utf-8").split("\n### ")[1:]
        for figure in re.findall(r"([\d.]+)(?: of \d+)? in the table", part)
    ]
    assert len(quoted) >= 4
    assert [(name, figure) for name, figure in quoted if figure not in measured_of_methods()[name]] == []


def test_methods_in_the_results_stand_in_the_order_of_their_accuracy():
    accuracies = [float(figure) for figure in found_in(DOCS / "choose.md", r"^\| .+? \| ([\d.]+) / [\d.]+ \|")]
    assert len(accuracies) > 5
    assert accuracies == sorted(accuracies, reverse=True)


def test_methods_against_copies_are_advised_in_the_order_of_the_table():
    (advice,) = found_in(DOCS / "choose.md", r"^- \*\*Redundant columns:\*\* (.*?)\. ")
    distinct = {name: float(figures[1]) for name, figures in measured_of_methods().items()}
    advised = re.findall(r"`(\w+)`", advice)
    assert advised == sorted(distinct, key=lambda name: -distinct[name])[: len(advised)]


def test_seconds_in_the_readme_are_those_of_the_measurements():
    (said,) = found_in(ROOT / "README.md", r"KernelFSASL` takes (\d+) s for 100,000 × 1,000")
    (measured,) = found_in(DOCS / "scaling.md", r"^\| 100,000 × 1,000 \| ([\d.]+) \|")
    assert int(said) == round(float(measured))


def test_methods_on_pages_declare_what_they_are_given():
    of_base = str(inspect.signature(BaseSelector._learn)).replace("'", "")
    found = [
        (page.name, signature)
        for page in PAGES
        for signature in re.findall(r"def _learn(\(.*?\) -> \w+):", page.read_text(encoding="utf-8"))
    ]
    assert {page for page, _ in found} >= {"researcher.md", "add_a_method.md"}
    assert [(page, signature) for page, signature in found if signature != of_base] == []


def test_recipes_that_start_processes_do_so_in_the_main_program_only():
    text = (DOCS / "recipes.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{code-block\} python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    recipes = [ast.parse(block) for block in blocks if "tsf" in block]
    assert len(recipes) == 2
    for recipe in recipes:
        *imports, guarded = recipe.body
        assert all(isinstance(node, ast.Import | ast.ImportFrom) for node in imports)
        assert ast.unparse(guarded.test) == "__name__ == '__main__'"


def test_every_selector_has_a_reference():
    listed = without_code(METHODS).split("## References\n")[1]
    assert sorted(re.findall(r"^- \*\*(\w+):\*\*", listed, flags=re.MULTILINE)) == sorted(ufselect.__all__)


def test_the_taxonomy_shows_every_selector_once():
    shown = [name for kind in module_at(DOCS / "draw_figures.py").KINDS for name in kind.selectors]
    assert sorted(shown) == sorted(ufselect.__all__)


def test_the_parameters_page_is_up_to_date():
    script = module_at(ROOT / "docs" / "list_parameters.py")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run python docs/list_parameters.py"


def test_the_import_closures_in_the_architecture_are_up_to_date():
    pytest.importorskip("grimp", reason="grimp comes with import-linter, of the dev extra")
    script = module_at(DOCS / "draw_imports.py")
    assert script.written() == script.drawn(), "run python docs/draw_imports.py"


def test_every_table_of_the_benchmarks_says_what_was_measured_and_where():
    tables = re.findall(
        r"<!-- begin (\w+) -->\n(.*?)<!-- end \1 -->", (ROOT / "benchmarks/README.md").read_text("utf-8"), re.S
    )
    assert {name for name, _ in tables} == set(
        re.findall(r"^def (\w+)\(_?(?:options)?: argparse", (ROOT / "benchmarks/run.py").read_text("utf-8"), re.M)
    )
    assert [name for name, text in tables if not re.search(r"^Commit [\da-f]{7}.*Machine: ", text, re.M)] == []


def test_constructors_in_different_orders_are_reported():
    script = module_at(ROOT / "docs" / "list_parameters.py")
    assert script.common_order({"A": {"x": "", "z": ""}, "B": {"x": "", "y": "", "z": ""}}) == ["x", "y", "z"]
    with pytest.raises(ValueError, match="disagree on the order of"):
        script.common_order({"A": {"x": "", "y": ""}, "B": {"y": "", "x": ""}})


@pytest.mark.parametrize("path", [*PAGES, *sorted((ROOT / "examples").glob("*.py"))], ids=lambda path: path.name)
def test_pages_and_examples_import_public_names_only(path):
    blocks = [path.read_text(encoding="utf-8")] if path.suffix == ".py" else python_blocks(path) + python_files(path)
    private = [name for block in blocks for name in imported_names(block) if is_private(name)]
    assert not private


@pages_with(links)
def test_links_within_the_project_work(page):
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.no_cover  # what pages and examples call, other tests measure
@pages_with(python_blocks)
def test_python_in_the_documentation_runs(page, monkeypatch, tmp_path):
    # A module, so that classes defined on a page can be pickled and imported by name.
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


@pytest.mark.no_cover
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


def built_site(folder):
    """The documentation built from a copy of docs/ in that folder, without running the examples."""
    generated = shutil.ignore_patterns("_build", "auto_examples", "project", "api")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=generated)
    for name in OUTSIDE:
        (folder / name).symlink_to(ROOT / name)
    quick = ["-D", "plot_gallery=0", "-D", "html_theme=basic"]  # whose pages are written in half the time
    command = ["-m", "sphinx", "-W", "--keep-going", "-q", *quick, "-b", "html", "docs", "html"]
    made = subprocess.run(
        [sys.executable, *command], cwd=folder, env={**os.environ, "MPLBACKEND": "Agg"}, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    return folder / "html"


@pytest.mark.no_cover
def test_every_page_is_built_and_all_links_work(tmp_path):  # one test, as building takes long
    site = built_site(tmp_path)
    check_pages(site)
    check_links(site)
    check_nothing_comes_from_elsewhere(site)
    check_formulas(site)
    check_in_browser(site)  # last, as it is skipped without a browser


def check_pages(site):
    for page in (page for page in PAGES if page.is_relative_to(DOCS)):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").is_file(), page
    for name in ufselect.__all__:
        assert f"class ufselect.{name}(" in text_of(site / "api" / "generated" / f"ufselect.{name}.html")
    for name in EXAMPLES:
        assert (site / "auto_examples" / f"{name}.html").is_file()
    assert "Without labels" in text_of(site / "project" / "results" / "README.html")


def text_of(page):
    return re.sub(r"<[^>]+>", "", page.read_text("utf-8"))


def check_links(site):
    pages = {path.resolve(): Parsed(path.read_text("utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"\w+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / unquote(name.partition("?")[0])).resolve() if name else path
            assert target.exists(), (path.name, link)
            assert not anchor or target not in pages or unquote(anchor) in pages[target].anchors, (path.name, link)


def check_nothing_comes_from_elsewhere(site):
    """Whoever reads the pages may be offline."""
    for path in site.rglob("*.html"):
        assert not [url for url in Parsed(path.read_text("utf-8")).loaded if re.match(r"(https?:)?//", url)], path
    for path in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", path.read_text("utf-8")), path


def check_formulas(site):
    page = (site / "mathematics.html").read_text("utf-8")
    assert page.count("<math ") > 100
    assert "$" not in text_of(site / "mathematics.html")
    assert (site / "_static" / "stix-two-math.woff").stat().st_size > 100_000
    assert "stix-two-math.woff" in (site / "_static" / "page.css").read_text("utf-8")


def check_in_browser(site):
    """Pages are shown without a network: no request to elsewhere, no message, formulas in their font."""
    with started_browser() as browser:
        page = browser.new_context(offline=True).new_page()
        page.set_default_timeout(LONGEST_WAIT)
        requests, messages = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: messages.append(message.text))
        for name in ("index", "mathematics", "users/table", "auto_examples/index"):
            page.goto((site / f"{name}.html").as_uri())
        assert not [url for url in requests if not url.startswith(("file:", "data:"))]
        assert not messages
        page.goto((site / "mathematics.html").as_uri())
        page.evaluate("document.fonts.ready.then(() => null)")
        fonts = page.evaluate("[...document.fonts].filter(font => font.status === 'loaded').map(font => font.family)")
        assert any("STIX Two Math" in font for font in fonts)


def test_formulas_have_limits_below_and_no_space_within_bars():
    mathml = module_at(DOCS / "mathml.py").mathml
    block = mathml(r"\max_j |x_j|", "block")
    assert "<munder><mo>max</mo>" in block
    assert block.count('lspace="0" rspace="0">|</mo>') == 2
    assert "<msub><mo>max</mo>" in mathml(r"\max_j |x_j|", "inline")


def test_the_figures_of_speed_show_the_tables_of_the_benchmarks():
    script = module_at(DOCS / "draw_figures.py")
    for name in script.PICTURES:
        with Image.open(script.picture(name)) as picture:
            assert picture.text["Description"] == script.digest(name), "run python docs/draw_figures.py speed"


def test_formulas_in_docstrings_become_blocks_and_marks_mean_themselves():
    plain = module_at(DOCS / "sphinx_pages.py")
    text = ["Minimise, with n_iter_ steps,", "", "    |x_| + y_", "", "over ``x_`` and |y|."]
    assert plain.formulas_set_apart(text) == [
        r"Minimise, with n_iter\_ steps,", "", "::", "", "    |x_| + y_", "", r"over ``x_`` and \|y\|."
    ]  # fmt: skip
    assert plain.without_marks("coef_ : ndarray of shape (n_iter_, 3)") == r"coef_ : ndarray of shape (n_iter\_, 3)"


def test_links_from_and_to_copied_files_still_lead_to_the_same_file():
    files = module_at(DOCS / "sphinx_pages.py")
    assert files.with_links_to_copies("[a](../results/README.md#x) [b](start.md)") == (
        "[a](project/results/README.md#x) [b](start.md)"
    )
    assert files.with_links_to_copies("[a](../experiments) [b](../examples/genes.py) [c](../examples)") == (
        "[a](project/experiments/index.md) [b](auto_examples/genes.rst) [c](auto_examples/index.rst)"
    )
    assert files.with_links_to_copies("[a](../../examples/genes.py) [b](../start.md) [c](cells.md)", "../") == (
        "[a](../auto_examples/genes.rst) [b](../start.md) [c](cells.md)"
    )
    assert files.with_links_from_docs("[a](../docs/benchmark.md) [b](docs/methods.md) [c](no_labels/tables.md)") == (
        "[a](../../benchmark.md) [b](../methods.md) [c](no_labels/tables.md)"
    )


@for_every_selector
def test_docstrings_have_all_their_sections(name):
    assert [title for title in sections(name) if title != "See Also"] == [
        "Parameters",
        "Attributes",
        "References",
        "Examples",
    ]


@for_every_selector
def test_docstrings_describe_every_parameter_in_order_and_no_other(name):
    cls = getattr(ufselect, name)
    described = sections(name)["Parameters"]
    assert set(described) == set(cls().get_params())
    assert list(described) == list(inspect.signature(cls).parameters)


@for_every_selector
def test_docstrings_state_the_defaults(name):
    described = sections(name)["Parameters"]
    stated = {key: ast.literal_eval(text.split("default=")[1]) for key, text in described.items()}
    assert stated == getattr(ufselect, name)().get_params()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@for_every_selector
def test_docstrings_describe_every_learned_attribute_and_no_other(name):
    selector = getattr(ufselect, name)(4, **MODES.get(name, {})).fit(PLANTED.X)
    described = set(sections(name)["Attributes"])
    learned = {key for key in vars(selector) if key.endswith("_")} - {"n_features_in_"}
    assert learned <= described
    assert not [key for key in described if not hasattr(selector, key)]
