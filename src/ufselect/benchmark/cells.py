"""Table cells, and tables in Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ufselect.benchmark.data import COUNTS, PLAIN, UNLIKE
from ufselect.benchmark.experiment import Experiment
from ufselect.benchmark.runner import Results

AVERAGE = "Average"
TOTAL = "total"
MISSING = "–"

_VALUES = {  # what methods see, and what is judged
    PLAIN: ("as they are", "as they are, unscaled"),
    COUNTS: ("divided by row sums (to the median row sum), log(1 + x)", "the same, unscaled"),
    UNLIKE: ("as they are", "scaled to mean 0 and variance 1"),
}
_IN_LATEX = {ord(mark): "\\" + mark for mark in "%_&#${}"} | {
    ord("^"): r"\textasciicircum{}",
    ord("~"): r"\textasciitilde{}",
    ord("\\"): r"\textbackslash{}",
    ord("±"): r"$\pm$",
    ord("−"): "$-$",
    ord("–"): "--",
    ord("α"): r"$\alpha$",
    ord("β"): r"$\beta$",
    ord("γ"): r"$\gamma$",
    ord("μ"): r"$\mu$",
}


def as_markdown(cells: pd.DataFrame) -> str:
    """Return a table in Markdown; the index is its first column."""
    header, *rows = ([text.replace("|", r"\|") for text in row] for row in _rows(cells))
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def as_latex(cells: pd.DataFrame, caption: str) -> str:
    """Return a table in LaTeX that needs the package booktabs; Markdown's **bold** is converted."""
    first, *rest = (" & ".join(map(_latex, row)) + r" \\" for row in _rows(cells))
    columns = "l" + "c" * len(cells.columns)
    body = [r"\begin{table*}", r"\centering", rf"\caption{{{_latex(caption)}}}", rf"\begin{{tabular}}{{{columns}}}"]
    body += [r"\toprule", first, r"\midrule", *rest, r"\bottomrule", r"\end{tabular}", r"\end{table*}"]
    return "\n".join(body) + "\n"


def _rows(cells: pd.DataFrame) -> list[list[str]]:
    """Return the cells of the header and of every row, each with its name first."""
    header = [str(cells.index.name or ""), *map(str, cells.columns)]
    return [header, *([str(name), *map(str, row)] for name, row in zip(cells.index, cells.to_numpy(), strict=True))]


def _latex(text: str) -> str:
    parts = [part.replace("**", "").translate(_IN_LATEX) for part in text.split("<br>")]
    if text.startswith("**"):
        parts[0] = rf"\textbf{{{parts[0]}}}"
    return parts[0] if len(parts) == 1 else r"\shortstack{" + r"\\".join(parts) + "}"


def _pivoted(part: pd.DataFrame, index: str, columns: str, values: str = "cell") -> pd.DataFrame:
    """Return a column as a table, with rows and columns in the order of their appearance."""
    table = part.pivot(index=index, columns=columns, values=values)
    return table.reindex(index=part[index].unique(), columns=part[columns].unique())


def _number(value: Any, digits: int = 2, deviation: Any = None, *, missing: str = "") -> str:
    """Return a number, with its standard deviation if that is known."""
    if pd.isna(value):
        return missing
    return f"{value:.{digits}f}" + ("" if pd.isna(deviation) else f" ± {deviation:.{digits}f}")


def _signed(value: float) -> str:
    return "" if pd.isna(value) else f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def _of(n_found: int, n_all: int) -> str:
    return str(n_found) if n_found == n_all else f"{n_found} of {n_all}"


def _share(found: pd.Series) -> str:
    """Return how many values are not missing, if some are."""
    return "" if found.notna().all() else f" ({_of(found.count(), len(found))})"


def published_cells(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return data sets by methods: our figure with its p-value, the published one, and the difference."""
    part = table[table.metric == metric].copy()
    part["cell"] = [_cell(row) for row in part.itertuples()]
    cells = _pivoted(part, "data", "method")
    if len(cells) > 1:
        cells.loc[AVERAGE] = _pivoted(part, "data", "method", "mean").mean(skipna=False).map(_number)
    return cells.fillna("")


def _cell(row: Any) -> str:
    text = _number(row.mean, 2, row.std)
    text = f"**{text}**" if row.bold else text
    if not pd.isna(row.p_value):
        text += f"<br>p {row.p_value:.2f}"
    if not pd.isna(row.published):
        text += f"<br>paper {_number(row.published, 2, row.published_std)}<br>{_signed(row.difference)}"
    return f"{text}<br>{row.settings} of {row.grid} settings" if row.settings < row.grid else text


def mean_cells(table: pd.DataFrame, metric: str, digits: int = 1) -> pd.DataFrame:
    """Return methods by data sets, with the mean over the data sets that a method has, marked if some are missing."""
    part = table[table.metric == metric]
    texts = [_number(row.mean, digits, row.std, missing=MISSING) for row in part.itertuples()]
    cells = _pivoted(part.assign(cell=texts), "method", "data").fillna(MISSING)
    means = _pivoted(part, "method", "data", "mean").astype(float)
    cells["mean"] = [
        f"{row.mean():.{digits}f}{_share(row)}" if row.notna().any() else MISSING for _, row in means.iterrows()
    ]
    return cells


def overview_cells(table: pd.DataFrame, digits: Mapping[str, int]) -> pd.DataFrame:
    """Return methods by the metrics in ``digits``: means over the data sets, and their number if some are missing."""
    n_data = table.data.nunique()
    wide = table.pivot(index="method", columns=["metric", "data"], values="mean").reindex(table.method.unique())
    cells = pd.DataFrame(index=wide.index)
    n_found = wide[next(iter(digits))].notna().sum(axis=1)
    if (n_found < n_data).any():
        cells["data sets"] = [f"{n} of {n_data}" for n in n_found]
    for metric, n_digits in digits.items():
        if metric in wide.columns.get_level_values(0):
            cells[metric] = [_number(value, n_digits, missing=MISSING) for value in wide[metric].mean(axis=1)]
    return cells


def settings_cells(summary: pd.DataFrame) -> pd.DataFrame:
    """Return data sets by methods: the number of settings tried, and the size of the grid if it is larger."""
    part = summary.drop_duplicates(["data", "method"])
    texts = [_of(row.settings, row.grid) for row in part.itertuples()]
    return _pivoted(part.assign(cell=texts), "data", "method").fillna("")


def thinned_cells(
    summary: pd.DataFrame, hours: pd.Series, limits: Mapping[tuple[str, str], int | None]
) -> pd.DataFrame:
    """Return the methods and data sets with fewer settings than the grid: why, and what all of them would take."""
    part = summary.drop_duplicates(["data", "method"])
    part = part[part.settings < part.grid]
    rows = {
        f"{row.method}, {row.data}": [
            f"{row.settings} of {row.grid}",
            _hours(hours[row.data, row.method]),
            _hours(hours[row.data, row.method] / row.settings * row.grid),
            "thinned in the experiment's file" if limits[row.data, row.method] == row.settings else "not all were run",
        ]
        for row in part.itertuples()
    }
    columns = ["settings", "core-hours", "core-hours of the whole grid", "reason"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def rank_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return methods by mean and mean rank over the data sets, ours and the paper's."""
    ours, theirs = "rank among the paper's methods", "rank in the paper"
    names = {"rank_in_paper": ours, "published": "paper's mean", "published_rank": theirs}
    return table.map(_number).rename(columns=names)


def comparison_cells(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return methods by readings: the mean difference, on how many data sets it is positive, and the p-value."""
    texts = [
        f"{_signed(row.difference)}<br>{row.better} of {row.n_data}<br>p {row.p_value:.3f}" if row.n_data else ""
        for row in table.itertuples()
    ]
    return _pivoted(table.assign(cell=texts), "method", "reading")[list(names)].rename(columns=names)


def gain_cells(table: pd.DataFrame, p_values: Mapping[str, float]) -> pd.DataFrame:
    """Return methods by data sets: the points above as many random rankings, their mean and its p-value."""
    gains = _pivoted(table, "method", "data", "above_random")
    found = gains.notna().any(axis=1)
    cells = gains.map(_signed)
    cells["mean"] = [f"{_signed(row.mean())}{_share(row)}" if found[name] else "" for name, row in gains.iterrows()]
    cells["p"] = [f"{p_values[name]:.3f}" if found[name] else "" for name in gains.index]
    return cells


def hour_cells(hours: pd.Series) -> pd.DataFrame:
    """Return methods by data sets: core-hours, with totals."""
    table = hours.unstack("data").reindex(index=hours.index.unique("method"), columns=hours.index.unique("data"))
    table[TOTAL] = table.sum(axis=1)
    table.loc[TOTAL] = table.sum()
    return table.map(_hours).rename_axis(index="method", columns=None)


def _hours(value: float) -> str:
    if pd.isna(value):
        return ""
    return f"{value:.2f}" if value >= 0.01 else "< 0.01"


def data_cells(experiment: Experiment, results: Results) -> pd.DataFrame:
    """Return data sets by their size as they were used, what the methods saw and what was evaluated."""
    described = {}
    for name, (samples, features, class_sizes) in results.sizes.items():
        numbers = {"samples": samples, "features": features, "classes": len(class_sizes)}
        seen, judged = _VALUES[experiment.preparation(name).values]
        described[name] = {key: f"{n:,}" for key, n in numbers.items()} | {"methods see": seen, "judged": judged}
    return pd.DataFrame.from_dict(described, orient="index")


def sensitivity_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return the lowest and highest mean over the numbers of features, each with its setting."""
    rows = {
        f"{row.data}, {row.method}, {row.metric}": {
            "lowest": f"{row.lowest:.2f} at {row.at_lowest}",
            "highest": f"{row.highest:.2f} at {row.at_highest}",
            "difference": f"{row.highest - row.lowest:.2f}",
        }
        for row in table.itertuples()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def convergence_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return how the objective of each fit developed."""
    rows = {
        f"{row.data}, {row.method}": {
            "iterations": str(row.iterations),
            "first objective": f"{row.first:.6g}",
            "last objective": f"{row.last:.6g}",
            "iterations that raise it": str(row.rises),
            "steps within an iteration that raise it": "" if pd.isna(row.rises_within) else str(int(row.rises_within)),
            "within 1 % of the last from iteration": str(row.within_1_percent),
        }
        for row in table.itertuples()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def iteration_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return data sets and methods by iterations: accuracy, NMI, and features shared with the longest run."""
    texts = table.assign(
        name=table.data + ", " + table.method,
        cell=[f"{row.acc:.1f} / {row.nmi:.1f} / {row.in_common:.0f}" for row in table.itertuples()],
    )
    texts = texts.drop_duplicates(["name", "iterations"], keep="last")  # some stop before max_iter
    return _pivoted(texts, "name", "iterations").sort_index(axis=1).fillna("").rename_axis(index="")
