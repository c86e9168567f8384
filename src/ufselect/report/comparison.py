"""The page of a comparison: several methods side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ufselect._utils.wording import counted
from ufselect.inspection import ComparedSelection, Comparison, selection_overlap
from ufselect.inspection.measures import RANDOM
from ufselect.report.captions import Caption, percent
from ufselect.report.template import filled_template, packed_shares, plain_numbers

_MOST_CURVES = 12


def render_comparison(
    compared: Comparison,
    n_columns: int,
    *,
    source: str,
    command: str,
    notes: Sequence[str] = (),
    facts: Mapping[str, str] | None = None,
    explained: Sequence[tuple[str, str]] = (),
) -> str:
    """Render a comparison of methods as one self-contained HTML page.

    Parameters
    ----------
    compared : Comparison
        From :func:`ufselect.inspection.compare_selectors`.
    n_columns : int
        Number of columns that the methods selected from.
    source : str
        The name of the data file.
    command : str
        The command line that reproduces the comparison.
    notes : sequence of str
        Sentences on how it was made.
    facts : mapping of str to str, optional
        Short facts, such as the size of the data.
    explained : sequence of (str, str)
        Names in the table and what they mean.

    Returns
    -------
    str

    Examples
    --------
    >>> from ufselect import LaplacianScore, MaxVariance
    >>> from ufselect.inspection import compare_selectors
    >>> from ufselect.datasets import make_planted_clusters
    >>> from ufselect.report import render_comparison
    >>> X = make_planted_clusters(100, 3, 5, 15, random_state=0).X
    >>> selectors = {"variance": MaxVariance(), "Laplacian": LaplacianScore()}
    >>> compared = compare_selectors(selectors, X, n_features_to_select=5, n_repeats=0)
    >>> "2 methods, 5 of 20 columns each" in render_comparison(compared, 20, source="table.csv", command="…")
    True
    """
    fitted = [row for row in compared.rows if row.seconds is not None]
    return filled_template(
        "comparison.html",
        ("comparison.js",),
        _content(fitted),
        source=source,
        headline=_headline(compared.rows, n_columns),
        facts={"Source": source, **(facts or {})},
        notes=[*notes, *(f"{name} was skipped: {reason}" for name, reason in compared.failures.items())],
        heads=_measures(compared.rows[0], compared.rows),
        rows=[(row.method, row.is_baseline, _measures(row, compared.rows)) for row in compared.rows],
        explained=explained,
        figures=_figures(fitted, n_columns),
        command=command,
    )


def _headline(rows: Sequence[ComparedSelection], n_columns: int) -> tuple[str, str]:
    """Return what was compared, and how well the best method and the best baseline preserve nearest neighbours."""
    noun, methods = "method", {row.method: row for row in rows if not row.is_baseline}
    if not methods:
        noun, methods = "baseline", {row.method: row for row in rows if row.seconds is not None}
    best = max(methods.values(), key=lambda row: row.neighborhoods)
    count = f"{counted(len(methods), noun)}, {len(best.units):,} of {counted(n_columns, 'column')} each"
    found = f"{best.method} preserves {percent(best.neighborhoods)} of the samples' nearest neighbours"
    baselines = [row for row in rows if row.is_baseline and row.method not in methods]
    if not baselines:
        return count, found
    beside = max(baselines, key=lambda row: row.neighborhoods)
    name = "random columns" if beside.method == RANDOM else f"the baseline {beside.method}"
    if best.neighborhoods > beside.neighborhoods:
        return count, f"{found}, {name} {percent(beside.neighborhoods)}"
    share = percent(beside.neighborhoods)
    return count, f"none preserves more of the samples' nearest neighbours than {name}, {share}"


def _measures(row: ComparedSelection, rows: Sequence[ComparedSelection]) -> dict[str, str]:
    """Return the figures of a method as texts, by the title of their column."""
    found = {} if row.found is None else {"found": percent(row.found)}
    found |= {"redundancy": percent(row.redundancy), "neighbours": percent(row.neighborhoods)}
    if any(each.stability is not None for each in rows):
        found["stability"] = "–" if row.stability is None else f"{row.stability.value:z.2f}"
    found["seconds"] = "–" if row.seconds is None else f"{row.seconds:.2f}"
    return found | {key.upper(): percent(value) for key, value in row.agreement.items()}


def _content(methods: Sequence[ComparedSelection]) -> dict[str, Any]:
    curves = [(row.method, plain_numbers(row.curve)) for row in methods if row.curve is not None][:_MOST_CURVES]
    return {
        "methods": [row.method for row in methods],
        "selected": len(methods[0].chosen),
        "overlap": packed_shares(selection_overlap([row.units for row in methods])),
        "curves": [{"method": name, "values": values} for name, values in curves],
    }


def _figures(methods: Sequence[ComparedSelection], n_columns: int) -> list[dict[str, Any]]:
    m = len(methods[0].units)
    learned = [row for row in methods if row.curve is not None]
    described = []
    if len(methods) > 1:
        by_chance = f"random selections share {percent(m / (2 * n_columns - m))}"
        label = f"Heat map of the overlap of the selections of {counted(len(methods), 'method')}; {by_chance}."
        caption = f"Share of the columns selected by either of two methods that both select; {by_chance} on average."
        described.append(("overlap", "Overlap of the selections", Caption(label, caption)))
    if learned:
        label = f"Line chart of the alignment of {counted(len(learned), 'method')} with the structures that they learn."
        caption = (
            "How closely the similarities of samples by the best columns of a method match the structure that it "
            "learns. Even columns of noise have some alignment."
        )
        described.append(("alignment", "Alignment with the learned structure", Caption(label, caption)))
    return [{"name": name, "title": title, **said._asdict()} for name, title, said in described]
