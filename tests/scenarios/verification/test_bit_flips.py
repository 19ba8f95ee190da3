"""The bit-flip coverage: every bit of a packet is explained, and one that is not would be reported."""

from collections import Counter

import numpy as np
import pytest

from tessbed.kernels.ev74 import rules
from tessbed.kernels.ev74.codec import PacketFault, decode
from tessbed.kernels.ev74.fields import BY_NAME, FIELDS, PACKET_BYTES
from tessbed.scenarios.library import load
from tessbed.scenarios.oracle.comparison import golden_bytes, required_bytes
from tessbed.scenarios.verification.bit_flips import (
    BITS,
    Bit,
    BitFlipError,
    FlipBench,
    FlipOutcome,
    benches,
    by_field,
    flip_every_bit,
    flipped,
)
from tessbed.scenarios.verification.packet_case import case_of, places
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.geometries import name_of, random_geometries
from tests.kernels.ev74.cases import GOLDEN, packet_of, plan_of, repacked
from tests.oracle import Geometry

TILE_FIELDS = [BY_NAME[f"{axis}_tile"] for axis in "cdhw"]
SAME_STORAGE = Geometry("detess", (7, 18), "bf16", (0, -1, -1, 1), (7, 1, 1, 18), pad16=True)


QUANTIZED = {
    "quanttess": Geometry(
        "quanttess",
        (1, 2, 3),
        "int8",
        (-1, 0, 1, 2),
        (1, 1, 2, 3),
        True,
        to="fp32",
        scale_bits=0x41CC0000,
        zero_point=-3,
    ),
    "detessdequant": Geometry(
        "detessdequant", (1, 3, 17), "int8", cblocked=(1, 2, 17), to="fp32", scale_bits=0x41015A1D, zero_point=-56
    ),
}


def bench(geometry: Geometry) -> FlipBench:
    plan = plan_of(geometry)
    return FlipBench(plan, golden_bytes(plan.input.required_bytes), 0xC3, DeviceSpec(), 0)


def outcomes(bits: list[Bit]) -> Counter[FlipOutcome]:
    return Counter(bit.outcome for bit in bits)


@pytest.mark.parametrize(
    "name",
    [
        "tess-int8-fill",
        "cast-2x3-pitched",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("detess-planar", "cast-outer", "tess-depth-batch")),
    ],
)
def test_every_bit_of_a_packet_is_explained(name: str) -> None:
    """Each of 1,728 bits is caught by the checksum; with it repaired, refused, reserved, or seen in bytes or ticks."""
    bits = list(flip_every_bit(bench(GOLDEN[name])))
    assert len(bits) == BITS == 8 * PACKET_BYTES
    assert [(bit.field.name, bit.number) for bit in bits if not bit.explained] == []
    assert outcomes(bits)[FlipOutcome.OUTPUT] > 0
    assert {bit.field.name for bit in bits if bit.outcome is FlipOutcome.RESERVED} == {"flags"} | {
        field.name for field in FIELDS if "reserved" in field.name
    }


@pytest.mark.long
@pytest.mark.parametrize("geometry", [g for g in random_geometries(40, seed=74) if 0 not in g.shape], ids=name_of)
def test_every_bit_of_a_random_packet_is_explained(geometry: Geometry) -> None:
    """The same for geometries that nobody chose."""
    assert [(bit.field.name, bit.number) for bit in flip_every_bit(bench(geometry)) if not bit.explained] == []


def test_the_fill_shows_in_the_output() -> None:
    """Each bit of a fill that is used changes the output; the fill of a job without one is refused."""
    field = [BY_NAME["channel_fill"]]
    assert outcomes(list(flip_every_bit(bench(GOLDEN["tess-int8-fill"]), field))) == {FlipOutcome.OUTPUT: 8}
    assert outcomes(list(flip_every_bit(bench(GOLDEN["tess-2x17-pad16"]), field))) == {FlipOutcome.REFUSED: 8}


@pytest.mark.parametrize(
    ("rule", "name", "field"),
    [
        ("_fill", "tess-2x17-pad16", "channel_fill"),
        ("_outer", "cast-outer", "outer4_stride"),
        ("_strides", "detess-2x3", "h_stride"),
    ],
)
def test_an_idle_bit_is_reported(monkeypatch: pytest.MonkeyPatch, rule: str, name: str, field: str) -> None:
    """Without the rule that keeps a field canonical, the bit-flip coverage finds the bits that nothing explains."""
    kept = tuple(check for check in rules.RULES if check.__name__ != rule)
    assert len(kept) == len(rules.RULES) - 1
    monkeypatch.setattr(rules, "RULES", kept)
    bits = list(flip_every_bit(bench(GOLDEN[name]), [BY_NAME[field]]))
    assert outcomes(bits)[FlipOutcome.UNEXPLAINED] > 0
    assert not all(bit.explained for bit in bits)


def test_a_device_that_does_not_do_what_the_packet_says_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output that changes, but not into what the oracle reads from the packet, is no explanation."""
    from tessbed.firmware_models import geometry

    honest = geometry.PacketGeometry.of.__func__

    def bent(cls: type, values: dict[str, int]) -> geometry.PacketGeometry:
        return honest(cls, {**values, "channel_fill": values["channel_fill"] | 1})

    tried = bench(GOLDEN["tess-int8-fill"])
    monkeypatch.setattr(geometry.PacketGeometry, "of", classmethod(bent))
    assert outcomes(list(flip_every_bit(tried, [BY_NAME["channel_fill"]])))[FlipOutcome.UNEXPLAINED] == 8


def test_the_same_storage_cut_otherwise_is_a_synonym() -> None:
    """Tile cuts that move no element count as synonyms where they cost nothing, and only those."""
    bits = list(flip_every_bit(bench(SAME_STORAGE), TILE_FIELDS))
    assert outcomes(bits)[FlipOutcome.SYNONYM] > 0
    assert [bit for bit in bits if not bit.explained] == []
    raw = packet_of(SAME_STORAGE).raw
    for bit in (bit for bit in bits if bit.outcome is FlipOutcome.SYNONYM):
        assert bit.field.name == "d_tile"
        changed = repacked(raw, d_tile=decode(raw)["d_tile"] ^ 1 << bit.number)
        assert places(decode(changed)) == places(decode(raw))


def test_places_distinguish_layouts() -> None:
    """Packets that put an element elsewhere have other places, also where a short pattern could not show it."""
    raw = packet_of(GOLDEN["cast-head"]).raw
    assert places(decode(raw)) == places(decode(repacked(raw)))
    assert places(decode(raw)) != places(decode(repacked(raw, h_tile=8)))
    assert len(places(decode(raw))) == 3


@pytest.mark.parametrize("name", GOLDEN)
def test_the_oracle_reads_a_packet_as_its_job(name: str) -> None:
    """The case that a packet spells needs the bytes that the packet asks for."""
    values = decode(packet_of(GOLDEN[name]).raw)
    assert required_bytes(case_of(values)) == (values["reloc0_required_bytes"], values["reloc1_required_bytes"])


def test_flipping_a_bit_flips_that_bit() -> None:
    """Bit 8 k + n is bit n of byte k, and nothing else changes."""
    raw = packet_of(GOLDEN["detess-2x3"]).raw
    for bit in (0, 7, 8, 1727):
        delta = np.frombuffer(raw, np.uint8) ^ np.frombuffer(flipped(raw, bit), np.uint8)
        assert delta.nonzero()[0].tolist() == [bit // 8]
        assert delta[bit // 8] == 1 << bit % 8


def test_outcomes_are_counted_by_field() -> None:
    """Every field appears, in packet order, with all of its bits."""
    bits = list(flip_every_bit(bench(GOLDEN["detess-2x3"]), [BY_NAME["flags"], BY_NAME["op"]]))
    counts = by_field(bits)
    assert list(counts) == list(FIELDS)
    assert (counts[BY_NAME["flags"]], counts[BY_NAME["op"]]) == ({FlipOutcome.RESERVED: 16}, {FlipOutcome.REFUSED: 8})


def test_jobs_without_a_packet_have_no_bench_and_large_ones_are_refused() -> None:
    """Empty jobs are left out; a job that would run for minutes is refused by name."""
    assert [job.name for job in benches(load("empty"))] == ["one detection"]
    with pytest.raises(BitFlipError, match=r"head 80x80x64.*3,456 times"):
        benches(load("yolov8n-heads-bf16"))


def test_a_job_that_does_not_run_has_no_bit_flip_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the undamaged packet is refused, there is nothing to compare with."""
    monkeypatch.setattr(rules, "RULES", (_refuse,))
    with pytest.raises(BitFlipError, match="the undamaged packet ends in geometry"):
        next(flip_every_bit(bench(GOLDEN["detess-2x3"])))


def _refuse(values: object) -> None:
    raise PacketFault("geometry", "op", "refused by this test")


@pytest.mark.parametrize("op", QUANTIZED)
def test_every_bit_of_a_parameter_is_explained(op: str) -> None:
    """Each bit of scale and zero point shows, on a telling value where the job's own input is too coarse."""
    fields = [BY_NAME[name] for name in ("scale", "zero_point", "rounding")]
    bits = list(flip_every_bit(bench(QUANTIZED[op]), fields))
    assert [(bit.field.name, bit.number) for bit in bits if not bit.explained] == []
    shown = [bit for bit in bits if bit.outcome is FlipOutcome.OUTPUT]
    assert {bit.field.name for bit in shown} >= {"scale", "zero_point"}
    assert sum(bit.field.name == "scale" for bit in shown) >= 31
