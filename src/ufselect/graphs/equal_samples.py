"""Nearest neighbours where many samples are equal, as cells are in a few genes: each different one is searched once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ufselect._utils.compiling import compiled_in_order
from ufselect._utils.types import Float, Indices

_MOST_COLUMNS = 64  # samples in more columns are hardly ever equal


class EqualSamples(NamedTuple):
    """Sets of equal samples, numbered by their first one: ``codes`` of the samples, and the ascending ``members``."""

    codes: Indices
    members: Indices
    starts: Indices

    @property
    def firsts(self) -> Indices:
        """The first sample of each set."""
        return self.members[self.starts[:-1]]

    def of(self, code: Any) -> Indices:
        """The samples of a set."""
        return self.members[self.starts[code] : self.starts[code + 1]]


def equal_samples(points: Any, fewest: int) -> EqualSamples | None:
    """Return the sets of equal rows of a dense array, or None if none has more than ``fewest``, as far as it is cheap.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.graphs.equal_samples import equal_samples
    >>> equal_samples(np.array([[1.0], [0.0], [1.0], [0.0]]), 1).codes
    array([0, 1, 0, 1])
    """
    n, d = points.shape
    first = np.sort(points[:, 0]) if fewest < n else points[:0, 0]
    if d > _MOST_COLUMNS or not np.any(first[fewest:] == first[: len(first) - fewest]):
        return None
    rows = np.ascontiguousarray(points) + 0.0  # zero and minus zero are equal
    as_bytes = rows.view(np.dtype((np.void, rows.itemsize * d))).ravel()
    _, firsts, codes, sizes = np.unique(as_bytes, return_index=True, return_inverse=True, return_counts=True)
    if sizes.max() <= fewest:
        return None
    order = np.argsort(firsts)
    numbers = np.empty_like(order)
    numbers[order] = np.arange(len(order))
    codes = numbers[codes]
    return EqualSamples(codes, np.argsort(codes, kind="stable"), np.concatenate([[0], np.cumsum(sizes[order])]))


def nearest_of_sets(equal: EqualSamples, distances: Float, index: Indices, count: int) -> tuple[Float, Indices]:
    """Return the ``count`` nearest others of every sample, given the nearest other sets of each set.

    Of samples at the same distance the one with the lower index is nearer. The nearest sets are ``count``, or all.
    """
    nearest, found = _nearest_of_sets(*equal, distances, index, count)
    return nearest, found


@compiled_in_order
def _nearest_of_sets(codes: Any, members: Any, starts: Any, distances: Any, index: Any, count: int) -> Any:
    n = len(codes)
    nearest, found = np.empty((n, count)), np.empty((n, count), dtype=np.intp)
    for sample in range(n):
        own, taken = codes[sample], 0
        for place in range(starts[own], starts[own + 1]):
            if taken == count:
                break
            if members[place] != sample:
                nearest[sample, taken], found[sample, taken] = 0.0, members[place]
                taken += 1
        first = 0
        while taken < count:
            last = first + 1  # of the sets at the same distance
            while last < index.shape[1] and distances[own, last] == distances[own, first]:
                last += 1
            several = np.empty((last - first) * count, dtype=np.intp)
            size = 0
            for other in index[own, first:last]:
                for place in range(starts[other], min(starts[other + 1], starts[other] + count)):
                    several[size] = members[place]
                    size += 1
            for each in np.sort(several[:size])[: count - taken]:
                nearest[sample, taken], found[sample, taken] = distances[own, first], each
                taken += 1
            first = last
    return nearest, found


def tied_samples(
    equal: EqualSamples, distances: Float, index: Indices, tied: tuple[Indices, Indices], count: int, most: int
) -> tuple[Indices, Indices]:
    """Return pairs of a sample and another as near as its nearest one that is not among its ``count`` nearest.

    ``tied`` has further pairs of sets at the smallest distance of each set. Samples with more than ``most`` others at
    this distance have none.
    """
    sizes = np.diff(equal.starts)
    here, there = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for code in np.flatnonzero((sizes > count + 1) & (sizes <= most + 1)):
        of_set = equal.of(code)
        for place, sample in enumerate(of_set):
            beyond = np.delete(of_set, place)[count:]
            here.append(np.full(len(beyond), sample))
            there.append(beyond)
    alone = np.flatnonzero(sizes == 1)
    near = distances == distances[:, :1]
    order = np.argsort(tied[0], kind="stable")
    ends = np.searchsorted(tied[0][order], np.arange(len(sizes) + 1))
    totals = np.sum(near * sizes[index], axis=1) + np.bincount(tied[0], sizes[tied[1]], len(sizes))
    for code in alone[(totals[alone] > count) & (totals[alone] <= most)]:
        sets = np.concatenate([index[code][near[code]], tied[1][order[ends[code] : ends[code + 1]]]])
        beyond = np.sort(np.concatenate([equal.of(each) for each in sets]))[count:]
        here.append(np.full(len(beyond), equal.of(code)[0]))
        there.append(beyond)
    return np.concatenate(here), np.concatenate(there)
