"""From the options of a command to a fitted selector, and sentences on what it chose and found."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import amount, counted, listed, percent, q_value
from ufselect.cli.columns import by_variable
from ufselect.cli.methods import OPTIONS_OF_PARAMETERS, as_literal, check_parameters, class_named
from ufselect.cli.options import FitOptions, Scale
from ufselect.cli.output import note, print_table, say

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.significance import ColumnSignificance

_ABOVE_THE_MEAN = ("EVSC", "LaplacianScore", "MaxVariance", "SPEC")  # select columns whose scores are above the mean
_LEAST_WORKING_MEMORY, _MOST_WORKING_MEMORY = 64, 1024
_MOST_ROWS = 20
_ROUNDING = 1e-6


def make_selector(
    method: str,
    options: FitOptions | None = None,
    *,
    features: str | None = None,
    fdr: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    strict: bool = True,
) -> Any:
    """Make a selector from its name and the options of a command; unless ``strict``, options may lack a parameter."""
    from ufselect.base import BaseSelector

    options = options or FitOptions()
    option = "--method" if strict else "--methods"
    cls = class_named(method, option, strict=strict)
    taken = inspect.signature(cls).parameters
    given: dict[str, Any] = {}
    if features is not None:
        given["n_features_to_select"] = number_or_share(features)
    if options.clusters is not None:
        given["n_clusters"] = as_number(options.clusters)
    if options.scale is not None:
        given["scale"] = None if options.scale is Scale.none else options.scale.value
    if strict and (refused := [name for name in given if name not in taken]):
        reason = f"{cls.__name__} has no parameter {refused[0]}"
        raise typer.BadParameter(reason, param_hint=f"--{OPTIONS_OF_PARAMETERS[refused[0]]}")
    shared = given | {"fdr": fdr, "random_state": options.seed, "n_jobs": options.jobs, "verbose": 1}
    try:
        selector = cls(**{key: value for key, value in shared.items() if key in taken}, **(parameters or {}))
    except TypeError as error:
        raise typer.BadParameter(f"{cls.__name__} cannot be created: {error}", param_hint=option) from error
    if isinstance(selector, BaseSelector):
        check_parameters(selector)
    return selector


def spread_columns(selectors: Iterable[Any]) -> list[str]:
    """Let selectors spread what they select over the order of the columns, unless groups or requirements; say so."""
    able = [
        each
        for each in selectors
        if hasattr(each, "get_params")
        and "min_distance" in (known := each.get_params(deep=False))
        and known.get("groups") is None
        and known.get("requirements") is None
    ]
    for each in able:
        each.set_params(min_distance="auto")
    return ["Selected columns are spread over the order of all; --min-distance says otherwise."] if able else []


def number_or_share(features: str) -> Any:
    """Return the number of columns that a text spells, or their share if it is a fraction or a percentage."""
    if not features.strip().endswith("%"):
        return as_number(features)
    percentage = as_number(features.strip().removesuffix("%").strip())
    if isinstance(percentage, (int, float)) and 0 < percentage <= 100:
        return percentage / 100.0
    raise typer.BadParameter(f"{features!r} is not a percentage above 0% and of at most 100%", param_hint="--features")


def as_number(text: str) -> Any:
    """Return the number that a text spells, or the text; booleans, which are integers in Python, stay texts."""
    value = as_literal(text)
    return text if isinstance(value, bool) else value


def fit_with_notes(
    selector: BaseSelector,
    X: Any,
    fit: Callable[[], Any] | None = None,
    *,
    batch: Any = None,
    fdr: float | None = None,
    filled: Any = None,
    structure: Any = None,
) -> None:
    """Fit a selector, by its own method if no other is given; print a note if it did not converge.

    With ``fdr``, columns are tested beforehand if the class of an author has no such parameter, or values are filled.
    """
    from ufselect._utils.warnings import convergence_warnings
    from ufselect.significance import fit_tested

    with convergence_warnings() as messages, modest_resources(X, selector.get_params().get("n_jobs", 1)):
        fit() if fit else fit_tested(selector, X, fdr, batch=batch, missing=filled, structure=structure, verbose=1)
    for message in dict.fromkeys(messages):
        note(message)


def significance_of_columns(
    X: Any,
    fdr: float,
    *,
    batch: Any = None,
    exclude: Any = None,
    groups: Any = None,
    options: FitOptions | None = None,
) -> ColumnSignificance:
    """Test which columns share structure with others."""
    from ufselect.significance import column_significance

    options = options or FitOptions()
    jobs, seed = options.jobs, options.seed
    with modest_resources(X, jobs):
        return column_significance(
            X, fdr=fdr, batch=batch, exclude=exclude, groups=groups, n_jobs=jobs, random_state=seed, verbose=1
        )


@contextmanager
def modest_resources(X: Any, n_jobs: int | None) -> Iterator[None]:
    """Limit blocks of work to a size that leaves room for the data, and use one thread unless more are requested.

    The thread pools of NumPy and SciPy wait for each other, on a busy machine much longer than they save.
    """
    from sklearn import config_context
    from threadpoolctl import threadpool_limits

    n, d = X.shape
    # In MiB. Half the data is enough, but greedy selection stores a number per column for every selected column.
    needed = max((X.nnz if hasattr(X, "nnz") else n * d) // 2, d * (d + 1)) * 8 // 2**20
    working_memory = min(max(needed, _LEAST_WORKING_MEMORY), _MOST_WORKING_MEMORY)
    with threadpool_limits(1 if n_jobs == 1 else None), config_context(working_memory=working_memory):
        yield


def notes_on_fit(selector: BaseSelector, *, significant: bool = False) -> list[str]:
    """Return sentences on the number of clusters and of columns, where they come from, and on copies.

    ``significant`` says that all columns found are selected.
    """
    count = getattr(selector, "n_groups_", selector.n_features_)
    notes = [f"Columns: {count:,}, {_where_number_is_from(selector, significant)}."]
    if getattr(selector, "n_clusters_", None) is not None:
        how = "as requested"
        if selector.get_params().get("n_clusters") == "auto":
            how = "by the widest gap between the eigenvalues of the neighbour graph"
        elif _is_default(selector, "n_clusters"):
            how = "the default of the method"
        notes.insert(0, f"Clusters: {selector.n_clusters_:,}, {how}.")
    recall = getattr(selector, "neighbor_recall_", 1.0)
    if recall < 1.0:
        notes.append(f"Neighbours: approximate, with a recall of {percent(recall, 1)} on 1,000 samples.")
    is_copy, groups = selector.copies_ >= 0, getattr(selector, "groups_", None)
    n_copies = int(is_copy.sum()) if groups is None else len({*groups} - {*groups[~is_copy]})
    if n_copies == 1:
        notes.append("1 column is an exact copy of another and ranks behind it.")
    elif n_copies:
        notes.append(f"{n_copies:,} columns are exact copies of others and rank behind them.")
    return notes


def _where_number_is_from(selector: BaseSelector, significant: bool) -> str:
    """Return where the number of columns comes from."""
    from ufselect.inspection.requirements import budget_of

    given = selector.get_params().get("n_features_to_select")
    if significant:
        shared = "structure with others" if given_or_learned(selector) == "learned" else "the given structure"
        return f"those that share {shared}"
    if budget_of(selector) is not None:
        return "the best within the budget"
    if given == "auto":
        return _automatic_number(selector)
    if _is_default(selector, "n_features_to_select"):
        return "the default of the method"
    return f"{given:g} of all columns as requested" if isinstance(given, float) else "as requested"


def _automatic_number(selector: BaseSelector) -> str:
    """Return how a method chose the number of columns."""
    curve, embedding = getattr(selector, "alignment_curve_", None), getattr(selector, "embedding_", None)
    if curve is None:
        is_above = type(selector).__name__ in _ABOVE_THE_MEAN
        return "those that score above the mean" if is_above else "chosen by the method"
    # With more columns than samples, some methods subtract what shuffled columns reach from the curve.
    is_wide = embedding is not None and selector.n_features_in_ > len(embedding)
    if is_wide and selector.n_features_ <= len(curve) and curve[selector.n_features_ - 1] < curve.max():
        return "where the alignment exceeds that of shuffled columns most"
    return f"up to the peak of the alignment with the {given_or_learned(selector)} structure"


def given_or_learned(selector: BaseSelector) -> str:
    """Return which structure columns were selected by."""
    return "given" if hasattr(selector, "given_structure_") else "learned"


def _is_default(selector: BaseSelector, parameter: str) -> bool:
    default = inspect.signature(type(selector)).parameters.get(parameter)
    return default is None or selector.get_params().get(parameter) == default.default


def select_all_found(selector: BaseSelector) -> None:
    """Select the columns that are found, which come first in every ranking, and those that are kept."""
    significance: ColumnSignificance = selector.significance_
    if not significance.n_found:
        raise ValueError(significance.verdict)
    chosen = significance.found & significance.tested
    chosen[selector.get_params().get("keep") or []] = True
    groups = getattr(selector, "groups_", None)
    selector.n_features_ = count = int(chosen.sum())
    if groups is not None:
        selector.n_groups_ = count = len(set(groups[chosen]))
    selector.set_params(n_features_to_select=count)


def verdict_of(selector: BaseSelector) -> list[str]:
    """Return a sentence on how many columns are found and selected, and one on what the test cannot see."""
    significance = getattr(selector, "significance_", None)
    if significance is None:
        return []
    return [significance.verdict_on(selector.get_support(indices=True)), significance.limits]


def alignment_of(selector: BaseSelector, X: Any = None) -> list[str]:
    """Return the alignment of the selected columns in a sentence; given X, also that of columns not found."""
    import numpy as np

    from ufselect.inspection import LearnedStructure, alignment_of_selection

    selected = alignment_of_selection(selector)
    if selected is None:
        return []
    beside, significance = "", getattr(selector, "significance_", None)
    best, count = selector.ranking_.argsort(kind="stable"), getattr(selector, "n_groups_", selector.n_features_)
    units = getattr(selector, "groups_", np.arange(len(best)))
    if significance is not None and significance.n_found and X is not None:
        others = best[~significance.found[best] & significance.tested[best]]
        first = list(dict.fromkeys(units[others]))[:count]
        if first:
            (reached,) = LearnedStructure(selector, X).alignments_of([others[np.isin(units[others], first)]])
            beside = f" ({counted(len(first), 'column')} not found: {reached:.2f})"
    n_best = len(selector.alignment_curve_)  # which ends with the last column found
    which = "selected columns"
    if selector.n_features_ > n_best:
        n_units = len({*units[best[:n_best]]})
        which = "best column" if n_units == 1 else f"{n_units:,} best columns"
    return [f"Alignment of the {which} with the {given_or_learned(selector)} structure: {selected:.2f} of 1{beside}."]


def notes_on_cost(selector: BaseSelector, X: Any, variables: Sequence[str], unit: str) -> list[str]:
    """Return sentences on what the selected columns or groups (``unit``) cost, and on what more money buys.

    The latter is not known without X, or if the method does not select by alignment.
    """
    from ufselect.inspection.requirements import budget_of, called, next_choice

    cost, budget = getattr(selector, "cost_", None), budget_of(selector)
    if cost is None:
        return []
    count = getattr(selector, "n_groups_", selector.n_features_)
    which = f"{count:,} selected {unit}s cost" if count > 1 else f"selected {unit} costs"
    notes = [f"The {which} {amount(cost)}{'' if budget is None else f' of {amount(budget)}'}."]
    found = None if X is None or budget is None else next_choice(selector, X)
    if found is None:
        return notes
    before, after = ({*called(selector, each.selected, variables)} for each in found)
    more, less = sorted(after - before), sorted(before - after)
    instead = f" in place of {listed(less, quoted=True)}" if less else ""
    rise = f"alignment {found[0].alignment:.2f} → {found[1].alignment:.2f}"
    enough = math.ceil(100.0 * found[1].cost - _ROUNDING) / 100.0
    return [*notes, f"A budget of {amount(enough)} would add {listed(more, quoted=True)}{instead} ({rise})."]


def selected_names(selector: BaseSelector, variables: Sequence[str]) -> list[str]:
    """Return the selected variables, best first, given the variable of each column."""
    best = selector.ranking_.argsort(kind="stable")[: selector.n_features_]
    return list(dict.fromkeys(variables[column] for column in best))


def print_ranking(
    selector: BaseSelector, variables: Sequence[str], *, further: str, missing: Mapping[str, float] | None = None
) -> None:
    """Print the best of the selected variables and their gains or scores; ``further`` says where to find the others.

    If shares of missing values are given, they stand beside.
    """
    import numpy as np

    from ufselect.inspection.requirements import costs_of

    columns, best = by_variable(variables), selector.ranking_.argsort(kind="stable")[: selector.n_features_]
    variables = [variables[column] for column in best]
    names = list(dict.fromkeys(variables))
    shown = names[:_MOST_ROWS]
    curve = getattr(selector, "alignment_curve_", None)
    if curve is None:
        figures = {"score": [f"{selector.scores_[columns[name]].max():.4g}" for name in shown]}
    else:
        ends = np.cumsum([len(columns[name]) for name in shown])  # one past the last column of each
        aligned = [float(curve[end - 1]) for end in ends if end <= len(curve)]
        gains = np.diff(aligned, prepend=0.0)
        texts = {"gain": [f"{value:.4f}" for value in gains], "alignment": [f"{value:.3f}" for value in aligned]}
        figures = {title: each + ["–"] * (len(shown) - len(each)) for title, each in texts.items()}
    if (costs := costs_of(selector)) is not None:
        of_variables = [np.fmax.reduce(costs[columns[name]]) for name in shown]
        figures["cost"] = ["" if np.isnan(cost) else amount(cost) for cost in of_variables]
    if hasattr(selector, "q_values_"):
        figures["q"] = [q_value(selector.q_values_[columns[name][0]]) for name in shown]
    if missing and any(name in missing for name in shown):
        figures["missing"] = [percent(missing[name]) if name in missing else "" for name in shown]
    ranked = [[str(rank), name] for rank, name in enumerate(shown, start=1)]
    rows = [[*row, *each] for row, each in zip(ranked, zip(*figures.values(), strict=True), strict=True)]
    print_table(["rank", "column", *figures], rows, left=[1])
    if len(names) > len(shown):
        say([f"… and {len(names) - len(shown):,} more; {further}."])
