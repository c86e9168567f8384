"""The plots of an experiment."""

from __future__ import annotations

import itertools
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ufselect.benchmark.experiment import Experiment, varied_values
from ufselect.benchmark.runner import Results
from ufselect.benchmark.tables import curves, figures, fits_by_length

_LABELS = {"acc": "accuracy (%)", "nmi": "normalised mutual information (%)"}
_GREY = "0.55"


def curves_over_counts(experiment: Experiment, results: Results, metric: str) -> Figure:
    """Plot the best setting of each method, by the labels, against the number of features; one panel per data set."""
    table = curves(figures(results))
    styles = _styles(experiment)
    shown = [data for data in experiment.data if data in table.index.get_level_values("data")]
    fig, axes = _panels(len(shown))
    lines: dict[str, Any] = {}
    for axis, data in zip(axes, shown, strict=True):
        for method in experiment.methods_for(data):
            if (data, metric, method.name) not in table.index:
                continue
            row = table.loc[data, metric, method.name].dropna()
            if method.features is not None:
                lines[method.name] = axis.axhline(row.iloc[0], **styles[method.name])
            else:
                (lines[method.name],) = axis.plot(row.index, row, markersize=3, **styles[method.name])
        axis.set(title=data, xlabel="selected features", ylabel=_LABELS[metric])
    fig.legend(lines.values(), lines.keys(), loc="outside right upper", fontsize="small")
    return fig


def _styles(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """Return a colour for each method, the same in all panels; baselines are grey with different dashes."""
    dashes = itertools.cycle([":", "--", "-."])
    colours = itertools.cycle(matplotlib.colormaps["tab20"]([*range(0, 20, 2), *range(1, 20, 2)]))
    return {
        method.name: {"color": _GREY, "linestyle": next(dashes)}
        if method.baseline
        else {"color": next(colours), "marker": "o"}
        for method in experiment.methods
    }


def sensitivity_maps(experiment: Experiment, results: Results, metric: str = "acc") -> Figure:
    """Plot the values of each parameter against the number of features: a row of panels per data set."""
    table = figures(results).query("metric == @metric")
    fig, axes = _panels(len(experiment.data) * len(experiment.methods), columns=len(experiment.methods))
    pairs = [(data, method) for data in experiment.data for method in experiment.methods]
    for axis, (data, method) in zip(axes, pairs, strict=True):
        part = table[(table.data == data) & (table.method == method.name)]
        axis.set_visible(not part.empty)
        if part.empty:
            continue
        order = part.setting.unique()
        values = part.pivot(index="setting", columns="count", values="value").loc[order] * 100.0
        limits = 100.0 * table[table.data == data].value
        image = axis.imshow(values, aspect="auto", origin="lower", vmin=limits.min(), vmax=limits.max())
        axis.set_yticks(range(len(values)), varied_values(values.index))
        axis.set_xticks(range(len(values.columns))[1::2], values.columns[1::2])
        axis.set(title=f"{data}: {method.name}", xlabel="selected features")
        fig.colorbar(image, ax=axis, label=_LABELS[metric])
    return fig


def objective_courses(experiment: Experiment, results: Results) -> Figure:
    """Plot the objective after each iteration, divided by the first: a panel per method, a line per data set."""
    fig, axes = _panels(len(experiment.methods))
    for axis, method in zip(axes, experiment.methods, strict=True):
        for (data, name), fits in fits_by_length(results).items():
            if name == method.name and fits[-1][1].get("objective"):
                course = np.asarray(fits[-1][1]["objective"], dtype=float)
                axis.plot(np.arange(1, len(course) + 1), course / course[0], marker=".", label=data)
        axis.set(title=method.name, xlabel="iteration", ylabel="objective / objective of iteration 1")
        if axis.lines:
            axis.legend(fontsize="small")
    return fig


def methods_beside_random(summary: pd.DataFrame, metric: str) -> Figure:
    """Plot each method's gain over random rankings: a dot per data set, the mean in black."""
    part = summary[summary.metric == metric]
    means = part.pivot(index="method", columns="data", values="mean")[part.data.unique()]
    gain = means.sub(means.loc["random"]).drop(index="random")
    gain = gain.loc[gain.mean(axis=1, skipna=False).sort_values().index]
    fig = Figure(figsize=(7.5, 0.27 * len(gain) + 1.6), layout="constrained")
    axis = fig.subplots()
    for data in gain.columns:
        axis.scatter(gain[data], gain.index, s=14, alpha=0.8, label=data)
    axis.scatter(gain.mean(axis=1, skipna=False), gain.index, marker="|", s=120, color="black", label="mean")
    axis.axvline(0.0, color=_GREY)
    axis.set(xlabel=f"{_LABELS[metric]}: points above random rankings")
    fig.legend(fontsize="small", loc="outside lower center", ncols=4)  # in the axes it would cover dots
    axis.margins(y=0.03)
    return fig


def ours_beside_published(summary: pd.DataFrame, metric: str) -> Figure:
    """Plot every method's mean and standard deviation, ours filled, the published hollow; one panel per data set."""
    part = summary[summary.metric == metric]
    fig, axes = _panels(part.data.nunique())
    for axis, (data, rows) in zip(axes, part.groupby("data", sort=False), strict=True):
        slots = np.arange(len(rows))
        axis.errorbar(slots - 0.12, rows["mean"], rows["std"].astype(float), fmt="o", label="ours")
        axis.errorbar(
            slots + 0.12, rows["published"], rows["published_std"].astype(float), fmt="o", mfc="white", label="paper"
        )
        axis.set_xticks(slots, rows["method"], rotation=60, ha="right")
        axis.set(title=data, ylabel=_LABELS[metric])
    axes[0].legend(fontsize="small")
    return fig


def _panels(n: int, columns: int = 3) -> tuple[Figure, list[Any]]:
    columns = min(n, columns)
    rows = -(-n // columns)
    fig = Figure(figsize=(4.6 * columns, 3.4 * rows), layout="constrained")
    axes = list(np.atleast_1d(fig.subplots(rows, columns, squeeze=False)).ravel())
    for axis in axes[n:]:
        axis.set_visible(False)
    return fig, axes[:n]
