"""The files of a run: figures as Parquet, tables as Markdown, CSV and LaTeX, plots, and a record of what made them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ufselect._utils.atomic_files import whole_file
from ufselect.benchmark import cells, plots, tables
from ufselect.benchmark.cells import as_latex, as_markdown
from ufselect.benchmark.experiment import CONVERGENCE, RAW, Experiment
from ufselect.benchmark.record import COURSES, DATA, FIGURES, FITS, RECORD, record_text
from ufselect.benchmark.runner import STABILITY, Results

_NAMES = {
    "acc": "Accuracy (%)",
    "nmi": "Normalised mutual information (%), by the geometric mean of the entropies",
    "nmi_max": "Normalised mutual information (%), by the larger entropy",
    "nmi_arithmetic": "Normalised mutual information (%), by the arithmetic mean of the entropies",
    "redundancy": "Redundancy: mean absolute correlation of the selected features (%); lower is better",
    "preservation": "Neighbourhood preservation: mean Jaccard index of the 5 nearest neighbours, before and after (%)",
    "nearest_neighbor": "Leave-one-out accuracy of the nearest-neighbour classifier (%)",
    "stability": "Stability: agreement of the selections from random shares of the samples (%); 0 is chance",
    "seconds": "Processor time of a fit in seconds, without compilation",
    "megabytes": "Peak memory of a fit in MB, without the data and the program",
}
_SHORT_NAMES = {
    "acc": "ACC",
    "nmi": "NMI",
    "nmi_max": "NMI (larger entropy)",
    "nmi_arithmetic": "NMI (mean entropy)",
    "preservation": "neighbours kept",
    "nearest_neighbor": "1-nn",
    "seconds": "s",
    "megabytes": "MB",
}
_READINGS = {
    "mean": "best setting for every number of features",
    "single": "best single setting",
    "median": "median setting",
    "above_random": "points above as many random rankings",
}
_BEST_SETTING = """\
The best setting by the labels, chosen for every number of features and each metric separately. Shown are mean ± \
standard deviation over the numbers of features, the p-value of a paired t-test against the best method (bold: the \
best method, or p > 0.05; baselines excluded), the published figure, and the difference, ours minus published.

## Settings tried

"""
_THINNED = """
These grids are not whole. The core-hours are those of the fits; those of the whole grid follow from the mean of the \
settings tried.

"""
_AS_MANY_RANDOM = """\
## Against as many random rankings

Of as many random rankings as a method has settings, the best for every number of features by the labels: the method \
minus what this reaches on average, over all subsets of the random rankings. p is that of Wilcoxon's signed-rank test \
over the data sets. A cell is empty if there are fewer random rankings than settings.
"""
_OVER_DATA = """\
## Over data sets

Means and mean ranks (1 is best) over {n} data sets: {data}. The paper's are over the same data sets. Then {reference} \
against every other method, in four readings: its mean difference, on how many data sets it is better, and the exact \
two-sided p-value of Wilcoxon's signed-rank test over the data sets, not corrected for the number of methods.

"""
_COST = """\
## Cost

Core-hours of the fits. Evaluations are not included.

"""
_ITERATIONS = """\
## Effect of more iterations

By number of iterations: accuracy / NMI / share of the best features that the longest run selects too, in percent; \
accuracy and NMI are means over the numbers of features.

"""


def write_results(experiment: Experiment, results: Results, folder: str | Path) -> list[Path]:
    """Write figures, tables and plots to a folder, whose files are replaced when all are complete; return the files."""
    if not results.fits:
        raise ValueError("no fit is finished yet.")
    if not results.rows:
        trial, outcome = results.fits[0]
        raise ValueError(f"all fits failed; the first, {trial.method.name} on {trial.data}, with {outcome['error']}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        written = _Written(folder, stack)
        written.text(RECORD, record_text(experiment, results))  # first, so it appears last: it vouches for the others
        written.frame(FIGURES, tables.figures(results))
        written.frame(FITS, tables.costs(results))
        written.frame(DATA, tables.sizes(results))
        if experiment.protocol == CONVERGENCE:
            written.frame(COURSES, tables.courses(results))
        _PROTOCOLS[experiment.protocol](experiment, results, written)
    return sorted(written.files, key=lambda path: path.name == RECORD)


def write_tables(experiment: Experiment, results: Results, folder: str | Path) -> list[Path]:
    """Write tables and plots of results that :func:`~.record.read_results` found in the folder; return the files."""
    with ExitStack() as stack:
        written = _Written(Path(folder), stack)
        _PROTOCOLS[experiment.protocol](experiment, results, written)
    return written.files


class _Written:
    """The files of one run, moved into its folder, the last one first, when the stack closes without an error."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.stack = stack
        self.files: list[Path] = []

    def frame(self, name: str, frame: pd.DataFrame) -> None:
        writer = frame.to_parquet if name.endswith(".parquet") else frame.to_csv
        self._whole(name, partial(writer, index=False))

    def text(self, name: str, text: str) -> None:
        self._whole(name, lambda path: path.write_text(text, encoding="utf-8"))

    def picture(self, name: str, figure: Figure) -> None:
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            with matplotlib.rc_context({"svg.hashsalt": "ufselect"}):  # the same figure gives the same file
                self._whole(f"{name}.{ending}", partial(figure.savefig, format=ending, dpi=150, metadata=metadata))

    def _whole(self, name: str, write: Callable[[Path], object]) -> None:
        write(self.stack.enter_context(whole_file(self.folder / name)))
        self.files.append(self.folder / name)


def _published(experiment: Experiment, results: Results, written: _Written) -> None:
    summary = tables.summary(experiment, results)
    written.frame("summary.csv", summary)
    hours = tables.core_hours(results)
    sections = [_heading(experiment, results), _BEST_SETTING + as_markdown(cells.settings_cells(summary))]
    limits = {(data, method.name): method.limit(data) for data in experiment.data for method in experiment.methods}
    thinned = cells.thinned_cells(summary, hours, limits)
    if not thinned.empty:
        sections[-1] += _THINNED + as_markdown(thinned)
    sections += [
        _section(experiment, metric, cells.published_cells(summary, metric), written) for metric in experiment.measures
    ]
    for reading, title in (
        ("single", "Best single setting for all numbers of features, chosen by the labels"),
        ("median", "Median setting: the value of a setting taken blindly from the grid"),
    ):
        table = summary.assign(mean=summary[reading], std=np.nan)
        sections.append(f"## {title}\n")
        sections += [_titled(metric, cells.mean_cells(table, metric, 2)) for metric in _drawn(experiment)]
    sections += [*_above_random(experiment, summary), *_over_data(experiment, summary, written)]
    sections.append(_COST + as_markdown(cells.hour_cells(hours)))
    written.text("tables.md", "\n".join(sections))
    for metric in _drawn(experiment):
        written.picture(f"{metric}_beside_published", plots.ours_beside_published(summary, metric))
        written.picture(f"{metric}_curves", plots.curves_over_counts(experiment, results, metric))


def _no_labels(experiment: Experiment, results: Results, written: _Written) -> None:
    summary = pd.concat([tables.no_label_summary(results), tables.cost_summary(results)], ignore_index=True)
    written.frame("summary.csv", summary)
    shown = [
        metric for metric in (*experiment.measures, STABILITY, "seconds", "megabytes") if metric in set(summary.metric)
    ]
    digits = {metric: 2 if metric == "seconds" else 1 for metric in shown}
    overview = cells.overview_cells(summary, digits).rename(columns=_SHORT_NAMES)
    sections = [_heading(experiment, results), f"## Means over the data sets\n\n{as_markdown(overview)}"]
    sections += [
        _section(experiment, metric, cells.mean_cells(summary, metric, digits[metric]), written) for metric in shown
    ]
    written.text("tables.md", "\n".join(sections))
    for metric in _drawn(experiment):
        if "random" in set(summary.method):
            written.picture(f"{metric}_beside_random", plots.methods_beside_random(summary, metric))


def _sensitivity(experiment: Experiment, results: Results, written: _Written) -> None:
    table = tables.sensitivity_summary(results)
    written.frame("summary.csv", table)
    written.text("tables.md", f"{_heading(experiment, results)}\n{as_markdown(cells.sensitivity_cells(table))}")
    for metric in _drawn(experiment):
        written.picture(f"{metric}_sensitivity", plots.sensitivity_maps(experiment, results, metric))


def _convergence(experiment: Experiment, results: Results, written: _Written) -> None:
    courses, iterations = tables.convergence_summary(results), tables.iteration_summary(results)
    written.frame("summary.csv", courses)
    written.frame("iterations.csv", iterations)
    objective = f"## Objective\n\n{as_markdown(cells.convergence_cells(courses))}"
    effect = _ITERATIONS + as_markdown(cells.iteration_cells(iterations))
    written.text("tables.md", "\n".join([_heading(experiment, results), objective, effect]))
    written.picture("objective", plots.objective_courses(experiment, results))


_PROTOCOLS: dict[str, Callable[[Experiment, Results, _Written], None]] = {
    "published": _published,
    "ablation": _published,
    "no-labels": _no_labels,
    "sensitivity": _sensitivity,
    CONVERGENCE: _convergence,
}


def _drawn(experiment: Experiment) -> list[str]:
    return [metric for metric in experiment.measures if metric in ("acc", "nmi")]


def _titled(metric: str, table: pd.DataFrame) -> str:
    return f"{_NAMES[metric]}\n\n{as_markdown(table)}"


def _section(experiment: Experiment, metric: str, table: pd.DataFrame, written: _Written) -> str:
    """Return the section of a metric, and write its table in LaTeX."""
    written.text(f"{metric}.tex", as_latex(table, f"{experiment.title}: {_NAMES[metric]}"))
    return f"## {_titled(metric, table)}"


def _heading(experiment: Experiment, results: Results) -> str:
    """Return the title, what is missing or failed, how data were prepared, and how stability was measured."""
    lines = [f"# {experiment.title}\n", f"Made by `ufselect bench {experiment.name}.toml{experiment.options}`.\n"]
    lines += [f"{name} was not available.\n" for name in experiment.unavailable]
    lines += [f"{sentence}\n" for sentence in tables.not_converged(results)]
    failed = [(trial, outcome["error"]) for trial, outcome in results.fits if "error" in outcome]
    failed += [(trial, f"on some of the samples: {error}") for trial, error in results.failed_repeats]
    for trial, error in failed:
        between = ", " if error.startswith("on some of the samples: ") else ": "
        lines.append(f"Failed: {trial.method.name} on {trial.data} with {trial.setting}{between}{error}\n")
    if experiment.preparations:
        lines.append(f"## Data\n\n{as_markdown(cells.data_cells(experiment, results))}")
        if raw := dict.fromkeys(trial.method.name for trial, _ in results.fits if trial.method.values == RAW):
            lines.append(f"These methods see the values of the file: {', '.join(raw)}.\n")
    else:
        lines.append("Methods see the columns as they are; the selected columns are judged as they are, unscaled.\n")
    if experiment.stability is not None:
        samples, n_fits = 100 * experiment.stability.samples, experiment.stability.fits
        counts = {row.data: row.count for row in results.rows if row.metric == STABILITY}
        selected = ", ".join(f"{count} ({data})" for data, count in counts.items())
        lines.append(
            f"Stability is the mean agreement of {n_fits} fits, each on a random {samples:g} % of the samples, "
            f"corrected for chance. Features selected: {selected}.\n"
        )
    return "\n".join(lines)


def _above_random(experiment: Experiment, summary: pd.DataFrame) -> list[str]:
    """Return the section on as many random rankings; nothing if the experiment has no random rankings."""
    if summary.as_many_random.isna().all():
        return []
    random = [method.name for method in experiment.methods if method.selector == tables.RANDOM]
    sections = [_AS_MANY_RANDOM]
    for metric in _drawn(experiment):
        part = summary[(summary.metric == metric) & ~summary.method.isin(random)]
        gains = part.dropna(subset="above_random").groupby("method")["above_random"]
        p_values = {str(name): tables.signed_rank_p_value(values.to_numpy()) for name, values in gains}
        sections.append(_titled(metric, cells.gain_cells(part, p_values)))
    return sections


def _over_data(experiment: Experiment, summary: pd.DataFrame, written: _Written) -> list[str]:
    """Return the section on all data sets together; nothing if fewer than two have figures of all methods."""
    methods, lacking = tables.compared_methods(experiment, summary)
    data = tables.shared_data(summary, methods)
    if len(data) < 2 or len(methods) < 2:
        return []
    reference = experiment.reference
    if reference is None or reference not in methods:
        ranks = tables.means_and_ranks(summary, summary.metric.iloc[0], methods)["rank"]
        reference = str(ranks.idxmin())
    sections = [_OVER_DATA.format(data=", ".join(data), n=len(data), reference=reference)]
    sections += [f"Left out, because figures are missing: {', '.join(lacking)}.\n"] if lacking else []
    for metric in _drawn(experiment):
        ranks = cells.rank_cells(tables.means_and_ranks(summary, metric, methods))
        compared = tables.comparisons(summary, metric, methods, reference)
        written.frame(f"{metric}_comparisons.csv", compared)
        written.text(f"{metric}_over_data.tex", as_latex(ranks, f"{experiment.title}: {_NAMES[metric]}"))
        against = as_markdown(cells.comparison_cells(compared, _READINGS))
        sections += [f"{_NAMES[metric]}\n", as_markdown(ranks), f"{reference} against\n", against]
    return sections
