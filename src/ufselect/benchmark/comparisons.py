"""Methods compared over data sets: means and ranks, signed-rank tests, and what as many random rankings reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from ufselect._utils.types import Float
from ufselect.benchmark.experiment import Experiment

READINGS = ("mean", "single", "median", "above_random")
_SAME = 1e-9  # percentage points: smaller differences are rounding errors


def expected_best(values: Float, n_drawn: int) -> Float:
    """Return the expectation of the largest of ``n_drawn`` values drawn without replacement, for each column.

    Of N values in ascending order, the i-th is the largest of a draw with probability C(i − 1, m − 1) / C(N, m), so
    that no draw is simulated.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.benchmark.comparisons import expected_best
    >>> expected_best(np.array([[1.0], [2.0], [4.0]]), 2)  # of 1 2, 1 4 and 2 4
    array([3.33333333])
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
            differences = (values.loc[reference] - values.loc[method]).dropna().to_numpy()
            n_data = len(differences)
            row = {
                "metric": metric,
                "method": method,
                "reading": reading,
                "n_data": n_data,
                "better": int(np.sum(differences > _SAME)),
                "difference": float(np.mean(differences)) if n_data else np.nan,
                "p_value": signed_rank_p_value(differences) if n_data else np.nan,
            }
            rows.append(row)
    return pd.DataFrame(rows)


def signed_rank_p_value(differences: Float) -> float:
    """Return the exact two-sided p-value of Wilcoxon's signed-rank test; differences of zero are left out.

    Examples
    --------
    >>> from ufselect.benchmark.comparisons import signed_rank_p_value
    >>> signed_rank_p_value([3.0, 1.5, 0.5, 2.0, 4.0, 1.0, 2.5])  # the smallest of seven data sets: 2 / 2**7
    0.015625
    """
    differences = np.asarray(differences, dtype=float)
    different = differences[np.abs(differences) > _SAME]
    return float(wilcoxon(different, method="exact").pvalue) if len(different) else 1.0


def _methods_by_data(part: pd.DataFrame, column: str, methods: Sequence[str]) -> pd.DataFrame:
    return part.pivot(index="method", columns="data", values=column).reindex(index=methods).astype(float)


def _mean_ranks(values: pd.DataFrame) -> pd.Series:
    """Return the mean over the data sets of the rank of each method, 1 for the largest value."""
    return values.rank(ascending=False).mean(axis=1)
