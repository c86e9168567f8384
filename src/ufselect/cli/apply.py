"""``ufselect apply``: the columns of a saved choice, from another file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ufselect._utils.wording import counted, listed
from ufselect.cli import options
from ufselect.cli.output import ensure_can_be_written, ensure_table_can_be_written, say, write_all
from ufselect.cli.reading import what_was_read
from ufselect.cli.saving import print_drift, read_as_before

if TYPE_CHECKING:
    from ufselect.files import Choice, Table


def apply(
    choice: options.SavedChoice,
    data: options.Data,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            readable=False,
            help="Write the selected columns to this file, as select -o does: the same columns in the same order.",
        ),
    ] = None,
    read_options: options.ReadOptions,
) -> None:
    """Take the columns of a saved choice from another file, and say which of them have drifted.

    The file is read as the one before, unless options say otherwise.
    """
    from ufselect.files import chosen_from, column_summaries, read_choice, read_table, write_table
    from ufselect.files.registry import known_format
    from ufselect.inspection import column_drift

    saved = read_choice(choice)
    ensure_table_can_be_written(output, data)
    ensure_can_be_written(output, choice, "--output")

    def read(options: options.ReadOptions) -> Table:
        aside = tuple(options.aside or ())
        needs_numbers = not saved.encoded.issuperset(saved.selected)
        return read_table(
            data, aside=aside, layer=options.layer or None, require_numbers=needs_numbers, verbose=1, **options.of_text
        )

    table, lacking = read_as_before(read, saved, read_options, data)
    known = output and known_format(output)
    chosen, selection = chosen_from(saved, table, all_columns=bool(known and known.annotates))
    compared = {name: saved.summaries[name] for name in saved.selected if name in saved.summaries}
    drift = column_drift(compared, column_summaries(chosen, compared))
    write_all({output: lambda path: write_table(path, chosen, selection)} if output else {}, {})
    notes = [*table.notes, *_notes_on_columns(saved, table, lacking)]
    m = len(saved.selected)
    found = "The selected column is" if m == 1 else f"All {m:,} selected columns are"
    say([f"{found} in {table.path.name}. {drift.sentence}", what_was_read(table, of_all=bool(saved.roles)), *notes])
    print_drift(drift)
    if output:
        say(["", f"Wrote {output}."])


def _notes_on_columns(choice: Choice, table: Table, lacking: list[str]) -> list[str]:
    """Return sentences on columns that were set aside and are missing, and on columns that are new."""
    known = {*choice.names, *choice.aside}
    present = {*table.names, *table.aside}
    missing = [name for name in choice.aside if name not in present and name not in choice.names]
    new = [name for name in (*table.names, *table.aside) if name not in known]
    sentences = []
    if missing := list(dict.fromkeys([*missing, *lacking])):
        sentences.append(f"Missing, but was only set aside: {listed(missing)}.")
    if new:
        sentences.append(f"Ignored: {counted(len(new), 'column')} that {choice.origin} did not have.")
    return sentences
