"""Ev74.run: a kernel of one's own, its arrays by port, its arguments by name."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessbed
from tessbed.runtime.errors import JobFault

A = np.arange(96 * 64, dtype=np.int64).astype(np.uint8).reshape(96, 64)


def same(source: np.ndarray, target: np.ndarray) -> None:
    """The bytes as they are."""
    target[...] = source


@tessbed.kernel(outputs=["dst"], api=1)
def copy(w: Any, src: Any, dst: Any) -> Any:
    """Every byte in its place."""
    for box in w.own(dst):
        yield w.band(src[box], dst[box], same)


@tessbed.kernel(outputs=["low", "high"], api=1)
def halves(w: Any, one: Any, two: Any, low: Any, high: Any, *, bias: int = 1) -> Any:
    """Both inputs plus a bias, each to an output of its own."""
    for source, target in ((one, low), (two, high)):
        for box in w.own(target):
            yield w.band(source[box], target[box], partial(np.add, np.uint8(bias)))


@halves.reference
def halves_reference(one: np.ndarray, two: np.ndarray, *, bias: int) -> tuple[np.ndarray, np.ndarray]:
    """What `halves` is to do."""
    return one + np.uint8(bias), two + np.uint8(bias)


@tessbed.kernel(outputs=["dst"], api=1)
def wrong(w: Any, src: Any, dst: Any) -> Any:
    """Not what its reference says."""
    for box in w.own(dst):
        yield w.band(src[box], dst[box], partial(np.bitwise_xor, np.uint8(4)))


@wrong.reference
def wrong_reference(src: np.ndarray) -> np.ndarray:
    """A copy."""
    return src


@tessbed.kernel(outputs=["dst"], level="body", api=1)
def walk(w: Any, src: Any, dst: Any) -> Any:
    """A copy that does its waits itself, row by row."""
    yield from w.wait_drains()


@tessbed.kernel(outputs=["dst"], api=1)
def failing(w: Any, src: Any, dst: Any) -> Any:
    """Fails on the device."""
    for box in w.own(dst):
        yield w.band(src[box], dst[box], lambda source, target: source[10**6])


def test_one_output() -> None:
    """`out` is filled and returned, with a report that adds up; without a reference nothing is judged."""
    ev74, out = tessbed.Ev74(workers=2, trace=True), np.empty_like(A)
    made, job = ev74.run(copy, A, out=out)
    assert made is out
    assert np.array_equal(out, A)
    assert (job.verified, job.ok, job.name, job.workers) == (None, True, "copy", 2)
    assert sum(job.parts.values()) == job.job_ticks
    assert job.device_ticks
    assert sum(record.payload_bytes for record in job.trace if record.kind == "write") == A.nbytes
    assert ev74.tess(A.view(np.int8)[:, :, None], tile=(16, 16, 1))[1].verified


def test_two_outputs_and_an_argument() -> None:
    """Outputs come back in the form in which they were asked for; the reference judges them."""
    ev74, inputs = tessbed.Ev74(), (A, A[::-1].copy())
    for out in ((np.empty_like(A), np.empty_like(A)), {"high": np.empty_like(A), "low": np.empty_like(A)}):
        made, job = ev74.run(halves, *inputs, out=out, bias=np.int64(7))
        low, high = made if isinstance(made, tuple) else (made["low"], made["high"])
        assert np.array_equal(low, A + np.uint8(7))
        assert np.array_equal(high, inputs[1] + np.uint8(7))
        assert job.verified


def test_a_wrong_kernel_is_reported() -> None:
    """Where the reference differs the report says where first."""
    out, job = tessbed.Ev74().run(wrong, A, out=np.empty_like(A))
    assert np.array_equal(out, A ^ np.uint8(4))
    assert (job.verified, job.ok) == (False, False)
    assert job.complaints[0].startswith("kernel and reference differ: dst[0, 0] is 4, the reference says 0; 6,144 of")


def test_a_kernel_of_a_file(tmp_path: Path) -> None:
    """A kernel is named by its file, too."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import tessbed\n\n@tessbed.kernel(outputs=['dst'], api=1)\ndef copy(w, src, dst):\n"
        "    for box in w.own(dst):\n        yield w.band(src[box], dst[box], same)\n\n"
        "def same(source, target):\n    target[...] = source\n"
    )
    out, _ = tessbed.Ev74().run(f"{file}:copy", A, out=np.empty_like(A))
    assert np.array_equal(out, A)


def test_the_device_goes_on_after_a_failure() -> None:
    """A kernel that fails ends its own job; the next one runs on the same device."""
    ev74 = tessbed.Ev74()
    with pytest.raises(JobFault) as caught:
        ev74.run(failing, A, out=np.empty_like(A))
    assert "IndexError" in str(caught.value)
    assert "test_kernels.py" in str(caught.value)
    out, _ = ev74.run(copy, A, out=np.empty_like(A))
    assert np.array_equal(out, A)


def test_engines() -> None:
    """The exact engine has the ticks of the event engine and moves no byte; "verify" compares both."""
    reports = {
        engine: tessbed.Ev74(engine=engine, workers=3).run(halves, A, A, out=(np.empty_like(A), np.empty_like(A)))
        for engine in ("simpy", "exact", "verify")
    }
    assert reports["exact"][0] is None
    assert reports["exact"][1].verified is None
    assert len({(job.device_ticks, job.job_ticks) for _, job in reports.values()}) == 1
    assert reports["verify"][1].verified


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "no kernel": (
        lambda: tessbed.Ev74().run(len, A),
        "kernel: got a builtin_function_or_method, .*wanted a function",
    ),
    "no file": (lambda: tessbed.Ev74().run("nope.py:copy", A), "nope.py"),
    "inputs": (lambda: tessbed.Ev74().run(halves, A), "inputs: got 1 arrays, wanted 2, one for each of one, two"),
    "outputs": (
        lambda: tessbed.Ev74().run(halves, A, A, out=np.empty_like(A)),
        "out: got 1 arrays, wanted 2, one for each of low, high",
    ),
    "a name": (
        lambda: tessbed.Ev74().run(halves, A, A, out={"lo": np.empty_like(A)}),
        "out: got the text 'lo', wanted names of outputs: low, high; did you mean low?",
    ),
    "an argument": (lambda: tessbed.Ev74().run(halves, A, A, bais=3), "bais"),
    "a body": (
        lambda: tessbed.Ev74(engine="exact").run(walk, A),
        "engine: got 'exact', wanted 'simpy': walk is at level",
    ),
    "read-only": (
        lambda: tessbed.Ev74().run(copy, A, out=b"123"),
        "out dst: got a bytes, .*wanted an array that",
    ),
}


@pytest.mark.parametrize(("make", "text"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes(make: Callable[[], object], text: str) -> None:
    """What does not fit the kernel is refused with both sides."""
    with pytest.raises(ValueError, match=re.compile(text)):
        make()


def _of_level(level: Any) -> Any:
    """A kernel "both" of this file, at a level: one source and one name."""

    @tessbed.kernel(outputs=["dst"], level=level, api=1)
    def both(w: Any, src: Any, dst: Any) -> Any:
        for box in w.own(dst):
            if level == "bands":
                yield w.band(src[box], dst[box], same)
            else:
                here = w.input.view(src[box])
                yield from w.gather(src[box], here)
                yield from w.pack(0, same, [here], dst[box], 10)
                yield from w.wait_drains()

    return both


def test_kernels_of_one_name_and_source() -> None:
    """A packet asks for the level of its own kernel, whatever else of that name ran before."""
    ev74 = tessbed.Ev74(workers=1)
    data = np.arange(100, dtype=np.uint8)
    for level in ("body", "bands", "body"):
        assert (ev74.run(_of_level(level), data)[0] == data).all()
