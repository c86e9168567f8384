"""The arrays that a fit may learn: what has to agree if two fits are to be the same."""

LEARNED = (
    "scores_",
    "ranking_",
    "coef_",
    "embedding_",
    "objective_history_",
    "alignment_curve_",
    "alignments_",
    "r2_curve_",
)
