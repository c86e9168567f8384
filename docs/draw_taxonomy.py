"""Draw docs/images/taxonomy.png: the flow of information in filters and in the four kinds of embedded methods.

The kinds are those of Du and Shen (KDD 2015). Run it from anywhere: ``python docs/draw_taxonomy.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

PICTURE = Path(__file__).parent / "images" / "taxonomy.png"
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
        ("LLCFS", "FSASL"),
    ),
)


def main() -> None:
    """Draw all kinds side by side."""
    figure, axes = plt.subplots(1, len(KINDS), figsize=(11.5, 5.2))
    figure.subplots_adjust(left=0.005, right=0.995, top=0.98, bottom=0.06, wspace=0.03)
    for axis, kind in zip(axes, KINDS, strict=True):
        draw_kind(axis, kind)
    note = f"{STRUCTURELESS} uses only the variance of each column, no structure"
    figure.text(0.012, 0.025, note, size=10.5, color=INK)
    # By default matplotlib writes its version to the file, so that equal pictures would differ.
    figure.savefig(PICTURE, dpi=120, metadata={"Software": None})


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


if __name__ == "__main__":
    main()
