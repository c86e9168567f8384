"""A structure of one's own, on the command line and for AnnData objects: where it is read from, what is said of it."""

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import CELLS, CLASSES, NAMES, dense_numbers, fitted, invoke, is_one_sentence, run_alone

from ufselect.anndata import select_genes

X = dense_numbers()
KINDS = np.array(["a", "b", "c"])[CLASSES]
POINTS = np.random.default_rng(1).standard_normal((60, 2)) + 3.0 * np.eye(3)[CLASSES][:, :2]
GRAPH = sp.csr_matrix((CLASSES[:, None] == CLASSES) * 1.0)
SELECT = ["select", "cells.csv", "--features", "4"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("structure")
    table = pd.DataFrame(X, columns=NAMES)
    table.insert(0, "cell", CELLS)
    table.assign(kind=KINDS, hole=["", *KINDS[1:]]).to_csv(path / "cells.csv", index=False)
    table.to_csv(path / "plain.csv", index=False)
    named = pd.DataFrame({"cell": CELLS, "u": POINTS[:, 0], "v": POINTS[:, 1]})
    named.to_csv(path / "points.csv", index=False)
    named[::-1].to_csv(path / "reversed.csv", index=False)
    named.assign(kind=KINDS).to_csv(path / "both.csv", index=False)
    pd.DataFrame({"kind": KINDS}).to_csv(path / "kinds.csv", index=False)
    pd.DataFrame({"cell": CELLS, "code": CLASSES}).to_csv(path / "codes.csv", index=False)
    np.save(path / "codes.npy", CLASSES)
    np.savez(path / "points.npz", points=POINTS)
    np.savez(path / "several.npz", points=POINTS, more=POINTS)
    sp.save_npz(path / "graph.npz", GRAPH)
    annotated().write_h5ad(path / "cells.h5ad")
    return path


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def annotated():
    data = anndata.AnnData(X, pd.DataFrame({"kind": pd.Categorical(KINDS)}, index=CELLS), pd.DataFrame(index=NAMES))
    data.obsm["X_points"], data.obsp["connectivities"], data.obsp["distances"] = POINTS, GRAPH, GRAPH
    return data


def expected(structure):
    selector = fitted("KernelFSASL", X, 4, fdr=None).set_params(fdr=0.05).fit(X, structure=structure)
    return [NAMES[column] for column in selector.top_features()]


@pytest.mark.parametrize(
    ("data", "given", "structure"),
    [
        ("plain.csv", "kinds.csv", KINDS),
        ("plain.csv", "codes.csv", CLASSES),
        ("plain.csv", "codes.npy", CLASSES),
        ("plain.csv", "points.csv", POINTS),
        ("plain.csv", "points.npz", POINTS),
        ("plain.csv", "graph.npz", GRAPH),
        ("cells.h5ad", "points.csv", POINTS),
        ("cells.h5ad", "kind", KINDS),
        ("cells.h5ad", "obsm:X_points", POINTS),
        ("cells.h5ad", "obsp:connectivities", GRAPH),
    ],
)
def test_a_structure_is_read_wherever_it_is(data, given, structure):
    outcome = invoke("select", data, "--features", "4", "--names", "--structure", given)
    assert outcome.code == 0, outcome.stderr
    assert outcome.stdout.split("\n")[:-1] == expected(structure)
    assert f"Structure ({given}): " in outcome.stderr


def test_a_column_of_labels_is_set_aside_and_named_as_supervision_as_a_process(folder):
    arguments = ["--aside", "hole", "--structure", "kind", "--report", "page.html", "--save", "choice.json"]
    outcome = run_alone(folder, *SELECT, *arguments)
    assert outcome.code == 0, outcome.stderr
    said = "Structure (kind): 3 groups of samples; labels were given: this is a supervised selection."
    assert said in outcome.stdout.splitlines()
    assert "4 of 12 columns share the given structure (false discovery rate 5 %)" in outcome.stdout
    assert "Alignment of the selected columns with the given structure: " in outcome.stdout
    page = (folder / "page.html").read_text()
    assert said in page
    assert "Alignment with the given structure" in page
    assert ".fit(X, structure=structure)" in page
    assert "Each column was compared with the given structure on 60 samples" in page
    assert invoke("apply", "choice.json", "cells.csv", "-o", "out.csv").code == 0
    outcome = invoke("diff", "choice.json", "cells.csv")
    assert is_one_sentence(outcome.stderr)
    assert "The choice was made by a structure that was given, kind; " in outcome.stderr


def test_all_columns_that_share_the_structure_are_selected():
    outcome = invoke("select", "plain.csv", "--structure", "codes.npy", "--significant", "-o", "found.h5ad")
    assert "Columns: 4, those that share the given structure." in outcome.stdout
    record = anndata.read_h5ad("found.h5ad").uns["ufselect"]
    assert (record["structure"], record["test"]["n_splits"]) == ("codes.npy", 0)


@pytest.mark.parametrize(
    ("data", "given", "message"),
    [
        ("cells.csv", "gone.csv", "There is no file gone.csv."),
        ("cells.csv", "nix", "cells.csv has no column named 'nix'"),
        ("cells.csv", "hole", "structure is missing for 1 sample: leave them out"),
        ("cells.csv", "cell", "Group 'cell 0' of structure has only one sample"),
        ("cells.csv", "obsm:X_points", "cells.csv is no .h5ad file, so it has no obsm."),
        ("cells.csv", "both.csv", "both.csv has the columns 'kind', 'u', 'v': keep those of the structure"),
        ("cells.csv", "reversed.csv", "Row 1 of reversed.csv is 'cell 59', but 'cell 0' in cells.csv: put"),
        ("cells.csv", "several.npz", "several.npz has 2 arrays: save the structure as the only one."),
        ("cells.h5ad", "obsm:nix", "cells.h5ad has no 'nix' in obsm; its keys are 'X_points'."),
        ("cells.h5ad", "obsp:distances", "cells.h5ad has distances in obsp['distances'], but a graph has large"),
    ],
)
def test_mistakes_are_told_in_one_sentence(data, given, message):
    outcome = invoke("select", data, "--structure", given)
    assert outcome.code > 0
    assert is_one_sentence(outcome.stderr.replace(" See ufselect select --help.", ""))
    assert message in outcome.stderr


def test_genes_of_cells_are_selected_by_what_their_annotations_hold():
    for given, structure in [("kind", KINDS), ("obsm:X_points", POINTS), ("obsp:connectivities", GRAPH), (POINTS,) * 2]:
        data = select_genes(annotated(), 4, structure=given, counts=False, copy=True)
        assert set(data.var_names[data.var["ufselect_selected"]]) == set(expected(structure))
        assert data.uns["ufselect"]["structure"] == (given if isinstance(given, str) else "given")
    for given, message in [("obsm:nix", "adata has no 'nix' in obsm; its keys are 'X_points'."),
                           ("nix", "obs has no column 'nix'; its columns are 'kind'."),
                           ("obsp:distances", "adata has distances in obsp['distances']")]:  # fmt: skip
        with pytest.raises(ValueError, match=r"\.$") as caught:
            select_genes(annotated(), 4, structure=given)
        assert str(caught.value).startswith(message)
