"""Notices: what is legal in a scenario, and yet probably an error."""

from collections.abc import Iterator

from tessbed.kernels import MlaCBlocked
from tessbed.scenarios.format.diagnostics import path_text
from tessbed.scenarios.model import Scenario, ScenarioJob


def notices(scenario: Scenario) -> list[str]:
    """One line for each kind of slip: its first place, and how many more there are."""
    large = [text for job in scenario.operations for text in _large_tiles(job)]
    if not large:
        return []
    more = f" (and {len(large) - 1:,} more)" if len(large) > 1 else ""
    return [f"{large[0]}{more}; one tile that is smaller holds all of it"]


def _large_tiles(job: ScenarioJob) -> Iterator[str]:
    """The tile extents that are larger than their axes."""
    layout = job.geometry.tiled
    blocked = isinstance(layout, MlaCBlocked)
    extents = (layout.tile_h, layout.tile_w, layout.tile_c) if isinstance(layout, MlaCBlocked) else layout.tile_shape
    names = "hwc" if blocked else "dhwc"
    for number, (name, tile) in enumerate(zip(names, extents, strict=True)):
        axis = getattr(job.plan, name)
        if tile > axis.extent > 0:
            where = path_text(("jobs", job.index, "cblocked" if blocked else "tiled", "tile", number))
            yield f"{where}: {tile} is more than the {axis.extent} elements of the axis {name}"
