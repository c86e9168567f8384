"""A page from its template: own scripts and styles, and a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ufselect.report.encoding import as_json, fit_for_html

if TYPE_CHECKING:
    from jinja2 import Environment

_SHARED_SCRIPTS = ("tools.js", "explore.js", "charts.js", "maps.js")


def filled_template(name: str, scripts: tuple[str, ...], content: dict[str, Any], **values: Any) -> str:
    """Return a page: a template filled in, with the scripts that draw the content.

    Every value is escaped by the template engine.
    """
    from markupsafe import Markup

    style, dark, script = _text("page.css"), _text("dark.css"), _script((*_SHARED_SCRIPTS, *scripts, "start.js"))
    return (
        _templates()
        .get_template(name)
        .render(
            **values,
            style=Markup(style),
            dark=Markup(dark),
            script=Markup(script),
            policy=_policy([style, dark], script),
            data=Markup(as_json(content)),
        )
    )


@cache
def _templates() -> Environment:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("a report needs Jinja2: pip install jinja2.") from error
    return Environment(
        loader=FunctionLoader(lambda name: _text(f"templates/{name}")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=fit_for_html,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _script(names: tuple[str, ...]) -> str:
    parts = "\n".join(_text(name) for name in names)
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
