"""The structure of the package itself: rules that a linter does not know."""

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import ufselect
from ufselect.base import BaseSelector

PACKAGE = Path(ufselect.__file__).parent
MODULES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def source(name):
    return MODULES[name].read_text(encoding="utf-8")


@cache
def code(name):
    """The code of a module without comments and docstrings."""
    return ast.unparse(_without_docstrings(ast.parse(source(name))))


def modules_with(pattern):
    """The modules whose code has the pattern; to look at the text first takes less time."""
    return {name for name in MODULES if re.search(pattern, source(name)) and re.search(pattern, code(name))}


def _without_docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return tree


def test_modules_have_a_docstring():
    assert not [name for name in MODULES if ast.get_docstring(ast.parse(source(name))) is None]


def test_convergence_warnings_are_issued_in_one_module():
    # The other one says, once, that compiled code cannot be cached.
    assert modules_with(r"\bwarnings\.warn\(|\bwarn\(") == {"_utils/warnings.py", "_utils/compiling.py"}


def test_neighbors_are_searched_in_one_module():
    assert len(modules_with(r"\b(NearestNeighbors|kneighbors|kneighbors_graph|KDTree|cKDTree|BallTree)\b")) == 1


def test_array_files_are_read_in_the_file_layer_only():
    readers = modules_with(r"\b(np\.load|numpy\.load|load_npz|loadmat)\(")
    assert {name.partition("/")[0] for name in readers} == {"files"}


def test_only_the_command_line_prints():
    assert {name.partition("/")[0] for name in modules_with(r"(?<![\w.])print\(")} <= {"cli"}


def test_every_method_is_one_module_and_is_exported():
    defined = []
    for path in sorted((PACKAGE / "selectors").glob("[!_]*.py")):
        module = importlib.import_module(f"ufselect.selectors.{path.stem}")
        classes = [each for each in vars(module).values() if inspect.isclass(each) and issubclass(each, BaseSelector)]
        public = [each.__name__ for each in classes if each.__module__ == module.__name__ and each.__name__[0] != "_"]
        assert len(public) == 1, path.name
        defined += public
    assert sorted(defined) == sorted(ufselect.__all__)
