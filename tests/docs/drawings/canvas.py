"""Canvas: boxes and words on a white card, as one SVG that reads on light and dark pages."""

from html import escape

import attrs

FONT = "-apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
INK, QUIET, EMPTY = "#24292f", "#57606a", "#eaeef2"
FILLS = ("#a5d1f3", "#ffd8a8", "#b2e2b8", "#d9c2f0", "#f6b9b9", "#f3e59a")
"""Light fills, in which dark words can be read."""


@attrs.define
class Canvas:
    """A drawing of so many pixels, with what it shows in words for who can not see it."""

    width: int
    height: int
    title: str
    about: str
    parts: list[str] = attrs.field(factory=list, init=False)

    def box(self, x: float, y: float, width: float, height: float, fill: str, words: str = "", hint: str = "") -> None:
        """A filled box with words in its middle, where they fit, and more of them under the pointer."""
        told = f"<title>{escape(hint)}</title>" if hint else ""
        self.parts.append(f'<rect {_at(x, y, width, height)} fill="{fill}" stroke="#ffffff">{told}</rect>')
        if words and 6.2 * len(words) <= width:
            self.words(x + width / 2, y + height / 2 + 4, words, anchor="middle")

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        """An outline."""
        self.parts.append(f'<rect {_at(x, y, width, height)} fill="none" stroke="{INK}" stroke-width="1.5"/>')

    def words(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: str = "start",
        size: int = 11,
        colour: str = INK,
        bold: bool = False,
    ) -> None:
        """A line of text."""
        style = f'font-size="{size}" text-anchor="{anchor}" fill="{colour}"' + (' font-weight="700"' if bold else "")
        self.parts.append(f'<text x="{x:g}" y="{y:g}" {style}>{escape(text)}</text>')

    def svg(self) -> str:
        """The file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" aria-labelledby="title desc" font-family="{FONT}">'
        )
        told = [f'<title id="title">{escape(self.title)}</title>', f'<desc id="desc">{escape(self.about)}</desc>']
        card = f'<rect width="{self.width}" height="{self.height}" rx="10" fill="#ffffff"/>'
        return "\n".join([head, *told, card, *self.parts, "</svg>", ""])


def _at(x: float, y: float, width: float, height: float) -> str:
    return f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
