"""The words of the page: the verdict, and for each figure a label and a caption."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ufselect._utils import wording
from ufselect._utils.wording import counted
from ufselect.inspection import StructureTest, alignment_of_selection
from ufselect.report.content import MOST_CORRELATIONS_SHOWN, Findings, objective_values
from ufselect.report.features import MOST_CORRELATED, best_first, curves_of
from ufselect.report.samples import MOST_COLUMNS_COMPARED
from ufselect.report.study import Study


class Verdict(NamedTuple):
    """What was found, the evidence for it, and sentences on how sure it is."""

    finding: str
    evidence: str
    more: list[str]


class Words(NamedTuple):
    """A figure in words: a label for screen readers, and a caption on how to read it."""

    label: str
    caption: str
    coloring: str = ""
    """What the colours mean until another column is chosen."""


def verdict(study: Study) -> Verdict:
    """Return what was found, and how much better it is than chance."""
    chosen = f"{study.selector.n_features_:,} of {counted(study.X.shape[1], 'column')}"
    if study.test is not None:
        return _tested(study, study.test, chosen)
    if curves_of(study) is None:
        return Verdict(f"{chosen} selected", _no_structure(study), _stability(study))
    return Verdict(f"{chosen} selected", "whether they carry any structure was not tested", _stability(study))


def _tested(study: Study, test: StructureTest, chosen: str) -> Verdict:
    n, fitted = study.X.shape[0], alignment_of_selection(study.selector) or test.observed
    other = test.why_other_than(fitted, n)
    by_chance = f"{test.mean:.2f}\u00a0±\u00a0{round(test.spread, 3):.1g}"
    if not test.found:
        evidence = (
            f"the selected columns agree with what was learned from them no better than shuffled columns do "
            f"({f'{other} ' if other else ''}{test.observed:.2f} against {by_chance}, p\u00a0=\u00a0{test.p_value:.2g})"
        )
        finding = f"No structure was found in {counted(study.X.shape[1], 'column')}"
        too_few = "may be arbitrary, or the samples tested are too few to see a structure"
        doubt = too_few if 0 < test.n_samples < n else "is arbitrary"
        return Verdict(finding, evidence, [f"The selection of {chosen} {doubt}."])
    probability = "p\u00a0<\u00a00.001" if test.p_value < 0.001 else f"p\u00a0=\u00a0{test.p_value:.2g}"
    tested_one = f"; {other} {test.observed:.2f}" if other else ""
    evidence = f"agreement {fitted:.2f} of 1{tested_one}, against {by_chance} for shuffled columns ({probability})"
    verb = "carries" if study.X.shape[1] == 1 else "carry"
    return Verdict(f"{chosen} {verb} the structure of the data", evidence, _stability(study))


def _stability(study: Study) -> list[str]:
    """Return a sentence on how many of the selected columns are selected again from subsets of the samples."""
    if study.stability is None:
        return []
    m, d = study.selector.n_features_, study.X.shape[1]
    again = float(study.stability[best_first(study)[:m]].mean())
    return [
        f"From random subsets of {study.subsets}, {percent(again)} of them are selected again; "
        f"of random choices it would be {percent(m / d)}."
    ]


def _no_structure(study: Study) -> str:
    return f"{type(study.selector).__name__} learns no structure that they could be tested against"


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
    return found | dict(study.facts)


def of_scores(study: Study) -> Words:
    """Describe the scores by rank."""
    selector = study.selector
    d, m = study.X.shape[1], selector.n_features_
    highest, lowest = float(selector.scores_.max()), float(selector.scores_.min())
    return Words(
        f"Line chart of the scores of {counted(d, 'column')} by rank, from {highest:.4g} down to {lowest:.4g}; "
        f"the best {m:,} are selected.",
        "The scores of all columns, best first; the dashed line marks the cut.",
    )


def of_structure(findings: Findings) -> Words:
    """Describe the agreement with the learned structure."""
    study = findings.study
    curves = curves_of(study)
    assert curves is not None  # otherwise there is no such figure
    count, highest = len(curves.agreement), int(np.argmax(curves.agreement))
    label = (
        "Line chart of the agreement of the best columns with the learned structure, up to "
        f"{curves.agreement[highest]:.2f} with {highest + 1:,} of {counted(count, 'column')}."
    )
    caption = (
        "How far samples look alike by the best columns as by the learned structure: 0 is not at all, 1 exactly. "
        f"{_on_the_band(study)}"
    )
    if curves.r2 is not None:
        caption += " R² is that of a linear regression of the embedding on the same columns."
    return Words(label, caption)


def _on_the_band(study: Study) -> str:
    test = study.test
    if test is None or not test.curves.size:
        return "It was not tested against shuffled columns, and columns of noise agree to some extent, too."
    band = f"The grey band is the range of {len(test.curves)} fits to columns shuffled one by one"
    if 0 < test.n_samples < study.X.shape[0]:
        band += f", on {test.n_samples:,} samples; the thin line is that of the data on these samples"
    if study.is_noise:
        return f"{band}. The line is not above the band: there is no structure to agree with."
    return f"{band}: only what rises above it is structure."


def of_samples(findings: Findings) -> Words:
    """Describe the map of the samples."""
    study, shown = findings.study, findings.map
    n = study.X.shape[0]
    caption = _positions(findings)
    if shown.outlying.any():
        caption += " Rings at the edge are samples far outside."
    if len(shown.rows) < n:
        caption += f" {len(shown.rows):,} of {n:,} samples are shown, evenly spaced."
    if study.is_noise:
        label = f"Scatter plot of {counted(len(shown.rows), 'sample')}."
        return Words(label, caption, "No clusters are shown, as there is no structure: any shape is that of noise.")
    label = f"Scatter plot of {counted(len(shown.rows), 'sample')} in {counted(shown.n_clusters, 'cluster')}."
    return Words(label, caption, _coloring(findings))


def of_markers(findings: Findings) -> Words | None:
    """Describe the means of columns by cluster; None if there is a single cluster."""
    found = findings.markers
    if found is None:
        return None
    n_selected = len(found.columns) - found.n_controls
    m = findings.study.selector.n_features_
    which = "the selected columns" if n_selected == m else f"the best {n_selected} columns"
    caption = f"Means of {which} in each cluster of samples, in standard deviations from the mean of all samples."
    if found.n_controls:
        few = "The last row is a column" if found.n_controls == 1 else f"The last {found.n_controls} rows are columns"
        caption += f" {few} left out, chosen at random, for comparison."
    label = (
        f"Heat map of the means of {counted(len(found.columns), 'column')} in {counted(len(found.clusters), 'group')}."
    )
    return Words(label, caption)


def of_redundancy(findings: Findings) -> Words | None:
    """Describe the correlations of the selected columns; None if there are no pairs."""
    correlations = findings.correlations
    m, known = findings.study.selector.n_features_, len(correlations.values)
    if m == 1:
        return None
    mean = (
        f"The mean absolute correlation of two selected columns is {correlations.mean:.2f}, "
        f"that of two random columns {correlations.of_random_columns:.2f}."
    )
    caption = f"How much the selected columns repeat each other, similar ones together. {mean}"
    if known < m:
        caption += f" Only the best {MOST_CORRELATED:,} columns are compared."
    if correlations.n_samples < findings.study.X.shape[0]:
        caption += f" Computed on {correlations.n_samples:,} samples, evenly spaced."
    if known > MOST_CORRELATIONS_SHOWN:
        caption += f" The best {MOST_CORRELATIONS_SHOWN} are shown."
    shown = min(known, MOST_CORRELATIONS_SHOWN)
    return Words(f"Heat map of the absolute correlations of {shown} selected columns. {mean}", caption)


def of_convergence(study: Study) -> Words | None:
    """Describe the objective by iteration; None if the method does not iterate more than once."""
    values = objective_values(study)
    if values is None or len(values) == 1:
        return None
    first, last = values[0], values[-1]
    course = f" from {first:.4g} to {last:.4g}" if first is not None and last is not None else ""
    return Words(
        f"Line chart of the objective over {counted(len(values), 'iteration')}{course}.",
        "The objective that the method minimises, after each iteration." + _why_it_may_rise(study),
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


def of_spectrum(study: Study) -> Words | None:
    """Describe the mean spectrum; None if the order of the columns has no meaning."""
    if not study.ordered:
        return None
    m = study.selector.n_features_
    return Words(
        f"Line chart of the means of {counted(study.X.shape[1], 'column')} in their order; {m:,} of them are selected.",
        "The mean of every column, in the order of the file, and one standard deviation around it. "
        "Vertical lines are the selected columns.",
    )


def percent(share: float) -> str:
    """Return a share as a percentage that no line break can divide."""
    return wording.percent(share, space="\u00a0")


def _positions(findings: Findings) -> str:
    study, shown = findings.study, findings.map
    if shown.learned:
        position = "Every point is a sample in the learned embedding"
    else:
        m = study.selector.n_features_
        which = "the selected columns" if m <= MOST_COLUMNS_COMPARED else f"the best {MOST_COLUMNS_COMPARED} columns"
        position = f"Every point is a sample, placed by the principal components of {which}"
    if shown.coordinates.shape[1] == 1:
        return f"{position}. Only {shown.axis} 1 tells samples apart; the other axis is the order in the file."
    return f"{position}."


def _coloring(findings: Findings) -> str:
    study, shown = findings.study, findings.map
    given = getattr(study.selector, "n_clusters_", None) is not None
    how = "" if given else ", as many as the eigengap suggests"
    grouped = "" if len(shown.sizes) == shown.n_clusters else f", joined to {len(shown.sizes)} groups of similar ones"
    clusters = f"{counted(shown.n_clusters, 'cluster')} by k-means on these coordinates{how}{grouped}"
    return f"Colours show {clusters}; only for looking."


def _why_it_may_rise(study: Study) -> str:
    if hasattr(study.selector, "orthogonality_history_"):
        return " It jumps each time the method increases the penalty that separates the clusters."
    if getattr(study.selector, "recalibrate", False):
        return " It may also rise, because its weights are updated in every iteration."
    return ""
