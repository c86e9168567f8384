"""What the page says beside its drawings: the headline, and for each figure a label and a caption."""

from __future__ import annotations

from typing import NamedTuple

from ufselect.report.content import MOST_CORRELATIONS_SHOWN, Findings, objective_steps
from ufselect.report.features import MOST_CORRELATED, share_kept, structure_curve
from ufselect.report.samples import MOST_COLUMNS_COMPARED, N_NEIGHBORS
from ufselect.report.study import Study


class Words(NamedTuple):
    """A figure in words: what it shows, for those who do not see it, and how to read it."""

    label: str
    caption: str
    coloring: str = ""
    """What the colours are until others are chosen."""


def headline(study: Study) -> str:
    """How many columns were selected."""
    return f"{study.selector.n_features_:,} of {counted(study.X.shape[1], 'column')} selected"


def facts(findings: Findings) -> dict[str, str]:
    """What was selected of what, and how."""
    study = findings.study
    n, d = study.X.shape
    found = {
        "Source": study.source,
        "Method": type(study.selector).__name__,
        "Data": f"{counted(n, 'sample')} × {counted(d, 'column')}",
    }
    if hasattr(study.selector, "n_clusters_"):
        found["Clusters"] = f"{study.selector.n_clusters_:,}"
    kept = share_kept(study)
    if kept is not None:
        found["Structure kept"] = percent(kept)
    return found | dict(study.facts)


def of_scores(study: Study) -> Words:
    """The scores by rank."""
    selector = study.selector
    d, m = study.X.shape[1], selector.n_features_
    highest, lowest = float(selector.scores_.max()), float(selector.scores_.min())
    return Words(
        f"Line of the scores of {counted(d, 'column')} by rank, from {highest:.4g} down to {lowest:.4g}; "
        f"the best {m:,} are selected.",
        f"Every column has a score, and the best come first. The dashed line is the cut after rank {m:,}: a steep fall "
        "before it says that few columns carry most of the information.",
    )


def of_structure(study: Study) -> Words | None:
    """The structure curve, None for a method that learns no embedding."""
    curve = structure_curve(study)
    if curve is None:
        return None
    label = f"Rising line of the share of structure that the best columns explain, up to {percent(float(curve[-1]))}"
    caption = (
        "How much of the structure that the method found among the samples the best columns explain together. "
        "Where the line turns flat, further columns add little."
    )
    if study.selector.get_params().get("n_features_to_select") == "auto":
        caption += " The number was chosen as the fewest columns that explain 95\u00a0% of what all columns explain."
    return Words(f"{label} with {counted(len(curve), 'column')}.", caption)


def no_structure(study: Study) -> str:
    """Why there is no structure curve."""
    return (
        f"{type(study.selector).__name__} learns no embedding of the samples, so there is no share of it that the "
        "selected columns could explain."
    )


def of_samples(findings: Findings) -> Words:
    """The map of the samples."""
    study, shown = findings.study, findings.map
    n = study.X.shape[0]
    caption = _where_placed(findings)
    if len(shown.rows) < n:
        caption += f" Of {n:,} samples, {len(shown.rows):,} are shown, evenly spaced."
    label = f"Scatter plot of {counted(len(shown.rows), 'sample')} in {counted(shown.n_clusters, 'cluster')}."
    return Words(label, caption, _how_clustered(study, shown.n_clusters))


def of_blocks(findings: Findings) -> Words:
    """The neighbour graph."""
    blocks = findings.blocks
    if blocks.learned:
        graph = "the neighbours that the method has learned"
    else:
        graph = f"the {N_NEIGHBORS} nearest neighbours by {_compared_columns(findings.study)}"
    within = (
        f"{percent(blocks.within)} of the weight of neighbours is inside clusters; "
        f"neighbours drawn at random would give {percent(blocks.by_chance)}."
    )
    caption = (
        f"Samples in the order of their clusters, from the left and from the top, and {graph}: filled squares along "
        f"the diagonal are groups of samples that keep to themselves. {within}"
    )
    if blocks.n_samples < findings.study.X.shape[0]:
        caption += f" Among {blocks.n_samples:,} of the samples, evenly spaced."
    return Words(f"Heat map of who is whose neighbour. {within}", caption)


def of_redundancy(findings: Findings) -> Words:
    """The correlations of the selected columns."""
    correlations = findings.correlations
    m, known = findings.study.selector.n_features_, len(correlations.values)
    if m == 1:
        return Words("", "Only one column was selected, so none repeats another.")
    mean = f"The mean absolute correlation of two selected columns is {correlations.mean:.2f}."
    caption = (
        "How far selected columns repeat each other: 0 means no linear relation, 1 that one tells the other exactly. "
        f"{mean}"
    )
    if known < m:
        caption += f" Correlations are those of the best {MOST_CORRELATED:,} columns."
    if correlations.n_samples < findings.study.X.shape[0]:
        caption += f" They are computed over {correlations.n_samples:,} samples, evenly spaced."
    if known > MOST_CORRELATIONS_SHOWN:
        caption += f" The best {MOST_CORRELATIONS_SHOWN} are drawn."
    shown = min(known, MOST_CORRELATIONS_SHOWN)
    return Words(f"Heat map of the absolute correlations of {shown} selected columns. {mean}", caption)


def of_convergence(study: Study) -> Words | None:
    """The objective by iteration, None for a method without one."""
    steps = objective_steps(study)
    if steps is None:
        return None
    if len(steps) == 1:
        return Words("", f"{type(study.selector).__name__} made a single iteration.")
    first, last = steps[0][-1], steps[-1][-1]
    course = f" from {first:.4g} to {last:.4g}" if first is not None and last is not None else ""
    return Words(
        f"Line of the objective over {counted(len(steps), 'iteration')}{course}.",
        "What the method makes small, after each of its iterations. Once the line is flat, the result has settled."
        + _why_it_may_rise(study),
    )


def of_image(study: Study) -> Words | None:
    """The picture, None where the columns are no pixels."""
    if study.image is None:
        return None
    height, width = study.image
    m = study.selector.n_features_
    return Words(
        f"Picture of {height} × {width} pixels: the mean of all samples in gray, and {m:,} selected pixels in colour.",
        "In gray the mean of all samples; in colour the selected pixels, the better the stronger.",
    )


def counted(count: int, noun: str) -> str:
    """A number and a noun, in the plural where it has to be."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    """A share in percent, with one digit."""
    return f"{100 * share:.1f}\u00a0%"


def _compared_columns(study: Study) -> str:
    m = study.selector.n_features_
    return "the selected columns" if m <= MOST_COLUMNS_COMPARED else f"the best {MOST_COLUMNS_COMPARED} columns"


def _where_placed(findings: Findings) -> str:
    study, shown = findings.study, findings.map
    if not shown.learned:
        place = (
            f"{type(study.selector).__name__} learns no embedding; every point is a sample, placed by the principal "
            f"components of {_compared_columns(study)}"
        )
    else:
        place = "Every point is a sample, placed where the method has put it"
    if shown.coordinates.shape[1] == 1:
        return (
            f"{place}. Only {shown.axis} 1, at first the horizontal place, says who is alike; the other axis is the "
            "order in the file."
        )
    return f"{place}: near each other means alike."


def _why_it_may_rise(study: Study) -> str:
    if hasattr(study.selector, "orthogonality_history_"):
        return " It jumps where the method begins to ask more strictly for separate clusters."
    if getattr(study.selector, "recalibrate", False):
        return " It may also rise, for its weights are set anew in every iteration."
    return ""


def _how_clustered(study: Study, n_clusters: int) -> str:
    how = "" if hasattr(study.selector, "n_clusters_") else ", their number the one that sets them most apart"
    return f"Colours and shapes are {counted(n_clusters, 'cluster')} by k-means on these places{how}."
