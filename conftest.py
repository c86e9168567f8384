"""Which modules have no doctests here, and which tests come first."""

from importlib.util import find_spec

# Modules that need PyTorch, if it is not installed.
collect_ignore_glob = [] if find_spec("torch") else ["src/ufselect/gpu/*"]

_LONGEST = ("test_docs.py", "test_readme.py", "test_large_files.py", "test_cli_bench.py")


def pytest_collection_modifyitems(items):
    """Start with the modules whose tests take longest: at the end, one process would work on them alone."""
    items.sort(key=lambda item: item.path.name not in _LONGEST)
