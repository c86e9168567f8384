"""Every selector by name, for tests of what all of them have in common."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import ufselect

METHODS = {name: getattr(ufselect, name) for name in ufselect.__all__}
LEARNED = (
    "scores_",
    "ranking_",
    "coef_",
    "embedding_",
    "objective_history_",
    "alignment_curve_",
    "alignments_",
    "r2_curve_",
)
"""The arrays that a fit may learn: what has to agree if two fits are to be the same."""

of_every_selector = pytest.mark.parametrize("name", METHODS)
may_stop_early = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def has(name, parameter):
    return parameter in METHODS[name]().get_params()


def make(name, n_features=5, **params):
    """A selector with those of the parameters that it has; what is wrong shows after a few iterations."""
    given = {"max_iter": 15, **params}
    return METHODS[name](n_features, **{key: value for key, value in given.items() if has(name, key)})


def assert_identical(selector, expected):
    for attribute in LEARNED:
        assert hasattr(selector, attribute) == hasattr(expected, attribute)
        if hasattr(expected, attribute):
            assert_array_equal(getattr(selector, attribute), getattr(expected, attribute), err_msg=attribute)


def assert_well_formed(selector, shape):
    """The ranking is one, and all that a fit leaves is finite and fits X."""
    n, d = shape
    assert_array_equal(np.sort(selector.ranking_), np.arange(1, d + 1))
    assert selector.get_support().sum() == selector.n_features_
    assert selector.scores_.shape == (d,)
    for attribute in LEARNED:
        assert np.all(np.isfinite(getattr(selector, attribute, 0.0))), attribute
    assert getattr(selector, "embedding_", np.empty(n)).shape[0] == n
    assert getattr(selector, "coef_", np.empty(d)).shape[0] == d
    graph = getattr(selector, "neighbor_graph_", None)
    if graph is not None:
        assert np.all(graph.diagonal() == 0.0)
        np.testing.assert_allclose(graph.sum(axis=1), 1.0, rtol=0, atol=1e-9)
