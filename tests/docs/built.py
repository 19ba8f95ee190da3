"""The site, built as the Makefile builds it, and what its pages hold, by a reader that shares nothing with Sphinx."""

import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]
LOADING = {  # attributes whose address a browser asks for on its own
    "script": ("src",), "img": ("src", "srcset"), "source": ("src", "srcset"), "iframe": ("src",), "audio": ("src",),
    "video": ("src", "poster"), "embed": ("src",), "object": ("data",), "link": ("href",),
    "image": ("href", "xlink:href"), "use": ("href", "xlink:href"),
}  # fmt: skip


def build(docs: Path, site: Path) -> str:
    """Build a site by the line of `make docs-site`; returns what it complains of, nothing where all is well."""
    recipe = re.search(r"^docs-site:.*\n\t@\$\(PY\) (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    replaced = {"docs": str(docs), "build/site": str(site), "build/doctrees": str(site.parent / "doctrees")}
    words = [replaced.get(word, word) for word in shlex.split(recipe[1])]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (done.stderr == ""), done.stdout + done.stderr
    return done.stderr


@attrs.define
class Page(HTMLParser):
    """What a page loads, where it leads, and the anchors that it has."""

    path: Path
    loads: list[str] = attrs.field(factory=list)
    links: list[str] = attrs.field(factory=list)
    anchors: set[str] = attrs.field(factory=set)

    @classmethod
    def read(cls, path: Path) -> "Page":
        """The page in a file."""
        page = cls(path)
        HTMLParser.__init__(page)
        page.feed(path.read_text(encoding="utf-8"))
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses and the anchor of an element."""
        values = {name: value or "" for name, value in attrs}
        self.loads += [values[name] for name in LOADING.get(tag, ()) if name in values]
        self.loads += re.findall(r"url\(\s*['\"]?([^)'\"]+)", values.get("style", ""))
        self.links += [values["href"]] if tag == "a" and "href" in values else []
        self.anchors |= {values[name] for name in ("id", "name") if name in values and (name == "id" or tag == "a")}
