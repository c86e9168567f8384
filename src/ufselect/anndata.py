"""Selection of informative genes from AnnData objects, and what they tell of the others, in scanpy's style."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ufselect._utils.naming import object_named
from ufselect._utils.types import Indices
from ufselect._utils.wording import counted, listed, occurrences, shown
from ufselect.base import BaseSelector
from ufselect.base.groups import ColumnGroups
from ufselect.base.requirements import ColumnRequirements, Requirements
from ufselect.base.screening import KeepExclude, called, why_useless
from ufselect.columns.tabular import as_mask, columns_matching, is_missing, is_pattern, marked_columns
from ufselect.files import Table, infinite_values, looks_like_counts, missing_values, negative_values
from ufselect.files.annotated import annotate, annotated_numbers, entry_of
from ufselect.files.errors import UnreadableError
from ufselect.inspection.choices import recorded_selection
from ufselect.inspection.reconstruction import Reconstruction, reconstruction_of
from ufselect.inspection.requirements import within_limits
from ufselect.preprocessing import LogNormalize
from ufselect.significance import fit_tested

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["reconstruct_genes", "select_genes"]


def select_genes(
    adata: AnnData,
    n_genes: int | float | str = "auto",
    *,
    layer: str | None = None,
    batch_key: str | None = None,
    structure: Any = None,
    keep: Any = None,
    exclude: Any = None,
    requirements: Any = None,
    counts: bool | str = "auto",
    method: str = "KernelFSASL",
    fdr: float | None = 0.05,
    copy: bool = False,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
    **params: Any,
) -> AnnData | None:
    """Select the informative genes of cells without labels.

    Raw counts are detected and log-normalised; ``adata.X`` itself is not modified. It may be sparse, and is then never
    densified, or backed by a file, and is then read once.

    Parameters
    ----------
    adata : AnnData
        Cells by genes. If it is backed, the annotations are added to the object, not to the file.
    n_genes : int, float or "auto", default="auto"
        Number of genes to select, or the fraction of genes if a float. "auto" takes as many as are best aligned with
        the structure of the cells.
    layer : str, optional
        Layer to use instead of X.
    batch_key : str, optional
        Column of ``obs`` with the batch of each cell, such as its plate or its donor. Differences between batches are
        removed.
    structure : str, array-like or sparse array, optional
        A structure of the cells that genes are to explain, instead of one that is learned: ``"obsm:X_scVI"``,
        ``"obsp:connectivities"``, a column of ``obs`` such as ``"leiden"``, or an array as ``fit`` of a selector takes
        it. With labels this is a supervised selection. If the structure was computed from these genes, their p-values
        are too small.
    keep : str, sequence of str or mask, optional
        Genes to select before all others, which complement them.
    exclude : str, sequence of str or mask, optional
        Genes that take no part. Like ``keep``, a name, a shell pattern such as ``"MT-*"``, a boolean column of ``var``,
        or a list of these.
    requirements : Requirements or dict, optional
        What the panel has to meet: a budget, quotas of families, weights, limits (:class:`ufselect.Requirements`).
        ``costs``, ``families``, ``weights`` and ``positions`` can also be the names of columns of ``var``. Limits hold
        for the values as they are in ``adata``, also for counts.
    counts : bool or "auto", default="auto"
        Whether to log-normalise the values; "auto" does so if they are counts.
    method : str, default="KernelFSASL"
        A selector of ufselect, or ``"module:Class"``.
    fdr : float or None, default=0.05
        False discovery rate of the test that finds the genes which share structure with others. Genes are selected
        among those found; if fewer are found than ``n_genes``, others follow. None leaves the test out.
    copy : bool, default=False
        Whether to return an annotated copy instead of annotating ``adata``.
    random_state : int, RandomState instance or None, default=0
        Seed of methods that draw random numbers.
    n_jobs : int, optional
        Number of threads.
    verbose : int, default=0
        If 1, show a progress bar.
    **params : dict
        Other parameters of the method. ``groups`` can also be the name of a column of ``var``, in which genes without a
        value are alone.

    Returns
    -------
    AnnData or None
        The annotated copy if ``copy``, else None. These are added:

        ``var["ufselect_selected"]`` : bool
            The selected genes, for instance for ``sc.pp.pca(adata, mask_var="ufselect_selected")``.
        ``var["ufselect_rank"]`` : int
            1 is best.
        ``var["ufselect_score"]`` : float
            Larger is better.
        ``var["ufselect_q"]`` : float
            q-value of the test: the smallest false discovery rate at which the gene is found. Genes that cannot be
            tested, constant or excluded ones, have 1. Without a test, there is no such column.
        ``uns["ufselect"]`` : dict
            The settings: ``version``, ``method``, ``params``, ``n_selected``, ``counts`` (whether the values were
            log-normalised), ``layer``, ``batch_key``, ``keep`` and ``exclude``; the ``alignment_curve``; and ``test``,
            with a ``verdict`` in words, ``fdr``, ``n_found``, ``n_tested``, ``n_samples`` (cells tested), ``n_splits``,
            ``n_permutations`` and ``n_strata``. Entries that are None are left out.

    See Also
    --------
    ufselect.KernelFSASL : The default method.
    ufselect.preprocessing.LogNormalize : The normalisation of counts.
    ufselect.significance.column_significance : The test.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from ufselect.anndata import select_genes
    >>> rng = np.random.default_rng(0)
    >>> rates = np.ones((120, 60))
    >>> for kind in range(3):  # three types of cells, with four marker genes each
    ...     rates[40 * kind : 40 * (kind + 1), 4 * kind : 4 * (kind + 1)] = 6.0
    >>> adata = AnnData(rng.poisson(rates).astype(np.float32))
    >>> select_genes(adata, 6)
    >>> np.flatnonzero(adata.var["ufselect_selected"])
    array([2, 4, 5, 6, 8, 9])
    >>> adata.uns["ufselect"]["counts"]
    True
    >>> print(adata.uns["ufselect"]["test"]["verdict"])
    12 of 60 columns share structure with others (false discovery rate 5 %); 6 were selected, all of them among these.
    """
    _check(adata, copy)
    names = [str(name) for name in adata.var_names]
    keep_exclude = _kept_and_excluded(names, keep, exclude)
    _check_number(n_genes, keep_exclude, len(names))
    shared = {"fdr": fdr, "n_jobs": n_jobs, "random_state": random_state, "verbose": verbose}
    of_columns = {key: each for key, each in keep_exclude.parameters.items() if each is not None}
    if params.get("groups") is not None:
        of_columns["groups"] = _groups(adata, params["groups"], names)
    table = _table(adata, names, layer)
    if requirements is not None:
        wanted = _requirements(adata, requirements)
        of_columns |= _within_limits(table, wanted, keep_exclude, of_columns.get("groups"))
        of_columns["requirements"] = replace(wanted, limits=None)
    selector = _selector(method, n_genes, shared, params | of_columns)
    batch = None if batch_key is None else _values_of_cells(adata, batch_key)
    X, are_counts = _numbers(table, counts)
    kept = keep_exclude.keep
    if len(kept) and (reason := why_useless(X[:, kept], [names[index] for index in kept])):
        raise ValueError(f"keep: {reason}.")
    fit_tested(selector, X, fdr, batch=batch, structure=_structure(adata, structure), verbose=verbose)
    annotated = adata.copy() if copy else adata
    named = structure if structure is None or isinstance(structure, str) else "given"
    settings = {"layer": layer, "batch_key": batch_key, "structure": named, "counts": are_counts}
    annotate(annotated, recorded_selection(selector, names, settings), np.arange(len(names)))
    return annotated if copy else None


def reconstruct_genes(
    adata: AnnData,
    genes: Any = None,
    *,
    layer: str | None = None,
    group_key: str | None = None,
    counts: bool | str = "auto",
    random_state: Any = 0,
) -> Reconstruction:
    """Evaluate what is lost if only a panel of genes is measured.

    Every other gene is predicted by ridge regression on the panel, cross-validated. Raw counts are detected and
    log-normalised; ``adata.X`` itself is not modified.

    Parameters
    ----------
    adata : AnnData
        Cells by genes, all of them measured. ``var["ufselect_r2"]`` is added: how well the panel predicts each gene,
        NaN for the genes of the panel and for constant ones.
    genes : str, sequence of str or mask, optional
        The panel: a name, a shell pattern such as ``"CD*"``, a boolean column of ``var``, or a list of these. By
        default the genes that :func:`select_genes` has selected.
    layer : str, optional
        Layer to use instead of X.
    group_key : str, optional
        Column of ``obs`` with groups of cells, such as types or clusters, to find those that the panel confuses.
    counts : bool or "auto", default="auto"
        Whether to log-normalise the values; "auto" does so if they are counts.
    random_state : int, RandomState instance or None, default=0
        Seed of the cells and genes by which substitutes are compared, if there are more than 1,000.

    Returns
    -------
    Reconstruction
        R² of every gene, substitutes for those of the panel, and groups that are confused.

    See Also
    --------
    ufselect.inspection.PanelReconstruction : Predict all genes of cells of which only the panel was measured.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from ufselect.anndata import reconstruct_genes
    >>> rng = np.random.default_rng(0)
    >>> rates = np.ones((120, 60))
    >>> for kind in range(3):  # three types of cells, with four marker genes each
    ...     rates[40 * kind : 40 * (kind + 1), 4 * kind : 4 * (kind + 1)] = 6.0
    >>> adata = AnnData(rng.poisson(rates).astype(np.float32))
    >>> found = reconstruct_genes(adata, ["0", "4", "8"])
    >>> np.flatnonzero(adata.var["ufselect_r2"] > 0.2)
    array([ 1,  2,  3,  5,  6,  7,  9, 10, 11])
    >>> [best[0].column for best in found.substitutes]
    [2, 5, 11]
    """
    _check(adata, copy=False)
    names = [str(name) for name in adata.var_names]
    if genes is None and "ufselect_selected" not in adata.var:
        raise ValueError("var has no column 'ufselect_selected'; call select_genes first, or give genes.")
    panel = _genes(adata.var["ufselect_selected"] if genes is None else genes, names, "genes")
    groups = None if group_key is None else _values_of_cells(adata, group_key)
    X, _ = _numbers(_table(adata, names, layer), counts)
    found = reconstruction_of(X, panel, labels=groups, random_state=random_state)
    adata.var["ufselect_r2"] = found.r2
    return found


def _check(adata: Any, copy: bool) -> None:
    """Raise an error now rather than after the fit."""
    try:
        from anndata import AnnData
    except ImportError as error:
        raise ImportError("ufselect.anndata needs the package anndata: pip install anndata.") from error
    if not isinstance(adata, AnnData):
        kind = type(adata).__name__
        raise TypeError(f"adata has the type {kind}, not AnnData; a selector such as KernelFSASL takes arrays.")
    if 0 in adata.shape:
        raise ValueError(f"adata has no {'genes' if adata.n_vars == 0 else 'cells'}.")
    if adata.isbacked and (copy or adata.is_view):
        raise ValueError("The X of adata is in a file, so it cannot be copied; call adata.to_memory() first.")


def _table(adata: AnnData, names: Sequence[str], layer: str | None) -> Table:
    """Return X or a layer; raise an error if a value is missing or infinite."""
    try:
        table = Table(annotated_numbers(adata, layer), tuple(names), {}, {}, None, Path("adata"))
    except UnreadableError as error:
        raise ValueError(f"adata {error}") from error
    for kind, found in {"missing": missing_values(table), "infinite": infinite_values(table)}.items():
        if found:
            raise ValueError(f"{occurrences(kind, found)}; replace them, or remove these genes.")
    return table


def _numbers(table: Table, counts: bool | str) -> tuple[Any, bool]:
    """Return values as a method sees them, and whether they were taken as counts."""
    if counts not in (True, False, "auto"):
        raise ValueError(f'counts={counts!r} must be True, False or "auto".')
    if counts is False or (counts == "auto" and not looks_like_counts(table)):
        return table.X, False
    if negative := negative_values(table):
        raise ValueError(f"{occurrences('negative', negative)}; counts=True needs values of zero or more.")
    return LogNormalize().fit_transform(table.X), True


def _kept_and_excluded(names: Sequence[str], keep: Any, exclude: Any) -> KeepExclude:
    """Return the genes to keep and to exclude, by index."""
    keep_exclude = KeepExclude(_genes(keep, names, "keep"), _genes(exclude, names, "exclude"))
    if len(both := np.intersect1d(keep_exclude.keep, keep_exclude.exclude)):
        raise ValueError(f"Gene {called(both[0], names)} is in keep and in exclude.")
    repeated = {name for name, count in Counter(names).items() if count > 1}
    if unclear := [names[index] for index in keep_exclude.keep if names[index] in repeated]:
        raise ValueError(
            f"adata has several genes named {called(0, unclear)}, which is in keep; call adata.var_names_make_unique()."
        )
    return keep_exclude


def _groups(adata: AnnData, groups: Any, names: Sequence[str]) -> ColumnGroups | None:
    """Return the groups of genes, also by a column of var, in which genes without a value are alone."""
    return ColumnGroups.of(_in_var(adata, groups), len(names), names)


def _requirements(adata: AnnData, requirements: Any) -> Requirements:
    """Return requirements with the values of the columns of var that they name."""
    wanted = Requirements.of(requirements)
    given = {name: getattr(wanted, name) for name in ("costs", "families", "weights", "positions")}
    for name, value in given.items():
        is_column = isinstance(value, str) and value in adata.var
        if isinstance(value, str) and not is_column and not (name == "families" and value.startswith("prefix:")):
            known = listed([str(column) for column in adata.var.columns], quoted=True)
            raise ValueError(f"{name}: var has no column {value!r}; its columns are {known or 'none'}.")
    return replace(wanted, **{name: _in_var(adata, value) for name, value in given.items()})


def _within_limits(table: Table, wanted: Requirements, keep_exclude: KeepExclude, groups: Any) -> dict[str, Any]:
    """Return the genes to exclude with those outside the limits, with their groups; kept genes stay."""
    required = ColumnRequirements.of(Requirements(limits=wanted.limits), table.shape[1], None)
    if required is None or not required.limits:
        return {}
    outside = np.flatnonzero(~within_limits(table.X, required))
    kept = keep_exclude.keep
    if groups is not None:
        outside, kept = groups.with_members_of(outside), groups.with_members_of(kept)
    exclude = np.union1d(keep_exclude.exclude, np.setdiff1d(outside, kept))
    if len(exclude) == table.shape[1]:
        raise ValueError(required.sentence_of_limits().replace("column", "gene"))
    return {"exclude": exclude.tolist() or None}


def _in_var(adata: AnnData, given: Any) -> Any:
    """Return the values of a column of var by gene, without missing ones; what is no such name is returned as it is."""
    if not isinstance(given, str) or given not in adata.var:
        return given
    return {gene: value for gene, value in enumerate(adata.var[given].tolist()) if not is_missing(value)}


def _genes(given: Any, names: Sequence[str], parameter: str) -> Indices:
    """Return the indices of genes that are given by name, by pattern, by a mask, or as a list of all these."""
    if given is None:
        return np.zeros(0, dtype=np.intp)
    try:
        mask = as_mask(given)
        several = [given] if isinstance(given, str) or mask is not None else list(given)
        masks = [each for each in map(as_mask, several) if each is not None]
        marked = [marked_columns(each, len(names)) for each in masks]
    except ValueError as error:
        raise ValueError(f"{parameter}: {error}") from None
    found = columns_matching([str(each) for each in several if as_mask(each) is None], names)
    for text, indices in found.items():
        if not indices:
            reason = "no gene matches" if is_pattern(text) else "there is no gene"
            near = get_close_matches(text, names, n=1)
            guess = f"; did you mean '{shown(near[0])}'?" if near else "."
            raise ValueError(f"{parameter}: {reason} '{shown(text)}'{guess}")
    return np.unique(np.concatenate([[], *found.values(), *marked]).astype(np.intp))


def _check_number(n_genes: int | float | str, keep_exclude: KeepExclude, n_all: int) -> None:
    """Raise an error in terms of genes, before the selector does in its own."""
    if not isinstance(n_genes, Integral):
        return
    most = n_all - len(keep_exclude.exclude)
    if n_genes > most:
        which = " that are not excluded" if len(keep_exclude.exclude) else ""
        raise ValueError(f"n_genes={n_genes} must not exceed the number of genes{which}, {most}.")
    if n_genes < len(keep_exclude.keep):
        raise ValueError(f"n_genes={n_genes} is too few: keep contains {len(keep_exclude.keep)}.")


def _selector(
    method: str, n_genes: int | float | str, shared: Mapping[str, Any], params: Mapping[str, Any]
) -> BaseSelector:
    """Make a selector; of what all methods share, it gets the parameters that it has."""
    cls = object_named(method, ["ufselect"])
    if not (isinstance(cls, type) and issubclass(cls, BaseSelector)):
        raise ValueError(f"method={method!r} is not a subclass of ufselect.base.BaseSelector.")
    known = inspect.signature(cls).parameters
    selector = cls(n_genes, **{key: value for key, value in shared.items() if key in known}, **params)
    selector._validate_params()
    return selector


def _structure(adata: AnnData, structure: Any) -> Any:
    """Return the structure of the cells that a text names, or that is given as it is."""
    if not isinstance(structure, str):
        return structure
    kind, separator, key = structure.partition(":")
    if separator and kind in ("obsm", "obsp"):
        try:
            return entry_of(getattr(adata, kind), kind, key)
        except UnreadableError as error:
            raise ValueError(f"adata {error}") from error
    return _values_of_cells(adata, structure)


def _values_of_cells(adata: AnnData, key: str) -> Any:
    """Return the values of a column of obs, such as the batch of each cell."""
    if key not in adata.obs:
        columns = listed([str(name) for name in adata.obs.columns], quoted=True)
        raise ValueError(f"obs has no column {key!r}; its columns are {columns or 'none'}.")
    if n_missing := int(adata.obs[key].isna().sum()):
        raise ValueError(f"obs[{key!r}] is missing for {counted(n_missing, 'cell')}; fill it in, or remove them.")
    return adata.obs[key].to_numpy()
