"""KernelFSASL of a Dask array is KernelFSASL of the same array in memory."""

import os
import signal
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from every_selector import LEARNED
from numpy.testing import assert_allclose, assert_array_equal

import ufselect
from ufselect import KernelFSASL
from ufselect.datasets.planted import make_planted_clusters

PLANTED = make_planted_clusters(700, 4, 20, 40, random_state=0)
X = PLANTED.X


def assert_same(found, expected, atol=1e-6):
    assert_array_equal(found.ranking_, expected.ranking_)
    assert_array_equal(found.copies_, expected.copies_)
    for name in LEARNED:
        assert hasattr(found, name) == hasattr(expected, name), name
        if hasattr(expected, name):
            assert getattr(found, name).dtype == getattr(expected, name).dtype
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, atol=atol, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_processes_give_the_result_of_one(cluster, dtype):
    values = X.astype(dtype)
    found = KernelFSASL(15).fit(da.from_array(values, chunks=(130, -1)))
    assert_same(found, KernelFSASL(15).fit(values), atol=1e-6)


PARAMETERS = [
    {},
    {"n_features_to_select": "auto"},
    {"keep": [55, 3], "exclude": [0, 59], "min_distance": 2},
    {"scale": "standard", "max_iter": 1},
    {"center": False, "scale": None},
    {"adaptive": False},
    {"graph_components": None},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_every_setting_gives_the_result_in_memory(parameters):
    selector = KernelFSASL(**{"n_features_to_select": 10, **parameters})
    with dask.config.set(scheduler="synchronous"):
        found = selector.fit(da.from_array(X, chunks=(170, -1)))
    assert_same(found, KernelFSASL(**{"n_features_to_select": 10, **parameters}).fit(X))


def unknown_lengths(values):
    blocks = [dask.delayed(values[start : start + 200]) for start in range(0, len(values), 200)]
    return da.concatenate(
        [da.from_delayed(block, shape=(np.nan, values.shape[1]), dtype=values.dtype) for block in blocks]
    )


FORMS = {
    "chunks of columns": lambda values: da.from_array(values, chunks=(250, 7)),
    "uneven chunks": lambda values: da.from_array(values, chunks=((1, 0, 698, 1), (60,))),
    "unknown lengths": unknown_lengths,
    "one chunk": lambda values: da.from_array(values, chunks=(-1, -1)),
    "sparse chunks": lambda values: da.from_array(values, chunks=(200, -1)).map_blocks(sp.csr_matrix),
}


@pytest.mark.parametrize("form", FORMS)
def test_form_of_the_blocks_changes_nothing(form):
    with dask.config.set(scheduler="synchronous"):
        found = KernelFSASL(10).fit(FORMS[form](X))
    assert_same(found, KernelFSASL(10).fit(X))


HOSTILE = {
    "whole numbers": np.round(10.0 * X).astype(np.int64),
    "constant columns": np.column_stack([X, np.full(700, 3.0), np.zeros(700), np.full(700, 1e8)]),
    "copies": np.column_stack([X, X[:, 3], X[:, 0], -X[:, 1]]),
    "negative zero": np.column_stack([np.where(X[:, 0] > 0, X[:, 0], 0.0), np.where(X[:, 0] > 0, X[:, 0], -0.0), X]),
    "large offsets": X + np.where(np.arange(60) % 2, 1e7, 0.0),
    "tiny values": X * np.where(np.arange(60) % 3, 1.0, 1e-160),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_columns_are_treated_alike(kind):
    with dask.config.set(scheduler="synchronous"):
        found = KernelFSASL(10, scale="standard").fit(da.from_array(HOSTILE[kind], chunks=(150, -1)))
    assert_same(found, KernelFSASL(10, scale="standard").fit(HOSTILE[kind]))


def test_data_frame_keeps_its_names():
    frame = pd.DataFrame(X, columns=[f"gene {column}" for column in range(60)])
    with dask.config.set(scheduler="synchronous"):
        lazy = dd.from_pandas(frame, npartitions=3)
        found = KernelFSASL(10).fit(lazy)
        assert_array_equal(found.top_features(), KernelFSASL(10).fit(frame).top_features())
        kept = found.transform(lazy)
        assert_array_equal(kept.compute().to_numpy(), KernelFSASL(10).fit(frame).transform(frame))
    assert list(kept.columns) == list(found.get_feature_names_out())


def lazy_frame(values, names):
    return dd.from_pandas(pd.DataFrame(values, columns=names), npartitions=2)


LETTERS = list("abcdef")
OTHER_NAMES = {
    "reordered": LETTERS[::-1],
    "unseen": ["x", *LETTERS[1:]],
    "fewer": LETTERS[:5],
    "more": [*LETTERS, "g"],
}


@pytest.mark.parametrize("fitted_lazily", [True, False])
@pytest.mark.parametrize("kind", OTHER_NAMES)
def test_other_names_are_refused_as_for_pandas(kind, fitted_lazily):
    frame = pd.DataFrame(X[:, :6], columns=LETTERS)
    with dask.config.set(scheduler="synchronous"):
        selector = KernelFSASL(2).fit(dd.from_pandas(frame, npartitions=2) if fitted_lazily else frame)
    other = pd.DataFrame(X[:, : len(OTHER_NAMES[kind])], columns=OTHER_NAMES[kind])
    with pytest.raises(ValueError, match="The feature names should match") as expected:
        selector.transform(other)
    with pytest.raises(ValueError, match="The feature names should match") as found:
        selector.transform(dd.from_pandas(other, npartitions=2))
    assert str(found.value) == str(expected.value)


def test_missing_names_are_warned_of_as_for_pandas():
    with dask.config.set(scheduler="synchronous"):
        named = KernelFSASL(2).fit(lazy_frame(X[:, :6], LETTERS))
        unnamed = KernelFSASL(2).fit(lazy_frame(X[:, :6], LETTERS)).fit(da.from_array(X[:, :6], chunks=(300, -1)))
    assert not hasattr(unnamed, "feature_names_in_")  # those of an earlier fit are forgotten
    with pytest.warns(
        UserWarning, match="X does not have valid feature names, but KernelFSASL was fitted with feature"
    ):
        named.transform(da.from_array(X[:, :6], chunks=(300, -1)))
    with pytest.warns(UserWarning, match="X has feature names, but KernelFSASL was fitted without feature names"):
        unnamed.transform(lazy_frame(X[:, :6], LETTERS))


def test_names_that_are_numbers_are_positions_as_for_pandas():
    numbers = [10, 20, 30, 40, 50, 60]
    with dask.config.set(scheduler="synchronous"):
        found = KernelFSASL(2).fit(lazy_frame(X[:, :6], numbers))
        kept = found.transform(lazy_frame(X[:, :6], numbers)).compute()
    expected = KernelFSASL(2).fit(pd.DataFrame(X[:, :6], columns=numbers))
    assert not hasattr(found, "feature_names_in_")
    assert list(found.get_feature_names_out()) == list(expected.get_feature_names_out())
    assert_array_equal(kept.to_numpy(), X[:, found.get_support(indices=True)])
    with pytest.raises(TypeError, match="all input features have string names"):
        KernelFSASL(2).fit(lazy_frame(X[:, :6], ["a", *numbers[1:]]))


def test_transform_of_a_dask_array_is_lazy():
    selector = KernelFSASL(10).fit(X)
    kept = selector.transform(da.from_array(X, chunks=(250, -1)))
    assert isinstance(kept, da.Array)
    assert_array_equal(kept.compute(scheduler="synchronous"), selector.transform(X))
    with pytest.raises(ValueError, match="X has 59 features, but KernelFSASL is expecting 60 features as input"):
        selector.transform(da.from_array(X[:, :59], chunks=(250, -1)))


def with_value(value):
    values = X.copy()
    values[400, 7] = value
    return values


REFUSED = [
    (np.hstack([X, X**2]), {"graph_components": None}, "These settings need all values of X at once"),
    (X, {"device": "cuda"}, "device='cuda' does not work with a Dask array"),
    (X, {"n_features_to_select": 61}, "must not exceed the number of features, 60"),
    (X[:50], {}, "at most as many features as samples"),
    (X[:2], {}, "at least 3 samples"),
    (X[:, 0], {}, "X must be a matrix, but it has 1 dimension\\."),
    (X.astype(complex), {}, "X must hold real numbers, but its type is complex128"),
    (np.ones((30, 5)), {}, "all 5 columns are constant over 30 samples"),
    (with_value(np.nan), {}, "Column 7 of X contains NaN or infinity"),
    (with_value(-np.inf), {}, "Column 7 of X contains NaN or infinity"),
    (with_value(1e200), {}, "Column 7 of X has a value of magnitude 1e\\+200, too large to be squared"),
]


@pytest.mark.parametrize(("values", "parameters", "message"), REFUSED, ids=[case[2] for case in REFUSED])
def test_what_cannot_be_fitted_is_said_in_a_sentence(values, parameters, message):
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=message):
        KernelFSASL(**{"n_features_to_select": 3, **parameters}).fit(da.from_array(values, chunks=300))


@pytest.mark.parametrize("method", [name for name in ufselect.__all__ if name != "KernelFSASL"])
def test_other_methods_refuse_a_dask_array(method):
    with pytest.raises(ValueError, match=f"{method} needs all values of X at once, but X is a Dask array"):
        getattr(ufselect, method)(3).fit(da.from_array(X, chunks=300))


def block_that_kills_its_worker_once(values, flag):
    """Return a block; the first worker that is asked for it dies."""
    try:
        Path(flag).touch(exist_ok=False)
    except FileExistsError:
        return values
    os.kill(os.getpid(), signal.SIGKILL)
    return None


@pytest.mark.parametrize("pass_over_the_data", [0, 4])
def test_a_killed_worker_is_survived(cluster, tmp_path, pass_over_the_data):
    calls = tmp_path / "calls"
    calls.mkdir()

    def block(number):
        values = X[number * 350 : (number + 1) * 350]
        if number != 1:
            return values
        earlier = len(list(calls.iterdir()))
        (calls / f"{earlier} {os.getpid()}").touch()
        if earlier < pass_over_the_data:
            return values
        return block_that_kills_its_worker_once(values, tmp_path / "killed")

    blocks = [dask.delayed(block, pure=False)(number) for number in range(2)]
    lazy = da.concatenate([da.from_delayed(each, shape=(350, 60), dtype=X.dtype) for each in blocks])
    workers = set(cluster.scheduler_info()["workers"])
    found = KernelFSASL(15).fit(lazy)
    assert (tmp_path / "killed").exists()
    cluster.wait_for_workers(2)
    assert set(cluster.scheduler_info()["workers"]) != workers
    assert_same(found, KernelFSASL(15).fit(X))


@pytest.mark.parametrize("center", [True, False])
def test_whole_numbers_in_single_precision_keep_their_digits(center):
    far = np.round(3.0 * X) + np.where(np.arange(X.shape[1]) % 2 == 1, 2.0**24 - 2.0**10, 0.0)
    with dask.config.set(scheduler="synchronous"):
        found = KernelFSASL(10, center=center).fit(da.from_array(far.astype(np.float32), chunks=(170, -1)))
        expected = KernelFSASL(10, center=center).fit(da.from_array(far, chunks=(170, -1)))
    assert_array_equal(found.top_features(), expected.top_features())
    assert_allclose(found.scores_, expected.scores_, rtol=1e-3, atol=1e-3 * expected.scores_.max())


@pytest.mark.parametrize("center", [True, False])
def test_the_embedding_is_x_times_the_coefficients_of_columns_that_are_not_scaled(center):
    values = 1000.0 * X
    with dask.config.set(scheduler="synchronous"):
        found = KernelFSASL(10, center=center, scale=None).fit(da.from_array(values, chunks=(170, -1)))
    used = values - values.mean(axis=0) * center
    assert_allclose(used @ found.coef_, found.embedding_, rtol=0, atol=1e-9 * np.abs(found.embedding_).max())


def test_a_fit_raises_no_floating_point_error():
    tiny = (1e-30 * X).astype(np.float32)
    with dask.config.set(scheduler="synchronous"), np.errstate(all="raise"):
        found = KernelFSASL(10).fit(da.from_array(tiny, chunks=(170, -1)))
    assert_array_equal(found.top_features(), KernelFSASL(10).fit(tiny).top_features())
