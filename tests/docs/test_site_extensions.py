"""What the site does on its own: contents from tables, backquotes in docstrings, notebooks as pages."""

import sys

import pytest

from tests.docs.built import ROOT

pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install -e '.[docs]'")
sys.path.append(str(ROOT / "docs" / "_extensions"))
from contents import Entry, Section, sections_of, toctree
from docstrings import references
from notebooks import markdown_of

INDEX = """# All

| [before](zero.md) | a table without a heading |

## How-to guides

| page | answers |
|---|---|
| [Many](many.md) | [one](one.md), [listed](sub/README.md), [one](one.md#again), [elsewhere](https://example.org/x.md) |
| [Sub](sub/README.md) | below |

A sentence with [a link](other.md).

## Commands

| `run` | [many](many.md) |
"""


def test_the_contents_are_the_tables() -> None:
    """Rows are entries under their heading; what a row links to besides is beneath it once, if it has no row."""
    assert sections_of("index", INDEX, {"index", "many", "guides/b", "guides/a", "sub/x"}) == [
        Section("", (Entry("zero", "before"),)),
        Section(
            "How-to guides",
            (
                Entry("many", "Many", (Entry("one", "one"),)),
                Entry("sub/README", "Sub"),
                Entry("guides/a"),
                Entry("guides/b"),
            ),
        ),
    ]


def test_the_index_of_a_folder_is_relative_to_it() -> None:
    """Links of a README are beside it."""
    text = "| [x](x.md) | one |\n| [up](../up.ipynb) | two |\n"
    assert sections_of("sub/README", text, ()) == [Section("", (Entry("sub/x", "x"), Entry("up", "up")))]


def test_a_toctree_shows_the_words() -> None:
    """An entry begins with a capital letter; without words it has its page's title."""
    assert toctree("Some", [Entry("a/b", "copy"), Entry("c")]) == (
        "\n```{toctree}\n:hidden:\n:caption: Some\n\nCopy </a/b>\n/c\n```\n"
    )


QUOTED = {
    "a parameter": ("`check` is one", "``check`` is one"),
    "a class": ("a `ContractError`", "a :py:obj:`ContractError`"),
    "a dotted name": ("as `tessbed.tess`.", "as :py:obj:`tessbed.tess`."),
    "code": ("`{\n'a': 1}`, `x=1`", "``{ 'a': 1}``, ``x=1``"),
    "a constant": ("`OPERATIONS`", "``OPERATIONS``"),
    "what is reStructuredText already": ("``x`` and :py:obj:`y`", "``x`` and :py:obj:`y`"),
}


@pytest.mark.parametrize("case", QUOTED)
def test_backquotes_become_roles(case: str) -> None:
    """Names that can be linked are references, all else is literal."""
    given, wanted = QUOTED[case]
    assert references(given) == wanted


def test_a_notebook_becomes_a_page() -> None:
    """Words, code, what it printed and its images, as they were saved; an empty cell is nothing."""
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "words"]},
        {"cell_type": "code", "source": "", "outputs": []},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "2", "text/html": "<b>2</b>"}},
                {"output_type": "display_data", "data": {"image/png": "AA\nBB\n", "text/plain": "<Figure>"}},
            ],
        },
    ]
    assert markdown_of({"cells": cells}) == (
        "# A\nwords\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```text\n2\n```\n\n"
        "![output](data:image/png;base64,AABB)\n"
    )
