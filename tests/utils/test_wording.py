"""Names and figures as people read them."""

import io
from contextlib import redirect_stderr

import pytest

from ufselect._utils.progress import waiting, with_progress
from ufselect._utils.wording import (
    counted,
    in_one_line,
    listed,
    occurrences,
    percent,
    q_value,
    shortened,
    shown,
    visible,
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("größe 名前 🧬", "größe 名前 🧬"),
        ("red\x1b[31m\n\t\x9b", r"red\x1b[31m\n\t\x9b"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\udcff\u2028", r"\udcff\u2028"),
        ("back\\slash", "back\\slash"),
        ("", ""),
    ],
)
def test_what_acts_on_a_terminal_is_made_visible(text, wanted):
    assert visible(text) == wanted
    assert visible(wanted) == wanted


def test_long_names_are_cut_after_they_are_made_visible():
    assert shown("a" * 100, 10) == "a" * 9 + "…"
    assert shown("\n" * 100, 10) == r"\n\n\n\n\…"
    assert shown("a" * 10, 10) == "a" * 10
    assert shortened("abc", 2) == "a…"


def test_lists_name_the_first_and_count_the_others():
    assert listed(["a", "b\n"]) == r"a, b\n"
    assert listed(list("abcdefghij"), 3) == "a, b, c and 7 more"
    assert listed(["a", "b"], 1, quoted=True) == "'a' and 1 more"


def test_counts_and_shares():
    assert (counted(1, "column"), counted(1200, "column")) == ("1 column", "1,200 columns")
    assert (percent(0.125), percent(0.125, 1), percent(None)) == ("12 %", "12.5 %", "–")
    assert occurrences("missing", {"age": 2, "height": 1}) == "3 missing values in age (2), height (1)"
    assert (q_value(0.0123), q_value(2e-5)) == ("0.012", "< 0.001")
    assert in_one_line(" a\n  b ") == "a b"


def test_bars_show_names_that_do_no_harm(monkeypatch):
    monkeypatch.setenv("TQDM_DELAY", "0")
    with redirect_stderr(io.StringIO()) as shown_on_screen:
        assert list(with_progress(iter("ab"), 2, 1, "red\x1b[31m")) == ["a", "b"]
        with waiting("{name}\x1b[31m"):
            pass
    assert "red\\x1b[31m" in shown_on_screen.getvalue()
    assert "\x1b[31m" not in shown_on_screen.getvalue()
