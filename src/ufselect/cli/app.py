"""The program: its commands, and what becomes of errors."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from typing import Annotated, Any

try:
    import typer
except ImportError as error:
    raise SystemExit("The command line needs more packages: pip install 'ufselect[cli]'.") from error

from ufselect import __version__
from ufselect.cli.bench import bench
from ufselect.cli.compare import compare
from ufselect.cli.demo import demo
from ufselect.cli.explain import explain
from ufselect.cli.methods import methods
from ufselect.cli.parameters import method_named_in, refused_value, with_parameters_of
from ufselect.cli.select import select

FAILURE, WRONG_USE = 1, 2
STOPPED = 130  # what newer versions of typer return where a command was stopped; older ones raise Abort

# typer brings its own copy of click in some versions and needs click in others; both have this class there.
_UsageError: type[Any] = typer.BadParameter.__mro__[1]


def main() -> None:
    """Run the program."""
    if sys.argv[1:2] == [bench.__name__]:
        _let_modules_here_be_named()
    _spell_out_what_cannot_be_encoded()
    for name in ("SIGTERM", "SIGHUP"):  # leave no half-written file either; Windows has no second one
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup has it ignored
            signal.signal(number, signal.default_int_handler)
    _set_bars()
    warnings.showwarning = _show_plainly
    sys.exit(run(sys.argv[1:]))


def _let_modules_here_be_named() -> None:
    """Let experiments name selectors in modules of the current folder; no other command imports from there.

    The folder comes last, so that its modules do not replace Python's or an installed package's. joblib gives its
    worker processes this path; without the variable they would look in the current folder first while they start.
    """
    sys.path.append(os.getcwd())
    os.environ["PYTHONSAFEPATH"] = "1"


def _spell_out_what_cannot_be_encoded() -> None:
    """A name in letters that the screen or the file does not have comes as their numbers."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _set_bars() -> None:
    """No bar for what takes no time, and few lines of one in a log."""
    os.environ.setdefault("TQDM_DELAY", "1")
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_MININTERVAL", "5")


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line; its exit code."""
    words = list(arguments) or ["--help"]
    try:
        result = program_for(words)(words, prog_name="ufselect", standalone_mode=False, obj=words)
    except _UsageError as error:
        return _failed(_with_hint(error), WRONG_USE)
    except (KeyboardInterrupt, typer.Abort):
        result = STOPPED
    except Exception as error:
        if "--debug" in arguments:
            raise
        return _failed(*_plainly(error))
    if result == STOPPED:
        return _failed("Stopped; nothing was written.", FAILURE)
    return result if isinstance(result, int) else 0


def program_for(arguments: Sequence[str]) -> typer.Typer:
    """The commands; the one that is asked for has the parameters of its method as options."""
    program = typer.Typer(
        help="Choose the informative columns of unlabelled data.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # its boxes cut long options off
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    program.callback()(_version)
    for command in (select, compare, explain, methods, demo, bench):
        if command in (select, explain):
            _add_with_parameters(
                program, command, method_named_in(arguments) if command.__name__ in arguments[:1] else None
            )
        else:
            program.command()(command)
    return program


def _add_with_parameters(program: typer.Typer, command: Callable[..., None], method: str | None) -> None:
    """Where it is not this command that is asked for, no method is, whose import would make the others wait."""
    epilog = f"What comes after --debug are parameters of {method}; --method NAME --help shows those of another."
    program.command(epilog=epilog)(with_parameters_of(method, command))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ufselect {__version__}")
        raise typer.Exit


def _version(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """What may be asked of the program itself."""


def _with_hint(error: Any) -> str:
    command = error.ctx.command_path if error.ctx else "ufselect"
    message = error.format_message().rstrip(".")
    return f"{message}{'' if message.endswith('?') else '.'} See {command} --help."


def _plainly(error: Exception) -> tuple[str, int]:
    """One sentence, and 2 where a parameter was given a value that it cannot have."""
    if isinstance(error, ValueError) and type(error).__name__ == "InvalidParameterError":
        return refused_value(_one_line(str(error))), WRONG_USE
    if isinstance(error, MemoryError):
        return str(error) or "There is not enough memory for this.", FAILURE
    if isinstance(error, OSError) and error.strerror:
        cause = f"{error.strerror[0].lower()}{error.strerror[1:]}"
        return f"{error.filename or 'A file could not be written or read'}: {cause}.", FAILURE
    if isinstance(error, (ValueError, OSError, ImportError)):
        return _one_line(str(error)), FAILURE
    return f"{type(error).__name__}: {_one_line(str(error))} (--debug shows where.)", FAILURE


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _failed(sentence: str, code: int) -> int:
    typer.echo(f"Error: {sentence}", err=True)
    return code


def _show_plainly(message: Warning | str, *place: Any, **more: Any) -> None:
    typer.echo(f"Note: {_one_line(str(message))}", err=True)
