"""The program: its commands, and how errors are reported."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated, Any

try:
    import typer
except ImportError as error:
    packages = "typer docstring-parser rich pandas pyarrow matplotlib jinja2"
    raise SystemExit(f"The command line needs additional packages: pip install {packages}.") from error

from ufselect import __version__
from ufselect._utils.atomic_files import files_recorded
from ufselect._utils.wording import in_one_line, listed
from ufselect.cli.apply import apply
from ufselect.cli.bench import bench
from ufselect.cli.compare import compare
from ufselect.cli.dedupe import dedupe
from ufselect.cli.demo import demo
from ufselect.cli.diff import diff
from ufselect.cli.evaluate import evaluate
from ufselect.cli.explain import explain
from ufselect.cli.methods import (
    as_program,
    class_named,
    docstring_of,
    method_in,
    methods,
    number_of_options,
    options_in,
)
from ufselect.cli.output import note, raise_on_signals, say
from ufselect.cli.select import select

FAILURE, WRONG_USE = 1, 2
STOPPED = 130  # what newer versions of typer return if a command is interrupted; older ones raise Abort

# Some versions of typer contain their own copy of click, others depend on click; this works for both.
_UsageError: type[Any] = typer.BadParameter.__mro__[1]


def main() -> None:
    """Run the program."""
    if sys.argv[1:2] == [bench.__name__]:
        # Experiments may name selectors in modules of the current folder; no other command imports from there. The
        # folder comes last, so that its modules do not replace others. joblib gives its workers this path; without the
        # variable they would look in the current folder first while they start.
        sys.path.append(os.getcwd())
        os.environ["PYTHONSAFEPATH"] = "1"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for characters that its encoding does not have
    os.environ.setdefault("TQDM_DELAY", "1")  # seconds
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_MININTERVAL", "5")
    raise_on_signals()
    warnings.showwarning = lambda message, *_, **__: note(str(message))
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    arguments = list(arguments) or ["--help"]
    with files_recorded() as files:
        try:
            program = program_for(arguments)
            result = program(arguments, prog_name="ufselect", standalone_mode=False, obj=arguments)
        except _UsageError as error:
            command = error.ctx.command_path if error.ctx else "ufselect"
            message = error.format_message().rstrip(".")
            return _failed(f"{message}{'' if message.endswith('?') else '.'} See {command} --help.", WRONG_USE)
        except (KeyboardInterrupt, typer.Abort):
            result = STOPPED
        except Exception as error:
            if "--debug" in options_in(arguments):
                raise
            return _failed(_plainly(error), FAILURE)
        if result == STOPPED:
            written = [str(file.path) for file in files if file.is_done]
            how = f" after writing {listed(written)}" if written else "; nothing was written"
            return _failed(f"Interrupted{how}.", FAILURE)
    return result if isinstance(result, int) else 0


def program_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the program; the command in use takes the parameters of its method as options."""
    program = typer.Typer(
        help="Choose the informative columns of unlabelled data.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # its boxes truncate long options
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    program.callback()(_version)
    shows_all = "--help-all" in options_in(arguments)
    for command in (select, compare, explain, evaluate, dedupe, apply, diff, methods, demo, bench):
        described, name = docstring_of(command), command.__name__
        if command in (methods, demo, bench):
            program.command(help=described)(command)
            continue
        # Only if this command is in use: importing the method would make the others wait.
        takes_method = command not in (compare, dedupe, apply, diff) and name in arguments[:1]
        cls = class_named(method_in(arguments)) if takes_method else None
        built = as_program(command, cls, shows_all=shows_all)
        program.command(help=described, epilog=_where_others_are(name, built, cls, shows_all=shows_all))(built)
    return program


def _where_others_are(name: str, program: Any, cls: type | None, *, shows_all: bool) -> str | None:
    """Return the end of the help of a command: where further options are shown."""
    if not shows_all:
        of_method = f", among them the parameters of {cls.__name__}" if cls else ""
        return f"ufselect {name} --help-all lists all {number_of_options(program)} options{of_method}."
    if cls is None:
        return None
    return f"The options after --help-all are parameters of {cls.__name__}; --method NAME lists those of another."


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ufselect {__version__}")
        raise typer.Exit


def _version(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the program itself."""


def _plainly(error: Exception) -> str:
    """Return one sentence on an error."""
    if isinstance(error, MemoryError):
        return str(error) or "Not enough memory."
    if isinstance(error, OSError) and error.strerror:
        cause = f"{error.strerror[0].lower()}{error.strerror[1:]}"
        return f"{error.filename or 'A file could not be read or written'}: {cause}."
    if isinstance(error, (ValueError, OSError, ImportError)):
        return in_one_line(str(error))
    return f"{type(error).__name__}: {in_one_line(str(error))} (--debug shows the traceback.)"


def _failed(sentence: str, code: int) -> int:
    say([f"Error: {sentence}"], err=True)
    return code
