"""Every example of the documentation runs, and every output that it quotes is the real one."""

import ast
import re

import pytest

from tessbed.commands import man
from tessbed.commands.command_page import command_page
from tessbed.commands.group import COMMANDS
from tests.docs.drawings import DRAWINGS
from tests.docs.quoted import EQUIVALENT, PAGES, ROOT, refreshed

LINK = re.compile(r"\]\(([^)#\s]+)?(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
MADE = {"docs/tessbed.1": man.page, "docs/reference/commands.md": command_page}
MARKDOWN = sorted(path for path in ROOT.glob("docs/**/*.md")) + sorted(ROOT.glob("*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_quoted_output_is_what_the_examples_print(path):
    """A page is its own fresh output; `make docs` writes it again."""
    assert refreshed(path) == path.read_text()


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_made_of_what_the_product_does(name):
    """Each drawing is what its script makes of the layouts, plans and ticks of today; `make docs` writes it again."""
    assert DRAWINGS[name]() == (ROOT / name).read_text()


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_example_is_left_out(path):
    """What a page shows of the product is in a block that runs; the others are for other programs, or cut short."""
    shown = re.findall(r"^```shell-session\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
    assert [line for block in shown for line in block.splitlines() if re.match(r"\$ (?:tessbed|python)\b", line)] == []
    assert re.findall(r"^```(?:py|sh|bash|shell|pycon|python3)\n", path.read_text(), re.MULTILINE) == []


@pytest.mark.parametrize(("page", "made"), MADE.items(), ids=list(MADE))
def test_a_page_is_made_of_the_commands(page, made):
    """The manual page and the reference of commands say what the commands say today; `make docs` writes them again."""
    assert made() == (ROOT / page).read_text()


@pytest.mark.parametrize("command", EQUIVALENT)
def test_a_command_that_sets_up_first_ends_in_its_equivalent(command):
    """The Makefile's target runs the very command whose output the page quotes for it."""
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(rf"^{command.removeprefix('make ')}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe
    assert recipe[1].split() == ["@$(PY)", "-m", *EQUIVALENT[command].split()]


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    """Every relative link of a page names a file of the repository, and a heading that is there."""
    dead = [
        f"{target}#{anchor}" for target, anchor in LINK.findall(path.read_text()) if not _resolves(path, target, anchor)
    ]
    assert dead == []


@pytest.mark.parametrize("index", ["docs/index.md", "docs/decisions/README.md"])
def test_every_page_is_listed(index):
    """An index leads to every page of its folder, and of the folders below that have no index of their own."""
    page = ROOT / index
    listed = {(page.parent / target).resolve() for target, _ in LINK.findall(page.read_text())}
    below = [path for path in page.parent.rglob("*") if path.suffix in (".md", ".ipynb") and path != page]
    assert [path for path in below if path not in listed and not _has_index(path, page.parent)] == []


def test_every_command_is_listed_with_a_page_that_speaks_of_it():
    """The index leads from each command of the command line to a page, and that page says its name."""
    rows = re.findall(r"^\| (`[a-z`, ]+`) \| (.*) \|$", (ROOT / "docs/index.md").read_text(), re.MULTILINE)
    pages = {command: LINK.findall(cell) for commands, cell in rows for command in re.findall(r"\w+", commands)}
    assert sorted(pages) == sorted(COMMANDS)
    texts = {command: [(ROOT / "docs" / target).read_text() for target, _ in links] for command, links in pages.items()}
    assert [
        command for command in COMMANDS if not any(re.search(rf"tessbed {command}\b", text) for text in texts[command])
    ] == []


def test_the_diff_of_a_new_operation_names_every_table():
    """The diff adds to tables that exist in the files it names, and to all that the executed example fills."""
    text = (ROOT / "docs/add-an-operation.md").read_text()
    diff = re.search(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    named = re.findall(r"^\+\+\+ b/(\S+)\n@@ (\w+) @@\n\+", diff, re.MULTILINE)
    missing = [at for at in named if not re.search(rf"^{at[1]}: .*=", (ROOT / at[0]).read_text(), re.MULTILINE)]
    assert missing == []
    assert len(named) == 1 + len(re.findall(r"^    \([a-z_A-Z.]+, \"inverts?\", ", text, re.MULTILINE))


def test_the_tree_of_packages_is_the_real_one():
    """CONTRIBUTING shows every package in its folder, with the first line of its docstring."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    tree = re.search(r"^```text\n(kernels/.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    shown = " ".join(tree.split())
    tops = ("kernels", "sim", "firmware_models", "runtime", "scenarios", "tessbed")
    assert shown == " ".join(words for top in tops for words in _packages(ROOT / top))


def _has_index(page, top):
    folders = [folder for folder in page.parents if folder.is_relative_to(top) and folder != top]
    return page.name != "README.md" and any((folder / "README.md").exists() for folder in folders)


def _packages(folder):
    first = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())).splitlines()[0]
    yield " ".join(f"{folder.name}/ {first}".split())
    for inner in sorted(folder.iterdir()):
        if not inner.is_symlink() and (inner / "__init__.py").is_file():
            yield from _packages(inner)


def _resolves(page, target, anchor):
    if "://" in target:
        return True
    file = (page.parent / target).resolve() if target else page
    return file.exists() and (not anchor or anchor in _anchors(file))


def _anchors(page):
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(page.read_text())}
