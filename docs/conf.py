"""Sphinx configuration; builds without a network."""

import sklearn_nag

project = "sklearn_nag"
author = "The sklearn_nag developers"
copyright = "2026, The sklearn_nag developers"
version = release = sklearn_nag.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples"]
templates_path = ["_templates"]
autosummary_generate = True
numpydoc_show_class_members = False
suppress_warnings = ["config.cache"]

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
}
