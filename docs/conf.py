"""The site of this documentation: `make docs-site` builds it in build/site, from the Markdown that a repository shows.

What is not Sphinx's own is in `_extensions`: the contents, taken from the tables of index.md; docstrings, whose
backquotes are Markdown's; notebooks, read without running them. No page loads anything from a network.
"""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS / "_extensions")]

import tessbed  # noqa: E402 - found through the line above

project = "Tessbed"
author = "the authors of Tessbed"
version = release = tessbed.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "contents", "docstrings", "notebooks"]
root_doc = "index"
exclude_patterns = ["_*"]

myst_heading_anchors = 4  # the anchors that a repository browser gives
smartquotes = False  # two hyphens begin an option

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"Tessbed {release}"
html_favicon = "_static/tiles.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["offline.js"]
html_copy_source = False
html_use_index = False  # the search knows every name
html_domain_indices = False
html_show_copyright = False
html_theme_options = {"top_of_page_buttons": []}
