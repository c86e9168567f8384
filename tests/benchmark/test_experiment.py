"""Experiments and their files."""

from itertools import pairwise
from pathlib import Path

import pytest

from ufselect.benchmark.experiment import Experiment, Method, Quick, identity, read_experiment, varied_values
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
data = ["iris", "wine", "digits"]
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
"""


@pytest.fixture
def write(tmp_path):
    def write_text(text, name="tried"):
        path = tmp_path / f"{name}.toml"
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


def test_what_a_file_may_leave_out(write):
    text = 'title = "t"\nprotocol = "published"\ndata = ["iris"]\n[[methods]]\nname = "m"\nselector = "MCFS"'
    read = read_experiment(str(write(text, "short")))
    assert read == Experiment("short", "t", "published", ("iris",), read.methods)
    assert (read.measures, read.counts, read.n_runs) == (("acc", "nmi"), None, 20)
    (method,) = read.methods
    assert vars(method) == vars(Method("m", "MCFS"))


def test_a_grid_gives_every_combination_in_the_order_of_the_file(whole):
    second = whole.methods[1]
    assert list(second.settings("iris")) == [
        {"n_neighbors": k, "width": width} for k in (3, 5) for width in (0.5, 1, 2)
    ]


def test_a_range_has_both_ends(whole):
    assert [setting["random_state"] for setting in whole.methods[0].settings("iris")] == [3, 4, 5, 6]


def test_a_data_set_may_have_a_grid_of_its_own(whole):
    first, second, _ = whole.methods
    assert [setting["random_state"] for setting in first.settings("wine")] == list(range(10))
    assert list(second.settings("digits")) == [{"n_neighbors": 3, "width": 4}, {"n_neighbors": 5, "width": 4}]


def test_without_a_grid_there_is_one_setting(whole):
    assert list(whole.methods[2].settings("iris")) == [{}]


def test_methods_run_on_their_data_only(whole):
    assert names(whole.methods_for("iris")) == ["first", "second", "third"]
    assert names(whole.methods_for("digits")) == ["second", "third"]


# A part of it


def test_narrowed_to_data_and_methods(whole):
    part = whole.narrowed(data=["digits", "iris"], methods=["third", "first"])
    assert part.data == ("digits", "iris")
    assert names(part.methods) == ["third", "first"]
    assert whole.narrowed() == whole


@pytest.mark.parametrize("wanted", range(1, 11))
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


def test_a_grid_that_is_small_enough_is_not_thinned(whole):
    assert len(whole.narrowed(settings=100).settings(whole.methods[0], "wine")) == 10


@pytest.mark.parametrize(("few", "more"), [(3, 5), (11, 121), (20, 58), (21, 201)])
def test_deeper_runs_contain_those_of_fewer_settings_if_their_steps_are_multiples(whole, few, more):
    grid = Method("grid", "RUFS", grid={name: range(11) for name in "abc"})
    thin, deep = (whole.narrowed(settings=number).settings(grid, "wine") for number in (few, more))
    assert all(setting in deep for setting in thin)
    assert (more - 1) % (few - 1) == 0


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


def test_quick_takes_what_the_file_says(whole):
    quick = whole.narrowed(quick=True)
    assert (quick.data, quick.counts, quick.counts_of) == (("wine",), (2,), {})
    assert len(quick.settings(whole.methods[0], "wine")) == 3
    assert whole.narrowed(quick=True, data=["digits"]).data == ("digits",)
    assert len(whole.narrowed(quick=True, settings=5).settings(whole.methods[0], "wine")) == 5


def test_quick_without_more_ado_is_two_settings_on_the_first_data(write):
    plain = read_experiment(write(WHOLE.replace("quick =", "# quick =")))
    quick = plain.narrowed(quick=True)
    assert quick.data == ("iris",)
    assert (quick.counts, quick.counts_of) == ((2, 3), {"digits": (10, 20, 20)})
    assert [setting["random_state"] for setting in quick.settings(plain.methods[0], "wine")] == [0, 9]


# What is wrong


BROKEN = {
    "no TOML": ('title = "t', "is not valid TOML"),
    "no protocol": (WHOLE.replace('protocol = "no-labels"', ""), "protocol"),
    "no methods": (WHOLE[: WHOLE.index("[[methods]]")], "'methods' is missing"),
    "no name": (WHOLE.replace('name = "second"', ""), "'name' is missing"),
    "no selector": (WHOLE.replace('selector = "MCFS"', ""), "selector"),
    "unknown key": (WHOLE.replace("n_runs", "runs"), "unknown key 'runs'; did you mean 'n_runs'?"),
    "unknown key of a method": (
        WHOLE.replace("baseline", "base_line"),
        "methods, first: unknown key 'base_line'; did you mean 'baseline'?",
    ),
    "unknown protocol": (
        WHOLE.replace("no-labels", "no-lables"),
        "unknown protocol 'no-lables'; did you mean 'no-labels'?",
    ),
    "unknown measure": (WHOLE.replace('"acc"', '"accu"'), "unknown measure 'accu'; did you mean 'acc'?"),
    "far from any measure": (WHOLE.replace('"acc"', '"zzz"'), "unknown measure 'zzz'; choose from acc, nmi"),
    "two of one name": (WHOLE.replace('"third"', '"first"'), "two methods have the same name"),
    "a method on unknown data": (WHOLE.replace('data = ["iris", "wine"]\nb', 'data = ["irys"]\nb'), "'irys'"),
    "counts of unknown data": (WHOLE.replace("digits = [10", "digit = [10"), "'digit'; did you mean 'digits'?"),
    "grid of unknown data": (WHOLE.replace("grid_of.wine", "grid_of.wines"), "'wines'; did you mean 'wine'?"),
    "limit of unknown data": (
        f"{WHOLE}most_settings_of.wines = 3",
        "methods, third: most_settings_of: unknown data set 'wines'",
    ),
    "no settings": (f"{WHOLE}most_settings = 0", "methods, third: most_settings must be a positive integer, got 0"),
    "limits not by data": (f"{WHOLE}most_settings_of = 3", "methods, third: most_settings_of must be a table with"),
    "a reference that is no method": (
        WHOLE.replace("n_runs = 4", 'reference = "secund"'),
        "reference: unknown method 'secund'; did you mean 'second'?",
    ),
    "features neither all nor counted": (WHOLE.replace('"all"', '"al"'), "'al'"),
    "no data": (WHOLE.replace('["iris", "wine", "digits"]', "[]"), "data must be a list of one or more"),
    "data not a list": (WHOLE.replace('["iris", "wine", "digits"]', '"JAFFE"'), "data must be a list of one or more"),
    "data twice": (WHOLE.replace('["iris", "wine", "digits"]', '["iris", "wine", "iris"]'), "data must be a list"),
    "data as a number": (WHOLE.replace('["iris", "wine", "digits"]', "[3]"), "data must be a list"),
    "unknown key of data": (
        WHOLE.replace('["iris", ', '[{ name = "iris", vals = "counts" }, '),
        "data, iris: unknown key 'vals'; did you mean 'values'?",
    ),
    "data without a name": (WHOLE.replace('["iris", ', '[{ values = "counts" }, "iris", '), "data: 'name' is missing"),
    "unknown values of data": (
        WHOLE.replace('["iris", ', '[{ name = "iris", values = "count" }, '),
        "data, iris: unknown kind of values 'count'; did you mean 'counts'?",
    ),
    "no samples of data": (
        WHOLE.replace('["iris", ', '[{ name = "iris", most_samples = 0 }, '),
        "data, iris: most_samples must be a positive integer, got 0",
    ),
    "prepared data twice": (
        WHOLE.replace('["iris", ', '[{ name = "wine", values = "counts" }, "iris", '),
        "data must be a list of one or more different names",
    ),
    "other values of a method": (f'{WHOLE}values = "logs"', "methods, third: values must be 'raw', got 'logs'"),
    "misspelt key of stability": (
        WHOLE.replace("n_runs = 4", "stability = { fit = 3 }"),
        "stability: unknown key 'fit'; did you mean 'fits'?",
    ),
    "stability of one fit": (
        WHOLE.replace("n_runs = 4", "stability = { fits = 1 }"),
        "stability: fits must be an integer of at least 2, got 1",
    ),
    "stability over all samples": (
        WHOLE.replace("n_runs = 4", "stability = { samples = 1.0 }"),
        "stability: samples must be a number between 0 and 1, got 1.0",
    ),
    "stability of another protocol": (
        WHOLE.replace("n_runs = 4", "stability = { fits = 3 }").replace("no-labels", "published"),
        "stability is measured by the protocol 'no-labels' only",
    ),
    "a name": (f'name = "own"\n{WHOLE}', "name is not a key at the top level"),
    "no title": (WHOLE.replace('title = "All there is"', ""), "'title' is missing"),
    "title not text": (WHOLE.replace('"All there is"', "3"), "title must be a non-empty string, got 3"),
    "misspelt key": (WHOLE.replace("measures =", "mesures ="), "unknown key 'mesures'; did you mean 'measures'?"),
    "a key of the experiment in a method": (
        f"{WHOLE}n_runs = 3",
        "methods, third: unknown key 'n_runs'; it belongs at the top of the file",
    ),
    "misspelt key of quick": (
        WHOLE.replace("settings = 3", "setings = 3"),
        "quick: unknown key 'setings'; did you mean 'settings'?",
    ),
    "negative count": (WHOLE.replace("[2, 3]", "[2, -1]"), "counts must be a list of one or more positive integers"),
    "count of zero": (
        WHOLE.replace("[2, 3]", "[0]"),
        "counts must be a list of one or more positive integers, got [0]",
    ),
    "count as text": (WHOLE.replace("[2, 3]", '["2"]'), "counts must be"),
    "count as fraction": (WHOLE.replace("[2, 3]", "[2.5]"), "counts must be"),
    "count as boolean": (WHOLE.replace("[2, 3]", "[true]"), "counts must be"),
    "a single count": (WHOLE.replace("[2, 3]", "2"), "counts must be"),
    "no counts": (WHOLE.replace("[2, 3]", "[]"), "counts must be"),
    "negative count of a data set": (WHOLE.replace("[10, 20, 20]", "[-1]"), "counts_of must be a table"),
    "counts of all": (WHOLE.replace("[counts_of]\ndigits = [10", "counts_of = [10"), "counts_of must be a table"),
    "no measures": (WHOLE.replace('["acc", "redundancy"]', "[]"), "measures must be a list of one or more"),
    "measures as text": (WHOLE.replace('["acc", "redundancy"]', '"acc"'), "measures must be a list of one or more"),
    "no runs": (WHOLE.replace("n_runs = 4", "n_runs = 0"), "n_runs must be a positive integer, got 0"),
    "runs as fraction": (WHOLE.replace("n_runs = 4", "n_runs = 2.5"), "n_runs must be a positive integer, got 2.5"),
    "runs as boolean": (WHOLE.replace("n_runs = 4", "n_runs = true"), "n_runs must be a positive integer, got True"),
    "runs as text": (WHOLE.replace("n_runs = 4", 'n_runs = "4"'), "n_runs must be a positive integer, got '4'"),
    "quick as text": (
        WHOLE.replace('{ data = ["wine"], settings = 3, counts = [2] }', '"wine"'),
        "quick must be a table",
    ),
    "no quick settings": (WHOLE.replace("settings = 3", "settings = 0"), "quick: settings must be a positive integer"),
    "quick on unknown data": (
        WHOLE.replace('{ data = ["wine"]', '{ data = ["wines"]'),
        "quick: data: unknown data set 'wines'",
    ),
    "methods as a table": (WHOLE[: WHOLE.index("[[methods]]")] + "[methods]\nname = 'a'", "methods must be a list"),
    "methods as names": (f"methods = ['MCFS']\n{WHOLE[: WHOLE.index('[[methods]]')]}", "methods must be a list"),
    "name as a number": (WHOLE.replace('name = "second"', "name = 2"), "methods, number 2: name must be"),
    "selector as a list": (WHOLE.replace('"MCFS"', '["MCFS"]'), "methods, second: selector must be"),
    "parameters as a list": (WHOLE.replace('{ n_clusters = "classes" }', "[1]"), "methods, second: parameters must be"),
    "a date as parameter": (WHOLE.replace('"classes"', "1979-05-27"), "methods, second: parameters must be"),
    "baseline as text": (WHOLE.replace("baseline = true", 'baseline = "yes"'), "baseline must be true or false"),
    "data of a method as text": (WHOLE.replace('["iris", "wine"]\nb', '"iris"\nb'), "methods, first: data must be"),
    "a range from high to low": (
        WHOLE.replace("from = 3", "from = 7"),
        "methods, first: the grid of random_state must",
    ),
    "a range of fractions": (WHOLE.replace("from = 3", "from = 3.5"), "methods, first: the grid of random_state must"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_is_no_experiment_is_named_with_the_cause(write, case):
    text, cause = BROKEN[case]
    assert text != WHOLE
    path = write(text)
    with pytest.raises(ValueError, match="tried") as caught:
        read_experiment(path)
    assert str(caught.value).startswith(str(path))
    assert cause in str(caught.value)


def test_bytes_that_are_no_text_are_no_experiment(tmp_path):
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"binary\.toml is not valid TOML"):
        read_experiment(path)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"data": ["wines"]}, "unknown data set 'wines'; did you mean 'wine'?"),
        ({"data": ["JAFFE"]}, "unknown data set 'JAFFE'; choose from iris, wine, digits."),
        ({"methods": ["frist"]}, "unknown method 'frist'; did you mean 'first'?"),
        ({"methods": ["MCFS"]}, "unknown method 'MCFS'; choose from first, second, third."),
    ],
)
def test_only_what_is_in_the_experiment_can_be_asked_for(whole, wanted, message):
    with pytest.raises(ValueError, match="unknown ") as caught:
        whole.narrowed(**wanted)
    assert str(caught.value) == message


# The files of the project


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_selectors_take_every_value_that_a_file_gives_them(path, monkeypatch):
    monkeypatch.syspath_prepend(path.parents[1])
    for method in read_experiment(path).methods:
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


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_data_in_files_are_known(path):
    experiment = read_experiment(path)
    assert {*experiment.data, *(experiment.quick.data or ())} <= set(dataset_names())
    assert {*(experiment.quick.data or ())} <= set(experiment.data)


def test_there_are_files_for_every_experiment_of_the_paper_and_one_that_needs_no_files():
    assert [path.stem for path in EXPERIMENTS] == [
        "ablation",
        "convergence",
        "digits",
        "no_labels",
        "pieces",
        "pieces_real",
        "published",
        "real",
        "sensitivity",
    ]


@pytest.mark.parametrize("data", ["JAFFE", "UMIST", "TOX", "USPS49", "MFEA", "COIL", "AR", "LUNG"])
def test_grids_have_as_many_settings_as_the_paper(data):
    published = read_experiment(next(path for path in EXPERIMENTS if path.stem == "published"))
    sizes = {method.name: len(list(method.settings(data))) for method in published.methods_for(data)}
    beside = {
        "JAFFE": {"FSASL (one μ)": 605},
        "TOX": {"FSASL (reweighted)": 605},
    }
    assert sizes == GRID_SIZES | beside.get(data, {})


def test_a_thinned_run_is_part_of_the_whole_one():
    published = read_experiment(next(path for path in EXPERIMENTS if path.stem == "published"))
    method = next(method for method in published.methods if method.name == "RUFS")
    whole, some = (part.settings(method, "COIL") for part in (published, published.narrowed(settings=12)))
    assert len(whole) == 200
    assert len(some) == 12
    assert all(setting in whole for setting in some)


@pytest.mark.parametrize("grid", ["5", '"heat"', "[]", "{ from = 0, too = 4 }"])
def test_a_grid_is_a_list_or_a_range(tmp_path, grid):
    path = tmp_path / "grid.toml"
    path.write_text(
        'title = "t"\nprotocol = "published"\ndata = ["iris"]\n[[methods]]\nname = "a"\nselector = "MCFS"\n'
        f"grid = {{ width = {grid} }}\n"
    )
    with pytest.raises(ValueError, match="a: the grid of width must be a list"):
        read_experiment(path)


def test_the_name_of_a_method_has_no_comma(tmp_path):
    path = tmp_path / "comma.toml"
    path.write_text(
        'title = "t"\nprotocol = "published"\ndata = ["iris"]\n[[methods]]\nname = "a, b"\nselector = "MaxVariance"\n'
    )
    with pytest.raises(ValueError, match="comma"):
        read_experiment(path)


def test_the_published_means_count_50_twice_for_two_sets():
    published = read_experiment(next(path for path in EXPERIMENTS if path.stem == "published"))
    assert set(published.counts_of) == {"TOX", "LUNG"}
    for counts in published.counts_of.values():
        assert list(counts) == sorted([*range(10, 151, 10), 50])


# Settings as texts


def test_identity_knows_no_order_of_keys():
    assert identity({"b": [1, 2.0], "a": "α"}) == identity({"a": "α", "b": [1, 2.0]}) == '{"a":"α","b":[1,2.0]}'


def test_varied_values_are_what_tells_settings_apart():
    settings = ['{"a":1,"b":"x","c":0.5}', '{"a":1,"b":"y","c":0.5}', '{"a":1,"b":"y","c":2}']
    assert varied_values(settings) == ["x, 0.5", "y, 0.5", "y, 2"]
    assert varied_values(settings[:1]) == [""]
