"""All that the page's scripts draw, as one dictionary of plain values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from ufselect._backend.columns import Float
from ufselect.report.encoding import packed, packed_range, packed_shares, plain_numbers
from ufselect.report.features import Correlations, best_first, selected_correlations, structure_curve
from ufselect.report.samples import Blocks, Map, map_of_samples, neighbor_blocks
from ufselect.report.study import Study

MOST_CORRELATIONS_SHOWN = 150
GROUPS_BESIDE_A_SAMPLE = 3
_MOST_COLORS = 20
_MOST_GROUPS = 20
_NO_VALUE = "no value"


@dataclass(frozen=True)
class Findings:
    """What is computed of a study for its page, once for the drawings and the words beside them."""

    study: Study
    map: Map
    blocks: Blocks
    correlations: Correlations

    @classmethod
    def of(cls, study: Study) -> Findings:
        """Compute them."""
        shown = map_of_samples(study)
        return cls(study, shown, neighbor_blocks(study, shown), selected_correlations(study))


def page_content(findings: Findings) -> dict[str, Any]:
    """All that is drawn, by the part of the page."""
    study = findings.study
    return {
        "download": _download_name(study.source),
        "features": _features(findings),
        "curve": _curve(study),
        "samples": _samples(findings),
        "blocks": _blocks(findings.blocks),
        "correlations": _correlations(findings.correlations),
        "objective": objective_steps(study),
        "image": _image(study),
    }


def objective_steps(study: Study) -> list[list[float | None]] | None:
    """The objective of every iteration, after each of its steps."""
    history = getattr(study.selector, "objective_history_", None)
    if history is None or len(history) == 0:
        return None
    table = np.asarray(history, dtype=np.float64)
    return [plain_numbers(steps) for steps in table.reshape(len(table), -1)]


def _download_name(source: str) -> str:
    stem = re.sub(r"[^\w.-]+", "-", PurePath(source).stem, flags=re.ASCII).strip("-.")
    return f"{stem[:80] or 'columns'}-ranking.csv"


def _features(findings: Findings) -> dict[str, Any]:
    """Names and scores, best first, and what is known of the best of them."""
    study = findings.study
    order, names = best_first(study), list(study.names)
    curve = structure_curve(study)
    gains = None if curve is None else np.diff(curve.astype(np.float64), prepend=0.0)
    return {
        "selected": int(study.selector.n_features_),
        "names": [str(names[column]) for column in order],
        "scores": plain_numbers(study.selector.scores_[order]),
        "gains": None if gains is None else _rounded(gains),
        "redundancy": _rounded(findings.correlations.largest),
    }


def _curve(study: Study) -> list[float | None] | None:
    curve = structure_curve(study)
    return None if curve is None else plain_numbers(curve)


def _rounded(values: Float) -> list[float | None]:
    return plain_numbers(values.round(6))


def _samples(findings: Findings) -> dict[str, Any]:
    shown, study = findings.map, findings.study
    return {
        "count": len(shown.rows),
        "rows": None if len(shown.rows) == study.X.shape[0] else packed(shown.rows, "u4"),
        "labels": None if study.samples is None else _labels(study.samples, shown),
        "axes": [packed_range(values) for values in shown.coordinates.T],
        "axis": shown.axis,
        "groups": [_cluster_group(shown), *_groups(findings)],
    }


def _labels(samples: Iterable[str], shown: Map) -> list[str]:
    labels = list(samples)
    return [str(labels[row]) for row in shown.rows]


def _cluster_group(shown: Map) -> dict[str, Any]:
    names = [str(number) for number in range(1, shown.n_clusters + 1)]
    return _group("Cluster", names, shown.clusters, told=True, colors=True)


def _group(name: str, values: list[str], codes: npt.ArrayLike, *, told: bool, colors: bool) -> dict[str, Any]:
    """Values and for every sample the number of its value, in one byte where they are few."""
    kind = "u1" if len(values) <= 256 else "u2"
    return {"name": name, "values": values, "codes": packed(codes, kind), "told": told, "colors": colors}


def _groups(findings: Findings) -> list[dict[str, Any]]:
    """The columns that are told beside a sample, and those with few enough values for colours."""
    found = []
    for place, (name, values) in enumerate(findings.study.groups.items()):
        all_values = list(values)  # whose places are rows also where a Series has another index
        texts = [_text(all_values[row]) for row in findings.map.rows]
        different = _in_order(set(texts))
        told, colors = place < GROUPS_BESIDE_A_SAMPLE, 2 <= len(different) <= _MOST_COLORS
        if told or colors:
            number = {text: code for code, text in enumerate(different)}
            codes = [number[text] for text in texts]
            found.append(_group(str(name), different, codes, told=told, colors=colors))
    return found[:_MOST_GROUPS]


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return _NO_VALUE
    return str(value)


def _in_order(texts: set[str]) -> list[str]:
    """By number where all are numbers, else by letter; in the end what has no value."""
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
