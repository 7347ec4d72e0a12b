"""Sphinx settings; `make docs` builds the pages into build/docs."""

from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

import ordinal_shapley

project = "ordinal-shapley"
author = "ordinal-shapley contributors"
copyright = author
version = release = ordinal_shapley.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc"]
numpydoc_show_class_members = False
# Installed in environments of their own only.
autodoc_mock_imports = ["pydvl", "opendataval", "torch"]
autodoc_typehints = "none"  # docstrings say it shorter
# So that links to headings work as they do in any Markdown viewer.
myst_heading_anchors = 3
# Notebooks are shown as they were executed, by `make notebooks`.
nb_execution_mode = "off"

html_theme = "furo"
html_title = f"ordinal-shapley {version}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_math_renderer = "mathml"


# Children that these elements must have. The converter gets some formulas wrong without a word.
_CHILDREN = {"msup": 2, "msub": 2, "mfrac": 2, "mover": 2, "munder": 2, "msubsup": 3, "munderover": 3}


def _formula(self, node):
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    mathml = convert(node.astext(), display=display)
    for element in ElementTree.fromstring(mathml).iter():
        name = element.tag.split("}")[-1]
        if len(element) != _CHILDREN.get(name, len(element)) or (element.text or "").startswith("\\"):
            logging.getLogger(__name__).warning(
                "cannot be shown as MathML, write it another way: %s", node.astext(), location=node
            )
            break
    self.body.append(f"<div class='math'>{mathml}</div>" if display == "block" else mathml)
    raise nodes.SkipNode


def setup(app):
    """Formulas become MathML here, which browsers show without a script from somewhere."""
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
