"""Timelines of kernels of one's own: their slices are their ticks, at the lines of their source."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tessbed
from tessbed.cli import main
from tessbed.runtime.errors import JobFault
from tessbed.scenarios.timeline.formats import profile
from tessbed.sim.errors import SpecError
from tests.scenarios.timeline.decoded import decode_trace

EXAMPLES = Path(__file__).parents[3] / "examples"
IMAGE = (np.arange(640 * 640) % 251).astype(np.uint8).reshape(640, 640)


@pytest.mark.parametrize("workers", [1, 4, 9])
def test_slices_of_a_kernel_sum_to_its_workers_ticks(workers, tmp_path) -> None:
    """For every core, issue, compute and each kind of wait are what its workers counted; each has its source line."""
    device = tessbed.Ev74(workers=workers)
    with device.timeline(tmp_path / "copy.pftrace"):
        _, job = device.run(f"{EXAMPLES / 'copy.py'}:copy", IMAGE, out=np.empty_like(IMAGE))
    shown, cores = decode_trace(tmp_path / "copy.pftrace"), device.spec.cores
    alone, plain = tessbed.Ev74(workers=workers).run(f"{EXAMPLES / 'copy.py'}:copy", IMAGE, out=np.empty_like(IMAGE))
    assert job.device_ticks == plain.device_ticks
    assert (alone == IMAGE).all()
    for core in range(min(cores, workers)):
        reported: Counter[str] = Counter()
        for one in shown.on(f"core {core} bands"):
            if one.name in ("issue", "compute") or one.name.startswith("wait "):
                reported[one.name.removeprefix("wait ")] += one.ticks
                assert one.args.get("source", "copy.py:").startswith("copy.py:")
        busy = [one for one in shown.on(f"core {core} workers") if one.name.startswith("worker ")]
        assert sum(reported.values()) == sum(one.ticks for one in busy)
    lines = {one.args.get("source") for core in range(cores) for one in shown.on(f"core {core} bands")}
    assert "copy.py:9" in lines


def test_what_is_wrong_with_a_kernel_is_marked(tmp_path) -> None:
    """A kernel with a hazard fails, and its timeline is written, with the finding and its source lines."""
    device, rows = tessbed.Ev74(workers=2), np.ones((64, 40), np.uint8)
    with pytest.raises(JobFault), device.timeline(tmp_path / "race.pftrace"):
        device.run(f"{EXAMPLES / 'race.py'}:race", rows, out=np.zeros_like(rows))
    marks = decode_trace(tmp_path / "race.pftrace").on("faults, hazards and races")
    assert marks
    assert all("race.py:" in one.args["text"] for one in marks)


def test_a_device_goes_on_after_its_timeline(tmp_path) -> None:
    """Two timelines of one device begin where the device is, and what runs between them is in neither."""
    device, x = tessbed.Ev74(), np.ones((8, 8, 3), np.int8)
    for name in ("one.jsonl", "two.pftrace"):
        with device.timeline(tmp_path / name):
            device.tess(x, tile=(4, 8, 3))
        device.tess(x, tile=(4, 8, 3))
    shown = decode_trace(tmp_path / "two.pftrace")
    assert len(shown.tracks("jobs")) == 1
    assert min(one.begin for one in shown.on("device job")) > 200_000


@pytest.mark.parametrize(("engine", "name"), [("simpy", "run.txt"), ("exact", "run.pftrace")])
def test_what_has_no_timeline_is_refused(engine, name, tmp_path) -> None:
    """A suffix that means no format, and the engine that has no events."""
    with pytest.raises(SpecError, match="timeline: got"), tessbed.Ev74(engine=engine).timeline(tmp_path / name):
        pass
    assert not [*tmp_path.iterdir()]


def test_a_profile_of_a_kernel_is_by_its_lines(capsys) -> None:
    """The ticks of each line sum to those of the cores; there is no table of tiles, which a kernel has not."""
    with pytest.raises(SystemExit) as ended:
        main(["profile", f"{EXAMPLES / 'copy.py'}:copy", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    lines = document["sources"]
    assert {line for line in lines if line} == {"copy.py:9"}
    total = sum(sum(steps.values()) for steps in document["cores"].values())
    assert sum(sum(steps.values()) for steps in lines.values()) == total
    text = "\n".join(profile.lines(document))
    assert "copy.py:9" in text
    assert not any(line.startswith("tiles") for line in text.splitlines())
