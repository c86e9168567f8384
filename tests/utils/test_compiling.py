"""Compiled code where nothing can be written: it is compiled without a cache, with one warning."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import ufselect

# The parts that a fit imports are loaded first, as not every user may be allowed to read them.
AS_NOBODY = """
import os, sys, warnings
import numba, scipy.sparse.linalg, scipy.linalg.lapack, sklearn.cluster, sklearn.feature_selection, sklearn.neighbors
import sklearn.linear_model, sklearn.kernel_approximation, joblib, tqdm, concurrent.futures.thread, scipy.optimize
if os.getuid() == 0:  # to whom permissions do not apply
    os.setuid(65534)
sys.path.insert(0, sys.argv[1])
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import ufselect
    from ufselect import FSASL
    assert ufselect.__file__.startswith(sys.argv[1]), ufselect.__file__
    X = np.random.default_rng(0).standard_normal((20, 4)) + 9.0 * (np.arange(20) % 2)[:, None]
    exec(sys.argv[2])
for each in caught:
    if each.category is RuntimeWarning:
        print(each.message)
"""

FIT = "FSASL(2, n_clusters=2, structure='local', max_iter=2, tol=1.0).fit(X)"
COMPILE_LITTLE = "from ufselect._utils.compiling import subtract_multiple; subtract_multiple(X[0], X[1], 2.0)"


@pytest.fixture
def installation():
    """A copy of the package in a folder that cannot be written to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = Path(ufselect.__file__).parent
        shutil.copytree(source, folder / "ufselect", ignore=shutil.ignore_patterns("__pycache__"))
        everything = [folder, *folder.rglob("*")]
        for path in everything:
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield folder
        for path in everything:
            path.chmod(0o755)


def said_to_nobody(installation, program, **variables):
    environment = {key: value for key, value in os.environ.items() if key not in {"NUMBA_CACHE_DIR", "PYTHONPATH"}}
    environment |= {"HOME": str(installation), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1", **variables}
    environment.pop("XDG_CACHE_HOME", None)
    outcome = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(installation), program],
        env=environment,
        cwd=installation,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind are POSIX")
def test_an_installation_that_nobody_can_write_to_works_and_says_once_how_to_name_a_cache(installation):
    said = said_to_nobody(installation, FIT)
    assert said.count("NUMBA_CACHE_DIR") == 1
    assert not list(installation.rglob("*.nbi"))


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind are POSIX")
def test_a_folder_named_for_the_cache_is_used(installation):
    with tempfile.TemporaryDirectory() as cache:
        Path(cache).chmod(0o777)
        assert said_to_nobody(installation, COMPILE_LITTLE, NUMBA_CACHE_DIR=cache) == ""
        assert list(Path(cache).rglob("*.nbi"))
