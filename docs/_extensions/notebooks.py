"""Notebooks: a Jupyter notebook as a page, with the output that it was saved with; nothing runs.

The tests execute notebooks and compare, so what is saved is true. A cell becomes Markdown: its text, its code, what it
printed, and its images, as data inside the page.
"""

import json
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx


def markdown_of(notebook: dict[str, Any]) -> str:
    """The page of a notebook."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _parts(cell)) + "\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    text = _text(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
    elif cell["cell_type"] == "code" and text.strip():
        yield _fenced("python", text)
        for output in cell["outputs"]:
            yield from _output(output)


def _output(output: dict[str, Any]) -> Iterator[str]:
    data = output.get("data", {})
    if "image/png" in data:
        yield f"![output](data:image/png;base64,{''.join(_text(data['image/png']).split())})"
    elif "text" in output or "text/plain" in data:
        yield _fenced("text", _text(output.get("text", data.get("text/plain"))))


def _fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text.rstrip()}\n```"


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the source of a notebook by its page."""
    if app.env.doc2path(page).suffix == ".ipynb":
        source[0] = markdown_of(json.loads(source[0]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Read `.ipynb` as Markdown, before whatever else takes part in the reading."""
    app.add_source_suffix(".ipynb", "markdown")
    app.connect("source-read", read, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
