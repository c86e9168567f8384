"""One contract for all selectors: order, names, meanings and defaults of parameters, and what a fit leaves behind."""

import inspect
import re
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest
from every_selector import LEARNED, METHODS, make, may_stop_early, of_every_selector
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import StrOptions

import ufselect
from ufselect.base import BaseSelector, Constraints, Ranking
from ufselect.datasets import make_planted_clusters

ORDER = [
    "n_features_to_select",
    "n_clusters",
    # the graph: number of neighbours, then its shape
    "n_neighbors",
    "neighbors",
    "affinity",
    "weights",
    "width",
    "graph_components",
    # the method's own: choices, weights, penalties
    "structure",
    "adaptive",
    "accumulate",
    "w_solver",
    "recalibrate",
    "spread",
    "self_expression_size",
    "criterion",
    "power",
    "normalized",
    "n_nonzero",
    "solver",
    "exact",
    "local_model",
    "n_components",
    "update",
    "structure_rank",
    "neighborhood",
    "fit_weight",
    "local_weight",
    "regression_weight",
    "structure_weight",
    "row_penalty",
    "self_expression_penalty",
    "ridge",
    # preparation of the columns, selection, iterations, resources
    "scale",
    "center",
    "selection",
    "keep",
    "exclude",
    "groups",
    "min_distance",
    "requirements",
    "fdr",
    "max_iter",
    "tol",
    "n_jobs",
    "device",
    "random_state",
    "verbose",
]
USUAL = {"affinity": "neighbors", "max_iter": 100, "tol": 1e-4}  # if there is no majority
OWN = {*LEARNED, "n_features_", "n_features_in_", "copies_"} - {"objective_history_"}
ITERATIVE = [name for name, cls in METHODS.items() if "max_iter" in inspect.signature(cls).parameters]
PLANTED = make_planted_clusters(60, 3, 8, 7, random_state=0)


def parameters(cls):
    return inspect.signature(cls).parameters


def description(cls, name):
    """The entry of a parameter in the docstring."""
    entry = re.search(rf"^    {name} : .*\n((?:        .*\n)+)", cls.__doc__, flags=re.MULTILINE)
    return " ".join(entry[1].split())


def as_text(constraint):
    """The same text for the same values, whatever the order of a set."""
    return str(sorted(constraint.options) if isinstance(constraint, StrOptions) else constraint)


@cache
def shared():
    """Names that at least two methods have, with the methods."""
    owners = defaultdict(list)
    for method, cls in METHODS.items():
        for name in parameters(cls):
            owners[name].append(method)
    return {name: methods for name, methods in owners.items() if len(methods) > 1}


def small(name, **params):
    return make(name, **{"n_clusters": 3, "max_iter": METHODS[name]().get_params().get("max_iter"), **params})


# The constructors


@of_every_selector
def test_parameters_stand_in_one_order_have_constraints_and_only_the_number_of_features_is_positional(name):
    names = list(parameters(METHODS[name]))
    assert names == sorted(names, key=ORDER.index)

    first, *rest = parameters(METHODS[name]).values()
    assert (first.name, first.kind) == ("n_features_to_select", first.POSITIONAL_OR_KEYWORD)
    assert {parameter.kind for parameter in rest} == {first.KEYWORD_ONLY}
    assert set(METHODS[name]._parameter_constraints) == set(names)


@pytest.mark.parametrize("parameter", shared())
def test_a_name_allows_the_same_values_in_every_method(parameter):
    allowed = {
        method: {as_text(constraint) for constraint in METHODS[method]._parameter_constraints[parameter]}
        for method in shared()[parameter]
    }
    common = set.intersection(*allowed.values())
    for method, found in allowed.items():
        # A method may do without a parameter of the others, if its docstring says what happens then.
        assert found == common or (found == common | {"None"} and "None " in description(METHODS[method], parameter))


@pytest.mark.parametrize("parameter", shared())
def test_a_shared_default_is_the_same_or_the_docstring_says_why_not(parameter):
    defaults = {method: parameters(METHODS[method])[parameter].default for method in shared()[parameter]}
    usual = USUAL.get(parameter, Counter(defaults.values()).most_common(1)[0][0])
    unusual = [method for method, default in defaults.items() if default != usual]
    assert [method for method in unusual if "because" not in description(METHODS[method], parameter)] == []


def test_penalties_are_shares():
    for cls in METHODS.values():
        for name in ("row_penalty", "self_expression_penalty"):
            if name in parameters(cls):
                (interval,) = cls._parameter_constraints[name]
                assert (interval.left, interval.right, interval.closed) == (0, 1, "neither")


def test_every_method_has_verbose_and_those_without_random_state_draw_nothing():
    assert all("verbose" in parameters(cls) for cls in METHODS.values())
    without = {name for name, cls in METHODS.items() if "random_state" not in parameters(cls)}
    assert without == {"MaxVariance", "LaplacianScore", "TraceRatio"}


@may_stop_early
@pytest.mark.parametrize("name", [name for name, cls in METHODS.items() if "random_state" in parameters(cls)])
def test_what_is_drawn_comes_from_random_state(name):
    # Above 500 samples eigenvectors start at random, and above 500 features as well principal components.
    X = make_planted_clusters(510, 3, 6, 500 if name == "KernelFSASL" else 2, random_state=0).X
    rng = np.random.RandomState(0)
    before = rng.get_state()[2]
    small(name, n_clusters="auto", random_state=rng, max_iter=2).fit(X)
    assert rng.get_state()[2] != before


# What a fit leaves behind


@may_stop_early
@of_every_selector
def test_learning_sets_no_attribute_and_returns_everything(name):
    selector = small(name, max_iter=3)
    before = set(vars(selector))
    prepared = selector._prepared(PLANTED.X)
    learned = selector._learn(prepared, Constraints(5))
    fitted = clone(selector).fit(PLANTED.X)
    assert set(vars(selector)) == before
    assert isinstance(learned, Ranking)
    assert {attribute for attribute in vars(fitted) if attribute.endswith("_")} - OWN == set(learned.attributes)


@pytest.mark.parametrize("name", ITERATIVE)
@may_stop_early
def test_the_objective_has_one_value_an_iteration(name):
    selector = small(name, max_iter=3, tol=0.0).fit(PLANTED.X)
    assert selector.objective_history_.shape == (selector.n_iter_,)


def test_another_fit_forgets_what_the_last_one_learned():
    selector = ufselect.SPFS(3, n_clusters=3, solver="nes").fit(PLANTED.X)
    assert hasattr(selector, "coef_")
    selector.set_params(solver="sfs").fit(PLANTED.X)
    assert not hasattr(selector, "coef_")
    selector = ufselect.SPEC(3, n_clusters=3).fit(PLANTED.X)
    assert hasattr(selector, "n_clusters_")
    selector.set_params(criterion="phi1").fit(PLANTED.X)
    assert not hasattr(selector, "n_clusters_")


# Iterations


@pytest.mark.parametrize("name", ITERATIVE)
def test_too_few_iterations_warn_once_at_the_line_that_called_fit_even_through_a_pipeline(name):
    selector = small(name, max_iter=1, tol=0.0)
    for each in (selector, make_pipeline(StandardScaler(), selector)):
        with pytest.warns(ConvergenceWarning, match=rf"^{name} did not converge after max_iter=1 iterations") as caught:
            each.fit(PLANTED.X)
        own = [warning for warning in caught if "max_iter" in str(warning.message)]
        assert [warning.filename for warning in own] == [__file__]


@pytest.mark.parametrize("name", ITERATIVE)
def test_a_large_tolerance_stops_without_a_warning(name):
    selector = small(name, tol=1e9).fit(PLANTED.X)
    # One iteration for each weight of orthogonality, or two, as the first has nothing to compare with.
    assert selector.n_iter_ <= (2 if not hasattr(selector, "orthogonality_history_") else 8)


@may_stop_early
@of_every_selector
def test_progress_is_shown_if_verbose_and_never_otherwise(name, capfd):
    small(name, max_iter=3).fit(PLANTED.X)
    assert capfd.readouterr().err == ""
    small(name, max_iter=3, verbose=1).fit(PLANTED.X)
    shown = capfd.readouterr().err
    # A clock for methods without iterations is for terminals only.
    assert (name in shown) == (name in ITERATIVE or name == "MCFS")


# Meanings


@may_stop_early
@pytest.mark.parametrize("name", shared()["local_weight"])
def test_no_weight_of_the_local_structure_is_legal(name):
    selector = small(name, local_weight=0.0, structure="both").fit(PLANTED.X)
    assert np.all(np.isfinite(selector.scores_))


@may_stop_early
def test_fsasl_without_weight_of_the_neighbours_learns_the_global_structure():
    without = ufselect.FSASL(5, local_weight=0.0).fit(PLANTED.X)
    only_global = ufselect.FSASL(5, structure="global").fit(PLANTED.X)
    np.testing.assert_array_equal(without.scores_, only_global.scores_)
    with pytest.raises(ValueError, match='local_weight=0 with structure="local" leaves no structure'):
        ufselect.FSASL(structure="local", local_weight=0.0).fit(PLANTED.X)


def test_what_authors_of_methods_need_is_public():
    import ufselect.base as base

    assert all(hasattr(base, name) for name in base.__all__)
    assert all(issubclass(cls, BaseSelector) for cls in METHODS.values())
