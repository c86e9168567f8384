"""What ``compare`` and ``evaluate`` share: known classes, and what the figures mean."""

from __future__ import annotations

from typing import Any

from ufselect._utils.wording import counted
from ufselect.cli.fitting import Numbers
from ufselect.cli.options import Scale

N_RANDOM = 10
"""Number of random selections."""


def classes_of(numbers: Numbers, labels: str) -> Any:
    """Return the column of classes; None if no column is named."""
    import numpy as np

    if not labels:
        return None
    values = np.asarray(numbers.table.aside[labels])
    unknown = [value is None or value != value or value == "" for value in values.tolist()]
    if any(unknown):
        raise ValueError(f"{counted(sum(unknown), 'sample')} without a value in {labels}, the column of classes.")
    classes = values.astype(str)
    n_classes = len(np.unique(classes))
    if n_classes == 1:
        raise ValueError(f"{labels} has the same class for all samples; at least 2 classes are needed.")
    if n_classes == len(classes):
        raise ValueError(f"{labels} has a different class for each of the {n_classes:,} samples.")
    return classes


def are_standardized(scale: Scale | None) -> bool:
    """Return whether neighbours and clusters are those of scaled columns."""
    return scale is not Scale.none


def what_measures_mean(which: str, *extra: str, labelled: bool, scale: Scale | None) -> list[str]:
    """Return a line on every figure of ``which`` columns, such as the selected ones; ``extra`` lines are added."""
    agreement = f"ACC, NMI: agreement of k-means on the {which} columns with the labels, which no method sees."
    judged = "neighbours, ACC and NMI" if labelled else "neighbours"
    scaled = "columns scaled to mean 0 and variance 1" if are_standardized(scale) else "unscaled columns"
    return [
        f"redundancy: mean absolute correlation of the {which} columns; lower is better.",
        f"neighbours: overlap of a sample's five nearest neighbours by all and by the {which} columns (Jaccard index).",
        *extra,
        *([agreement] if labelled else []),
        f"{judged}: computed from {scaled}.",
    ]
