"""Markup: HTML and SVG elements as text. Whatever is no markup already is escaped, so that no name can be one."""

from collections.abc import Iterable, Sequence
from html import escape

VOID = ("meta", "br", "col")
Content = str | int | float


class Markup(str):
    """Text that is HTML."""


SHORT = 24


def element(tag: str, /, *content: Content, **attributes: Content | bool | None) -> Markup:
    """An element. An attribute that is None or False is left out; its name has hyphens for underscores."""
    inside = "".join(part if isinstance(part, Markup) else escape(str(part), quote=False) for part in content)
    opened = f"<{tag}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Markup(opened if tag in VOID else f"{opened}{inside}</{tag}>")


def _attribute(key: str, value: Content | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    name = "viewBox" if name == "viewbox" else "preserveAspectRatio" if name == "preserveaspectratio" else name
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def concat(parts: Iterable[Content]) -> Markup:
    """The parts one after the other."""
    return Markup("".join(part if isinstance(part, Markup) else escape(str(part), quote=False) for part in parts))


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[Content]],
    *,
    numbers: Sequence[int] = (),
    marked: Sequence[int] = (),
    caption: str = "",
) -> Markup:
    """A table that a script can sort. `numbers` are the columns of numbers, `marked` the rows that stand out."""
    kinds = ["number" if column in numbers else None for column in range(len(head))]
    heads = concat(element("th", text, scope="col", class_=kind) for text, kind in zip(head, kinds, strict=True))
    body = concat(
        element(
            "tr",
            concat(element("td", cell, class_=kind or _width(cell)) for cell, kind in zip(row, kinds, strict=True)),
            class_="marked" if number in marked else None,
        )
        for number, row in enumerate(rows)
    )
    made = element(
        "table",
        element("caption", caption) if caption else "",
        element("thead", element("tr", heads)),
        element("tbody", body),
        class_="sortable",
    )
    return element("div", made, class_="wide", tabindex=0, role="group", aria_label=caption or " ".join(head))


def _width(cell: Content) -> str | None:
    """A short text stays in one line, however narrow the screen: the table can be moved to the side."""
    return "short" if not isinstance(cell, Markup) and 0 < len(str(cell)) <= SHORT and " " in str(cell) else None


def section(title: str, *content: Content, anchor: str, level: int = 2) -> Markup:
    """A part of the report with its heading."""
    return element("section", element(f"h{level}", title), *content, id=anchor)


def note(text: Content) -> Markup:
    """A remark in a paragraph."""
    return element("p", text, class_="note")


def count(value: int | float | None) -> str:
    """A number as a person reads it."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}".rstrip("0").rstrip(".")


def percent(part: float, whole: float = 1) -> str:
    """As "29.0 %"."""
    return f"{100 * part / whole if whole else 0:.1f} %"
