"""The columns that are not selected: what they are, and why they are left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ufselect._utils.wording import counted
from ufselect.report.figures import Findings

_MOST_NAMED = 100  # of those that the table of the columns lists as well


class LeftOut(NamedTuple):
    """Columns of one kind that are left out, with the reason they share, or each with its own.

    ``n_more`` of them are not named.
    """

    kind: str
    reason: str
    names: list[str]
    n_more: int = 0

    @property
    def n_columns(self) -> int:
        """Number of columns, named or not."""
        return len(self.names) + self.n_more


def columns_left_out(findings: Findings) -> list[LeftOut]:
    """Return the columns that are no features, by role, and then the features that are not selected."""
    by_role: dict[str, dict[str, str]] = {}
    for each in findings.study.roles:
        if not each.is_feature:
            by_role.setdefault(str(each.role), {})[str(each.name)] = str(each.reason)
    return [_of_role(role, reasons) for role, reasons in by_role.items()] + _features_left_out(findings)


def _of_role(role: str, reasons: dict[str, str]) -> LeftOut:
    if len(set(reasons.values())) == 1:
        return LeftOut(role, next(iter(reasons.values())), list(reasons))
    return LeftOut(role, "", [f"{name} ({reason})" if reason else name for name, reason in reasons.items()])


def _features_left_out(findings: Findings) -> list[LeftOut]:
    study = findings.study
    selector, order, variables = study.selector, study.best_first, study.best_variables
    m, alike, n_selected = selector.n_features_, findings.near_copies, len(study.selected_variables)
    ranks, names = np.arange(len(order)), {rank: name for name, ranks in variables for rank in ranks}
    is_alike, constant, excluded = np.isin(ranks, list(alike)), study.constant[order], np.isin(order, study.excluded)
    reasons = [
        ("excluded", "as requested", excluded),
        ("constant", "one value in all samples", constant),
        ("copy", "the same values as another column", selector.copies_[order] >= 0),
        ("near-copy", "|r| ≥ 0.9 with a selected column", is_alike),
        ("not found", "shares no structure with others, by the test", np.isin(order, study.not_found)),
        ("not selected", f"ranked behind the {counted(n_selected, 'selected column')}", np.ones(len(order), np.bool_)),
    ]
    found, is_open = [], np.isin(ranks, [of_columns[0] for _, of_columns in variables]) & (ranks >= m)
    for kind, reason, which in reasons:
        members = np.flatnonzero(is_open & which)
        is_open &= ~which
        beside = {rank: f" ({names[alike[rank][0]]})" for rank in members.tolist() if kind.endswith("copy")}
        named = [f"{names[rank]}{beside.get(rank, '')}" for rank in members[:_MOST_NAMED].tolist()]
        if named:
            found.append(LeftOut(kind, reason, named, len(members) - len(named)))
    return found
