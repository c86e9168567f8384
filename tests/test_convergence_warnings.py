"""Solvers that do not converge warn once, and the warning points at the line of the user that called ``fit``."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ufselect import FSASL, MCFS
from ufselect.datasets.planted import make_planted_clusters
from ufselect.graphs import spectral, subspace_iteration
from ufselect.solvers import lassos

PLANTED = make_planted_clusters(300, 3, 10, 20, random_state=0)


def warnings_of(selector, about, X=PLANTED.X, *, in_pipeline=False):
    """The messages of the convergence warnings of a fit that say this, all of which point at this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if in_pipeline:
            make_pipeline(StandardScaler(), selector).fit(X)
        else:
            selector.fit(X)
    found = [each for each in caught if each.category is ConvergenceWarning and about in str(each.message)]
    assert {each.filename for each in found} <= {__file__}
    return [str(each.message) for each in found]


@pytest.fixture
def impatient(monkeypatch):
    """Give every solver one iteration, at any size."""
    monkeypatch.setattr(spectral, "LARGEST_DENSE_SPECTRUM", 0)
    monkeypatch.setattr(spectral, "LARGEST_DENSE_SYSTEM", 0)
    monkeypatch.setattr(subspace_iteration, "MOST_FILTERINGS", 1)
    monkeypatch.setattr(spectral, "MOST_FILTERINGS", 1)
    monkeypatch.setattr(lassos, "_MOST_ROUNDS", 1)


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_eigenvectors_that_did_not_converge(impatient, in_pipeline):
    messages = warnings_of(MCFS(5, n_clusters=3), "", in_pipeline=in_pipeline)
    assert messages == ["The eigenvectors of the Laplacian did not converge to tol=1e-07 after 1 iterations."]


@pytest.mark.parametrize(("in_pipeline", "n_jobs"), [(False, 1), (True, 2)])
def test_lassos_that_did_not_converge_are_counted_over_all_blocks(impatient, in_pipeline, n_jobs):
    selector = FSASL(5, n_clusters=8, max_iter=1, self_expression_penalty=1e-4, n_jobs=n_jobs)
    (message,) = warnings_of(selector, "self-expression", in_pipeline=in_pipeline)
    assert "did not reach a relative duality gap of 0.0001" in message
    assert 0 < int(message.split()[3]) <= 300


def test_lassos_of_many_dimensions_that_did_not_converge_are_counted(impatient, monkeypatch):
    monkeypatch.setattr(lassos, "_MOST_ROUNDS", 0)
    X = np.random.default_rng(0).standard_normal((40, 100))
    selector = FSASL(5, n_clusters=3, adaptive=False, max_iter=1)
    assert len(warnings_of(selector, "The self-expression of 40 of 40 samples", X)) == 1
