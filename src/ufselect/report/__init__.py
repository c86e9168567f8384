"""A selection, or a comparison of methods, as one self-contained HTML page."""

from ufselect.report.methods_page import render_comparison
from ufselect.report.page import render_page
from ufselect.report.study import Study

__all__ = ["Study", "render_comparison", "render_page"]
