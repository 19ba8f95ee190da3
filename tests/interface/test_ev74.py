"""Ev74 runs the operations on a simulated device: the oracle's bytes, a scenario's ticks, words for errors."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tessbed
from tessbed.kernels import OPERATIONS, BindingError, ContractError
from tessbed.kernels.a65 import executor
from tessbed.kernels.ev74.rules import check_packet
from tessbed.runtime.errors import HeapExhausted
from tessbed.scenarios.verification.packet_case import case_of
from tests.arrays.test_arrays import letters_of, tile_of
from tests.golden.by_hand import BY_HAND, ByHand

IMAGE = np.arange(40 * 40 * 3, dtype=np.int64).astype(np.int8).reshape(40, 40, 3)
FLOATS = np.linspace(-3, 3, 40 * 40 * 3, dtype=np.float32).reshape(40, 40, 3)
WORDS = (FLOATS.view(np.uint32) >> 16).astype(np.uint16)
LAYOUT: dict[str, Any] = {"tile": (16, 24, 3), "axes": "HWC"}
CODES: dict[str, Any] = {"scale": 20.0, "zero_point": -4}
PACKED: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
    "tess": (IMAGE, {}),
    "casttess": (FLOATS, {}),
    "quanttess": (FLOATS, {**CODES, "rounding": "up", "channels": "pad16", "fill": 7}),
}
UNPACKED: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
    "detess": (tessbed.tess(IMAGE, **LAYOUT), {"dtype": "int8"}),
    "detesscast": (tessbed.tess(WORDS, **LAYOUT), {"to": "fp32"}),
    "detessdequant": (tessbed.tess(IMAGE, **LAYOUT), CODES),
}


def call(thing: Any, name: str) -> Any:
    """One operation of `tessbed` or of an Ev74, on its array."""
    packs = name in PACKED
    array, more = (PACKED if packs else UNPACKED)[name]
    return getattr(thing, name)(array, **LAYOUT, **more, **({} if packs else {"shape": IMAGE.shape}))


def test_every_operation_is_here() -> None:
    """The cases hold each operation of the table."""
    assert {*PACKED, *UNPACKED} == set(OPERATIONS)


@pytest.mark.parametrize("name", [*PACKED, *UNPACKED])
def test_the_same_result_as_the_array_function(name: str) -> None:
    """Each operation returns what the array function returns, judged by the oracle, and a report that adds up."""
    result, job = call(tessbed.Ev74("ev74-4core"), name)
    wanted = call(tessbed, name)
    assert (result.dtype, result.shape, result.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())
    assert (job.op, job.backend, job.verified, job.ok, job.complaints) == (name, "ev74", True, True, ())
    assert sum(job.parts.values()) == job.job_ticks > job.device_ticks > 0
    assert case_of(check_packet(job.packet)).op == name


@pytest.mark.parametrize("name", [*PACKED, *UNPACKED])
def test_no_call_reaches_the_a65(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The EV74's result comes from the device alone."""
    monkeypatch.setattr(executor.Executor, "execute", lambda *_: pytest.fail("A65"))
    assert call(tessbed.Ev74(), name)[1].verified


@pytest.mark.parametrize("case", [case for case in BY_HAND if case.geometry.op == "tess"], ids=lambda case: case.name)
def test_golden(case: ByHand) -> None:
    """Bytes written by hand come out of the device."""
    geometry = case.geometry
    x = np.ndarray(
        geometry.shape, np.int8 if geometry.dtype == "int8" else np.uint16, case.source, 0, geometry.strides_bytes
    )
    fill = geometry.fill if geometry.pad16 and geometry.dtype == "int8" else None
    channels = "pad16" if geometry.pad16 else "compact"
    tiles, job = tessbed.Ev74().tess(x, tile=tile_of(geometry), axes=letters_of(geometry), channels=channels, fill=fill)
    assert (tiles.tobytes().hex(), job.verified) == (case.expected.hex(), True)


@pytest.mark.parametrize("name", [*PACKED, *UNPACKED])
def test_engines_agree(name: str) -> None:
    """The exact engine has the ticks and no bytes, "verify" has both."""
    reports = {engine: call(tessbed.Ev74(engine=engine, trace=True), name) for engine in ("simpy", "exact", "verify")}
    assert reports["exact"][0] is None
    assert reports["exact"][1].verified is None
    assert {job.device_ticks for _, job in reports.values()} == {reports["simpy"][1].device_ticks}
    assert {job.job_ticks for _, job in reports.values()} == {reports["simpy"][1].job_ticks}
    traces = [sorted(reports[name][1].trace, key=lambda one: (one.worker, one.seq)) for name in ("simpy", "exact")]
    assert traces[0] == traces[1] != []


def test_a_kernel_stays_loaded() -> None:
    """Calls share a device: the second of a kind loads nothing, and takes that much less."""
    ev74 = tessbed.Ev74()
    (_, first), (_, second) = call(ev74, "tess"), call(ev74, "tess")
    assert first.parts["load"] == ev74.spec.kernel_load_ticks > second.parts["load"] == 0
    assert first.device_ticks == second.device_ticks


def test_ticks_are_those_of_a_scenario() -> None:
    """The same job in a scenario takes the same ticks."""
    job = {
        "name": "image", "op": "tess", "dtype": "int8", "shape": list(IMAGE.shape), "backend": "ev74",
        "tiled": {"axes": [-1, 0, 1, 2], "tile": [1, 16, 24, 3]}, "input": {"pattern": "golden"},
    }  # fmt: skip
    device = {"workers": 2, "dma": {"outstanding": 4}}
    ran = tessbed.Scenario.load({"name": "one", "device": device, "jobs": [job]}).run().job("image")
    _, here = call(tessbed.Ev74(**device), "tess")
    assert (here.device_ticks, here.job_ticks, here.parts) == (ran.device_ticks, ran.job_ticks, ran.parts)


def test_strided_arrays_stay_as_they_are() -> None:
    """A view is read at its strides, and `out` is written at its own: what lies between stays untouched."""
    ev74, channels_first = tessbed.Ev74(), IMAGE.transpose(2, 0, 1)
    tiles, job = ev74.tess(channels_first, tile=(3, 16, 24), axes="CHW")
    assert tiles.tobytes() == tessbed.tess(channels_first, tile=(3, 16, 24), axes="CHW").tobytes()
    assert check_packet(job.packet)["c_stride"] == 1
    base = np.full((40, 40, 6), 9, np.int8)
    _, job = ev74.detess(
        tiles, shape=(3, 40, 40), dtype="int8", tile=(3, 16, 24), axes="CHW", out=base.transpose(2, 0, 1)[::2]
    )
    assert job.verified
    assert np.array_equal(base[:, :, ::2], IMAGE)
    assert (base[:, :, 1::2] == 9).all()
    reversed_tiles, _ = ev74.tess(IMAGE[::-1], **LAYOUT)
    assert np.array_equal(reversed_tiles, tessbed.tess(IMAGE[::-1], **LAYOUT))


def test_bfloat16_and_empty() -> None:
    """ml_dtypes.bfloat16 comes back as such, and an empty tensor submits nothing."""
    ev74 = tessbed.Ev74()
    tiles, _ = ev74.tess(WORDS.view(ml_dtypes.bfloat16), **LAYOUT)
    back, _ = ev74.detess(tiles, shape=WORDS.shape, dtype=ml_dtypes.bfloat16, **LAYOUT)
    assert back.dtype == ml_dtypes.bfloat16
    assert back.tobytes() == WORDS.tobytes()
    nothing, job = ev74.tess(IMAGE[:0], **LAYOUT)
    assert (nothing.size, job.device_ticks, job.job_ticks, job.packet) == (0, 0, 0, b"")


def test_trace() -> None:
    """A trace has every transfer, and its columns are arrays."""
    _, job = call(tessbed.Ev74(trace=True), "tess")
    columns = job.trace_arrays()
    assert len(job.trace) == job.stats.transfers == len(columns["done"])
    assert columns["done"].max() <= job.device_ticks
    assert set(columns["kind"]) == {"read", "write"}
    assert call(tessbed.Ev74(), "tess")[1].trace == ()


def test_without_the_oracle() -> None:
    """`check=False` moves the same bytes and leaves them unjudged."""
    (tiles, job), (judged, _) = (call(tessbed.Ev74(check=check), "tess") for check in (False, True))
    assert job.verified is None
    assert tiles.tobytes() == judged.tobytes()


def test_wrong_bytes_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the device writes a wrong byte the report says where it is."""
    from tessbed.interface import device_session

    real = device_session.backends.run_result

    def corrupted(job: Any, output: np.ndarray) -> Any:
        output[5] ^= 1
        return real(job, output)

    monkeypatch.setattr(device_session.backends, "run_result", corrupted)
    _, job = call(tessbed.Ev74(), "tess")
    assert (job.verified, job.ok) == (False, False)
    assert "byte 5" in job.complaints[0]


def test_the_device_is_usable_after_an_error() -> None:
    """What is refused, and what the device faults on, leaves the next call as it would be."""
    ev74 = tessbed.Ev74(memory={"window_bytes": 1 << 16})
    with pytest.raises(HeapExhausted):
        ev74.tess(np.zeros((512, 512, 3), np.int8), **LAYOUT)
    with pytest.raises(ContractError, match="got uint8"):
        ev74.tess(IMAGE.view(np.uint8), **LAYOUT)
    with pytest.raises(BindingError, match="got 3 bytes, wanted at least"):
        ev74.detess(np.zeros(3, np.uint8), shape=IMAGE.shape, dtype="int8", **LAYOUT)
    assert call(ev74, "tess")[1].verified


def test_devices(tmp_path: Path) -> None:
    """A device is a preset, a file, a table, a spec, each with fields changed; numbers of numpy are numbers."""
    chip = tmp_path / "mychip.toml"
    chip.write_text('preset = "ev74-axi"\ncores = 2\nworkers = 2\n')
    for device in (chip, str(chip), {"preset": "ev74-axi", "cores": 2, "workers": 2}):
        spec = tessbed.Ev74(device, slots=np.int64(4), dma={"outstanding": np.int32(8)}).spec
        assert (spec.cores, spec.workers, spec.slots, spec.dma.outstanding) == (2, 2, 4, 8)
        assert spec.memory.split_port
    assert tessbed.Ev74(spec).spec is not spec or tessbed.Ev74(spec).spec == spec
    assert tessbed.Ev74(spec).with_fields(workers=1).spec.workers == 1
    assert tessbed.Ev74(dma=tessbed.DeviceSpec().dma).spec == tessbed.DeviceSpec()
    chip.write_text('preset = "ev74-axi"\ncoers = 2\nslots = 0\n')
    with pytest.raises(tessbed.ScenarioError) as caught:
        tessbed.Ev74(chip)
    assert [(problem.place.line, problem.place.column) for problem in caught.value.problems] == [(2, 1), (3, 9)]


ERRORS: dict[str, tuple[Callable[[], object], str]] = {
    "a preset misspelt": (
        lambda: tessbed.Ev74("ev74-4cor"),
        "device: got the text 'ev74-4cor', wanted a preset, .* or a DeviceSpec; .*did you mean ev74-4core?",
    ),
    "no file": (lambda: tessbed.Ev74("my.toml"), "device: got the text 'my.toml', wanted .*: there is no such file"),
    "a number": (lambda: tessbed.Ev74(4), "device: got 4, wanted a preset, "),
    "none": (lambda: tessbed.Ev74(None), "device: got None, wanted a preset, "),
    "an object": (lambda: tessbed.Ev74(object), "device: got a type, <class 'object'>, wanted a preset"),
    "a table's field": (lambda: tessbed.Ev74({"wokers": 2}), "wokers: unknown field 'wokers'; did you mean 'workers'"),
    "a field": (lambda: tessbed.Ev74(wokers=2), "wokers: unknown field 'wokers'; did you mean 'workers'"),
    "a value": (lambda: tessbed.Ev74(workers="two"), "workers: got 'two', wanted an integer from 1 to 64"),
    "a table": (lambda: tessbed.Ev74(dma=8), "dma: got 8, wanted a table of fields"),
    "engine": (lambda: tessbed.Ev74(engine="simpi"), "engine: got the text 'simpi', wanted .*; did you mean simpy?"),
    "trace": (
        lambda: tessbed.Ev74(trace="yes"),  # pyright: ignore
        "trace: got the text 'yes', wanted True or False",
    ),
    "seed": (lambda: tessbed.Ev74(seed=-1), "seed: got -1, wanted an integer from 0 to 18446744073709551615"),
    "operation": (lambda: tessbed.Ev74().pack("tes", IMAGE, **LAYOUT), "op: got the text 'tes', .*did you mean tess?"),
    "direction": (lambda: tessbed.Ev74().pack("detess", IMAGE, **LAYOUT), "op: got the text 'detess', wanted 'tess', "),
}


@pytest.mark.parametrize(("make", "text"), ERRORS.values(), ids=ERRORS.keys())
def test_errors(make: Callable[[], object], text: str) -> None:
    """Each argument that can not be is refused in one sentence, with the nearest right thing."""
    with pytest.raises(tessbed.SpecError, match=re.compile(text)) as caught:
        make()
    assert "\n" not in str(caught.value)
