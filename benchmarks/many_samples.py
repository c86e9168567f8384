"""FSASL on many samples: seconds and memory of a default fit, each in a new process.

``python benchmarks/many_samples.py`` writes the section many_samples of README.md and the figure of docs/scaling.md;
``--quick`` only prints a table of small sizes, and ``--most-samples N`` leaves out larger ones.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from processes import environment_for, in_fresh_process, say
from report import machine, number, table, write_section

THREADS = 2
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "many_samples.png"
# Number of samples, of columns, and how neighbours are searched.
FULL = [
    (20_000, 500, "exact"),
    (10_000, 1000, "exact"),
    (30_000, 1000, "exact"),
    (100_000, 1000, "exact"),
    (10_000, 100, "approximate"),
    (100_000, 100, "approximate"),
    (1_000_000, 100, "approximate"),
]
QUICK = [(6000, 100, "exact"), (6000, 100, "approximate"), (12_000, 100, "exact")]
REQUIRED = {
    (20_000, 500): "≤ 17 (an eighth of 138)",
    (100_000, 1000): "≤ 300, 4 GB",
    (1_000_000, 100): "≤ 1200",
}
MOST_EXPONENT = {"exact": 1.9, "approximate": 1.2}


def measured(n: int, d: int, neighbors: str) -> dict[str, Any]:
    """Seconds, memory and informative columns of one fit."""
    say(f"{n:,} × {d:,}, {neighbors} neighbours")
    return in_fresh_process("many_samples", environment_for(THREADS), n=n, d=d, neighbors=neighbors, threads=THREADS)


def exponent(fits: dict[tuple[int, int, str], dict[str, Any]], neighbors: str, d: int) -> float:
    """The slope of log seconds over log n between the smallest and the largest size."""
    sizes = sorted(size for size in fits if size[1:] == (d, neighbors))
    first, last = sizes[0], sizes[-1]
    return float(np.log(fits[last]["seconds"] / fits[first]["seconds"]) / np.log(last[0] / first[0]))


def tables(fits: dict[tuple[int, int, str], dict[str, Any]]) -> str:
    """The fits, and how they grow."""
    rows = [
        [
            f"{n:,} × {d:,}",
            neighbors,
            number(fit["seconds"]),
            REQUIRED.get((n, d), ""),
            f"{fit['peak_mb']:.0f}",
            f"{fit['matrix_mb']:.0f}",
            f"{fit['recall']:.3f}",
            f"{fit['useful']} of 50",
        ]
        for (n, d, neighbors), fit in fits.items()
    ]
    header = [
        "size, float32",
        "neighbours",
        "seconds",
        "required",
        "peak, MB",
        "X, MB",
        "recall",
        "informative columns",
    ]
    growth = [
        [f"{neighbors}, {d:,} columns", f"{exponent(fits, neighbors, d):.2f}", f"≤ {MOST_EXPONENT[neighbors]}"]
        for neighbors, d in (("exact", 1000), ("approximate", 100))
        if sum(size[1:] == (d, neighbors) for size in fits) > 1
    ]
    return "\n\n".join([table(header, rows), table(["exponent of n", "value", "required"], growth)])


def draw(fits: dict[tuple[int, int, str], dict[str, Any]]) -> None:
    """Seconds over the number of samples, both logarithmic."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for neighbors, d, marker in (("exact", 1000, "o"), ("approximate", 100, "s")):
        sizes = sorted(size for size in fits if size[1:] == (d, neighbors))
        seconds = [fits[size]["seconds"] for size in sizes]
        slope = exponent(fits, neighbors, d)
        label = f"{neighbors} neighbours, {d:,} columns: exponent {slope:.2f}"
        axes.loglog([size[0] for size in sizes], seconds, marker=marker, label=label)
    axes.set(xlabel="samples", ylabel="seconds of a default fit, two threads")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.0f}")
        axis.set_minor_formatter("")
    axes.grid(which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(PICTURE, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--most-samples", type=int, default=FULL[-1][0])
    options = parser.parse_args()
    quick = options.quick
    fits = {size: measured(*size) for size in (QUICK if quick else FULL) if size[0] <= options.most_samples}
    text = f"{tables(fits)}\n\nMachine: {machine()} Threads: {THREADS}."
    print(text)
    if not quick:
        write_section("many_samples", text)
        draw(fits)


if __name__ == "__main__":
    main()
