"""Run: both backends are judged by the oracle, trouble ends a job and not the scenario."""

from pathlib import Path

import numpy as np
import pytest

from tessbed.scenarios.compose import compose
from tessbed.scenarios.overrides import apply
from tessbed.scenarios.report import document, exit_code, table
from tessbed.scenarios.run import Run, judge, run
from tessbed.scenarios.toml_source import parse
from tests.scenarios.texts import SMALL


def small(*settings: str) -> Run:
    """SMALL with overrides, run."""
    return run(compose(apply(parse(SMALL, "f"), settings), Path()))


@pytest.mark.quick
def test_document() -> None:
    """The document has the promised keys, and both backends the same verified bytes."""
    done = small("device.workers=2")
    told = document(done)
    assert list(told) == ["schema_version", "name", "verdict", "engine", "seed", "device", "notices", "jobs"]
    assert (told["schema_version"], told["name"], told["verdict"], told["engine"]) == (1, "small", "ok", "simpy")
    assert told["device"]["workers"] == 2
    assert told["device"]["dma"]["outstanding"] == 16
    for job in told["jobs"]:
        a65, ev74 = job["results"]["a65"], job["results"]["ev74"]
        assert a65["output_sha256"] == ev74["output_sha256"]
        assert a65["verified"] is ev74["verified"] is True
        assert ev74["job_ticks"] > ev74["ticks"] > 0 < a65["ticks"]
        assert ev74["workers"] == 2
        assert ev74["payload_bytes"]["write"] > 0 < ev74["transfers"]["read"]


def test_repetition() -> None:
    """Two runs of one scenario give one document, ticks included."""
    assert document(small()) == document(small())


def test_handles_are_kept_between_jobs() -> None:
    """All EV74 jobs share a device: the second job of a kernel and dtype loads nothing."""
    same = [
        'jobs.1.op="tess"', 'jobs.1.dtype="int8"', 'jobs.1.tiled={axes=[-1,0,1,2], tile=[1,2,2,4]}'
    ]  # fmt: skip
    text = SMALL.replace("cblocked = { tile = [2, 2, 4] }\n", "").replace('to = "fp32"\n', "")
    scenario = compose(apply(parse(text, "f"), [*same, "jobs.1.linear.strides_bytes=[20, 4, 1]"]), Path())
    loads = [job["results"]["ev74"]["parts_ticks"]["load"] for job in document(run(scenario))["jobs"]]
    assert loads == [5000, 0]


@pytest.mark.parametrize("offset", [0, 31, 239])
def test_a_wrong_byte_is_found(offset: int) -> None:
    """One flipped byte anywhere in an output turns the verdict, and the report names it."""
    scenario = compose(parse(SMALL, "f"), Path())
    done = run(scenario)
    job, right = done.jobs[0].job, done.jobs[0].outcomes[0].run
    assert right is not None
    source = np.frombuffer(bytes((k * 2654435761 % 2**32) >> 24 for k in range(60)), np.uint8)
    from tessbed.scenarios.backends import run_a65

    again = run_a65(job.plan, source, 0xC3)
    assert judge("a65", job, source, again).ok
    again.output[offset] ^= 1
    outcome = judge("a65", job, source, again)
    assert outcome.mismatch is not None
    assert (outcome.mismatch.offset, outcome.ok) == (offset, False)


def test_unexpected_hash() -> None:
    """Right bytes under a hash that the scenario does not expect fail it, with exit code 1."""
    done = small(f'jobs.0.expect={{ output_sha256 = "{"0" * 64}" }}')
    assert (document(done)["verdict"], exit_code(done)) == ("failed", 1)
    assert (
        document(done)["jobs"][0]["results"]["a65"] | {"as_expected": False}
        == document(done)["jobs"][0]["results"]["a65"]
    )
    assert any("the scenario expects 000000" in line for line in table(done))


FAULT = "jobs.0.faults=[{ kind = 'dma_error', transfer = 0 }]"
STALL = "jobs.0.faults=[{ kind = 'stall', transfer = 0 }]"


def test_fault() -> None:
    """A device fault fails its job alone, with exit code 3; the next job is right."""
    done = small(FAULT)
    struck, behind = (job["results"]["ev74"] for job in document(done)["jobs"])
    assert (struck["trouble"]["kind"], struck["trouble"]["status"]) == ("fault", "dma_error")
    assert (struck["output_sha256"], struck["verified"], struck["ticks"]) == (None, False, None)
    assert behind["verified"] is True
    assert exit_code(done) == 3


def test_hang() -> None:
    """A hang is diagnosed, the device is reset, and the next job runs."""
    done = small(STALL)
    stuck, behind = (job["results"]["ev74"] for job in document(done)["jobs"])
    assert stuck["trouble"]["kind"] == "hang"
    assert "waits for transfers [0]" in stuck["trouble"]["text"]
    assert behind["verified"] is True
    assert exit_code(done) == 3


def test_lost_completion() -> None:
    """A job whose completion never comes is lost after its timeout; a lost interrupt alone is found by looking."""
    lost = small("jobs.0.faults=[{ kind = 'lost' }]", "jobs.0.timeout_ticks=400000")
    assert lost.jobs[0].outcomes[1].trouble is not None
    assert lost.jobs[0].outcomes[1].trouble.status == "lost"
    assert lost.jobs[1].outcomes[1].verified
    polled = small("jobs.0.faults=[{ kind = 'lost_interrupt' }]", "jobs.0.timeout_ticks=400000")
    assert polled.ok
    assert document(polled)["notices"] == {"polled": 1}


def test_idle_fault() -> None:
    """A fault that strikes nothing is told: silence would look like resilience."""
    done = small("jobs.0.faults=[{ kind = 'dma_error', worker = 63 }]")
    assert done.ok
    assert "pack on ev74: the fault dma_error struck nothing: worker 63 made 0 transfers" in table(done)


EXPECTED = [
    ((FAULT, "jobs.0.expect.fault=dma_error"), 0),
    ((STALL, "jobs.0.expect.fault=hang"), 0),
    ((FAULT, "jobs.0.expect.fault=hang"), 3),
    (("jobs.0.expect.fault=dma_error",), 1),
]


@pytest.mark.parametrize(("settings", "code"), EXPECTED, ids=["fault", "hang", "other fault", "no fault"])
def test_expected_faults(settings: tuple[str, ...], code: int) -> None:
    """A fault that the scenario expects is ok; another one, or none, is not."""
    assert exit_code(small(*settings)) == code


def test_empty_submits_nothing() -> None:
    """An empty tensor takes no ticks and leaves the numbering of faults to the jobs that are submitted."""
    done = small("jobs.0.shape=[0, 5, 4]", "jobs.1.faults=[{ kind = 'dma_error', transfer = 0 }]")
    empty, struck = (job["results"]["ev74"] for job in document(done)["jobs"])
    assert (empty["ticks"], empty["job_ticks"], empty["workers"], empty["output_bytes"]) == (0, 0, 0, 0)
    assert empty["output_sha256"] == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert struck["trouble"]["status"] == "dma_error"


@pytest.mark.parametrize("prefill", [0, 0x5A])
def test_gaps_hold_the_prefill(prefill: int) -> None:
    """Stride gaps keep whatever byte the scenario fills the output with, and the oracle checks it."""
    assert small(f"jobs.1.output_prefill={prefill}", "jobs.1.linear.strides_bytes=[120, 24, 4]").ok
