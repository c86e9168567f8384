"""Every joblib backend gives the result of a plain fit, bit for bit."""

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from learned import LEARNED
from numpy.testing import assert_array_equal

import ufselect
from ufselect.datasets.planted import make_planted_clusters

# Rows are processed in blocks of up to 256: 300 of them make two blocks, and so work for two processes.
PLANTED = make_planted_clusters(300, 3, 10, 10, random_state=0)
BACKENDS = ["sequential", "threading", "loky", "multiprocessing", "dask"]

# Further routes to code that runs in blocks.
VARIANTS = {
    "KernelFSASL, fixed structure": ("KernelFSASL", {"adaptive": False}),
    "FSASL, fixed size": ("FSASL", {"self_expression_size": 2}),
    "GLSPFS, lle": ("GLSPFS", {"local_model": "lle"}),
    "GLSPFS, ltsa": ("GLSPFS", {"local_model": "ltsa"}),
    "LaplacianScore, cosine": ("LaplacianScore", {"weights": "cosine"}),
}
METHODS = {name: (name, {}) for name in ufselect.__all__} | VARIANTS

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def fit(method, X=PLANTED.X, **params):
    """Fit with those of the parameters that the method has; a different bit shows after a few iterations."""
    name, own = METHODS[method]
    selector = getattr(ufselect, name)(5, **own)
    accepted = {key: value for key, value in {"max_iter": 10, **params}.items() if key in selector.get_params()}
    return selector.set_params(**accepted).fit(X)


def assert_same(selector, plain):
    for attribute in LEARNED:
        assert hasattr(selector, attribute) == hasattr(plain, attribute)
        if hasattr(plain, attribute):
            assert_array_equal(getattr(selector, attribute), getattr(plain, attribute), err_msg=attribute)


@pytest.fixture(scope="module")
def plain_fits():
    """Every method, fitted without a backend, at most once."""
    fits = {}

    def plain(method):
        if method not in fits:
            fits[method] = fit(method, n_clusters=3)
        return fits[method]

    return plain


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "dask":
        request.getfixturevalue("cluster")
    return request.param


@pytest.mark.parametrize("method", METHODS)
def test_every_backend_gives_the_plain_result(method, backend, plain_fits):
    with joblib.parallel_config(backend, n_jobs=2):
        found = fit(method, n_clusters=3)
    assert_same(found, plain_fits(method))


@pytest.mark.parametrize("n_jobs", [3, -1])
@pytest.mark.parametrize("method", METHODS)
def test_any_number_of_jobs_gives_the_plain_result(method, n_jobs, plain_fits):
    assert_same(fit(method, n_clusters=3, n_jobs=n_jobs), plain_fits(method))


@pytest.mark.parametrize("method", ["KernelFSASL", "UDFS", "LaplacianScore, cosine"])
def test_every_backend_gives_the_plain_result_of_sparse_data(method, backend):
    X = sp.csr_array(np.where(PLANTED.X > 0.5, PLANTED.X, 0.0))
    plain = fit(method, X, n_clusters=3)
    with joblib.parallel_config(backend, n_jobs=2):
        found = fit(method, X, n_clusters=3)
    assert_same(found, plain)
