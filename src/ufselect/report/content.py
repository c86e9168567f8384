"""Everything that the scripts of the page draw, as one dictionary of plain values."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._backend.columns import Float
from ufselect.report.encoding import packed, packed_range, packed_shares, plain_numbers
from ufselect.report.features import Correlations, best_first, curves_of, selected_correlations
from ufselect.report.samples import Blocks, Map, map_of_samples, neighbor_blocks
from ufselect.report.study import Study

MOST_CORRELATIONS_SHOWN = 150
GROUPS_LISTED_WITH_A_SAMPLE = 3
_MOST_COLORS = 20
_MOST_GROUPS = 20
_NO_VALUE = "no value"


@dataclass(frozen=True)
class Findings:
    """What is computed from a study for both the figures and their captions."""

    study: Study
    map: Map
    blocks: Blocks
    correlations: Correlations

    @classmethod
    def of(cls, study: Study) -> Findings:
        """Compute the findings."""
        shown = map_of_samples(study)
        return cls(study, shown, neighbor_blocks(study, shown), selected_correlations(study))


def page_content(findings: Findings) -> dict[str, Any]:
    """Return the data of all figures, by section of the page."""
    study = findings.study
    return {
        "download": _download_name(study.source),
        "features": _features(findings),
        "curves": _curves(study),
        "samples": _samples(findings),
        "blocks": _blocks(findings.blocks),
        "correlations": _correlations(findings.correlations),
        "objective": objective_values(study),
        "image": _image(study),
    }


def objective_values(study: Study) -> list[float | None] | None:
    """Return the objective after each iteration; None if the method does not iterate."""
    history = getattr(study.selector, "objective_history_", None)
    if history is None or len(history) == 0:
        return None
    return plain_numbers(np.asarray(history, dtype=np.float64))


def _download_name(source: str) -> str:
    stem = re.sub(r"[^\w.-]+", "-", PurePath(source).stem, flags=re.ASCII).strip("-.")
    return f"{stem[:80] or 'columns'}-ranking.csv"


def _features(findings: Findings) -> dict[str, Any]:
    """Return names and scores, best first, and the gains and redundancies of the best."""
    study = findings.study
    order, names = best_first(study), study.column_names
    curves = curves_of(study)
    gains = None if curves is None else np.diff(curves.agreement, prepend=0.0)
    return {
        "selected": int(study.selector.n_features_),
        "names": [names[column] for column in order],
        "scores": plain_numbers(study.selector.scores_[order]),
        "gains": None if gains is None else _rounded(gains),
        "redundancy": _rounded(findings.correlations.largest),
    }


def _curves(study: Study) -> dict[str, list[float | None] | None] | None:
    curves = curves_of(study)
    if curves is None:
        return None
    r2 = None if curves.r2 is None else plain_numbers(curves.r2)
    return {"agreement": plain_numbers(curves.agreement), "r2": r2}


def _rounded(values: Float) -> list[float | None]:
    return plain_numbers(values.round(6))


def _samples(findings: Findings) -> dict[str, Any]:
    shown, study = findings.map, findings.study
    return {
        "count": len(shown.rows),
        "rows": None if len(shown.rows) == study.X.shape[0] else packed(shown.rows, "u4"),
        "labels": None if study.samples is None else [study.samples[row] for row in shown.rows],
        "axes": [packed_range(values) for values in shown.coordinates.T],
        "axis": shown.axis,
        "groups": [_cluster_group(shown), *_groups(findings)],
    }


def _cluster_group(shown: Map) -> dict[str, Any]:
    names = [str(number) for number in range(1, shown.n_clusters + 1)]
    return _group("Cluster", names, shown.clusters, listed=True, colors=True)


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


def _blocks(blocks: Blocks) -> dict[str, Any]:
    return {
        "size": len(blocks.shares),
        "shares": packed_shares(blocks.shares),
        "clusters": [int(number) + 1 for number in blocks.clusters],
        "borders": _rounded(blocks.borders),
    }


def _correlations(correlations: Correlations) -> dict[str, Any]:
    size = min(len(correlations.values), MOST_CORRELATIONS_SHOWN)
    return {
        "size": size,
        "values": packed_shares(correlations.values[:size, :size]),
        "similar": correlations.ordered_by_similarity(size).tolist(),
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
        "columns": packed(best_first(study), "u4"),
    }
