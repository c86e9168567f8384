"""Methods by name, what their docstrings say, and their parameters as options; ``ufselect methods`` lists them."""

from __future__ import annotations

import ast
import inspect
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_type_hints

import typer
from typer.models import OptionInfo

import ufselect
from ufselect._utils.naming import names_a_module, object_named
from ufselect._utils.wording import in_one_line
from ufselect.cli.options import USUAL, Debug, HelpAll
from ufselect.cli.output import print_table, say

if TYPE_CHECKING:
    from ufselect.base import BaseSelector

DEFAULT_METHOD = "KernelFSASL"

OPTIONS_OF_PARAMETERS = {  # that most methods share; every other parameter has an option of its own name
    "n_features_to_select": "features",
    "n_clusters": "clusters",
    "random_state": "seed",
    "n_jobs": "jobs",
    "scale": "scale",
    "keep": "keep",
    "exclude": "exclude",
    "groups": "groups",
    "requirements": "",
    "fdr": "fdr",
    "verbose": "",
}
# Options of a command that make way for a parameter of the method, as FSASL has the first and MCFS the other
_YIELDING = ("structure", "weights")
_LONGEST_LINE = 200


def methods(name: Annotated[str, typer.Argument(help="Show the parameters of this method.")] = "") -> None:
    """List the methods, or the parameters of one."""
    if not name:
        rows = [[each, summary_of(getattr(ufselect, each))] for each in sorted(ufselect.__all__, key=str.casefold)]
        print_table(["method", "description"], rows, left=[0, 1], longest=_LONGEST_LINE)
        say(["", "ufselect methods NAME shows the parameters of a method; ufselect select DATA --method NAME uses it."])
        return
    cls = class_named(name, "NAME")
    signature = inspect.signature(cls).parameters
    say([": ".join(filter(None, [cls.__name__, summary_of(cls)])), ""])
    for parameter, described in described_parameters(cls).items():
        default = signature[parameter].default
        kinds = [described.kind, "required" if default is inspect.Parameter.empty else f"default {default!r}"]
        text = [f"    {described.text}"] if described.text else []
        say([f"{parameter} : {', '.join(filter(None, kinds))}", *text])


def method_named(name: str, option: str = "--method") -> str:
    """Return the name of a method as ufselect spells it; ``module:Class`` is returned as it is."""
    if names_a_module(name):
        return name
    known = {method.casefold(): method for method in ufselect.__all__}
    if name.casefold() in known:
        return known[name.casefold()]
    near = get_close_matches(name.casefold(), known, n=1)
    guess = f"; did you mean {known[near[0]]}?" if near else ";"
    raise typer.BadParameter(f"{name!r} is not a method{guess} ufselect methods lists all methods", param_hint=option)


def class_named(name: str, option: str = "--method", *, strict: bool = True) -> type[Any]:
    """Import the class of a method; unless ``strict``, any class with a method ``fit`` will do."""
    spelled = method_named(name, option)
    if not names_a_module(spelled):
        return getattr(ufselect, spelled)
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that it cannot replace any module
    try:
        found = object_named(spelled)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
    from ufselect.base import BaseSelector

    is_class = isinstance(found, type)
    if strict and not (is_class and issubclass(found, BaseSelector)):
        reason = f"{spelled} is not a subclass of ufselect.base.BaseSelector"
        raise typer.BadParameter(reason, param_hint=option)
    if not (is_class and callable(getattr(found, "fit", None))):
        raise typer.BadParameter(f"{spelled} is not a class with a method fit", param_hint=option)
    return found


def method_in(arguments: Sequence[str]) -> str:
    """Return the last ``--method`` of a command line: its parameters are options of that command line."""
    name = DEFAULT_METHOD
    options = list(options_in(arguments))
    for argument, following in zip(options, [*options[1:], ""], strict=True):
        if argument == "--method" and following:
            name = following
        elif argument.startswith("--method="):
            name = argument.removeprefix("--method=")
    return name


def options_in(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments before ``--``: those after it are names, whatever they look like."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


class Described(NamedTuple):
    """The type and the description of a parameter; both may be empty."""

    kind: str
    text: str


def docstring_of(thing: Any) -> str:
    """Return the docstring of a class or function, from its source code under ``python -OO``; empty if it has none."""
    if thing.__doc__ is not None:
        return inspect.cleandoc(thing.__doc__)
    try:
        definition = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return ""
    documented = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return (ast.get_docstring(definition) if isinstance(definition, documented) else None) or ""


def summary_of(thing: Any) -> str:
    """Return the first paragraph of a docstring on one line."""
    return in_one_line(docstring_of(thing).partition("\n\n")[0])


def described_parameters(cls: type) -> dict[str, Described]:
    """Return every parameter of a class, described by its numpydoc docstring, or else by its annotation."""
    from docstring_parser.numpydoc import parse

    documented = {
        each.arg_name: Described(each.type_name or "", in_one_line(each.description or ""))
        for each in parse(docstring_of(cls)).params
        if each.args[0] == "param"
    }
    return {
        name: documented.get(name) or Described(_annotation(parameter), "")
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def _annotation(parameter: inspect.Parameter) -> str:
    if parameter.annotation is inspect.Parameter.empty:
        return ""
    return inspect.formatannotation(parameter.annotation).strip("'")


def own_parameters(cls: type) -> dict[str, Any]:
    """Return the parameters of a method that have options of their own, with their defaults."""
    signature = inspect.signature(cls).parameters
    return {name: signature[name].default for name in described_parameters(cls) if name not in OPTIONS_OF_PARAMETERS}


def as_program(command: Callable[..., None], cls: type | None = None, *, shows_all: bool = True) -> Callable[..., None]:
    """Return a command as typer takes it.

    A parameter of ``command`` that is a dataclass becomes an option for each of its fields. A parameter called
    ``parameters`` becomes an option for each parameter of ``cls``. All get ``--debug``, which is read beforehand, and
    ``--help-all``; unless ``shows_all``, only the usual options are shown by ``--help``.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    yielding = set() if cls is None else {*_YIELDING} & {*own_parameters(cls)}
    taken: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            group = groups[parameter.name]
            of_fields = get_type_hints(group, include_extras=True)
            taken += [
                _keyword(each.name, each.default, of_fields[each.name])
                for each in fields(group)
                if each.name not in yielding
            ]
        elif parameter.name != "parameters" and parameter.name not in yielding:
            taken.append(parameter.replace(annotation=hints[parameter.name]))
    taken += [_keyword("debug", False, Debug), _keyword("help_all", False, HelpAll)]
    own = {} if cls is None else _own_options(cls, {parameter.name for parameter in taken})

    def program(**values: Any) -> None:
        del values["debug"], values["help_all"]
        # Defaults are left to the class: not every value survives the conversion to text and back.
        given = {name: values.pop(option.name) for name, option in own.items()}
        changed = {name: as_literal(value) for name, value in given.items() if value != own[name].default}
        grouped = {
            name: group(**{each.name: values.pop(each.name) for each in fields(group) if each.name in values})
            for name, group in groups.items()
        }
        command(**values, **grouped, **({"parameters": changed} if "parameters" in hints else {}))

    program.__name__ = command.__name__
    every = [*taken, *own.values()]
    signature = inspect.Signature(every if shows_all else [_hidden_unless_usual(parameter) for parameter in every])
    program.__signature__ = signature  # type: ignore[attr-defined]
    program.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return program


def _option_of(parameter: inspect.Parameter) -> OptionInfo | None:
    """Return the option that a parameter of a program is; None if it is an argument or the context."""
    return next((each for each in get_args(parameter.annotation) if isinstance(each, OptionInfo)), None)


def number_of_options(program: Callable[..., None]) -> int:
    """Return how many options a program has, ``--help`` included."""
    return 1 + sum(_option_of(parameter) is not None for parameter in inspect.signature(program).parameters.values())


def _hidden_unless_usual(parameter: inspect.Parameter) -> inspect.Parameter:
    option = copy(_option_of(parameter))
    if option is None or parameter.name in USUAL:
        return parameter
    option.hidden = True
    return parameter.replace(annotation=Annotated[get_args(parameter.annotation)[0], option])


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _own_options(cls: type, taken: set[str]) -> dict[str, inspect.Parameter]:
    """Return an option for every parameter; one whose name the command itself uses is called ``own-NAME``."""
    described = described_parameters(cls)
    return {
        name: _own_option(f"own_{name}" if name in taken else name, default, described[name])
        for name, default in own_parameters(cls).items()
    }


def _own_option(name: str, default: Any, described: Described) -> inspect.Parameter:
    kind = bool if isinstance(default, bool) else str
    metavar = None if kind is bool or not described.kind else _alternatives(described.kind)
    option = typer.Option(help=described.text or None, metavar=metavar)
    if default is not inspect.Parameter.empty and kind is str:
        default = str(default)
    return _keyword(name, default, Annotated[kind, option])


def _alternatives(kind: str) -> str:
    """Return a type such as ``int or "auto"`` as help texts write alternatives: ``<int|auto>``."""
    plain = kind.translate(str.maketrans("", "", '{}"'))
    for separator in (", or ", " or ", ", ", " | "):
        plain = plain.replace(separator, "|")
    return f"<{plain}>"


def as_literal(value: Any) -> Any:
    """Return the number, True, False or None that a text spells; otherwise the text itself."""
    if not isinstance(value, str):
        return value
    text = {"true": "True", "false": "False", "none": "None"}.get(value.casefold(), value)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return value


def check_parameters(selector: BaseSelector) -> None:
    """Raise an error in terms of options if a parameter of a selector has an invalid value."""
    from sklearn.utils._param_validation import InvalidParameterError, make_constraint

    try:
        selector._validate_params()
    except InvalidParameterError:
        for name, value in selector.get_params(deep=False).items():
            constraints = selector._parameter_constraints.get(name, "no_validation")
            allowed = [] if constraints == "no_validation" else [make_constraint(each) for each in constraints]
            if allowed and not any(constraint.is_satisfied_by(value) for constraint in allowed):
                option = OPTIONS_OF_PARAMETERS.get(name) or name.replace("_", "-")
                *others, last = [_in_words(constraint) for constraint in allowed if not constraint.hidden]
                reason = " or ".join(filter(None, [", ".join(others), last]))
                raise typer.BadParameter(f"--{option} must be {reason}; got {value!r}") from None
        raise


def _in_words(constraint: Any) -> str:
    """Return what a constraint of scikit-learn on a parameter allows."""
    from numbers import Integral

    from sklearn.utils._param_validation import Interval, Options

    if isinstance(constraint, Options):
        values = ", ".join(sorted(map(repr, constraint.options)))
        return values if len(constraint.options) == 1 else f"one of {values}"
    if not isinstance(constraint, Interval):
        return "none" if constraint.is_satisfied_by(None) else str(constraint)
    low, high = constraint.left, constraint.right
    includes_low, includes_high = constraint.closed in ("left", "both"), constraint.closed in ("right", "both")
    number = "an integer" if constraint.type is Integral else "a number"
    if low is not None and high is not None and includes_low == includes_high:
        return (
            f"{number} from {low:g} to {high:g}" if includes_low else f"{number} strictly between {low:g} and {high:g}"
        )
    limits = [] if low is None else [f"{'of at least' if includes_low else 'greater than'} {low:g}"]
    if high is not None:
        limits.append(f"{'at most' if includes_high else 'less than'} {high:g}")
    return " ".join([number, " and ".join(limits)])
