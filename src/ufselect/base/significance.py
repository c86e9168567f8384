"""Which columns share structure with others: each is tested on structures that were learned without it.

The columns are split at random into folds, and the structure of the samples is learned from all folds but one. If a
column of that fold is independent of all others, permuting its values changes nothing in distribution, whatever was
learned. So the share of permutations with at least the same alignment is an exact p-value. The structures of several
splits count alike: their kernels are added, and each column is tested once, on the sum of those it had no part in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ufselect._utils.progress import counting, with_progress
from ufselect._utils.seeds import seed_of, some_samples
from ufselect._utils.types import Float, Indices, Mask
from ufselect._utils.wording import counted, percent
from ufselect.base.screening import Screening
from ufselect.base.structure import GivenStructure
from ufselect.base.structures_of_columns import FEW_UNITS, random_splits, structures_without_folds
from ufselect.columns.dense import Columns
from ufselect.columns.in_memory import Matrix, MatrixInMemory
from ufselect.columns.ranks import centered_ranks
from ufselect.solvers.permutation_test import RESOLUTION, Hypothesis, benjamini_hochberg, permutation_p_values

LIMITS = "The test cannot see what only one column carries, nor whether the structure is the one you have in mind."
"""What the test cannot see."""

_LIMITS_IF_GIVEN = "If the structure was computed from these columns, or some of them, p-values are too small."

MAX_SAMPLES = 3000
"""Default number of samples that are tested at first."""

_FEWEST_SAMPLES = 3
_MORE_SAMPLES = 4  # times as many, if nothing is found
_FEW_FOUND, _FEW_OF_ALL = 40, 0.05  # found, and as a share of all columns, up to which these are tested again
_FIRST_SHARE = 0.9  # of the errors that are allowed in all tests together
_MOST_VALUES = 300_000_000  # of a larger sample, on which nothing may be found either
_SPLITS, _SPLITS_INTO_HALVES = 3, 6  # structures of halves vary more than those of all columns but some
_RESOLUTION_IF_ADAPTED = 2.0  # a tenth of the errors is left for this test, which would take ten times as long
_DIRECTIONS = 60  # of a sum of kernels
_FEWEST_COLUMNS_WITH_DEPTH = 200
_FEWEST_ZEROS = 0.25  # share of zeros from which the number of nonzero values measures depth
_SAMPLES_OF_A_STRATUM, _MOST_STRATA = 20, 20

Learner = Callable[[Any, Any], Float]
"""From some columns of a sample of the rows, and the batches of these or None, to the factor T of a kernel TTᵀ."""


@dataclass(frozen=True)
class ColumnSignificance:
    """Which columns share structure with others, at a false discovery rate.

    Attributes
    ----------
    p_values : ndarray of shape (n_features,)
        Probability of so much alignment with the structure of the other columns if the column is independent of them.
        Constant and excluded columns have 1, exact copies the value of the column that they copy.
    q_values : ndarray of shape (n_features,)
        The smallest false discovery rate at which the column is found (Benjamini and Hochberg, 1995).
    tested : ndarray of bool of shape (n_features,)
        Which columns took part: not constant, no copies and not excluded.
    fdr : float
        The false discovery rate.
    n_samples, n_all_samples : int
        Number of samples that were tested, and of all samples.
    n_splits, n_folds : int
        Number of random splits of the columns, and of folds in each; 0 if the structure was given.
    n_strata : int
        Number of strata within which values were permuted: batches, ranges of depth, or both; 1 if there are none.
    n_permutations : int
        Largest number of permutations of a column in the last test.
    groups : ndarray of shape (n_features,), optional
        Group of each column, if columns were tested in groups: sentences count groups.
    """

    p_values: Float
    q_values: Float = field(repr=False)
    tested: Mask = field(repr=False)
    fdr: float
    n_samples: int
    n_all_samples: int
    n_splits: int
    n_folds: int
    n_strata: int
    n_permutations: int
    groups: Indices | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"ColumnSignificance({self.verdict})"

    @property
    def found(self) -> Mask:
        """Which columns share structure with others: those with a q-value of at most ``fdr``."""
        return self.q_values <= self.fdr

    @property
    def n_found(self) -> int:
        """Number of columns, or of groups, that are found, without exact copies."""
        return self._count(self.found & self.tested)

    @property
    def n_tested(self) -> int:
        """Number of columns, or of groups, that took part."""
        return self._count(self.tested)

    def _count(self, columns: Mask) -> int:
        return int(np.count_nonzero(columns)) if self.groups is None else len(np.unique(self.groups[columns]))

    @property
    def of_given_structure(self) -> bool:
        """Whether columns were tested on a structure that was given, not on that of other columns."""
        return self.n_splits == 0

    @property
    def limits(self) -> str:
        """One sentence on what the test cannot see."""
        return _LIMITS_IF_GIVEN if self.of_given_structure else LIMITS

    @property
    def verdict(self) -> str:
        """One sentence on the whole table."""
        return f"{self._finding}."

    def of_groups(self, groups: Indices) -> ColumnSignificance:
        """The same result with one p-value and one q-value for the columns of each group.

        Unless columns were tested in these groups, p is the smallest one times the number of tested columns in a group
        (Bonferroni).
        """
        names, codes = np.unique(groups[self.tested], return_inverse=True)
        smallest, largest = np.ones(len(names)), np.zeros(len(names))
        np.minimum.at(smallest, codes, self.p_values[self.tested])
        np.maximum.at(largest, codes, self.p_values[self.tested])
        if np.array_equal(smallest, largest):
            return replace(self, groups=groups)
        by_group = np.minimum(smallest * np.bincount(codes), 1.0)
        p_values, q_values = self.p_values.copy(), self.q_values.copy()
        p_values[self.tested], q_values[self.tested] = by_group[codes], benjamini_hochberg(by_group)[codes]
        return replace(self, p_values=p_values, q_values=q_values, groups=groups)

    def verdict_on(self, chosen: Indices) -> str:
        """One sentence on a selection: how many columns are found, and how many of the selected ones are among them.

        Parameters
        ----------
        chosen : ndarray of int
            Indices of the selected columns.
        """
        selected = np.zeros(len(self.found), dtype=bool)
        selected[chosen] = True
        n_chosen, n_among = self._count(selected), self._count(selected & self.found)
        if not self.n_found:
            verb = "may be" if self.n_samples < self.n_all_samples else "is"
            return f"{self._finding}: the selection of {n_chosen:,} {verb} arbitrary."
        among = "all" if n_among == n_chosen else f"{n_among:,}" if n_among else "none"
        if n_chosen == 1:
            return f"{self._finding}; 1 was selected, {'one of these' if n_among else 'which is none of these'}."
        return f"{self._finding}; {n_chosen:,} were selected, {among} of them among these."

    @property
    def procedure(self) -> str:
        """One sentence on how columns were tested."""
        samples = counted(self.n_samples, "sample")
        if self.n_samples < self.n_all_samples:
            samples = f"{self.n_samples:,} of {self.n_all_samples:,} samples"
        strata = f" within {self.n_strata:,} strata" if self.n_strata > 1 else ""
        if self.of_given_structure:
            permutations = f"up to {self.n_permutations:,} permutations{strata}"
            return f"Each column was compared with the given structure on {samples}: {permutations}."
        splits = f"{counted(self.n_splits, 'split')} of the columns into {self.n_folds} parts"
        permutations = f"up to {self.n_permutations:,} permutations{strata}"
        return f"Each column was compared with the structure of the others on {samples}: {splits}, {permutations}."

    @property
    def _finding(self) -> str:
        tested, rate = counted(self.n_tested, "column"), f"false discovery rate {percent(self.fdr)}"
        of_given = self.of_given_structure
        if not self.n_found:
            some = f"{self.n_samples:,} of {self.n_all_samples:,} samples"
            on = f" on {some}" if self.n_samples < self.n_all_samples else ""
            return (
                f"{'The given' if of_given else 'No'} structure was {'not ' * of_given}found in {tested}{on} ({rate})"
            )
        verb = "shares" if self.n_found == 1 else "share"
        if of_given:
            return f"{self.n_found:,} of {tested} {verb} the given structure ({rate})"
        others = "the others" if self.n_found == self.n_tested else "others"
        return f"{self.n_found:,} of {tested} {verb} structure with {others} ({rate})"


@dataclass(frozen=True)
class SignificanceTest:
    """How columns are tested; :func:`ufselect.significance.column_significance` describes the parameters."""

    fdr: float = 0.05
    n_splits: int | str = "auto"
    strata: Any = "auto"
    max_samples: int | None = MAX_SAMPLES
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0
    learner: Learner | None = None
    structure: GivenStructure | None = None

    def of_columns(
        self, data: Matrix, screening: Screening, groups: Any = None, observed: Mask | None = None
    ) -> ColumnSignificance:
        """Test the columns that take part in a fit, where they are observed; those of one group are tested as one.

        If few columns are found, they are tested again, on structures that adapt to them; if none is found, on more
        samples. Each test is allowed a share of the errors, by which its p-values are divided.
        """
        n, d = data.shape
        seed = seed_of(self.random_state)
        labels = np.arange(d) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        size, *larger = self._sizes(n, d)
        adapted = [False, True] if self.learner is None and self.structure is None else [False]
        sample = self._sample(data, observed, screening.informative, labels, size, seed)
        p_values = np.ones(d)
        shares = _shares_of_errors(len(adapted) + len(larger))
        for is_adapted, share in zip(adapted, shares, strict=False):
            found = self._tested(p_values, sample, is_adapted, share, screening, labels)
            if found.n_found > min(_FEW_FOUND, _FEW_OF_ALL * found.n_tested):
                return found
        for more, share in zip(larger, shares[len(adapted) :], strict=True):
            if found.n_found:
                return found
            sample = self._sample(data, observed, screening.informative, labels, more, seed)
            found = self._tested(p_values, sample, False, share, screening, labels)
        return found

    def _tested(
        self, p_values: Float, sample: _Sample, adapted: bool, share: float, screening: Screening, labels: Indices
    ) -> ColumnSignificance:
        """Lower p-values by those of a sample, with this share of the errors; return the result."""
        tests = _Tests(self, sample, adapted) if self.structure is None else _TestsOfGiven(self, sample)
        if sample.n_units > 1:
            by_unit = tests.p_values(self.fdr * share)[sample.units]
            p_values[sample.index] = np.minimum(p_values[sample.index], by_unit / share)
        return self._result(p_values, screening, labels, tests)

    def _result(self, p_values: Float, screening: Screening, labels: Indices, tests: _Tests) -> ColumnSignificance:
        """The result by the p-values of all columns that take part."""
        informative, copies = screening.informative, screening.copies
        names, units = np.unique(labels[informative], return_inverse=True)
        by_unit, p_values, q_values = np.ones(len(names)), p_values.copy(), np.ones(len(p_values))
        np.minimum.at(by_unit, units, p_values[informative])
        q_values[informative] = benjamini_hochberg(by_unit)[units]
        copied = np.setdiff1d(np.flatnonzero(copies >= 0), screening.keep_exclude.exclude)
        p_values[copied], q_values[copied] = p_values[copies[copied]], q_values[copies[copied]]
        tested = np.zeros(len(p_values), dtype=bool)
        tested[informative] = True
        return ColumnSignificance(
            p_values, q_values, tested, self.fdr, len(tests.sample.strata), tests.sample.n_all_samples, tests.n_splits,
            tests.n_folds, tests.n_strata, tests.n_permutations,
            labels if len(names) < len(informative) else None,
        )  # fmt: skip

    def _sizes(self, n: int, d: int) -> list[int]:
        """Numbers of samples that are tested one after the other, as long as nothing is found."""
        sizes = [n if self.max_samples is None else min(max(self.max_samples, _FEWEST_SAMPLES), n)]
        while sizes[-1] < n:
            more = _MORE_SAMPLES * sizes[-1]
            more = min(more if 2 * more <= n else n, _MOST_VALUES // d)
            if more <= sizes[-1]:
                break
            sizes.append(more)
        return sizes

    def _sample(
        self, data: Matrix, observed: Mask | None, informative: Indices, labels: Indices, size: int, seed: int
    ) -> _Sample:
        """Draw samples, or more of them if nearly all are single in their batch."""
        rows, batches = some_samples(data.shape[0], size, seed), getattr(data, "batches", None)
        if batches is not None:
            rows, batches = batches.among(rows)
            if len(rows) < _FEWEST_SAMPLES and size < data.shape[0]:
                return self._sample(data, observed, informative, labels, min(size * _MORE_SAMPLES, data.shape[0]), seed)
            batches = batches if batches.codes.any() else None  # all of them may be of one batch
        part = MatrixInMemory(data.rows(rows), None if batches is None else batches.codes)
        strata = np.zeros(len(rows), dtype=np.intp) if batches is None else batches.codes
        if not (self.strata is None or isinstance(self.strata, str)):
            strata = _crossed(strata, np.unique(np.asarray(self.strata)[rows], return_inverse=True)[1])
        index = informative[~part.is_constant("standard")[informative]]
        index = index[np.argsort(labels[index], kind="stable")]  # the columns of a group stand next to each other
        units = np.unique(labels[index], return_inverse=True)[1]
        known = None if observed is None else observed[np.ix_(rows, index)]
        return _Sample(part, index, units, strata, known, data.shape[0], seed, rows)


class _Sample:
    """The columns that are tested, on a sample of the rows."""

    def __init__(
        self, part: MatrixInMemory, index: Indices, units: Indices, strata: Indices, observed: Mask | None,
        n_all_samples: int, seed: int, rows: Indices,
    ) -> None:  # fmt: skip
        self.rows = rows
        self.part, self.index, self.units, self.strata, self.observed = part, index, units, strata, observed
        self.n_all_samples, self.seed = n_all_samples, seed
        self.n_units = int(units[-1]) + 1 if len(units) else 0
        values = self.values(slice(None))
        self.has_depth = _has_depth(values)
        if self.has_depth or (part.batches is not None and sp.issparse(values)):
            self.X = self.as_they_are()
            return
        # Ranks have no units and no outliers, but would make counts say little more than zero or not.
        strata = np.zeros(part.shape[0], dtype=np.intp) if part.batches is None else part.batches.codes
        known = values if observed is None else np.where(observed, values, np.nan)
        self.X = Columns.prepared(centered_ranks(known, strata), center=True, scale="standard")

    def values(self, columns: Any) -> Any:
        """Some of the columns."""
        X, index = self.part.rows(np.arange(self.part.shape[0])), self.index[columns]
        return X if np.array_equal(index, np.arange(X.shape[1])) else X[:, index]

    def as_they_are(self) -> Columns:
        """The values, whose spread may say which columns tell more."""
        return self.part.prepared(self.index, center=True, scale="moderate")

    def strata_without(self, columns: Mask) -> Indices:
        """Ranges of depth, the number of nonzero values of a sample, by all columns but some."""
        return _crossed(self.strata, _ranges(_numbers_of_nonzeros(self.values(~columns)), self.strata))


class _Tests:
    """The tests of all units, each on the sum of the kernels of the structures that were learned without it."""

    n_strata, n_permutations = 1, 0

    def __init__(self, test: SignificanceTest, sample: _Sample, adapted: bool) -> None:
        self.sample, self._test, self._adapted = sample, test, adapted
        self._rng = np.random.default_rng(sample.seed)
        self._splits = random_splits(sample.n_units, self.n_splits, self._rng)
        self.n_folds = self._splits.n_folds

    @property
    def n_splits(self) -> int:
        """The number of splits, as given or by the number of samples."""
        given, sample = self._test.n_splits, self.sample
        if not isinstance(given, str):
            return given
        n_samples = len(sample.strata)
        if n_samples > MAX_SAMPLES:
            return 1
        return _SPLITS_INTO_HALVES if sample.n_units > FEW_UNITS else _SPLITS

    def p_values(self, fdr: float) -> Float:
        """Return the p-value of every unit, small enough for discoveries at this rate."""
        test, sample = self._test, self.sample
        hypotheses = self._hypotheses()
        self.n_strata = max(int(each.strata.max()) + 1 for each in hypotheses)
        starts = np.flatnonzero(np.diff(sample.units, prepend=-1))
        with counting(sample.n_units, test.verbose, "Permutation tests", "column") as advance:
            found = permutation_p_values(
                sample.X.values, hypotheses, unit_starts=starts, fdr=fdr, rng=self._rng, observed=sample.observed,
                resolution=_RESOLUTION_IF_ADAPTED if self._adapted else RESOLUTION, n_jobs=test.n_jobs, advance=advance,
            )  # fmt: skip
        self.n_permutations = found.n_permutations
        return found.values

    def _hypotheses(self) -> list[Hypothesis]:
        """Return the units of each fold with the structures that were learned without them."""
        folds, structures = self._splits.folds, dict(zip(self._splits.pieces, self._structures(), strict=True))
        hypotheses = []
        for membership in np.unique(folds, axis=1).T:
            units = np.flatnonzero(np.all(folds == membership[:, None], axis=0))
            T = np.hstack([structures[split, fold] for split, fold in enumerate(membership)])
            strata = self._strata_for(units)
            hypotheses.append(Hypothesis(units, _leading(_less_means(T, strata)), strata))
        return hypotheses

    def _strata_for(self, units: Indices) -> Indices:
        """Return strata that do not depend on some units."""
        if isinstance(self._test.strata, str) and self.sample.has_depth:
            return self.sample.strata_without(np.isin(self.sample.units, units))
        return self.sample.strata

    def _structures(self) -> list[Float]:
        """Return the structure by the columns outside of each fold."""
        sample, test = self.sample, self._test
        if test.learner is None:
            return structures_without_folds(
                sample.as_they_are() if self._adapted else sample.X, sample.units, self._splits, adapted=self._adapted,
                n_jobs=test.n_jobs, seed=sample.seed, verbose=test.verbose,
            )  # fmt: skip
        codes = None if sample.part.batches is None else sample.part.batches.codes
        parts = self._splits.outside_of_folds(sample.units)
        steps = with_progress(parts, len(parts), test.verbose, "Structures without some columns")
        return [test.learner(sample.values(part), codes) for part in steps]


class _TestsOfGiven(_Tests):
    """The tests of all units on one structure that was given, in which they had no part.

    If samples have depth, it is measured by one half of the units for the other.
    """

    n_splits = n_folds = 0

    def __init__(self, test: SignificanceTest, sample: _Sample) -> None:
        self.sample, self._test, self._adapted = sample, test, False
        self._rng = np.random.default_rng(sample.seed)

    def _hypotheses(self) -> list[Hypothesis]:
        assert self._test.structure is not None
        units, T, hypotheses = np.arange(self.sample.n_units), self._test.structure.factor[self.sample.rows], []
        for some in (units[::2], units[1::2]) if self.sample.has_depth and len(units) > 1 else (units,):
            strata = self._strata_for(some)
            hypotheses.append(Hypothesis(some, _less_means(T, strata), strata))
        return hypotheses


def _shares_of_errors(n_tests: int) -> list[float]:
    """Divide the errors that are allowed among several tests: most for the first one, equal parts for the others."""
    if n_tests == 1:
        return [1.0]
    return [_FIRST_SHARE] + [(1.0 - _FIRST_SHARE) / (n_tests - 1)] * (n_tests - 1)


def _leading(T: Float) -> Float:
    """Return T rotated into its principal directions, the first sixty of them."""
    if T.shape[1] <= _DIRECTIONS:
        return T
    return np.asarray(T @ np.linalg.eigh(T.T @ T)[1][:, -_DIRECTIONS:])


def _less_means(T: Float, strata: Indices) -> Float:
    """Centre T within strata."""
    sizes = np.bincount(strata)
    indicator = sp.csr_array((np.ones(len(strata)), (strata, np.arange(len(strata)))))
    return np.asarray(T - (indicator @ T / sizes[:, None])[strata])


def _crossed(strata: Indices, others: Indices) -> Indices:
    """Return the stratum of each sample by two divisions of the samples."""
    crossed: Indices = np.unique(strata * (others.max() + 1) + others, return_inverse=True)[1]
    return crossed


def _has_depth(X: Any) -> bool:
    """Whether samples may have more or fewer nonzero values in all columns, as cells with deeper sequencing have."""
    if X.shape[1] < _FEWEST_COLUMNS_WITH_DEPTH:
        return False
    values = X.data if sp.issparse(X) else X
    if values.size and values.min() < 0:
        return False
    return bool(_numbers_of_nonzeros(X).sum() < (1.0 - _FEWEST_ZEROS) * X.shape[0] * X.shape[1])


def _numbers_of_nonzeros(X: Any) -> Indices:
    """Return the number of nonzero values of each sample."""
    return np.diff(X.tocsr().indptr).astype(np.intp) if sp.issparse(X) else np.count_nonzero(X, axis=1)


def _ranges(depth: Indices, strata: Indices) -> Indices:
    """Divide each stratum into ranges of equal numbers of samples, of twenty or more."""
    codes = np.zeros(len(depth), dtype=np.intp)
    for stratum in range(int(strata.max()) + 1):
        members = np.flatnonzero(strata == stratum)
        n_ranges = min(max(len(members) // _SAMPLES_OF_A_STRATUM, 1), _MOST_STRATA)
        codes[members[np.argsort(depth[members], kind="stable")]] = np.arange(len(members)) * n_ranges // len(members)
    return codes
