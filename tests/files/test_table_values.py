"""Missing, infinite and negative values of tables."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from stored import as_dense

from ufselect.files import Table, infinite_values, missing_values, negative_values, with_medians

VALUES = np.array(
    [[1.0, np.nan, 0.0, np.inf], [3.0, np.nan, np.nan, -np.inf], [8.0, 5.0, 0.0, 0.0], [2.0, 7.0, 4.0, 1.0]]
)
FORMS = [np.array, sp.csr_matrix, sp.csc_matrix]


def table_of(X):
    return Table(X, ("a", "b", "c", "d")[: X.shape[1]], {}, {}, None, Path("x.csv"))


@pytest.mark.parametrize("form", FORMS)
def test_missing_infinite_and_negative_values_are_counted_by_column(form):
    table = table_of(form(VALUES))
    assert missing_values(table) == {"b": 2, "c": 1}
    assert infinite_values(table) == {"d": 2}
    assert negative_values(table) == {"d": 1}


def test_many_rows_are_counted_in_blocks(monkeypatch):
    monkeypatch.setattr("ufselect.files.table._BLOCK", 8)
    assert missing_values(table_of(np.vstack([VALUES] * 9))) == {"b": 18, "c": 9}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_medians_replace_missing_values(form, dtype):
    table = table_of(form(VALUES.astype(dtype)))
    filled = with_medians(table)
    assert missing_values(filled) == {}
    assert filled.X.dtype == dtype
    assert getattr(filled.X, "format", None) == getattr(table.X, "format", None)
    assert as_dense(filled.X)[:2, 1].tolist() == [6, 6]
    assert as_dense(filled.X)[1, 2] == 0
    assert missing_values(table) == {"b": 2, "c": 1}
