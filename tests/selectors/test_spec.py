import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import DATA, on_every_data_set, relative_width, samples

from ufselect import SPEC
from ufselect.columns.dense import Columns
from ufselect.graphs.neighbors import nearest_others, neighbor_graph

CRITERIA = ["phi1", "phi2", "phi3"]


def on_raw_columns(X, criterion, t, power=1, **params):
    """The published value of a criterion on the columns as they are, with t the width itself; and the selector."""
    width = relative_width(X, t)
    selector = SPEC(5, criterion=criterion, power=power, width=width, scale=None, center=False, **params).fit(X)
    return selector.scores_ if criterion == "phi3" else 2.0**power - selector.scores_, selector


def with_kernel(reference, name, criterion, power=1):
    stored = reference(f"spec_{name}")
    X = samples(reference, name)
    return on_raw_columns(X, criterion, stored["t"], power, n_clusters=int(stored["c"]), affinity="kernel")


def nontrivial_pairs(A):
    """Ascending eigenpairs of Lₙ in the complement of D^(1/2)1, and that vector."""
    degrees = A.sum(axis=1)
    trivial = np.sqrt(degrees / degrees.sum())
    L = np.eye(len(A)) - A / np.sqrt(np.outer(degrees, degrees))
    values, vectors = np.linalg.eigh(L + 3.0 * np.outer(trivial, trivial))
    # A root of the rounding of a zero would be no rounding.
    return np.where(values[:-1] > 1e-12, values[:-1], 0.0), vectors[:, :-1], trivial


def weighted(X, A):
    """D^(1/2)f at unit length."""
    F = np.sqrt(A.sum(axis=1))[:, None] * X
    return F / np.linalg.norm(F, axis=0)


def published(X, A, criterion, power, c):
    """φ by its definition from all eigenpairs."""
    values, vectors, trivial = nontrivial_pairs(A)
    F = weighted(X, A)
    shares = (vectors.T @ F) ** 2
    if criterion == "phi3":
        return (2.0**power - values[: c - 1] ** power) @ shares[: c - 1]
    energies = values**power @ shares
    return energies / (1.0 - (trivial @ F) ** 2) if criterion == "phi2" else energies


def knn(X, **params):
    return neighbor_graph(Columns(X), nearest_others(X, 5), **params)


# The authors' program


@pytest.mark.parametrize("name", [*DATA, "digits200"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_criteria_are_those_of_the_authors(reference, name, criterion):
    informative = np.ptp(samples(reference, name), axis=0) > 0.0
    ours, _ = with_kernel(reference, name, criterion)
    assert_allclose(ours[informative], reference(f"spec_{name}")[f"{criterion}_exp1"][informative], rtol=0, atol=1e-8)


# Definitions


@on_every_data_set
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("power", [0.25, 3])
@pytest.mark.parametrize("affinity", ["neighbors", "kernel"])
def test_criteria_follow_their_definition_for_any_power(reference, name, criterion, power, affinity):
    X = samples(reference, name)
    t = np.sqrt(Columns(X).mean_squared_distance())
    squared = np.sum((X[:, None] - X) ** 2, axis=2)
    A = np.exp(-squared / (2.0 * t**2)) if affinity == "kernel" else knn(X).toarray()
    # Four vectors: no eigenvalue of these graphs is repeated there.
    ours, _ = on_raw_columns(X, criterion, t, power, n_clusters=5, affinity=affinity)
    assert_allclose(ours, published(X, A, criterion, power, 5), rtol=0, atol=1e-10)


# What comes out


def test_all_eigenvectors_are_refused_where_they_do_not_fit(reference, monkeypatch):
    monkeypatch.setattr("ufselect._utils.memory.memory_limit", lambda: 1e5)
    X = samples(reference, "syn")
    with pytest.raises(MemoryError, match="use an integer power"):
        SPEC(criterion="phi1", power=0.5, n_clusters=4).fit(X)
    assert SPEC(criterion="phi3", power=0.5, n_clusters=4).fit(X).n_clusters_ == 4
