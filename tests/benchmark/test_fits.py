"""Pieces of work: identified by their content, run once, failures recorded."""

import importlib
import json
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from ufselect import MCFS, MaxVariance
from ufselect.benchmark.data import current_version
from ufselect.benchmark.experiment import identity
from ufselect.benchmark.fits import (
    Evaluation,
    code_digest,
    evaluation_of,
    fit_of,
    measured,
    module_folder,
    selector_named,
)
from ufselect.benchmark.rankings import EqualStartUDFS, PublishedLaplacianScore, RandomRanking, ReweightedFSASL
from ufselect.columns.dense import Columns
from ufselect.datasets import load_dataset
from ufselect.datasets.planted import make_planted_clusters
from ufselect.inspection.adapter import best_features
from ufselect.metrics import clustering_agreement, nearest_neighbor_accuracy, neighborhood_preservation, redundancy
from ufselect.solvers.l21 import l21_regression
from ufselect.solvers.penalties import smallest_penalty_for_zero

ALL_MEASURES = ("acc", "nmi", "nmi_arithmetic", "nmi_max", "redundancy", "preservation", "nearest_neighbor")


def fit(selector, data="iris", n_features=2, **parameters):
    return fit_of(current_version(data), selector, identity(parameters), n_features)


# Keys


def test_fits_are_the_same_whatever_the_order_of_their_parameters_and_no_others():
    one = fit("MCFS", n_clusters=3, n_neighbors=5)
    assert one.key == fit("MCFS", n_neighbors=5, n_clusters=3).key
    assert len(one.key) == 64
    fits = [
        fit("MCFS", n_clusters=3),
        fit("MCFS", n_clusters=4),
        fit("MCFS", n_clusters="classes"),
        fit("MCFS"),
        fit("SPEC"),
        fit("MCFS", data="wine"),
        fit("MCFS", n_features=3),
    ]
    assert len({each.key for each in fits}) == len(fits)


def evaluation(data, features, measures, n_runs):
    return Evaluation(current_version(data), features, measures, n_runs)


def test_evaluations_are_the_same_whatever_the_order_of_the_features():
    wine = current_version("wine")
    one = evaluation_of(wine, [7, 2, 5, 1], 3, ("acc",), 20)
    assert one == evaluation_of(wine, np.array([5, 7, 2, 0]), 3, ("acc",), 20)
    assert one.key == evaluation("wine", (2, 5, 7), ("acc",), 20).key


# Code


OWN = "class Own:\n    def fit(self, X):\n        self.scores_ = range(X.shape[1]){step}\n        return self\n"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write the module of a method of the user's, as a new process would find it; return the name of the method."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text, file="own_method.py", **step):
        (tmp_path / file).write_text(text.format(**step), encoding="utf-8")
        importlib.invalidate_caches()
        code_digest.cache_clear()
        return "own_method:Own"

    yield write
    sys.modules.pop("own_method", None)
    code_digest.cache_clear()


def test_other_code_does_the_work_again(own, monkeypatch, tmp_path):
    selector = own(OWN, step="")
    first = fit(selector)
    assert fit(selector).key == first.key
    assert module_folder(selector) == first.folder == str(tmp_path)
    assert replace(first, folder="").key == first.key
    own(OWN, step="[::-1]")
    edited = fit(selector)
    own("FACTOR = 2\n", "helper.py")  # any file beside it may be imported by it
    keys = {first.key, edited.key, fit(selector).key}
    assert len(keys) == 3
    ours, evaluated = fit("MCFS"), evaluation("wine", (2, 5), ("acc",), 20)
    assert len({ours.code, evaluated.code, fit("MaxVariance").code}) == 1  # that of all of ufselect
    monkeypatch.setattr("ufselect.benchmark.fits._files_of_ufselect", lambda: [tmp_path / "helper.py"])
    code_digest.cache_clear()
    assert fit("MCFS").key != ours.key
    assert evaluation("wine", (2, 5), ("acc",), 20).key != evaluated.key
    assert fit(selector).key not in keys


def test_work_refuses_code_that_is_not_the_planned_one(own):
    piece = fit(own(OWN, step=""))
    assert piece.run()["order"] == [3, 2]
    own(OWN, step="[::-1]")
    with pytest.raises(ValueError, match="the code of own_method:Own changed during the run"):
        piece.run()
    with pytest.raises(ValueError, match="ufselect changed during the run"):
        replace(evaluation("wine", (2, 5), ("acc",), 20), code="other").run()


def test_code_of_packages_is_that_of_all_their_files_and_of_installed_modules_their_own():
    assert code_digest("sklearn.decomposition:PCA") == code_digest("sklearn.cluster:KMeans") != code_digest()
    assert code_digest("difflib:Any") not in ("", code_digest(), code_digest("textwrap:Any"))
    assert code_digest("only_the_workers_have_it:Any") == "" == module_folder("only_the_workers_have_it:Any")


# Selectors by name


def test_selectors_are_found_by_name():
    assert selector_named("MCFS") is selector_named("ufselect.selectors.mcfs:MCFS") is MCFS
    assert selector_named("RandomRanking") is RandomRanking
    assert selector_named("logged_selectors:Keen.anyhow")(n_clusters=5).n_clusters == 5


@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("MCFSS", "ufselect or ufselect.benchmark.rankings"),
        ("FSASL.published", "ufselect or ufselect.benchmark.rankings"),
        ("logged_selectors:Nobody", "logged_selectors"),
        ("no.such.module:MCFS", "no.such.module"),
    ],
)
def test_a_selector_that_does_not_exist_is_named_with_the_modules_searched(name, modules):
    with pytest.raises(ValueError, match="there is no selector") as caught:
        selector_named(name)
    assert repr(name) in str(caught.value)
    assert modules in str(caught.value)


@pytest.mark.parametrize(
    "name", ["subprocess:Popen", "os:system", "subprocess:Popen.wait", "json:loads", "sys:path", "ufselect:FSASL.fit"]
)
def test_what_has_no_fit_is_refused_before_it_is_called(name):
    with pytest.raises(ValueError, match=f"^the selector '{name}' is not a class with a method fit"):
        selector_named(name)


# Fits


def test_a_fit_gives_the_selectors_ranking_and_what_it_took():
    outcome = fit("MaxVariance", data="wine", n_features=5).run()
    selector = MaxVariance(5).fit(load_dataset("wine").X)
    assert outcome["order"] == best_features(selector, 5).tolist()
    assert outcome["seconds"] > 0.0
    assert outcome["peak_bytes"] is None or outcome["peak_bytes"] >= 0
    assert json.loads(json.dumps(outcome)) == outcome


@pytest.mark.parametrize("name", ["Keen", "Keen.anyhow"])
def test_selectors_are_told_the_number_of_classes_and_how_many_features_count(name):
    outcome = fit(f"logged_selectors:{name}", data="digits", n_features=7, n_clusters="classes").run()
    assert (outcome["n_clusters"], outcome["n_iter"], outcome["objective"]) == (10, 7, [3.0, 2.0, 1.0])
    assert outcome["order"] == list(range(7))


def test_convergence_warnings_are_counted_and_others_are_issued():
    assert fit("logged_selectors:Unsettled").run()["warnings"] == 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = fit("logged_selectors:Unsettled", times=3, other=True).run()
    assert outcome["warnings"] == 3
    assert [str(each.message) for each in caught] == ["something else"]


@pytest.mark.parametrize(
    ("piece", "error"),
    [
        (fit("logged_selectors:Dividing"), "ZeroDivisionError: integer division"),
        (fit("MCFS", n_neighbors=-1), "InvalidParameterError: The 'n_neighbors' parameter of MCFS"),
    ],
)
def test_a_fit_that_fails_says_so_and_nothing_else(piece, error):
    outcome = piece.run()
    assert list(outcome) == ["error"]
    assert outcome["error"].startswith(error)


def test_an_unknown_parameter_is_a_mistake_in_the_experiment():
    with pytest.raises(ValueError, match=r"MaxVariance.*'colour'"):
        fit("MaxVariance", colour=3).run()


# Judgements


def test_an_evaluation_has_every_measure_that_was_asked_for():
    wine = load_dataset("wine")
    selected = wine.X[:, [0, 6, 9]]
    found = evaluation("wine", (0, 6, 9), ALL_MEASURES, 3).run()
    assert list(found) == list(ALL_MEASURES)
    assert {name: found[name] for name in ALL_MEASURES[:4]} == clustering_agreement(selected, wine.y, 3)
    assert found["redundancy"] == redundancy(selected)
    assert found["preservation"] == neighborhood_preservation(wine.X, selected)
    assert found["nearest_neighbor"] == nearest_neighbor_accuracy(selected, wine.y)
    assert json.loads(json.dumps(found)) == found


# Rankings to compare with


@pytest.mark.parametrize("name", ["syn", "wide", "digits200", "digits200nc"])
def test_the_published_laplacian_score_is_that_of_the_authors_plus_one(reference, name):
    stored, samples = reference(f"lapscore_{name}"), reference(f"data_{name.removesuffix('nc')}")
    X = samples["X"].astype(np.float64)
    if name.endswith("nc"):
        X = X[:, samples["nonconstant"]]
    ours = PublishedLaplacianScore(exponent=0.0).fit(X).scores_
    assert_allclose(ours, 1.0 + stored["scores_1_minus_ls_t2"], rtol=0, atol=1e-9)
    constant = np.ptp(X, axis=0) == 0.0
    assert_array_equal(ours[constant], 1.0)


# What it costs


def test_time_is_what_the_processor_spends():
    _, asleep = measured(lambda: time.sleep(0.2))
    _, awake = measured(lambda: sum(range(10**6)))
    assert 0.0 < asleep["seconds"] < 0.1
    assert awake["seconds"] > 0.0


def test_memory_that_a_fit_takes_for_a_while_is_seen():
    piece = fit("logged_selectors:Hungry", megabytes=0)
    if piece.run()["peak_bytes"] is None:
        pytest.skip("this system does not tell peak memory")
    for megabytes in (60, 0, 120):
        peak = fit("logged_selectors:Hungry", megabytes=megabytes).run()["peak_bytes"]
        assert megabytes * 1e6 <= peak + 1e6
        assert peak <= megabytes * 1e6 + 10e6


# FSASL as the authors' program goes about it


@pytest.mark.parametrize("penalty", [1e-5, 1e-2, 1.0])
def test_ten_reweighted_steps_rank_all_features_by_their_weight(penalty):
    X = load_iris().data[::3] * [1.0, 10.0, 100.0, 1000.0]
    selector = ReweightedFSASL(n_features_to_select=2, n_clusters=3, row_penalty=penalty, tol=1.0).fit(X)
    weights = np.linalg.norm(selector.coef_, axis=1)
    assert np.all(weights > 0.0)
    assert_array_equal(np.argsort(selector.ranking_), np.argsort(-weights))


def test_reweighted_steps_come_near_the_solution():
    rng = np.random.default_rng(0)
    X, Y = Columns(rng.standard_normal((60, 8))), np.linalg.qr(rng.standard_normal((60, 3)))[0]
    penalty = 0.3 * smallest_penalty_for_zero(X, Y)

    class OfTarget(ReweightedFSASL):
        def _eigenvectors(self, L, dimension, near=None):
            return Y

    W = OfTarget(row_penalty=penalty)._fit_weights(X, None, None, 3).W

    def objective(W):
        return np.sum((Y - X @ W) ** 2) + penalty * np.linalg.norm(W, axis=1).sum()

    best = objective(l21_regression(X, Y, penalty).coef)
    assert best <= objective(W) <= 1.01 * best


# UDFS as the program behind the published tables goes about it


@pytest.mark.parametrize("penalty", [1e-3, 1.0, 1e3])
def test_the_seed_decides_what_an_equal_start_selects_from_more_features_than_samples(penalty):
    wide = make_planted_clusters(20, 3, 5, 35, random_state=0).X
    options = {"n_clusters": 3, "n_neighbors": 5, "scale": None, "center": False, "row_penalty": penalty}
    first, again, other = (EqualStartUDFS(10, random_state=seed, **options).fit(wide) for seed in (0, 0, 1))
    assert_array_equal(first.ranking_, again.ranking_)
    assert len(set(first.top_features(10)) & set(other.top_features(10))) < 8
