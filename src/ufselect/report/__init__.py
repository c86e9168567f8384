"""A selection, or a comparison of methods, as one self-contained HTML page."""

from ufselect.report.comparison import render_comparison
from ufselect.report.selection import render_page
from ufselect.report.study import SetAside, Study

__all__ = ["SetAside", "Study", "render_comparison", "render_page"]
