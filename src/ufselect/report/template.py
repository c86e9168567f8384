"""A page from its template, with its data, scripts and styles, and a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from jinja2 import Environment

_SHARED_SCRIPTS = ("tools.js", "explore.js", "charts.js", "maps.js")
_LARGEST_UINT16 = 65535
# Not allowed in HTML: control characters other than white space, and lone surrogates.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def filled_template(name: str, scripts: tuple[str, ...], content: dict[str, Any], **values: Any) -> str:
    """Return a template filled in with escaped values, and with the scripts that draw the content."""
    from markupsafe import Markup

    style, dark = _text("page.css"), _text("dark.css")
    parts = "\n".join(map(_text, (*_SHARED_SCRIPTS, *scripts, "start.js")))
    script = f'(() => {{\n"use strict";\n{parts}}})();\n'
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


def _policy(styles: list[str], script: str) -> str:
    """Return the content security policy: only the script and styles of the page itself, and no requests."""
    style_hashes = " ".join(map(_hash, styles))
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {style_hashes}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def packed(values: npt.ArrayLike, kind: str) -> str:
    """Return the bytes of an array of ``kind`` ("u1", "u2" or "u4"), little-endian, in base 64."""
    return base64.b64encode(np.asarray(values).astype(f"<{kind}").tobytes()).decode("ascii")


def packed_shares(shares: npt.ArrayLike) -> str:
    """Pack numbers from 0 to 1 in steps of 1/65535."""
    return packed(np.rint(np.clip(shares, 0.0, 1.0) * _LARGEST_UINT16), "u2")


def packed_range(values: npt.NDArray[Any]) -> dict[str, Any]:
    """Pack finite numbers in 65535 steps from the smallest to the largest, together with these two."""
    low, high = float(values.min()), float(values.max())
    return {"low": low, "high": high, "codes": packed_shares((values - low) / ((high - low) or 1.0))}


def plain_numbers(values: npt.NDArray[Any]) -> list[float | None]:
    """Return numbers with the digits that their precision has; None for values that are not finite."""
    return [float(str(value)) if np.isfinite(value) else None for value in values]


def as_json(content: Any) -> str:
    """Return ASCII-only JSON that cannot close the element around it."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def fit_for_html(value: Any) -> Any:
    """Return text without the characters that HTML does not allow; anything else as it is."""
    return _UNFIT.sub("\ufffd", value) if type(value) is str else value
