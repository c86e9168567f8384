"""A selection as one self-contained HTML page."""

from ufselect.report.page import render_page
from ufselect.report.study import Study

__all__ = ["Study", "render_page"]
