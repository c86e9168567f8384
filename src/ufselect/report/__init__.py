"""A selection as one page of HTML that needs nothing else."""

from ufselect.report.page import render_page
from ufselect.report.study import Study

__all__ = ["Study", "render_page"]
