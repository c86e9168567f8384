"""What a panel is worth: how well it predicts, with which uncertainty, its substitutes, and what it confuses."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import parametrize_with_checks

from ufselect._utils.seeds import some_samples
from ufselect.columns import dense
from ufselect.inspection import PanelReconstruction, reconstruction, reconstruction_of
from ufselect.inspection.reconstruction import RidgeRegressions, StandardizedColumns

seeds = st.integers(0, 2**32 - 1)


def related_columns(seed=0, n=60, d=9, n_factors=3):
    """Columns of different units around a few factors, and a constant one, which is the last."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_factors)) @ rng.standard_normal((n_factors, d)) + 0.5 * rng.standard_normal((n, d))
    X = X * np.geomspace(0.01, 100.0, d) + 10.0 * rng.standard_normal(d)
    X[:, -1] = 7.0
    return X


def scaled(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 1e-9, deviation, np.inf)


def ridge_in_scaled_units(X, panel, alpha):
    return Ridge(alpha).fit(scaled(X)[:, panel], scaled(X))


# How well


@given(seeds, st.sampled_from([8, 30, 60]), st.sampled_from([1e-3, 1.0, 50.0]))
def test_r2_is_that_of_predictions_without_the_sample(seed, n, alpha):
    X, panel = related_columns(seed, n, d=14), [4, 0, 7, 1, 2, 3, 5, 6, 8, 9][: 3 if n > 8 else 10]
    Z = scaled(X)
    predicted = cross_val_predict(Ridge(alpha), Z[:, panel], Z, cv=LeaveOneOut())
    expected = r2_score(Z, predicted, multioutput="raw_values")
    expected[[*panel, -1]] = np.nan
    assert_allclose(PanelReconstruction(panel, alpha=alpha).fit(X).r2_, expected, rtol=1e-9, atol=1e-9)


def common_alpha(X, panel):
    ridge = RidgeRegressions(StandardizedColumns(X).columns, np.array(panel))
    return ridge.alphas[ridge.common]


@pytest.mark.parametrize(("n", "m"), [(50, 4), (50, 1), (7, 9)])
def test_r2_within_a_panel_is_that_of_each_column_by_the_others(n, m):
    X, panel = related_columns(n=n, d=15), [14, 2, 0, 5, 7, 1, 3, 4, 6, 8][: m + 1]
    found, Z = reconstruction_of(X, panel), scaled(X)
    alpha = common_alpha(X, panel[1:])
    for j, r2 in zip(panel[1:], found.r2_within[1:], strict=True):
        others = [i for i in panel if i != j]
        errors = Z[:, j] - cross_val_predict(Ridge(alpha), Z[:, others], Z[:, j], cv=LeaveOneOut())
        assert r2 == pytest.approx(1.0 - np.mean(errors**2), rel=1e-6)
    assert np.isnan(found.r2_within[0])  # constant


@pytest.mark.parametrize("n", [40, 6])
def test_penalties_have_the_smallest_generalised_cross_validation_error(n):
    X, panel = related_columns(n=n), [0, 1, 2, 3, 4, 5]
    Z, fit = scaled(X), PanelReconstruction(panel).fit(X)
    P = Z[:, panel]
    alphas = np.linalg.norm(P, 2) ** 2 * 10.0 ** np.arange(-9, 3)
    hats = [P @ np.linalg.solve(P.T @ P + alpha * np.eye(6), P.T) + 1.0 / n for alpha in alphas]
    errors = [np.sum((Z - hat @ Z) ** 2, axis=0) / np.trace(np.eye(n) - hat) ** 2 for hat in hats]
    for j in (6, 7):
        assert_allclose(fit.alpha_[j], alphas[np.argmin([each[j] for each in errors])])
    assert np.isnan(fit.alpha_[-1])


def test_noise_is_not_predicted_and_copies_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 200))
    X[:, 20:25] = 3.0 * X[:, :5] - 1.0
    found = reconstruction_of(X, range(20), n_substitutes=0)
    assert_allclose(found.r2[20:25], 1.0, atol=1e-12)
    noise = found.r2[25:]
    assert abs(noise.mean()) < 0.01
    assert found.substitutes == ()
    others = found.r2[20:]
    assert (found.mean_r2, found.median_r2) == pytest.approx((others.mean(), np.median(others)))
    assert found.lost == pytest.approx((1.0 - others).sum() / 200)
    assert_array_equal(found.predicted, 20 + np.argsort(others, kind="stable"))


def test_r2_of_groups_is_that_of_their_samples():
    X, panel = related_columns(), [0, 1]
    labels = np.repeat(["b", "a", "c"], 20)
    found = reconstruction_of(X, panel, labels=labels)
    alpha = PanelReconstruction(panel).fit(X).alpha_
    for j in (4, 5):
        z = scaled(X)[:, j]
        errors = z - cross_val_predict(Ridge(alpha[j]), scaled(X)[:, panel], z, cv=LeaveOneOut())
        for group, r2 in zip(found.groups, found.r2_of_groups[:, j], strict=True):
            inside = labels == group
            assert r2 == pytest.approx(1.0 - np.sum(errors[inside] ** 2) / np.sum(z[inside] ** 2))
    assert np.isnan(found.r2_of_groups[:, [0, 1, -1]]).all()


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_matrix, lambda X: X.astype(np.float32)])
def test_sparse_and_single_precision_give_the_same(layout):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 30)) < 0.3, rng.poisson(3.0, (80, 30)), 0).astype(np.float64)
    X[:, 20:] += X[:, :10]
    labels = rng.integers(3, size=80)
    found, expected = (reconstruction_of(each, [0, 3, 25], labels=labels) for each in (layout(X), X))
    assert_allclose(found.r2, expected.r2, atol=1e-5)
    assert_allclose(found.r2_of_groups, expected.r2_of_groups, atol=1e-5)
    assert [each[0].column for each in found.substitutes] == [each[0].column for each in expected.substitutes]
    assert found.confused == expected.confused
    fits = [PanelReconstruction([0, 3, 25]).fit(each) for each in (layout(X), X)]
    assert_allclose(*(each.predict(X[:5]) for each in fits), rtol=1e-4, atol=1e-4)
    assert_allclose(fits[1].predict(sp.csr_array(X[:5, [0, 3, 25]])), fits[1].predict(X[:5]))


# Substitutes and confusion


def penalised_r2(X, panel, alpha):
    """The share of all squares that is not left by min ‖y − Pb‖² + α‖b‖²."""
    P = X[:, panel]
    M = np.eye(len(X)) - P @ np.linalg.solve(P.T @ P + alpha * np.eye(len(panel)), P.T)
    return 1.0 - np.einsum("ij,ij->", X, M @ X) / X.size


@pytest.mark.parametrize(("n", "m"), [(50, 4), (50, 1), (7, 9)])
def test_substitutes_are_those_that_lose_least_if_every_swap_is_tried(n, m):
    X = scaled(related_columns(n=n, d=15))[:, :-1]
    X[:, 13] = X[:, 2]
    panel = [2, 0, 5, 7, 1, 3, 4, 6, 8][:m]
    found = reconstruction_of(X, panel, n_substitutes=99)
    alpha = common_alpha(X, panel)
    others = [j for j in range(14) if j not in panel]
    for place, substitutes in enumerate(found.substitutes):
        swapped = {q: [*panel[:place], q, *panel[place + 1 :]] for q in others}
        losses = {q: penalised_r2(X, panel, alpha) - penalised_r2(X, each, alpha) for q, each in swapped.items()}
        assert_allclose([each.loss for each in substitutes], sorted(losses.values()), rtol=1e-6, atol=1e-9)
        assert_allclose([losses[each.column] for each in substitutes], [each.loss for each in substitutes], atol=1e-9)
    of_copy = next(each for each in found.substitutes[0] if each.column == 13)
    assert of_copy.loss == pytest.approx(0.0, abs=1e-9)


def test_substitutes_among_many_samples_are_those_of_some_and_do_not_depend_on_blocks(monkeypatch):
    X = related_columns()
    expected = reconstruction_of(X[some_samples(60, 30, 0)], [0, 5])
    monkeypatch.setattr(reconstruction, "_MOST_COMPARED", 30)
    monkeypatch.setattr(dense, "_WIDE_BLOCK", 2)
    found = reconstruction_of(X, [0, 5])
    for some, each in zip(found.substitutes, expected.substitutes, strict=True):
        assert [one.column for one in some] == [one.column for one in each]
        assert_allclose([one.loss for one in some], [one.loss for one in each])
    assert_allclose(found.r2, PanelReconstruction([0, 5]).fit(X).r2_)


@pytest.mark.parametrize("standardize", [True, False])
def test_confused_groups_are_those_of_the_nearest_means_without_the_sample(standardize):
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], [20, 15, 10])
    X = rng.standard_normal((45, 6)) * [1, 1, 3, 1, 1, 1]
    X[labels == "a", 0] += 3.0
    X[labels == "b", 1] += 2.0
    found = reconstruction_of(X, [0, 2], labels=labels, standardize=standardize)
    Z = scaled(X) if standardize else X
    assigned = cross_val_predict(NearestCentroid(), Z[:, [0, 2]], labels, cv=LeaveOneOut())
    of_all = cross_val_predict(NearestCentroid(), Z, labels, cv=LeaveOneOut())
    assert found.accuracy == np.mean(assigned == labels)
    assert found.accuracy_of_all == np.mean(of_all == labels)
    expected = {}
    for group in "abc":
        for other in set("abc") - {group}:
            inside = labels == group
            shares = tuple(float(np.mean(each[inside] == other)) for each in (assigned, of_all))
            expected |= {(group, other): shares} if shares[0] else {}
    assert {each[:2]: each[2:] for each in found.confused} == expected
    assert [each.share for each in found.confused] == sorted((each.share for each in found.confused), reverse=True)


# New samples


def test_predictions_are_those_of_ridge_regression():
    X, panel = related_columns(), [4, 0, 8]  # the last one is constant
    fit = PanelReconstruction(panel, alpha=0.7).fit(X[:40])
    ridge = ridge_in_scaled_units(X[:40], panel, 0.7)
    mean, deviation = X[:40].mean(axis=0), X[:40].std(axis=0)
    Z = (X[40:] - mean) / np.where(deviation > 1e-9, deviation, np.inf)
    expected = mean + ridge.predict(Z[:, panel]) * deviation
    expected[:, panel] = X[40:][:, panel]
    predicted, std = fit.predict(X[40:][:, panel], return_std=True)
    assert_allclose(predicted, expected)
    assert_array_equal(predicted, fit.predict(X[40:]))
    assert np.all(std[:, panel] == 0.0)
    assert np.all(std[:, [1, 2, 3, 5, 6, 7]] > 0.0)


@pytest.mark.parametrize("noise", ["normal", "heavy"])
def test_intervals_cover_as_many_new_values_as_they_say(noise):
    rng = np.random.default_rng(0)
    n_new, covered, n_columns = 200, 0, 40

    def draw(n):
        P = rng.standard_normal((n, 10))
        errors = rng.standard_normal((n, n_columns)) if noise == "normal" else rng.standard_t(2, (n, n_columns))
        return np.hstack([P, P @ rng_weights + errors])

    rng_weights = rng.standard_normal((10, n_columns))
    fit = PanelReconstruction(range(10), coverage=0.8).fit(draw(60))
    new = draw(n_new)
    lower, upper = fit.predict_interval(new)
    covered = np.count_nonzero((lower <= new) & (new <= upper), axis=0)[10:]
    # The coverage of a column, given its 60 samples, has a beta distribution about 0.8: the mean over columns is near.
    sure = binom(n_new * n_columns, 0.8)
    spread = 4.0 * np.sqrt(sure.var() + n_columns * n_new**2 * 0.8 * 0.2 / 62)
    assert abs(covered.sum() - sure.mean()) < spread


def test_intervals_grow_away_from_the_samples_and_are_infinite_if_these_are_too_few():
    X = related_columns()
    fit = PanelReconstruction([0, 1], alpha=1.0).fit(X)
    centre, far = X[:, :2].mean(axis=0), X[:, :2].mean(axis=0) + 20.0 * X[:, :2].std(axis=0)
    lower, upper = fit.predict_interval([centre, far])
    widths = (upper - lower)[:, 2:-1]
    assert np.all(widths[1] > 1.5 * widths[0])
    lower, upper = PanelReconstruction([0, 1], coverage=0.9).fit(X[:8]).predict_interval([centre])
    assert np.all(np.isinf(upper[0, 2:-1]))
    assert_array_equal(lower[0, [0, 1, -1]], [*centre, 7.0])
    assert np.all(np.isfinite(PanelReconstruction([0, 1], coverage=0.9).fit(X[:9]).margin_))


OF_ONE_TARGET = "it expects one prediction a sample, not one for every column"


@parametrize_with_checks(
    [PanelReconstruction([0, 1])],
    expected_failed_checks=lambda _: dict.fromkeys(
        ["check_estimator_sparse_array", "check_estimator_sparse_matrix"], OF_ONE_TARGET
    ),
)
def test_the_rules_of_scikit_learn_are_kept(estimator, check):
    check(estimator)


def test_columns_have_names_and_a_fit_is_pickled():
    X = related_columns()
    names = [f"c{j}" for j in range(9)]
    frame = pd.DataFrame(X, columns=names)
    fit = PanelReconstruction(["c4", "c0", "c4"]).fit(frame)
    assert_array_equal(fit.columns_, [4, 0])
    expected = PanelReconstruction([4, 0]).fit(X).predict(X[:3, [4, 0]])
    for measured in (frame[["c0", "c4"]], pl.DataFrame(frame)[["c7", "c0", "c4"]], frame):
        assert_array_equal(fit.predict(measured[:3]), expected)
    assert_array_equal(pickle.loads(pickle.dumps(fit)).predict(X[:3, [4, 0]]), expected)
    assert clone(fit).get_params() == {"columns": ["c4", "c0", "c4"], "alpha": "auto", "coverage": 0.9}
    with pytest.raises(ValueError, match=r"^X has no column 'c4', which the panel needs\.$"):
        fit.predict(frame[["c0", "c1"]])
    mask = np.isin(names, ["c0", "c4"])
    assert_array_equal(reconstruction_of(frame, mask).columns, [0, 4])


# Sentences


def swaps_in(found):
    (one, loss), (other, other_loss) = ((best[0].column, best[0].loss) for best in found.substitutes)
    if one != other:
        return [f"c{one} for c0 ({-loss:+.3f})", f"c{other} for c1 ({-other_loss:+.3f})"]
    return [f"c{one} for c0, c1 ({-max(loss, other_loss):+.3f} to {-min(loss, other_loss):+.3f})"]


@pytest.mark.parametrize("seed", [0, 3])
def test_a_panel_in_sentences(seed):
    X = related_columns(seed, d=6)
    labels = np.repeat([0, 1], 30)
    names = [f"c{j}" for j in range(6)]
    found = reconstruction_of(X, [0, 1], labels=labels)
    predicts, substitutes, confuses = found.sentences(names)
    worst = ", ".join(f"c{j} ({found.r2[j]:.2f})" for j in found.predicted)
    assert predicts == (
        f"The 2 columns predict the 3 others with a mean R² of {found.mean_r2:.2f} (median {found.median_r2:.2f}); "
        f"least predicted: {worst}."
    )
    assert substitutes == f"Substitutes, with the change in mean R²: {', '.join(swaps_in(found))}."
    assert confuses.startswith(f"The nearest group mean is that of the own group for {100 * found.accuracy:.0f} %")
    whole = reconstruction_of(X, range(5))
    assert whole.sentences(names) == ["There is no other column to predict."]
    assert np.isnan(whole.mean_r2)
    assert whole.lost == 0.0
    assert whole.substitutes == ((),) * 5


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ([], "columns is empty; give at least one column."),
        ("c0", "columns has indices or names of columns, got 'c0'."),
        (3, "columns has indices or names of columns, got 3."),
        ([99], "there is no column 99: X has 9 columns, counted from 0."),
        (["nothing"], "there is no column named 'nothing': the columns of X have no names."),
    ],
)
def test_panels_that_are_none(columns, error):
    with pytest.raises((ValueError, TypeError)) as raised:
        reconstruction_of(related_columns(), columns)
    assert str(raised.value) == error


def test_data_that_do_not_fit():
    X = related_columns()
    with pytest.raises(
        ValueError, match=r"^labels have the shape \(3,\), but there must be one for each of 60 samples\.$"
    ):
        reconstruction_of(X, [0], labels=[1, 2, 3])
    with pytest.raises(ValueError, match=r"^All columns of X are constant; there is nothing to predict\.$"):
        reconstruction_of(np.ones((5, 3)), [0])
    with pytest.raises(
        ValueError, match=r"X has 5 features, .* expecting 9 features as input, or the 2 of the panel\.$"
    ):
        PanelReconstruction([0, 1]).fit(X).predict(X[:, :5])
    with pytest.raises(ValueError, match="contains NaN"):
        reconstruction_of(np.where(X > 10.0, np.nan, X), [0])


def test_a_constant_panel_predicts_means():
    X = related_columns()
    found = reconstruction_of(X, [8], labels=np.repeat([0, 1], 30))
    assert_allclose(found.r2[:8], 1.0 - (60 / 59) ** 2)
    assert found.substitutes == ((),)
    assert found.accuracy == 0.5
    assert_allclose(PanelReconstruction([8]).fit(X).predict(X[:2, [8]]), np.tile(X.mean(axis=0), (2, 1)))


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_units_do_not_matter(unit):
    X = related_columns()
    found, expected = reconstruction_of(X * unit, [0, 4]), reconstruction_of(X, [0, 4])
    assert_allclose(found.r2, expected.r2, atol=1e-9)
    predicted = PanelReconstruction([0, 4]).fit(X * unit).predict(X[:, [0, 4]] * unit)
    assert_allclose(predicted / unit, PanelReconstruction([0, 4]).fit(X).predict(X), rtol=1e-8)
