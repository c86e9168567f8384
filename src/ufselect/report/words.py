"""The words of the page: the headline, and for each figure a label and a caption."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ufselect._backend import wording
from ufselect._backend.wording import counted
from ufselect.report.content import MOST_CORRELATIONS_SHOWN, Findings, objective_values
from ufselect.report.features import MOST_CORRELATED, curves_of
from ufselect.report.samples import MOST_COLUMNS_COMPARED, N_NEIGHBORS
from ufselect.report.study import Study


class Words(NamedTuple):
    """A figure in words: a label for screen readers, and a caption on how to read it."""

    label: str
    caption: str
    coloring: str = ""
    """What the colours mean until another column is chosen."""


def headline(study: Study) -> str:
    """Return the number of selected columns."""
    return f"{study.selector.n_features_:,} of {counted(study.X.shape[1], 'column')} selected"


def facts(findings: Findings) -> dict[str, str]:
    """Return short facts on the data and the method."""
    study = findings.study
    n, d = study.X.shape
    found = {
        "Source": study.source,
        "Method": type(study.selector).__name__,
        "Data": f"{counted(n, 'sample')} × {counted(d, 'column')}",
    }
    if getattr(study.selector, "n_clusters_", None) is not None:
        found["Clusters"] = f"{study.selector.n_clusters_:,}"
    curves = curves_of(study)
    if curves is not None:
        found["Agreement"] = f"{curves.of_selected(study.selector.n_features_):.2f} of 1"
    return found | dict(study.facts)


def of_scores(study: Study) -> Words:
    """Describe the scores by rank."""
    selector = study.selector
    d, m = study.X.shape[1], selector.n_features_
    highest, lowest = float(selector.scores_.max()), float(selector.scores_.min())
    return Words(
        f"Line chart of the scores of {counted(d, 'column')} by rank, from {highest:.4g} down to {lowest:.4g}; "
        f"the best {m:,} are selected.",
        f"The scores of all columns, best first. The dashed line marks the cut after rank {m:,}: a steep fall before "
        "it means that a few columns carry most of the information.",
    )


def of_structure(study: Study) -> Words | None:
    """Describe the agreement with the learned structure; None if the method learns no embedding."""
    curves = curves_of(study)
    if curves is None:
        return None
    count, highest = len(curves.agreement), int(np.argmax(curves.agreement))
    label = (
        "Line chart of the agreement of the best columns with the learned structure, up to "
        f"{curves.agreement[highest]:.2f} with {highest + 1:,} of {counted(count, 'column')}."
    )
    caption = (
        "Agreement of the best columns with the learned structure: 1 if the samples look alike by these columns "
        "exactly as they do by the structure, 0 if the two have nothing in common. It can fall with further columns. "
        "Columns of noise agree to some extent, too, because the structure is learned from them: what counts is the "
        "difference from shuffled columns."
    )
    if curves.r2 is not None:
        caption += " R² is that of a linear regression of the learned embedding on the same columns."
    return Words(label, caption)


def no_structure(study: Study) -> str:
    """Explain why there is no agreement to show."""
    return (
        f"{type(study.selector).__name__} learns no embedding of the samples, so there is no structure that the "
        "selected columns could agree with."
    )


def of_samples(findings: Findings) -> Words:
    """Describe the map of the samples."""
    study, shown = findings.study, findings.map
    n = study.X.shape[0]
    caption = _positions(findings)
    if len(shown.rows) < n:
        caption += f" {len(shown.rows):,} of {n:,} samples are shown, evenly spaced."
    label = f"Scatter plot of {counted(len(shown.rows), 'sample')} in {counted(shown.n_clusters, 'cluster')}."
    return Words(label, caption, _coloring(study, shown.n_clusters))


def of_blocks(findings: Findings) -> Words:
    """Describe the neighbour graph."""
    blocks = findings.blocks
    if blocks.learned:
        graph = "the neighbours that the method has learned"
    else:
        graph = f"the {N_NEIGHBORS} nearest neighbours by {_compared_columns(findings.study)}"
    within = (
        f"{percent(blocks.within)} of the weight of all neighbours is within clusters; "
        f"for random neighbours it would be {percent(blocks.by_chance)}."
    )
    caption = (
        f"Samples sorted by cluster, from left to right and from top to bottom, and {graph}: filled squares along "
        f"the diagonal are groups of samples whose neighbours are in the same group. {within}"
    )
    if blocks.n_samples < findings.study.X.shape[0]:
        caption += f" Computed on {blocks.n_samples:,} samples, evenly spaced."
    return Words(f"Heat map of the neighbour graph. {within}", caption)


def of_redundancy(findings: Findings) -> Words:
    """Describe the correlations of the selected columns."""
    correlations = findings.correlations
    m, known = findings.study.selector.n_features_, len(correlations.values)
    if m == 1:
        return Words("", "Only one column is selected, so there are no pairs to compare.")
    mean = f"The mean absolute correlation of two selected columns is {correlations.mean:.2f}."
    caption = f"How much the selected columns repeat each other: 0 means no linear relation, 1 a perfect one. {mean}"
    if known < m:
        caption += f" Only the best {MOST_CORRELATED:,} columns are compared."
    if correlations.n_samples < findings.study.X.shape[0]:
        caption += f" Computed on {correlations.n_samples:,} samples, evenly spaced."
    if known > MOST_CORRELATIONS_SHOWN:
        caption += f" The best {MOST_CORRELATIONS_SHOWN} are shown."
    shown = min(known, MOST_CORRELATIONS_SHOWN)
    return Words(f"Heat map of the absolute correlations of {shown} selected columns. {mean}", caption)


def of_convergence(study: Study) -> Words | None:
    """Describe the objective by iteration; None if the method does not iterate."""
    values = objective_values(study)
    if values is None:
        return None
    if len(values) == 1:
        return Words("", f"{type(study.selector).__name__} made a single iteration.")
    first, last = values[0], values[-1]
    course = f" from {first:.4g} to {last:.4g}" if first is not None and last is not None else ""
    return Words(
        f"Line chart of the objective over {counted(len(values), 'iteration')}{course}.",
        "The objective that the method minimises, after each iteration. A flat line means that it has converged."
        + _why_it_may_rise(study),
    )


def of_image(study: Study) -> Words | None:
    """Describe the image; None if the columns are not pixels."""
    if study.image is None:
        return None
    height, width = study.image
    m = study.selector.n_features_
    return Words(
        f"Image of {height} × {width} pixels: the mean of all samples in gray, and {m:,} selected pixels in colour.",
        "The mean of all samples in gray, and the selected pixels in colour: stronger colours are better ranks.",
    )


def percent(share: float) -> str:
    """Return a share as a percentage that no line break can divide."""
    return wording.percent(share, digits=1, space="\u00a0")


def _compared_columns(study: Study) -> str:
    m = study.selector.n_features_
    return "the selected columns" if m <= MOST_COLUMNS_COMPARED else f"the best {MOST_COLUMNS_COMPARED} columns"


def _positions(findings: Findings) -> str:
    study, shown = findings.study, findings.map
    if not shown.learned:
        position = (
            f"{type(study.selector).__name__} learns no embedding; every point is a sample, placed by the principal "
            f"components of {_compared_columns(study)}"
        )
    else:
        position = "Every point is a sample in the learned embedding"
    if shown.coordinates.shape[1] == 1:
        return (
            f"{position}. Only {shown.axis} 1, initially the horizontal axis, shows similarity; the other axis is the "
            "order in the file."
        )
    return f"{position}: samples close to each other are similar."


def _why_it_may_rise(study: Study) -> str:
    if hasattr(study.selector, "orthogonality_history_"):
        return " It jumps each time the method increases the penalty that separates the clusters."
    if getattr(study.selector, "recalibrate", False):
        return " It may also rise, because its weights are updated in every iteration."
    return ""


def _coloring(study: Study, n_clusters: int) -> str:
    how = "" if getattr(study.selector, "n_clusters_", None) is not None else ", the number with the largest silhouette"
    return f"Colours and shapes show {counted(n_clusters, 'cluster')} by k-means on these coordinates{how}."
