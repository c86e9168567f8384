"""A record of what made a folder of results, and whether the code, the data and the experiment are still the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

from ufselect._utils.atomic_files import whole_file
from ufselect._utils.wording import counted
from ufselect.benchmark.data import current_version, preparing_source
from ufselect.benchmark.experiment import Experiment, Method, identity
from ufselect.benchmark.pieces import judging_source
from ufselect.benchmark.runner import Results, Trial, judgements_of, planned_trials
from ufselect.benchmark.selecting import selector_source
from ufselect.datasets import dataset_names, describe_dataset

RECORD = "made_by.json"
_FIT = ("selector", "parameters", "features", "values")  # of a method, whatever its grid
_SAME = 1e-9  # largest difference between figures that count as the same


def record_text(experiment: Experiment, results: Results) -> str:
    """Return the record of results as JSON."""
    return json.dumps(record_of(experiment, [trial for trial, _ in results.fits]), indent=1, ensure_ascii=False) + "\n"


def record_of(experiment: Experiment, trials: Iterable[Trial]) -> dict[str, Any]:
    """Return what determines the figures of trials: the experiment, and digests of the code and of the data."""
    code, data = {}, {}
    for trial in trials:
        code[trial.method.name] = trial.fit.source
        data[trial.data] = trial.fit.data.digest
    return {
        "experiment": _described(experiment),
        "code": code,
        "judging_code": judging_source(),
        "preparing_code": preparing_source() if experiment.preparations else None,
        "data": data,
        "unavailable": experiment.unavailable,
    }


def basis(record: Mapping[str, Any], data: str, method: str) -> dict[str, Any]:
    """Return the part of a record that determines the figures of any setting of a method on a data set.

    Raises
    ------
    KeyError, TypeError, AttributeError
        If it is not such a record.
    """
    experiment = record["experiment"]
    described = experiment["methods"].get(method, {})
    preparation = (experiment.get("preparations") or {}).get(data)
    return {
        "code": record["code"].get(method),
        "judging_code": record["judging_code"],
        "data": record["data"].get(data),
        "preparation": preparation,
        "preparing_code": preparation and record["preparing_code"],
        "n_runs": experiment["n_runs"],
        "stability": described.get("stability", True) and experiment["stability"],
        "method": identity({name: described.get(name) for name in _FIT}),
    }


def reasons_out_of_date(experiment: Experiment, folder: str | Path) -> list[str]:
    """Compare the record in a folder of results with the code, the data and the experiment as they are now.

    No data are needed: the content of a known data set is given by its registered checksum, and data sets that are
    not found are not compared.

    Parameters
    ----------
    experiment : Experiment
        As read from its file; data sets that are not available may be part of it.
    folder : path
        Where ``write_results`` wrote the results of the experiment.

    Returns
    -------
    list of str
        A sentence for each reason why the results are out of date; empty if they are current.
    """
    path = Path(folder, RECORD)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        stored, code, data = record["experiment"], record["code"], record["data"]
        judging = record["judging_code"]
    except FileNotFoundError:
        return [f"{path} is missing, so it is not known which code made these results."]
    except (ValueError, KeyError, TypeError):
        return [f"{path} is damaged, so it is not known which code made these results."]
    reasons = [*_changes_of_experiment(stored, _described(experiment))]
    if changed := _changed_methods(experiment, code):
        reasons.append(f"The code of {_listed(changed)} has changed.")
    if judging != judging_source():
        reasons.append("The code that judges selections has changed.")
    if record.get("preparing_code") not in (None, preparing_source()):
        reasons.append("The code that prepares data sets has changed.")
    if changed := [name for name in data if _digest_now(name) not in (None, data[name])]:
        reasons.append(f"The content of {_listed(changed)} has changed.")
    return reasons


def refitted_differences(experiment: Experiment, folder: str | Path) -> Iterator[str]:
    """Fit the fastest stored setting of each method again; yield a sentence for each whose figures are not the same.

    Parameters
    ----------
    experiment : Experiment
        With available data sets only.
    folder : path
        Where ``write_results`` wrote the results of the experiment.
    """
    fastest: dict[str, Trial] = {}
    for trial in _from_fastest(experiment, folder):
        fastest.setdefault(trial.method.name, trial)
    for found in _differences(experiment, folder, list(fastest.values()), n_jobs=1).values():
        if found is not None:
            yield found


def accept_refitted(experiment: Experiment, folder: str | Path, n_jobs: int | None = None) -> Iterator[str]:
    """Record the code as it is now for methods that it does not change, as far as refits show.

    The fastest stored setting of each method whose code has changed is refitted on every data set. If all figures are
    the same, the results count as made by the current code. A method with results on further data sets is not accepted.

    Parameters
    ----------
    experiment : Experiment
        With available data sets only.
    folder : path
        Where ``write_results`` wrote the results of the experiment.
    n_jobs : int, optional
        Number of processes.

    Yields
    ------
    str
        A sentence for each method that was accepted, and for each reason why one was not.

    Raises
    ------
    FileNotFoundError
        If the record of the results is missing.
    ValueError
        If it is damaged.
    """
    path = Path(folder, RECORD)
    record = _record_in(path)
    changed, stored = _changed_methods(experiment, record["code"]), _costs(folder).index
    fastest: dict[tuple[str, str], Trial] = {}
    for trial in _from_fastest(experiment, folder):
        if trial.method.name in changed:
            fastest.setdefault((trial.method.name, trial.data), trial)
    differences = _differences(experiment, folder, list(fastest.values()), n_jobs)
    for name in changed:
        found = [difference for trial, difference in differences.items() if trial.method.name == name]
        elsewhere = {data for data, method, _ in stored if method == name} - set(experiment.data)
        if elsewhere:
            where = _listed(sorted(elsewhere))
            yield f"{name}: not accepted, because it has results on {where}, on which it was not refitted."
        elif differing := [difference for difference in found if difference is not None]:
            yield from differing
        elif found:
            record["code"][name] = _source_of(experiment, name)
            yield f"{name}: refitted on {counted(len(found), 'data set')} with the same figures, and accepted."
    with whole_file(path) as partial:
        partial.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _record_in(path: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        record["code"].items()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is missing; run the experiment first.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged, so it is not known which code made these results.") from error
    return record


def _costs(folder: str | Path) -> pd.Series:
    """Return the seconds of all fits in the results that succeeded."""
    return pd.read_parquet(Path(folder, "fits.parquet")).set_index(["data", "method", "setting"])["seconds"].dropna()


def _changed_methods(experiment: Experiment, code: Mapping[str, str]) -> list[str]:
    return [name for name in code if _source_of(experiment, name) not in (None, code[name])]


def _from_fastest(experiment: Experiment, folder: str | Path) -> list[Trial]:
    """Return the trials of an experiment that have results, the fastest first."""
    costs = _costs(folder)
    trials = [trial for trial in planned_trials(experiment) if _name(trial) in costs.index]
    return sorted(trials, key=lambda trial: costs[_name(trial)])


def _differences(
    experiment: Experiment, folder: str | Path, trials: list[Trial], n_jobs: int | None
) -> dict[Trial, str | None]:
    """Refit trials; return a sentence for each whose figures are not those in the results, None for the others."""
    stored = pd.read_parquet(Path(folder, "figures.parquet")).set_index(["data", "method", "setting"]).sort_index()
    found = Parallel(n_jobs=n_jobs)(
        delayed(_difference)(experiment, trial, stored.loc[[_name(trial)]]) for trial in trials
    )
    return {
        trial: difference and f"{trial.method.name} on {trial.data} with {trial.setting}: {difference}."
        for trial, difference in zip(trials, found, strict=True)
    }


def _difference(experiment: Experiment, trial: Trial, stored: pd.DataFrame) -> str | None:
    outcome = trial.fit.run()
    if "error" in outcome:
        return f"the fit fails now, with {outcome['error']}"
    pieces = judgements_of(experiment, trial, outcome["order"])
    found = {(count, metric): value for count, piece in pieces.items() for metric, value in piece.run().items()}
    gaps = [
        abs(found[count, metric] - value)
        for count, metric, value in zip(stored["count"], stored["metric"], stored["value"], strict=True)
        if (count, metric) in found
    ]
    if len(gaps) < len(found):
        return "some of its figures are missing"
    return f"the figures differ by up to {100 * max(gaps):.2g} points" if max(gaps) > _SAME else None


def _name(trial: Trial) -> tuple[str, str, str]:
    return trial.data, trial.method.name, trial.setting


def _described(experiment: Experiment) -> dict[str, Any]:
    """Return the part of an experiment that determines its figures, as JSON reads it."""
    described = {
        "data": sorted({*experiment.data, *experiment.unavailable}),
        "preparations": {name: asdict(each) for name, each in experiment.preparations.items()} or None,
        "measures": experiment.measures,
        "counts": experiment.counts,
        "counts_of": experiment.counts_of,
        "n_runs": experiment.n_runs,
        "stability": experiment.stability and asdict(experiment.stability),
        "settings": experiment.most_settings,
        "methods": {method.name: _described_method(method) for method in experiment.methods},
    }
    read: dict[str, Any] = json.loads(json.dumps(described))
    return read


def _described_method(method: Method) -> dict[str, Any]:
    grid = ("grid", "grid_of", "most_settings", "most_settings_of")
    names = ("selector", "parameters", *grid, "data", "features", "values")
    described = {name: value for name in names if (value := getattr(method, name))}
    return described if method.stability else {**described, "stability": False}


def _changes_of_experiment(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for key, value in now.items():
        if key != "methods" and identity(before.get(key)) != identity(value):
            yield f"{key} in the experiment has changed."
    old, new = before.get("methods", {}), now["methods"]
    if added := [name for name in new if name not in old]:
        yield f"The experiment has new methods: {_listed(added)}."
    if removed := [name for name in old if name not in new]:
        yield f"The experiment no longer has {_listed(removed)}."
    if changed := [name for name in new if name in old and identity(old[name]) != identity(new[name])]:
        yield f"The settings of {_listed(changed)} have changed."


def _source_of(experiment: Experiment, method: str) -> str | None:
    """Return the digest of a method's code as it is now, None if the method or its code is not there any more."""
    selector = next((each.selector for each in experiment.methods if each.name == method), None)
    try:
        return None if selector is None else selector_source(selector)
    except ValueError:
        return ""


def _digest_now(data: str) -> str | None:
    """Return the digest of a data set as it is now, None if the data set is not available."""
    if data in dataset_names() and (registered := describe_dataset(data).sha256) is not None:
        return registered
    try:
        return current_version(data).digest
    except (OSError, ValueError):
        return None


def _listed(names: list[str]) -> str:
    return ", ".join(names)
