"""The data of all figures, as one dictionary of plain values for the scripts of the page."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._utils.types import Float, Indices
from ufselect._utils.wording import percent
from ufselect.columns.moments import column_moments
from ufselect.columns.tabular import dense_part
from ufselect.inspection import Reconstruction, gains_of
from ufselect.inspection.budgets import ChoiceForBudget
from ufselect.inspection.requirements import better_choices, budget_of, called, costs_of
from ufselect.report.columns import (
    Correlations,
    Markers,
    Substitutes,
    alignment_of_all,
    alignment_of_not_found,
    curves_of,
    explanations,
    histograms,
    markers,
    near_copies,
    reconstruction_of_selected,
    selected_correlations,
    substitutes_of,
    ties_of,
    what_they_stand_for,
)
from ufselect.report.samples import Map, map_of_samples, robust_ranges
from ufselect.report.study import Study, part_of
from ufselect.report.template import packed, packed_range, packed_shares, plain_numbers

MOST_CORRELATIONS_SHOWN = 150
GROUPS_LISTED_WITH_A_SAMPLE = 3
_MOST_COLORS = 20
_MOST_GROUPS = 20
_MOST_NAMED = 8
_MOST_VALUES = 2_000_000
_NO_VALUE = "no value"


@dataclass(frozen=True)
class Findings:
    """What is computed from a study for both the figures and their captions."""

    study: Study
    map: Map
    markers: Markers | None
    correlations: Correlations
    substitutes: Substitutes
    near_copies: dict[int, tuple[int, float]]
    alignment_of_all: float | None
    alignment_of_not_found: Float | None
    reconstruction: Reconstruction | None
    choices: tuple[list[ChoiceForBudget], int] | None

    @classmethod
    def of(cls, study: Study) -> Findings:
        """Compute the findings."""
        shown, correlations, substitutes = map_of_samples(study), selected_correlations(study), substitutes_of(study)
        alike = near_copies(study, correlations, substitutes)
        aligned = alignment_of_all(study), alignment_of_not_found(study)
        predicted = reconstruction_of_selected(study)
        choices = better_choices(study.selector, study.X)
        return cls(study, shown, markers(study, shown), correlations, substitutes, alike, *aligned, predicted, choices)


def data_of_figures(findings: Findings) -> dict[str, Any]:
    """Return the data of all figures, by section of the page."""
    study, correlations = findings.study, findings.correlations
    size = min(len(correlations.values), MOST_CORRELATIONS_SHOWN)
    stem = re.sub(r"[^\w.-]+", "-", PurePath(study.source).stem, flags=re.ASCII).strip("-.")
    return {
        "download": f"{stem[:80] or 'columns'}-ranking.csv",
        "features": _features(findings),
        "curves": _curves(findings),
        "costs": _costs(findings),
        "samples": _samples(findings),
        "markers": _markers(findings),
        "correlations": {
            "size": size,
            "values": packed_shares(correlations.values[:size, :size]),
            "similar": correlations.ordered_by_similarity(size).tolist(),
        },
        "objective": objective_values(study),
        "image": _image(study),
        "spectrum": _spectrum(study),
    }


def objective_values(study: Study) -> list[float | None] | None:
    """Return the objective after each iteration; None if the method does not iterate."""
    history = getattr(study.selector, "objective_history_", None)
    if history is None or len(history) == 0:
        return None
    return plain_numbers(np.asarray(history, dtype=np.float64))


def _features(findings: Findings) -> dict[str, Any]:
    """Return names and scores, best first, and what is known of the variables that they encode."""
    study = findings.study
    order, names, rows = study.best_first, study.column_names, study.best_variables
    best = order[[ranks[0] for _, ranks in rows]]  # column of each variable
    roles = {str(each.name): str(each.role) for each in study.roles if each.is_feature}
    distributions, gains, stability = histograms(study), gains_of(study.selector), study.stability
    number, alike = study.variable_of_rank, findings.near_copies
    return {
        "selected": int(study.selector.n_features_),
        "names": [names[column] for column in order],
        "scores": plain_numbers(study.selector.scores_[order]),
        "stability": None if stability is None else _rounded(stability.frequencies[best]),
        "stabilityByChance": None if stability is None else stability.frequency_by_chance,
        "subsets": None if stability is None else stability.subsets,
        "gains": None if gains is None else _rounded(gains),
        "costs": _costs_of_variables(study),
        "variables": _variables(study, gains),
        "significance": _significance(study, best),
        "missing": None if study.missing is None or not study.missing.any() else _rounded(study.missing[best]),
        # Bars from 0 to 255, of which those that are not empty stay visible
        "histograms": [
            each
            and packed(
                np.where(each.counts > 0, np.maximum(np.rint(255 * each.counts / each.counts.max()), 12), 0), "u1"
            )
            for each in distributions
        ],
        "ranges": [each and [each.low, each.high] for each in distributions],
        "distinct": [
            each.distinct if each else len(ranks) for each, (_, ranks) in zip(distributions, rows, strict=False)
        ],
        "r2": _r2(findings, best, [len(ranks) for _, ranks in rows]),
        "standsFor": what_they_stand_for(study, findings.substitutes),
        "alike": {
            i: (number[alike[ranks[0]][0]], alike[ranks[0]][1])
            for i, (_, ranks) in enumerate(rows)
            if len(ranks) == 1 and ranks[0] in alike
        },
        "ties": [(number[i], number[j]) for i, j in ties_of(study) if number[i] < number[j]],
        "roles": [roles.get(name) for name, _ in rows] if roles else None,
        "copies": [int(study.selector.copies_[column]) >= 0 for column in best],
        "explanations": explanations(study),
    }


def _costs_of_variables(study: Study) -> list[float | None] | None:
    """Return what the variables cost, best first, a group beside its best one; None if there are no costs."""
    costs = costs_of(study.selector)
    if costs is None:
        return None
    of_variables = [np.fmax.reduce(costs[study.best_first[ranks]]) for _, ranks in study.best_variables]
    return _rounded(np.array(of_variables))


def _variables(study: Study, gains: Float | None) -> dict[str, Any] | None:
    """Return what the table shows of variables instead of their columns, best first; None if each is one column."""
    if study.variables is None:
        return None
    names, rows = [study.column_names[column] for column in study.best_first], study.best_variables
    levels = [
        [names[rank].removeprefix(f"{name}=") for rank in ranks] if len(ranks) > 1 else None for name, ranks in rows
    ]
    scores, sums = study.selector.scores_[study.best_first], None
    if gains is not None:
        on_curve = (np.array(ranks) for _, ranks in rows if ranks[0] < len(gains))
        sums = _rounded(np.array([gains[ranks[ranks < len(gains)]].sum() for ranks in on_curve]))
    return {
        "names": [name for name, _ in rows],
        "ranks": [ranks[0] for _, ranks in rows],
        "levels": levels,
        "selected": len(study.selected_variables),
        "scores": plain_numbers(np.array([scores[ranks].max() for _, ranks in rows])),
        "gains": sums,
    }


def _r2(findings: Findings, order: Indices, widths: Sequence[int]) -> list[float | None] | None:
    """Return R² of columns: of the selected ones by the others of them; None for levels, which tell each other."""
    found = findings.reconstruction
    if found is None:
        return None
    r2 = found.r2.copy()
    r2[found.columns] = found.r2_within
    return _rounded(np.where(np.array(widths) > 1, np.nan, r2[order]))


def _significance(study: Study, order: Indices) -> dict[str, Any] | None:
    """Return the q-values of columns, and whether they were tested and found."""
    tested = study.significance
    if tested is None:
        return None
    return {
        "rate": percent(tested.fdr),
        "q": [float(f"{q:.4g}") for q in tested.q_values[order]],
        "found": packed(tested.found[order], "u1"),
        "tested": packed(tested.tested[order] | (study.selector.copies_[order] >= 0), "u1"),
    }


def _curves(findings: Findings) -> dict[str, Any] | None:
    curves, not_found = curves_of(findings.study), findings.alignment_of_not_found
    if curves is None:
        return None
    return {
        "alignment": plain_numbers(curves.alignment),
        "r2": None if curves.r2 is None else plain_numbers(curves.r2),
        "notFound": None if not_found is None else _rounded(not_found),
        "all": findings.alignment_of_all,
    }


def _costs(findings: Findings) -> dict[str, Any] | None:
    """Return the choices for budgets by their cost; None if columns have no costs."""
    if findings.choices is None:
        return None
    (choices, own), selector = findings.choices, findings.study.selector
    names = findings.study.variables or findings.study.column_names
    return {
        "costs": _rounded(np.array([each.cost for each in choices])),
        "alignment": _rounded(np.array([each.alignment for each in choices])),
        "chosen": own,
        "budget": budget_of(selector),
        "counts": [each.n_selected for each in choices],
        "columns": [called(selector, each.selected[:_MOST_NAMED], names) for each in choices],
        "unit": unit_of(findings.study),
    }


def unit_of(study: Study) -> str:
    """Return what is selected as a whole: columns, or groups of them."""
    groups = getattr(study.selector, "groups_", None)
    return "column" if groups is None or len(set(groups)) == len(study.best_variables) else "group"


def _rounded(values: Float) -> list[float | None]:
    return plain_numbers(np.asarray(values, dtype=np.float64).round(6))


def _samples(findings: Findings) -> dict[str, Any]:
    shown, study = findings.map, findings.study
    any_outlying, several = shown.outlying.any(), len(shown.sizes) > 1
    clusters = _group("Cluster", shown.group_names, shown.clusters, listed=several, colors=True)
    return {
        "count": len(shown.rows),
        "rows": None if len(shown.rows) == study.X.shape[0] else packed(shown.rows, "u4"),
        "labels": None if study.samples is None else [study.samples[row] for row in shown.rows],
        "axes": [packed_range(values) for values in shown.coordinates.T],
        "axis": shown.axis,
        # One number for every sample, whose lowest bit is the first dimension.
        "outlying": packed(shown.outlying @ 2 ** np.arange(shown.outlying.shape[1]), "u2") if any_outlying else None,
        "values": _values_of_best(findings),
        "groups": [clusters, *_groups(findings)],
    }


def _values_of_best(findings: Findings) -> list[dict[str, Any]]:
    """Return the values of the best columns for all samples shown, in 256 steps, as far as they take little room."""
    study, shown = findings.study, findings.map
    count = min(study.selector.n_features_, _MOST_VALUES // len(shown.rows))
    found = []
    for column in study.best_first[:count]:
        values = dense_part(part_of(study.X, shown.rows, np.array([column])), slice(None), standardize=False)
        unit = float(np.abs(values).max()) or 1.0  # keeps even the smallest and largest floats in proportion
        low, high = (ends[0] for ends in robust_ranges(values / unit))
        shares = ((values[:, 0] / unit - low) / ((high - low) or 1.0)).clip(0.0, 1.0)
        found.append(
            {"low": float(low * unit), "high": float(high * unit), "codes": packed(np.rint(255 * shares), "u1")}
        )
    return found


def _group(name: str, values: list[str], codes: npt.ArrayLike, *, listed: bool, colors: bool) -> dict[str, Any]:
    """Return the values of a column, and for every sample the index of its value: one byte each if they are few."""
    kind = "u1" if len(values) <= 256 else "u2"
    return {"name": name, "values": values, "codes": packed(codes, kind), "listed": listed, "colors": colors}


def _groups(findings: Findings) -> list[dict[str, Any]]:
    """Return the columns that are listed with each sample, and those with few enough values for colours."""
    found = []
    for index, (name, values) in enumerate(findings.study.groups.items()):
        texts = [_text(values[row]) for row in findings.map.rows]
        different = _in_order(set(texts))
        listed, colors = index < GROUPS_LISTED_WITH_A_SAMPLE, 2 <= len(different) <= _MOST_COLORS
        if listed or colors:
            number = {text: code for code, text in enumerate(different)}
            codes = [number[text] for text in texts]
            found.append(_group(str(name), different, codes, listed=listed, colors=colors))
    return found[:_MOST_GROUPS]


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return _NO_VALUE
    return str(value)


def _in_order(texts: set[str]) -> list[str]:
    """Sort numerically if all texts are numbers, otherwise alphabetically; missing values come last."""
    known = sorted(texts - {_NO_VALUE})
    if not any(math.isnan(_number_in(text)) for text in known):
        known.sort(key=_number_in)
    return known + sorted(texts & {_NO_VALUE})


def _number_in(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _markers(findings: Findings) -> dict[str, Any] | None:
    found = findings.markers
    if found is None:
        return None
    names = findings.map.group_names
    return {
        "columns": found.columns.tolist(),
        "clusters": [names[number] for number in found.clusters],
        "codes": found.clusters.tolist(),
        "means": [_rounded(line) for line in found.means],
        "controls": found.n_controls,
    }


def _image(study: Study) -> dict[str, Any] | None:
    if study.image is None:
        return None
    means = np.asarray(study.X.mean(axis=0), dtype=np.float64).ravel()
    shades = (means - means.min()) / (np.ptp(means) or 1.0)
    return {
        "height": study.image[0],
        "width": study.image[1],
        "mean": packed(np.rint(255 * shades), "u1"),
        "columns": packed(study.best_first, "u4"),
    }


def _spectrum(study: Study) -> dict[str, Any] | None:
    """Return the mean and the standard deviation of all columns, in their own order."""
    if not study.ordered:
        return None
    means, variances = column_moments(study.X)
    return {
        "mean": plain_numbers(means.astype(np.float32)),
        "spread": plain_numbers(np.sqrt(variances).astype(np.float32)),
        "columns": packed(study.best_first, "u4"),
    }
