"""Numerical libraries have one thread within a fit, all of them in large calls, and as many as before afterwards."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from ufselect import NDFS, SPEC, KernelFSASL, MaxVariance
from ufselect._utils.threads import LARGE, one_thread, threads_for
from ufselect.columns.dense import Columns

LIBRARIES = ThreadpoolController()


def threads():
    return {library["num_threads"] for library in LIBRARIES.info()}


@pytest.fixture(autouse=True)
def two_threads():
    """Tests themselves run with one thread each."""
    with threadpool_limits(limits=2):
        assert threads() == {2}
        yield


def watched(monkeypatch, selector):
    """Fit a selector, and return the numbers of threads at the start of its work."""
    seen = []
    prepared = Columns.prepared
    monkeypatch.setattr(
        Columns, "prepared", lambda *args, **kwargs: seen.append(threads()) or prepared(*args, **kwargs)
    )
    selector.fit(np.random.default_rng(0).standard_normal((30, 6)))
    return seen


@pytest.mark.parametrize("cls", [KernelFSASL, NDFS, SPEC])
def test_a_fit_has_one_thread_and_returns_the_others(cls, monkeypatch):
    assert watched(monkeypatch, cls(2)) == [{1}]
    assert threads() == {2}


def test_threads_come_back_after_an_error():
    with pytest.raises(ValueError, match="constant"):
        MaxVariance(1).fit(np.zeros((5, 2)))
    assert threads() == {2}


def test_large_calls_have_all_threads_and_small_ones_have_one():
    with one_thread():
        with threads_for(LARGE):
            assert threads() == {2}
        assert threads() == {1}
        with threads_for(LARGE / 2):
            assert threads() == {1}
    with threads_for(LARGE):
        assert threads() == {2}


def test_a_limit_of_the_user_is_never_exceeded():
    with threadpool_limits(limits=1), one_thread(), threads_for(LARGE):
        assert threads() == {1}


@pytest.mark.parametrize("last", [0, 1])
def test_fits_side_by_side_have_one_thread_each_whoever_ends_last(last):
    inside, measured, first_is_out = (Barrier(2, timeout=60) for _ in range(3))

    def fit(index):
        with one_thread():
            inside.wait()
            with threads_for(LARGE):
                seen = threads()
            measured.wait()
            if index == last:
                first_is_out.wait()
                seen |= threads()
        if index != last:
            first_is_out.wait()
        return seen

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(fit, range(2))) == [{1}, {1}]
    assert threads() == {2}


def test_a_large_product_of_columns_is_a_large_call():
    n, d, q = 2000, 1000, 600  # 2.4e9 operations
    seen = []

    class Watched(np.ndarray):
        def __matmul__(self, other):
            seen.append(threads())
            return np.zeros((n, q))

    X = Columns(np.zeros((n, d)).view(Watched))
    with one_thread():
        X @ np.zeros((d, q))
        X @ np.zeros((d, 2))
    assert seen == [{2}, {1}]
