"""Sphinx settings; `make docs` builds the pages into build/docs."""

import ordinal_shapley

project = "ordinal-shapley"
author = "ordinal-shapley contributors"
version = release = ordinal_shapley.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
numpydoc_show_class_members = False
# Installed in environments of their own only.
autodoc_mock_imports = ["pydvl", "opendataval", "torch"]
html_theme = "alabaster"

# So that links to headings work as they do in any Markdown viewer.
myst_heading_anchors = 3
