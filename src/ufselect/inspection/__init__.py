"""What a selection contains, and what it is worth without labels."""

from ufselect._utils.seeds import draws_of_samples
from ufselect.inspection.baselines import Baseline, EvenSpacing, PivotedQR, UncorrelatedVariance
from ufselect.inspection.budgets import ChoiceForBudget, budget_curve
from ufselect.inspection.choices import (
    ChoiceComparison,
    chance_in_words,
    compare_choices,
    recorded_choice,
    resampled_selections,
    selector_of,
)
from ufselect.inspection.comparison import ComparedSelection, Comparison, compare_selectors
from ufselect.inspection.drift import ColumnDrift, Drift, column_drift
from ufselect.inspection.evaluation import EvaluatedColumns, Evaluation, evaluate
from ufselect.inspection.explanation import (
    Explanation,
    LearnedStructure,
    alignment_of_selection,
    dense_columns,
    explain_features,
    gains_of,
)
from ufselect.inspection.measures import neighborhoods_kept, selection_overlap
from ufselect.inspection.reconstruction import (
    ConfusedGroups,
    PanelReconstruction,
    Reconstruction,
    Substitute,
    reconstruction_of,
)
from ufselect.inspection.stability import Stability, stability_of

__all__ = [
    "Baseline",
    "ChoiceComparison",
    "ChoiceForBudget",
    "ColumnDrift",
    "ComparedSelection",
    "Comparison",
    "ConfusedGroups",
    "Drift",
    "EvaluatedColumns",
    "Evaluation",
    "EvenSpacing",
    "Explanation",
    "LearnedStructure",
    "PanelReconstruction",
    "PivotedQR",
    "Reconstruction",
    "Stability",
    "Substitute",
    "UncorrelatedVariance",
    "alignment_of_selection",
    "budget_curve",
    "chance_in_words",
    "column_drift",
    "compare_choices",
    "compare_selectors",
    "dense_columns",
    "draws_of_samples",
    "evaluate",
    "explain_features",
    "gains_of",
    "neighborhoods_kept",
    "reconstruction_of",
    "recorded_choice",
    "resampled_selections",
    "selection_overlap",
    "selector_of",
    "stability_of",
]
