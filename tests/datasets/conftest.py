"""A small set, and a folder of data of its own for every test."""

import numpy as np
import pytest

from ufselect.datasets import loaders


@pytest.fixture
def samples():
    """Values that no decimal writes exactly, and classes that are not sorted."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((7, 3)) * 10.0 ** rng.integers(-5, 5, size=(7, 3)), np.array([2, 0, 0, 1, 2, 1, 1])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which sets are looked for: empty, and nothing is in memory."""
    monkeypatch.setenv("UFSELECT_DATA", str(tmp_path))
    loaders._read_once.cache_clear()
    return tmp_path
