"""Choices that are kept: how one is recorded, made again on other data, and compared with another."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

import ufselect
from ufselect._utils.seeds import seed_of
from ufselect._utils.types import Float, Indices, Mask
from ufselect._utils.wording import listed, shown
from ufselect.base import BaseSelector
from ufselect.base.significance import ColumnSignificance
from ufselect.columns.in_memory import MatrixInMemory
from ufselect.columns.tabular import as_matrix, column_names
from ufselect.files.choice import Choice, Resampled, plain
from ufselect.files.summaries import ColumnSummary, summaries_of
from ufselect.files.table import Selection
from ufselect.inspection.drift import Drift, column_drift
from ufselect.inspection.refits import CountedFits, clone_as_fitted, fits_to_subsets
from ufselect.inspection.requirements import recorded_requirements
from ufselect.inspection.stability import NearCopies

MOST_SUMMARIZED = 3000  # columns
_WITHOUT_EFFECT = {"n_jobs", "verbose"}  # on the result
_FIGURES_OF_TEST = ("fdr", "n_found", "n_tested", "n_samples", "n_splits", "n_permutations", "n_strata")
_LEAST_DEPTH = 200  # to which rankings are kept: another choice may have more columns
_MORE_THAN_CHANCE = 0.05
_LEAST_DEVIATION = 0.5  # of the number of columns in common


def recorded_selection(selector: BaseSelector, names: Sequence[str], settings: Mapping[str, Any]) -> Selection:
    """Return the result of a fitted selector, with a record of how it was made; ``settings`` precede the fit."""
    params = selector.get_params()
    keep_exclude = {key: params.pop(key, None) for key in ("keep", "exclude")}
    given = params.pop("groups", None)
    params.pop("requirements", None)
    groups = None if given is None else selector.group_names_[selector.groups_].tolist()
    significance = getattr(selector, "significance_", None)
    record: dict[str, Any] = {
        "version": ufselect.__version__,
        "method": type(selector).__name__,
        "params": {key: value for key, value in params.items() if key not in _WITHOUT_EFFECT},
        "n_selected": int(selector.n_features_),
        **{key: columns and _named(columns, names) for key, columns in keep_exclude.items()},
        "groups": groups,
        "requirements": recorded_requirements(selector),
        **settings,
        "alignment_curve": getattr(selector, "alignment_curve_", None),
        "test": significance and _record_of(significance, selector.get_support(indices=True)),
    }
    q_values = significance and significance.q_values
    return Selection(selector.scores_, selector.ranking_, selector.n_features_, record, q_values)


def _named(columns: Sequence[Any], names: Sequence[str]) -> list[str]:
    return [column if isinstance(column, str) else names[column] for column in columns]


def _record_of(significance: ColumnSignificance, chosen: Indices) -> dict[str, Any]:
    figures = {name: getattr(significance, name) for name in _FIGURES_OF_TEST}
    return {"verdict": significance.verdict_on(chosen), **figures}


def recorded_choice(
    selector: BaseSelector,
    X: Any,
    *,
    names: Sequence[str] | None = None,
    variables: Sequence[str] | None = None,
    summaries: Mapping[str, ColumnSummary] | None = None,
    settings: Mapping[str, Any] | None = None,
    n_splits: int = 0,
    batch: Any = None,
    missing: Mask | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Choice:
    """Record what a fitted selector chose, and what is needed to compare it with a later choice.

    Parameters
    ----------
    selector : fitted selector
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The data that it was fitted to.
    names : sequence of str, optional
        Names of the columns; by default those of a data frame, or ``x0``, ``x1`` and so on.
    variables : sequence of str, optional
        The variable that each column encodes, if several columns may encode one, as those of a category do: the choice
        is one of variables. By default, each column is one.
    summaries : dict of ColumnSummary, optional
        How the variables are distributed; by default, summaries of the columns.
    settings : dict, optional
        How the data were read, for the record.
    n_splits : int, default=0
        Number of random splits of the samples into halves, from which columns are selected again: they say how many
        columns two choices have in common by chance. :func:`resampled_selections` describes them; 0 is for none.
    batch : array-like of shape (n_samples,), optional
        The batch of each sample, if the selector was fitted with batches.
    missing : ndarray of bool of shape (n_samples, n_features), optional
        Which values of X were filled in; a selector that tests columns does so where they are observed.
    random_state : int, RandomState instance or None, default=0
        Seed of the splits.
    verbose : int, default=0
        If 1, show a progress bar.

    Returns
    -------
    Choice

    Examples
    --------
    >>> from ufselect import MaxVariance
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import recorded_choice
    >>> X = make_planted_clusters(100, 4, 10, 40, random_state=0).X
    >>> recorded_choice(MaxVariance(5).fit(X), X)
    Choice(5 of 50 columns by MaxVariance)
    """
    check_is_fitted(selector, "ranking_")
    called = list(names or column_names(X, selector) or (f"x{index}" for index in range(X.shape[1])))
    X, of = as_matrix(X), list(variables or called)
    selection = recorded_selection(selector, of, settings or {})
    best = np.argsort(selection.ranking, kind="stable")
    chosen = best[: selection.n_features]
    if summaries is None:
        summaries = summaries_of(X, called, best[:MOST_SUMMARIZED].tolist())
    copies, originals = NearCopies(MatrixInMemory(X, batch)).of(chosen)
    pairs = [(of[copy], of[original]) for copy, original in zip(copies, originals, strict=True)]
    resampled = None
    if n_splits:
        splits = {"n_splits": n_splits, "batch": batch, "missing": missing, "random_state": random_state}
        resampled = resampled_selections(selector, X, variables=of, verbose=verbose, **splits)
    columns, q_values = list(_by_variable(of).values()), selection.q_values
    ranking = np.empty(len(columns), dtype=np.intp)
    ranking[np.argsort([selection.ranking[each].min() for each in columns])] = np.arange(1, len(columns) + 1)
    return Choice(
        selected=tuple(dict.fromkeys(of[index] for index in chosen)),
        names=tuple(dict.fromkeys(of)),
        ranking=ranking,
        scores=np.array([selection.scores[each].max() for each in columns]),
        q_values=None if q_values is None else np.array([q_values[each].min() for each in columns]),
        record=_of_variables(selection.record | {"method": _name_of(type(selector))}, of, chosen),
        n_samples=X.shape[0],
        near_copies={copy: original for copy, original in pairs if copy != original},
        summaries=dict(summaries),
        resampled=resampled,
    )


def _by_variable(variables: Sequence[str]) -> dict[str, list[int]]:
    """Return the columns of each variable."""
    found: dict[str, list[int]] = {}
    for column, variable in enumerate(variables):
        found.setdefault(variable, []).append(column)
    return found


def _of_variables(record: dict[str, Any], variables: Sequence[str], chosen: Indices) -> dict[str, Any]:
    """Return the record of a selection of columns as one of variables, in the types of JSON."""
    last = {variables[column]: place for place, column in enumerate(chosen)}
    record = record | {"n_selected": len(last)}
    record["params"] = {key: value for key, value in record["params"].items() if key != "device"}
    for key in ("keep", "exclude"):
        record[key] = record[key] and list(dict.fromkeys(record[key]))
    if (curve := record["alignment_curve"]) is not None:
        record["alignment_curve"] = [curve[place] for place in last.values() if place < len(curve)]
    if record["groups"] is not None:
        several = {
            name for name, index in _by_variable(record["groups"]).items() if len({variables[j] for j in index}) > 1
        }
        record["groups"] = {
            name: group for name, group in zip(variables, record["groups"], strict=True) if group in several
        } or None
    return plain({key: value for key, value in record.items() if value is not None})


def _name_of(cls: type) -> str:
    """Return the name by which a method is made again."""
    is_known = getattr(ufselect, cls.__name__, None) is cls
    return cls.__name__ if is_known else f"{cls.__module__}:{cls.__qualname__}"


def selector_of(choice: Choice, names: Sequence[str], cls: type[BaseSelector] | None = None) -> BaseSelector:
    """Make the selector of a choice, for data with these columns; ``cls`` is the method if it is not of ufselect.

    Columns of the same name encode one variable, as those of a category do.

    Raises
    ------
    ValueError
        If there is no such method, it has no such parameters, or a column that is to be kept is missing.
    """
    method, params = choice.record["method"], choice.record["params"]
    if cls is None:
        if method not in ufselect.__all__:
            raise ValueError(f"The choice was made by {shown(method)}, which is no method of ufselect.")
        cls = getattr(ufselect, method)
    taken = inspect.signature(cls).parameters
    if unknown := [name for name in params if name not in taken]:
        raise ValueError(f"The choice has the parameter {shown(unknown[0])}, which {cls.__name__} has not.")
    place = _by_variable(names)
    columns: dict[str, Any] = {}
    together = dict(choice.record.get("groups") or {})
    together |= {name: name for name, index in place.items() if len(index) > 1 and name not in together}
    if groups := {index: together[name] for index, name in enumerate(names) if name in together}:
        columns |= {"groups": groups} if "groups" in taken else {}
    for key in ("keep", "exclude"):
        if named := choice.record.get(key):
            columns[key] = [index for name in named for index in place.get(name, ())] or None
            if key == "keep" and (lacking := [name for name in named if name not in place]):
                raise ValueError(f"The choice keeps {listed(lacking, quoted=True)}, which the data do not have.")
    selector = cls(**params, **columns)
    try:
        selector._validate_params()
    except ValueError as error:
        raise ValueError(f"The choice cannot be made again: {error}") from None
    return selector


def resampled_selections(
    selector: BaseSelector,
    X: Any,
    *,
    n_splits: int = 5,
    variables: Sequence[str] | None = None,
    batch: Any = None,
    missing: Mask | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Resampled:
    """Select columns again from random halves and quarters of the samples.

    Two halves have no sample in common, so that selections from them differ as those from two tables of half the size
    do that do not differ by anything but chance. Quarters say how this changes with the number of samples. Columns are
    tested anew in each part.

    Parameters
    ----------
    selector : fitted selector
        Clones of it are fitted.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    n_splits : int, default=5
        Number of random splits into halves; into quarters there are half as many.
    variables : sequence of str, optional
        The variable that each column encodes: selections are then of variables, numbered in order.
    batch : array-like of shape (n_samples,), optional
        The batch of each sample, if the selector was fitted with batches.
    missing : ndarray of bool of shape (n_samples, n_features), optional
        Which values of X were filled in; a selector that tests columns does so where they are observed.
    random_state : int, RandomState instance or None, default=0
        Seed of the splits.
    verbose : int, default=0
        If 1, show a progress bar.

    Returns
    -------
    Resampled

    Examples
    --------
    >>> from ufselect import MaxVariance
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.inspection import resampled_selections
    >>> X = make_planted_clusters(200, 4, 10, 40, random_state=0).X
    >>> found = resampled_selections(MaxVariance(5).fit(X), X)
    >>> len(found.halves), len(found.quarters)
    (5, 2)
    """
    check_scalar(n_splits, "n_splits", Integral, min_val=2)
    names, X = column_names(X, selector), as_matrix(X)
    n, d = X.shape
    rng = np.random.default_rng(seed_of(random_state))
    n_parts = [2] * n_splits + [4] * (n_splits // 2)
    splits = [[np.sort(part) for part in np.array_split(rng.permutation(n), count)] for count in n_parts]
    fitted = fits_to_subsets(
        clone_as_fitted(selector),
        X,
        [part for split in splits for part in split],
        names=names,
        batches=MatrixInMemory(X, batch).batches,
        missing=missing,
        fit=CountedFits(),
        verbose=verbose,
        description="Parts of the samples",
    )
    of = list(variables) if variables is not None else list(range(d))
    number = {variable: index for index, variable in enumerate(dict.fromkeys(of))}
    depth = max(2 * len({of[column] for column in selector.get_support(indices=True)}), _LEAST_DEPTH)
    in_order = (np.argsort(each.ranking_, kind="stable") for each, _ in fitted)
    best = (tuple(dict.fromkeys(number[of[column]] for column in columns))[:depth] for columns in in_order)
    selections = [tuple(next(best) for _ in split) for split in splits]
    return Resampled(tuple(selections[:n_splits]), tuple(selections[n_splits:]))


@dataclass(frozen=True)
class ChoiceComparison:
    """The result of :func:`compare_choices`.

    Attributes
    ----------
    before, after : Choice
    missing : tuple of str
        Columns selected before that the data have no more. They do not count as selected in what follows.
    kept : tuple of str
        Columns selected before and after.
    replaced : dict of str
        Columns selected before, and near-copies of them that are selected instead.
    went_out, came_in : tuple of str
        The other columns selected before only, and after only.
    expected : float or None
        Number of columns in common, near-copies as one, if nothing but chance makes the samples differ: extrapolated
        to their number from that of quarters and of halves. None if it is not known.
    p_value : float or None
        Probability of having so few columns in common by chance, whose variance is taken from halves of the samples.
        None if it is not known.
    drift : Drift
        Which columns are distributed otherwise.
    """

    before: Choice
    after: Choice
    missing: tuple[str, ...]
    kept: tuple[str, ...]
    replaced: dict[str, str]
    went_out: tuple[str, ...]
    came_in: tuple[str, ...]
    expected: float | None
    p_value: float | None
    drift: Drift

    @property
    def n_same(self) -> int:
        """Number of columns in common, near-copies as one."""
        return len(self.kept) + len(self.replaced)

    @property
    def is_more_than_chance(self) -> bool:
        """Whether the choices have less in common than by chance, at a level of 5 %."""
        return self.p_value is not None and self.p_value <= _MORE_THAN_CHANCE

    @property
    def sentence(self) -> str:
        """How many columns are the same, beside how many would be by chance."""
        m = self.n_same + len(self.went_out)
        if not m:
            return "No column that was selected before is among those of the other data."
        verb = "is" if 1 in (m, self.n_same) else "are"
        how = f"{self.n_same:,} of {m:,} columns {verb} the same"
        if self.replaced:
            how += f", {len(self.replaced):,} of them as near-copies"
        if len(self.after.selected) != m:
            how += f" ({len(self.after.selected):,} are selected now)"
        if self.expected is None:
            return f"{how}; {_why_unknown(self.before, self.after)}."
        chance = f"by chance from samples of this size alone {self.expected:.1f} would be"
        if self.p_value is None or self.n_same >= self.expected:
            return f"{how}; {chance}."
        verdict = "more has changed than by chance" if self.is_more_than_chance else "the change may be chance"
        p_value = "< 0.01" if self.p_value < 0.005 else f"= {self.p_value:.2f}"
        return f"{how}; {chance}, so {verdict} (p {p_value})."

    def __repr__(self) -> str:
        return f"ChoiceComparison({self.sentence} {self.drift.sentence})"


def compare_choices(before: Choice, after: Choice, *, drift: Drift | None = None) -> ChoiceComparison:
    """Compare two choices of columns: what changed, whether it is more than chance, and whether the data have drifted.

    Columns that are near-copies of each other (absolute correlation of 0.9 or more) by one of the choices count as one.

    Parameters
    ----------
    before, after : Choice
        As :func:`recorded_choice` returns them, or :func:`ufselect.files.read_choice`.
    drift : Drift, optional
        By default that between the summaries of both.

    Returns
    -------
    ChoiceComparison

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect import MaxVariance
    >>> from ufselect.inspection import compare_choices, recorded_choice
    >>> rng, scales = np.random.default_rng(0), 1.5 ** np.arange(12)
    >>> may, june = rng.normal(size=(200, 12)) * scales, rng.normal(size=(150, 12)) * scales
    >>> june[:, 7] += 20.0
    >>> before, after = (recorded_choice(MaxVariance(4).fit(each), each, n_splits=5) for each in (may, june))
    >>> compare_choices(before, after).sentence
    '4 of 4 columns are the same; by chance from samples of this size alone 4.0 would be.'
    >>> compare_choices(before, after).drift.sentence
    '1 of 12 columns has drifted: x7.'
    """
    known = {*after.names, *after.near_copies}  # which may be set aside for the column that they copy
    missing = tuple(name for name in before.selected if name not in known)
    old = [name for name in before.selected if name in known]
    both = set(old) & set(after.selected)
    gone = [name for name in old if name not in both]
    new = [name for name in after.selected if name not in both]
    group_of = _groups(before, after)
    replaced = _matched(gone, new, group_of)
    chance = _Chance.of(before, after, group_of, len(old))
    return ChoiceComparison(
        before=before,
        after=after,
        missing=missing,
        kept=tuple(name for name in old if name in both),
        replaced=replaced,
        went_out=tuple(name for name in gone if name not in replaced),
        came_in=tuple(name for name in new if name not in set(replaced.values())),
        expected=None if chance is None else chance.expected,
        p_value=None if chance is None else chance.p_value(len(both) + len(replaced)),
        drift=column_drift(before.summaries, after.summaries) if drift is None else drift,
    )


def _groups(before: Choice, after: Choice) -> Callable[[str], str]:
    """Return a function from names to groups: near-copies by either choice are in one."""
    parents: dict[str, str] = {}

    def group_of(name: str) -> str:
        while name in parents:
            name = parents[name]
        return name

    for copy, original in (*before.near_copies.items(), *after.near_copies.items()):
        if (first := group_of(copy)) != (second := group_of(original)):
            parents[first] = second
    return group_of


def _matched(gone: Sequence[str], new: Sequence[str], group_of: Callable[[str], str]) -> dict[str, str]:
    """Return for each column that is gone a new one of the same group, none of them twice, as far as there are any."""
    free: dict[str, list[str]] = {}
    for name in reversed(new):
        free.setdefault(group_of(name), []).append(name)
    return {name: free[group_of(name)].pop() for name in gone if free.get(group_of(name))}


class _Chance:
    """How many columns two choices have in common if nothing but chance makes their samples differ."""

    def __init__(self, expected: float, uncertainty: float, counts: Float) -> None:
        self.expected = expected
        self._uncertainty = uncertainty  # variance of the expected number, as a share of that of a pair
        self._counts = counts  # of pairs of parts that vary at least as much as the samples

    @classmethod
    def of(cls, before: Choice, after: Choice, group_of: Callable[[str], str], m: int) -> _Chance | None:
        """Return what parts of the samples say of the best m columns before; None if it does not apply or is unknown.

        The number falls about linearly with the standard error of what columns are ranked by, which is proportional to
        1/√n: the root mean square of that of both tables, and that of halves and of quarters.
        """
        if _are_of_the_same_data(before, after) or not _are_made_alike(before, after):
            return None
        known, m_after = set(before.names) & set(after.names), len(after.selected)
        error = np.sqrt(0.5 / before.n_samples + 0.5 / after.n_samples)
        expected, uncertainty, counts = [], [], []
        several = [choice for choice in (before, after) if choice.resampled is not None]
        deep = [choice for choice in several if _depth(choice) >= max(m, m_after)]
        for choice in deep or several:
            assert choice.resampled is not None
            halves, quarters = (
                _in_common(choice, splits, known, group_of, m, m_after)
                for splits in (choice.resampled.halves, choice.resampled.quarters)
            )
            of_halves, of_quarters = np.sqrt(2.0 / choice.n_samples), np.sqrt(4.0 / choice.n_samples)
            beyond = (of_halves - error) / (of_quarters - of_halves)
            expected.append(halves.mean() + max(halves.mean() - quarters.mean(), 0.0) * beyond)
            uncertainty.append((1.0 + beyond) ** 2 / len(halves) + beyond**2 / len(quarters))
            if of_halves >= error:
                counts.append(halves)
        if not expected:
            return None
        most = float(min(m, m_after))
        varies = float(np.mean(uncertainty)) / len(uncertainty)
        return cls(float(np.clip(np.mean(expected), 0.0, most)), varies, np.concatenate([*counts, np.empty(0)]))

    def p_value(self, n_same: int) -> float | None:
        """Return the probability of at most so many columns in common, by a t distribution about the expected number.

        Whole tables are taken to vary as halves do.
        """
        if len(self._counts) < 2:
            return None
        deviation = max(float(self._counts.std(ddof=1)), _LEAST_DEVIATION) * np.sqrt(1.0 + self._uncertainty)
        return float(student.cdf((n_same + 0.5 - self.expected) / deviation, len(self._counts) - 1))


def _depth(choice: Choice) -> int:
    """Return how many columns the shortest ranking of a part of the samples has."""
    assert choice.resampled is not None
    return min(len(part) for split in choice.resampled.halves for part in split)


def _in_common(
    choice: Choice,
    splits: Sequence[Sequence[Sequence[int]]],
    known: set[str],
    group_of: Callable[[str], str],
    m: int,
    m_other: int,
) -> Float:
    """Return how many columns the best m of one part and the best of another part of the same split have in common."""
    counts = []
    for split in splits:
        best = [[group_of(name) for name in (choice.names[index] for index in part) if name in known] for part in split]
        counts += [(Counter(some[:m]) & Counter(others[:m_other])).total() for some, others in combinations(best, 2)]
    return np.array(counts, dtype=np.float64)


def _why_unknown(before: Choice, after: Choice) -> str:
    if _are_of_the_same_data(before, after):
        return "both were selected from the same data, so chance has no part in it"
    if not _are_made_alike(before, after):
        return "the methods or their parameters differ, so it is not a matter of chance alone"
    return "how many would be by chance alone cannot be told, since nothing was selected from parts of the samples"


def _are_of_the_same_data(before: Choice, after: Choice) -> bool:
    return bool(before.sha256) and before.sha256 == after.sha256


def _are_made_alike(before: Choice, after: Choice) -> bool:
    """Whether two choices were made in the same way; the number of columns does not count."""
    common, ways = set(before.names) & set(after.names), []
    for record in (before.record, after.record):
        params = {key: value for key, value in record["params"].items() if key != "n_features_to_select"}
        columns = [common & set(record.get(key) or ()) for key in ("keep", "exclude")]
        ways.append((record["method"], params, columns, *map(record.get, ("groups", "requirements", "counts"))))
    return bool(ways[0] == ways[1])


def chance_in_words(compared: ChoiceComparison) -> str:
    """Return where the number of columns that are the same by chance comes from; empty if it is not known."""
    if compared.expected is None:
        return ""
    sources = [each.origin for each in (compared.before, compared.after) if each.resampled]
    files = " and of ".join(dict.fromkeys(sources))
    return f"By chance: extrapolated from what selections from disjoint quarters and halves of {files} have in common."
