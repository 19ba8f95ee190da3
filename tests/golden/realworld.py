"""The recorded cases of real models: their geometry, byte totals and the SHA-256 of their output.

The source is the golden pattern (`tests.oracle.golden_bytes`) over the input's required span, the output is
prefilled with 0xC3. Sizes and tiles are published facts of the models.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracle import Geometry


@dataclass(frozen=True)
class Recorded:
    """One case of realworld.json."""

    name: str
    geometry: Geometry
    tiled_bytes: int
    linear_bytes: int
    sha256: str


def _recorded(case: dict[str, Any]) -> Recorded:
    return Recorded(case["name"], _geometry(case), case["tiled_bytes"], case["linear_bytes"], case["expected_sha256"])


def _geometry(case: dict[str, Any]) -> Geometry:
    layout, strides = case["layout"], case.get("strides")
    tile, cblocked = tuple(layout["tile"]), layout["kind"] == "cblocked"
    return Geometry(
        op=case["op"],
        shape=tuple(case["shape"]),
        dtype=case["dtype"],
        axes=None if cblocked else tuple(layout["axes"]),
        tile=None if cblocked else tile,
        pad16=layout.get("pad16", False),
        cblocked=tile if cblocked else None,
        strides_bytes=None if strides is None else tuple(strides),
        to=case.get("to"),
        fill=case.get("int8_channel_padding", 0),
    )


REALWORLD = tuple(map(_recorded, json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))))
