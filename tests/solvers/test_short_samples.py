import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from ufselect.columns.dense import Columns
from ufselect.solvers.short_samples import in_few_coordinates


def values(n=20, d=200):
    return np.random.default_rng(0).random((n, d))


def test_distances_stay_and_coordinates_become_few():
    X = values()
    short = in_few_coordinates(Columns(X))
    assert short.shape == (20, 20)
    assert short.values.flags.c_contiguous
    assert_allclose(pdist(short.values), pdist(X), rtol=1e-12)
    assert_allclose(short.mean_squared_distance(), Columns(X).mean_squared_distance(), rtol=1e-12)


@pytest.mark.parametrize(
    "X",
    [
        values(20, 30),
        values()[np.repeat(np.arange(10), 2)],
        np.outer(np.arange(1.0, 21.0), values(1)[0]),
        values().astype(np.float32),
        sp.csc_array(values()),
    ],
    ids=["few columns", "copies of samples", "multiples of one sample", "single precision", "sparse"],
)
def test_samples_stay_as_they_are_if_short_ones_would_save_nothing_or_cost_digits(X):
    X = Columns(X)
    assert in_few_coordinates(X) is X
