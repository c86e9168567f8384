"""Convergence warnings are collected, others are passed on."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from ufselect._utils.warnings import convergence_warnings, warn_not_converged


def test_every_convergence_warning_is_collected_and_none_is_shown():
    with pytest.warns(ConvergenceWarning):
        warn_not_converged("A did not converge.")
    with convergence_warnings() as messages:
        for _ in range(3):
            warn_not_converged("A did not converge.")
        warn_not_converged("B did not converge.")
    assert messages == ["A did not converge."] * 3 + ["B did not converge."]


def warn_of_two_things():
    with convergence_warnings() as messages:
        warnings.simplefilter("always")
        warnings.warn("something else", UserWarning, stacklevel=1)
        warn_not_converged("A did not converge.")
    assert messages == ["A did not converge."]


def test_other_warnings_are_issued_when_the_block_ends():
    with pytest.warns(UserWarning, match="something else") as caught:
        warn_of_two_things()
    assert [each.category for each in caught] == [UserWarning]
    assert caught[0].filename == __file__


def failing(messages):
    with convergence_warnings() as found:
        messages.append(found)
        warn_not_converged("A did not converge.")
        raise ValueError("stop")


def test_after_an_error_the_messages_are_there_too():
    messages = []
    with pytest.raises(ValueError, match="stop"):
        failing(messages)
    assert messages == [["A did not converge."]]
