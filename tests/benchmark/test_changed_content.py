"""Data and methods that change between two runs: figures belong to the content, not to the name."""

import os
import py_compile
import sys

import numpy as np
import pytest

from ufselect.benchmark.data import current_version
from ufselect.benchmark.pieces import fit_of, judgement_of
from ufselect.benchmark.runner import run_experiment
from ufselect.benchmark.store import Store
from ufselect.datasets import load_dataset

VARIANCE = """
[[methods]]
name = "variance"
selector = "MaxVariance"
"""
OWN = """
[[methods]]
name = "own"
selector = "{module}:Own"
"""
METHOD = """
import numpy as np
{imports}

class Own:
    def fit(self, X):
        self.scores_ = np.arange(X.shape[1]) * {factor}
        return self
"""
MEASURES = 'measures = ["acc", "redundancy", "preservation", "nearest_neighbor"]'


def write_data(path, seed):
    """Write a file of the same size and time whatever the seed; the best column is the one with number ``seed``."""
    rng = np.random.default_rng(seed)
    classes = np.repeat([0, 1, 2], 10)
    X = rng.standard_normal((30, 6))
    X[:, seed] *= 50.0
    np.savez(path, X=X, y=classes)
    os.utime(path, ns=(10**18, 10**18))


def orders(results):
    return [outcome["order"] for _, outcome in results.fits]


# Data


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_file_rewritten_between_two_runs_gives_the_figures_of_its_new_content(make_experiment, tmp_path, n_jobs):
    path = tmp_path / "own.npz"
    experiment = make_experiment(VARIANCE, data=[path], more=MEASURES)
    found, sizes = {}, set()
    with Store(tmp_path / "pieces.sqlite") as store:
        for seed in (1, 4, 1):
            write_data(path, seed)
            sizes.add(path.stat().st_size)
            found.setdefault(seed, []).append(run_experiment(experiment, store, n_jobs=n_jobs))
    assert len(sizes) == 1  # neither size nor time gives it away
    assert [orders(found[seed][0])[0][0] for seed in (1, 4)] == [1, 4]
    assert found[1][0].rows == found[1][1].rows
    for seed in (1, 4):  # and what was stored is what a fresh store gets
        write_data(tmp_path / f"{seed}.npz", seed)
        alone = make_experiment(VARIANCE, data=[tmp_path / f"{seed}.npz"], more=MEASURES, name=f"alone{seed}")
        with Store(tmp_path / f"{seed}.sqlite") as fresh:
            expected = [row.value for row in run_experiment(alone, fresh).rows]
        assert [row.value for row in found[seed][0].rows] == expected


def test_a_loaded_file_is_read_again_after_a_rewrite_that_leaves_size_and_time(tmp_path):
    path = tmp_path / "own.npz"
    for seed in (1, 4):
        write_data(path, seed)
        assert np.argmax(np.var(load_dataset(path).X, axis=0)) == seed


def test_a_piece_refuses_a_file_that_changed_since_it_was_planned(tmp_path):
    path = tmp_path / "own.npz"
    write_data(path, 1)
    data = current_version(str(path))
    write_data(path, 4)
    for piece in (fit_of(data, "MaxVariance", "{}", 2), judgement_of(data, [0, 1], 1, ("acc",), 1)):
        with pytest.raises(ValueError, match=r"own\.npz changed during the run"):
            piece.run()


# Methods


@pytest.fixture
def own_method(tmp_path, monkeypatch):
    """Write a method of the user's, with a helper module if there is one; returns its module's name."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    name = f"own_method_{tmp_path.name.replace('-', '_')}"

    def write(factor, helper=None):
        imports = "" if helper is None else f"from {name}_helper import FACTOR"
        text = METHOD.format(imports=imports, factor="FACTOR" if helper else factor)
        (folder / f"{name}.py").write_text(text)
        if helper is not None:
            (folder / f"{name}_helper.py").write_text(f"FACTOR = {helper}\n")
        return name

    yield write
    for each in (name, f"{name}_helper"):
        sys.modules.pop(each, None)


@pytest.mark.parametrize(("where", "n_jobs"), [("method", 1), ("helper", 2)])
def test_a_method_edited_between_two_runs_is_fitted_again(make_experiment, tmp_path, own_method, where, n_jobs):
    write_data(tmp_path / "own.npz", 1)
    best = []
    with Store(tmp_path / "pieces.sqlite") as store:
        for factor in ("+1", "-1", "+1"):  # as many bytes, perhaps within the same second
            module = own_method(factor, helper=factor if where == "helper" else None)
            experiment = make_experiment(OWN.format(module=module), data=[tmp_path / "own.npz"])
            best.append(orders(run_experiment(experiment, store, n_jobs=n_jobs))[0][0])
    assert best == [5, 0, 5]


def test_code_that_another_process_compiled_before_the_edit_is_not_used(make_experiment, tmp_path, own_method):
    write_data(tmp_path / "own.npz", 1)
    module = own_method("+1")
    path = tmp_path / "modules" / f"{module}.py"
    py_compile.compile(str(path))
    second = path.stat().st_mtime
    own_method("-1")
    os.utime(path, (second, second))
    experiment = make_experiment(OWN.format(module=module), data=[tmp_path / "own.npz"])
    with Store(tmp_path / "pieces.sqlite") as store:
        assert orders(run_experiment(experiment, store))[0][0] == 0


def test_a_method_whose_comments_were_edited_is_not_fitted_again(make_experiment, tmp_path, own_method):
    write_data(tmp_path / "own.npz", 1)
    module = own_method("+1")
    experiment = make_experiment(OWN.format(module=module), data=[tmp_path / "own.npz"])
    with Store(tmp_path / "pieces.sqlite") as store:
        first = run_experiment(experiment, store)
        path = tmp_path / "modules" / f"{module}.py"
        path.write_text('"""A docstring."""  # and a comment\n' + path.read_text())
        again = run_experiment(experiment, store, finished_only=True)
    assert again.rows == first.rows
    assert len(first.rows) > 0


def test_a_piece_refuses_a_method_that_changed_since_it_was_planned(own_method):
    module = own_method("+1")
    piece = fit_of(current_version("iris"), f"{module}:Own", "{}", 2)
    own_method("-1")
    with pytest.raises(ValueError, match=f"the code of {module}:Own changed during the run"):
        piece.run()
