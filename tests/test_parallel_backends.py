"""Every joblib backend gives the result of a plain fit, bit for bit."""

from functools import cache

import joblib
import pytest
from every_selector import METHODS, assert_identical, make

from ufselect.datasets.planted import make_planted_clusters

# Rows are processed in blocks of up to 256: 300 of them make two blocks, and so work for two processes.
PLANTED = make_planted_clusters(300, 3, 10, 10, random_state=0)
BACKENDS = ["sequential", "threading", "loky", "multiprocessing", "dask"]

# Further routes to code that runs in blocks.
VARIANTS = {name: (name, {}) for name in METHODS} | {
    "KernelFSASL, fixed structure": ("KernelFSASL", {"adaptive": False}),
    "FSASL, fixed size": ("FSASL", {"self_expression_size": 2}),
    "GLSPFS, lle": ("GLSPFS", {"local_model": "lle"}),
    "GLSPFS, ltsa": ("GLSPFS", {"local_model": "ltsa"}),
    "LaplacianScore, cosine": ("LaplacianScore", {"weights": "cosine"}),
}
IN_BLOCKS = ["KernelFSASL", "FSASL, fixed size", "GLSPFS, lle", "UDFS", "LaplacianScore, cosine"]

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def fit(variant, X=PLANTED.X, **params):
    """Fit a variant; a different bit shows after a few iterations."""
    name, own = VARIANTS[variant]
    return make(name, **{"n_clusters": 3, "max_iter": 10, **own, **params}).fit(X)


@cache
def plain_fit(variant):
    """Every variant, fitted without a backend, at most once."""
    return fit(variant)


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "dask":
        request.getfixturevalue("cluster")
    return request.param


@pytest.mark.parametrize("variant", IN_BLOCKS)
def test_every_backend_gives_the_plain_result(variant, backend):
    with joblib.parallel_config(backend, n_jobs=2):
        found = fit(variant)
    assert_identical(found, plain_fit(variant))


@pytest.mark.parametrize("variant", VARIANTS)
def test_processes_and_any_number_of_jobs_give_the_plain_result(variant):
    with joblib.parallel_config("loky", n_jobs=2):
        found = fit(variant)
    assert_identical(found, plain_fit(variant))
    assert_identical(fit(variant, n_jobs=3), plain_fit(variant))
