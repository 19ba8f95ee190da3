"""The site of the documentation: complete, without a dead link, and without anything from a network."""

import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zlib
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from packaging.requirements import Requirement

from tests.docs.built import ROOT, Page, build

DOCS = ROOT / "docs"
MADE = {"search.html"}
PUBLIC = ("tessbed", "tessbed.kernels", "tessbed.runtime", "tessbed.sim", "tessbed.firmware_models")
OUTSIDE = {  # where links lead that nobody follows in a test
    "optuna.org": "the samplers of searches",
    "ui.perfetto.dev": "opens timelines",
    "www.sphinx-doc.org": "made the site",
    "pradyunsg.me": "made its theme",
    "github.com": "the repository of the theme",
}


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Every page of the site by its file."""
    return {path: Page.read(path) for path in sorted(site.rglob("*.html"))}


def sources() -> list[Path]:
    """The sources of the site."""
    found = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    return [path.relative_to(DOCS) for path in found if not path.relative_to(DOCS).parts[0].startswith("_")]


def test_it_has_every_page(site: Path, pages: dict[Path, Page]) -> None:
    """The site builds without a warning: every source became a page, and there is no other."""
    assert {path.relative_to(site).as_posix() for path in pages} - MADE == {
        path.with_suffix(".html").as_posix() for path in sources()
    }


def test_it_loads_nothing_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    """Each script, style sheet, font and image of a page or a style sheet is a file of the site."""
    foreign = [
        f"{path.relative_to(site)}: {address}"
        for path, page in pages.items()
        for address in page.loads
        if not address.startswith(("data:", "#")) and not there(path, address)
    ]
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        addresses = re.findall(r"(?:url\(|@import)\s*['\"]?([^)'\";]+)", text)
        foreign += [f"{sheet.name}: {found}" for found in addresses if not found.startswith("data:")]
    assert foreign == []


def there(path: Path, address: str) -> bool:
    """Whether an address beside a page is a file, without a scheme or a host."""
    parts = urlsplit(address)
    return not parts.scheme and not parts.netloc and (path.parent / unquote(parts.path)).is_file()


def test_every_link_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    """Each link of each page leads to a file of the site and to an anchor in it."""
    dead = [
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        for link in page.links
        if not urlsplit(link).scheme and not leads(path, link, pages)
    ]
    assert dead == []


def leads(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    """Whether a link leads to a file, and to its anchor where it names one."""
    parts = urlsplit(link)
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    return file.is_file() and (not parts.fragment or unquote(parts.fragment) in pages[file].anchors)


def test_links_outside_are_known(pages: dict[Path, Page]) -> None:
    """Pages link to few places outside, by name and safely; no test follows them."""
    found = {urlsplit(link) for page in pages.values() for link in page.links if urlsplit(link).scheme}
    assert {parts.scheme for parts in found} == {"https"}
    assert {parts.hostname for parts in found} == {*OUTSIDE}


def test_everything_public_is_in_the_reference(site: Path) -> None:
    """Each name that a package exports is documented, under that name or under another of the same object."""
    entries = {line.split()[0] for line in inventory(site) if " py:" in line}
    missing = []
    for module in map(importlib.import_module, PUBLIC):
        for name in set(module.__all__) - {"__version__"}:
            thing = getattr(module, name)
            home = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
            if not {f"{module.__name__}.{name}", home} & entries:
                missing.append(f"{module.__name__}.{name}")
    assert missing == []


def test_the_extra_is_enough() -> None:
    """What the reference imports is installed with `tessbed[docs]` alone."""
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    modules = re.findall(r"^\.\. currentmodule:: (\S+)$", page, re.MULTILINE)
    objects = re.findall(r"^\.\. auto\w+:: (tessbed\.\S+)$", page, re.MULTILINE)
    names = sorted({*modules, *(name.rpartition(".")[0] for name in objects)})
    assert len(names) > 6
    code = "import importlib, json, sys\nbefore = {*sys.modules}\n"
    code += f"for module in map(importlib.import_module, {names}):\n"
    code += "    [getattr(module, name) for name in getattr(module, '__all__', ())]\n"
    code += "print(json.dumps(sorted({name.partition('.')[0] for name in {*sys.modules} - before})))"
    imported = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    homes = metadata.packages_distributions()
    needed = {canonical(home) for name in imported for home in homes.get(name, ())}
    assert needed - installed_with("tessbed", {"docs"}) == set()


def installed_with(name: str, extras: set[str]) -> set[str]:
    """A distribution with extras, and all that it needs."""
    found: set[tuple[str, str]] = set()
    todo = [(name, extra) for extra in ("", *extras)]
    while todo:
        if (at := todo.pop()) not in found:
            found.add(at)
            for requirement in map(Requirement, requires(at[0])):
                if requirement.marker is None or requirement.marker.evaluate({"extra": at[1]}):
                    todo += [(canonical(requirement.name), extra) for extra in ("", *requirement.extras)]
    return {home for home, _ in found}


def requires(name: str) -> list[str]:
    """What a distribution requires: ours by its project file, another by what is installed of it."""
    if name == "tessbed":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = project["optional-dependencies"].items()
        return [*project["dependencies"], *(f'{line}; extra == "{extra}"' for extra, lines in extras for line in lines)]
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:  # on another platform, for one
        return []


def canonical(name: str) -> str:
    """The name of a distribution as an index writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_methods_are_in_the_reference(site: Path) -> None:
    """With a class come its public methods and properties, such as those of Scenario."""
    import tessbed

    entries = {line.split()[0] for line in inventory(site)}
    for cls in (tessbed.Scenario, tessbed.Ev74, tessbed.JobReport):
        public = [name for name, value in vars(cls).items() if name[0] != "_" and inspect.getdoc(value)]
        fields = {field.name for field in getattr(cls, "__attrs_attrs__", ())}
        assert {f"tessbed.{cls.__name__}.{name}" for name in public if name not in fields} <= entries


def inventory(site: Path) -> list[str]:
    """The lines of Sphinx's inventory: name, domain and role, priority, address, title."""
    *head, packed = (site / "objects.inv").read_bytes().split(b"\n", 4)
    assert head[0] == b"# Sphinx inventory version 2"
    return zlib.decompress(packed).decode().splitlines()


MISTAKES = {  # a page, and what the build says of it
    "dead-link.md": ("# A\n\n[b](nowhere.md)\n", "dead-link.md:3: WARNING: 'myst' cross-reference target not found"),
    "dead-anchor.md": ("# A\n\n[b](index.md#c)\n", "dead-anchor.md:3: WARNING: local id not found in doc 'index': 'c'"),
    "dead-image.md": ("# A\n\n![b](nowhere.png)\n", "dead-image.md:3: WARNING: image file not readable: nowhere.png"),
    "no-object.md": (
        "# A\n\n```{eval-rst}\n.. autoclass:: tessbed.No\n```\n",
        "WARNING: autodoc: failed to import 'No'",
    ),
    "unlisted.md": ("# A\n", "unlisted.md: WARNING: document isn't included in any toctree"),
}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the build says of a small site with a mistake on each page."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install -e '.[docs]'")
    docs = tmp_path_factory.mktemp("mistakes") / "docs"
    docs.mkdir()
    shutil.copy(DOCS / "conf.py", docs)
    for folder in ("_extensions", "_static"):
        shutil.copytree(DOCS / folder, docs / folder, ignore=shutil.ignore_patterns("__pycache__"))
    listed = [name for name in MISTAKES if name != "unlisted.md"]
    rows = "".join(f"| [{name}]({name}) | wrong |\n" for name in listed)
    (docs / "index.md").write_text(f"# Index\n\n## Reference\n\n| page | is |\n|---|---|\n{rows}", encoding="utf-8")
    for name, (text, _) in MISTAKES.items():
        (docs / name).write_text(text, encoding="utf-8")
    return build(docs, docs.parent / "site" / "html")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_fails_the_build(complaints: str, name: str) -> None:
    """A dead link, anchor or image, an object that is not there, and a page that no index lists are errors."""
    assert MISTAKES[name][1] in complaints


def test_nothing_else_fails_the_build(complaints: str) -> None:
    """The small site is right but for its mistakes."""
    assert complaints.count("WARNING") == len(MISTAKES)
