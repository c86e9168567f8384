"""The files of a run: figures as Parquet, tables as Markdown, CSV and LaTeX, plots, and a record of the code used."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ufselect._utils.atomic_files import whole_file
from ufselect.benchmark import comparing, plots, tables, texts
from ufselect.benchmark.experiment import RAW, Experiment
from ufselect.benchmark.provenance import RECORD, record_text
from ufselect.benchmark.runner import STABILITY, Results
from ufselect.benchmark.schema import CONVERGENCE

FIGURES, FITS, DATA, COURSES = "figures.parquet", "fits.parquet", "data.parquet", "courses.parquet"

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
_READINGS = {
    "mean": "best setting for every number of features",
    "single": "best single setting",
    "median": "median setting",
    "above_random": "points above as many random rankings",
}
_OVER_DATA = (
    "Means and mean ranks (1 is best) over {n} data sets: {data}. The paper's are over the same data sets. Then "
    "{reference} against every other method, in four readings: its mean difference, on how many data sets it is "
    "better, and the exact two-sided p-value of Wilcoxon's signed-rank test over the data sets, not corrected for the "
    "number of methods.\n"
)
_BESIDE_MEASURES = (STABILITY, "seconds", "megabytes")
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


def write_results(experiment: Experiment, results: Results, folder: str | Path) -> list[Path]:
    """Write the tables and plots of the experiment's protocol.

    Parameters
    ----------
    experiment : Experiment
    results : Results
    folder : path
        Created if it does not exist. Its files are replaced when all are complete.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    ValueError
        If there are no results, or all fits failed.
    """
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
    """Write the tables and plots of results that are in the folder already, see :func:`~.restoring.restored`.

    Returns
    -------
    list of Path
        The files written: not the figures, and not the record of what made them.
    """
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
        self._whole(name, lambda path: writer(path, index=False))

    def text(self, name: str, text: str) -> None:
        self._whole(name, lambda path: path.write_text(text, encoding="utf-8"))

    def picture(self, name: str, figure: Figure) -> None:
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            self._whole(f"{name}.{ending}", _saver(figure, ending, metadata))

    def _whole(self, name: str, write: Callable[[Path], object]) -> None:
        write(self.stack.enter_context(whole_file(self.folder / name)))
        self.files.append(self.folder / name)


def _saver(figure: Figure, ending: str, metadata: dict[str, None]) -> Callable[[Path], object]:
    return lambda path: figure.savefig(path, format=ending, dpi=150, metadata=metadata)


def _published(experiment: Experiment, results: Results, written: _Written) -> None:
    summary = tables.summary(experiment, results)
    written.frame("summary.csv", summary)
    hours = tables.core_hours(results)
    sections = [_heading(experiment, results), _settings(experiment, summary, hours)]
    for metric in experiment.measures:
        cells = texts.published_cells(summary, metric)
        sections.append(f"## {_NAMES[metric]}\n\n{texts.as_markdown(cells)}")
        written.text(f"{metric}.tex", texts.as_latex(cells, f"{experiment.title}: {_NAMES[metric]}"))
    sections += [_of_one_setting(experiment, summary, choice) for choice in ("single", "median")]
    sections += [_above_random(experiment, summary), *_over_data(experiment, summary, written)]
    sections += [_cost(hours), _consistency(results, summary)]
    written.text("tables.md", "\n".join(sections))
    for metric in _drawn(experiment):
        written.picture(f"{metric}_beside_published", plots.ours_beside_published(summary, metric))
        written.picture(f"{metric}_curves", plots.curves_over_counts(experiment, results, metric))


def _no_labels(experiment: Experiment, results: Results, written: _Written) -> None:
    summary = pd.concat([tables.no_label_summary(results), tables.cost_summary(results)], ignore_index=True)
    written.frame("summary.csv", summary)
    shown = [metric for metric in (*experiment.measures, *_BESIDE_MEASURES) if metric in set(summary.metric)]
    metrics = {metric: 2 if metric == "seconds" else 1 for metric in shown}
    overview = texts.as_markdown(texts.overview_cells(summary, metrics).rename(columns=_SHORT_NAMES))
    sections = [_heading(experiment, results), f"## Means over the data sets\n\n{overview}"]
    for metric, digits in metrics.items():
        cells = texts.mean_cells(summary, metric, digits)
        sections.append(f"## {_NAMES[metric]}\n\n{texts.as_markdown(cells)}")
        written.text(f"{metric}.tex", texts.as_latex(cells, f"{experiment.title}: {_NAMES[metric]}"))
    written.text("tables.md", "\n".join(sections))
    for metric in _drawn(experiment):
        if "random" in set(summary.method):
            written.picture(f"{metric}_beside_random", plots.methods_beside_random(summary, metric))


def _sensitivity(experiment: Experiment, results: Results, written: _Written) -> None:
    table = tables.sensitivity_summary(results)
    written.frame("summary.csv", table)
    written.text("tables.md", _heading(experiment, results) + "\n" + texts.as_markdown(texts.sensitivity_cells(table)))
    for metric in _drawn(experiment):
        written.picture(f"{metric}_sensitivity", plots.sensitivity_maps(experiment, results, metric))


def _convergence(experiment: Experiment, results: Results, written: _Written) -> None:
    courses, iterations = tables.convergence_summary(results), tables.iteration_summary(results)
    written.frame("summary.csv", courses)
    written.frame("iterations.csv", iterations)
    sections = [
        _heading(experiment, results),
        f"## Objective\n\n{texts.as_markdown(texts.convergence_cells(courses))}",
        "## Effect of more iterations\n\nBy number of iterations: accuracy / NMI / share of the best features that the "
        "longest run selects too, in percent; accuracy and NMI are means over the numbers of features.\n\n"
        f"{texts.as_markdown(texts.iteration_cells(iterations))}",
    ]
    written.text("tables.md", "\n".join(sections))
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


def _heading(experiment: Experiment, results: Results) -> str:
    failed = [(trial, outcome["error"]) for trial, outcome in results.fits if "error" in outcome]
    text = f"# {experiment.title}\n\nMade by `ufselect bench {experiment.name}.toml{experiment.options}`.\n"
    text += "".join(f"\n{name} was not available.\n" for name in experiment.unavailable)
    text += "".join(f"\n{sentence}\n" for sentence in tables.not_converged(results))
    for trial, error in failed:
        text += f"\nFailed: {trial.method.name} on {trial.data} with {trial.setting}: {error}\n"
    for trial, error in results.failed_repeats:
        text += f"\nFailed: {trial.method.name} on {trial.data} with {trial.setting}, on some of the samples: {error}\n"
    return text + f"\n{_data(experiment, results)}{_stability(experiment, results)}"


def _stability(experiment: Experiment, results: Results) -> str:
    """Return how stability was measured; nothing if it was not."""
    if experiment.stability is None:
        return ""
    counts = {row.data: row.count for row in results.rows if row.metric == STABILITY}
    listed = ", ".join(f"{count} ({data})" for data, count in counts.items())
    fits = f"{experiment.stability.fits} fits, each on a random {100 * experiment.stability.samples:g} % of the samples"
    return f"\nStability is the mean agreement of {fits}, corrected for chance. Features selected: {listed}.\n"


def _data(experiment: Experiment, results: Results) -> str:
    """Return how data sets were prepared and judged."""
    if not experiment.preparations:
        return "Methods see the columns as they are; the selected columns are judged as they are, unscaled.\n"
    text = f"## Data\n\n{texts.as_markdown(texts.data_cells(tables.data_described(experiment, results)))}"
    raw = dict.fromkeys(trial.method.name for trial, _ in results.fits if trial.method.values == RAW)
    return text + (f"\nThese methods see the values of the file: {', '.join(raw)}.\n" if raw else "")


def _settings(experiment: Experiment, summary: pd.DataFrame, hours: pd.Series) -> str:
    limits = {(data, method.name): method.limit(data) for data in experiment.data for method in experiment.methods}
    thinned = texts.thinned_cells(summary, hours, limits)
    text = (
        "The best setting by the labels, chosen for every number of features and each metric separately. Shown are "
        "mean ± standard deviation over the numbers of features, the p-value of a paired t-test against the best "
        "method (bold: the best method, or p > 0.05; baselines excluded), the published figure, and the difference, "
        "ours minus published.\n\n"
        f"## Settings tried\n\n{texts.as_markdown(texts.settings_cells(summary))}"
    )
    if thinned.empty:
        return text
    return text + (
        "\nThese grids are not whole. The core-hours are those of the fits; those of the whole grid follow from the "
        f"mean of the settings tried.\n\n{texts.as_markdown(thinned)}"
    )


def _consistency(results: Results, summary: pd.DataFrame) -> str:
    broken = tables.inconsistent_pairs(results, summary)
    text = "## Consistency of accuracy and mutual information\n\n"
    text += "Fano's inequality bounds the mutual information from below, given the accuracy. "
    if broken.empty:
        return text + "All pairs, ours and published, satisfy the bound.\n"
    return text + f"These pairs violate the bound:\n\n{texts.as_markdown(texts.pair_cells(broken))}"


def _above_random(experiment: Experiment, summary: pd.DataFrame) -> str:
    """Return the section on as many random rankings; nothing if the experiment has no random rankings."""
    if summary.as_many_random.isna().all():
        return ""
    random = [method.name for method in experiment.methods if method.selector == tables.RANDOM]
    parts = [
        "## Against as many random rankings\n",
        "Of as many random rankings as a method has settings, the best for every number of features by the labels: "
        "the method minus what this reaches on average, over all subsets of the random rankings. p is that of "
        "Wilcoxon's signed-rank test over the data sets. A cell is empty if there are fewer random rankings than "
        "settings.\n",
    ]
    for metric in _drawn(experiment):
        part = summary[(summary.metric == metric) & ~summary.method.isin(random)]
        gains = part.dropna(subset="above_random").groupby("method")["above_random"]
        p_values = {str(name): comparing.signed_rank_p_value(values.to_numpy()) for name, values in gains}
        parts.append(f"{_NAMES[metric]}\n\n{texts.as_markdown(texts.gain_cells(part, p_values))}")
    return "\n".join(parts)


def _over_data(experiment: Experiment, summary: pd.DataFrame, written: _Written) -> list[str]:
    """Return the section on all data sets together; nothing if fewer than two have figures of all methods."""
    methods, lacking = _compared_methods(experiment, summary)
    data = comparing.shared_data(summary, methods)
    if len(data) < 2 or len(methods) < 2:
        return []
    reference = experiment.reference if experiment.reference in methods else _first(summary, methods)
    parts = [f"## Over data sets\n\n{_OVER_DATA.format(data=', '.join(data), n=len(data), reference=reference)}"]
    parts += [f"Left out, because figures are missing: {', '.join(lacking)}.\n"] if lacking else []
    for metric in _drawn(experiment):
        ranks = texts.rank_cells(comparing.means_and_ranks(summary, metric, methods))
        compared = comparing.comparisons(summary, metric, methods, reference)
        written.frame(f"{metric}_comparisons.csv", compared)
        written.text(f"{metric}_over_data.tex", texts.as_latex(ranks, f"{experiment.title}: {_NAMES[metric]}"))
        cells = texts.comparison_cells(compared, _READINGS)
        parts += [f"{_NAMES[metric]}\n", texts.as_markdown(ranks), f"{reference} against\n", texts.as_markdown(cells)]
    return ["\n".join(parts)]


def _compared_methods(experiment: Experiment, summary: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the methods that have all data sets that the reference has, and the others.

    Without a reference, those are the data sets of the methods that have most. Methods that the file restricts to some
    of the data sets are neither.
    """
    found = summary.groupby("method")["data"].agg(set)
    on_all = [method.name for method in experiment.methods if method.data is None and method.name in found]
    most = max(map(len, found[on_all]), default=0)
    leading = [name for name in on_all if len(found[name]) == most]
    data = set(comparing.shared_data(summary, [experiment.reference] if experiment.reference in on_all else leading))
    complete = [name for name in on_all if data <= found[name]]
    return complete, [name for name in on_all if name not in complete]


def _first(summary: pd.DataFrame, methods: list[str]) -> str:
    """Return the method with the best mean rank in the first metric."""
    ranks = comparing.means_and_ranks(summary, summary.metric.iloc[0], methods)["rank"]
    return str(ranks.idxmin())


def _cost(hours: pd.Series) -> str:
    return (
        "## Cost\n\nCore-hours of the fits, each by itself: the steps that settings share count for each of them. "
        "Evaluations are not included.\n\n"
        f"{texts.as_markdown(texts.hour_cells(hours))}"
    )


def _of_one_setting(experiment: Experiment, summary: pd.DataFrame, choice: str) -> str:
    table = summary.assign(mean=summary[choice], std=np.nan)
    what = {
        "single": "Best single setting for all numbers of features, chosen by the labels",
        "median": "Median setting: the value of a setting taken blindly from the grid",
    }[choice]
    parts = [f"## {what}\n"]
    parts += [
        f"{_NAMES[metric]}\n\n{texts.as_markdown(texts.mean_cells(table, metric, 2))}" for metric in _drawn(experiment)
    ]
    return "\n".join(parts)
