"""Sphinx configuration; builds, and is read, without a network."""

import re
import sys
from pathlib import Path

import sklearn_nag

sys.path.insert(0, str(Path(__file__).parent))

from _folded import Folded
from _gallery import matplotlib_figures
from _inventories import intersphinx_mapping as mapping_of_inventories
from _markdown import to_rst
from _tables import Results

project = "sklearn_nag"
author = "The sklearn_nag developers"
copyright = "2026, The sklearn_nag developers"
version = release = sklearn_nag.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]
default_role = "py:obj"
smartquotes = False  # types of parameters are Python
templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
suppress_warnings = ["config.cache"]
intersphinx_mapping = mapping_of_inventories()
intersphinx_timeout = 1

html_theme = "pydata_sphinx_theme"
html_title = "sklearn_nag"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages that have no neighbours to list beside them.
html_sidebars = {page: [] for page in ("index", "install", "quick_start", "which_estimator", "gallery/*", "_modules/*")}

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "image_scrapers": (matplotlib_figures,),
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib", "_gallery.style"),
    "thumbnail_size": (640, 480),
    "within_subsection_order": "_gallery.place",
    "reset_modules_order": "both",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("sklearn_nag",),
    "reference_url": {"sklearn_nag": None},
}


def readable_signature(app, what, name, obj, options, signature, return_annotation):
    """Signatures show numbers as Python prints them, not as objects of NumPy."""
    if signature:
        signature = re.sub(r"np\.float64\(([^()]*)\)", r"\1", signature)
    return signature, return_annotation


def setup(app):
    """Connect what is defined above."""
    app.connect("autodoc-process-signature", readable_signature)
    app.connect("include-read", to_rst)
    app.add_directive("folded", Folded)
    app.add_directive("results", Results)
