"""Docstrings: Markdown's backquotes, as Sphinx reads them.

A docstring here has names between single backquotes, which reStructuredText takes for its default role. A dotted name
or a class becomes a reference, which links where the site has it; all else is literal, so that a parameter `check`
does not lead to a function of that name.
"""

import re

from sphinx.application import Sphinx

QUOTED = re.compile(r"(?<![`:])`([^`]+)`(?!`)")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+|[A-Z]\w*[a-z]\w*")


def references(text: str) -> str:
    """The text with a role in place of each pair of single backquotes."""
    return QUOTED.sub(lambda found: _reference(" ".join(found[1].split())), text)


def _reference(quoted: str) -> str:
    return f":py:obj:`{quoted}`" if NAME.fullmatch(quoted) else f"``{quoted}``"


def rewrite(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Rewrite the lines of a docstring in place."""
    lines[:] = references("\n".join(lines)).split("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Take part in the reading of each docstring."""
    app.connect("autodoc-process-docstring", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
