"""Draw the figures of docs/speed.md from the tables of benchmarks/README.md.

Run it from anywhere after ``make bench``: ``python docs/draw_speed.py``. Each picture carries a digest of the tables
that it shows, so that a test notices if the tables are newer.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

DOCS = Path(__file__).parent
TABLES = DOCS.parent / "benchmarks" / "README.md"
PICTURES = {  # a picture and the parts of the page that it shows
    "speed_samples": ("many_samples", "gpu"),
    "speed_methods": ("at_scale",),
    "speed_peers": ("plain", "peers"),
}
Rows = list[list[str]]


def main() -> None:
    """Draw all pictures."""
    plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True})
    plt.rcParams.update({"grid.color": "#dddddd", "axes.axisbelow": True, "savefig.facecolor": "white"})
    for name, draw in (
        ("speed_samples", draw_samples),
        ("speed_methods", draw_methods),
        ("speed_peers", draw_peers),
    ):
        figure = draw()
        figure.savefig(picture(name), dpi=110, metadata={"Description": digest(name)})


def picture(name: str) -> Path:
    """Return the path of a picture."""
    return DOCS / "images" / f"{name}.png"


def digest(name: str) -> str:
    """Return a digest of the tables that a picture shows."""
    return sha256("".join(part(title) for title in PICTURES[name]).encode()).hexdigest()


def part(title: str) -> str:
    """Return the text between the marks of a part."""
    text = TABLES.read_text("utf-8")
    return text.partition(f"<!-- begin {title} -->\n")[2].partition(f"<!-- end {title} -->")[0]


def tables(title: str) -> list[Rows]:
    """Return the cells of all tables of a part, headers first."""
    blocks = re.findall(r"(?:^\|.*\n)+", part(title), flags=re.MULTILINE)
    rows = [
        [[cell.strip(" *") for cell in line.strip("|\n").split("|")] for line in block.splitlines()] for block in blocks
    ]
    return [[header, *body] for header, _, *body in rows]


def number(cell: str) -> float:
    """Return the number in a cell such as "1,881", "> 620" or "20,000 × 500", of which it is the first."""
    return float(re.search(r"[\d,.]+", cell)[0].replace(",", ""))


def draw_samples() -> plt.Figure:
    """Seconds and memory against the number of samples."""
    figure, (time, memory) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    rows = tables("many_samples")[0][1:]
    series = {
        "1,000 columns, two cores": [row for row in rows if "× 1,000" in row[0]],
        "100 columns, two cores": [row for row in rows if row[0].endswith("× 100")],
    }
    for (name, points), color in zip(series.items(), ("C0", "C2"), strict=True):
        samples = [number(row[0]) for row in points]
        time.loglog(samples, [number(row[2]) for row in points], "o-", color=color, label=name)
        memory.loglog(samples, [number(row[4]) / 1000 for row in points], "o-", color=color)
        memory.loglog(samples, [number(row[5]) / 1000 for row in points], ":", color=color)
    on_gpu = [row for row in tables("gpu")[0][1:] if "× 1,000" in row[0]]
    time.loglog(
        [number(row[0]) for row in on_gpu],
        [number(row[5]) for row in on_gpu],
        "s-",
        color="C3",
        label="1,000 columns, one H200",
    )
    time.set(xlabel="samples", ylabel="seconds", title="A fit of FSASL")
    time.legend(frameon=False, loc="upper left")
    time.set_ylim(top=3000)
    memory.set(xlabel="samples", ylabel="GB", title="Peak memory (dotted: X itself)")
    return figure


def draw_methods() -> plt.Figure:
    """Seconds of every method at two sizes."""
    figure, axis = plt.subplots(figsize=(9, 6), layout="constrained")
    wide, tall = (
        {row[0]: number(row[2]) for row in rows if len(row) > 2 and re.fullmatch(r"[\d.]+", row[2])}
        for rows in tables("at_scale")[:2]
    )
    order = sorted(wide, key=lambda method: wide[method] + tall.get(method, wide[method]), reverse=True)
    axis.hlines(
        order,
        [min(wide[m], tall.get(m, wide[m])) for m in order],
        [max(wide[m], tall.get(m, 0)) for m in order],
        color="#cccccc",
    )
    for times, marker, color, name in ((wide, "s", "C1", "3,000 × 10,000"), (tall, "o", "C0", "20,000 × 500")):
        there = [method for method in order if method in times]
        axis.plot([times[method] for method in there], there, marker, color=color, label=name, markersize=8)
    axis.set(xscale="log", xlabel="seconds, one thread", title="A fit of every method, 50 columns selected")
    axis.legend(frameon=False)
    return figure


def draw_peers() -> plt.Figure:
    """How much longer other implementations take."""
    figure, axis = plt.subplots(figsize=(9, 4.6), layout="constrained")
    plain = [row for row in tables("plain")[0][1:] if row[1] == "ufselect"]
    own = {"FSASL, from library calls": [number(row[9]) for row in plain]}
    coil, tox = ({row[0]: row[4] for row in rows[1:]} for rows in tables("peers")[:2])
    ratios = own | {f"{name}, skfeature": [number(coil[name]), number(tox[name])] for name in coil}
    for column, (marker, color, name) in enumerate(
        (("o", "C0", "COIL, 1,440 × 1,024"), ("s", "C1", "TOX, 171 × 5,748"))
    ):
        axis.plot(
            [values[column] for values in ratios.values()], list(ratios), marker, color=color, label=name, markersize=9
        )
    _mark_equal(axis)
    axis.set(xscale="log", xlabel="times as long as ufselect", title="Other implementations of the same methods")
    axis.invert_yaxis()
    axis.legend(frameon=False, loc="upper right")
    return figure


def _mark_equal(axis: Axes) -> None:
    axis.axvline(1, color="black", lw=1)
    axis.set_xlim(0.7, 2000)


if __name__ == "__main__":
    main()
