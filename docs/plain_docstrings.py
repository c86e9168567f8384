"""A Sphinx extension that renders docstrings as plain text.

In reStructuredText, an indented formula is a quotation that loses its line breaks, ``n_iter_`` outside of quotes is a
link, and ``|x|`` is a substitution. This extension turns formulas into literal blocks and escapes such marks. It omits
fields of named tuples whose only description is "Alias for field number 0".
"""

from __future__ import annotations

import re
from typing import Any

# Matches quoted text, which stays as it is, and what is escaped: bars, and names that end in an underscore, unless they
# begin an entry.
_MARKS = re.compile(r"``[^`]+``|`[^`]+`|\\.|\w+_(?![\w`])(?! :)|\|")


def setup(app: Any) -> dict[str, bool]:
    """Register the handlers, to run before napoleon, which changes the indentation of sections."""
    app.connect("autodoc-process-docstring", _make_plain, priority=400)
    app.connect("autodoc-skip-member", _skip_documented_elsewhere)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def formulas_set_apart(lines: list[str]) -> list[str]:
    """Return the lines before the first section, with ``::`` before every indented block."""
    out: list[str] = []
    paragraph = ""
    for line, before in zip(lines, ["", *lines], strict=False):
        begins = line.startswith("    ") and not before.strip() and paragraph
        out += ["::", ""] if begins and not paragraph.endswith("::") else []
        if line.strip():
            paragraph = "" if line.startswith(" ") else line
        out.append(line if paragraph == "" else without_marks(line))
    return out


def without_marks(line: str) -> str:
    """Return a line with underscores and bars escaped, and without a single letter and full stop that starts a list."""
    line = re.sub(r"^(\s*\w)\.$", r"\1\\.", line)
    return _MARKS.sub(lambda found: _escaped(found[0]), line)


def _escaped(text: str) -> str:
    if text == "|":
        return r"\|"
    return text[:-1] + r"\_" if text.endswith("_") and not text.startswith(("`", "\\")) else text


def _make_plain(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    underlines = [index for index, line in enumerate(lines) if line and set(line) == {"-"}]
    first = underlines[0] - 1 if underlines else len(lines)
    last = next((index - 1 for index in underlines if lines[index - 1] in ("Examples", "References")), len(lines))
    lines[:] = [
        *formulas_set_apart(lines[:first]),
        *(without_marks(line) for line in lines[first:last]),
        *lines[last:],
    ]


def _skip_documented_elsewhere(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Skip fields without a description, fitted attributes, which are listed under Attributes, and ``set_fit_request``.

    scikit-learn's description of the latter refers to pages of its own.
    """
    if name == "set_fit_request":
        return True
    alias = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if alias or (isinstance(obj, property) and name.endswith("_")) else None
