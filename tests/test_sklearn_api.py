import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from every_selector import assert_identical, make, may_stop_early, of_every_selector
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import ufselect
from ufselect import KernelFSASL
from ufselect.datasets.planted import make_planted_clusters

# What runs here, other tests measure; measuring takes as long as a fit itself.
pytestmark = pytest.mark.no_cover

PLANTED = make_planted_clusters(60, 3, 10, 5, random_state=0)
NAMES = [f"column {j}" for j in range(15)]

# A few of their many iterations show whether rules are kept.
FEW_ITERATIONS = {name: {"max_iter": 5} for name in ("CGSSL", "JELSR", "LLCFS", "NDFS", "RUFS")}
# Modes that take another route through a fit; whatever they share with others is checked there.
ESTIMATORS = [
    *(getattr(ufselect, name)(**FEW_ITERATIONS.get(name, {})) for name in ufselect.__all__),
    ufselect.SPEC(affinity="kernel"),
    ufselect.EVSC(affinity="neighbors"),
    ufselect.SPFS(solver="nes"),
    ufselect.SPFS(solver="lar"),
    ufselect.FSSL(scale=None, center=False),
    ufselect.GLSPFS(local_model="lle"),
    ufselect.JELSR(local_model="lpp", max_iter=5),
    ufselect.LLCFS(neighborhood="mutual", max_iter=3),
    ufselect.FSASL(w_solver="eigen", center=True),
    ufselect.FSASL(structure="local", spread="row", max_iter=3),
    KernelFSASL(1),
]
FRAMES = {
    "pandas": lambda: pd.DataFrame(PLANTED.X, columns=NAMES),
    "polars": lambda: pl.DataFrame(PLANTED.X, schema=NAMES),
}


def fitted_copy(estimator):
    known = {"n_features_to_select": 4, "n_clusters": 3}
    params = {name: value for name, value in known.items() if name in estimator.get_params()}
    return clone(estimator).set_params(**params).fit(PLANTED.X)


@may_stop_early
@parametrize_with_checks(ESTIMATORS)
def test_the_rules_of_scikit_learn_are_kept(estimator, check):
    assert check(estimator) is None


def test_clusters_are_found_behind_the_selector_in_a_pipeline():
    pipeline = make_pipeline(KernelFSASL(5), KMeans(3, n_init=5, random_state=0))
    found = pipeline.fit_predict(PLANTED.X)
    assert adjusted_rand_score(PLANTED.clusters, found) == 1.0
    assert_array_equal(pipeline.predict(PLANTED.X), found)
    assert pipeline.set_params(kernelfsasl__n_features_to_select=2).fit(PLANTED.X)[0].n_features_ == 2


@may_stop_early
@of_every_selector
def test_every_selector_keeps_the_names_of_a_frame(name):
    selector = make(name, 4, n_clusters=3).fit(PLANTED.X)
    named = clone(selector).fit(FRAMES["pandas"]())
    assert_array_equal(named.top_features(), np.array(NAMES)[selector.top_features()])
    assert_array_equal(named.get_feature_names_out(), np.array(NAMES)[named.get_support()])
    assert named.get_support().sum() == named.n_features_ == 4
    assert_array_equal(selector.get_feature_names_out(), [f"x{j}" for j in np.flatnonzero(selector.get_support())])
    assert_array_equal(selector.top_features(), np.argsort(selector.ranking_)[:4])


@pytest.mark.parametrize("library", FRAMES)
def test_names_of_a_frame_are_kept(library):
    selector = KernelFSASL(5).fit(FRAMES[library]())
    assert_array_equal(selector.feature_names_in_, NAMES)
    assert_array_equal(selector.get_feature_names_out(), np.array(NAMES)[selector.get_support()])
    best = np.argsort(selector.ranking_)
    assert_array_equal(selector.top_features(), np.array(NAMES)[best[:5]])
    assert_array_equal(selector.top_features(15), np.array(NAMES)[best])
    assert_allclose(selector.scores_, KernelFSASL(5).fit(PLANTED.X).scores_, rtol=1e-9)


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_with_other_names_is_refused(library):
    frame = FRAMES[library]()
    selector = KernelFSASL(5).fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(frame.rename({"column 0": "other"}) if library == "polars" else frame.add_prefix("other "))


@pytest.mark.parametrize(("library", "output"), [("pandas", "polars"), ("polars", "pandas")])
def test_output_comes_as_the_frame_that_was_asked_for(library, output):
    selector = KernelFSASL(5).set_output(transform=output)
    frame = FRAMES[library]()
    selected = selector.fit_transform(frame)
    assert isinstance(selected, pd.DataFrame if output == "pandas" else pl.DataFrame)
    assert list(selected.columns) == list(selector.get_feature_names_out())
    assert_array_equal(selected.to_numpy(), PLANTED.X[:, selector.get_support()])


@may_stop_early
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_pickling_keeps_all_that_was_learned(estimator):
    selector = fitted_copy(estimator)
    restored = pickle.loads(pickle.dumps(selector))
    assert restored.get_params() == selector.get_params()
    assert vars(restored).keys() == vars(selector).keys()
    assert_identical(restored, selector)
    assert_array_equal(restored.transform(PLANTED.X), selector.transform(PLANTED.X))
