"""What a selection leaves in an AnnData object, whoever made it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufselect.files.table import Selection

KEY = "ufselect"
"""Where ``uns`` has the record of a selection."""


def annotate(data: Any, selection: Selection, indices: NDArray[Any]) -> None:
    """Write scores, ranks and the selection to ``var``, and the record of the selection to ``uns``.

    Parameters
    ----------
    data : AnnData
    selection : Selection
    indices : ndarray of int of shape (n_vars,)
        Index of every gene in the selection; −1 if it took no part. Such a gene gets no score, and rank 0.
    """
    scored = indices >= 0
    data.var["ufselect_score"] = np.where(scored, np.asarray(selection.scores, dtype=float)[indices], np.nan)
    data.var["ufselect_rank"] = np.where(scored, np.asarray(selection.ranking, dtype=int)[indices], 0)
    data.var["ufselect_selected"] = scored & selection.selected[indices]
    data.uns[KEY] = storable(selection.record)


def storable(record: Any) -> Any:
    """Return a record in the types that ``.h5ad`` files have; entries that are None, which they lack, are left out."""
    if isinstance(record, dict):
        return {key: storable(value) for key, value in record.items() if value is not None}
    if isinstance(record, (list, tuple)):
        return np.array(record) if record else np.array([], dtype=str)
    return record if isinstance(record, (str, bool, int, float, np.ndarray, np.generic)) else str(record)
