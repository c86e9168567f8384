"""The page in words: the verdict, and for each figure a label and a caption."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ufselect._utils import wording
from ufselect._utils.wording import amount, counted
from ufselect.inspection.requirements import budget_of
from ufselect.report.columns import MOST_CORRELATED, curves_of
from ufselect.report.figures import MOST_CORRELATIONS_SHOWN, Findings, objective_values, unit_of
from ufselect.report.samples import MOST_COLUMNS_COMPARED
from ufselect.report.study import Study


class Verdict(NamedTuple):
    """The two parts of the first sentence, sentences on how sure it is, and sentences on the test."""

    finding: str
    evidence: str
    more: list[str]
    of_test: list[str]


class Caption(NamedTuple):
    """A figure in words: a label for screen readers, how to read it, and what its colours mean at first."""

    label: str
    caption: str
    coloring: str = ""


def percent(share: float) -> str:
    """Return a share as a percentage that no line break can divide."""
    return wording.percent(share, space="\u00a0")


def verdict(study: Study) -> Verdict:
    """Return how many columns are found to share structure, and how many of them are selected."""
    significance = study.significance
    if significance is None:
        finding = f"{len(study.selected_variables):,} of {counted(len(study.best_variables), 'column')} selected"
        return Verdict(finding, ": whether they share structure with others was not tested.", _stability(study), [])
    finding, bracket, evidence = significance.verdict_on(study.best_first[: study.selector.n_features_]).partition(" (")
    sure = [] if study.is_noise else _stability(study)
    return Verdict(finding, bracket + evidence, sure, [significance.procedure, significance.limits])


def _stability(study: Study) -> list[str]:
    """Return a sentence on how stable the selection is."""
    return [] if study.stability is None else [study.stability.sentence]


def facts(study: Study) -> dict[str, str]:
    """Return short facts on the data and the method."""
    found = {
        "Source": study.source,
        "Method": type(study.selector).__name__,
        "Data": f"{counted(study.X.shape[0], 'sample')} × {counted(len(study.best_variables), 'column')}",
    }
    if getattr(study.selector, "n_clusters_", None) is not None:
        found["Clusters"] = f"{study.selector.n_clusters_:,}"
    return found | dict(study.facts)


def of_scores(study: Study) -> Caption:
    """Describe the scores by rank."""
    scores, d, m = study.selector.scores_, study.X.shape[1], study.selector.n_features_
    return Caption(
        f"Line chart of the scores of {counted(d, 'column')} by rank, from {float(scores.max()):.4g} down to "
        f"{float(scores.min()):.4g}; the best {m:,} are selected.",
        "Scores of all columns, best first; the selected ones are left of the dashed line.",
    )


def given_or_learned(study: Study) -> str:
    """Return which structure columns were selected by."""
    return "given" if hasattr(study.selector, "given_structure_") else "learned"


def of_structure(findings: Findings) -> Caption:
    """Describe the alignment with the structure."""
    study, curves = findings.study, curves_of(findings.study)
    assert curves is not None  # otherwise there is no such figure
    highest = int(np.argmax(curves.alignment))
    label = (
        f"Line chart of the alignment of the best columns with the {given_or_learned(study)} structure, up to "
        f"{curves.alignment[highest]:.2f} with {highest + 1:,} of {counted(len(curves.alignment), 'column')}."
    )
    caption = (
        f"How closely the similarities of samples by the best columns match the {given_or_learned(study)} structure: "
        "0 is not at all, 1 exactly. "
    )
    if findings.alignment_of_not_found is not None:
        caption += "The grey line is the mean of as many random columns that were not found."
    elif study.is_noise:
        caption += "No structure was found: columns of noise reach such an alignment, too."
    else:
        caption += "Even columns of noise have some alignment."
    if curves.r2 is not None:
        caption += " R² is that of a linear regression of the embedding on the same columns."
    return Caption(label, caption)


def of_costs(findings: Findings) -> Caption | None:
    """Describe the alignment by cost; None if columns have no costs, or are not selected by alignment."""
    if findings.choices is None:
        return None
    choices, own = findings.choices
    chosen, last, budget = choices[own], choices[-1], budget_of(findings.study.selector)
    within = "" if budget is None else f" within a budget of {amount(budget)}"
    reached = f"{chosen.alignment:.2f} for {amount(chosen.cost)}"
    most = f"{last.alignment:.2f} for {amount(last.cost)}"
    label = f"Line chart of the alignment by cost, up to {most}; the selection has {reached}{within}."
    caption = (
        f"What more money buys: the alignment with the {given_or_learned(findings.study)} structure of the "
        f"{unit_of(findings.study)}s that are best within a budget. The dot is the selection"
    )
    return Caption(label, f"{caption}{'' if budget is None else ', the dashed line its budget'}.")


def of_samples(findings: Findings) -> Caption:
    """Describe the map of the samples."""
    study, shown = findings.study, findings.map
    n, m = study.X.shape[0], study.selector.n_features_
    samples = counted(len(shown.rows), "sample")
    if shown.learned:
        caption = "Each point is a sample in the learned embedding."
    else:
        which = "the selected columns" if m <= MOST_COLUMNS_COMPARED else f"the best {MOST_COLUMNS_COMPARED} columns"
        caption = f"Each point is a sample, positioned by the principal components of {which}."
    if shown.coordinates.shape[1] == 1:
        caption += f" Only {shown.axis} 1 varies; the other axis is the order in the file."
    if shown.outlying.any():
        caption += " Rings at the edge are outliers beyond the axes."
    if len(shown.rows) < n:
        caption += f" {len(shown.rows):,} of {n:,} samples are shown, evenly spaced."
    if study.is_noise:
        coloring = "No clusters are shown because no structure was found."
        return Caption(f"Scatter plot of {samples}.", caption, coloring)
    clusters = counted(shown.n_clusters, "cluster")
    coloring = f"Colours show {clusters} by k-means on these coordinates"
    if getattr(study.selector, "n_clusters_", None) is None:
        coloring += ", their number chosen by the eigengap"
    if len(shown.sizes) != shown.n_clusters:
        coloring += f", merged into {len(shown.sizes)} groups of similar ones"
    return Caption(f"Scatter plot of {samples} in {clusters}.", caption, f"{coloring}; for orientation only.")


def of_markers(findings: Findings) -> Caption | None:
    """Describe the means of columns by cluster; None if there is a single cluster."""
    found = findings.markers
    if found is None:
        return None
    n_selected = len(found.columns) - found.n_controls
    is_all = n_selected == findings.study.selector.n_features_
    which = "the selected columns" if is_all else f"the best {n_selected} columns"
    caption = f"Means of {which} in each cluster of samples, in standard deviations from the mean of all samples."
    if found.n_controls:
        last = "The last row is a column" if found.n_controls == 1 else f"The last {found.n_controls} rows are columns"
        caption += f" {last} not selected, drawn at random for comparison."
    size = f"{counted(len(found.columns), 'column')} in {counted(len(found.clusters), 'group')}"
    return Caption(f"Heat map of the means of {size}.", caption)


def of_redundancy(findings: Findings) -> Caption | None:
    """Describe the correlations of the selected columns; None if there are no pairs."""
    correlations = findings.correlations
    m, known = findings.study.selector.n_features_, len(correlations.values)
    if m == 1:
        return None
    mean = (
        f"The mean absolute correlation of two selected columns is {correlations.mean:.2f}, "
        f"that of two random columns {correlations.of_random_columns:.2f}."
    )
    caption = f"Absolute correlations of the selected columns, similar ones side by side. {mean}"
    if known < m:
        caption += f" Only the best {MOST_CORRELATED:,} columns are compared."
    if correlations.n_samples < findings.study.X.shape[0]:
        caption += f" Computed on {correlations.n_samples:,} evenly spaced samples."
    if known > MOST_CORRELATIONS_SHOWN:
        caption += f" The best {MOST_CORRELATIONS_SHOWN} are shown."
    shown = min(known, MOST_CORRELATIONS_SHOWN)
    return Caption(f"Heat map of the absolute correlations of {shown} selected columns. {mean}", caption)


def of_reconstruction(findings: Findings) -> str:
    """Return how well the selected columns predict the others; empty if that is not known."""
    found, study = findings.reconstruction, findings.study
    if found is None or not len(found.predicted):
        return ""
    return found.sentences(study.column_names)[0]


def of_convergence(study: Study) -> Caption | None:
    """Describe the objective by iteration; None if the method does not iterate more than once."""
    values = objective_values(study)
    if values is None or len(values) == 1:
        return None
    first, last = values[0], values[-1]
    course = f" from {first:.4g} to {last:.4g}" if first is not None and last is not None else ""
    caption = "The objective that the method minimises, after each iteration."
    if hasattr(study.selector, "orthogonality_history_"):
        caption += " It jumps each time the method increases the penalty that separates the clusters."
    elif getattr(study.selector, "recalibrate", False):
        caption += " It may also increase, because its weights are updated in every iteration."
    return Caption(f"Line chart of the objective over {counted(len(values), 'iteration')}{course}.", caption)


def of_image(study: Study) -> Caption | None:
    """Describe the image; None if the columns are not pixels."""
    if study.image is None:
        return None
    height, width = study.image
    m = study.selector.n_features_
    return Caption(
        f"Image of {height} × {width} pixels: the mean of all samples in grey, and {m:,} selected pixels in colour.",
        "The mean of all samples in grey, and the selected pixels in colour: the stronger the colour, the better the "
        "rank.",
    )


def of_spectrum(study: Study) -> Caption | None:
    """Describe the mean spectrum; None if the order of the columns has no meaning."""
    if not study.ordered:
        return None
    m = study.selector.n_features_
    return Caption(
        f"Line chart of the means of {counted(study.X.shape[1], 'column')} in their order; {m:,} of them are selected.",
        "Mean and standard deviation of each column, in the order of the file; vertical lines mark the selected "
        "columns.",
    )
