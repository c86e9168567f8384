"""The page of a selection."""

from __future__ import annotations

from typing import Any

from ufselect.report import captions
from ufselect.report.columns import curves_of
from ufselect.report.figures import Findings, data_of_figures
from ufselect.report.left_out import columns_left_out
from ufselect.report.study import Study, parameters, python_code
from ufselect.report.template import filled_template

_LISTED_WITHOUT_SCRIPTS = 20
_COLUMNS_IN_PRINT, _KINDS_IN_PRINT = 10, 8  # rows of the tables of selected columns and of those left out, by page.css
_MOST_LISTED_IN_PRINT = 80


def render_page(study: Study) -> str:
    """Render a selection as one self-contained HTML page.

    Parameters
    ----------
    study : Study

    Returns
    -------
    str
        The page. It loads nothing from elsewhere, and the same study always gives the same text.

    Examples
    --------
    >>> import numpy as np
    >>> from ufselect import LaplacianScore
    >>> from ufselect.report import Study, render_page
    >>> X = np.random.default_rng(0).standard_normal((30, 4))
    >>> selector = LaplacianScore(n_features_to_select=2).fit(X)
    >>> page = render_page(Study(selector, X, ["a", "b", "c", "d"], "table.csv", "ufselect select table.csv"))
    >>> "2 of 4 columns selected" in page
    True
    """
    findings = Findings.of(study)
    selected = study.selected_variables
    return filled_template(
        "selection.html",
        ("table.js", "scatter.js", "selection.js"),
        data_of_figures(findings),
        source=study.source,
        verdict=captions.verdict(study),
        facts=captions.facts(study),
        notes=study.notes,
        predicted=captions.of_reconstruction(findings),
        best=selected[:_LISTED_WITHOUT_SCRIPTS],
        further=selected[_COLUMNS_IN_PRINT:_MOST_LISTED_IN_PRINT],
        n_not_listed=max(len(selected) - _MOST_LISTED_IN_PRINT, 0),
        left_out=columns_left_out(findings),
        kinds_in_print=_KINDS_IN_PRINT,
        figures=_figures(findings),
        convergence=_named_figures([("convergence", "Convergence", captions.of_convergence(study))]),
        command=study.command,
        code=python_code(study.selector),
        parameters=parameters(study.selector),
    )


def _figures(findings: Findings) -> list[dict[str, Any]]:
    """Return the figures that apply to the method and the data."""
    study = findings.study
    if curves_of(study) is None:
        first = ("scores", "Scores", captions.of_scores(study))
    else:
        title = f"Alignment with the {captions.given_or_learned(findings.study)} structure"
        first = ("structure", title, captions.of_structure(findings))
    return _named_figures(
        [
            ("spectrum", "Spectrum", captions.of_spectrum(study)),
            first,
            ("costs", "Alignment by cost", captions.of_costs(findings)),
            ("samples", "Samples", captions.of_samples(findings)),
            ("markers", "Columns by cluster", captions.of_markers(findings)),
            ("redundancy", "Redundancy", captions.of_redundancy(findings)),
            ("image", "Image", captions.of_image(study)),
        ]
    )


def _named_figures(figures: list[tuple[str, str, captions.Caption | None]]) -> list[dict[str, Any]]:
    return [{"name": name, "title": title, **said._asdict()} for name, title, said in figures if said is not None]
