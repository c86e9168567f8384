"""A structure of the samples that the user brings: an embedding, a graph, or a grouping.

A fit then asks which columns explain this structure, instead of learning one. With labels as the grouping, that is a
supervised selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ufselect._utils.memory import ensure_fits
from ufselect._utils.policy import LARGEST_VALUE
from ufselect._utils.types import Float, Indices
from ufselect._utils.wording import counted, shown
from ufselect.columns.arrays import in_memory
from ufselect.columns.batches import Batches, numbered_by_equality
from ufselect.columns.dense import Columns
from ufselect.columns.tabular import is_missing
from ufselect.graphs.laplacian import structure_laplacian
from ufselect.graphs.smooth_target import MOST_DIRECTIONS, smooth_target

TAKING = "KernelFSASL, LaplacianScore, TraceRatio, SPEC, MCFS, FSSL, NDFS, CGSSL, JELSR, MRSF and SPFS"
"""The methods that take a structure, in the words of messages."""

_MOST_PAIRS = 2**22  # within groups, as edges of a graph: 50 MB
_CYCLES = 50  # through the samples of each group if there are more pairs
_NOTHING = 1e-20  # share of the squares of a structure that rounding leaves within batches


@dataclass(frozen=True)
class GivenStructure:
    """A structure of n samples: one of ``points``, ``graph`` and ``codes`` is given, the others are None.

    ``points`` of shape (n, q) is an embedding, with at most 60 columns; ``graph`` a sparse array of shape (n, n) with
    neighbours by rows, which sum to one; ``codes`` the number of the group of each sample.
    """

    n_samples: int
    description: str
    points: Float | None = None
    graph: sp.csr_array | None = None
    codes: Indices | None = None
    batches: Batches | None = None

    @classmethod
    def of(cls, structure: Any, n_samples: int, batches: Batches | None = None) -> GivenStructure:
        """Check the structure that a user gives; raise an error if nothing is left of it within batches."""
        given = structure if isinstance(structure, cls) else _recognized(structure)
        if given.n_samples != n_samples:
            raise ValueError(f"structure has {counted(given.n_samples, 'sample')}, but X has {n_samples}.")
        if batches is None:
            return given
        given = replace(given, batches=batches)
        if given.graph is None:
            plain = replace(given, batches=None).factor
            total = np.sum((plain - plain.mean(axis=0)) ** 2)
            if np.sum((given.factor - given.factor.mean(axis=0)) ** 2) <= _NOTHING * total:
                raise ValueError("structure is the same for all samples of each batch: nothing of it is left within.")
        return given

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None unless it is a grouping."""
        return None if self.codes is None else int(self.codes.max()) + 1

    @cached_property
    def factor(self) -> Float:
        """T of shape (n, q), for which TTᵀ is the kernel of the structure; without the means of batches.

        A column of a grouping is the indicator of a group, divided by the root of its size: all groups count the same.
        """
        if self.codes is not None:
            sizes = np.bincount(self.codes)
            ensure_fits(24 * len(self.codes) * len(sizes), f"A structure of {len(sizes):,} groups", "use fewer groups")
            T = np.zeros((self.n_samples, len(sizes)))
            T[np.arange(self.n_samples), self.codes] = 1.0 / np.sqrt(sizes[self.codes])
        elif self.points is not None:
            T = self.points
        else:
            T = smooth_target(structure_laplacian(None, self.graph, 1.0), nontrivial=True)
        return T if self.batches is None else np.asarray(self.batches.without_means(T))

    @property
    def samples(self) -> Columns:
        """The samples of an embedding, for distances between them."""
        assert self.points is not None
        return Columns(np.ascontiguousarray(self.factor))

    @cached_property
    def affinity(self) -> sp.csr_array:
        """A symmetric graph: that which was given, or one that joins each sample to its whole group, itself included.

        The weights of a sample of a group sum to one. If groups have more than 2²² pairs together, a sample is joined
        to 100 others of its group at random.
        """
        if self.graph is not None:
            return sp.csr_array((self.graph + self.graph.T) / 2.0)
        assert self.codes is not None
        sizes = np.bincount(self.codes).astype(np.float64)
        if np.sum(sizes**2) <= _MOST_PAIRS:
            members = sp.csr_array((np.ones(self.n_samples), (np.arange(self.n_samples), self.codes)))
            return sp.csr_array(members @ sp.diags_array(1.0 / sizes) @ members.T)
        return _random_cycles(self.codes)


def _recognized(structure: Any) -> GivenStructure:
    """An array in one dimension is a grouping, unless it holds fractions; in two an embedding; if sparse a graph."""
    if sp.issparse(structure):
        return _graph(sp.csr_array(structure, copy=True))
    values = np.asarray(in_memory(structure))
    if values.dtype.kind == "U" and not hasattr(structure, "dtype"):  # a list may have numbers among texts
        values = np.asarray(structure, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1 and values.dtype.kind not in "biuf":
        values = values[:, 0]
    if values.ndim not in (1, 2) or not values.size:
        raise ValueError(
            f"structure has the shape {values.shape}: give an embedding of shape (n_samples, n_dimensions), a sparse "
            "graph of shape (n_samples, n_samples), or a label for each sample."
        )
    if values.ndim == 2:
        return _embedding(values)
    _refuse_missing(values if values.dtype.kind in "biufU" else list(values))
    if values.dtype.kind == "f" and not np.array_equal(values, np.round(values)):
        return _embedding(values[:, None])
    return _grouping(values.tolist())


def _embedding(values: npt.NDArray[Any]) -> GivenStructure:
    n, q = values.shape
    try:
        points = values.astype(np.float64, casting="unsafe" if values.dtype.kind == "O" else "same_kind")
    except (TypeError, ValueError):
        raise ValueError("structure has values in two dimensions that are not numbers.") from None
    if n == q:
        raise ValueError(
            f"structure is a dense array of shape ({n}, {n}), which may be a graph or an embedding: make a graph "
            "sparse, by scipy.sparse.csr_array; give fewer columns of an embedding."
        )
    unknown = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(unknown):
        raise ValueError(f"structure has missing or infinite values for {counted(len(unknown), 'sample')}.")
    centered = points - points.mean(axis=0)
    if np.all(points == points[0]) or not np.any(centered):
        raise ValueError("structure has the same values for all samples.")
    if (largest := np.abs(points).max()) > LARGEST_VALUE or np.abs(centered).max() < 1.0 / LARGEST_VALUE:
        raise ValueError(f"structure has values of magnitude {largest:.0e}, whose squares are out of range; scale it.")
    if q > MOST_DIRECTIONS:
        centered = centered @ np.linalg.eigh(centered.T @ centered)[1][:, : -MOST_DIRECTIONS - 1 : -1]
    return GivenStructure(n, f"the given embedding of {counted(q, 'column')}", points=centered)


def _graph(graph: sp.csr_array) -> GivenStructure:
    n, n_columns = graph.shape
    if n != n_columns:
        raise ValueError(
            f"structure is a sparse array of shape ({n}, {n_columns}), but a graph has the shape (n_samples, "
            "n_samples); make an embedding dense, by toarray()."
        )
    if graph.dtype.kind not in "biuf":
        raise ValueError("structure is a graph with weights that are not numbers.")
    graph = graph.astype(np.float64)
    if not np.isfinite(graph.data).all():
        raise ValueError("structure is a graph with missing or infinite weights.")
    if graph.data.size and graph.data.min() < 0:
        raise ValueError("structure is a graph with negative weights; similar samples have large weights, others none.")
    graph.sum_duplicates()
    graph = _without_loops(graph)
    largest = np.maximum(graph.max(axis=1).toarray().ravel(), np.finfo(np.float64).tiny)
    graph = sp.csr_array(sp.diags_array(1.0 / largest) @ graph)  # the sum of enormous weights would overflow
    totals = np.asarray(graph.sum(axis=1)).ravel()
    alone = np.flatnonzero(totals + np.asarray(graph.sum(axis=0)).ravel() == 0.0)
    if len(alone):
        raise ValueError(
            f"Sample {alone[0]} has no neighbour in the graph that is given as structure ({len(alone):,} in all); "
            "leave out such samples."
        )
    graph = sp.csr_array(sp.diags_array(1.0 / np.where(totals > 0.0, totals, 1.0)) @ graph)
    return GivenStructure(n, f"the given graph of {counted(graph.nnz, 'edge')}", graph=graph)


def _grouping(labels: Sequence[Any]) -> GivenStructure:
    different, codes = numbered_by_equality(labels, "The labels of structure")
    if len(different) == 1:
        raise ValueError(f"structure has all samples in one group, '{shown(str(different[0]))}'.")
    single = np.flatnonzero(np.bincount(codes) == 1)
    if len(single):
        raise ValueError(
            f"Group '{shown(str(different[single[0]]))}' of structure has only one sample ({len(single):,} such groups "
            "in all): leave it out, or give numbers that are no labels as an array of shape (n_samples, 1)."
        )
    groups = counted(len(different), "group")
    return GivenStructure(len(codes), f"{groups} of samples; labels were given: this is a supervised selection",
                          codes=codes)  # fmt: skip


def _refuse_missing(values: Any) -> None:
    """Raise an error if labels are missing."""
    n_missing = sum(map(is_missing, values))
    if n_missing:
        raise ValueError(
            f"structure is missing for {counted(n_missing, 'sample')}: leave them out, or give them a label of "
            "their own."
        )


def _without_loops(graph: sp.csr_array) -> sp.csr_array:
    edges = sp.coo_array(graph)
    row, column = edges.coords
    true = (row != column) & (edges.data != 0.0)
    return sp.csr_array((edges.data[true], (row[true], column[true])), shape=graph.shape)


def _random_cycles(codes: Indices) -> sp.csr_array:
    """Join each sample to the next one of its group in 50 random orders."""
    n, rng = len(codes), np.random.default_rng(0)
    joined = sp.csr_array((n, n))
    sizes = np.bincount(codes)
    ends = np.cumsum(sizes)
    following = np.arange(1, n + 1)
    following[ends - 1] = ends - sizes
    for _ in range(_CYCLES):
        order = np.lexsort((rng.random(n), codes))
        joined = joined + sp.csr_array((np.full(n, 1.0 / _CYCLES), (order, order[following])), shape=(n, n))
    return sp.csr_array((joined + joined.T) / 2.0)
