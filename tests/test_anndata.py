"""Genes of AnnData objects: what is selected, what is written, and what is refused."""

import sys

import anndata
import dask.array
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from ufselect import KernelFSASL, MaxVariance, __version__
from ufselect.anndata import select_genes
from ufselect.cli.app import run
from ufselect.inspection import structure_test
from ufselect.preprocessing import LogNormalize

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
    assert selected.uns["ufselect"]["test"]["p_value"] < 0.01
    selector = KernelFSASL(6).fit(LogNormalize().fit_transform(sp.csr_matrix(COUNTS)))
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
    for name in ("observed", "by_chance", "p_value"):
        assert_array_equal(stored["test"][name], record["test"][name])
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
    expected = MaxVariance(5).fit(LogNormalize().fit_transform(COUNTS))
    assert_array_equal(adata.var["ufselect_rank"], expected.ranking_)
    assert adata.uns["ufselect"]["layer"] == "counts"


@pytest.mark.parametrize(("counts", "normalized"), [("auto", True), (False, False)])
def test_counts_are_normalized_unless_declined(counts, normalized):
    adata = cells()
    select_genes(adata, 5, counts=counts, method="MaxVariance")
    X = LogNormalize().fit_transform(COUNTS) if normalized else COUNTS
    assert_array_equal(adata.var["ufselect_rank"], MaxVariance(5).fit(X).ranking_)
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
    copied = select_genes(adata, 5, method="MCFS", n_clusters=3, test=False, copy=True)
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


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_structure_between_batches_does_not_count(form):
    X = COUNTS.copy()
    X[::3, 20:32] += 40.0  # an effect of the first plate
    adata = cells(form(X))
    select_genes(adata, 6, test=False)
    assert adata.var["ufselect_selected"].to_numpy()[20:32].any()
    select_genes(adata, 6, batch_key="plate")
    assert np.flatnonzero(adata.var["ufselect_selected"]).max() < N_MARKERS
    assert adata.uns["ufselect"]["batch_key"] == "plate"
    assert adata.uns["ufselect"]["test"]["p_value"] < 0.05


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


COPIED = with_value(COUNTS[:, 8], np.s_[:, 9])
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


def test_a_selection_that_cannot_be_tested_says_why():
    adata = cells()
    adata.obs["donor"] = [f"donor {row % 45}" for row in range(N_CELLS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(structure_test.__kwdefaults__, "max_samples", 3)
        select_genes(adata, 5, batch_key="donor")
    record = adata.uns["ufselect"]
    assert "test" not in record
    assert "sample" in record["untested"]


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
