"""Settings of a grid: every lasso and every regression meets its certificate."""

import numpy as np
import pytest

import ufselect.selectors.fsasl as module
from ufselect import FSASL
from ufselect.columns.dense import Columns
from ufselect.datasets.planted import make_planted_clusters
from ufselect.solvers import feature_weights

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

GRID = [
    {"self_expression_penalty": a, "local_weight": b, "row_penalty": g}
    for a in (0.01, 0.1)
    for b in (1e-3, 1.0, 1e3)
    for g in (0.03, 0.3)
]


def test_lassos_and_regressions_of_a_grid_meet_their_certificates(monkeypatch, self_expression_gaps):
    data = make_planted_clusters(120, 4, 20, 20, random_state=0).X
    express, regress = module.sparse_self_expression, feature_weights.l21_regression
    checked = []

    def expressed(Z, *arguments, **options):
        found = express(Z, *arguments, **options)
        values, gaps = self_expression_gaps(Z, found.S, found.penalties)
        checked.append(np.all(gaps <= 1e-4 * values + 1e-14 * np.sum(Z**2, axis=1)))
        return found

    def regressed(X, Y, penalty, **options):
        found = regress(X, Y, penalty, **options)
        assert isinstance(X, Columns)
        slope, lengths = X.transposed_matmul(Y - X @ found.coef), np.linalg.norm(found.coef, axis=1)
        unit = found.coef / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        off = np.linalg.norm(slope - penalty / 2.0 * unit, axis=1) - penalty / 2.0 * (lengths == 0.0)
        checked.append(off.max() <= 1e-4 * penalty / 2.0 * (1.0 + 1e-6))
        return found

    monkeypatch.setattr(module, "sparse_self_expression", expressed)
    monkeypatch.setattr(feature_weights, "l21_regression", regressed)
    for setting in GRID:
        FSASL.published(n_clusters=4, spread="row", max_iter=3, tol=0.0, **setting).fit(data)
    assert len(checked) > 2 * len(GRID)
    assert all(checked)
