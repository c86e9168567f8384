"""Figures gathered into tables: by hand, by SciPy, and beside the paper's."""

import os
import re
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel
from tried import experiment_of

from ufselect.benchmark import tables
from ufselect.benchmark.cells import (
    as_latex,
    as_markdown,
    convergence_cells,
    iteration_cells,
    published_cells,
)
from ufselect.benchmark.experiment import Method, identity
from ufselect.benchmark.runner import DataSize, Results, Row, Trial

COUNTS = (2, 4, 6)
GRID = {"width": [1, 2]}


def results_of(experiment, figures, counts=COUNTS, outcomes=None):
    """Results with the given figures: by data set, method, setting and metric one for each number of features."""
    rows, fits = [], []
    methods = {method.name: method for method in experiment.methods}
    for (data, name, setting), by_metric in figures.items():
        text = setting if isinstance(setting, str) else identity(setting)
        trial = Trial(data, methods[name], text, (9,) if methods[name].features == "all" else counts)
        for metric, values in by_metric.items():
            for count, value in zip(dict.fromkeys(trial.counts), values, strict=True):
                rows.append(Row(data, name, text, count, metric, value))
        outcome = {"order": [0], "seconds": 1.0, "peak_bytes": 10**6}
        fits.append((trial, (outcomes or {}).get((data, name, text), outcome)))
    return Results(rows, fits, sizes={data: DataSize(150, 9, [50, 50, 50]) for data in experiment.data})


def by_name(table, *names):
    return table.set_index(list(names))


# The paper's protocol


@pytest.fixture
def tried():
    """An experiment with a baseline, the best method, one near it and one far from it; and what was found."""
    methods = (
        Method("all", "AllFeatures", features="all", baseline=True),
        Method("random", "RandomRanking", baseline=True),
        Method("best", "MCFS", grid=GRID),
        Method("near", "SPEC", grid={"width": [1, 2, 3]}),
        Method("far", "UDFS"),
    )
    experiment = experiment_of(*methods)
    figures = {
        ("iris", "all", "{}"): {"acc": [0.99], "nmi": [0.98]},
        ("iris", "random", "{}"): {"acc": [0.91, 0.92, 0.96], "nmi": [0.9, 0.92, 0.93]},
        ("iris", "best", '{"width":1}'): {"acc": [0.60, 0.80, 0.70], "nmi": [0.50, 0.40, 0.70]},
        ("iris", "best", '{"width":2}'): {"acc": [0.70, 0.65, 0.75], "nmi": [0.45, 0.60, 0.65]},
        ("iris", "near", '{"width":1}'): {"acc": [0.72, 0.70, 0.76], "nmi": [0.2, 0.1, 0.3]},
        ("iris", "near", '{"width":3}'): {"acc": [0.10, 0.71, 0.10], "nmi": [0.1, 0.25, 0.1]},
        ("iris", "far", "{}"): {"acc": [0.40, 0.52, 0.44], "nmi": [0.40, 0.52, 0.61]},
    }
    return experiment, results_of(experiment, figures)


# Of each method the best setting at every number of features, for each metric apart.
BEST_OF = {
    ("acc", "all"): [99.0],
    ("nmi", "all"): [98.0],
    ("acc", "random"): [91.0, 92.0, 96.0],
    ("nmi", "random"): [90.0, 92.0, 93.0],
    ("acc", "best"): [70.0, 80.0, 75.0],
    ("nmi", "best"): [50.0, 60.0, 70.0],
    ("acc", "near"): [72.0, 71.0, 76.0],
    ("nmi", "near"): [20.0, 25.0, 30.0],
    ("acc", "far"): [40.0, 52.0, 44.0],
    ("nmi", "far"): [40.0, 52.0, 61.0],
}


def test_the_summary_has_the_best_setting_of_every_count_and_metric_apart(tried):
    summary = by_name(tables.summary(*tried), "metric", "method")
    assert set(summary.index) == set(BEST_OF)
    for name, values in BEST_OF.items():
        row = summary.loc[name]
        assert row["mean"] == pytest.approx(mean(values), rel=1e-12)
        if len(values) == 1:
            assert pd.isna(row["std"])
            assert pd.isna(row["p_value"])
        else:
            assert row["std"] == pytest.approx(stdev(values), rel=1e-12)
            best = BEST_OF[name[0], "best"]
            expected = 1.0 if values == best else ttest_rel(values, best).pvalue
            assert row["p_value"] == pytest.approx(expected, rel=1e-9)
    # Bold are the best and those not worse, but never baselines.
    assert summary.p_value["acc", "near"] > 0.05
    assert summary.p_value["nmi", "far"] < 0.05
    assert {name for name in summary.index if summary.bold[name]} == {("acc", "best"), ("acc", "near"), ("nmi", "best")}


# Without labels


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("{}", "a"),
        ('{"n_clusters":"auto"}', "a, c unknown"),
        ('{"n_clusters":"classes","random_state":3}', "a"),
        ('{"width":"auto"}', "a (width=auto)"),
        ('{"n_clusters":"auto","k":5}', "a, c unknown (k=5)"),
    ],
)
def test_settings_that_differ_by_more_than_chance_have_rows_of_their_own(setting, name):
    experiment = experiment_of(Method("a", "MCFS"))
    summary = tables.no_label_summary(results_of(experiment, {("iris", "a", setting): {"acc": [0.1, 0.2, 0.3]}}))
    assert summary["method"].tolist() == [name]


# Sensitivity and convergence


def courses_of(*courses, orders=None, half_steps=None):
    """Convergence tables of fits of one method with these objectives."""
    experiment = experiment_of(Method("m", "FSASL"), protocol="convergence")
    figures, outcomes = {}, {}
    for index, course in enumerate(courses):
        name = ("iris", "m", f'{{"max_iter":{index}}}')
        figures[name] = {"acc": [0.1, 0.2, 0.3 + index], "nmi": [0.3, 0.3, 0.3]}
        outcomes[name] = {"order": (orders or [[0]] * 9)[index], "n_iter": len(course), "objective": course}
        if half_steps is not None:
            outcomes[name]["half_steps"] = half_steps
    results = results_of(experiment, figures, outcomes=outcomes)
    return tables.convergence_summary(results), tables.iteration_summary(results)


@pytest.mark.parametrize(
    ("course", "rises", "within"),
    [
        ([200.0, 150.0, 102.0, 100.5, 100.0], 0, 4),
        ([200.0, 150.0, 160.0, 140.0, 141.0], 2, 4),
        ([100.0, 100.1, 100.0], 1, 1),
        ([100.0, 101.5, 100.0], 1, 3),
        ([-10.0, -99.9, -100.0], 0, 2),
        ([7.0], 0, 1),
    ],
)
def test_the_course_of_an_objective(course, rises, within):
    courses, _ = courses_of(course)
    (row,) = courses.to_dict("records")
    ends = {"data": "iris", "method": "m", "iterations": len(course), "first": course[0], "last": course[-1]}
    assert row == ends | {"rises": rises, "rises_within": None, "within_1_percent": within}


def test_rises_within_iterations_are_counted_if_their_steps_are_recorded():
    courses, _ = courses_of([5.0, 4.0, 3.0], half_steps=[[9.0, 8.0, 5.0], [3.0, 4.0, 4.0], [2.0, 1.0, 3.0]])
    (row,) = courses.to_dict("records")
    assert (row["rises"], row["rises_within"]) == (0, 2)
    assert convergence_cells(courses).to_numpy().tolist() == [["3", "5", "3", "0", "2", "3"]]


def test_what_more_iterations_bring():
    courses, iterations = courses_of([3.0, 2.0, 1.0], [3.0], orders=[[4, 2, 7, 1], [2, 3, 4, 5]])
    assert courses.iterations.tolist() == [3]  # of the longest run
    assert iterations.iterations.tolist() == [1, 3]
    assert iterations.acc.tolist() == pytest.approx([100 * mean([0.1, 0.2, 1.3]), 20.0])
    assert iterations.in_common.tolist() == [50.0, 100.0]
    assert iteration_cells(iterations).loc["iris, m"].tolist() == ["53.3 / 30.0 / 50", "20.0 / 30.0 / 100"]


# As texts


def test_texts_have_no_character_with_a_meaning_of_its_own():
    nasty = "50% & more_of #1 {a} $b$ c^2 ~d \\e | f"
    experiment = experiment_of(Method(nasty, "MCFS"), Method("plain", "SPEC"), data=("iris", "wine"))
    figures = {
        (data, name, "{}"): {"acc": [0.5, 0.6, 0.7 + 0.1 * shift], "nmi": [0.5, 0.6, 0.7]}
        for data in ("iris", "wine")
        for shift, name in enumerate((nasty, "plain"))
    }
    cells = published_cells(tables.summary(experiment, results_of(experiment, figures)), "acc")
    rows = [re.split(r"(?<!\\)\|", line.strip("\n"))[1:-1] for line in as_markdown(cells).splitlines()]
    assert [len(row) for row in rows] == [3] * 5
    assert [row[0].strip() for row in rows] == ["data", "---", "iris", "wine", "Average"]
    assert rows[0][2].strip() == "plain"
    text = as_latex(cells, nasty)
    escaped = r"50\% \& more\_of \#1 \{a\} \$b\$ c\textasciicircum{}2 \textasciitilde{}d \textbackslash{}e | f"
    assert text.count(escaped) == 2
    depths = np.cumsum([1 if brace == "{" else -1 for brace in re.findall(r"(?<!\\)[{}]", text)])
    assert depths.min() >= 0 == depths[-1]
    assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0


# The paper's figures


def test_published_figures_are_those_in_the_papers_tables():
    folder = Path(os.environ.get("UFSELECT_DATA", "."), "..", "paper", "tables")
    if not folder.is_dir():
        pytest.skip("the paper's tables are not beside UFSELECT_DATA")
    stored = tables.published_figures()
    for metric in ("acc", "nmi"):
        ours = stored[stored.metric.replace("nmi_max", "nmi").eq(metric) & stored.data.ne("USPS200")]
        theirs = pd.read_csv(folder / f"{metric}.csv")
        columns = ["mean", "std", "p_value"]
        pd.testing.assert_frame_equal(
            ours.set_index(["data", "method"])[columns],
            theirs.rename(columns={"dataset": "data"}).set_index(["data", "method"])[columns],
        )
