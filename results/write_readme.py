"""Write the tables of README.md from the summaries of the results: ``python results/write_readme.py``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parent
UNKNOWN = ", c unknown"
COLUMNS = {
    "redundancy": "redundancy",
    "preservation": "neighbours kept",
    "nearest_neighbor": "1-nn",
    "stability": "stability",
    "seconds": "s",
    "megabytes": "MB",
}
PIECES = {
    "all columns": "all columns",
    "random": "random, 10 rankings",
    "FSASL": "**KernelFSASL**",
    "unit variance": "… columns scaled to unit variance",
    "first graph on all columns": "… first graph on all columns",
    "five neighbours": "… five neighbours, whatever n",
    "clusters by the eigengap": "… c − 1 eigenvectors, c by the eigengap †",
    "last structure only": "… last structure only †",
    "columns by ridge regression": "… columns by ridge regression †",
    "no adaptation": "… no adaptation",
    "two iterations": "… two iterations, whether settled or not",
    "both structures": "… both structures †",
}
NAMES = {
    "AllFea": "all features",
    "FSASL": "**KernelFSASL**",
    "FSASL (c)": "KernelFSASL with a number of clusters †",
    "FSASL (published)": "FSASL",
    "fastcan": "fastcan, 10 components",
}
# The methods of the paper in its order, and what helps to read their figures.
PUBLISHED = (
    *("AllFea", "LapScore", "MCFS", "LLCFS", "UDFS", "UDFS (equal start)", "NDFS", "SPFS"),
    *("RUFS", "JELSR", "GLSPFS", "FSASL", "random"),
)


def main() -> None:
    """Replace the text between the markers of every table."""
    path = FOLDER / "README.md"
    page = path.read_text(encoding="utf-8")
    for name, text in tables().items():
        page = with_section(page, name, text)
    path.write_text(page, encoding="utf-8")


def tables() -> dict[str, str]:
    """Return the tables of the README by the names of their markers."""
    return {
        "pieces": table_of_pieces(),
        "real": table_without_labels("real", "random, 10 rankings"),
        "no labels": table_without_labels("no_labels", "random, 30 rankings"),
        "published acc": table_by_labels("acc"),
        "published nmi": table_by_labels("nmi"),
    }


def with_section(page: str, name: str, text: str) -> str:
    """Return a page with another text between the two markers of a section."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"README.md has no section {name!r}.")
    return f"{before}{begin}\n{text}\n{end}{after}"


def table_of_pieces() -> str:
    """Return accuracy, information and seconds of KernelFSASL without one of its pieces."""
    means = means_over_data("pieces")
    rows = [
        [label, *(bold(cell(means, name, metric), name == "FSASL") for metric in ("acc", "nmi")), seconds(means, name)]
        for name, label in PIECES.items()
    ]
    return markdown(["", "ACC", "NMI", "s"], rows)


def table_without_labels(folder: str, random: str) -> str:
    """Return all measures of the methods that ran on all data sets; in brackets those without a number of clusters."""
    means = means_over_data(folder)
    names = [name for name in means.index if not name.endswith(UNKNOWN) and not pd.isna(means.loc[name, "acc"])]
    rows = []
    for name in names:
        label = random if name == "random" else NAMES.get(name, name)
        scores = [bold(with_unknown(means, name, metric), name == "FSASL") for metric in ("acc", "nmi")]
        shares = [cell(means, name, metric, 0) for metric in list(COLUMNS)[:4]]
        rows.append([label, *scores, *shares, *costs(means, name)])
    return markdown(["", "ACC", "NMI", *COLUMNS.values()], rows)


def table_by_labels(metric: str) -> str:
    """Return the figures by the paper's protocol, with the differences to the published ones."""
    summary = pd.read_csv(FOLDER / "published" / "summary.csv")
    summary = summary[summary.metric == metric]
    data = list(dict.fromkeys(summary.data))
    rows = []
    for name in PUBLISHED:
        of_method = summary[summary.method == name].set_index("data").loc[data]
        cells = [_beside_published(row) for row in of_method.itertuples()]
        published = f"{of_method.published.mean():.1f}" if of_method.published.notna().all() else ""
        rows.append([bold(name, name == "FSASL"), *cells, f"{of_method['mean'].mean():.1f}", published])
    return markdown(["", *data, "mean", "paper's mean"], rows)


def _beside_published(row: object) -> str:
    """Return a figure, the difference to the published one, and a star if only a part of the grid was run."""
    text = f"{row.mean:.1f}"
    if not pd.isna(row.difference):
        text += f" ({row.difference:+.1f})".replace("-0.0", "+0.0").replace("-", "−")
    return text + "*" * (row.settings < row.grid and row.method != "random")


def means_over_data(folder: str) -> pd.DataFrame:
    """Return the mean of every metric over the data sets by method; none if it is missing on one of them."""
    summary = pd.read_csv(FOLDER / folder / "summary.csv")
    wide = summary.pivot_table(index="method", columns="metric", values="mean", aggfunc=["mean", "count"], sort=False)
    n_data = summary.data.nunique()
    return wide["mean"].where(wide["count"] == n_data)


def with_unknown(means: pd.DataFrame, name: str, metric: str) -> str:
    """Return a figure and, in brackets, that without the number of clusters."""
    unknown = name + UNKNOWN
    text = cell(means, name, metric)
    return f"{text} ({cell(means, unknown, metric)})" if unknown in means.index else text


def cell(means: pd.DataFrame, name: str, metric: str, digits: int = 1) -> str:
    """Return a figure; empty if there is none."""
    value = means[metric].get(name) if metric in means else None
    return "" if value is None or pd.isna(value) else f"{value:.{digits}f}"


def costs(means: pd.DataFrame, name: str) -> list[str]:
    """Return seconds and megabytes, which baselines do not take."""
    if not cell(means, name, "stability") and name in ("AllFea", "all columns", "random"):
        return ["", ""]
    return [seconds(means, name), cell(means, name, "megabytes", 0)]


def seconds(means: pd.DataFrame, name: str) -> str:
    """Return the seconds of a fit with two digits; none for baselines."""
    if name in ("all columns", "random"):
        return ""
    value = means.loc[name, "seconds"]
    return f"{value:.0f}" if value >= 10.0 else f"{value:.1f}"


def bold(text: str, wanted: bool) -> str:
    """Return the text in bold if that is wanted."""
    return f"**{text}**" if wanted else text


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Return a table with all columns except the first right-aligned."""
    alignment = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, alignment, *rows))


if __name__ == "__main__":
    main()
