"""Table cells, and tables in Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ufselect._utils.types import Float

AVERAGE = "Average"
TOTAL = "total"
MISSING = "–"

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


def published_cells(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return data sets by methods: our figure with its p-value, the published one, and the difference."""
    part = table[table.metric == metric].copy()
    part["cell"] = [_cell(row) for row in part.itertuples()]
    methods, data = part.method.unique(), part.data.unique()
    cells = part.pivot(index="data", columns="method", values="cell").reindex(index=data, columns=methods)
    if len(data) > 1:
        means = part.pivot(index="data", columns="method", values="mean").reindex(columns=methods)
        cells.loc[AVERAGE] = [f"{value:.2f}" if not np.isnan(value) else "" for value in means.mean(skipna=False)]
    return cells.fillna("")


def _cell(row: Any) -> str:
    text = f"{row.mean:.2f}" if pd.isna(row.std) else f"{row.mean:.2f} ± {row.std:.2f}"
    text = f"**{text}**" if row.bold else text
    if not pd.isna(row.p_value):
        text += f"<br>p {row.p_value:.2f}"
    if not pd.isna(row.published):
        published = (
            f"{row.published:.2f}" if pd.isna(row.published_std) else f"{row.published:.2f} ± {row.published_std:.2f}"
        )
        text += f"<br>paper {published}<br>{_signed(row.difference)}"
    return f"{text}<br>{row.settings} of {row.grid} settings" if row.settings < row.grid else text


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def mean_cells(table: pd.DataFrame, metric: str, digits: int = 1) -> pd.DataFrame:
    """Return methods by data sets, with the mean over the data sets that a method has, marked if some are missing."""
    part = table[table.metric == metric]
    methods, data = part.method.unique(), part.data.unique()
    means = part.pivot(index="method", columns="data", values="mean").reindex(index=methods, columns=data)
    spread = part.pivot(index="method", columns="data", values="std").reindex(index=methods, columns=data)
    cells = means.map(lambda value: _number(value, digits))
    cells += spread.astype(float).map(lambda value: "" if pd.isna(value) else f" ± {value:.{digits}f}")
    cells["mean"] = [_marked_mean(row, digits) for row in means.to_numpy(dtype=float)]
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
            cells[metric] = [_number(value, n_digits) for value in wide[metric].mean(axis=1)]
    return cells


def _marked_mean(values: Float, digits: int) -> str:
    found = values[~np.isnan(values)]
    return f"{_number(np.mean(found), digits)}{_share(len(found), len(values))}" if len(found) else MISSING


def _share(n_found: int, n_all: int) -> str:
    return "" if n_found == n_all else f" ({n_found} of {n_all})"


def _number(value: Any, digits: int) -> str:
    return MISSING if pd.isna(value) else f"{value:.{digits}f}"


def settings_cells(summary: pd.DataFrame) -> pd.DataFrame:
    """Return data sets by methods: the number of settings tried, and the size of the grid if it is larger."""
    part = summary.drop_duplicates(["data", "method"]).copy()
    whole = part.settings == part.grid
    part["cell"] = part.settings.astype(str).where(whole, part.settings.astype(str) + " of " + part.grid.astype(str))
    cells = part.pivot(index="data", columns="method", values="cell")
    return cells.reindex(index=part.data.unique(), columns=part.method.unique()).fillna("")


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
    cells = table.map(lambda value: "" if pd.isna(value) else f"{value:.2f}")
    ours, theirs = "rank among the paper's methods", "rank in the paper"
    names = {"rank_in_paper": ours, "published": "paper's mean", "published_rank": theirs}
    return cells.rename(columns=names)


def comparison_cells(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return methods by readings: the mean difference, on how many data sets it is positive, and the p-value."""
    texts = [
        f"{_signed(row.difference)}<br>{row.better} of {row.n_data}<br>p {row.p_value:.3f}" if row.n_data else ""
        for row in table.itertuples()
    ]
    cells = table.assign(cell=texts).pivot(index="method", columns="reading", values="cell")
    return cells.reindex(index=table.method.unique(), columns=list(names)).rename(columns=names)


def gain_cells(table: pd.DataFrame, p_values: Mapping[str, float]) -> pd.DataFrame:
    """Return methods by data sets: the points above as many random rankings, their mean and its p-value."""
    methods, data = table.method.unique(), table.data.unique()
    gains = table.pivot(index="method", columns="data", values="above_random").reindex(index=methods, columns=data)
    cells = gains.map(lambda value: "" if pd.isna(value) else _signed(value))
    cells["mean"] = [
        "" if row.isna().all() else f"{_signed(row.mean())}{_share(row.notna().sum(), len(row))}"
        for _, row in gains.iterrows()
    ]
    cells["p"] = [f"{p_values[method]:.3f}" if gains.loc[method].notna().any() else "" for method in methods]
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


def data_cells(described: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return data sets by their size and how their values are prepared and judged."""
    cells = pd.DataFrame.from_dict(described, orient="index")
    return cells.map(lambda value: f"{value:,}" if isinstance(value, int) else str(value))


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
    cells = texts.pivot(index="name", columns="iterations", values="cell")
    return cells.reindex(texts.name.unique()).fillna("").rename_axis(index="")
