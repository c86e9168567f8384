"""Configuration of Sphinx: ``sphinx-build -W -b html docs docs/_build/html`` needs no network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
# One thread, so that the times printed by examples are those of one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import ufselect

project = "ufselect"
author = "The ufselect developers"
project_copyright = "The ufselect developers"
version = release = ufselect.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "sphinx_pages",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# scikit-learn makes this method, as `fit` takes batches; its docstring refers to pages of scikit-learn.
autodoc_default_options = {"exclude-members": "set_fit_request, set_predict_request"}
napoleon_google_docstring = False
# Types stay plain text: a word such as "shape" must not become a link to an attribute of that name.
napoleon_use_param = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    # planted.py takes minutes, so its figure is stored in images/.
    "filename_pattern": r"/(digits|genes|pipeline|anndata_genes|thousands)\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_memory": False,
    "capture_repr": (),
    "reset_modules": ("matplotlib", "sphinx_pages.larger_text"),
    "thumbnail_size": (520, 364),
}

html_theme = "furo"
html_math_renderer = "mathml"
html_title = "ufselect"
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_copy_source = False
html_show_sourcelink = False
