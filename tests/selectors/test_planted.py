"""Whether the informative columns of planted data come out on top, for every selector."""

import numpy as np
import pytest

import ufselect
from ufselect.datasets.planted import make_planted_clusters

SHAPES = {"more samples": (200, 4, 20, 80), "more features": (100, 4, 30, 300)}
BY_CONSTRUCTION_BLIND = {"MaxVariance"}
LEAST_RECALL = {("KernelFSASL", "more features"): 0.65}  # it is not told the number of clusters; 0.8 for all others
# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def recall(selector, shape, seed):
    """The share of the informative columns among as many on top.

    Noise has the larger variance. Moderate scaling trusts columns that vary more, so here it takes unit variance.
    """
    planted = make_planted_clusters(*shape, noise_scale=10.0, random_state=seed)
    n_informative, n_clusters = shape[2], shape[1]
    known = {"n_features_to_select": n_informative, "n_clusters": n_clusters, "scale": "standard"}
    params = selector.get_params()
    selector.set_params(**{name: value for name, value in known.items() if name in params})
    return planted.informative[selector.fit(planted.X).top_features()].mean()


CASES = [
    (name, shape)
    for name in ufselect.__all__
    for shape in SHAPES
    # For the second see test_a_lasso_of_many_features_takes_one_of_several_that_say_the_same.
    if name not in BY_CONSTRUCTION_BLIND and (name, shape) != ("MCFS", "more features")
]


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_informative_columns_are_found(name, shape):
    selector = getattr(ufselect, name)()
    assert np.mean([recall(selector, SHAPES[shape], seed) for seed in range(3)]) >= LEAST_RECALL.get((name, shape), 0.8)


@pytest.mark.parametrize(
    "selector",
    [
        ufselect.SPEC(criterion="phi2"),
        ufselect.SPEC(affinity="kernel"),
        ufselect.SPFS(solver="nes"),
        ufselect.SPFS(solver="lar"),
        ufselect.GLSPFS(local_model="lle"),
        ufselect.GLSPFS(local_model="ltsa"),
        ufselect.JELSR(local_model="lpp"),
        ufselect.NDFS(update="published"),
    ],
    ids=str,
)
def test_informative_columns_are_found_by_other_variants(selector):
    assert np.mean([recall(selector, SHAPES["more samples"], seed) for seed in range(3)]) >= 0.8


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_variance_cannot_find_them_where_noise_varies_more(shape):
    assert recall(ufselect.MaxVariance(), shape, 0) == 0.0


def test_a_lasso_of_many_features_takes_one_of_several_that_say_the_same():
    shape = SHAPES["more features"]
    found = np.mean([recall(ufselect.MCFS(), shape, seed) for seed in range(4)])
    by_chance = shape[2] / (shape[2] + shape[3])
    assert 5 * by_chance < found < 0.95
    # With one coefficient for each eigenvector the others are ranked by what they have in common with the residuals.
    assert np.mean([recall(ufselect.MCFS(n_nonzero=1), shape, seed) for seed in range(4)]) >= 0.95
