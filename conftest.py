"""Which modules have no doctests here, which tests come first, and which are not measured."""

import gc
from importlib.util import find_spec

import pytest

# Modules that need PyTorch, if it is not installed.
collect_ignore_glob = [] if find_spec("torch") else ["src/ufselect/columns/tensors.py", "src/ufselect/graphs/*_cuda.py"]

# What is imported and collected stays to the end: to look for garbage meanwhile takes seconds.
gc.disable()

_LONGEST = {
    "test_docs.py",
    "test_pages_with_commands.py",
    "test_large_files.py",
    "test_cli_bench.py",
    "test_dask.py",
    "test_select_from_parts.py",
    "test_compiling.py",
}


def pytest_collection_modifyitems(items):
    """Start with the modules whose tests take longest: at the end, one process would work on them alone."""
    items.sort(key=lambda item: item.path.name not in _LONGEST)
    # Tests with many examples of the same lines: measuring takes as long as the examples themselves.
    for item in items:
        if getattr(getattr(item, "function", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.no_cover)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    """Collect the garbage of tests; not frozen, as Hypothesis asks the collector who refers to what."""
    gc.enable()
