"""The parameters of a method as options of a command."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from ufselect.cli.docstrings import Described, described_parameters, docstring_of

# Parameters that most methods share have options of their own, with short names.
SHARED = {
    "n_features_to_select": "features",
    "n_clusters": "clusters",
    "random_state": "seed",
    "n_jobs": "jobs",
    "scale": "scale",
    "keep": "keep",
    "exclude": "exclude",
    "verbose": "",
}


def own_parameters(cls: type) -> dict[str, Any]:
    """Return the parameters of a method that no shared option sets, with their defaults."""
    signature = inspect.signature(cls).parameters
    return {name: signature[name].default for name in described_parameters(cls) if name not in SHARED}


def with_parameters_of(cls: type | None, command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the parameters of a method as options, instead of as the mapping ``parameters``."""
    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name != "parameters"
    ]
    options = {} if cls is None else _options(cls, taken={parameter.name for parameter in own})

    def with_options(**values: Any) -> None:
        given = {name: values.pop(option.name) for name, option in options.items()}
        # Defaults are left to the class: not every value survives the conversion to text and back.
        changed = {name: as_literal(value) for name, value in given.items() if value != options[name].default}
        command(**values, parameters=changed)

    with_options.__name__, with_options.__doc__ = command.__name__, docstring_of(command)
    signature = inspect.Signature([*own, *options.values()])
    with_options.__signature__ = signature  # type: ignore[attr-defined]
    with_options.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return with_options


def as_literal(value: Any) -> Any:
    """Return the number, True, False or None that a text spells; otherwise the text itself."""
    if not isinstance(value, str):
        return value
    text = {"true": "True", "false": "False", "none": "None"}.get(value.casefold(), value)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return value


def _options(cls: type, taken: set[str]) -> dict[str, inspect.Parameter]:
    """Return an option for every parameter; one whose name the command itself uses is called ``own-NAME``."""
    described = described_parameters(cls)
    return {
        name: _option(f"own_{name}" if name in taken else name, default, described[name])
        for name, default in own_parameters(cls).items()
    }


def _option(name: str, default: Any, described: Described) -> inspect.Parameter:
    kind = bool if isinstance(default, bool) else str
    option = typer.Option(
        help=described.text or None,
        metavar=None if kind is bool or not described.kind else _alternatives(described.kind),
    )
    if default is not inspect.Parameter.empty and kind is str:
        default = str(default)
    annotation: Any = Annotated[kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _alternatives(kind: str) -> str:
    """Return the type of a parameter as help texts write alternatives: ``<int|auto>``."""
    values = re.split(r" or |, | \| ", re.sub('[{}"]', "", kind))
    return f"<{'|'.join(values)}>"


def refused_value(message: str) -> str:
    """Return scikit-learn's message on an invalid parameter in terms of options."""
    found = re.fullmatch(r"The '(\w+)' parameter of \w+ must be (.*)\. Got (.*) instead\.", message)
    if not found:
        return message
    option = SHARED.get(found[1]) or found[1].replace("_", "-")
    allowed = found[2]
    for pattern, words in _PLAIN_RANGES.items():
        allowed = re.sub(pattern, words, allowed)
    return f"--{option} must be {allowed}; got {found[3]}."


_PLAIN_RANGES = {
    r"an? (?:int|Integral) in the range \[(\d+), inf\)": r"an integer of at least \1",
    r"a float in the range \((\d+)(?:\.0)?, inf\)": r"a number greater than \1",
    r"a float in the range \[(\d+)(?:\.0)?, inf\)": r"a number of at least \1",
    r"a float in the range \((\d+)(?:\.0)?, (\d+)(?:\.0)?\]": r"a number greater than \1 and at most \2",
    r"a float in the range \[(\d+)(?:\.0)?, (\d+)(?:\.0)?\]": r"a number from \1 to \2",
    r"a float in the range \((\d+)(?:\.0)?, (\d+)(?:\.0)?\)": r"a number strictly between \1 and \2",
    r"a str among \{(.*?)\}": r"one of \1",
    r"one of ('\w+')(?!, ')": r"\1",
}
