"""What every scenario of the catalogue must produce: catalogue.json, made by the literal oracle and nothing else.

`python -m tests.golden.catalogue [NAME...]` writes it anew for all or some of the scenario files, which takes a few
minutes for all. It reads TOML with `tomllib` and imports nothing of the product.
"""

import json
import struct
import sys
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracle import Geometry, expected_output, golden_bytes, input_bytes

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "catalogue"
FILE = Path(__file__).with_suffix(".json")
LITERAL_BYTES = 20_000_000
VALUES = {
    ("casttess", "fp32"): ("bf16", "fp32"),
    ("quanttess", "fp32"): ("int8", "fp32"),
    ("detessdequant", "int8"): ("int8", "fp32"),
}
"""The scalar types of tiles and linear side, where `dtype` is that of the input."""


def geometry_of(job: dict[str, Any]) -> Geometry:
    """A scenario's job in the literal oracle's words."""
    tiled, cblocked = job.get("tiled"), job.get("cblocked")
    quantization = job.get("quantization", {})
    scale, zero_point = quantization.get("scale", 1.0), quantization.get("zero_point", 0)
    of_tiles, of_linear = VALUES.get((job["op"], job["dtype"]), (job["dtype"], job.get("to")))
    return Geometry(
        op=job["op"],
        shape=tuple(job["shape"]),
        dtype=of_tiles,
        axes=tuple(tiled["axes"]) if tiled else None,
        tile=tuple(tiled["tile"]) if tiled else None,
        pad16=bool(tiled) and tiled.get("channels") == "pad16",
        cblocked=tuple(cblocked["tile"]) if cblocked else None,
        strides_bytes=tuple(job["linear"]["strides_bytes"]) if "linear" in job else None,
        to=of_linear,
        fill=job.get("int8_channel_padding", zero_point),
        scale_bits=int.from_bytes(struct.pack("<f", scale), "little"),
        zero_point=zero_point,
        rounding=quantization.get("rounding", "nearest_even"),
    )


def pattern_bytes(pattern: str, count: int, seed: int, index: int) -> bytes:
    """The input patterns, as docs/scenario.md defines them."""
    if pattern == "golden":
        return golden_bytes(count)
    if pattern == "ramp":
        return bytes(k % 256 for k in range(count))
    digest = sha256(f"tessbed input {seed} {index}".encode()).digest()
    words = np.random.PCG64(int.from_bytes(digest[:16], "little")).random_raw(-(-count // 8))
    return np.asarray(words).astype("<u8").tobytes()[:count]


def output_of(job: dict[str, Any], seed: int, index: int) -> bytes:
    """The output's required span."""
    geometry = geometry_of(job)
    count = input_bytes(geometry)
    source = pattern_bytes(job["input"]["pattern"], count, seed, index)
    if count > LITERAL_BYTES:
        return joined_by_pixel(geometry, source)
    return expected_output(geometry, source, job.get("output_prefill", 0xC3))


def joined_by_pixel(geometry: Geometry, source: bytes) -> bytes:
    """Detess of dense BF16 [H, W, C] from compact tiles, pixel by pixel: for tensors too large for bytes one by one."""
    assert (geometry.op, geometry.dtype, geometry.axes) == ("detess", "bf16", (-1, 0, 1, 2))
    assert geometry.tile is not None
    assert not geometry.pad16
    (height, width, channels), (_, tile_h, tile_w, tile_c) = geometry.shape, geometry.tile
    assert geometry.strides_bytes is None
    assert tile_c == channels
    assert tile_h * tile_w * channels % 8 == 0
    assert height % tile_h == 0
    assert width % tile_w == 0
    out, position = bytearray(height * width * channels * 2), 0
    for top in range(0, height, tile_h):
        for left in range(0, width, tile_w):
            for row in range(top, top + tile_h):
                for column in range(left, left + tile_w):
                    pixel = (row * width + column) * channels * 2
                    out[pixel : pixel + 2 * channels : 2] = source[position : position + channels]
                    out[pixel + 1 : pixel + 2 * channels : 2] = source[position + channels : position + 2 * channels]
                    position += 2 * channels
    return bytes(out)


def read() -> dict[str, dict[str, str]]:
    """The SHA-256 of every job's output, by scenario and job."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def main(names: list[str]) -> None:
    """Write catalogue.json: `names` anew, the rest as it was; all anew without names."""
    golden = read() if names else {}
    for path in sorted(SCENARIOS.glob("*.toml")):
        if names and path.stem not in names:
            continue
        scenario = tomllib.loads(path.read_text(encoding="utf-8"))
        outputs = {
            job["name"]: output_of(job, scenario.get("seed", 0), index)
            for index, job in enumerate(scenario["jobs"])
            if job["op"] != "external"
        }
        golden[path.stem] = {name: sha256(output).hexdigest() for name, output in outputs.items()}
        print(path.stem)
    FILE.write_text(json.dumps(dict(sorted(golden.items())), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
