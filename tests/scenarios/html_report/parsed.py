"""A report, parsed as HTML by the standard library: a check that it is well-formed, and its tables by section."""

from html.parser import HTMLParser

import attrs

VOID = ("meta", "br", "col")


@attrs.define
class Element:
    """An element: its attributes, and its content as text and elements."""

    tag: str
    attributes: dict[str, str]
    content: list["Element | str"] = attrs.Factory(list)

    def all(self, tag: str) -> list["Element"]:
        """Every element of that tag in it."""
        inside = [part for part in self.content if isinstance(part, Element)]
        return [found for part in inside for found in ([part] if part.tag == tag else []) + part.all(tag)]

    def by_id(self, name: str) -> "Element":
        """The one element of that id."""
        (found,) = [part for part in self.everything() if part.attributes.get("id") == name]
        return found

    def everything(self) -> list["Element"]:
        """Itself and all in it."""
        inside = [part for part in self.content if isinstance(part, Element)]
        return [self, *(found for part in inside for found in part.everything())]

    @property
    def text(self) -> str:
        """Its text."""
        return "".join(part if isinstance(part, str) else part.text for part in self.content)

    def rows(self) -> list[list[str]]:
        """The cells of the body of the first table in it."""
        return [[cell.text for cell in row.all("td")] for row in self.all("tbody")[0].all("tr")]


class Strict(HTMLParser):
    """Raises AssertionError at an element that is not closed where it was opened."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs) -> None:
        made = Element(tag, {name: value or "" for name, value in attrs})
        assert len(made.attributes) == len(attrs), f"an attribute twice in {tag}"
        self.open[-1].content.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop().tag == tag, f"{tag} is closed where it is not the innermost"

    def handle_data(self, data) -> None:
        self.open[-1].content.append(data)


def parse(text: str) -> Element:
    """The root of a whole document."""
    parser = Strict()
    parser.feed(text)
    parser.close()
    assert parser.open == [parser.root]
    return parser.root
