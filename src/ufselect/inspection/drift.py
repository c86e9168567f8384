"""Which columns are distributed otherwise in another table, at a false discovery rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, hypergeom, kstwo

from ufselect._utils.types import Float
from ufselect._utils.wording import counted, listed, percent
from ufselect.files.summaries import CATEGORIES, QUANTILES, ColumnSummary
from ufselect.solvers.permutation_test import benjamini_hochberg

_FEWEST_EXPECTED = 5.0  # in each class of a chi-squared test


@dataclass(frozen=True)
class ColumnDrift:
    """How a column differs between two tables.

    Attributes
    ----------
    name : str
    p_value : float
        Probability of so large a difference if the values of both tables are drawn from the same distribution.
    q_value : float
        The smallest false discovery rate at which the column has drifted (Benjamini and Hochberg, 1995).
    difference : float
        Of numbers, the largest difference between the shares of values up to some value; of few values or categories,
        the share that would have to change; of missing values, the difference of their shares: whichever has the
        smallest p-value.
    change : str
        The change in words, such as ``"median 3 → 4"``.
    """

    name: str
    p_value: float
    q_value: float
    difference: float
    change: str


@dataclass(frozen=True)
class Drift:
    """The result of :func:`column_drift`: ``columns``, those that differ most first, and the false discovery rate."""

    columns: tuple[ColumnDrift, ...]
    fdr: float

    @property
    def drifted(self) -> list[ColumnDrift]:
        """The columns that have drifted."""
        return [each for each in self.columns if each.q_value <= self.fdr]

    @property
    def sentence(self) -> str:
        """How many columns have drifted, and which."""
        if not self.columns:
            return "Whether columns have drifted cannot be told: there is nothing to compare."
        drifted, of = self.drifted, counted(len(self.columns), "column")
        if not drifted:
            verb = "have" if len(self.columns) == 1 else "has"
            none = "The only column has not" if len(self.columns) == 1 else f"None of {of} {verb}"
            return f"{none} drifted (false discovery rate {percent(self.fdr)})."
        verb = "has" if len(drifted) == 1 else "have"
        return f"{len(drifted):,} of {of} {verb} drifted: {listed([each.name for each in drifted])}."

    def __repr__(self) -> str:
        return f"Drift({self.sentence})"


def column_drift(
    before: Mapping[str, ColumnSummary], after: Mapping[str, ColumnSummary], *, fdr: float = 0.05
) -> Drift:
    """Test which columns are distributed otherwise in another table.

    Numbers are compared by the Kolmogorov–Smirnov statistic at the quantiles that are known. It is never larger than
    the statistic at all values, so the test is conservative, more so if ``after`` was summarised at its own quantiles
    rather than at those of ``before``. Few different values and categories are compared by the chi-squared test,
    missing values by the exact test of two shares, and the smaller p-value of a column with both is doubled. The
    Benjamini–Hochberg procedure turns p-values into q-values. Rows are taken to be independent.

    Parameters
    ----------
    before, after : dict of ColumnSummary
        Summaries by name, as those of a :class:`ufselect.files.Choice`. Columns that only one has are left out.
    fdr : float, default=0.05
        False discovery rate: the expected share of columns without drift among those that are found to have drifted.

    Returns
    -------
    Drift

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect.files import summaries_of
    >>> from ufselect.inspection import column_drift
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(size=(300, 3)), rng.normal(size=(200, 3))
    >>> after[:, 1] += 0.5
    >>> known = summaries_of(before, "abc", range(3))
    >>> column_drift(known, summaries_of(after, "abc", range(3), like=known))
    Drift(1 of 3 columns has drifted: b.)
    """
    found = {
        name: tested
        for name, summary in before.items()
        if name in after and (tested := _tested(summary, after[name])) is not None
    }
    q_values = benjamini_hochberg(np.array([tested[0] for tested in found.values()]))
    columns = [
        ColumnDrift(name, p_value, float(q), difference, change)
        for (name, (p_value, difference, change)), q in zip(found.items(), q_values, strict=True)
    ]
    return Drift(tuple(sorted(columns, key=lambda each: (each.q_value, -each.difference, each.name))), fdr)


def _tested(before: ColumnSummary, after: ColumnSummary) -> tuple[float, float, str] | None:
    """Return the p-value, the difference and the change of a column; None if it cannot be compared."""
    results = []
    if before.n_rows and after.n_rows and (before.n_missing or after.n_missing):
        results.append(_of_missing(before, after))
    if before.n_values and after.n_values:
        if (before.kind == CATEGORIES) != (after.kind == CATEGORIES):
            return None
        is_numeric = QUANTILES in (before.kind, after.kind)
        results.append(_of_numbers(before, after) if is_numeric else _of_values(before, after))
    if not results:
        return None
    p_value, difference, change = min(results, key=lambda each: each[0])
    return min(1.0, len(results) * p_value), difference, change


def _of_missing(before: ColumnSummary, after: ColumnSummary) -> tuple[float, float, str]:
    """Compare the shares of missing values: twice the probability of the nearer tail, given how many are missing."""
    law = hypergeom(before.n_rows + after.n_rows, before.n_missing + after.n_missing, after.n_rows)
    p_value = 2.0 * min(law.cdf(after.n_missing), law.sf(after.n_missing - 1))
    shares = before.n_missing / before.n_rows, after.n_missing / after.n_rows
    return min(1.0, float(p_value)), abs(shares[1] - shares[0]), f"missing {_change_of_share(*shares)}"


def _of_numbers(before: ColumnSummary, after: ColumnSummary) -> tuple[float, float, str]:
    """Compare by the largest difference that the distribution functions have for certain at some known point."""
    points = np.union1d(before.points, after.points).astype(np.float64)
    (low, high), (other_low, other_high) = _shares_up_to(points, before), _shares_up_to(points, after)
    difference = float(np.maximum(other_low - high, low - other_high).max(initial=0.0))
    n, m = before.n_values, after.n_values
    p_value = float(kstwo.sf(difference, max(round(n * m / (n + m)), 1)))
    return p_value, difference, f"median {_median(before):.4g} → {_median(after):.4g}"


def _shares_up_to(points: Float, summary: ColumnSummary) -> tuple[Float, Float]:
    """Return the smallest and the largest possible share of values up to each point."""
    own, until = np.array(summary.points), np.r_[0, np.cumsum(summary.counts)]
    place = np.searchsorted(own, points, side="right")
    is_known = np.isin(points, own)
    if summary.kind != QUANTILES:
        is_known[:] = True
    before_next = np.r_[until[1:] - np.array(summary.ties or 0), summary.n_values][place]
    return until[place] / summary.n_values, np.where(is_known, until[place], before_next) / summary.n_values


def _median(summary: ColumnSummary) -> float:
    if summary.median is not None:
        return summary.median
    return float(summary.points[np.searchsorted(np.cumsum(summary.counts), summary.n_values / 2)])


def _of_values(before: ColumnSummary, after: ColumnSummary) -> tuple[float, float, str]:
    """Compare counts of values by the chi-squared test, those that are rare or not known on both sides as one."""
    counts = dict(zip(before.points, before.counts, strict=True)), dict(zip(after.points, after.counts, strict=True))
    both = [
        value
        for value in dict.fromkeys((*before.points, *after.points))
        if all(value in known or not each.n_others for known, each in zip(counts, (before, after), strict=True))
    ]
    table = np.array([[known.get(value, 0) for value in both] for known in counts], dtype=np.float64)
    sizes = np.array([before.n_values, after.n_values], dtype=np.float64)
    shares = table / sizes[:, None]
    difference = 0.5 * float(np.abs(np.diff(shares, axis=0)).sum() + abs(np.diff(1.0 - shares.sum(axis=1))[0]))
    change = ""
    if both:
        most = int(np.abs(np.diff(shares, axis=0)).argmax())
        value = both[most] if isinstance(both[most], str) else f"{both[most]:g}"
        change = f"'{value}' {_change_of_share(*shares[:, most].tolist())}"
    return _chi_squared(table, sizes), difference, change


def _chi_squared(table: Any, sizes: Any) -> float:
    """Return the p-value of the test that two rows of counts, which the sizes complete, have the same shares."""
    smallest = sizes.min() / sizes.sum()
    is_frequent = table.sum(axis=0) * smallest >= _FEWEST_EXPECTED
    others = sizes - table[:, is_frequent].sum(axis=1)
    classes = np.column_stack([table[:, is_frequent], others])
    if others.sum() * smallest < _FEWEST_EXPECTED and classes.shape[1] > 1:  # to the rarest of the others
        rarest = int(classes[:, :-1].sum(axis=0).argmin())
        classes[:, rarest] += classes[:, -1]
        classes = classes[:, :-1]
    if classes.shape[1] < 2:
        return 1.0
    expected = np.outer(sizes, classes.sum(axis=0)) / sizes.sum()
    statistic = float(((classes - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, classes.shape[1] - 1))


def _change_of_share(before: float, after: float) -> str:
    digits = 0 if abs(after - before) >= 0.01 else 1
    return f"{percent(before, digits)} → {percent(after, digits)}"
