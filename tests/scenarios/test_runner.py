"""Run: both backends are judged by the oracle, trouble ends a job and not the scenario."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessbed.runtime.memory.cpu_cache import Cache
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.overrides import apply
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.judgement import judge_output
from tessbed.scenarios.outcome import ScenarioRun
from tessbed.scenarios.report import document, exit_code, report_table
from tessbed.scenarios.run_folder import contents
from tessbed.scenarios.runner import run_scenario
from tessbed.sim.fault_injection import FAULT_KINDS
from tests.scenarios.texts import SMALL


def small(*settings: str) -> ScenarioRun:
    """SMALL with overrides, run."""
    return run_scenario(compose(apply(parse_toml(SMALL, "f"), settings), Path()))


@pytest.mark.quick
def test_document() -> None:
    """The document has the promised keys, and both backends the same verified bytes."""
    done = small("device.workers=2")
    reported = document(done)
    assert list(reported) == [
        "schema_version",
        "name",
        "verdict",
        "engine",
        "seed",
        "device",
        "calibration",
        "notices",
        "jobs",
    ]
    assert (reported["schema_version"], reported["name"], reported["verdict"], reported["engine"]) == (
        1,
        "small",
        "ok",
        "simpy",
    )
    assert reported["device"]["workers"] == 2
    assert reported["device"]["dma"]["outstanding"] == 16
    for job in reported["jobs"]:
        a65, ev74 = job["results"]["a65"], job["results"]["ev74"]
        assert a65["output_sha256"] == ev74["output_sha256"]
        assert a65["verified"] is ev74["verified"] is True
        assert ev74["job_ticks"] > ev74["ticks"] > 0 < a65["ticks"]
        assert ev74["workers"] == 2
        assert ev74["payload_bytes"]["write"] > 0 < ev74["transfers"]["read"]


def test_repetition() -> None:
    """Two runs of one scenario give one document, ticks included."""
    assert document(small()) == document(small())


CACHED = ("jobs.0.policy=cached", "jobs.1.policy=cached")


def test_a_cached_job_goes_through_the_cpus_cache(monkeypatch) -> None:
    """Bytes and ticks are those without a cache; where its lines are never cleaned, the device reads something else."""
    plain = results_of()
    assert results_of(*CACHED) == plain
    monkeypatch.setattr(Cache, "clean", lambda cache, start, end: None)
    assert results_of() == plain
    hashes = [[result["ev74"]["output_sha256"] for result in found] for found in (plain, results_of(*CACHED))]
    assert all(right != stale for right, stale in zip(*hashes, strict=True))


def results_of(*settings: str) -> list[Any]:
    """The results of each job of SMALL, by backend."""
    return [job["results"] for job in document(small(*settings))["jobs"]]


def test_handles_are_kept_between_jobs() -> None:
    """All EV74 jobs share a device: the second job of a kernel and dtype loads nothing."""
    same = [
        'jobs.1.op="tess"', 'jobs.1.dtype="int8"', 'jobs.1.tiled={axes=[-1,0,1,2], tile=[1,2,2,4]}'
    ]  # fmt: skip
    text = SMALL.replace("cblocked = { tile = [2, 2, 4] }\n", "").replace('to = "fp32"\n', "")
    scenario = compose(apply(parse_toml(text, "f"), [*same, "jobs.1.linear.strides_bytes=[20, 4, 1]"]), Path())
    loads = [job["results"]["ev74"]["parts_ticks"]["load"] for job in document(run_scenario(scenario))["jobs"]]
    assert loads == [5000, 0]


@pytest.mark.parametrize("offset", [0, 31, 239])
def test_a_wrong_byte_is_found(offset: int) -> None:
    """One flipped byte anywhere in an output turns the verdict, and the report names it."""
    scenario = compose(parse_toml(SMALL, "f"), Path())
    done = run_scenario(scenario)
    job, right = done.jobs[0].job, done.jobs[0].outcomes[0].run
    assert right is not None
    source = np.frombuffer(bytes((k * 2654435761 % 2**32) >> 24 for k in range(60)), np.uint8)
    from tessbed.scenarios.backends import run_a65

    again = run_a65(job.plan, source, 0xC3)
    assert judge_output("a65", job, source, again).ok
    again.output[offset] ^= 1
    outcome = judge_output("a65", job, source, again)
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
    assert any("the scenario expects 000000" in line for line in report_table(done))


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


IDLE = {
    "a transfer too far": (
        "[{kind='dma_error', transfer=9}]",
        "got transfer 9 of worker 0, wanted 0 to 1: it makes 2",
        (),
    ),
    "behind another": (
        "[{kind='worker_died'}, {kind='dma_error', transfer=1}]",
        "but the job ended early, in worker_died, after 0 transfers",
        ("fault=worker_died",),
    ),
    "no interrupt to repeat": ("[{kind='lost_interrupt'}, {kind='repeated'}]", "completion", ()),
    "nothing behind a hang": ("[{kind='stall'}, {kind='torn_record'}]", "completion", ("fault=hang",)),
    "cut off by the reset": ("[{kind='repeated'}]", "completion", ("fault=lost", "timeout_ticks=5")),
}


@pytest.mark.parametrize(("faults", "text", "more"), IDLE.values(), ids=IDLE.keys())
def test_idle_fault(faults: str, text: str, more: tuple[str, ...]) -> None:
    """A fault that strikes nothing fails the run with exit code 1, even one that ends as expected."""
    more = tuple(f"jobs.0.{'expect.' * what.startswith('fault')}{what}" for what in more)
    reset = ("device.reset_ticks=9",) if "jobs.0.timeout_ticks=5" in more else ()
    polled = ("jobs.0.timeout_ticks=900000",) if "lost_interrupt" in faults else ()
    done = small(f"jobs.0.faults={faults}", *more, *reset, *polled)
    kinds = [fault.kind for fault in done.scenario.jobs[0].faults]
    assert (done.ok, exit_code(done)) == (False, 1)
    assert [text.split()[2] for text in done.jobs[0].outcomes[1].idle] == kinds[-1:]
    assert any(
        f"pack on ev74: the fault {kinds[-1]} struck nothing" in line and text in line for line in report_table(done)
    )
    assert document(done)["jobs"][0]["results"]["ev74"]["idle_faults"] == list(done.jobs[0].outcomes[1].idle)
    assert done.jobs[1].outcomes[1].ok


STRIKING = {
    "dma_error": ("", "fault=dma_error"), "worker_died": ("", "fault=worker_died"), "stall": ("", "fault=hang"),
    "lost": ("", "fault=lost", "timeout_ticks=900000"), "lost_interrupt": ("", "timeout_ticks=900000"),
    "torn_record": ("", "fault=lost", "timeout_ticks=900000"), "late": (", ticks=7",),
    "repeated": (", ticks=1099511627776",), "early": (", ticks=7",), "stranger": ("",),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_every_kind_strikes_behind_the_last_job(kind: str) -> None:
    """Each kind of fault takes effect on the last job of a run, which goes on until all its interrupts are in."""
    where, *more = STRIKING[kind]
    settings = [f"jobs.1.{'expect.' * what.startswith('fault')}{what}" for what in more]
    done = small(f"jobs.1.faults=[{{ kind = '{kind}'{where} }}]", *settings)
    assert (done.jobs[1].outcomes[1].idle, done.ok) == ((), True)
    noticed = {
        "repeated": "repeated",
        "early": "unconfirmed",
        "stranger": "unknown",
        "lost_interrupt": "polled",
        "torn_record": "unconfirmed",
    }
    assert document(done)["notices"] == ({noticed[kind]: 1} if kind in noticed else {})


def test_two_faults_of_one_kind_both_strike() -> None:
    """Two interrupts too many are two, each at its own tick."""
    done = small("jobs.1.faults=[{ kind = 'repeated', ticks = 3 }, { kind = 'repeated', ticks = 9 }]")
    assert (done.ok, document(done)["notices"]) == (True, {"repeated": 2})


@pytest.mark.parametrize("reset_ticks", [0, 1, 200_000, 10_000_000])
@pytest.mark.parametrize("timeout_ticks", [1, 100, 5_000, 150_000])
def test_a_timeout_is_a_limit(timeout_ticks: int, reset_ticks: int) -> None:
    """Without a record at submission + timeout the job is lost at that tick, whatever a reset takes."""
    limit = f"jobs.0.timeout_ticks={min(timeout_ticks, 100_000)}"
    done = small(limit, f"device.reset_ticks={reset_ticks}", "jobs.0.expect.fault=lost")
    result = document(done)["jobs"][0]["results"]["ev74"]
    assert (done.ok, result["trouble"]["status"]) == (True, "lost")
    assert result["job_ticks"] == min(timeout_ticks, 100_000) == sum(result["parts_ticks"].values())
    assert done.jobs[1].outcomes[1].verified


def test_a_record_in_place_at_the_limit_ends_the_job() -> None:
    """From the tick of the record on a timeout finds it, with parts and transfers; at the interrupt it need not."""
    ticks = document(small())["jobs"][0]["results"]["ev74"]["job_ticks"]
    for limit, status, notices in (
        (ticks - 50_001, "lost", {"late": 1}),
        (ticks - 50_000, "", {"polled": 1}),
        (ticks - 1, "", {"polled": 1}),
        (ticks, "", {}),
    ):
        done = small(f"jobs.0.timeout_ticks={limit}")
        result = document(done)["jobs"][0]["results"]["ev74"]
        assert result.get("trouble", {"status": ""})["status"] == status
        assert result["job_ticks"] == sum(result["parts_ticks"].values()) == limit
        assert document(done)["notices"] == notices
        assert bool(contents(done)["transfers/00-pack.csv"]) if not status else True


UNMET = {
    "workers": ("jobs.0.workers=1", "workers"),
    "timeout": ("jobs.0.timeout_ticks=9", "timeout_ticks"),
    "faults": ("jobs.0.faults=[{ kind = 'lost' }]", "faults"),
    "expected fault": ("jobs.0.expect.fault='lost'", "expect.fault"),
}


@pytest.mark.parametrize(("setting", "key"), UNMET.values(), ids=UNMET.keys())
def test_what_only_ev74_knows_is_refused_on_a65(setting: str, key: str) -> None:
    """A setting of a device that does not run is an error in its place; on both backends it is none."""
    name, _, value = setting.removeprefix("jobs.0.").partition("=")
    line = f"{name} = {value}\n"
    text = SMALL.replace('op = "tess"\n', f'op = "tess"\n{line}', 1)
    at = text[: text.index(line)].count("\n") + 1
    compose(parse_toml(text, "f"), Path())
    with pytest.raises(ScenarioError, match=rf"^f:{at}:\d+: jobs\[0\]\.{key}: got .* only a65 runs") as caught:
        compose(apply(parse_toml(text, "f"), ["jobs.*.backend=a65"]), Path())
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("setting", ["jobs.0.faults=[{ kind = 'lost' }]", "jobs.0.expect.fault=lost"])
def test_faults_of_an_empty_tensor_are_refused(setting: str) -> None:
    """Nothing is submitted, so nothing can fail."""
    with pytest.raises(ScenarioError, match="on an empty tensor"):
        small("jobs.0.shape=[0, 5, 4]", setting)


def test_a_fault_of_a_worker_that_is_not_there_is_refused() -> None:
    """A worker's number is below the job's workers."""
    small("jobs.0.workers=2", "jobs.0.faults=[{ kind = 'dma_error', worker = 1 }]")
    with pytest.raises(ScenarioError, match=r"faults\[0\].worker: got 2, wanted at most 1"):
        compose(
            apply(parse_toml(SMALL, "f"), ["jobs.0.workers=2", "jobs.0.faults=[{ kind = 'stall', worker = 2 }]"]),
            Path(),
        )


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


NEVER = {
    "a worker that is not there": ("[{kind='stall', worker=3}]", "jobs.0.workers=2", "worker: got 3, wanted at most 1"),
    "late by no tick": ("[{kind='lost'}, {kind='late'}]", "seed=0", "ticks: got 0 on a late completion"),
}


@pytest.mark.parametrize(("faults", "setting", "words"), NEVER.values(), ids=NEVER.keys())
def test_a_fault_that_never_strikes_is_refused(faults: str, setting: str, words: str) -> None:
    """What no run can meet is an error in its place, before anything runs."""
    with pytest.raises(ScenarioError, match=r"jobs\[0\]\.faults\[[01]\]\." + words):
        small(f"jobs.0.faults={faults}", setting)
