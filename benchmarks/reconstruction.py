"""What three panels predict at samples that were held out, beside PySensors and ridge regression by scikit-learn."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import DATA_VARIABLE, number, say, table

from ufselect import KernelFSASL
from ufselect.inspection import PanelReconstruction, reconstruction_of
from ufselect.preprocessing import LogNormalize

PANELS = {"hsi_salinas_a": 16, "sc_pbmc3k": 50, "sensor_watch_tsfel": 20}
_FEWEST_CELLS = 20  # of a gene, among those that the panel is chosen and fitted on
_COVERAGE = 0.9
Predict = Callable[[Any], Any]


def predicted_by_panels(panels: dict[str, int]) -> str | None:
    """Return a table on R² at held-out samples, seconds and coverage for each panel; None without PySensors or data."""
    if importlib.util.find_spec("pysensors") is None or not all(map(_path, panels)):
        return None
    rows = []
    for name, count in panels.items():
        say(f"reconstruction: {name}")
        train, test = _halves(name)
        selector = KernelFSASL(count).fit(train)
        panel = selector.top_features()
        label = f"{name}, {train.shape[0]:,} + {test.shape[0]:,} × {train.shape[1]:,}, {count} columns"
        cross_validated = reconstruction_of(train, panel, n_substitutes=0).r2
        for tool, fit in _tools(panel).items():
            start = perf_counter()
            predict, columns = fit(train)
            seconds = perf_counter() - start
            r2 = _r2(predict, columns, test)
            rows.append([label, tool, *_mean_and_median(r2), *_covered(predict, panel, test), number(seconds)])
            label = ""
        rows.append(["", "`PanelReconstruction`, cross-validated", *_mean_and_median(cross_validated), "", "", ""])
    head = [
        "data",
        "by",
        "mean R²",
        "median R²",
        f"in {_COVERAGE * 100:.0f} % intervals",
        "5 % and 95 % quantile of columns",
    ]
    return table([*head, "seconds"], rows)


def _path(name: str) -> Path | None:
    folder = Path(os.environ.get(DATA_VARIABLE, "."))
    return next((path for path in (folder / f"{name}.npz", folder / "more" / f"{name}.npz") if path.exists()), None)


def _halves(name: str) -> tuple[Any, Any]:
    """Return a random half of the samples and the other one, counts log-normalised and without rare columns."""
    path = _path(name)
    assert path is not None
    with np.load(path) as stored:
        if "X" in stored:
            X = stored["X"].astype(np.float64)
        else:
            parts: Any = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
            X = LogNormalize().fit_transform(sp.csr_array(parts, shape=stored["shape"]))
    order = np.random.default_rng(0).permutation(X.shape[0])
    train, test = X[np.sort(order[::2])], X[np.sort(order[1::2])]
    if sp.issparse(X):
        common = np.flatnonzero(np.asarray((train > 0).sum(axis=0)).ravel() >= _FEWEST_CELLS)
        return train[:, common], test[:, common]
    varies = np.ptp(train, axis=0) > 0.0
    return train[:, varies], test[:, varies]


class _Scaled:
    """Predictions by a method that gets dense columns with mean 0 and variance 1."""

    def __init__(self, train: Any, predict: Callable[[Any], Any]) -> None:
        dense = _dense(train)
        self._mean, self._scale = dense.mean(axis=0), np.where(dense.std(axis=0) > 0.0, dense.std(axis=0), 1.0)
        self._predict = predict
        self.train = (dense - self._mean) / self._scale

    def of(self, X: Any, columns: Any) -> Any:
        values = (_dense(X[:, columns]) - self._mean[columns]) / self._scale[columns]
        return self._predict(values) * self._scale + self._mean


def _dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


def _tools(panel: Any) -> dict[str, Callable[[Any], tuple[Any, Any]]]:
    """Return what fits each method: it gives back its predictions and the columns that these need."""

    def ours(train: Any) -> tuple[Any, Any]:
        return PanelReconstruction(panel, coverage=_COVERAGE).fit(train), panel

    def ridge_cv(train: Any) -> tuple[Any, Any]:
        from sklearn.linear_model import RidgeCV

        scaled = _Scaled(train, lambda values: fitted.predict(values))
        alphas = np.linalg.norm(scaled.train[:, panel], 2) ** 2 * 10.0 ** np.arange(-9, 3)
        fitted = RidgeCV(alphas, alpha_per_target=True).fit(scaled.train[:, panel], scaled.train)
        return scaled, panel

    def ridge(train: Any) -> tuple[Any, Any]:
        from sklearn.linear_model import Ridge

        scaled = _Scaled(train, lambda values: fitted.predict(values))
        fitted = Ridge().fit(scaled.train[:, panel], scaled.train)
        return scaled, panel

    def pysensors(train: Any, count: int, own: bool = False, **how: Any) -> tuple[Any, Any]:
        from pysensors import SSPOR
        from pysensors.basis import SVD

        scaled = _Scaled(train, lambda values: model.predict(values, **how))
        count = min(count, min(train.shape) - 1)
        model = SSPOR(basis=SVD(n_basis_modes=count, random_state=0), n_sensors=len(panel))
        model.fit(scaled.train, quiet=True, seed=0)
        if not own:  # there is no way to give sensors, but predictions use those that are ranked first
            others = np.setdiff1d(model.ranked_sensors_, panel)
            model.ranked_sensors_ = np.concatenate([panel, others])
        return scaled, np.array(model.selected_sensors)

    m = len(panel)
    return {
        "`PanelReconstruction`": ours,
        "scikit-learn `RidgeCV`, a penalty for each column": ridge_cv,
        "scikit-learn `Ridge()`": ridge,
        f"PySensors, {m} modes": lambda train: pysensors(train, m),
        f"PySensors, {m} modes, least squares": lambda train: pysensors(train, m, method="unregularized"),
        f"PySensors, {m // 4} modes, least squares": lambda train: pysensors(train, m // 4, method="unregularized"),
        **{
            f"PySensors, all modes, noise {noise:g}": lambda train, noise=noise: pysensors(train, 10**9, noise=noise)
            for noise in (0.03, 0.1, 0.3, 1.0)
        },
        f"PySensors, {m} modes, its own columns": lambda train: pysensors(train, m, own=True),
    }


def _r2(predict: Any, columns: Any, test: Any) -> Any:
    """Return R² of the columns that are predicted and vary among the samples held out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySensors warns of its default noise
        predicted = predict.of(test, columns) if isinstance(predict, _Scaled) else predict.predict(test[:, columns])
    values = _dense(test)
    total = np.sum((values - values.mean(axis=0)) ** 2, axis=0)
    others = np.setdiff1d(np.flatnonzero(total > 0.0), columns)
    return 1.0 - np.sum((values - predicted)[:, others] ** 2, axis=0) / total[others]


def _mean_and_median(r2: Any) -> list[str]:
    return [f"{value:z.3f}" for value in (np.nanmean(r2), np.nanmedian(r2))]


def _covered(predict: Any, panel: Any, test: Any) -> list[str]:
    """Return the share of the values held out within their intervals, and its quantiles over columns."""
    if isinstance(predict, _Scaled):
        return ["", ""]
    lower, upper = predict.predict_interval(test[:, panel])
    values, others = _dense(test), np.setdiff1d(np.arange(test.shape[1]), panel)
    inside = ((lower <= values) & (values <= upper))[:, others].mean(axis=0)
    low, high = np.quantile(inside, [0.05, 0.95])
    return [f"{100 * inside.mean():.1f} %", f"{100 * low:.1f} to {100 * high:.1f} %"]


def many_columns(n: int, d: int, m: int) -> str:
    """Return a table on the seconds for many columns, dense and sparse, of all that is computed for a panel."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((n, 10)) @ rng.standard_normal((10, d))
    tables = {
        "dense": factors + rng.standard_normal((n, d)),
        "sparse, 5 %": sp.random_array((n, d), density=0.05, format="csr", rng=0),
    }
    panel, labels, rows = rng.choice(d, m, replace=False), rng.integers(8, size=n), []
    for kind, X in tables.items():
        say(f"reconstruction: {kind}, {n:,} × {d:,}")
        seconds = []
        for run in (
            lambda X: PanelReconstruction(panel).fit(X),
            lambda X: reconstruction_of(X, panel, n_substitutes=0),
            lambda X: reconstruction_of(X, panel, labels=labels),
        ):
            start = perf_counter()
            run(X)
            seconds.append(perf_counter() - start)
        rows.append([f"{kind}, {n:,} × {d:,}, {m} columns", *map(number, seconds)])
    return table(["seconds", "`PanelReconstruction.fit`", "R²", "R², substitutes, groups"], rows)
