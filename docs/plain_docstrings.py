"""A Sphinx extension: docstrings as they are meant to be read.

Docstrings are plain text. Taken as reStructuredText, an indented formula would be a quotation with its line breaks
lost, ``n_iter_`` outside of quotes a link, and ``|x|`` a substitution: formulas become literal blocks, and such marks
lose their meaning. Fields of a named tuple that say nothing but "Alias for field number 0" are left out.
"""

from __future__ import annotations

import re
from typing import Any

# Quoted text stays; a name that ends in an underscore and is not the name of an entry, and a bar, are escaped.
_MARKS = re.compile(r"``[^`]+``|`[^`]+`|\\.|\w+_(?![\w`])(?! :)|\|")


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx, ahead of napoleon, which gives sections an indentation of their own."""
    app.connect("autodoc-process-docstring", _make_plain, priority=400)
    app.connect("autodoc-skip-member", _skip_what_is_told_elsewhere)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def formulas_set_apart(lines: list[str]) -> list[str]:
    """The lines before the first section, with ``::`` ahead of every indented block."""
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
    """A line whose underscores and bars mean themselves, and whose single letter with a full stop is no list."""
    line = re.sub(r"^(\s*\w)\.$", r"\1\\.", line)
    return _MARKS.sub(lambda found: _escaped(found[0]), line)


def _escaped(text: str) -> str:
    if text == "|":
        return r"\|"
    return text[:-1] + r"\_" if text.endswith("_") and not text.startswith(("`", "\\")) else text


def _make_plain(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    underlines = [at for at, line in enumerate(lines) if line and set(line) == {"-"}]
    first = underlines[0] - 1 if underlines else len(lines)
    last = next((at - 1 for at in underlines if lines[at - 1] in ("Examples", "References")), len(lines))
    lines[:] = [
        *formulas_set_apart(lines[:first]),
        *(without_marks(line) for line in lines[first:last]),
        *lines[last:],
    ]


def _skip_what_is_told_elsewhere(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out fields without a description, and learned values, which stand under Attributes."""
    alias = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if alias or (isinstance(obj, property) and name.endswith("_")) else None
