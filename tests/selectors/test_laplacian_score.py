import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import DATA, on_every_data_set, relative_width, samples
from sklearn.preprocessing import StandardScaler

from ufselect import SPEC, LaplacianScore
from ufselect.columns.dense import Columns
from ufselect.graphs.laplacian import neighbor_scatters
from ufselect.graphs.neighbors import nearest_others, neighbor_graph


def on_raw_columns(X, t=None, **params):
    """The score on the columns as they are, with t the width itself."""
    width = 1.0 if t is None else relative_width(X, t)
    return LaplacianScore(5, scale=None, center=False, width=width, **params).fit(X)


# The authors' program


@pytest.mark.parametrize("name", [*DATA, "digits200"])
def test_scores_are_those_of_the_authors(reference, name):
    X, stored = samples(reference, name), reference(f"lapscore_{name}")
    informative = np.ptp(X, axis=0) > 0.0
    for t, scores in (("t", "scores_1_minus_ls"), ("t2", "scores_1_minus_ls_t2")):
        ours = on_raw_columns(X, stored[t]).laplacian_scores_
        assert_allclose(1.0 - ours[informative], stored[scores][informative], rtol=0, atol=1e-9)
    selector = on_raw_columns(X, stored["t"])
    assert_allclose(selector.laplacian_scores_[informative], stored["exact_ls"][informative], rtol=0, atol=1e-9)
    if informative.all():
        assert_array_equal(np.argsort(selector.ranking_), stored["ranking"])


# Identities


@on_every_data_set
@pytest.mark.parametrize(("scale", "weights"), [("standard", "heat"), (None, "binary"), ("standard", "cosine")])
def test_the_score_is_the_second_criterion_of_spec(reference, name, scale, weights):
    X = samples(reference, name)
    ours = LaplacianScore(5, scale=scale, weights=weights).fit(X)
    other = SPEC(5, criterion="phi2", n_clusters=3, scale=scale, weights=weights).fit(X)
    assert_allclose(ours.scores_, other.scores_, rtol=0, atol=1e-12)
    assert_array_equal(ours.ranking_, other.ranking_)


# Invariances


@on_every_data_set
def test_only_the_graph_depends_on_the_scaling(reference, name):
    X = samples(reference, name)
    standardised = StandardScaler().fit_transform(X)
    one, other = LaplacianScore(5).fit(X), on_raw_columns(standardised)
    assert_allclose(one.scores_, other.scores_, rtol=0, atol=1e-11)
    A = neighbor_graph(Columns(standardised), nearest_others(standardised, 5))
    between, within = neighbor_scatters(Columns(X), A)
    assert_allclose(one.laplacian_scores_, within / between, rtol=0, atol=1e-11)
