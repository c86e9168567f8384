import os
import subprocess
import sys

import numpy as np
import pytest

from ufselect._utils import memory
from ufselect._utils.memory import ensure_fits, memory_limit, peak_memory

resource = pytest.importorskip("resource", reason="this system has no limits on resources")


def without_limits(monkeypatch, tmp_path):
    """No control group and no limits on resources, so that only physical memory counts."""
    monkeypatch.setattr(memory, "_CONTROL_GROUP_LIMIT", tmp_path / "absent")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def physical_memory():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_what_does_not_fit_is_refused_with_sizes_and_advice(monkeypatch):
    for limit, n_bytes in ((1000.0, 1000), (float("inf"), 10**30)):
        monkeypatch.setattr(memory, "memory_limit", lambda limit=limit: limit)
        assert ensure_fits(n_bytes, "A kernel", "take fewer samples") is None
    monkeypatch.setattr(memory, "memory_limit", lambda: 2e9)
    with pytest.raises(MemoryError) as refusal:
        ensure_fits(3_210_000_000, "A kernel", "take fewer samples")
    assert str(refusal.value) == "A kernel would need 3.2 GB, but this process may use only 2.0 GB; take fewer samples."


def test_this_process_may_use_something_and_no_more_than_there_is():
    assert 0 < memory_limit() <= physical_memory()


@pytest.mark.parametrize("text", [None, "123456\n", "max\n", "", str(2**62)])
def test_the_limit_is_physical_memory_or_the_smaller_one_of_a_control_group(monkeypatch, tmp_path, text):
    without_limits(monkeypatch, tmp_path)
    if text is not None:
        (tmp_path / "absent").write_text(text)
    assert memory_limit() == (123456 if text == "123456\n" else physical_memory())


@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_the_soft_limit_on_a_resource_counts(monkeypatch, tmp_path, kind):
    without_limits(monkeypatch, tmp_path)
    limited = getattr(resource, kind)
    monkeypatch.setattr(
        resource, "getrlimit", lambda asked: (7_000_000 if asked == limited else resource.RLIM_INFINITY, 10**15)
    )
    assert memory_limit() == 7_000_000


def test_a_system_that_does_not_tell_its_memory_sets_no_limit(monkeypatch, tmp_path):
    without_limits(monkeypatch, tmp_path)
    monkeypatch.delattr(os, "sysconf")
    assert memory_limit() == float("inf")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process may begin with the peak of another")
def test_the_peak_is_no_less_than_what_is_held_and_not_that_of_whoever_started_the_process():
    block = np.ones(60_000_000)  # 480 MB, which resource usage would hand down
    assert peak_memory() >= block.nbytes
    program = "from ufselect._utils.memory import peak_memory; print(peak_memory())"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(told.stdout) < block.nbytes / 2
