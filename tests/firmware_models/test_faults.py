"""The device goes wrong under real firmware: the record says how, and nothing outside the owned region changes."""

from itertools import pairwise

import numpy as np
import pytest

from tessbed.firmware_models import refusals
from tessbed.firmware_models.ops import unpack
from tessbed.firmware_models.partition import cut_elements
from tessbed.sim import completion_record
from tessbed.sim.errors import HangError
from tessbed.sim.fault_injection import Fault, by_number
from tests.firmware_models.rig import Rig, build, device_geometry, launch, source_of
from tests.geometries import name_of, random_geometries
from tests.oracle import PREFILL, Geometry, expected_output

HWC = (-1, 0, 1, 2)
# Four workers, several bands each, stride gaps between rows: an untouched byte is to be found everywhere.
GEOMETRY = Geometry("detess", (48, 24, 32), "bf16", HWC, (1, 4, 24, 32), strides_bytes=(1600, 64, 2))


def struck(kind: str, worker: int, transfer: int, **changes: object) -> Rig:
    """A device whose first job has one fault."""
    fault = Fault(kind, worker=worker, transfer=transfer)
    return build(GEOMETRY, changes, faults=by_number({0: [fault]}))


def correct_or_untouched(rig: Rig) -> np.ndarray:
    """Which output bytes are as they were; every other is what the oracle says."""
    output = rig.span()
    expected = np.frombuffer(expected_output(GEOMETRY, source_of(GEOMETRY)), np.uint8)
    untouched = output == PREFILL
    assert (untouched | (output == expected)).all()
    gaps = np.frombuffer(expected_output(GEOMETRY, source_of(GEOMETRY), PREFILL ^ 0xFF), np.uint8) != expected
    assert untouched[gaps].all()
    return untouched


@pytest.mark.parametrize("transfer", range(6))
@pytest.mark.parametrize("worker", [0, 3])
def test_dma_error(worker: int, transfer: int) -> None:
    """A bus error on any transfer of any worker: status, address, and not one wrong byte anywhere."""
    rig = struck("dma_error", worker, transfer)
    done = rig.run()
    assert done.record is not None
    assert done.record.completion.status == completion_record.STATUS["dma_error"]
    assert done.record.completion.detail >= rig.device.spec.memory.window_base
    assert not done.strayed
    untouched = correct_or_untouched(rig)
    assert untouched.any()


@pytest.mark.parametrize("transfer", [0, 1, 4])
def test_dead_worker(transfer: int) -> None:
    """A worker that dies ends the job with its number; the stretch behind its death stays as it was."""
    rig = struck("worker_died", 2, transfer)
    done = rig.run()
    assert done.record is not None
    assert done.record.completion.status == completion_record.STATUS["worker_died"]
    assert done.record.completion.detail == 2
    assert not done.strayed
    correct_or_untouched(rig)
    device = device_geometry(GEOMETRY)
    levels = [dimension.level for dimension in unpack.output_dimensions(device)]
    cuts = cut_elements(levels, 2, device.output_address, 64, 4)
    rows = [cut // (24 * 32) * 1600 for cut in cuts]
    first, _, third, _ = (rig.span()[low:high] for low, high in pairwise(rows))
    assert (first != PREFILL).any()
    assert (third[-24 * 32 * 2 :] == PREFILL).all()


def test_the_next_job_is_right() -> None:
    """A fault ends its own job only."""
    rig = struck("dma_error", 1, 3)
    rig.run()
    rig.span()[:] = PREFILL
    again = rig.run()
    assert again.record is not None
    assert again.record.completion.status == 0
    assert again.output == expected_output(GEOMETRY, source_of(GEOMETRY))


@pytest.mark.parametrize("transfer", [0, 1])
def test_stalled_channel(transfer: int) -> None:
    """A channel that never ends is a hang that names the job, the worker, the transfer and the channel, with ticks."""
    rig = struck("stall", 1, transfer)
    with pytest.raises(HangError) as hang:
        rig.run()
    text = str(hang.value)
    kind = "read" if transfer == 0 else "write"
    assert "job 0 waits for workers [1]" in text
    assert f"transfer {transfer} of worker 1 waits for {kind} channel" in text
    assert [str(cause).split(":")[0] for cause in hang.value.causes] == ["lost signal"]
    assert text.count("since tick") == len(hang.value.waiting) + 1
    correct_or_untouched(rig)


def test_a_stalled_channel_starves_the_others() -> None:
    """With one channel for all, the diagnosis shows who has the channel and who only waits for one."""
    rig = struck("stall", 0, 0, dma={"read_channels": 1})
    with pytest.raises(HangError) as hang:
        rig.run()
    text = str(hang.value)
    assert "transfer 0 of worker 0 waits for read channel 0, which stalled" in text
    for worker in (1, 2, 3):
        assert f"starvation: transfer 0 of worker {worker} waits for a read channel and a credit, held by" in text


def test_unmapped_behind_the_probe() -> None:
    """A buffer that vanishes after the entry's probe faults on its first access, without a byte written."""
    rig = build(GEOMETRY)
    (output,) = (mapping for mapping in rig.device.memory.mappings if mapping.array is rig.target)
    dispatched = rig.device.spec.dispatch_ticks + rig.device.spec.decode_ticks + 1
    event = rig.device.env.timeout(dispatched)
    event.callbacks.append(lambda _: rig.device.memory.unmap(output))
    done = rig.run()
    assert done.record is not None
    assert done.record.completion.status == completion_record.STATUS["unmapped"]
    assert output.address <= done.record.completion.detail < output.end
    assert set(done.output) == {PREFILL}


@pytest.mark.parametrize("port", ["input", "output"])
def test_unmapped_buffers_are_refused_at_entry(port: str) -> None:
    """Entry probes both buffers: what is not mapped is refused before a worker starts."""
    rig = build(GEOMETRY)
    wanted = rig.target if port == "output" else rig.device.memory.mappings[2].array
    (mapping,) = (mapping for mapping in rig.device.memory.mappings if mapping.array is wanted)
    rig.device.memory.unmap(mapping)
    done = rig.run()
    assert done.record is not None
    assert done.record.completion.status == refusals.REFUSAL_BY_CODE["unmapped"].status
    assert done.stats.transfers == 0


def test_random_errors_never_write_a_wrong_byte() -> None:
    """A bus error at random in random jobs: each byte is the right one or the old one."""
    hit = 0
    for index, geometry in enumerate(random_geometries(40, seed=51)):
        if 0 in geometry.shape:
            continue
        plan = by_number({0: [Fault("dma_error", worker=index % 3, transfer=index % 4)]})
        done = launch(geometry, {"workers": 3, "write_granule_bytes": 128}, faults=plan)
        assert done.record is not None
        hit += done.record.completion.status != 0
        wanted = expected_output(geometry, source_of(geometry))
        pairs = zip(done.output, wanted, strict=True)
        assert all(got in (want, PREFILL) for got, want in pairs), name_of(geometry)
        assert not done.strayed
    assert hit > 10
