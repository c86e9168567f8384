"""Small experiments for tests."""

from ufselect.benchmark.experiment import Experiment, Method

RANDOM = Method("random", "RandomRanking", grid={"random_state": range(3)})
THREE_METHODS = Method("all", "AllFeatures", features="all"), RANDOM, Method("variance", "MaxVariance")


def experiment_of(*methods, data=("iris",), protocol="published", **fields):
    """An experiment with these methods; the rest has values that serve."""
    return Experiment("tried", "Tried", protocol, tuple(map(str, data)), methods, **{"n_runs": 2} | fields)
