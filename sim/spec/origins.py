"""Origins: where the values of a preset come from: which were measured, on which board, within which intervals."""

from collections.abc import Iterator
from typing import Any

import attrs

from tessbed.sim.spec.device_spec import DeviceSpec

NEUTRAL = ("core_ids", "data_movement", "memory.window_base", "memory.window_bytes")
"""Fields that never change a tick: a device that differs in them alone is as it was calibrated."""


@attrs.frozen
class FieldOrigin:
    """A field's value and where it comes from, in words; with an interval where a board's measurements gave both."""

    path: str
    value: Any
    provenance: str
    interval: tuple[int, int] | None = None


@attrs.frozen
class MeasuredBoard:
    """A board that was measured, and what ran on it: the range in which a calibration holds.

    `workers` and `output_bytes` of a job are the least and the most. `jobs` are operations with their scalar types,
    such as "tess bf16". `percent` is the confidence of the intervals. `combinations` are what the measurements give of
    several fields together, in words.
    """

    name: str
    date: str
    percent: int
    workers: tuple[int, int]
    output_bytes: tuple[int, int]
    jobs: tuple[str, ...]
    combinations: tuple[str, ...] = ()


@attrs.frozen
class Origins:
    """What a preset says of its fields; without a board nothing of it was calibrated.

    `device` is the device as it was calibrated: a preset that starts from a calibrated one may have changed it.
    """

    fields: tuple[FieldOrigin, ...] = ()
    board: MeasuredBoard | None = None
    device: DeviceSpec | None = None

    @property
    def measured(self) -> tuple[FieldOrigin, ...]:
        """The fields with an interval."""
        return tuple(field for field in self.fields if field.interval is not None)

    def origin(self, path: str, value: Any) -> FieldOrigin | None:
        """What is said of a field, as long as it has the value of which that was said."""
        return next((field for field in self.fields if field.path == path and field.value == value), None)

    def over(self, base: "Origins") -> "Origins":
        """This one laid over that of the preset that it starts from."""
        own = {field.path for field in self.fields}
        kept = [field for field in base.fields if field.path not in own]
        found = self if self.board else base
        return Origins((*kept, *self.fields), found.board, found.device)


def field_values(spec: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of every field of a device, such as ("dma.setup_ticks", 64)."""
    for field in attrs.fields(type(spec)):
        value = getattr(spec, field.name)
        if attrs.has(type(value)):
            yield from field_values(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", value
