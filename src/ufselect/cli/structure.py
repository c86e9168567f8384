"""The structure that --structure names: in a file, a column of DATA, or obsm or obsp of an AnnData file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ufselect._utils.wording import counted, listed, shown

if TYPE_CHECKING:
    from ufselect.base import BaseSelector
    from ufselect.cli.reading import LoadedTable
    from ufselect.files import Table

OPTION = "--structure"


@dataclass(frozen=True)
class NamedStructure:
    """Where the structure is: in ``file``, under ``key`` of obsm or obsp (``kind``), or in ``column``."""

    text: str = ""
    kind: str = ""
    key: str = ""
    file: Path | None = None
    column: str = ""

    @classmethod
    def of(cls, text: str, data: Path) -> NamedStructure:
        """Tell what a text names: a file, if it has a known suffix. Raise an error if it cannot be in DATA."""
        from ufselect.files.errors import check_file
        from ufselect.files.registry import known_format

        kind, separator, key = text.partition(":")
        if not text:
            return cls()
        if separator and kind in ("obsm", "obsp"):
            known = known_format(data)
            if known is None or not known.annotates:
                raise typer.BadParameter(f"{data} is no .h5ad file, so it has no {kind}", param_hint=OPTION)
            return cls(text, kind, key)
        if known_format(text) is not None:
            check_file(text)
            return cls(text, file=Path(text))
        return cls(text, column=text)

    @property
    def aside(self) -> tuple[str, ...]:
        """The column that is no feature."""
        return (self.column,) if self.column else ()

    def notes(self, selector: BaseSelector) -> list[str]:
        """Return a sentence on the structure that a selector was fitted with; none if it learned its own."""
        return [f"Structure ({shown(self.text)}): {selector.given_structure_}."] if self.text else []

    def read(self, loaded: LoadedTable) -> Any:
        """Return the structure; None if none is named."""
        if not self.text:
            return None
        table = loaded.table
        if self.column:
            return _labels(table.aside[self.column])
        if self.file is not None:
            return _in_file(self.file, table)
        from ufselect.files.annotated import read_entry
        from ufselect.files.errors import errors_named

        with errors_named(table.path):
            return read_entry(table.path, self.kind, self.key)


def _labels(values: Any) -> Any:
    """Return a column; empty texts are missing."""
    return [None if value == "" else value for value in values.tolist()] if values.dtype.kind == "O" else values


def _in_file(path: Path, table: Table) -> Any:
    """Return the array in a file, or what the table in it holds besides the names of samples."""
    from ufselect.files import read_table
    from ufselect.files.reading import read_arrays
    from ufselect.files.registry import format_of

    if format_of(path).arrays:
        arrays = {name: values for name, values in read_arrays(path).items() if values is not None}
        if len(arrays) != 1:
            raise ValueError(f"{path} has {counted(len(arrays), 'array')}: save the structure as the only one.")
        return next(iter(arrays.values()))
    found = read_table(path, require_numbers=False)
    _check_order(found, table)
    texts = {name: values for name, values in found.aside.items() if values is not found.samples}
    if len(texts) + (len(found.names) > 0) != 1:
        columns = listed([*texts, *found.names], quoted=True)
        raise ValueError(
            f"{path} has the columns {columns}: keep those of the structure, which are numbers or one column of labels."
        )
    if texts:
        return _labels(next(iter(texts.values())))
    return found.X[:, 0] if found.X.shape[1] == 1 else found.X


def _check_order(found: Table, table: Table) -> None:
    """Raise an error if both files name their samples, and not in the same order."""
    if found.samples is None or table.samples is None or found.shape[0] != table.shape[0]:
        return
    for row, (name, other) in enumerate(zip(found.samples.tolist(), table.samples.tolist(), strict=True), start=1):
        if name != other:
            raise ValueError(
                f"Row {row} of {found.path} is '{shown(str(name))}', but '{shown(str(other))}' in {table.path.name}: "
                "put the samples into the same order."
            )
