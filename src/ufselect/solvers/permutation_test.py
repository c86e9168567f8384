"""Permutation tests of many columns at once: whether xᵀKx is larger than with the values of x in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import effective_n_jobs

from ufselect._utils.compiling import compiled, compiled_in_order
from ufselect._utils.threads import number_of_threads, threads_for
from ufselect._utils.types import Float, Indices, Mask

ENOUGH_EXCEEDANCES = 10
"""Permutations at least as large as the data after which a test stops: p is then known to 32 % of itself."""

RESOLUTION = 4.0
"""Smallest p-values are by default this much smaller than what the Benjamini–Hochberg procedure needs."""

_FIRST_BATCH = 50
_FEWEST_PERMUTATIONS = 200
_ROUND_BYTES, _BATCH_BYTES = 2**23, 2**22
_ROUNDING = 1e-5  # relative difference of sums in single precision that are equal
_NOTHING = 1e-10  # share of ‖x‖²‖T‖² that rounding makes of zero, which columns constant within strata have

Single = npt.NDArray[np.float32]


class Hypothesis(NamedTuple):
    """Units (columns, or groups of columns) that are tested on the same kernel K = TTᵀ, within the same strata."""

    units: Indices
    T: Float
    strata: Indices


@dataclass(frozen=True)
class PermutationPValues:
    """p-values of all units, and the number of permutations of those with the most."""

    values: Float
    n_permutations: int


def permutation_p_values(
    X: Any,
    hypotheses: Sequence[Hypothesis],
    *,
    unit_starts: Indices,
    fdr: float,
    rng: np.random.Generator,
    resolution: float = RESOLUTION,
    observed: Mask | None = None,
    n_jobs: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> PermutationPValues:
    """Return how often xᵀKx is at least as large with the values of x permuted within strata.

    A unit stops after 10 such permutations, b of them in all: p = 10/b is exact whatever the distribution of its values
    (Besag and Clifford, 1991). Units that do not get there go on until 1/b is ``resolution`` times less than what the
    Benjamini–Hochberg procedure asks of as many units as are left, and p = (1 + c)/(1 + b) for c such permutations. The
    fewer are left, the more permutations each of them takes, so the work in all depends little on their number.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, d)
        Columns, those of a unit next to each other. They need not be centred.
    hypotheses : sequence of Hypothesis
        Each unit belongs to one of them. The columns of T, of shape (n, q), sum to zero in every stratum.
    unit_starts : ndarray of shape (n_units,)
        The first column of every unit. xᵀKx of a unit is the sum over its columns, which are permuted together.
    fdr : float
        The false discovery rate at which units are called significant.
    rng : Generator
        Draws the permutations.
    resolution : float, default=4.0
        How much smaller than the Benjamini–Hochberg procedure needs the smallest p-values are.
    observed : ndarray of bool of shape (n, d), optional
        Which values of a dense X are observed. The others count as zero, and stay where they are: that columns are
        missing in the same rows is no structure.
    n_jobs : int, optional
        Number of threads, for a sparse X. The result does not depend on it.
    advance : callable, optional
        Called with the number of units that have stopped since the last call.

    Returns
    -------
    PermutationPValues

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.solvers.permutation_test import Hypothesis, permutation_p_values
    >>> rng = np.random.default_rng(0)
    >>> T = np.repeat([[-1.0], [1.0]], 20, axis=0)  # two groups of samples
    >>> X = np.column_stack([T[:, 0] + rng.standard_normal(40), rng.standard_normal(40)])
    >>> grouped = Hypothesis(np.arange(2), T, np.zeros(40, dtype=int))
    >>> permutation_p_values(X, [grouped], unit_starts=np.arange(2), fdr=0.05, rng=rng).values < 0.05
    array([ True, False])
    """
    ends = np.append(unit_starts, X.shape[1])
    tests = [_Test(X, each, ends, observed) for each in hypotheses]
    n_units, total, most = len(unit_starts), 0, max(1, _ROUND_BYTES // (8 * X.shape[0]))

    def draw(sizes: dict[bytes, Indices], count: int) -> dict[bytes, Indices]:
        return {key: permutations_within(each, count, rng) for key, each in sizes.items()}

    size = min(_FIRST_BATCH, most)
    n_open = sum(test.n_open for test in tests)
    drawn = draw({test.sizes.tobytes(): test.sizes for test in tests}, size)
    # Products of a dense X have threads of their own. Rounds are too short for the pools of joblib.
    with ThreadPoolExecutor(effective_n_jobs(number_of_threads(n_jobs)) if sp.issparse(X) else 1) as pool:
        while n_open and total + 1 < max(resolution * n_units / (fdr * n_open), _FEWEST_PERMUTATIONS):
            unfinished, following = [test for test in tests if test.n_open], min(2 * size, most)
            # Hypotheses with the same strata share their permutations; the next are drawn while these are compared.
            next_drawn = pool.submit(draw, {test.sizes.tobytes(): test.sizes for test in unfinished}, following)
            list(pool.map(_Test.compare, unfinished, [drawn[test.sizes.tobytes()] for test in unfinished]))
            drawn = next_drawn.result()
            total, size, before = total + size, following, n_open
            n_open = sum(test.n_open for test in tests)
            advance(before - n_open)
    advance(n_open)
    values = np.ones(n_units)
    for test in tests:
        values[test.units] = test.p_values()
    return PermutationPValues(values, max((int(test.drawn.max()) for test in tests), default=0))


def benjamini_hochberg(p_values: Float) -> Float:
    """Return q-values: the smallest false discovery rate at which each test is significant.

    Examples
    --------
    >>> from ufselect.solvers.permutation_test import benjamini_hochberg
    >>> benjamini_hochberg([0.01, 0.5, 0.02, 0.03])
    array([0.04, 0.5 , 0.04, 0.04])
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    count = len(p_values)
    descending = np.argsort(-p_values, kind="stable")
    q_values = np.empty(count)
    q_values[descending] = np.minimum.accumulate(p_values[descending] * count / np.arange(count, 0, -1))
    return q_values


def permutations_within(sizes: Indices, count: int, rng: np.random.Generator) -> Indices:
    """Draw permutations of consecutive strata of these sizes, each of which stays in its place.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.solvers.permutation_test import permutations_within
    >>> drawn = permutations_within(np.array([2, 3]), 10, np.random.default_rng(0))
    >>> drawn.shape, int(drawn[:, :2].max()), int(drawn[:, 2:].min())
    ((10, 5), 1, 2)
    """
    n, ends = int(sizes.sum()), np.cumsum(sizes)
    permutations: Indices = np.empty((count, n), dtype=np.int32)
    at_once = max(1, _BATCH_BYTES // (8 * n))
    for some in (permutations[start : start + at_once] for start in range(0, count, at_once)):
        _shuffle(rng.random(some.shape), ends, some)
    return permutations


@compiled_in_order
def _shuffle(draws: Any, ends: Any, permutations: Any) -> None:
    """Shuffle each stratum by numbers between 0 and 1 (Fisher and Yates): each position swaps with one before it."""
    for row in range(len(draws)):
        permutation = permutations[row]
        start = 0
        for end in ends:
            for position in range(start, end):
                other = start + int(draws[row, position] * (position - start + 1))
                permutation[position] = permutation[other]
                permutation[other] = position
            start = end


class _Test:
    """The units of one hypothesis: how many permutations were drawn for each, and how many reached its statistic."""

    def __init__(self, X: Any, hypothesis: Hypothesis, ends: Indices, observed: Mask | None) -> None:
        self.units = hypothesis.units
        order = np.argsort(hypothesis.strata, kind="stable")  # strata are contiguous from here on
        self.sizes = np.bincount(hypothesis.strata)
        widths = ends[self.units + 1] - ends[self.units]
        self._ends = np.concatenate([[0], np.cumsum(widths)])
        columns = np.arange(self._ends[-1]) - np.repeat(self._ends[:-1] - ends[self.units], widths)
        part = X[:, columns]
        self._X = (part.tocsr()[order].tocsc() if sp.issparse(part) else part[order]).astype(np.float32)
        self._observed = None if observed is None else observed[np.ix_(order, columns)]
        if self._observed is not None:
            self._X[~self._observed] = 0.0
        self._T = np.ascontiguousarray(hypothesis.T[order], dtype=np.float32)
        self._exceeding = np.zeros(len(self.units), dtype=np.intp)
        self.drawn = np.zeros(len(self.units), dtype=np.intp)
        squares = np.sum((self._X.T @ self._T) ** 2, axis=1, dtype=np.float64)
        largest = _squared_norms(self._X) * np.sum(self._T**2, dtype=np.float64)
        self._least = np.add.reduceat((1.0 - _ROUNDING) * squares - _NOTHING * largest, self._ends[:-1])

    @property
    def n_open(self) -> int:
        """Number of units for which the permutations are not enough yet."""
        return int(np.count_nonzero(self._exceeding < ENOUGH_EXCEEDANCES))

    def p_values(self) -> Float:
        """Return the p-values by what was drawn."""
        known, drawn = self._exceeding / np.maximum(self.drawn, 1), self.drawn
        return np.where(self._exceeding < ENOUGH_EXCEEDANCES, (1.0 + self._exceeding) / (1.0 + drawn), known)

    def compare(self, permutations: Indices) -> None:
        """Count the permutations that reach the statistic of each open unit, until there are enough of them."""
        if sp.issparse(self._X):
            self._exceeding, drawn = _count_exceeding(
                self._X.indptr, self._X.indices, self._X.data, self._ends, self._T, permutations, self._least,
                self._exceeding, ENOUGH_EXCEEDANCES,
            ).T  # fmt: skip
            self.drawn += drawn
            return
        n, q = self._T.shape
        for some in np.array_split(permutations, -(-4 * n * q * len(permutations) // _BATCH_BYTES)):
            units = np.flatnonzero(self._exceeding < ENOUGH_EXCEEDANCES)
            if len(units) == 0:
                return
            reached = self._statistics(units, some) >= self._least[units, None]
            counts = self._exceeding[units, None] + np.cumsum(reached, axis=1)
            enough = counts >= ENOUGH_EXCEEDANCES
            last = np.where(enough.any(axis=1), enough.argmax(axis=1), len(some) - 1)
            self._exceeding[units] = counts[np.arange(len(units)), last]
            self.drawn[units] += last + 1

    def _statistics(self, units: Indices, permutations: Indices) -> Float:
        """Return Σ‖TᵀPx‖² over the columns x of units of a dense X, for every permutation P."""
        widths = self._ends[units + 1] - self._ends[units]
        starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
        columns = np.arange(widths.sum()) - np.repeat(starts - self._ends[units], widths)
        if self._observed is None:
            squares = self._squares(self._X[:, columns], permutations)
        else:
            squares = np.empty((len(columns), len(permutations)))
            whole = self._observed[:, columns].all(axis=0)
            squares[whole] = self._squares(self._X[:, columns[whole]], permutations)
            for place in np.flatnonzero(~whole):
                column = self._X[:, columns[place]]
                squares[place] = self._squares_within(self._observed[:, columns[place]], column, permutations)
        return squares if len(columns) == len(units) else np.add.reduceat(squares, starts, axis=0)

    def _squares_within(self, observed: Mask, column: Single, permutations: Indices) -> Float:
        """Permute the observed values of a column among their rows, in which each permutation has an order."""
        rows = permutations[observed[permutations]].reshape(len(permutations), -1)
        permuted = np.zeros(permutations.shape, dtype=np.float32)
        np.put_along_axis(permuted, rows, column[None, observed], axis=1)
        with threads_for(2.0 * permuted.size * self._T.shape[1]):
            return np.asarray(np.sum((permuted @ self._T) ** 2, axis=1, dtype=np.float64))

    def _squares(self, X: Single, permutations: Indices) -> Float:
        """Permute the rows of T, or those of X if that has fewer columns."""
        (n, q), d, count = self._T.shape, X.shape[1], len(permutations)
        with threads_for(2.0 * n * q * count * d):
            if d >= q:
                products = (self._T.T[:, permutations].reshape(-1, n) @ X).reshape(q, count, d)
                return np.einsum("qbd,qbd->db", products, products, dtype=np.float64)
            inverse = np.empty_like(permutations)
            np.put_along_axis(inverse, permutations, np.arange(n, dtype=inverse.dtype)[None, :], axis=1)
            products = (X.T[:, inverse].reshape(-1, n) @ self._T).reshape(d, count, q)
            return np.einsum("dbq,dbq->db", products, products, dtype=np.float64)


def _squared_norms(X: Any) -> Float:
    """Return ‖x‖² of each column of a sparse or dense X."""
    squares = X.multiply(X) if sp.issparse(X) else X**2
    return np.asarray(squares.sum(axis=0, dtype=np.float64)).ravel()


@compiled
def _count_exceeding(
    indptr: Any, indices: Any, data: Any, ends: Any, T: Any, permutations: Any, least: Any, exceeding: Any, enough: int
) -> Any:
    """Return for every unit how many permutations reach its least value, and how many were looked at."""
    n_units = len(ends) - 1
    result = np.empty((n_units, 2), dtype=np.intp)
    product = np.empty(T.shape[1], dtype=np.float32)
    for unit in range(n_units):
        count, looked_at = exceeding[unit], 0
        while looked_at < len(permutations) and count < enough:
            total = 0.0
            for column in range(ends[unit], ends[unit + 1]):
                product[:] = 0.0
                for entry in range(indptr[column], indptr[column + 1]):
                    value, row = data[entry], T[permutations[looked_at, indices[entry]]]
                    for a in range(len(product)):
                        product[a] += value * row[a]
                for a in range(len(product)):
                    total += product[a] * product[a]
            looked_at += 1
            count += total >= least[unit]
        result[unit] = count, looked_at
    return result
