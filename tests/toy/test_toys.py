"""An operation that is added from outside runs everywhere, and each table that lacks it refuses it by name."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import tessbed
from tessbed.firmware_models.composition import Composition
from tessbed.firmware_models.image import FirmwareImage
from tessbed.firmware_models.refusals import refusal
from tessbed.kernels import ContractError, DType, MlaTiled, Plan, a65, ev74, ops
from tessbed.kernels.a65 import native_rows
from tessbed.kernels.a65.cost.model import modelled_ticks
from tessbed.kernels.a65.row_path import choose
from tessbed.kernels.ev74.codec import PacketFault
from tessbed.kernels.ev74.refusals import REFUSAL_BY_CODE
from tessbed.kernels.ev74.rules import check_packet
from tessbed.kernels.operations import Op, operation, registered
from tessbed.runtime import CapabilityError
from tessbed.scenarios import backends
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.judgement import oracle_case
from tessbed.scenarios.model import Geometry as Asked
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.oracle.comparison import expected_output
from tessbed.scenarios.report import document
from tessbed.scenarios.runner import run_scenario
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.oracle import Geometry, golden_bytes, linear_bytes, tiled_bytes
from tests.toy.operations import TOYS, Toy
from tests.toy.oracle import expected

HWC = (-1, 0, 1, 2)
LAYOUTS: dict[str, dict[str, Any]] = {
    "boundary tiles": {"shape": (7, 9, 21), "axes": HWC, "tile": (1, 4, 4, 16), "pad16": True},
    "compact": {"shape": (5, 6, 3), "axes": HWC, "tile": (1, 2, 4, 3)},
    "two channels": {"shape": (4, 19, 2), "axes": HWC, "tile": (1, 4, 16, 2), "pad16": True},
    "channel first": {"shape": (20, 6, 10), "axes": (-1, 1, 2, 0), "tile": (1, 4, 10, 16)},
    "outer axes": {"shape": (2, 3, 4, 40), "axes": (-1, -1, 2, 3), "tile": (1, 1, 3, 16)},
    "many pieces": {"shape": (70, 70, 5), "axes": HWC, "tile": (1, 70, 70, 5)},
    "blocks": {"shape": (5, 6, 40), "cblocked": (2, 4, 36)},
}
CASES = [(toy, layout) for toy in TOYS for layout in LAYOUTS if toy == "spread" or layout != "blocks"]
by_case = pytest.mark.parametrize(("toy", "layout"), CASES, ids=["-".join(case) for case in CASES])


def geometry_of(toy: str, layout: str) -> Geometry:
    """The case for the literal oracle: INT8 tiles, and the other side in `to`."""
    linear = TOYS[toy].row.scalars[0].linear.value
    return Geometry(toy, dtype="int8", to=None if linear == "int8" else linear, **LAYOUTS[layout])


def scenario_of(geometry: Geometry) -> Scenario:
    """The case as a scenario on both backends."""
    dtype = geometry.to or geometry.dtype if TOYS[geometry.op].row.packs else geometry.dtype
    tiles = f"cblocked = {{ tile = {list(geometry.cblocked)} }}" if geometry.cblocked else ""
    if geometry.axes and geometry.tile:
        channels = "pad16" if geometry.pad16 else "compact"
        tiles = f'tiled = {{ axes = {list(geometry.axes)}, tile = {list(geometry.tile)}, channels = "{channels}" }}'
    text = f"""
        name = "toy"
        [[jobs]]
        name = "toy"
        op = "{geometry.op}"
        dtype = "{dtype}"
        shape = {list(geometry.shape)}
        {tiles}
        input = {{ pattern = "golden" }}
    """
    return compose(parse_toml(text, "toy.toml"), Path())


@by_case
@pytest.mark.parametrize("engine", ["simpy", "exact", "verify"])
def test_a_toy_runs_on_both_backends_and_engines(toy: str, layout: str, engine: str) -> None:
    """The bytes are those of an oracle that knows the toy alone, and the product's own oracle agrees."""
    geometry = geometry_of(toy, layout)
    packs = TOYS[toy].row.packs
    source = golden_bytes(linear_bytes(geometry) if packs else tiled_bytes(geometry))
    wanted = hashlib.sha256(expected(geometry, source)).hexdigest()
    with TOYS[toy].installed():
        (job,) = document(run_scenario(scenario_of(geometry), engine=engine))["jobs"]
    for backend, result in job["results"].items():
        assert result["ticks"] > 0
        if backend == "a65" or engine != "exact":  # the exact engine moves no bytes on EV74
            assert (result["verified"], result["output_sha256"]) == (True, wanted), backend


@pytest.mark.parametrize("rows", ["", "numpy"], ids=["by itself", "numpy"])
def test_the_a65_takes_the_rows_that_there_are(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No native rows know a toy: where nothing was asked for, numpy's run."""
    monkeypatch.setenv("TESSBED_ROWS", rows)
    with TOYS["invert"].installed():
        assert a65.invert.prepare(plan()).engine.name == "numpy"


def test_array_functions_come_from_the_table() -> None:
    """`tessbed.NAME` is there for each row, with the operation's own scalar types."""
    with TOYS["invert"].installed():
        tiles = tessbed.invert(np.arange(6, dtype=np.int8).reshape(1, 2, 3), tile=(1, 2, 3))
    assert tiles.tobytes() == bytes([255, 254, 253, 252, 251, 250]) + bytes(10)
    with TOYS["spread"].installed():
        words = tessbed.spread(np.arange(16, dtype=np.uint8), shape=(2, 3), axes="WC", tile=(2, 3))
    assert words.dtype == np.float32
    assert words.tobytes()[:8] == bytes([0, 255, 0, 255, 1, 254, 1, 254])
    with pytest.raises(AttributeError, match="no attribute 'invert'"):
        _ = tessbed.invert


def asked() -> Asked:
    """A small job of `invert`."""
    return Asked(operation("invert"), DType.INT8, (2, 3), MlaTiled((-1, -1, 0, 1), (1, 1, 2, 3)))


def plan() -> Plan:
    """Its plan."""
    return asked().admit()


def named_in_error(words: str) -> None:
    """A scenario with the toy is refused in the place of its operation."""
    with pytest.raises(ScenarioError, match=words) as caught:
        scenario_of(geometry_of("invert", "compact"))
    assert "jobs[0].op" in str(caught.value)


@pytest.fixture
def lacking(request: pytest.FixtureRequest) -> Iterator[Toy]:
    """`invert` in every table but the one that the test names."""
    with TOYS["invert"].installed(without=request.param):
        yield TOYS["invert"]


def test_without_the_conversion() -> None:
    """A row whose conversion has no name is not registered."""
    with (
        pytest.raises(ContractError, match=r"'inverts'.*kernels\.conversions"),
        TOYS["invert"].installed("conversions"),
    ):
        pass
    assert "invert" not in ops.OPERATIONS


@pytest.mark.parametrize("lacking", ["numpy rows"], indirect=True)
def test_without_numpy_rows(lacking: Toy) -> None:
    """Preparation refuses, and so does a scenario before anything runs."""
    with pytest.raises(ContractError, match="got 'inverts', but the table of the A65's numpy rows has copy"):
        a65.invert.prepare(plan())
    named_in_error("A65's numpy rows")


@pytest.mark.skipif(bool(native_rows.missing), reason="needs the native rows")
def test_without_native_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Native rows that were asked for are never replaced, and their table is asked at compilation, too."""
    monkeypatch.setenv("TESSBED_ROWS", "native")
    with TOYS["invert"].installed():
        with pytest.raises(ContractError, match="got 'inverts', but the table of the A65's native rows has copy"):
            a65.invert.prepare(plan())
        with pytest.raises(ContractError, match="native rows"):
            native_rows.compile_native(plan(), plan().classes)


@pytest.mark.parametrize("lacking", ["vector steps", "vector costs"], indirect=True)
def test_without_a_vector_step_or_its_cost(lacking: Toy) -> None:
    """The runtime refuses the job, and a device that gets the packet all the same ends it with a fault."""
    with (
        backends.ev74(DeviceSpec()) as runtime,
        backends.input_buffer(runtime, plan()) as source,
        backends.output_buffer(runtime, plan(), 0) as target,
    ):
        with pytest.raises(CapabilityError, match="vector step: the job needs inverts, the image holds copy"):
            backends.submit(runtime, plan(), source, target)
        packet = ev74.invert.encode_relocatable(plan()).bind(source.address, target.address)
        with pytest.raises(PacketFault, match=r"vector step.*inverts") as caught:
            FirmwareImage.full().admit(packet.raw, Everything())
        assert (caught.value.code, caught.value.field) == ("capability", "op")
        assert refusal(caught.value).status == REFUSAL_BY_CODE["capability"].status
    named_in_error("vector step: the job needs inverts")


class Everything:
    """Memory that is all mapped."""

    def readable(self, address: int, nbytes: int) -> bool:
        """It is."""
        return True

    writable = readable


@pytest.mark.parametrize("lacking", ["a65 costs"], indirect=True)
def test_without_a_cost_on_the_a65(lacking: Toy) -> None:
    """No duration is made up."""
    with pytest.raises(ContractError, match="got 'inverts', but the table of the A65's costs has copy"):
        modelled_ticks(plan(), choose(plan()))
    named_in_error("A65's costs")


@pytest.mark.parametrize("lacking", ["oracle"], indirect=True)
def test_without_the_oracle(lacking: Toy) -> None:
    """What nobody can judge is not run."""
    with pytest.raises(ValueError, match="got operation 'invert', but the oracle knows tess, detess, detesscast"):
        expected_output(oracle_case(asked()), bytes(6), 0)
    named_in_error("the oracle knows")


def test_without_the_row() -> None:
    """Every entry refuses what is in no row: names, plans, packets, prepared plans, compositions, scenarios."""
    toy = TOYS["invert"]
    with toy.installed():
        made, encoder, executor = plan(), ev74.invert, a65.invert
        packet = encoder.encode_relocatable(made)
        check_packet(packet.raw)
    for package in (ops, a65, ev74):
        with pytest.raises(AttributeError, match="no operation 'invert', there are tess"):
            _ = package.invert
    for refused in (
        lambda: Op("invert"),
        lambda: Composition(ops=("invert",)),
        lambda: executor.prepare(made),
        lambda: encoder.encode_relocatable(made),
    ):
        with pytest.raises(ContractError, match=r"got '?invert'?, wanted one of tess, detess"):
            refused()
    with pytest.raises(PacketFault, match=r"op: got 0x40, wanted 1 \(tess\)"):
        check_packet(packet.raw)
    named_in_error(
        'got the text "invert", wanted "tess", "detess", "detesscast", "casttess", "quanttess", "detessdequant" '
        'or "external"'
    )


def test_a_row_must_fit_the_table() -> None:
    """A name or a code that is taken, or is no single bit, is not registered, and the table stays as it was."""
    before = dict(ops.OPERATIONS)
    row = TOYS["invert"].row
    with TOYS["invert"].installed():
        for change in ({"code": 1}, {"code": 96}, {"code": 256}, {"name": "tess"}, {"name": "no name"}):
            other = attrs.evolve(row, **({"name": "other", "code": 128} | change))
            with pytest.raises(ContractError, match="wanted"), registered(other):
                pass
    assert before == ops.OPERATIONS
