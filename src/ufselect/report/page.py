"""The page: its template filled in."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template

from ufselect.report import words
from ufselect.report.content import Findings, page_content
from ufselect.report.encoding import as_html, as_json
from ufselect.report.features import best_first
from ufselect.report.settings import parameters, python_code
from ufselect.report.study import Study
from ufselect.report.words import Words

_SCRIPTS = ("tools.js", "explore.js", "table.js", "charts.js", "maps.js", "scatter.js", "page.js")
_LISTED_WITHOUT_SCRIPTS = 20


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
    style, dark, script = _text("page.css"), _text("dark.css"), _script()
    return Template(_text("page.html")).substitute(
        style=style,
        dark=dark,
        script=script,
        policy=_policy([style, dark], script),
        data=as_json(page_content(findings)),
        **_headline(findings),
        **_settings(study),
        best=_best_features(study),
        figures="\n".join(_figures(findings)),
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    parts = "\n".join(_text(name) for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _policy(styles: list[str], script: str) -> str:
    """Return the content security policy: only the script and styles of the page itself, and no requests."""
    style_hashes = " ".join(map(_hash, styles))
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {style_hashes}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _headline(findings: Findings) -> dict[str, str]:
    study = findings.study
    facts = [
        f'<div><dt>{as_html(name)}</dt><dd title="{as_html(str(value))}">{as_html(str(value))}</dd></div>'
        for name, value in words.facts(findings).items()
    ]
    return {
        "headline": as_html(words.headline(study)),
        "source": as_html(study.source),
        "facts": "\n".join(facts),
        "notes": "\n".join(f"<p>{as_html(note)}</p>" for note in study.notes),
    }


def _settings(study: Study) -> dict[str, str]:
    rows = [
        f'<tr><th scope="row"><code>{as_html(name)}</code></th><td><code>{as_html(value)}</code></td>'
        f"<td>{'default' if default else 'set'}</td></tr>"
        for name, (value, default) in parameters(study.selector).items()
    ]
    return {
        "parameters": "\n".join(rows),
        "command": as_html(study.command),
        "code": as_html(python_code(study.selector)),
    }


def _best_features(study: Study) -> str:
    best = best_first(study)[: min(study.selector.n_features_, _LISTED_WITHOUT_SCRIPTS)]
    return "\n".join(f"<li><bdi>{as_html(study.column_names[column])}</bdi></li>" for column in best)


def _figures(findings: Findings) -> list[str]:
    """Return the sections of the figures, except those that do not apply to the method."""
    study = findings.study
    structure = words.of_structure(study) or Words("", words.no_structure(study))
    found = [
        ("scores", "Scores", words.of_scores(study)),
        ("structure", "Agreement", structure),
        ("samples", "Samples", words.of_samples(findings)),
        ("blocks", "Neighbours", words.of_blocks(findings)),
        ("redundancy", "Redundancy", words.of_redundancy(findings)),
        ("convergence", "Convergence", words.of_convergence(study)),
        ("image", "Image", words.of_image(study)),
    ]
    return [_figure(name, title, said) for name, title, said in found if said is not None]


def _figure(name: str, title: str, said: Words) -> str:
    """Return a section with a figure, or with a sentence only if there is nothing to draw."""
    template = "figure.html" if said.label else "sentence.html"
    texts = {key: as_html(text) for key, text in said._asdict().items()}
    return Template(_text(template)).substitute(texts, name=name, title=title)
