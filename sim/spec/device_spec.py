"""DeviceSpec: every parameter of the device, with its unit, default and provenance.

Time is integer ticks, one EV cycle each. No default was measured on silicon: `provenance` says where each
comes from ("documented", "public", "inferred" or "guess"). A spec that breaks a limit cannot be made:
the constructor raises SpecError with all the errors. docs/simulation.md prints this table.
"""

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

import attrs

from tessbed.sim.spec import limits


def knob(
    default: int | bool | str | tuple[int, ...],
    unit: str,
    meaning: str,
    provenance: str = "guess",
    *,
    low: int = 0,
    high: int = 1 << 32,
    power_of_two: bool = False,
    choices: tuple[str, ...] = (),
) -> Any:
    """One parameter: its default, and the metadata that limits, error messages and docs are made from."""
    return attrs.field(
        default=default,
        metadata={
            "unit": unit,
            "meaning": meaning,
            "provenance": provenance,
            "low": low,
            "high": high,
            "power_of_two": power_of_two,
            "choices": choices,
        },
    )


@attrs.frozen
class DmaSpec:
    """The DMA engine: its channels, credits, beats and field widths."""

    read_channels: int = knob(4, "channels", "read channels of a pool: one per core", low=1, high=1024)
    write_channels: int = knob(4, "channels", "write channels of a pool: one per core", low=1, high=1024)
    channel_scope: str = knob(
        "shared", "", "one pool a direction for all cores, or one for each", choices=("shared", "per_core")
    )
    arbitration: str = knob("fifo", "", "which waiting request a pool serves first", choices=("fifo", "round_robin"))
    outstanding: int = knob(16, "transfers", "credits of a pool, each held from grant to completion", low=1)
    bytes_per_tick: int = knob(16, "B/tick", "payload rate of one channel: a 128-bit AXI beat", low=1)
    issue_ticks: int = knob(12, "ticks", "core time to write the registers of one descriptor")
    setup_ticks: int = knob(64, "ticks", "channel time before the data of a descriptor: 50 to 100")
    row_ticks: int = knob(1, "ticks", "address step for each further row of a 2-D descriptor")
    burst_bytes: int = knob(
        256, "B", "one burst: 16 beats; bursts are aligned blocks", low=1, high=4096, power_of_two=True
    )
    outstanding_bursts: int = knob(16, "bursts", "bursts in flight on one channel", low=1)
    wait_group: int = knob(16, "reads", "longest group of gathers waited for together", low=1)
    field_bits: int = knob(16, "bits", "width of the row, length and pitch fields", "documented", low=1, high=32)

    @property
    def field_limit(self) -> int:
        """The largest value of a row, length or pitch field."""
        return (1 << self.field_bits) - 1


@attrs.frozen
class MemorySpec:
    """DDR and its window, as the device sees them."""

    bytes_per_tick: int = knob(64, "B/tick", "bandwidth of the device: 65 % of an inferred peak of 102.4 GB/s", low=1)
    background_percent: int = knob(0, "%", "taken by other masters; derates bytes_per_tick", high=99)
    split_port: bool = knob(False, "", "reads and writes each have a port (AXI only; DDR is half duplex)")
    access_bytes: int = knob(64, "B", "one DDR burst, the smallest read", low=1, high=4096, power_of_two=True)
    read_latency_ticks: int = knob(200, "ticks", "last beat to data seen: 150 to 300 ns")
    write_latency_ticks: int = knob(120, "ticks", "last beat to posted response")
    page_walk_ticks: int = knob(0, "ticks", "for each 4 KiB page touched; the window is static, so 0")
    window_base: int = knob(0x8000_0000, "address", "first device address", "public", high=1 << 62)
    window_bytes: int = knob(0x8000_0000, "B", "length of the window: 2 GiB", "public", low=4096, high=1 << 62)

    @property
    def first_address(self) -> int:
        """The first address of storage: the page of address 0 stays free, since 0 means unbound."""
        return max(limits.PAGE_BYTES, self.window_base)

    @property
    def end_address(self) -> int:
        """The address behind the window."""
        return self.window_base + self.window_bytes


@attrs.frozen
class VectorTicks:
    """Ticks for one vector of output, loads, shuffle and stores, for each band path."""

    copy: int = knob(2, "ticks/vector", "INT8 bytes moved as they are")
    split: int = knob(4, "ticks/vector", "BF16 words into byte planes")
    join: int = knob(4, "ticks/vector", "byte planes into BF16 words")
    widen: int = knob(3, "ticks/vector", "byte planes into FP32 words")
    cblock_join: int = knob(4, "ticks/vector", "channel blocks into BF16 words")
    cblock_widen: int = knob(3, "ticks/vector", "channel blocks into FP32 words")
    narrow: int = knob(10, "ticks/vector", "FP32 words rounded to BF16, into byte planes")
    quantize: int = knob(28, "ticks/vector", "FP32 words into INT8 codes: four input vectors to one of output")
    dequantize: int = knob(8, "ticks/vector", "INT8 codes into FP32 words, by a table of 256")
    cblock_dequantize: int = knob(8, "ticks/vector", "channel blocks of INT8 codes into FP32 words")
    c2pad16: int = knob(8, "ticks/8 pixels", "two-channel INT8 pixels into whole 16-byte blocks")


@attrs.frozen
class ComputeSpec:
    """What packing a band costs on a core."""

    band_ticks: int = knob(150, "ticks", "loop set-up of a band")
    run_ticks: int = knob(6, "ticks", "for each contiguous run: the cost of short channels")
    vector_bytes: int = knob(64, "B", "one vector register, 512 bit", "public, unsourced", low=1)
    vector_ticks: VectorTicks = attrs.field(factory=VectorTicks)
    scalar_ticks: int = knob(4, "ticks", "for each scattered or fragment scalar")
    clear_ticks: int = knob(1, "ticks", "for each 16-byte clear")


@attrs.frozen(cache_hash=True)
class DeviceSpec:
    """The whole device. The defaults are the preset "ev74-4core". Raises SpecError for what cannot be.

    Every field with its unit and its limits is in docs/simulation.md. Specs are values: equal, hashable, frozen.

    >>> import tessbed
    >>> spec = tessbed.DeviceSpec(cores=2, workers=2)
    >>> spec.dma.read_channels, spec == tessbed.Ev74(spec).spec
    (4, True)
    """

    clock_mhz: int = knob(1000, "MHz", "for display only: no tick depends on it", "inferred", low=1)
    cores: int = knob(4, "cores", "physical cores", "documented", low=1, high=64)
    core_ids: tuple[int, ...] = knob(
        (), "", "physical ids, distinct; empty means 0, 1, ...; never changes a tick or a byte", "inferred"
    )
    workers: int = knob(4, "workers", "the logical grid", "documented", low=1, high=64)
    dispatch_ticks: int = knob(100_000, "ticks", "doorbell to firmware: half of a round trip of 100 to 300 us")
    completion_ticks: int = knob(50_000, "ticks", "record to host wake: the other half")
    reset_ticks: int = knob(200_000, "ticks", "a reset, from its request to its confirmation")
    decode_ticks: int = knob(2_000, "ticks", "the firmware validates a packet of about 512 bytes")
    kernel_load_ticks: int = knob(5_000, "ticks", "first job of a dtype; none when its handle is cached")
    launch_stagger_ticks: int = knob(50, "ticks", "between the starts of two cores")
    relaunch_ticks: int = knob(50, "ticks", "between two workers on one core")
    slots: int = knob(2, "slots", "output slots of a worker", "documented", low=1, high=8)
    scratch_bytes: int = knob(262_144, "B", "VCCM of one core", "public", low=1, high=1 << 28)
    scratch_reserved_bytes: int = knob(65_536, "B", "of it, stack and tables", high=1 << 28)
    scratch_align_bytes: int = knob(64, "B", "one vector", low=1, high=4096, power_of_two=True)
    write_granule_bytes: int = knob(
        64, "B", "smallest unit that memory writes: a part of it is read, modified and written back whole",
        low=16, high=4096, power_of_two=True,
    )  # fmt: skip
    byte_strobes: bool = knob(False, "", "memory writes single bytes: no read-modify-write")
    data_movement: str = knob(
        "at_completion", "", "when data is moved in memory; never changes a tick",
        choices=("at_issue", "at_completion", "seeded"),
    )  # fmt: skip
    dma: DmaSpec = attrs.field(factory=DmaSpec)
    memory: MemorySpec = attrs.field(factory=MemorySpec)
    compute: ComputeSpec = attrs.field(factory=ComputeSpec)

    def __attrs_post_init__(self) -> None:
        if not limits.keeps_limits(self):
            _, problems = limits.find_problems(DeviceSpec, to_mapping(self), {})
            limits.raise_problems(problems)

    @property
    def write_unit_bytes(self) -> int:
        """What a write rewrites at the least: a whole granule, or one byte where there are byte strobes."""
        return 1 if self.byte_strobes else self.write_granule_bytes

    @property
    def usable_scratch_bytes(self) -> int:
        """Scratch of one worker, without the reserved part."""
        return self.scratch_bytes - self.scratch_reserved_bytes


def to_mapping(spec: Any) -> dict[str, Any]:
    """The spec as nested dicts of plain values, ready for JSON, in the order of the fields."""
    plain = {field.name: getattr(spec, field.name) for field in attrs.fields(type(spec))}
    return {name: _plain(value) for name, value in plain.items()}


def override(spec: DeviceSpec, changes: Mapping[str, Any]) -> DeviceSpec:
    """`spec` with the nested `changes`; raises SpecError with every unknown key, wrong type and broken limit."""
    merged, problems = limits.find_problems(DeviceSpec, to_mapping(spec), changes)
    limits.raise_problems(problems)
    return _build(DeviceSpec, merged)


def preset_names() -> tuple[str, ...]:
    """The presets that ship with the package, sorted."""
    names = (entry.name for entry in _presets().iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load_preset(name: str) -> DeviceSpec:
    """The preset of that name; raises SpecError when there is none."""
    if name not in preset_names():
        limits.raise_problems([(("preset",), limits.unknown("preset", name, preset_names()))])
    return override(DeviceSpec(), {key: value for key, value in _preset_values(name).items() if key != "about"})


def preset_about(name: str) -> str:
    """What a preset that ships says about itself, on one line."""
    return _preset_values(name)["about"]


def _preset_values(name: str) -> dict[str, Any]:
    return tomllib.loads((_presets() / f"{name}.toml").read_text(encoding="utf-8"))


def _presets() -> Any:
    return resources.files("tessbed.sim.spec.presets")


def _plain(value: Any) -> Any:
    if attrs.has(type(value)):
        return to_mapping(value)
    return list(value) if isinstance(value, tuple) else value


def _build(cls: Any, mapping: Mapping[str, Any]) -> Any:
    """An instance of the attrs class `cls` from a mapping that has been judged."""
    values = {}
    for field in attrs.fields(cls):
        value = mapping[field.name]
        values[field.name] = _build(field.type, value) if attrs.has(field.type) else value
    return cls(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})


DIRECTIONS = ("read", "write")
