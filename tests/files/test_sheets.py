"""Excel files: one sheet, read as a text file would be."""

import datetime
import sys
import zipfile

import numpy as np
import openpyxl
import pytest

from ufselect.files import read_table


def write_book(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture
def read(tmp_path):
    def read(rows, **options):
        return read_table(write_book(tmp_path / "book.xlsx", first=rows, second=[["z"], [7], [8]]), **options)

    return read


DAYS = [datetime.datetime(2024, 5, 1), datetime.datetime(2024, 5, 2, 13, 30)]


def test_numbers_are_features_and_the_rest_goes_aside(read):
    table = read([["cell", "day", "a", "b", "on"], ["x", DAYS[0], 1, 0.1, True], ["y", DAYS[1], None, 1e-300, False]])
    assert table.names == ("a", "b", "on")
    np.testing.assert_array_equal(table.X, [[1, 0.1, 1], [np.nan, 1e-300, 0]])
    assert table.reasons == {"cell": "text", "day": "dates"}
    assert table.aside["day"].tolist() == ["2024-05-01", "2024-05-02 13:30:00"]
    assert table.samples.tolist() == ["x", "y"]
    table = read([["a"], [1]], sheet="second")
    assert table.names == ("z",)
    assert table.X.tolist() == [[7], [8]]


def test_formulas_without_a_value_and_errors_are_missing(read):
    table = read([["a", "b", "c"], [1, "=A2*2", "#N/A"], [2, "=A3*2", 5], [3, "=A4*2", "#DIV/0!"]])
    assert table.names == ("a", "c")
    assert table.reasons == {"b": "empty"}
    np.testing.assert_array_equal(table.X, [[1, np.nan], [2, 5], [3, np.nan]])


def test_options_of_tables_apply(read):
    table = read([["gene", "p", "q"], ["a", 1, "-"], ["b", 2, 4]], transpose=True, na="-", aside=["b"])
    assert table.names == ("a",)
    assert table.samples.tolist() == ["p", "q"]
    np.testing.assert_array_equal(table.X, [[1], [np.nan]])


def test_a_cell_far_away_takes_no_memory(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["a"])
    for row in range(200):
        book.active.append([row])
    book.active.cell(9999, 16_384, 5)
    book.save(tmp_path / "far.xlsx")
    table = read_table(tmp_path / "far.xlsx")
    assert table.shape == (201, 2)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, r"book\.xlsx has an empty sheet; choose another one with sheet \(--sheet\)\."),
        ([["#N/A"]], {}, "has an empty sheet"),
        ([["a", "b"]], {}, "has a header but no rows"),
        ([["a", "a"], [1, 2]], {}, "has several columns named 'a'"),
        ([["a"], ["x"]], {}, "has no numeric column"),
        ([["a"], [1]], {"sheet": "third"}, "has no sheet 'third'; its sheets are 'first', 'second'"),
        ([["a"], [1]], {"encoding": "latin-1"}, r"does not apply to .*book\.xlsx: only \.csv and \.tsv"),
        ([["a"], [1]], {"layer": "x"}, r"only \.h5ad files have layers"),
        ([["a"], [1]], {"aside": ["b"]}, "has no column named 'b'"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused_in_one_sentence(read, rows, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(rows, **options)
    assert "\n" not in str(caught.value)


BOMB = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "' + b"a" * 10_000 + b'">'
for before, after in zip("abcde", "bcdef", strict=True):
    BOMB += f'<!ENTITY {after} "{f"&{before};" * 100}">'.encode()
CHANGES = {
    "broken cells": lambda content: content[:-60],
    "entities of entities": lambda content: BOMB + b"]>" + content.replace(b"<t>a</t>", b"<t>&f;</t>"),
}


@pytest.mark.parametrize("damage", ["cut short", "something else", *CHANGES])
def test_damaged_files_are_refused_in_one_sentence(tmp_path, damage):
    path, sheet = write_book(tmp_path / "bad.xlsx", first=[["a"], [1]]), "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if damage == "cut short":
        path.write_bytes(path.read_bytes()[:-200])
    else:
        changed = {sheet: CHANGES[damage](parts[sheet])} if damage in CHANGES else {}
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in ({**parts, **changed} if changed else {"notes.txt": b"nothing"}).items():
                archive.writestr(name, content)
    with pytest.raises(ValueError, match=r"bad\.xlsx cannot be read as Excel: the file is damaged or incomplete\."):
        read_table(path)


def test_old_and_encrypted_files_are_refused(tmp_path):
    (tmp_path / "old.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512))
    with pytest.raises(ValueError, match=r"has a password or is an old \.xls file; save it as \.xlsx"):
        read_table(tmp_path / "old.xlsx")


def test_without_openpyxl_the_command_to_install_it_is_named(read, monkeypatch):
    path = read([["a"], [1]]).path
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"book\.xlsx requires openpyxl: pip install openpyxl\."):
        read_table(path)
