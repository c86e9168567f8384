"""Rankings for comparison: random ones, all features, and methods as in the programs behind the published tables.

Each has a module of its own, as results belong to the code of a module and of what it imports.
"""

from ufselect.benchmark.rankings.baselines import AllFeatures, RandomRanking
from ufselect.benchmark.rankings.equal_start_udfs import EqualStartUDFS
from ufselect.benchmark.rankings.published_laplacian_score import PublishedLaplacianScore
from ufselect.benchmark.rankings.reweighted_fsasl import ReweightedFSASL

__all__ = ["AllFeatures", "EqualStartUDFS", "PublishedLaplacianScore", "RandomRanking", "ReweightedFSASL"]
