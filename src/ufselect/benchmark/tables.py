"""Tables of a run's figures: summaries next to the published figures, and methods compared over data sets."""

from __future__ import annotations

import itertools
import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel, wilcoxon

from ufselect._utils.types import Float
from ufselect.benchmark.experiment import Experiment, Method, varied_values
from ufselect.benchmark.fits import Outcome
from ufselect.benchmark.runner import Results, Trial

_GROUP = ["data", "metric", "method"]
RANDOM = "RandomRanking"  # the selector whose settings are random rankings
READINGS = ("mean", "single", "median", "above_random")
_SAME = 1e-9  # percentage points: smaller differences are rounding errors
NOT_WORSE = 0.05  # methods with a larger p-value are printed in bold, like the best


def figures(results: Results) -> pd.DataFrame:
    """Return one row per data set, method, setting, number of features and metric."""
    columns = ["data", "method", "setting", "count", "metric", "value"]
    return pd.DataFrame([vars(row) for row in results.rows], columns=columns)


def costs(results: Results) -> pd.DataFrame:
    """Return one row per fit: seconds, peak memory, iterations, clusters and convergence warnings, or the errors."""
    table = _of_fits(results, "seconds", "peak_bytes", "n_iter", "n_clusters", "warnings", "error")
    of_repeats = dict(results.failed_repeats)
    return table.assign(error_of_repeats=[of_repeats.get(trial) for trial, _ in results.fits])


def courses(results: Results) -> pd.DataFrame:
    """Return one row per fit: its best features, and its objective after each iteration and within them."""
    return _of_fits(results, "order", "objective", "half_steps")


def _of_fits(results: Results, *names: str) -> pd.DataFrame:
    rows = []
    for trial, outcome in results.fits:
        row = {"data": trial.data, "method": trial.method.name, "setting": trial.setting}
        rows.append(row | {name: outcome.get(name) for name in names})
    return pd.DataFrame(rows)


def sizes(results: Results) -> pd.DataFrame:
    """Return one row per data set: its samples, features, and the samples of each class, as they were used."""
    return pd.DataFrame([{"data": name, **size._asdict()} for name, size in results.sizes.items()])


def core_hours(results: Results) -> pd.Series:
    """Return the processor time of all fits in hours, by data set and method."""
    return costs(results).groupby(["data", "method"], sort=False)["seconds"].sum().div(3600.0).rename("core_hours")


def not_converged(results: Results) -> list[str]:
    """Return a sentence for each method with fits that did not converge, such as "FSASL: 2 of 9 fits …"."""
    fits = Counter(trial.method.name for trial, outcome in results.fits if "error" not in outcome)
    short = Counter(trial.method.name for trial, outcome in results.fits if outcome.get("warnings"))
    return [f"{name}: {n_fits_short} of {fits[name]} fits did not converge." for name, n_fits_short in short.items()]


def published_figures() -> pd.DataFrame:
    """Return the paper's tables of results (Du and Shen, KDD 2015), in percent."""
    with files("ufselect.benchmark").joinpath("published.csv").open() as file:
        return pd.read_csv(file)


def curves(table: pd.DataFrame) -> pd.DataFrame:
    """Return the best value of each method at each number of features, by data set and metric, in percent."""
    return _of_settings(table).groupby(level=_GROUP, sort=False).max()


def sensitivity_summary(results: Results) -> pd.DataFrame:
    """Return the means over the numbers of features at the worst and best value of each parameter."""
    means = _mean_over_counts(_of_settings(figures(results)), results)
    rows = []
    for group, values in means.groupby(level=_GROUP, sort=False):
        at = varied_values(values.index.get_level_values("setting"))
        low, high = int(values.argmin()), int(values.argmax())
        found = {"lowest": values.iloc[low], "at_lowest": at[low], "highest": values.iloc[high], "at_highest": at[high]}
        rows.append({**dict(zip(_GROUP, group, strict=True)), **found})
    return pd.DataFrame(rows)


def convergence_summary(results: Results) -> pd.DataFrame:
    """Return how the objective of the longest run of each method developed, by data set.

    ``rises`` counts the iterations after which the objective is higher than before, ``rises_within`` the steps within
    an iteration that raise it, for methods that record these steps.
    """
    rows = []
    for trials in fits_by_length(results).values():
        trial, outcome = trials[-1]
        if not outcome.get("objective"):
            continue
        course = np.asarray(outcome["objective"], dtype=float)
        unsettled = np.flatnonzero(np.abs(course - course[-1]) > 0.01 * abs(course[-1]))
        rows.append(
            {
                "data": trial.data,
                "method": trial.method.name,
                "iterations": len(course),
                "first": float(course[0]),
                "last": float(course[-1]),
                "rises": _rises(course),
                "rises_within": sum(map(_rises, outcome["half_steps"])) if "half_steps" in outcome else None,
                "within_1_percent": int(unsettled[-1]) + 2 if len(unsettled) else 1,
            }
        )
    return pd.DataFrame(rows)


def iteration_summary(results: Results) -> pd.DataFrame:
    """Return the figures by number of iterations, and the share of features in common with the longest run."""
    means = _mean_over_counts(_of_settings(figures(results)), results)
    rows = []
    for trials in fits_by_length(results).values():
        last = set(trials[-1][1]["order"])
        for trial, outcome in trials:
            kept = 100.0 * len(last.intersection(outcome["order"])) / len(last)
            found = {metric: means[trial.data, metric, trial.method.name, trial.setting] for metric in ("acc", "nmi")}
            row = {"data": trial.data, "method": trial.method.name, "iterations": outcome["n_iter"]}
            rows.append({**row, **found, "in_common": kept})
    return pd.DataFrame(rows, columns=["data", "method", "iterations", "acc", "nmi", "in_common"])


def fits_by_length(results: Results) -> dict[tuple[str, str], list[tuple[Trial, Outcome]]]:
    """Return the fits of each data set and method, the longest last."""
    groups: dict[tuple[str, str], list[tuple[Trial, Outcome]]] = {}
    for trial, outcome in results.fits:
        if "n_iter" in outcome:
            groups.setdefault((trial.data, trial.method.name), []).append((trial, outcome))
    return {name: sorted(trials, key=lambda fit: fit[1]["n_iter"]) for name, trials in groups.items()}


def _rises(course: Any) -> int:
    return int(np.sum(np.diff(course) > 1e-9 * np.abs(course[:-1])))


def _of_settings(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per data set, metric, method and setting, one column per number of features, in percent."""
    index = [*_GROUP, "setting"]
    return table.pivot_table(index=index, columns="count", values="value", sort=False).sort_index(axis=1) * 100.0


def _mean_over_counts(of_settings: pd.DataFrame, results: Results) -> pd.Series:
    """Return the mean of every setting over the numbers of features; one that is listed twice counts twice."""
    listed = {method.name for method in {trial.method for trial, _ in results.fits} if method.features is None}
    of_listed = of_settings.index.get_level_values("method").isin(listed)
    means = of_settings.mean(axis=1)
    for data, counts in _counts(results).items():
        rows = of_listed & (of_settings.index.get_level_values("data") == data)
        means[rows] = of_settings.loc[rows, list(counts)].mean(axis=1)
    return means


def _counts(results: Results) -> dict[str, tuple[int, ...]]:
    """Return the numbers of features at which selections from each data set are judged."""
    return {trial.data: trial.counts for trial, _ in results.fits if trial.method.features is None}


def summary(experiment: Experiment, results: Results) -> pd.DataFrame:
    """Return mean, standard deviation and p-value over the numbers of features, with the published figures.

    The best method of a data set is the one with the highest mean, baselines excluded. The p-value is that of a paired
    t-test against it, over the numbers of features. ``single`` and ``median`` are the means with the best and with the
    median setting for all numbers of features, ``as_many_random`` what the best of as many random rankings reaches on
    average, ``above_random`` the difference to it.
    """
    of_settings = _of_settings(figures(results))
    curve = of_settings.groupby(level=_GROUP, sort=False).max()
    tried = Counter((trial.data, trial.method.name) for trial, outcome in results.fits if "error" not in outcome)
    rows = []
    for data, metric in itertools.product(experiment.data, experiment.measures):
        values: dict[Method, Float] = {}
        for method in experiment.methods_for(data):
            if (data, metric, method.name) in curve.index:
                row = curve.loc[data, metric, method.name]  # a number that is listed twice counts twice
                counts = list(_counts(results).get(data, ())) if method.features is None else row.dropna().index
                values[method] = row[counts].to_numpy()
        candidates = [method for method in values if not method.baseline]
        best = max(candidates, key=lambda method: float(np.mean(values[method])), default=None)
        for method, series in values.items():
            p_value = None if best is None or len(series) < 2 else _p_value(series, values[best])
            rows.append(
                {
                    "data": data,
                    "metric": metric,
                    "method": method.name,
                    "settings": tried[data, method.name],
                    "grid": len(list(method.settings(data))),
                    "mean": float(np.mean(series)),
                    "std": float(np.std(series, ddof=1)) if len(series) > 1 else None,
                    "p_value": p_value,
                    "bold": method is best or (not method.baseline and (p_value or 0.0) > NOT_WORSE),
                }
            )
    published = published_figures().rename(columns={"mean": "published", "std": "published_std"})
    table = pd.DataFrame(rows).merge(published.drop(columns="p_value"), on=["metric", "data", "method"], how="left")
    table["difference"] = table["mean"] - table["published"]
    means = _mean_over_counts(of_settings, results).groupby(level=_GROUP, sort=False)
    random = next((method.name for method in experiment.methods if method.selector == RANDOM), "")
    expected = as_many_random(of_settings, random, _counts(results))
    readings = pd.DataFrame({"single": means.max(), "median": means.median(), "as_many_random": expected})
    table = table.merge(readings.reset_index(), on=_GROUP, how="left")
    return table.assign(above_random=table["mean"] - table["as_many_random"])


def no_label_summary(results: Results) -> pd.DataFrame:
    """Return the mean of every method over the numbers of features, by data set, in percent.

    For random rankings it is the mean over the rankings, with their standard deviation.
    """
    table = figures(results)
    means = table.groupby(["data", "metric", "method", "setting"], sort=False)["value"].mean().mul(100.0).reset_index()
    means["method"] = [_row_name(method, setting) for method, setting in zip(means.method, means.setting, strict=True)]
    grouped = means.groupby(["metric", "method", "data"], sort=False)["value"]
    return grouped.agg(mean="mean", std=lambda values: values.std() if len(values) > 1 else np.nan).reset_index()


def cost_summary(results: Results) -> pd.DataFrame:
    """Return the mean seconds and peak megabytes of the fits of every method, by data set."""
    table = costs(results)
    table["method"] = [_row_name(method, setting) for method, setting in zip(table.method, table.setting, strict=True)]
    table["megabytes"] = table.pop("peak_bytes") / 1e6
    means = table.groupby(["method", "data"], sort=False)[["seconds", "megabytes"]].mean().reset_index()
    return means.melt(["method", "data"], var_name="metric", value_name="mean").assign(std=np.nan)


def _row_name(method: str, setting: str) -> str:
    """Return the name of a table row: the method, "c unknown", and the other parameters of the setting but the seed."""
    chosen = json.loads(setting)
    chosen.pop("random_state", None)
    name = f"{method}, c unknown" if chosen.pop("n_clusters", None) == "auto" else method
    return f"{name} ({', '.join(f'{key}={value}' for key, value in chosen.items())})" if chosen else name


def _p_value(series: Float, best: Float) -> float:
    if np.array_equal(series, best):
        return 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # SciPy's, if all differences are the same
        return float(ttest_rel(series, best).pvalue)


# Methods over data sets


def expected_best(values: Float, n_drawn: int) -> Float:
    """Return the expectation of the largest of ``n_drawn`` values drawn without replacement, for each column.

    Of N values in ascending order, the i-th is the largest of a draw with probability C(i − 1, m − 1) / C(N, m), so
    that no draw is simulated.
    """
    n_values = len(values)
    places = np.arange(n_values, n_drawn, -1)
    shares = np.cumprod(np.concatenate([[n_drawn / n_values], (places - n_drawn) / (places - 1)]))
    best_first = -np.sort(-np.asarray(values, dtype=float), axis=0)[: len(shares)]
    return np.asarray(shares @ best_first)


def as_many_random(of_settings: pd.DataFrame, random: str, counts: Mapping[str, Sequence[int]]) -> pd.Series:
    """Return what the best of as many random rankings as a method has settings reaches on average.

    The best is chosen for every number of features, as the paper's protocol does, and the expectation is that over all
    subsets of the random rankings. It is missing if there are fewer random rankings than settings. ``of_settings`` has
    a row for each data set, metric, method and setting, ``random`` is the method whose settings are random rankings,
    and ``counts`` are the numbers of features of each data set; one that is listed twice counts twice.
    """
    found = {}
    for (data, metric), table in of_settings.groupby(level=["data", "metric"], sort=False):
        methods = table.index.get_level_values("method")
        rankings = table.loc[methods == random, list(counts.get(data, ()))].to_numpy()
        for method, n_settings in methods.value_counts(sort=False).items():
            enough = 0 < n_settings <= len(rankings)
            found[data, metric, method] = expected_best(rankings, n_settings).mean() if enough else np.nan
    index = pd.MultiIndex.from_tuples(found, names=["data", "metric", "method"])
    return pd.Series(list(found.values()), index=index, name="as_many_random", dtype=float)


def shared_data(summary: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """Return the data sets for which all these methods have figures."""
    part = summary[summary.method.isin(methods)]
    n_methods = part.groupby("data", sort=False)["method"].nunique()
    return [str(data) for data in n_methods.index[n_methods == len(methods)]]


def compared_methods(experiment: Experiment, summary: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the methods that have all data sets that the reference has, and the others.

    Without a reference, those are the data sets of the methods that have most. Methods that the file restricts to some
    of the data sets are neither.
    """
    found = summary.groupby("method")["data"].agg(set)
    on_all = [method.name for method in experiment.methods if method.data is None and method.name in found]
    most = max(map(len, found[on_all]), default=0)
    leading = [name for name in on_all if len(found[name]) == most]
    data = set(shared_data(summary, [experiment.reference] if experiment.reference in on_all else leading))
    complete = [name for name in on_all if data <= found[name]]
    return complete, [name for name in on_all if name not in complete]


def means_and_ranks(summary: pd.DataFrame, metric: str, methods: Sequence[str]) -> pd.DataFrame:
    """Return the mean and the mean rank of each method over the data sets that all of them have, and the paper's.

    ``rank`` is that among all of them. ``rank_in_paper``, ours, and ``published_rank`` are those among the methods that
    the paper has on all these data sets, missing for the others.
    """
    part = summary[(summary.metric == metric) & summary.data.isin(shared_data(summary, methods))]
    ours, theirs = (_methods_by_data(part, column, methods) for column in ("mean", "published"))
    theirs = theirs.dropna()
    return pd.DataFrame(
        {
            "mean": ours.mean(axis=1),
            "rank": _mean_ranks(ours),
            "rank_in_paper": _mean_ranks(ours.loc[theirs.index]),
            "published": theirs.mean(axis=1),
            "published_rank": _mean_ranks(theirs),
        },
        index=pd.Index(methods, name="method"),
    )


def comparisons(summary: pd.DataFrame, metric: str, methods: Sequence[str], reference: str) -> pd.DataFrame:
    """Compare one method with every other over the data sets that all of them have, for each of the readings.

    A row has the number of data sets for which both have a figure, on how many of them the reference is better, its
    mean difference, and the p-value of Wilcoxon's signed-rank test.
    """
    part = summary[(summary.metric == metric) & summary.data.isin(shared_data(summary, methods))]
    rows = []
    for reading in READINGS:
        values = _methods_by_data(part, reading, methods)
        for method in methods:
            if method == reference:
                continue
            differences = (values.loc[reference] - values.loc[method]).dropna()
            p_value = signed_rank_p_value(differences) if len(differences) else np.nan
            better = int(np.sum(differences > _SAME))
            rows.append((metric, method, reading, len(differences), better, differences.mean(), p_value))
    return pd.DataFrame(rows, columns=["metric", "method", "reading", "n_data", "better", "difference", "p_value"])


def signed_rank_p_value(differences: Float) -> float:
    """Return the exact two-sided p-value of Wilcoxon's signed-rank test; differences of zero are left out."""
    differences = np.asarray(differences, dtype=float)
    different = differences[np.abs(differences) > _SAME]
    return float(wilcoxon(different, method="exact").pvalue) if len(different) else 1.0


def _methods_by_data(part: pd.DataFrame, column: str, methods: Sequence[str]) -> pd.DataFrame:
    return part.pivot(index="method", columns="data", values=column).reindex(index=methods).astype(float)


def _mean_ranks(values: pd.DataFrame) -> pd.Series:
    """Return the mean over the data sets of the rank of each method, 1 for the largest value."""
    return values.rank(ascending=False).mean(axis=1)
