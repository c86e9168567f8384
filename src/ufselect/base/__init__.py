"""Base classes of all selectors, public for authors of methods.

A method subclasses :class:`BaseSelector`, :class:`GraphSelector` or :class:`ClusterSelector` and implements ``_learn``,
which receives the informative columns as :class:`Columns` and returns a :class:`Ranking`.
"""

from ufselect._utils.progress import Iterations
from ufselect._utils.warnings import warn_not_converged
from ufselect.base.graph_selectors import ClusterSelector, GraphSelector
from ufselect.base.ranking import Ranking, rank_by_alignment, rank_by_explanation, rank_by_row_norm, rank_by_score
from ufselect.base.requirements import Requirements
from ufselect.base.selector import (
    CHOICE_OF_EDGES,
    COUNT,
    ITERATIONS,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    BaseSelector,
    checked_coef,
    with_parameters,
)
from ufselect.base.structure import GivenStructure
from ufselect.columns.constraints import Constraints
from ufselect.columns.dense import Columns, affordable_gram, column_blocks, gram_is_affordable

__all__ = [
    "CHOICE_OF_EDGES",
    "COUNT",
    "ITERATIONS",
    "NOT_NEGATIVE",
    "POSITIVE",
    "SHARE",
    "BaseSelector",
    "ClusterSelector",
    "Columns",
    "Constraints",
    "GivenStructure",
    "GraphSelector",
    "Iterations",
    "Ranking",
    "Requirements",
    "affordable_gram",
    "checked_coef",
    "column_blocks",
    "gram_is_affordable",
    "rank_by_alignment",
    "rank_by_explanation",
    "rank_by_row_norm",
    "rank_by_score",
    "warn_not_converged",
    "with_parameters",
]
