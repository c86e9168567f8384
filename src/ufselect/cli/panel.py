"""Columns to keep and to exclude, by name or pattern, and the batch of every sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import counted, shown

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.cli.fitting import Numbers


@dataclass(frozen=True)
class Panel:
    """What was given on the command line; names and patterns are resolved when the table is known."""

    keep: Sequence[str] = ()
    exclude: Sequence[str] = ()
    batch: str = ""

    @classmethod
    def of_options(
        cls,
        keep: Sequence[str] | None,
        keep_file: Path | None,
        exclude: Sequence[str] | None,
        exclude_file: Path | None,
        batch: str,
    ) -> Panel:
        """Read the files of names; raise an error before the table is read if one cannot be."""
        kept = [*(keep or ()), *names_in_file(keep_file, "--keep-file")]
        return cls(kept, [*(exclude or ()), *names_in_file(exclude_file, "--exclude-file")], batch)

    @property
    def aside(self) -> tuple[str, ...]:
        """Names of columns that are not features."""
        return (self.batch,) if self.batch else ()

    def apply(self, selector: BaseSelector, numbers: Numbers) -> list[str]:
        """Set the parameters of a selector, and return sentences on what they do."""
        found = self.columns_in(numbers)
        lacking = _first_lacking(selector, found)
        if lacking is not None:
            raise typer.BadParameter(_why_refused(selector, lacking), param_hint=f"--{lacking}")
        if found:
            selector.set_params(**found)
        return what_panels_do(found)

    def columns_in(self, numbers: Numbers) -> dict[str, list[int]]:
        """Return the columns to keep and to exclude, of those given; raise an error if they contradict each other."""
        names, aside = numbers.table.names, numbers.table.aside
        found = {
            option: columns_given(texts, names, aside, f"--{option}")
            for option, texts in (("keep", self.keep), ("exclude", self.exclude))
            if texts
        }
        both = sorted(set(found.get("keep", ())) & set(found.get("exclude", ())))
        if both:
            reason = f"column '{shown(names[both[0]])}' is in --exclude as well"
            raise typer.BadParameter(reason, param_hint="--keep")
        _refuse_useless(found.get("keep", []), numbers)
        return found

    def batch_of_samples(self, numbers: Numbers) -> Any:
        """Return the batch of every sample, or None."""
        return numbers.table.aside[self.batch] if self.batch else None


_VERBS = {"keep": "Kept whatever their score", "exclude": "Excluded"}


def what_panels_do(found: Mapping[str, Sequence[int]]) -> list[str]:
    """Return sentences on how many columns are kept and excluded."""
    return [f"{_VERBS[option]}: {counted(len(columns), 'column')}." for option, columns in found.items()]


def set_where_possible(selectors: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, str]:
    """Set the same parameters of all selectors that have them; return why the others cannot take part."""
    refused = {}
    for name, selector in selectors.items():
        lacking = _first_lacking(selector, found)
        if lacking is not None:
            refused[name] = f"{_why_refused(selector, lacking)}."
        elif found:
            selector.set_params(**found)
    return refused


def _first_lacking(selector: Any, found: Mapping[str, Any]) -> str | None:
    """Return the first parameter that a selector, or any other object that is fitted, does not have."""
    known = selector.get_params() if hasattr(selector, "get_params") else ()
    return next((name for name in found if name not in known), None)


def _why_refused(selector: Any, parameter: str) -> str:
    return f"{type(selector).__name__} has no parameter {parameter}"


def columns_given(texts: Sequence[str], names: Sequence[str], aside: Mapping[str, Any], option: str) -> list[int]:
    """Return the indices of the columns that names or shell patterns, also several separated by commas, stand for."""
    from ufselect.columns.tabular import columns_matching, is_pattern

    known = set(names)
    parts = [part.strip() for text in texts for part in ([text] if text in known else text.split(","))]
    found = columns_matching([part for part in parts if part], names)
    for text, columns in found.items():
        if not columns:
            reason = f"no column matches '{shown(text)}'" if is_pattern(text) else why_not_a_column(text, names, aside)
            raise typer.BadParameter(reason, param_hint=option)
    if not found:
        raise typer.BadParameter("no column is given", param_hint=option)
    return list(dict.fromkeys(column for columns in found.values() for column in columns))


def why_not_a_column(name: str, names: Sequence[str], aside: Mapping[str, Any]) -> str:
    """Return why a name is not that of a column, and which name may have been meant."""
    if name in aside:
        return f"column '{shown(name)}' was kept aside and takes no part in the selection"
    return f"there is no column '{shown(name)}'{guess_at(name, names)}"


def guess_at(name: str, names: Sequence[str]) -> str:
    """Return which name may have been meant, as the end of a sentence; nothing if none is similar."""
    near = get_close_matches(name, names, n=1)
    return f"; did you mean '{shown(near[0])}'?" if near else ""


def _refuse_useless(keep: Sequence[int], numbers: Numbers) -> None:
    """Raise an error that names a column to keep if it is constant or an exact copy of another one to keep."""
    from ufselect.base.screening import why_useless

    if not keep:
        return
    reason = why_useless(numbers.X[:, list(keep)], [numbers.table.names[column] for column in keep])
    if reason is not None:
        raise typer.BadParameter(reason, param_hint="--keep")


def names_in_file(path: Path | None, option: str) -> list[str]:
    """Return the names in a file, one per line; empty lines and lines that begin with # do not count."""
    if path is None:
        return []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise typer.BadParameter(f"{shown(str(path))} cannot be read: {reason}", param_hint=option) from error
    names = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not names:
        raise typer.BadParameter(f"{shown(str(path))} contains no names", param_hint=option)
    return names
