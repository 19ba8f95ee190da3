"""Token: a case and one of its orders as one word, which reproduces that order exactly on any machine."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from tessbed.kernels import ChannelStorage, Contiguous, DType, MlaCBlocked, MlaTiled, Op, Strided
from tessbed.scenarios.model import Geometry
from tessbed.scenarios.verification.explore.bench import ExplorationCase
from tessbed.sim.interleavings.actions import Name
from tessbed.sim.spec.device_spec import DeviceSpec, override, to_mapping

PREFIX = "tessbed1-"


def encode_token(case: ExplorationCase, order: Sequence[Name]) -> str:
    """The token."""
    body = {"case": _case(case), "order": [list(name) for name in order]}
    packed = zlib.compress(json.dumps(body, separators=(",", ":")).encode(), 9)
    return PREFIX + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode_token(token: str) -> tuple[ExplorationCase, list[Name]]:
    """The case and the order. Raises ValueError for anything that is no token."""
    if not token.startswith(PREFIX):
        raise ValueError(f"got {token[:20]!r}, wanted a token that begins with {PREFIX}")
    text = token[len(PREFIX) :]
    try:
        body = json.loads(zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))
        order = [(int(a), int(b), int(c)) for a, b, c in body["order"]]
        return _to_case(body["case"]), order
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise ValueError(f"got a damaged token: {error}") from None


def _case(case: ExplorationCase) -> dict[str, Any]:
    geometry = case.geometry
    strided = list(geometry.linear.strides) if isinstance(geometry.linear, Strided) else None
    return {
        "op": geometry.op.name,
        "dtype": geometry.dtype.value,
        "shape": list(geometry.shape),
        "tiled": _tiled(geometry.tiled),
        "strides": strided,
        "to": geometry.to.value if geometry.to else None,
        "fill": geometry.int8_channel_padding,
        "device": device_changes(to_mapping(DeviceSpec()), to_mapping(case.spec)),
        "workers": case.workers,
        "prefill": case.prefill,
    }


def _tiled(layout: MlaTiled | MlaCBlocked) -> list[Any]:
    if isinstance(layout, MlaCBlocked):
        return [layout.tile_h, layout.tile_w, layout.tile_c]
    return [list(layout.axes), list(layout.tile_shape), layout.channel_storage is ChannelStorage.PAD16]


def device_changes(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The part of `other` that differs from `base`, nested alike."""
    return {
        name: device_changes(base[name], value) if isinstance(value, Mapping) else value
        for name, value in other.items()
        if value != base[name]
    }


def _to_case(body: Mapping[str, Any]) -> ExplorationCase:
    tiled = body["tiled"]
    if isinstance(tiled[0], int):
        layout: MlaTiled | MlaCBlocked = MlaCBlocked(*tiled)
    else:
        layout = MlaTiled(tiled[0], tiled[1], ChannelStorage.PAD16 if tiled[2] else ChannelStorage.COMPACT)
    geometry = Geometry(
        op=Op(body["op"]),
        dtype=DType(body["dtype"]),
        shape=tuple(body["shape"]),
        tiled=layout,
        linear=Contiguous() if body["strides"] is None else Strided(body["strides"]),
        to=DType(body["to"]) if body["to"] else None,
        int8_channel_padding=body["fill"],
    )
    return ExplorationCase(geometry, override(DeviceSpec(), body["device"]), body["workers"], body["prefill"])
