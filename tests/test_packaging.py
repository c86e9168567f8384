"""The package can be published: one version everywhere, a complete citation, a small source distribution."""

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from test_docs import ROOT, module_at

import ufselect

# It builds the package, but an old AnnData that finds it takes our version for its own: `make test-oldest` has none.
needs_hatchling = pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def test_citation_and_changelog_are_of_this_version():
    assert CITATION["version"] == ufselect.__version__
    assert f"\n## {ufselect.__version__} " in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.parametrize("work", [CITATION, *CITATION["references"]], ids=lambda work: work["title"])
def test_the_citation_has_what_its_format_requires(work):
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["message"]
    assert work["title"]
    assert work["type"] in ("software", "conference-paper")
    assert all("name" in author or {"family-names", "given-names"} <= set(author) for author in work["authors"])


def test_messages_name_packages_that_can_be_installed_wherever_this_one_came_from():
    sources = {path: path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")}
    assert not [str(path) for path, text in sources.items() if "ufselect[" in text]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = {extra: [re.match(r"[\w-]+", package)[0] for package in packages] for extra, packages in extras.items()}
    everything = "\n".join(sources.values())
    assert f"pip install {' '.join(named['dask'])}" in everything
    command_line = [*named["cli"][1:], *named["report"]]
    assert f'packages = "{" ".join(command_line)}"' in everything
    for extra in ("anndata", "approximate", "gpu", "report"):
        assert f"pip install {named[extra][0]}" in everything


def test_the_fast_tier_has_a_test_of_every_room():
    (listed,) = re.findall(r"^FAST = (.*?[^\\])\n", (ROOT / "Makefile").read_text("utf-8"), re.M | re.S)
    paths = [ROOT / path for path in listed.replace("\\", "").split()]
    assert [path for path in paths if not path.exists()] == []
    rooms = {path.parent.name for path in paths} | {path.name for path in paths}
    with_tests = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")} - {"gpu", "properties"}
    assert with_tests <= rooms


@needs_hatchling
def test_the_description_on_pypi_has_no_dead_links_and_installs_by_name():
    text = module_at(ROOT / "hatch_build.py").description((ROOT / "README.md").read_text("utf-8"))
    assert "](" not in text.replace("](https://", "")
    assert 'pip install "ufselect[cli]"' in text
    assert "clone" not in text
    assert "ufselect demo demo" in text
    assert "](docs" not in text
    assert "make test" not in text
    assert "## Good to know" in text
    assert "## Read on" not in text


@needs_hatchling
def test_the_source_distribution_has_code_tests_and_docs_but_no_raw_figures():
    from hatchling.builders.sdist import SdistBuilder

    files = {file.distribution_path: Path(file.path) for file in SdistBuilder(str(ROOT)).recurse_included_files()}
    assert {"src/ufselect/__init__.py", "tests/test_packaging.py", "docs/conf.py", "results/README.md"} <= set(files)
    assert {"LICENSE", "CITATION.cff", "CHANGELOG.md", "hatch_build.py"} <= set(files)
    assert not [
        name for name in files if name.endswith((".parquet", ".sqlite", ".svg", ".pyc")) or "docs/_build" in name
    ]
    sizes = {name: path.stat().st_size for name, path in files.items()}
    assert max(sizes.values()) < 1_000_000
    assert sum(sizes.values()) < 12_000_000
