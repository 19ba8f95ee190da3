"""Page: sections as one HTML file that loads nothing, and may load nothing: its policy admits only what is in it."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib import resources

import attrs

from tessbed.scenarios.html_report.markup import Markup, concat, element

POLICY = "default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"


@attrs.frozen
class Page:
    """A report: its title, a line about it, its sections, and its verdict, "ok" or "failed"."""

    title: str
    about: str
    sections: tuple[Markup, ...]
    verdict: str

    def html(self) -> str:
        """The whole file."""
        style, script = _asset("style.css"), _asset("script.js")
        policy = POLICY.format(style=_hash(style), script=_hash(script))
        head = element(
            "head",
            element("meta", charset="utf-8"),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", f"{self.title}: report"),
            element("style", Markup(style)),
        )
        body = element(
            "body",
            element("a", "To the verdict", href="#main", class_="skip"),
            element("header", element("h1", self.title), element("p", self.about), self._contents()),
            element("main", concat(self.sections), id="main"),
            element("script", Markup(script)),
        )
        return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"

    def _contents(self) -> Markup:
        """Links to the sections."""
        links = [(_between(part, ' id="', '"'), _between(part, "<h2>", "</h2>")) for part in self.sections]
        items = concat(element("li", element("a", Markup(title), href=f"#{anchor}")) for anchor, title in links)
        return element("nav", element("ul", items), aria_label="contents")


def _between(text: str, begin: str, end: str) -> str:
    return text.partition(begin)[2].partition(end)[0]


@cache
def _asset(name: str) -> str:
    return resources.files("tessbed.scenarios.html_report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
