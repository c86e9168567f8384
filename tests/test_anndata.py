"""Genes of AnnData objects: what is selected, what is written, and what is refused."""

import re
import sys

import anndata
import dask.array
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import ufselect
from ufselect import KernelFSASL, MaxVariance, __version__
from ufselect.anndata import reconstruct_genes, select_genes
from ufselect.base import BaseSelector, Ranking
from ufselect.cli.app import run
from ufselect.inspection import reconstruction_of
from ufselect.preprocessing import LogNormalize
from ufselect.significance import column_significance

N_CELLS, N_GENES, N_MARKERS = 90, 40, 9
COLUMNS = ["ufselect_score", "ufselect_rank", "ufselect_selected"]


def counts():
    """Counts of three types of cells, which differ in nine genes."""
    rates = np.full((N_CELLS, N_GENES), 0.8)
    for kind in range(3):
        rates[30 * kind : 30 * (kind + 1), 3 * kind : 3 * (kind + 1)] = 9.0
    return np.random.default_rng(0).poisson(rates).astype(np.float32)


COUNTS = counts()


def cells(X=COUNTS, **parts):
    """Return new cells with mitochondrial genes; other parts are added by name."""
    names = [f"MT-{gene}" if gene >= 36 else f"G{gene}" for gene in range(X.shape[1])]
    rows = range(X.shape[0])
    obs = pd.DataFrame({"plate": pd.Categorical([row % 3 for row in rows])}, index=[f"cell {row}" for row in rows])
    obs["site"] = "A"
    obs["gap"] = ["A", None, *["B"] * (X.shape[0] - 2)] if X.shape[0] > 2 else "A"
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=names), **parts)


def annotations(adata):
    return adata.var[COLUMNS].to_numpy(dtype=float)


@pytest.fixture(scope="module")
def selected():
    """Sparse cells with annotations."""
    adata = cells(sp.csr_matrix(COUNTS), layers={"other": sp.csr_matrix(COUNTS)}, uns={"note": "kept"})
    assert select_genes(adata, 6) is None
    return adata


def test_annotations_are_those_of_the_selector_on_logarithms_of_shares_and_markers_are_selected(selected):
    chosen = np.flatnonzero(selected.var["ufselect_selected"])
    assert len(chosen) == 6
    assert chosen.max() < N_MARKERS
    selector = KernelFSASL(6, fdr=0.05).fit(LogNormalize().fit_transform(sp.csr_matrix(COUNTS)))
    assert_array_equal(selected.var["ufselect_q"], selector.q_values_)
    assert_array_equal(selected.var["ufselect_score"], selector.scores_)
    assert_array_equal(selected.var["ufselect_rank"], selector.ranking_)
    assert_array_equal(selected.var["ufselect_selected"], selector.get_support())
    assert_array_equal(selected.uns["ufselect"]["alignment_curve"], selector.alignment_curve_)

    for X in (selected.X, selected.layers["other"]):
        assert X.format == "csr"
        assert X.dtype == np.float32
        assert_array_equal(X.toarray(), COUNTS)
    assert selected.uns["note"] == "kept"


def test_the_record_survives_a_file(selected, tmp_path):
    selected.write_h5ad(tmp_path / "out.h5ad")
    after = anndata.read_h5ad(tmp_path / "out.h5ad")
    pd.testing.assert_frame_equal(after.var, selected.var)
    record, stored = selected.uns["ufselect"], after.uns["ufselect"]
    parts = {"version", "method", "params", "n_selected", "counts", "alignment_curve", "test"}
    assert stored.keys() == record.keys() == parts
    known = [stored[each] for each in ("version", "method", "n_selected", "counts")]
    assert known == [__version__, "KernelFSASL", 6, True]
    assert stored["params"] == record["params"]
    assert stored["params"]["row_penalty"] == 0.1
    assert stored["params"]["fdr"] == 0.05
    assert stored["test"] == record["test"]
    figures = {"fdr", "n_found", "n_tested", "n_samples", "n_splits", "n_permutations", "n_strata"}
    assert stored["test"].keys() == figures | {"verdict"}
    verdict = "9 of 40 columns share structure with others (false discovery rate 5 %); 6 were selected, all of them"
    assert stored["test"]["verdict"] == f"{verdict} among these."
    assert [stored["test"][name] for name in ("fdr", "n_found", "n_tested", "n_samples")] == [0.05, 9, 40, 90]
    assert (stored_q := after.var["ufselect_q"])[:N_MARKERS].max() <= 0.05 < stored_q[N_MARKERS:].min()
    assert_array_equal(stored["alignment_curve"], record["alignment_curve"])


def test_the_command_writes_the_same_annotations(selected, tmp_path):
    cells(sp.csr_matrix(COUNTS)).write_h5ad(tmp_path / "cells.h5ad")
    assert run(["select", str(tmp_path / "cells.h5ad"), "-m", "6", "-o", str(tmp_path / "out.h5ad")]) == 0
    written = anndata.read_h5ad(tmp_path / "out.h5ad")
    pd.testing.assert_frame_equal(written.var, selected.var)
    selected.write_h5ad(tmp_path / "selected.h5ad")
    record = anndata.read_h5ad(tmp_path / "selected.h5ad").uns["ufselect"]
    np.testing.assert_equal(written.uns["ufselect"], record)


@pytest.mark.parametrize(("form", "mode"), [(np.asarray, "r"), (sp.csr_matrix, "r+"), (sp.csc_matrix, "r")])
def test_numbers_in_a_file_stay_there(form, mode, tmp_path):
    cells(form(COUNTS)).write_h5ad(tmp_path / "cells.h5ad")
    content = (tmp_path / "cells.h5ad").read_bytes()
    adata, loaded = anndata.read_h5ad(tmp_path / "cells.h5ad", backed=mode), cells(form(COUNTS))
    for each in (adata, loaded):
        select_genes(each, 7, method="MaxVariance")
    assert_array_equal(annotations(adata), annotations(loaded))
    assert adata.isbacked
    if mode == "r+":
        adata.write_h5ad()
    adata.file.close()
    if mode == "r":
        assert (tmp_path / "cells.h5ad").read_bytes() == content
    else:
        after = anndata.read_h5ad(tmp_path / "cells.h5ad")
        assert_array_equal(annotations(after), annotations(loaded))
        assert_array_equal(after.X.toarray(), COUNTS)


def test_a_layer_is_used_instead_of_x():
    adata = cells(np.ones_like(COUNTS), layers={"counts": COUNTS})
    select_genes(adata, 5, layer="counts", method="MaxVariance")
    expected = MaxVariance(5, fdr=0.05).fit(LogNormalize().fit_transform(COUNTS))
    assert_array_equal(adata.var["ufselect_rank"], expected.ranking_)
    assert adata.uns["ufselect"]["layer"] == "counts"


@pytest.mark.parametrize(("counts", "normalized"), [("auto", True), (False, False)])
def test_counts_are_normalized_unless_declined(counts, normalized):
    adata = cells()
    select_genes(adata, 5, counts=counts, method="MaxVariance")
    X = LogNormalize().fit_transform(COUNTS) if normalized else COUNTS
    assert_array_equal(adata.var["ufselect_rank"], MaxVariance(5, fdr=0.05).fit(X).ranking_)
    assert adata.uns["ufselect"]["counts"] is normalized


@pytest.mark.parametrize("dtype", [np.uint16, np.float64])
def test_whole_numbers_of_any_type_are_counts(dtype):
    adata, same = cells(sp.csr_matrix(COUNTS.astype(dtype))), cells(COUNTS.astype(np.float64))
    for each in (adata, same):
        select_genes(each, 5, method="MaxVariance")
    assert_array_equal(adata.var["ufselect_selected"], same.var["ufselect_selected"])
    assert adata.X.dtype == dtype


def test_parameters_reach_the_method_and_a_copy_is_returned_on_request():
    adata = cells()
    copied = select_genes(adata, 5, method="MCFS", n_clusters=3, fdr=None, copy=True)
    assert adata.var.columns.empty
    assert not adata.uns
    assert copied.var["ufselect_selected"].sum() == 5
    record = copied.uns["ufselect"]
    assert (record["method"], record["params"]["n_clusters"], "test" in record) == ("MCFS", 3, False)


def test_kept_genes_come_first_and_excluded_ones_last():
    adata = cells(sp.csr_matrix(COUNTS))
    select_genes(adata, 6, keep=["G20", "G0"], exclude=["MT-*", "G3"])
    ranks = adata.var["ufselect_rank"]
    assert sorted(ranks[["G0", "G20"]]) == [1, 2]
    assert sorted(ranks[["G3", "MT-36", "MT-37", "MT-38", "MT-39"]]) == [36, 37, 38, 39, 40]
    record = adata.uns["ufselect"]
    assert record["keep"].tolist() == ["G0", "G20"]
    assert record["exclude"].tolist() == ["G3", "MT-36", "MT-37", "MT-38", "MT-39"]


def test_columns_of_var_patterns_and_names_exclude_genes_together():
    separate, together = cells(), cells()
    together.var["mt"] = pd.array(together.var_names.str.startswith("MT-3"), dtype="boolean")
    select_genes(separate, 5, exclude=["MT-*", "G3", "G1?"], method="MaxVariance")
    select_genes(together, 5, exclude=[together.var["mt"], "G1?", "G3"], method="MaxVariance")
    assert_array_equal(annotations(separate), annotations(together))
    together.var["mt"] = together.var["mt"].mask(together.var_names == "G7")
    with pytest.raises(ValueError, match=r"^exclude: a mask has 1 missing value where True or False is needed\.$"):
        select_genes(together, 5, exclude=[together.var["mt"], "G1?"], method="MaxVariance")


def test_families_of_genes_are_selected_as_a_whole(tmp_path):
    adata = cells()
    adata.var["family"] = pd.Categorical([*"AAAABB", *[None] * (COUNTS.shape[1] - 6)])
    select_genes(adata, 3, groups="family", fdr=None)
    families = dict(enumerate("AAAABB"))
    expected = KernelFSASL(3, groups=families).fit(LogNormalize().fit_transform(COUNTS))
    assert_array_equal(adata.var["ufselect_rank"], expected.ranking_)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    groups = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["ufselect"]["groups"]
    assert list(groups[[0, 4, 6]]) == ["A", "B", "G6"]


def test_requirements_may_be_columns_of_var_and_limits_are_of_the_values_as_they_are(tmp_path):
    adata = cells()
    adata.var["family"] = pd.Categorical([*"AAAABB", *[None] * (COUNTS.shape[1] - 6)])
    adata.var["price"] = np.where(np.arange(COUNTS.shape[1]) < 3, 50.0, 10.0)
    required = {"families": "family", "at_most": 1, "costs": "price", "budget": 70, "limits": {"mean": (None, 1.0)}}
    select_genes(adata, requirements=required, keep="G0", fdr=None)
    chosen = np.flatnonzero(adata.var["ufselect_selected"])
    assert 0 in chosen
    assert COUNTS[:, np.setdiff1d(chosen, 0)].mean(axis=0).max(initial=0.0) <= 1.0
    required = {"families": "family", "at_most": 1, "costs": "price", "budget": 45, "limits": {"mean": (1.0, None)}}
    select_genes(adata, requirements=required, fdr=None)
    chosen = np.flatnonzero(adata.var["ufselect_selected"])
    costs, families = adata.var["price"].to_numpy()[chosen], adata.var["family"].iloc[chosen].dropna()
    assert families.is_unique
    assert costs.sum() <= 45
    assert COUNTS[:, chosen].mean(axis=0).min() >= 1.0
    values = {"families": adata.var["family"], "costs": adata.var["price"], "at_most": 1, "budget": 45}
    outside = np.flatnonzero(COUNTS.mean(axis=0) < 1.0)
    X = pd.DataFrame(LogNormalize().fit_transform(COUNTS), columns=adata.var_names)
    expected = KernelFSASL(requirements=values, exclude=outside).fit(X)
    assert_array_equal(adata.var["ufselect_rank"], expected.ranking_)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    record = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["ufselect"]["requirements"]
    assert record["cost"] == expected.cost_
    assert list(record["at_most"]) == ["A=1", "B=1"]
    command = ["select", tmp_path / "cells.h5ad", "--names", "--no-test", "--costs", "var:price", "--budget", "45"]
    options = ["--families", "var:family", "--at-most", "1", "--limit", "mean=1:", "-o", tmp_path / "out.h5ad"]
    assert run([*map(str, [*command, *options])]) == 0
    assert_array_equal(anndata.read_h5ad(tmp_path / "out.h5ad").var["ufselect_rank"], expected.ranking_)
    with pytest.raises(ValueError, match="costs: var has no column 'prices'; its columns are 'family', 'price'"):
        select_genes(adata, requirements={"costs": "prices", "budget": 3})
    with pytest.raises(ValueError, match="limits: no gene has a mean of at least 99"):
        select_genes(adata, requirements={"limits": {"mean": (99, None)}})


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_structure_between_batches_does_not_count(form):
    X = COUNTS.copy()
    X[::3, 20:32] += 40.0  # an effect of the first plate
    adata = cells(form(X))
    select_genes(adata, 6, fdr=None)
    assert adata.var["ufselect_selected"].to_numpy()[20:32].any()
    select_genes(adata, 6, batch_key="plate")
    assert np.flatnonzero(adata.var["ufselect_selected"]).max() < N_MARKERS
    assert adata.uns["ufselect"]["batch_key"] == "plate"
    assert adata.var["ufselect_q"][:N_MARKERS].max() <= 0.05
    assert adata.uns["ufselect"]["test"]["n_found"] <= N_MARKERS + 1


def test_a_view_becomes_an_object_of_its_own():
    adata = cells(sp.csr_matrix(COUNTS))
    part = adata[:, :20]
    with pytest.warns(anndata.ImplicitModificationWarning):
        select_genes(part, 5, method="MaxVariance")
    assert part.var["ufselect_selected"].sum() == 5
    assert adata.var.columns.empty


def test_repeated_names_do_no_harm_unless_they_are_asked_for():
    adata = cells()
    adata.var_names = ["A", "A", *adata.var_names[2:]]
    select_genes(adata, 5, method="MaxVariance")
    assert adata.var["ufselect_selected"].sum() == 5
    with pytest.raises(ValueError, match=r"several genes named 'A', .*call adata\.var_names_make_unique"):
        select_genes(adata, 5, keep=["A"])


def test_duplicate_entries_of_a_sparse_matrix_are_left_alone():
    rows, columns = np.nonzero(COUNTS)
    order = np.lexsort([columns, rows])
    halves = sp.csr_matrix(COUNTS)
    twice = sp.csr_matrix(
        (np.repeat(halves.data / 2, 2), np.repeat(columns[order], 2), 2 * halves.indptr), shape=COUNTS.shape
    )
    adata, same = cells(twice), cells(halves)
    for each in (adata, same):
        select_genes(each, 5, method="MaxVariance")
    assert adata.X.nnz == 2 * halves.nnz
    assert_array_equal(adata.var["ufselect_selected"], same.var["ufselect_selected"])


def with_value(value, at=(4, 2)):
    X = COUNTS.copy()
    X[at] = value
    return X


REFUSED = {
    "not cells": (lambda: COUNTS, {}, "adata has the type ndarray, not AnnData"),
    "no genes": (lambda: cells()[:, :0].copy(), {}, "adata has no genes"),
    "no cells": (lambda: cells()[:0].copy(), {}, "adata has no cells"),
    "an unknown layer": (cells, {"layer": "raw"}, "adata has no layer 'raw'; it has none"),
    "no X": (lambda: anndata.AnnData(obs=cells().obs, var=cells().var), {}, "adata has no X"),
    "an unknown batch": (cells, {"batch_key": "donor"}, "no column 'donor'; its columns are 'plate', 'site', 'gap'"),
    "a batch of one cell": (lambda: cells()[:4].copy(), {"batch_key": "plate"}, "has only one sample"),
    "a missing value": (lambda: cells(with_value(np.nan)), {}, r"1 missing value in G2 \(1\)"),
    "an infinite value": (lambda: cells(sp.csr_matrix(with_value(np.inf))), {}, r"1 infinite value in G2 \(1\)"),
    "negative counts": (lambda: cells(with_value(-1)), {"counts": True}, r"1 negative value in G2 \(1\); counts=True"),
    "too many genes": (cells, {"n_genes": 41}, "n_genes=41 must not exceed the number of genes, 40"),
    "an unknown choice": (cells, {"counts": "yes"}, "counts='yes' must be True, False or \"auto\""),
    "an unknown method": (cells, {"method": "PCA"}, "there is no selector 'PCA' in ufselect"),
    "not a method": (cells, {"method": "metrics:accuracy_score"}, "there is no selector"),
    "blocks": (lambda: cells(dask.array.from_array(COUNTS)), {}, "its numbers in a Dask array; load them first"),
    "text": (
        lambda: cells(layers={"text": np.full(COUNTS.shape, "x")}),
        {"layer": "text"},
        "no numbers in layer 'text'",
    ),
    "an unknown gene": (cells, {"keep": ["G100"]}, "keep: there is no gene 'G100'; did you mean 'G10'"),
    "an unknown pattern": (cells, {"exclude": ["RPL*"]}, r"exclude: no gene matches 'RPL\*'"),
    "a gene kept and excluded": (cells, {"keep": "MT-36", "exclude": "MT-*"}, "Gene 'MT-36' is in keep and in exclude"),
    "a mask of another length": (
        cells,
        {"exclude": [True, False]},
        "a mask of 2 values does not fit 40 columns",
    ),
    "a constant gene": (lambda: cells(with_value(0, np.s_[:, 7])), {"keep": "G7"}, "keep: column 'G7' is constant"),
    "copies": (
        lambda: cells(with_value(COUNTS[:, 8], np.s_[:, 9])),
        {"keep": ["G8", "G9"]},
        "'G9' is an exact copy of 'G8'; keep one of them",
    ),
    "too few genes": (cells, {"n_genes": 1, "keep": ["G1", "G2"]}, "n_genes=1 is too few: keep contains 2"),
    "too few left": (cells, {"n_genes": 37, "exclude": "MT-*"}, "number of genes that are not excluded, 36"),
    "a cell without a batch": (cells, {"batch_key": "gap"}, r"obs\['gap'\] is missing for 1 cell"),
    "one batch": (lambda: cells(), {"batch_key": "site"}, "All samples are in batch 'A'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_selected_from_is_refused_in_one_sentence(case):
    make, options, message = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        select_genes(make(), **options)
    assert str(caught.value).count(". ") == 0
    assert str(caught.value).endswith((".", "?"))


class WithoutRate(BaseSelector):
    """The method of an author: its scores are variances, and it does not test columns itself."""

    def __init__(self, n_features_to_select="auto", *, scale=None, center=True, verbose=0):
        self.n_features_to_select = n_features_to_select
        self.scale = scale
        self.center = center
        self.verbose = verbose

    def _learn(self, X, constraints):
        scores = X.squared_norms()
        return Ranking(np.argsort(-scores, kind="stable"), scores)


class WithFitOfItsOwn(WithoutRate):
    """The method of an author whose ``fit`` takes no test."""

    def fit(self, X, y=None):
        return self._fit(X, None)


def test_genes_are_tested_for_the_method_of_an_author(monkeypatch):
    monkeypatch.setattr(ufselect, "WithoutRate", WithoutRate, raising=False)
    monkeypatch.setattr(ufselect, "WithFitOfItsOwn", WithFitOfItsOwn, raising=False)
    loud = COUNTS.copy()
    loud[:, 20:30] *= 40.0
    tested, among_all, declined = cells(loud), cells(loud), cells(loud)
    select_genes(tested, 6, method="WithoutRate", counts=False)
    select_genes(among_all, 6, method="WithFitOfItsOwn", counts=False)
    select_genes(declined, 6, method="WithoutRate", counts=False, fdr=None)
    expected = column_significance(loud)
    assert_array_equal(tested.var["ufselect_q"], expected.q_values)
    assert tested.var["ufselect_q"][tested.var["ufselect_selected"]].max() <= 0.05
    assert tested.uns["ufselect"]["test"]["n_found"] == expected.n_found
    assert_array_equal(among_all.var["ufselect_q"], expected.q_values)
    assert "test" not in declined.uns["ufselect"]
    for each in (among_all, declined):
        assert each.var["ufselect_selected"][:N_MARKERS].sum() < 6


def test_a_selection_without_test_leaves_no_q_values_of_an_earlier_one(selected):
    again = select_genes(selected, 6, fdr=None, copy=True)
    assert list(again.var) == COLUMNS
    assert "test" not in again.uns["ufselect"]
    assert "fdr" not in again.uns["ufselect"]["params"]


def test_genes_that_cannot_be_tested_have_a_q_value_of_one_and_copies_that_of_the_first():
    X = np.concatenate([COUNTS, np.zeros((N_CELLS, 2)), COUNTS[:, [4]], COUNTS[:, [0]]], axis=1)
    adata = cells(sp.csr_matrix(X), layers={"counts": X})
    select_genes(adata, 6, exclude=["G0", "G3"])
    q = adata.var["ufselect_q"].to_numpy()
    assert_array_equal(q[[0, 3, 40, 41]], 1.0)
    assert q[42] == q[4] <= 0.05
    assert q[43] <= 0.05  # the gene that it copies is excluded
    assert adata.uns["ufselect"]["test"]["n_tested"] == 39  # with the last one, without G0 and G3


def test_genes_that_are_not_found_follow_those_that_are():
    adata = cells()
    select_genes(adata, 20)
    chosen = adata.var[adata.var["ufselect_selected"]].sort_values("ufselect_rank")
    is_found = chosen["ufselect_q"] <= 0.05
    assert_array_equal(is_found, np.arange(20) < N_MARKERS)
    assert adata.uns["ufselect"]["test"]["verdict"].endswith("; 20 were selected, 9 of them among these.")


def donors(n_cells_each):
    adata = cells()
    adata.obs["donor"] = [f"donor {row // n_cells_each}" for row in range(N_CELLS)]
    return adata


rng = np.random.default_rng(3)
HARD = {
    "no count at all but one": (lambda: cells(with_value(1, (0, 0)) * (np.arange(N_GENES) == 0)), {}),
    "one gene": (lambda: cells(COUNTS[:, :1].copy()), {}),
    "two genes": (lambda: cells(COUNTS[:, :2].copy()), {}),
    "two genes, one kept, one excluded": (lambda: cells(COUNTS[:, :2].copy()), {"keep": "G0", "exclude": "G1"}),
    "one gene that is not constant": (lambda: cells(COUNTS * (np.arange(N_GENES) == 5)), {}),
    "copies of one gene": (lambda: cells(np.repeat(COUNTS[:, :1], N_GENES, axis=1)), {}),
    "four cells": (lambda: cells(COUNTS[::25].copy()), {}),
    "six cells": (lambda: cells(sp.csr_matrix(COUNTS[::17])), {}),
    "cells without counts": (lambda: cells(COUNTS * (np.arange(N_CELLS) % 3 > 0)[:, None]), {}),
    "equal cells": (lambda: cells(np.repeat(COUNTS[[0, 50]], 20, axis=0)), {}),
    "pairs of cells as batches": (lambda: donors(2), {"batch_key": "donor"}),
    "sparse genes": (lambda: cells(sp.csr_matrix((rng.random((60, 300)) < 0.02).astype(np.float32))), {}),
    "large numbers": (lambda: cells(COUNTS * np.float32(1e30)), {"counts": False}),
    "all genes kept": (cells, {"keep": "*"}),
}


@pytest.mark.parametrize("method", ["KernelFSASL", "MaxVariance"])
@pytest.mark.parametrize("case", HARD)
def test_whatever_can_be_selected_from_can_be_tested(case, method):
    make, options = HARD[case]
    plain, tested = make(), make()
    try:
        select_genes(plain, 1.0, method=method, fdr=None, **options)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            select_genes(tested, 1.0, method=method, **options)
        return
    select_genes(tested, 1.0, method=method, **options)
    q = tested.var["ufselect_q"]
    assert q.between(0.0, 1.0).all()
    assert sorted(tested.var["ufselect_rank"]) == list(range(1, tested.n_vars + 1))


@pytest.mark.parametrize("part", [slice(None), slice(5)], ids=["whole", "view"])
def test_what_is_in_a_file_is_not_copied(part, tmp_path):
    cells().write_h5ad(tmp_path / "cells.h5ad")
    adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(ValueError, match=r"call adata\.to_memory\(\) first"):
        select_genes(adata[:, part] if part.stop else adata, 3, copy=part.stop is None)
    adata.file.close()


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match="pip install anndata"):
        select_genes(None)


# What is lost if only some genes are measured


def test_genes_are_predicted_by_those_selected_on_the_scale_of_the_selection(selected):
    chosen = np.flatnonzero(selected.var["ufselect_selected"])
    found = reconstruct_genes(selected)
    X = LogNormalize().fit_transform(sp.csr_matrix(COUNTS))
    expected = reconstruction_of(X, chosen)
    assert_array_equal(found.columns, chosen)
    assert_array_equal(selected.var["ufselect_r2"], expected.r2)
    assert found.substitutes == expected.substitutes
    assert found.groups == ()


def test_a_panel_is_given_as_genes_are_kept_and_confuses_groups_of_cells():
    adata = cells()
    adata.obs["kind"] = np.repeat(["a", "b", "c"], 30)
    found = reconstruct_genes(adata, ["G0", "MT-*"], group_key="kind", counts=False)
    assert_array_equal(found.columns, [0, 36, 37, 38, 39])
    assert_array_equal(adata.var["ufselect_r2"], reconstruction_of(COUNTS, found.columns).r2)
    assert found.groups == ("a", "b", "c")
    assert {each[:2] for each in found.confused} >= {("b", "c"), ("c", "b")}
    assert found.accuracy < found.accuracy_of_all == 1.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "var has no column 'ufselect_selected'; call select_genes first, or give genes."),
        ({"genes": "CD3"}, "genes: there is no gene 'CD3'."),
        ({"genes": []}, "columns is empty; give at least one column."),
        ({"genes": "G1", "group_key": "kind"}, "obs has no column 'kind'; its columns are 'plate', 'site', 'gap'."),
        ({"genes": "G1", "group_key": "site"}, "labels are the same for all samples; at least 2 classes are needed."),
    ],
)
def test_panels_that_cannot_be_evaluated_are_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - compared below
        reconstruct_genes(cells(), **arguments)
    assert str(raised.value) == sentence
