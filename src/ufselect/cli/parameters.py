"""The parameters of a method as options of a command, described by the method's own docstring."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

import ufselect

DEFAULT_METHOD = "FSASL"

# Those that all methods share have options of their own, with short names.
SHARED = {
    "n_features_to_select": "features",
    "n_clusters": "clusters",
    "random_state": "seed",
    "n_jobs": "jobs",
    "scale": "scale",
    "verbose": "",
}


class Described(NamedTuple):
    """A parameter as its docstring tells it."""

    kind: str
    text: str


def method_named(name: str, option: str = "--method") -> str:
    """The method of that name, in capitals or not."""
    known = {method.casefold(): method for method in ufselect.__all__}
    if name.casefold() in known:
        return known[name.casefold()]
    near = get_close_matches(name.casefold(), known, n=1)
    guess = f"; {known[near[0]]} is" if near else ""
    raise typer.BadParameter(f"{name!r} is no method{guess}. ufselect methods lists them", param_hint=option)


def method_named_in(arguments: Sequence[str]) -> str:
    """The method that a command line asks for, last: its parameters are needed before the line can be parsed."""
    name = DEFAULT_METHOD
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument == "--method" and following:
            name = following
        elif argument.startswith("--method="):
            name = argument.removeprefix("--method=")
    return method_named(name)


def described_parameters(method: type) -> dict[str, Described]:
    """The section "Parameters" of a docstring, by name."""
    section = re.split(r"^\w+\n-+\n", inspect.getdoc(method) or "", flags=re.MULTILINE)[1]
    entries = re.findall(r"^(\w+) : (.*)\n((?:    .*\n|\n)*)", section + "\n", flags=re.MULTILINE)
    return {name: Described(kind.split(", default=")[0], " ".join(text.split())) for name, kind, text in entries}


def when_auto(method: type, parameter: str) -> str:
    """What a method does about a parameter that is "auto"; empty where that does not arise."""
    described = described_parameters(method).get(parameter)
    told = re.search(r'"auto" (?:takes|reads it off) (.*?)\.(?: |$)', described.text) if described else None
    return told[1] if told else ""


def own_parameters(method: type) -> dict[str, Any]:
    """The parameters that no other option stands for, with their defaults."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(method).parameters.items()
        if name not in SHARED
    }


def with_parameters_of(method: str | None, command: Callable[..., None]) -> Callable[..., None]:
    """A command whose ``parameters`` are single options, those of a method."""
    cls = getattr(ufselect, method) if method else None
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters.values()
    own = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in parameters
        if parameter.name != "parameters"
    ]
    added = [] if cls is None else [_option(name, default, cls) for name, default in own_parameters(cls).items()]

    def with_options(**values: Any) -> None:
        given = {parameter.name: as_literal(values.pop(parameter.name)) for parameter in added}
        command(**values, parameters=given)

    with_options.__name__, with_options.__doc__ = command.__name__, command.__doc__
    signature = inspect.Signature([*own, *added])
    with_options.__signature__ = signature  # type: ignore[attr-defined]
    with_options.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return with_options


def as_literal(value: Any) -> Any:
    """A number, True, False or None where the text says one; else the text."""
    if not isinstance(value, str):
        return value
    text = {"true": "True", "false": "False", "none": "None"}.get(value.casefold(), value)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return value


def _option(name: str, default: Any, cls: type) -> inspect.Parameter:
    told = described_parameters(cls)[name]
    kind = bool if isinstance(default, bool) else str
    option = typer.Option(
        help=told.text,
        metavar=None if kind is bool else _alternatives(told.kind),
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default if kind is bool else str(default),
        annotation=Annotated[kind, option],
    )


def _alternatives(kind: str) -> str:
    """The values that a docstring allows, as help texts write them."""
    values = re.split(" or |, ", kind.strip("{}").replace('"', ""))
    return f"<{'|'.join(values)}>"


def refused_value(message: str) -> str:
    """scikit-learn's sentence on a value that a parameter cannot have, in terms of options and plain words."""
    told = re.fullmatch(r"The '(\w+)' parameter of \w+ must be (.*)\. Got (.*) instead\.", message)
    if not told:
        return message
    option = SHARED.get(told[1]) or told[1].replace("_", "-")
    allowed = told[2]
    for pattern, words in _PLAIN_RANGES.items():
        allowed = re.sub(pattern, words, allowed)
    return f"--{option} cannot be {told[3]}: it is {allowed}."


_PLAIN_RANGES = {
    r"an? (?:int|Integral) in the range \[(\d+), inf\)": r"a whole number from \1 on",
    r"a float in the range \((\d+)(?:\.0)?, inf\)": r"a number above \1",
    r"a float in the range \[(\d+)(?:\.0)?, inf\)": r"a number from \1 on",
    r"a float in the range \((\d+)(?:\.0)?, (\d+)(?:\.0)?\]": r"a number above \1, up to \2",
    r"a float in the range \((\d+)(?:\.0)?, (\d+)(?:\.0)?\)": r"a number between \1 and \2",
    r"a str among \{(.*?)\}": r"one of \1",
    r"one of ('\w+')(?!, ')": r"\1",
}
