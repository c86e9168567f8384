"""Files of choices: the round trip, and one sentence for each that is damaged, foreign or edited."""

import json
import re

import numpy as np
import pytest

from ufselect import MaxVariance
from ufselect.files import choice_as_json, read_choice, write_choice
from ufselect.inspection import recorded_choice


@pytest.fixture(scope="module")
def choice():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)) * np.arange(1, 6)
    X[:, 0] = rng.integers(0, 3, 60)
    X = np.column_stack([X, X[:, 4] * 0.5])
    return recorded_choice(MaxVariance(2).fit(X), X, names=["é", "b", "c", 'q"uote', "\ud800\n", "copy"], n_splits=2)


@pytest.fixture
def content(choice):
    return json.loads(choice_as_json(choice))


def written(folder, content):
    path = folder / "choice.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_what_is_read_is_what_was_written(tmp_path, choice):
    write_choice(tmp_path / "choice.json", choice)
    again = read_choice(tmp_path / "choice.json")
    for name, value in vars(choice).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(again, name), value)
        else:
            assert getattr(again, name) == value, name
    assert choice_as_json(again) == choice_as_json(choice)
    assert again.selected == ("\ud800\n", 'q"uote')
    assert again.near_copies == {"copy": "\ud800\n"}
    assert {each.kind for each in again.summaries.values()} == {"values", "quantiles"}
    text = (tmp_path / "choice.json").read_text(encoding="ascii")
    assert len(text.splitlines()) == len(json.loads(text)) + 2


def test_20000_columns_stay_below_four_megabytes():
    X = np.random.default_rng(0).standard_normal((40, 20_000)) * 1e3
    saved = recorded_choice(MaxVariance(200).fit(X), X, names=[f"ENSG{index:011}" for index in range(20_000)])
    assert len(saved.summaries) == 3000
    assert len(choice_as_json(saved)) < 4_000_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\xff\xfe{}", "it is not UTF-8 text"),
        (b"{", "it is not JSON (line 1, column 2)"),
        (b"a,b\n1,2\n", "it is not JSON"),
        (b"[]", 'it has no "format": "ufselect choice"'),
        (b'{"format": "other"}', 'it has no "format"'),
        (b"[" * 200_000, "it is nested too deeply"),
        (b"9" * 5_000, "it has a number that is too long"),
        (b'{"a": 1, "a": 2}', "it has the key 'a' twice"),
        (b'{"a": NaN}', "it has the value NaN"),
        (b'{"format": "ufselect choice"}', "version is not 1"),
        (b'{"format": "ufselect choice", "version": 2}', "was saved by a newer ufselect (format 2;"),
        (b'{"format": "ufselect choice", "version": true}', "version is not 1"),
        (b'{"format": "ufselect choice", "version": 1}', "ufselect is missing"),
    ],
)
def test_files_that_are_no_choices(tmp_path, content, message):
    refused(written(tmp_path, content), message)


def refused(path, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read_choice(path)
    sentence = str(error.value)
    assert sentence.startswith(str(path))
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "\ud800" not in sentence


DAMAGES = {
    "source": [],
    "source.samples": 0,
    "source.sha256": "abc",
    "settings": [1],
    "record": None,
    "record.method": 3,
    "record.params": "all",
    "record.keep": "b",
    "record.test": {"fdr": 7},
    "record.counts": "yes",
    "selected": ["b", "b"],
    "columns.names": ["a"] * 6,
    "columns.ranks": [1, 2, 3, 4, 5, 5],
    "columns.scores": [0.5] * 5,
    "columns.q_values": [2.0] * 6,
    "near_copies": {"b": "nobody"},
    "resampled.halves": [[[0]]],
    "resampled.quarters": [[[0], [1], [2], [99]]],
    "stability": None,
    "aside": {"a": 1},
    "roles": [{"name": "b"}],
    "summaries": {"b": 3},
    "summaries.b.kind": "moments",
    "summaries.b.points": [3, 2, 1],
    "summaries.b.counts": [10**9],
    "summaries.b.ties": [99] * 21,
    "summaries.b.median": None,
    "summaries.b.n_rows": -1,
}


@pytest.mark.parametrize("where", DAMAGES)
def test_damaged_and_edited_entries(tmp_path, content, where):
    *path, key = where.split(".")
    part = content
    for each in path:
        part = part[each]
    part[key] = DAMAGES[where]
    refused(written(tmp_path, content), "is damaged: ")
    if key in ("keep", "test", "counts"):
        return  # may be missing
    del part[key]
    refused(written(tmp_path, content), f"is damaged: {where}")


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 400, "true", '"1"', "null"])
def test_numbers_that_are_none(tmp_path, choice, number):
    text = choice_as_json(choice)
    counts = re.search(r'"samples":(\d+)', text)
    assert counts
    refused(written(tmp_path, text.replace(counts[0], f'"samples":{number}')), "source.samples is not a whole number")


def test_a_selection_may_be_edited(tmp_path, content):
    content["selected"] = ["c", "b"]
    assert read_choice(written(tmp_path, content)).selected == ("c", "b")
    content["selected"] = ["c", "nobody"]
    refused(written(tmp_path, content), "'nobody' is not among its columns")


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*gone\.json\."):
        read_choice(tmp_path / "gone.json")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_choice(tmp_path)
