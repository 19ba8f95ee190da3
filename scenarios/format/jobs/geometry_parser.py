"""Geometry parser: from a job's keys to what it asks of admission, harmless where a key was reported already."""

from collections.abc import Iterable
from typing import Any

import attrs

from tessbed.kernels import OPERATIONS, ChannelStorage, Contiguous, DType, MlaCBlocked, MlaTiled, Op, Strided
from tessbed.kernels.admission import MAX_RANK
from tessbed.kernels.operations import TileFormat
from tessbed.scenarios.format.diagnostics import KeyPath, closest
from tessbed.scenarios.format.jobs.admission_errors import clear_of, narrowest
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.format.schema_keys import CHANNELS
from tessbed.scenarios.model import Geometry

FILL = "int8_channel_padding"


def read_geometry(reader: Reader, path: KeyPath, values: dict[str, Any]) -> Geometry:
    """What the job asks of admission, with something harmless in the place of what was reported already."""
    op = Op(values["op"]) if "op" in values else Op(_op_of(values))
    chosen = DType(values["dtype"]) if "dtype" in values else narrowest(op.inputs)
    shape = _shape(reader, path, values)
    outputs = op.outputs()
    target = values.get("to") or (narrowest(outputs).value if op.chooses_output else None)
    geometry = Geometry(
        op=op,
        dtype=chosen,
        shape=shape,
        tiled=_tiled(reader, path, values, shape),
        to=DType(target) if target and op.chooses_output else None,
        parameters=tuple(
            (parameter.name, value)
            for parameter in op.parameters
            if parameter.name != FILL and (value := parameter.value_in(values)) is not None
        ),
    )
    fill = values.get(FILL)
    if FILL not in values or "dtype" not in values:
        fill = 0 if geometry.tiled_dtype is DType.INT8 else None
    return attrs.evolve(geometry, int8_channel_padding=fill, linear=_linear(reader, path, values, geometry))


def _op_of(values: dict[str, Any]) -> str:
    """An operation that admits the layout, for a job that names none."""
    blocked = "cblocked" in values and values["cblocked"] is not None and values.get("tiled") is None
    form = TileFormat.CBLOCKED if blocked else TileFormat.COMPACT
    return next(name for name, row in OPERATIONS.items() if form in row.formats)


def _shape(reader: Reader, path: KeyPath, values: dict[str, Any]) -> tuple[int, ...]:
    """The extents; 1 for one that is no integer, and as many as the layouts need where there is no list of them."""
    if "shape" in values:
        return tuple(values["shape"])
    written = reader.written_at(path)
    if isinstance(written.get("shape"), list):
        return tuple(_extent(item) for item in written["shape"])
    axes = _integers((values.get("tiled") or {}).get("axes", ()), -1)
    strides = (values.get("linear") or {}).get("strides_bytes", ())
    return (1,) * (len(strides) or min(MAX_RANK, max(3, *(axis + 1 for axis in axes), 3)))


def _extent(item: Any) -> int:
    """The integer, or the one in a text; 1 for what is none."""
    if isinstance(item, str) and item.isascii() and item.isdecimal() and len(item) < 10:
        return int(item)
    return _integers([item], 1)[0]


def _integers(values: Iterable[Any], other: int) -> list[int]:
    return [value if isinstance(value, int) and not isinstance(value, bool) else other for value in values]


def _linear(reader: Reader, path: KeyPath, values: dict[str, Any], geometry: Geometry) -> Contiguous | Strided:
    """The strides; for those that are no integers, what is clear of all others."""
    if values.get("linear") is None:
        return Contiguous()
    written = reader.written_at((*path, "linear")).get("strides_bytes")
    if not isinstance(written, list):
        return Contiguous()
    strides = _integers(written, 0)
    if len(strides) == len(geometry.shape):
        for axis, (value, stride) in enumerate(zip(written, strides, strict=True)):
            if isinstance(value, bool) or value != stride:
                strides[axis] = clear_of(strides, geometry.shape, axis, geometry.linear_dtype.width)
    return Strided(tuple(strides))


def _tiled(reader: Reader, path: KeyPath, values: dict[str, Any], shape: tuple[int, ...]) -> MlaTiled | MlaCBlocked:
    """The layout, with harmless entries in the place of those that are wrong by themselves."""
    channel = max(0, len(shape) - 1)
    if values.get("cblocked") is not None and values.get("tiled") is None:
        return MlaCBlocked(*_entries(reader, (*path, "cblocked"), "tile", [1, 1, 1], 1))
    given = values.get("tiled")
    if given is None:
        return MlaTiled((-1, -1, -1, channel), (1, 1, 1, 1))
    where = (*path, "tiled")
    axes = _entries(reader, where, "axes", [-1, -1, -1, channel], None)
    tile = _entries(reader, where, "tile", [1, 1, 1, 1], 1)
    if "axes" not in given and axes[:3] == [-1, -1, -1]:
        tile[:3] = [min(1, extent) for extent in tile[:3]]
    for position, axis in enumerate(axes):
        if axis is None and position == 3:
            axes[3] = next((free for free in range(len(shape)) if free not in axes), channel)
        elif axis is None:
            axes[position], tile[position] = -1, min(1, tile[position])
    channels = given.get("channels") or closest(str(reader.written_at(where).get("channels")), CHANNELS) or "compact"
    return MlaTiled(tuple(axes), tuple(tile), ChannelStorage(channels))


def _entries(reader: Reader, path: KeyPath, name: str, without: list[int], other: int | None) -> list[Any]:
    """The entries of a list, `other` for those that are no integers; `without` where it is no list of that length."""
    written = reader.written_at(path).get(name)
    if not isinstance(written, list) or len(written) != len(without):
        return without
    return [item if isinstance(item, int) and not isinstance(item, bool) else other for item in written]
