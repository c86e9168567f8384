"""Tables of any columns as numbers: encoding, pipelines, other tables at predict time, hostile tables."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ufselect import KernelFSASL
from ufselect.preprocessing import TablePreparer

N = 200


@parametrize_with_checks([TablePreparer(), TablePreparer(near_copies=None, logarithms=True)])
def test_the_rules_of_scikit_learn_are_kept(estimator, check):
    assert check(estimator) is None


def customers(seed=0, n=N):
    """A raw table, and whether its customers left."""
    rng = np.random.default_rng(seed)
    plan = rng.integers(0, 3, n)
    left = rng.random(n) < 0.1 + 0.35 * plan
    usage = plan + 0.4 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "customer_id": rng.permutation(10**6)[:n],
            "plan": np.array(["basic", "plus", "pro"])[plan],
            "joined": pd.date_range("2024-01-01", periods=n),
            "income": np.exp(rng.normal(10.0, 1.5, n)),
            "usage": usage,
            "usage_in_hours": 24.0 * usage,
            "calls": rng.poisson(3.0 + 2.0 * plan),
            "mails": plan + rng.normal(size=n),
            "is_abroad": rng.random(n) < 0.3,
            "note": [f"{value:.5f} said" for value in rng.random(n)],
            "fax": [None] * (n - 20) + ["x"] * 10 + ["y"] * 10,
        }
    )
    frame.loc[frame.index[rng.random(n) < 0.1], ["calls", "plan"]] = None
    return frame, left


ENCODED = ["plan=basic", "plan=plus", "plan=pro", "income", "usage", "calls", "mails", "is_abroad=True"]


def test_features_are_encoded_in_the_order_of_the_table():
    frame, _ = customers()
    preparer = TablePreparer().set_output(transform="pandas")
    result = preparer.fit_transform(frame)
    assert list(result) == ENCODED
    assert_array_equal(preparer.groups_, ["plan"] * 3 + ["income", "usage", "calls", "mails", "is_abroad"])
    assert preparer.levels_ == {"plan": ("basic", "plus", "pro"), "is_abroad": ("False", "True")}
    known = frame["plan"].notna()
    assert_array_equal(result.loc[known, "plan=plus"], frame["plan"][known] == "plus")
    assert_allclose(result.loc[~known, "plan=plus"], np.mean(frame["plan"][known] == "plus"))
    assert_array_equal(result["usage"], frame["usage"])
    unit = np.quantile(frame["income"], 0.1)
    assert_allclose(result["income"], np.log1p(frame["income"] / unit))
    assert_array_equal(result["is_abroad=True"], frame["is_abroad"])
    assert not result.isna().any(axis=None)
    pd.testing.assert_frame_equal(preparer.transform(frame), result)


def test_rare_levels_are_pooled():
    cities = ["Ulm"] * 90 + ["Bonn"] * 105 + ["Hof", "Aue", "Rom", "Rom", "Ems"]
    preparer = TablePreparer().fit(pd.DataFrame({"city": cities}))
    assert preparer.levels_ == {"city": ("Bonn", "Rom", "Ulm", "other")}
    new = preparer.transform(pd.DataFrame({"city": ["Paris", "Ulm", " Bonn ", None]}))
    assert_allclose(new, [[0, 0, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0], [105 / 200, 2 / 200, 90 / 200, 3 / 200]])
    few = TablePreparer().fit(pd.DataFrame({"city": ["Ulm"] * 90 + ["Bonn"] * 10}))
    assert_array_equal(few.transform(pd.DataFrame({"city": ["Rom", "Ulm", "Bonn"]})), [[0], [1], [0]])


def pipeline(**parameters):
    return make_pipeline(
        TablePreparer(**parameters), StandardScaler(), KernelFSASL(4), LogisticRegression(max_iter=1000)
    )


def test_a_pipeline_from_a_raw_table_to_a_classifier_survives_new_categories_and_holes():
    (frame, left), (new, _) = customers(), customers(1, 50)
    new = new.drop(columns=["note", "customer_id"]).astype({"is_abroad": object})
    new["plan"] = np.where(np.arange(50) < 5, "family", new["plan"])
    new.loc[new.index[5:10], ["usage", "income", "is_abroad"]] = None
    new = new[::-1].assign(unknown=1.0)
    model = pipeline().set_output(transform="pandas").fit(frame, left)
    assert set(model[:-1].get_feature_names_out()) < set(ENCODED)
    predicted = model.predict_proba(new)
    assert np.isfinite(predicted).all()
    assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(new), predicted, rtol=0.0)
    assert_allclose(clone(model).fit(frame, left).predict_proba(new), predicted, rtol=1e-9)
    assert model.score(frame, left) > 0.6


def test_parameters_are_searched():
    frame, left = customers()
    grid = {
        "tablepreparer__roles": [None, {"plan": "text", "usage": "id"}],
        "tablepreparer__near_copies": [0.999, None],
    }
    search = GridSearchCV(pipeline(), grid, cv=2, error_score="raise").fit(frame, left)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_every_kind_of_table_gives_the_same():
    frame, _ = customers()
    expected = TablePreparer().fit(frame)
    numbers = frame[["income", "usage", "usage_in_hours", "calls", "mails", "customer_id"]]
    others = {name: frame[name].to_numpy() for name in frame if name not in numbers}
    direct = TablePreparer().fit_columns(numbers.to_numpy(float), list(numbers), others, list(frame))
    for other, table in [
        (TablePreparer().fit(pl.from_pandas(frame)), pl.from_pandas(frame)),
        (TablePreparer().fit(frame.convert_dtypes()), frame.convert_dtypes()),
        (TablePreparer().fit(frame.astype(object)), frame.astype(object)),
        (direct, frame),
    ]:
        assert other.roles_ == expected.roles_
        assert_array_equal(other.transform(table), expected.transform(frame))
    assert_array_equal(
        direct.transform_columns(numbers.to_numpy(float), list(numbers), others), expected.transform(frame)
    )
    in_file = TablePreparer().fit_columns(numbers.to_numpy(float), list(numbers), others)
    assert sorted(in_file.roles_, key=str) == sorted(expected.roles_, key=str)


def test_arrays_have_no_names():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    X[0, 1] = np.nan
    preparer = TablePreparer().fit(X)
    assert_array_equal(preparer.get_feature_names_out(), ["x0", "x1", "x2"])
    assert_array_equal(preparer.get_feature_names_out(["a", "b", "c"]), ["a", "b", "c"])
    words = np.array([["a", 1.5, None], ["b", 2.5, "u"]] * 10, dtype=object)
    assert_array_equal(TablePreparer().fit(words).get_feature_names_out(), ["x0=b"])
    with pytest.raises(ValueError, match="X has 2 features, but TablePreparer is expecting 3 features"):
        preparer.transform(X[:, :2])


def test_numbers_that_need_nothing_are_not_copied():
    X = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    assert TablePreparer().fit_transform(X) is X
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    assert np.shares_memory(TablePreparer().fit(frame).transform(frame), frame.to_numpy())
    assert TablePreparer().fit_transform(frame.assign(a=np.arange(50))).dtype == np.float64


def test_numbers_and_categories_change_their_types_at_predict_time():
    frame = pd.DataFrame({"type": [1, 2, 3, 1, 2] * 20, "weight": np.random.default_rng(0).normal(size=100)})
    preparer = TablePreparer().fit(frame)
    assert_array_equal(preparer.get_feature_names_out(), ["type=1", "type=2", "type=3", "weight"])
    new = pd.DataFrame({"weight": ["0.5", None, "-2e-1", "?"], "type": [3.0, 1.0, np.nan, 7.0]})
    expected = np.array([[0, 0, 1], [1, 0, 0], [0.4, 0.4, 0.2], [0, 0, 0]])
    assert_allclose(preparer.transform(new)[:, :3], expected)
    assert_allclose(preparer.transform(new)[[0, 2], 3], [0.5, -0.2])
    assert_allclose(preparer.transform(pd.DataFrame({"weight": [None], "type": [None]}))[:, :3], expected[[2]])
    with pytest.raises(ValueError, match="Column 'weight' is to be numeric, but has values such as 'heavy'"):
        preparer.transform(pd.DataFrame({"weight": ["heavy"], "type": [1]}))


def test_names_of_levels_are_unique():
    frame = pd.DataFrame({"a=b": list("cdce") * 9, "a": ["b=c", "b=e", "b=c", "f"] * 9})
    names = TablePreparer(near_copies=None).fit(frame).get_feature_names_out()
    assert_array_equal(names, ["a=b=c", "a=b=d", "a=b=e", "a=b=c_1", "a=b=e_1", "a=f"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [1.0] * 3, "id": [3, 4, 5]}), r"No column is a feature: a \(constant\), id"),
        (pd.DataFrame({"a": [np.nan] * 3, "b": [None] * 3}), r"No column is a feature: a \(100 % missing\), b"),
        (pd.DataFrame([[1.0, 2.0], [3.0, 5.0]], columns=["a", "a"]), "X has several columns named 'a'"),
        (pd.DataFrame({"a": [1.0, np.inf], "b": [2, 1]}), "X contains infinity in 'a'"),
        (pd.DataFrame({"a": [1.0 + 2j, 2.0], "b": [2, 1]}), "Complex data not supported: column 'a'"),
        (pd.DataFrame({"a": [1.0], "b": [2]}), "1 sample.s. while a minimum of 2 is required"),
        (pd.DataFrame(index=[1, 2, 3]), "0 feature"),
        (np.zeros((3, 0)), "0 feature"),
        (np.arange(5.0), "Reshape your data"),
    ],
)
def test_tables_that_cannot_be_prepared(table, message):
    with pytest.raises(ValueError, match=message):
        TablePreparer().fit(table)


def test_sparse_matrices_are_refused():
    with pytest.raises(TypeError, match="dense data is required"):
        TablePreparer().fit(sp.eye_array(5, format="csr"))


def test_a_missing_column_is_named():
    frame, _ = customers()
    with pytest.raises(ValueError, match="X has no column named 'plan', 'usage', which fit found to be features"):
        TablePreparer().fit(frame).transform(frame.drop(columns=["plan", "usage", "note"]))


def test_a_column_of_free_text_that_is_kept_or_has_a_role_has_a_pooled_level():
    frame = pd.DataFrame({"note": [f"thing {row}" for row in range(30)], "x": np.arange(30) % 7 / 2.0})
    preparer = TablePreparer(keep=["note"]).fit(frame)
    assert preparer.levels_ == {"note": ("other",)}
    assert_array_equal(preparer.transform(frame)[:, 0], np.ones(30))
