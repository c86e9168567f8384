"""Draw pictures of the documentation: ``python docs/draw_figures.py``, or with some of home, taxonomy and speed.

- home.png, on the home page: many columns, then the selected ones. The data are generated. The background and the
  middle of the colour scale are transparent, so that the picture fits a light and a dark page.
- taxonomy.png, in methods.md: the flow of information in filters and in the four kinds of embedded methods of Du and
  Shen (KDD 2015).
- speed_*.png, in speed.md: the tables of benchmarks/README.md, after ``make bench``. Each picture carries a digest of
  the tables that it shows, so that a test notices if the tables are newer.
"""

from __future__ import annotations

import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from sklearn.cluster import KMeans

import ufselect
from ufselect.datasets import make_planted_clusters

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"


def main() -> None:
    """Draw the pictures named as arguments, or all."""
    for name in sys.argv[1:] or ("home", "taxonomy", "speed"):
        {"home": draw_home, "taxonomy": draw_taxonomy, "speed": draw_speed}[name]()


# The home page

N_SELECTED = 8
GREY = "#7b828d"  # legible on white and on black
ACCENT = "#e0503c"
VALUES = LinearSegmentedColormap.from_list("values", ["#3a86d8ff", "#88888800", "#e8762cff"])


def draw_home() -> None:
    """Draw all columns of generated data, and the selected ones by cluster."""
    X, _, _ = make_planted_clusters(100, 4, 12, 88, random_state=3)
    X = X[:, np.random.default_rng(0).permutation(X.shape[1])]
    selected = ufselect.KernelFSASL(N_SELECTED).fit(X).top_features()
    clusters = KMeans(4, n_init=10, random_state=0).fit_predict(X[:, selected])
    all_and_selected(X, selected, clusters).savefig(IMAGES / "home.png", dpi=150, transparent=True)


def all_and_selected(X: np.ndarray, selected: np.ndarray, clusters: np.ndarray) -> plt.Figure:
    """Return all columns with marks above the selected ones, and beside them the selected ones by cluster."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), width_ratios=(2.6, 1), gridspec_kw={"wspace": 0.2})
    figure.subplots_adjust(left=0.005, right=0.995, top=0.82, bottom=0.09)
    _show(left, X, f"{X.shape[1]} columns, no labels", "samples as they come")
    marks = left.get_xaxis_transform()  # columns from left to right, shares of the height
    left.plot(selected, np.full(len(selected), 1.03), "v", color=ACCENT, ms=6, clip_on=False, transform=marks)
    by_cluster = X[np.argsort(clusters, kind="stable")][:, _in_order_of_clusters(X, selected, clusters)]
    _show(right, by_cluster, f"{N_SELECTED} columns, 4 groups", "samples by group")
    arrow = {"arrowstyle": "-|>", "color": ACCENT, "lw": 2, "mutation_scale": 18}
    right.annotate("", (-0.05, 0.5), (-0.32, 0.5), "axes fraction", "axes fraction", arrow)
    return figure


def _in_order_of_clusters(X: np.ndarray, selected: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the selected columns in the order of the cluster in which they are highest."""
    means = np.array([X[clusters == label][:, selected].mean(axis=0) for label in range(clusters.max() + 1)])
    return selected[np.argsort(means.argmax(axis=0), kind="stable")]


def _show(axis: Axes, values: np.ndarray, title: str, samples: str) -> None:
    standardized = (values - values.mean(axis=0)) / values.std(axis=0)
    axis.imshow(standardized, cmap=VALUES, vmin=-2.5, vmax=2.5, aspect="auto", interpolation="nearest")
    axis.set_title(title, color=GREY, pad=18, fontsize=15)
    axis.set_xlabel(samples, color=GREY, fontsize=13)
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)


# The taxonomy

HEIGHTS = {"structure": 0.9, "clusters": 0.6, "features": 0.3}
COLORS = {"structure": "#cfe3f5", "clusters": "#fbe3c0", "features": "#d3ecd0"}
BOX = (0.56, 0.13)
INK = "#333333"
FEEDBACK = "#b5342b"
STRUCTURELESS = "*"


class Flow(NamedTuple):
    """An arrow between two boxes: its bend (0 is straight), whether it is feedback, and its shift to the right."""

    start: str
    end: str
    bend: float = 0.0
    back: bool = False
    shift: float = 0.0


class Kind(NamedTuple):
    """A kind of method: its flows, their meaning, and the selectors of that kind."""

    title: str
    meaning: str
    flows: tuple[Flow, ...]
    selectors: tuple[str, ...]


KINDS = (
    Kind(
        "Filter",
        "each feature\nscored alone",
        tuple(Flow("structure", "features", shift=shift) for shift in (-0.18, 0.0, 0.18)),
        ("MaxVariance", "LaplacianScore", "SPEC", "EVSC"),
    ),
    Kind(
        "Embedded, kind 1",
        "features that keep\nthe structure, together",
        (Flow("structure", "features"),),
        ("TraceRatio", "UDFS"),
    ),
    Kind(
        "Embedded, kind 2",
        "features that predict\nclusters found first",
        (Flow("structure", "clusters"), Flow("clusters", "features")),
        ("MCFS", "MRSF", "SPFS", "FSSL", "GLSPFS"),
    ),
    Kind(
        "Embedded, kind 3",
        "clusters and features\nlearned together",
        (
            Flow("structure", "clusters"),
            Flow("clusters", "features", 0.35, shift=-0.12),
            Flow("features", "clusters", 0.35, back=True, shift=0.12),
        ),
        ("JELSR", "NDFS", "RUFS", "CGSSL"),
    ),
    Kind(
        "Embedded, kind 4",
        "structure learned from\nthe features, too",
        (Flow("structure", "clusters"), Flow("clusters", "features"), Flow("features", "structure", 0.42, back=True)),
        ("LLCFS", "FSASL", "KernelFSASL"),
    ),
)


def draw_taxonomy() -> None:
    """Draw all kinds side by side."""
    figure, axes = plt.subplots(1, len(KINDS), figsize=(11.5, 5.2))
    figure.subplots_adjust(left=0.005, right=0.995, top=0.98, bottom=0.06, wspace=0.03)
    for axis, kind in zip(axes, KINDS, strict=True):
        draw_kind(axis, kind)
    note = f"{STRUCTURELESS} uses only the variance of each column, no structure"
    figure.text(0.012, 0.025, note, size=10.5, color=INK)
    # By default matplotlib writes its version to the file, so that equal pictures would differ.
    figure.savefig(IMAGES / "taxonomy.png", dpi=120, metadata={"Software": None})


def draw_kind(axis: Axes, kind: Kind) -> None:
    """Draw the boxes and arrows of one kind, its title above and its selectors below."""
    axis.set(xlim=(0, 1), ylim=(-0.24, 1.22))
    axis.set_axis_off()
    axis.text(0.5, 1.14, kind.title, size=14, weight="bold", color=INK, ha="center", va="bottom")
    axis.text(0.5, 1.0, kind.meaning, size=11, style="italic", color=INK, ha="center", va="bottom")
    for name in dict.fromkeys(box for flow in kind.flows for box in (flow.start, flow.end)):
        draw_box(axis, name)
    for flow in kind.flows:
        draw_flow(axis, flow)
    for line, name in enumerate(kind.selectors):
        label = name + STRUCTURELESS * (name == "MaxVariance")
        axis.text(0.5, 0.15 - 0.075 * line, label, size=12.5, color=INK, ha="center", va="baseline")


def draw_box(axis: Axes, name: str) -> None:
    """Draw a named box at its height."""
    width, height = BOX
    corner = (0.5 - width / 2, HEIGHTS[name] - height / 2)
    rounded = "round,pad=0,rounding_size=0.03"
    axis.add_patch(FancyBboxPatch(corner, width, height, boxstyle=rounded, fc=COLORS[name], ec=INK, lw=1.2))
    axis.text(0.5, HEIGHTS[name], name, size=13, color=INK, ha="center", va="center")


def draw_flow(axis: Axes, flow: Flow) -> None:
    """Draw an arrow, in red if it is feedback."""
    start, end = arrow_ends(flow)
    axis.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=18,
            connectionstyle=f"arc3,rad={flow.bend}",
            lw=2,
            color=FEEDBACK if flow.back else INK,
            shrinkA=0,
            shrinkB=0,
        )
    )


def arrow_ends(flow: Flow) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ends of an arrow: on the sides of the boxes if it passes a third one, else between the boxes."""
    width, height = BOX
    start, end = HEIGHTS[flow.start], HEIGHTS[flow.end]
    if flow.back and flow.end == "structure":
        side = 0.5 + width / 2
        return (side, start), (side, end)
    down = 1.0 if end < start else -1.0
    x = 0.5 + flow.shift
    return (x, start - down * height / 2), (x, end + down * height / 2)


# Speed

TABLES = DOCS.parent / "benchmarks" / "README.md"
PICTURES = {  # a picture and the parts of the page that it shows
    "speed_samples": ("samples", "gpu"),
    "speed_methods": ("methods",),
    "speed_peers": ("plain", "peers"),
}
Rows = list[list[str]]


def draw_speed() -> None:
    """Draw the pictures of speed.md."""
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
    return IMAGES / f"{name}.png"


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
    rows = tables("samples")[0][1:]
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
        [number(row[1]) for row in on_gpu],
        "s-",
        color="C3",
        label="1,000 columns, one H200",
    )
    time.set(xlabel="samples", ylabel="seconds", title="A fit of KernelFSASL")
    time.legend(frameon=False, loc="upper left")
    time.set_ylim(top=3000)
    memory.set(xlabel="samples", ylabel="GB", title="Peak memory (dotted: X itself)")
    return figure


def draw_methods() -> plt.Figure:
    """Seconds of every method at two sizes."""
    figure, axis = plt.subplots(figsize=(9, 6), layout="constrained")
    tall, wide = (
        {row[0]: number(row[1]) for row in rows if re.fullmatch(r"[\d.]+", row[1])} for rows in tables("methods")[:2]
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
    axis.set(xscale="log", xlabel="processor seconds", title="A fit of every method, 50 columns selected")
    axis.legend(frameon=False)
    return figure


def draw_peers() -> plt.Figure:
    """How much longer other implementations take."""
    figure, axis = plt.subplots(figsize=(9, 4.6), layout="constrained")
    plain = [row for row in tables("plain")[0][1:] if row[1] == "ufselect"]
    names = [row[0].partition(" (")[0] for row in tables("plain")[0][1:] if row[1] == "plain"]
    ratios = {f"FSASL from library calls, {name}": number(row[9]) for name, row in zip(names, plain, strict=True)}
    for rows in tables("peers")[:2]:
        name = rows[0][0].partition(" (")[0]
        ratios |= {f"{row[0]} of skfeature, {name}": number(row[4]) for row in rows[1:]}
    for label, ratio in ratios.items():
        axis.plot(ratio, label, "o" if label.endswith("COIL") else "s", color="C0" if "skfeature" in label else "C1")
    axis.axvline(1, color="black", lw=1)
    axis.set_xlim(0.7, 2000)
    axis.set(xscale="log", xlabel="times as long as ufselect", title="Other implementations of the same methods")
    axis.invert_yaxis()
    return figure


if __name__ == "__main__":
    main()
