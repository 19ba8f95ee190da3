"""Drawing: bars, curves and paths as SVG, with coordinates in the units of what they show."""

from collections.abc import Iterable, Sequence

from tessbed.scenarios.html_report.markup import Markup, concat, element

BAR_WIDTH = 100
Point = tuple[float, float]
Rectangle = tuple[float, float, float]
"""x, y and width; the height is 1."""


def meter(value: float, whole: float, kind: str = "") -> Markup:
    """A bar as long as the part that `value` is of `whole`."""
    width = round(BAR_WIDTH * value / whole, 2) if whole else 0
    inside = element("rect", width=width, height=8, class_=f"bar {kind}".strip())
    return element(
        "svg", element("rect", width=BAR_WIDTH, height=8, class_="rail"), inside,
        viewbox=f"0 0 {BAR_WIDTH} 8", preserveaspectratio="none", class_="meter", aria_hidden="true",
    )  # fmt: skip


def path(rectangles: Iterable[Rectangle]) -> str:
    """The data of a path of rectangles of height 1."""
    return "".join(f"M{_short(x)} {_short(y)}h{_short(width)}v1h-{_short(width)}" for x, y, width in rectangles)


def _short(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def strip(parts: Sequence[tuple[str, float, str]], label: str) -> Markup:
    """Parts of a whole beside each other: (words, size, class)."""
    whole, left, drawn = sum(size for _, size, _ in parts) or 1, 0.0, []
    for words, size, kind in parts:
        width = 1000 * size / whole
        drawn.append(
            element("rect", element("title", words), x=_short(left), width=_short(width), height=1, class_=kind)
        )
        left += width
    return element(
        "svg", concat(drawn), viewbox="0 0 1000 1", preserveaspectratio="none", class_="strip", role="img",
        aria_label=label,
    )  # fmt: skip


def line_chart(
    points: Sequence[Point],
    label: str,
    *,
    steps: bool = False,
    words: Sequence[str] = (),
    dots: Sequence[Point] | None = None,
) -> Markup:
    """Points from left to right, from zero up; `words` are shown where a pointer rests on a point.

    With `dots` these are the points with words, and the line has none.
    """
    marked = points if dots is None else dots
    left, right = points[0][0], points[-1][0]
    wide, top = right - left or 1, max(y for _, y in (*points, *marked)) or 1

    def place(point: Point) -> Point:
        return 1000 * (point[0] - left) / wide, 200 - 190 * point[1] / top

    before = place(points[0])
    line = f"M{_short(before[0])} {_short(before[1])}"
    for x, y in map(place, points[1:]):
        line += f"L{_short(x)} {_short(before[1])}L{_short(x)} {_short(y)}" if steps else f"L{_short(x)} {_short(y)}"
        before = (x, y)
    drawn = [
        element("circle", element("title", text), cx=_short(x), cy=_short(y), r=5, class_="dot")
        for (x, y), text in zip(map(place, marked), words, strict=False)
    ]
    return element(
        "svg", element("path", d="M0 200H1000", class_="base"), element("path", d=line, class_="line"), concat(drawn),
        viewbox="-8 0 1016 208", class_="curve", role="img", aria_label=label,
    )  # fmt: skip
