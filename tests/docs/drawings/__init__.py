"""Drawings of the documentation, made of what the product does: `make docs` writes them, a test compares.

Where a scalar lies is what an operation did with an array whose values are their own numbers; what a core did is the
timeline of a run; who writes a byte is what the firmware plans.
"""

from collections.abc import Callable

from tests.docs.drawings import channels, granules, tiles, timeline

DRAWINGS: dict[str, Callable[[], str]] = {
    "docs/explanation/tiles.svg": tiles.drawing,
    "docs/explanation/channels.svg": channels.drawing,
    "docs/explanation/granules.svg": granules.drawing,
    "docs/explanation/timeline.svg": timeline.drawing,
}
"""Each file, and what draws it."""
