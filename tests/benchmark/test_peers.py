"""Selectors of other packages in the folder of experiments; those that the tests install, and what happens without."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from ufselect.benchmark.fits import selector_named
from ufselect.preprocessing import LogNormalize

PACKAGES = {"Triku": "triku", "Hotspot": "hotspot", "FastCan": "fastcan"}


@pytest.fixture
def peer(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    return lambda name: selector_named(f"experiments.peers:{name}")


@pytest.fixture(scope="module")
def counts():
    """Counts of 120 columns with one mean; the first ten differ between three classes, the last is constant."""
    rng = np.random.default_rng(0)
    classes = np.arange(150) % 3
    rates = np.full((3, 120), 3.0)
    rates[:, :10] *= rng.permuted(np.tile([[0.1], [0.4], [2.5]], 10), axis=0)
    X = rng.poisson(rates[classes]) + 0.0
    X[:, -1] = 0.0
    return sp.csr_array(X)


@pytest.mark.parametrize(
    ("flavor", "prepare"),
    [("seurat", LogNormalize().fit_transform), ("pearson_residuals", lambda X: X), ("seurat_v3", lambda X: X)],
)
def test_highly_variable_genes_are_found_and_constant_columns_come_last(peer, counts, flavor, prepare):
    if flavor == "seurat_v3" and find_spec("skmisc") is None:
        pytest.skip("scikit-misc is not installed")
    scores = peer("HighlyVariableGenes")(flavor=flavor).fit(prepare(counts)).scores_
    assert set(np.argsort(-scores, kind="stable")[:8]) <= set(range(10))
    assert np.flatnonzero(scores == -np.inf).tolist() == [119]


@pytest.mark.parametrize("name", PACKAGES)
def test_the_others_score_columns_or_name_the_missing_package(peer, counts, name):
    selector = peer(name)(**({"n_components": 2, "n_features_to_select": 20} if name == "FastCan" else {}))
    X = counts if name == "Hotspot" else LogNormalize().fit_transform(counts)
    if find_spec(PACKAGES[name]) is None:
        with pytest.raises(ImportError, match=PACKAGES[name]):
            selector.fit(X)
    else:
        scores = selector.fit(X).scores_
        ranking = np.argsort(np.argsort(-scores, kind="stable"))
        if name != "Triku":  # its distances tell genes with many zeros apart, which these counts do not have
            assert np.mean(ranking[:10]) < np.mean(ranking[10:]) - 20
        assert np.isfinite(scores).any()
        assert scores[119] == -np.inf


def test_errors_of_other_packages_fail_the_fit_only(peer, counts, monkeypatch):
    with pytest.raises(ValueError, match="flavor"):
        peer("HighlyVariableGenes")(flavor="unheard of").fit(counts)
    monkeypatch.delenv("UFSELECT_DELVE_PYTHON", raising=False)
    with pytest.raises(ImportError, match=r"UFSELECT_DELVE_PYTHON is not set; see benchmarks/delve_scores\.py"):
        peer("Delve")().fit(counts)
