"""Experiments and their files."""

from itertools import pairwise
from pathlib import Path

import pytest

from ufselect.benchmark.data import Preparation
from ufselect.benchmark.experiment import Experiment, Quick, identity, read_experiment, varied_values
from ufselect.benchmark.fits import parameters_of, selector_named, with_values
from ufselect.datasets import dataset_names

EXPERIMENTS = sorted(Path(__file__).parents[2].joinpath("experiments").glob("*.toml"))
GRID_SIZES = {  # the numbers of settings behind the paper's tables; as many random rankings as the largest grid
    "AllFea": 1,
    "random": 1331,
    "MaxVariance": 1,
    "LapScore": 7,
    "MCFS": 7,
    "LLCFS": 11,
    "UDFS": 121,
    "UDFS (equal start)": 121,
    "NDFS": 121,
    "SPFS": 14,
    "RUFS": 1331,
    "JELSR": 121,
    "GLSPFS": 363,
    "SPEC": 21,  # this one and the next five are not in the paper's tables
    "EVSC": 7,
    "TraceRatio": 7,
    "MRSF": 7,
    "FSSL": 77,
    "CGSSL": 121,
    "FSASL": 605,
}

WHOLE = """
title = "All there is"
protocol = "no-labels"
data = ["iris", "wine", { name = "digits", values = "unlike", most_samples = 90 }]
measures = ["acc", "redundancy"]
counts = [2, 3]
n_runs = 4
quick = { data = ["wine"], settings = 3, counts = [2] }

[counts_of]
digits = [10, 20, 20]

[[methods]]
name = "first"
selector = "RandomRanking"
data = ["iris", "wine"]
baseline = true
grid = { random_state = { from = 3, to = 6 } }
grid_of.wine = { random_state = { from = 0, to = 9 } }

[[methods]]
name = "second"
selector = "MCFS"
parameters = { n_clusters = "classes" }
[methods.grid]
n_neighbors = [3, 5]
width = [0.5, 1, 2]
[methods.grid_of]
digits = { width = [4] }

[[methods]]
name = "third"
selector = "AllFeatures"
features = "all"
# the end
"""
RUNS, IRIS, AT_END = "n_runs = 4", '["iris", ', "# the end"


@pytest.fixture
def write(tmp_path):
    def write_text(text):
        path = tmp_path / "tried.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_text


@pytest.fixture
def whole(write):
    return read_experiment(write(WHOLE))


def names(methods):
    return [method.name for method in methods]


# What is read


def test_every_field_is_read(whole):
    first, second, third = whole.methods
    assert whole == Experiment(
        name="tried",
        title="All there is",
        protocol="no-labels",
        data=("iris", "wine", "digits"),
        preparations={"digits": Preparation("unlike", most_samples=90)},
        methods=(first, second, third),
        measures=("acc", "redundancy"),
        counts=(2, 3),
        counts_of={"digits": (10, 20, 20)},
        n_runs=4,
        quick=Quick(data=("wine",), settings=3, counts=(2,)),
    )
    assert (first.name, first.selector, first.data, first.baseline) == (
        "first",
        "RandomRanking",
        ("iris", "wine"),
        True,
    )
    assert (second.parameters, second.data, second.baseline) == ({"n_clusters": "classes"}, None, False)
    assert (third.features, third.grid, third.parameters) == ("all", {}, {})


def test_a_grid_gives_every_combination_in_the_order_of_the_file(whole):
    second = whole.methods[1]
    assert list(second.settings("iris")) == [
        {"n_neighbors": k, "width": width} for k in (3, 5) for width in (0.5, 1, 2)
    ]
    assert list(second.settings("digits")) == [{"n_neighbors": 3, "width": 4}, {"n_neighbors": 5, "width": 4}]
    assert [setting["random_state"] for setting in whole.methods[0].settings("iris")] == [3, 4, 5, 6]
    assert names(whole.methods_for("digits")) == ["second", "third"]


# A part of it


def test_narrowed_to_data_and_methods_or_to_what_the_file_calls_quick(whole):
    part = whole.narrowed(data=["digits", "iris"], methods=["third", "first"])
    assert part.data == ("digits", "iris")
    assert names(part.methods) == ["third", "first"]
    assert whole.narrowed() == whole
    quick = whole.narrowed(quick=True)
    assert (quick.data, quick.counts, quick.counts_of) == (("wine",), (2,), {})
    assert len(quick.settings(whole.methods[0], "wine")) == 3
    assert whole.narrowed(quick=True, data=["digits"]).data == ("digits",)
    assert len(whole.narrowed(quick=True, settings=5).settings(whole.methods[0], "wine")) == 5


@pytest.mark.parametrize("wanted", [1, 2, 6, 10])
def test_thinned_settings_are_so_many_and_spread_from_first_to_last(whole, wanted):
    thin = whole.narrowed(settings=wanted)
    states = [setting["random_state"] for setting in thin.settings(whole.methods[0], "wine")]
    assert len(states) == wanted
    assert states == sorted(set(states))
    assert states[0] == 0
    if wanted > 1:
        assert states[-1] == 9
        gaps = [after - before for before, after in pairwise(states)]
        assert max(gaps) - min(gaps) <= 1


def test_a_method_may_have_a_limit_of_its_own_and_one_for_a_data_set(write):
    limits = "most_settings = 3\nmost_settings_of = { wine = 5, digits = 2 }\n"
    limited = read_experiment(write(WHOLE.replace("[methods.grid]", f"{limits}[methods.grid]")))
    _, second, _ = limited.methods
    assert [second.limit(data) for data in ("iris", "wine", "digits")] == [3, 5, 2]
    assert [len(limited.settings(second, data)) for data in ("iris", "wine", "digits")] == [3, 5, 2]
    assert [len(list(second.settings(data))) for data in ("iris", "wine", "digits")] == [6, 6, 2]  # the whole grids
    settings = list(second.settings("iris"))
    assert limited.settings(second, "iris") == [settings[0], settings[2], settings[5]]
    few = limited.narrowed(settings=4)
    assert [len(few.settings(second, data)) for data in ("iris", "wine", "digits")] == [3, 4, 2]


# What is wrong


BEFORE_METHODS = WHOLE[: WHOLE.index("[[methods]]")]
BROKEN = [  # text of the file, what replaces it, and the cause in the message
    (WHOLE, 'title = "t', "is not valid TOML"),
    (WHOLE, BEFORE_METHODS, "'methods' is missing"),
    ('name = "second"', "", "'name' is missing"),
    ("n_runs", "runs", "unknown key 'runs'; did you mean 'n_runs'?"),
    ("baseline", "base", "methods, first: unknown key 'base'; did you mean 'baseline'?"),
    ('"acc"', '"accu"', "unknown measure 'accu'; did you mean 'acc'?"),
    ('"third"', '"first"', "two methods have the same name"),
    ('data = ["iris", "wine"]\nb', 'data = ["irys"]\nb', "'irys'"),
    (AT_END, "most_settings_of.w = 3", "methods, third: most_settings_of: unknown data set 'w'"),
    (RUNS, 'reference = "secund"', "reference: unknown method 'secund'; did you mean"),
    ('name = "digits"', 'name = "iris"', "data must be a list"),
    (IRIS, '[{ name = "iris", vals = "counts" }, ', "data, iris: unknown key 'vals'; did you mean"),
    (IRIS, '[{ name = "iris", values = "count" }, ', "data, iris: unknown kind of values 'count'"),
    (RUNS, "stability = { fits = 1 }", "stability: fits must be an integer of at least 2, got 1"),
    (RUNS, "stability = { samples = 1.0 }", "stability: samples must be a number between 0 and 1"),
    (
        WHOLE,
        WHOLE.replace(RUNS, "stability = { fits = 3 }").replace("no-labels", "published"),
        "stability is measured by the protocol 'no-labels' only",
    ),
    ("title =", 'name = "own"\ntitle =', "name is not a key at the top level"),
    (AT_END, "n_runs = 3", "methods, third: unknown key 'n_runs'; it belongs at"),
    ("[2, 3]", "[2, -1]", "counts must be a list of one or more positive integers"),
    ('["acc", "redundancy"]', '"acc"', "measures must be a list of one or more"),
    (RUNS, "n_runs = 0", "n_runs must be a positive integer, got 0"),
    (WHOLE, BEFORE_METHODS + "[methods]\nname = 'a'", "methods must be a list"),
    ('"classes"', "1979-05-27", "methods, second: parameters must be"),
    ('"third"', '"a, b"', "name must be a non-empty string without commas"),
    (AT_END, "grid = { width = 5 }", "the grid of width must be a list of values"),
    ("from = 3", "from = 7", "the grid of random_state must"),
]


@pytest.mark.parametrize(("before", "after", "cause"), BROKEN)
def test_a_file_that_is_no_experiment_is_named_with_the_cause(write, before, after, cause):
    text = WHOLE.replace(before, after)
    assert text != WHOLE
    path = write(text)
    with pytest.raises(ValueError, match="tried") as caught:
        read_experiment(path)
    assert str(caught.value).startswith(str(path))
    assert cause in str(caught.value)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"data": ["JAFFE"]}, "unknown data set 'JAFFE'; choose from iris, wine, digits."),
        ({"methods": ["frist"]}, "unknown method 'frist'; did you mean 'first'?"),
    ],
)
def test_only_what_is_in_the_experiment_can_be_asked_for(whole, wanted, message):
    with pytest.raises(ValueError, match="unknown ") as caught:
        whole.narrowed(**wanted)
    assert str(caught.value) == message


# The files of the project


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_data_and_selectors_with_every_value_that_a_file_gives_them_exist(path, monkeypatch):
    monkeypatch.syspath_prepend(path.parents[1])
    experiment = read_experiment(path)
    assert {*(experiment.quick.data or ())} <= {*experiment.data} <= set(dataset_names())
    for method in experiment.methods:
        make = selector_named(method.selector)
        grids = [method.grid, *method.grid_of.values()]
        assert {*method.parameters, *(name for grid in grids for name in grid)} <= parameters_of(make), method.name
        for data in {None, *method.grid_of}:
            values = {(name, identity(value)): value for each in method.settings(data) for name, value in each.items()}
            for (name, _), value in values.items():
                given = {**method.parameters, name: value}
                selector = make(**with_values(identity(given), n_classes=3))
                if hasattr(selector, "_parameter_constraints"):
                    selector._validate_params()


@pytest.fixture(scope="module")
def published():
    return read_experiment(next(path for path in EXPERIMENTS if path.stem == "published"))


@pytest.mark.parametrize("data", ["JAFFE", "UMIST", "TOX", "USPS49", "MFEA", "COIL", "AR", "LUNG"])
def test_grids_have_as_many_settings_as_the_paper(published, data):
    sizes = {method.name: len(list(method.settings(data))) for method in published.methods_for(data)}
    beside = {"JAFFE": {"FSASL (one μ)": 605}, "TOX": {"FSASL (reweighted)": 605}}
    assert sizes == GRID_SIZES | beside.get(data, {})


def test_the_published_means_count_50_twice_for_two_sets(published):
    assert set(published.counts_of) == {"TOX", "LUNG"}
    for counts in published.counts_of.values():
        assert list(counts) == sorted([*range(10, 151, 10), 50])


# Settings as texts


def test_varied_values_are_what_tells_settings_apart():
    settings = ['{"a":1,"b":"x","c":0.5}', '{"a":1,"b":"y","c":0.5}', '{"a":1,"b":"y","c":2}']
    assert varied_values(settings) == ["x, 0.5", "y, 0.5", "y, 2"]
    assert varied_values(settings[:1]) == [""]
