"""What docstrings say about a class and its parameters, even if Python has stripped them (``python -OO``)."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any, NamedTuple

from ufselect._utils.wording import in_one_line


class Described(NamedTuple):
    """The type and the description of a parameter; both may be empty."""

    kind: str
    text: str


def docstring_of(thing: Any) -> str:
    """Return the docstring of a class or function, from its source code if need be; empty if there is none."""
    if thing.__doc__ is not None:
        return inspect.cleandoc(thing.__doc__)
    try:
        definition = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return ""
    described = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return (ast.get_docstring(definition) if isinstance(definition, described) else None) or ""


def summary_of(thing: Any) -> str:
    """Return the first paragraph of a docstring on one line."""
    return in_one_line(docstring_of(thing).partition("\n\n")[0])


def described_parameters(cls: type) -> dict[str, Described]:
    """Return every parameter of a class, described by its docstring, or else by its annotation."""
    documented = _parameters_section(docstring_of(cls))
    return {
        name: documented.get(name) or Described(_annotation(parameter), "")
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def _parameters_section(docstring: str) -> dict[str, Described]:
    """Return the entries of the numpydoc section "Parameters"."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", docstring, flags=re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^(\w+) *:(.*)\n((?:    .*\n|\n)*)", f"{section[1]}\n" if section else "", flags=re.MULTILINE)
    return {name: Described(kind.split(", default=")[0].strip(), in_one_line(text)) for name, kind, text in entries}


def _annotation(parameter: inspect.Parameter) -> str:
    if parameter.annotation is inspect.Parameter.empty:
        return ""
    return inspect.formatannotation(parameter.annotation).strip("'")


def when_auto(cls: type, parameter: str, *, wide: bool = False) -> str:
    """Return how a method chooses a parameter that is "auto", from its docstring; empty if it does not say.

    If ``wide``, there are more features than samples, for which some methods have another rule.
    """
    described = described_parameters(cls).get(parameter)
    if described is None:
        return ""
    usual = re.search(r'"auto" (?:takes|selects|reads (?:it|c) off|uses) (.*?)\.(?: |$)', described.text)
    if_wide = re.search(r"If there are more features than samples, it takes (.*?)\.(?: |$)", described.text)
    sentence = (wide and if_wide) or usual
    return sentence[1] if sentence else ""
