"""The command line: parse, call, print."""

from ufselect.cli.app import main

__all__ = ["main"]
