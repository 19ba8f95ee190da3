"""Contents: the tables of index pages, as the table of contents of the site.

An index (index.md, and the README.md of a folder) lists pages in tables: a row begins with a link to its page. In a
repository browser that is all. Here the heading above a table becomes a caption of the sidebar, and each row an entry
with the words of its link; pages that a row links to besides, and that have no row of their own, are beneath it. Pages
in the folder of a section without a row come last, by name. So there is one list, and Sphinx complains of a page that
is not on it.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from posixpath import dirname, join, normpath

import attrs
from sphinx.application import Sphinx

INDEX = "index"
FOLDERS = {"How-to guides": "guides", "Explanation": "explanation", "Reference": "reference"}
"""Sections of the first index, and the folder in which more pages of each are."""
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)\.(?:md|ipynb)\)")
ROW = re.compile(rf"^\| ({LINK.pattern}.*)\|$", re.MULTILINE)


@attrs.frozen
class Entry:
    """A page by its name without suffix, its words in the sidebar (its own title without), and pages beneath it."""

    page: str
    words: str = ""
    beneath: "tuple[Entry, ...]" = ()

    def __str__(self) -> str:
        """The line of a toctree."""
        return f"{self.words[:1].upper()}{self.words[1:]} </{self.page}>" if self.words else f"/{self.page}"


@attrs.frozen
class Section:
    """A caption, empty above the first heading, and its entries in order."""

    caption: str
    entries: tuple[Entry, ...]


def is_index(page: str) -> bool:
    """Whether the tables of a page list pages."""
    return page.rpartition("/")[2] in (INDEX, "README")


def sections_of(page: str, text: str, pages: Iterable[str]) -> list[Section]:
    """The sections of an index; of all `pages`, those in the folders of its sections that it does not name as well."""
    captions = ["", *HEADING.findall(text)]
    rows = [list(_rows(page, part)) for part in HEADING.split(text)[::2]]
    listed = {page, *(head.page for part in rows for head, *_ in part)}
    found: dict[str, list[Entry]] = {}
    for caption, part in zip(captions, rows, strict=True):
        for head, *others in part:
            beneath = {other.page: other for other in others if other.page not in listed}
            listed.update(beneath)
            found.setdefault(caption, []).append(attrs.evolve(head, beneath=tuple(beneath.values())))
    for caption, folder in FOLDERS.items() if page == INDEX else ():
        rest = sorted(other for other in set(pages) - listed if other.startswith(f"{folder}/"))
        found.setdefault(caption, []).extend(map(Entry, rest))
    return [Section(caption, tuple(entries)) for caption, entries in found.items() if entries]


def _rows(page: str, part: str) -> Iterator[list[Entry]]:
    """The pages that each row links to: the one that it begins with, then the others."""
    for row, *_ in ROW.findall(part):
        yield [Entry(normpath(join(dirname(page), target)), words) for words, target in LINK.findall(row)]


def toctree(caption: str, entries: Iterable[Entry]) -> str:
    """The directive for entries; it shows nothing on the page itself."""
    head = ["```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", *head, "", *map(str, entries), "```", ""])


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Append to an index what it lists, and to a page what its row lists beneath it."""
    text = Path(app.env.doc2path(INDEX)).read_text(encoding="utf-8")
    sections = sections_of(INDEX, text, app.env.found_docs)
    beneath = [entry.beneath for section in sections for entry in section.entries if entry.page == page]
    source[0] += "".join(toctree("", entries) for entries in beneath if entries)
    if is_index(page):
        own = sections if page == INDEX else sections_of(page, source[0], ())
        source[0] += "".join(toctree(section.caption, section.entries) for section in own)


def setup(app: Sphinx) -> dict[str, bool]:
    """Take part in the reading of each page."""
    app.connect("source-read", add_contents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
