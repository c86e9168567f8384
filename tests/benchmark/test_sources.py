"""Digests of source code: what counts and what does not."""

import sys

import pytest

from ufselect.benchmark.sources import local_files, source_digest

CODE = '''
import math

class Method:
    """Docstring."""

    def fit(self, X: list[int], y: None = None) -> "Method":
        """Another docstring."""
        if y is not None:
            raise ValueError(f"no y, not {y!r}")
        self.scores_ = [f"{x:.2f}|{{}}" for x in X if x > 0.5]  # a comment
        return self
'''
SAME = {
    "comment": ("  # a comment", "   # another"),
    "docstring": ('"""Docstring."""', '"""Reworded."""'),
    "docstring of a function": ('        """Another docstring."""\n', ""),
    "annotation": ("X: list[int], y: None = None", "X, y=None"),
    "message": ("no y, not", "y must be None, got"),
    "layout": ("[f", "[\n            f"),
}
OTHER = {
    "number": ("0.5", "0.6"),
    "comparison": ("x > 0.5", "x >= 0.5"),
    "text": (".2f", ".3f"),
    "default": ("= None)", "= 1)"),
    "condition of an error": ("y is not None", "y"),
    "name": ("scores_", "ranking_"),
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a module, or one of a package, into a folder on the path."""
    monkeypatch.syspath_prepend(tmp_path)

    def write_module(text, name="some_method"):
        path = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    return write_module


@pytest.mark.parametrize("case", SAME)
def test_words_do_not_count(write, case):
    before, after = SAME[case]
    assert before in CODE
    digest = source_digest(write(CODE))
    assert source_digest(write(CODE.replace(before, after))) == digest


@pytest.mark.parametrize("case", OTHER)
def test_code_counts(write, case):
    before, after = OTHER[case]
    assert before in CODE
    digest = source_digest(write(CODE))
    assert source_digest(write(CODE.replace(before, after))) != digest


def test_the_digest_is_the_same_in_every_version_of_python(write):
    # Digests are stored in results/*/made_by.json, and compared by whichever version runs the tests.
    assert source_digest(write(CODE)) == "ace41ceb557f59b00aa78c593235183344fecf579d7aaccffb56d960e2f06892"


def test_a_module_is_located_and_not_imported(write):
    assert source_digest(write("raise SystemExit", "not_to_be_imported"))
    assert "not_to_be_imported" not in sys.modules


def test_imported_modules_count_if_they_are_local(write):
    write("from . import b\nfrom .inner.c import value\nimport beside, numpy, json", "package_of_mine.a")
    write("from ..d import value", "package_of_mine.inner.c")
    for name in ("package_of_mine.b", "package_of_mine.d", "package_of_mine.unused", "beside"):
        write("value = 1", name)
    names = {"a", "b", "inner.c", "d"}
    assert set(local_files("package_of_mine.a")) == {"beside", *(f"package_of_mine.{name}" for name in names)}
    digest = source_digest("package_of_mine.a")
    write("value = 2", "package_of_mine.unused")
    assert source_digest("package_of_mine.a") == digest
    write("value = 2", "package_of_mine.d")
    assert source_digest("package_of_mine.a") != digest


def test_a_method_built_on_ours_counts_our_code(write):
    assert "ufselect.base" in local_files(write("from ufselect.base import BaseSelector"))
    assert "ufselect.selectors.fsasl" in local_files(write("from ufselect import FSASL"))


def test_our_selectors_do_not_depend_on_each_other():
    files = local_files("ufselect.selectors.mcfs")
    assert {name for name in files if name.startswith("ufselect.selectors.")} == {"ufselect.selectors.mcfs"}
    assert "ufselect.base" in files


def test_installed_packages_count_with_their_own_modules_only():
    files = local_files("tqdm.std")
    assert "tqdm.utils" in files
    assert {name.partition(".")[0] for name in files} == {"tqdm"}


@pytest.mark.parametrize("name", ["no_such_module_anywhere", "json.no_such_part", "sys", "__main__.part"])
def test_without_source_there_is_no_digest(name):
    assert source_digest(name) == ""


def test_a_module_that_cannot_be_parsed_has_the_digest_of_its_bytes(write):
    digest = source_digest(write("def f(:"))
    assert len(digest) == 64
    assert source_digest(write("def g(:")) != digest
