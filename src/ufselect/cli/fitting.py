"""From a file and options to a fitted selector, with sentences on what was done and why."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from ufselect._utils.wording import listed, occurrences, percent, shown
from ufselect.cli.classes import class_named
from ufselect.cli.docstrings import when_auto
from ufselect.cli.options import Counts, DecimalMark, Header, Impute, Scale
from ufselect.cli.parameters import SHARED, as_literal
from ufselect.cli.printing import note

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.files import Table
    from ufselect.inspection import StructureTest

_PLAIN_WORDS = {
    "features": "columns",
    "alignment curve": "agreement with the learned structure",
    "alignment": "agreement",
}
COUNTS_REQUESTED = "The values are log-normalised as counts, as requested."
_MOST_CODES = 3
_LONGEST_REASON = 250
_LEAST_WORKING_MEMORY, _MOST_WORKING_MEMORY = 64, 1024


@dataclass(frozen=True)
class Source:
    """The table to read, and what to do with it before the fit."""

    path: Path
    aside: Sequence[str] = ()
    impute: Impute | None = None
    counts: Counts | None = None
    layer: str = ""
    form: Mapping[str, Any] = field(default_factory=dict)
    as_read: bool = True  # whether the values are needed as they were; counts are normalised in place otherwise


@dataclass(frozen=True)
class Numbers:
    """A table as it was read, its numbers as the methods see them, and notes on what was done."""

    table: Table
    X: Any
    notes: list[str]
    are_counts: bool = False

    def without_source(self, notes: Sequence[str]) -> list[str]:
        """Return notes less the one on what was read, which pages say elsewhere."""
        return [each for each in notes if each != _what_was_read(self.table)]


def form_of_text(
    delimiter: str | None,
    decimal: DecimalMark | None,
    na: Sequence[str] | None,
    transpose: bool,
    encoding: str | None = None,
    sheet: str | None = None,
    header: Header | None = None,
) -> dict[str, Any]:
    """Return the options given for reading text files and sheets, as keywords of :func:`ufselect.files.read_table`."""
    missing = tuple(text.strip() for several in na or () for text in several.split(",") if text.strip())
    given = {
        "delimiter": delimiter,
        "decimal": decimal and decimal.value,
        "na": missing or None,
        "transpose": transpose or None,
        "encoding": encoding,
        "sheet": sheet or None,
        "header": header and header is Header.yes,
    }
    return {name: value for name, value in given.items() if value is not None}


def read_numbers(source: Source) -> Numbers:
    """Read a file; raise an error that names the columns with infinite or missing values."""
    from ufselect.files import infinite_values, missing_values, read_table, with_medians

    table = read_table(source.path, aside=source.aside, layer=source.layer or None, verbose=1, **source.form)
    notes = [_what_was_read(table), *table.notes, *what_is_aside(table.reasons)]
    if infinite := infinite_values(table):
        raise ValueError(f"{occurrences('infinite', infinite)}; replace them, or keep the columns aside (--aside).")
    ready = table
    if missing := missing_values(table):
        if source.impute is None:
            raise ValueError(f"{occurrences('missing', missing)}; --impute median fills them in.")
        ready = with_medians(table)
        notes.append(f"{occurrences('missing', missing)}, replaced by the median of the column.")
    # Judged by the table as read: medians of counts need not be whole numbers.
    counts = _what_counts_become(table, source.counts)
    codes = [] if counts else _what_may_be_codes(table)
    in_place = not source.as_read or ready is not table
    X = _normalized(ready, in_place) if counts else ready.X
    return Numbers(table, X, [*counts, *notes, *codes], bool(counts))  # what changes all values comes first


def _what_counts_become(table: Table, counts: Counts | None) -> list[str]:
    """Return a sentence on what is done with counts; none if the values are not counts."""
    from ufselect.files import looks_like_counts, share_of_zeros

    if counts is Counts.yes:
        return [COUNTS_REQUESTED]
    if counts is Counts.no or not looks_like_counts(table):
        return []
    return [counts_detected(f"non-negative whole numbers, {percent(share_of_zeros(table))} zeros")]


def counts_detected(how: str) -> str:
    """Return the sentence on counts that nobody has named as such."""
    return f"Raw counts are detected ({how}) and log-normalised. --counts no uses the values as they are."


def _what_may_be_codes(table: Table) -> list[str]:
    """Return a sentence on columns that may be codes rather than quantities; none if there are no such columns."""
    from ufselect.files import codes_among

    codes = codes_among(table)
    if not codes:
        return []
    options = " ".join(f"--aside {shlex.quote(shown(name))}" for name in list(codes)[:_MOST_CODES])
    if len(codes) == 1:
        ((name, count),) = codes.items()
        return [f"{shown(name)} has {count} different whole numbers: if it is a code, keep it aside ({options})."]
    named = listed([f"{shown(name)} ({count})" for name, count in codes.items()], _MOST_CODES)
    return [f"Few different whole numbers in {named}: if they are codes, keep them aside ({options})."]


def _normalized(table: Table, in_place: bool) -> Any:
    """Return the values divided by the sums of their rows, and logarithms taken."""
    from ufselect.files import negative_values
    from ufselect.preprocessing import LogNormalize

    if negative := negative_values(table):
        raise ValueError(f"{occurrences('negative', negative)}; --counts yes needs values of zero or more.")
    return LogNormalize(copy=not in_place).fit_transform(table.X)


def make_selector(
    method: str,
    *,
    features: str | None = None,
    clusters: str | None = None,
    scale: Scale | None = None,
    seed: int = 0,
    jobs: int = 1,
    parameters: Mapping[str, Any] | None = None,
    strict: bool = True,
) -> Any:
    """Make a selector from its name and the options of a command, and check them before anything is read.

    If ``strict``, an option that the method has no parameter for is an error; otherwise it is ignored, and the method
    may be a plain class.
    """
    from ufselect.base import BaseSelector

    option = "--method" if strict else "--methods"
    cls = class_named(method, option, plain=not strict)
    given = _given(features, clusters, scale)
    taken = inspect.signature(cls).parameters
    if strict:
        refused = [name for name in given if name not in taken]
        if refused:
            reason = f"{cls.__name__} has no parameter {refused[0]}"
            raise typer.BadParameter(reason, param_hint=f"--{SHARED[refused[0]]}")
    shared = given | {"random_state": seed, "n_jobs": jobs, "verbose": 1}
    try:
        selector = cls(**{key: value for key, value in shared.items() if key in taken}, **(parameters or {}))
    except TypeError as error:
        raise typer.BadParameter(f"{cls.__name__} cannot be made: {error}", param_hint=option) from error
    if isinstance(selector, BaseSelector):
        selector._validate_params()
    return selector


def _given(features: str | None, clusters: str | None, scale: Scale | None) -> dict[str, Any]:
    """Return the parameters that options set; the others keep the defaults of the method."""
    given: dict[str, Any] = {}
    if features is not None:
        given["n_features_to_select"] = number_or_share(features)
    if clusters is not None:
        given["n_clusters"] = as_number(clusters)
    if scale is not None:
        given["scale"] = None if scale is Scale.none else scale.value
    return given


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


def fit_with_notes(selector: BaseSelector, X: Any, fit: Callable[[], Any] | None = None, *, batch: Any = None) -> None:
    """Fit a selector, by its own method if no other is given; print a note if it did not converge."""
    from ufselect._utils.warnings import convergence_warnings

    with convergence_warnings() as messages, modest_resources(X, selector.get_params().get("n_jobs", 1)):
        # The `fit` of an author may not take batches.
        fit() if fit else selector.fit(X, **({} if batch is None else {"batch": batch}))
    for message in dict.fromkeys(messages):
        note(message)


@contextmanager
def modest_resources(X: Any, n_jobs: int | None) -> Iterator[None]:
    """Limit blocks of work to a size that leaves room for the data, and use one thread unless more are requested.

    The thread pools of NumPy and SciPy wait for each other, on a busy machine much longer than they save.
    """
    from sklearn import config_context
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1 if n_jobs == 1 else None), config_context(working_memory=_working_memory(X)):
        yield


def _working_memory(X: Any) -> int:
    """Return the size of blocks in MiB: the default of scikit-learn, 1 GiB, would dwarf a small file.

    Half the size of the data is enough, but greedy selection stores one number per column for every selected column,
    and must not end sooner than in a fit from Python.
    """
    n, d = X.shape
    needed = max((X.nnz if hasattr(X, "nnz") else n * d) // 2, d * (d + 1)) * 8 // 2**20
    return min(max(needed, _LEAST_WORKING_MEMORY), _MOST_WORKING_MEMORY)


def choices_made(selector: BaseSelector) -> list[str]:
    """Return sentences on the number of clusters and of columns, and where they come from."""
    sentences = [f"Columns: {selector.n_features_:,}, {_reason(selector, 'n_features_to_select')}."]
    if getattr(selector, "n_clusters_", None) is not None:
        sentences.insert(0, f"Clusters: {selector.n_clusters_:,}, {_reason(selector, 'n_clusters')}.")
    recall = getattr(selector, "neighbor_recall_", 1.0)
    if recall < 1.0:
        sentences.append(
            f"Neighbours: approximate, with {percent(recall, 1)} of the true ones, measured on 1,000 samples."
        )
    return sentences


def copies_found(selector: BaseSelector) -> list[str]:
    """Return a sentence on columns that are exact copies of others; none if there are no such columns."""
    count = int((selector.copies_ >= 0).sum())
    if count == 0:
        return []
    if count == 1:
        return ["1 column is an exact copy of another and ranks behind it."]
    return [f"{count:,} columns are exact copies of others and rank behind them."]


class Agreement(NamedTuple):
    """Sentences on how well the selected columns agree with the learned structure, and the test behind them."""

    sentences: list[str]
    tested: StructureTest | None = None


def agreement_found(selector: BaseSelector, X: Any, *, test: bool = True, batch: Any = None) -> Agreement:
    """Return how well the selected columns agree with the learned structure, in a sentence; none if there is none.

    If ``test``, the agreement is compared with that of shuffled columns.
    """
    from ufselect.inspection import alignment_of_selection, structure_test_of_fitted

    found = alignment_of_selection(selector)
    if found is None:
        return Agreement([])
    untested = f"Agreement of the selected columns with the learned structure: {found:.2f} of 1"
    if not test:
        return Agreement([f"{untested}."])
    try:
        with modest_resources(X, selector.get_params().get("n_jobs", 1)):
            tested = structure_test_of_fitted(selector, X, batch=batch, verbose=1)
    except ValueError as error:
        return Agreement([f"{untested}; it could not be compared with that of shuffled columns. {error}"])
    return Agreement([_what_was_tested(tested, found, X.shape[0])], tested)


def _what_was_tested(tested: StructureTest, fitted: float, n_samples: int) -> str:
    """Return the agreement of the fit beside that of shuffled columns; both are named if the tested one is another."""
    p, observed, other = tested.p_value, f"{tested.observed:.2f}", tested.why_other_than(fitted, n_samples)
    by_chance = f"{tested.mean:.2f} ± {round(tested.spread, 3):.1g} if columns are shuffled"
    if tested.found:
        probability = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
        tested_one = f". {other.capitalize()}: {observed}" if other else ""
        found = f"{fitted:.2f} of 1{tested_one} ({by_chance}; {probability})"
        return f"Agreement of the selected columns with the learned structure: {found}."
    named = f"{fitted:.2f} of 1, {other} {observed}" if other else f"{observed} of 1"
    too_few = "The selection may be arbitrary, or the samples tested are too few to see a structure."
    return (
        f"No structure was found: the agreement of the selected columns with the learned structure, {named}, "
        f"is no better than by chance ({by_chance}; p = {p:.2g}). "
        f"{too_few if 0 < tested.n_samples < n_samples else 'The selection is arbitrary.'}"
    )


def _reason(selector: BaseSelector, parameter: str) -> str:
    given = selector.get_params().get(parameter)
    default = inspect.signature(type(selector)).parameters.get(parameter)
    if given == "auto":
        rule = _in_words_of_files(when_auto(type(selector), parameter, wide=_is_wide(selector)))
        return (f"by {rule}" if parameter == "n_clusters" else rule) if rule else "chosen by the method"
    if default is None or given == default.default:
        return "the default of the method"
    return f"{given:g} of all columns as requested" if isinstance(given, float) else "as requested"


def _in_words_of_files(rule: str) -> str:
    for word, plain in _PLAIN_WORDS.items():
        rule = rule.replace(word, plain)
    return rule


def _is_wide(selector: BaseSelector) -> bool:
    """Whether the data had more columns than samples, as far as the selector knows."""
    embedding = getattr(selector, "embedding_", None)
    return embedding is not None and selector.n_features_in_ > len(embedding)


def _what_was_read(table: Table) -> str:
    from scipy.sparse import issparse

    from ufselect.files import is_pattern

    n, d = table.shape
    name = str(table.path) if is_pattern(table.path) else table.path.name
    kind = "sparse, " if issparse(table.X) else ""
    return f"{name}: {n:,} samples × {d:,} numeric columns ({kind}{table.memory / 1e6:,.1f} MB)."


def what_is_aside(reasons: Mapping[str, str]) -> list[str]:
    """Return a sentence on the columns that are not features, and why; none if there are no such columns."""
    if not reasons:
        return []
    # A reason may end with the option that helps, so only names are shortened.
    columns = [f"{shown(name)} ({reason})" for name, reason in reasons.items()]
    return [f"Kept aside: {listed(columns, longest=_LONGEST_REASON)}."]
