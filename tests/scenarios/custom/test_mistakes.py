"""A kernel's mistakes end its job, at its line, and the device goes on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessbed
from tessbed.firmware_models.custom.image_kernels import ImageKernels
from tessbed.firmware_models.custom.planning import KernelFailure
from tessbed.firmware_models.image import FirmwareImage
from tessbed.kernels.custom.encode import encode_kernel
from tessbed.kernels.custom.kernel_plan import plan_kernel
from tessbed.kernels.errors import BindingError
from tessbed.runtime.errors import CapabilityError, JobFault
from tessbed.runtime.runtime import Runtime
from tessbed.scenarios.custom.kernel_run import plan_for_arrays, run_on
from tessbed.sim.device.device import Device
from tessbed.sim.spec.device_spec import DeviceSpec

PORTS: dict[str, Any] = {"inputs": {"src": "uint8[20000]"}, "outputs": {"dst": "uint8[20000]"}}


def same(source, target):
    target[...] = source


@tessbed.kernel(**PORTS)
def sound(w, src, dst):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], same)


@tessbed.kernel(**PORTS)
def raising(w, src, dst):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], same)
        raise LookupError("mine")  # the line


@tessbed.kernel(**PORTS)
def foreign(w, src, dst):
    yield w.band(src[0:9], dst[0:9], same)
    yield 42  # the line


@tessbed.kernel(**PORTS)
def repeated(w, src, dst):
    band = w.band(src[0:9], dst[0:9], same)
    yield band
    yield band  # the line


@tessbed.kernel(**PORTS)
def outside(w, src, dst):
    yield w.band(src[19_990:20_010], dst[0:20], same)  # the line


@tessbed.kernel(**PORTS)
def large(w, src, dst):
    yield w.band([src[:]] * 9, dst[0:20], same)  # the line


@tessbed.kernel(**PORTS)
def into_an_input(w, src, dst):
    yield w.band(dst[0:20], src[0:20], same)  # the line


@tessbed.kernel(**PORTS)
def failing_function(w, src, dst):
    def function(source, target):
        raise ArithmeticError("inside")  # the line

    for box in w.own(dst):
        yield w.band(src[box], dst[box], function)


@tessbed.kernel(**PORTS)
def late(w, src, dst):
    for number, box in enumerate(w.own(dst, most=1000)):

        def function(source, target):
            target[...] = source + number  # noqa: B023

        yield w.band(src[box], dst[box], function)  # the line


@tessbed.kernel(**PORTS, level="body")
def forgotten(w, src, dst):
    view = w.input.view(src[0:9])
    yield from w.gather(src[0:9], view)
    w.wait_slot(0)  # the line
    yield from w.compute(same, [view], [w.slot(0).view(dst[0:9])])


@tessbed.kernel(**PORTS, level="body")
def loop(w, src, dst):
    while True:
        yield from w.wait_slot(0)  # the line


@tessbed.kernel(**PORTS, level="body")
def swallowing(w, src, dst):
    view, made = w.input.view(src[0:9]), w.slot(0).view(dst[0:9])
    try:
        yield from w.prefetch(src[0:9], view)
        yield from w.compute(same, [view], [made])  # the line
        yield from w.wait_drains()
    except Exception:
        yield from w.wait_drains()


@tessbed.kernel(**PORTS, level="body")
def large_view(w, src, dst):
    yield from w.gather(src[:], w.areas(100)[0])  # the line


CASES = {
    "raising": (raising, "kernel_error", "LookupError: mine"),
    "foreign": (foreign, "kernel_error", "yielded 42"),
    "repeated": (repeated, "kernel_error", "each once and in order"),
    "outside": (outside, "kernel_hazard", "got 19990:20010 on axis 0, which has 20000 scalars"),
    "large": (large, "kernel_hazard", "a band gathers 180,000 bytes, the scratch has"),
    "into an input": (into_an_input, "kernel_hazard", "got a write to src, which is an input"),
    "failing function": (failing_function, "kernel_error", "ArithmeticError: inside"),
    "late": (late, "kernel_hazard", "number"),
    "forgotten": (forgotten, "kernel_hazard", "without `yield from`"),
    "loop": (loop, "kernel_error", "endless_loop"),
    "swallowing": (swallowing, "kernel_hazard", "gather"),
    "large view": (large_view, "kernel_hazard", "got 20,000 bytes, the area has 100"),
}


def marked_line(kernel) -> int:
    """The line of the kernel that is marked in this file."""
    first = kernel.function.__code__.co_firstlineno
    lines = Path(__file__).read_text().splitlines()
    return next(number for number in range(first, len(lines)) if "# the line" in lines[number - 1])


def runtime(*kernels) -> Runtime:
    spec = DeviceSpec(workers=2, cores=2)
    return Runtime(Device(spec, FirmwareImage(custom=ImageKernels.of([sound, *kernels]))))


SOURCE = {"src": np.arange(20000, dtype=np.uint8)}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_ends_the_job_at_its_line(case):
    """The job ends with a status and a report of the line; the next job runs, and closing leaves nothing behind."""
    kernel, status, _ = CASES[case]
    host = runtime(kernel)
    with pytest.raises(JobFault) as caught:
        run_on(host, plan_for_arrays(kernel, SOURCE), SOURCE)
    assert caught.value.status == status
    job = next(iter(host.devices[0].delivery.written.values()), None)
    assert job is None
    ran = run_on(host, plan_for_arrays(sound, SOURCE), SOURCE)
    assert np.array_equal(ran.outputs["dst"], SOURCE["src"])
    assert host.close() == ()


@pytest.mark.parametrize("case", CASES)
def test_a_report_has_the_line_and_the_words(case):
    """What a job of a scenario shows has the kernel's own line and says what was got and wanted."""
    kernel, _, text = CASES[case]
    host = runtime(kernel)
    plan = plan_for_arrays(kernel, SOURCE)
    with host.allocate(20000) as source, host.allocate(20000) as target:
        job = host.submit(plan, [source], [target])
        host.settle(job)
        assert job.stats is not None
        assert job.stats.kernel is not None
        report = "\n".join(job.stats.kernel.lines())
    assert text in report
    near = (0, -1) if case == "loop" else (0,)  # a loop is ended wherever it is
    assert any(f"test_mistakes.py:{marked_line(kernel) + by}" in report for by in near)
    host.close()


EXACT = ["raising", "foreign", "repeated", "outside", "large", "into an input"]


@pytest.mark.parametrize("case", EXACT)
def test_the_exact_engine_says_the_same(case):
    """A kernel that can not be planned fails on the exact engine with the same status, line and words."""
    from tessbed.firmware_models.custom.outline import kernel_outline
    from tessbed.kernels.custom.codec import decode_call

    kernel, status, text = CASES[case]
    packet = encode_kernel(plan_for_arrays(kernel, SOURCE)).bind([0x8000_1000, 0x8000_8000])
    with pytest.raises(KernelFailure, match=text.replace("(", r"\(")) as caught:
        kernel_outline(kernel, decode_call(packet.raw), DeviceSpec(), 2)
    assert caught.value.status == status
    assert f"test_mistakes.py:{marked_line(kernel)}" in str(caught.value)


def test_an_image_holds_the_kernel_or_refuses():
    """The runtime refuses a kernel that the image lacks, and so does the firmware, for the field at fault."""
    host = Runtime(Device(DeviceSpec(), FirmwareImage(custom=ImageKernels.of([sound]))))
    plan = plan_for_arrays(raising, SOURCE)
    with host.allocate(20000) as source, host.allocate(20000) as target:
        with pytest.raises(CapabilityError, match=r"the job needs raising .* the image holds sound"):
            host.submit(plan, [source], [target])
        raw = encode_kernel(plan).bind([source.address, target.address]).raw
        with pytest.raises(JobFault) as caught:
            host.wait(host.submit_packet(raw, [source], [target]))
        assert (caught.value.status, caught.value.field) == ("capability", "name")
    assert host.close() == ()


def two(w, a, b, c):
    for box in w.own(a):
        yield w.band(c[box], [a[box], b[box]], lambda source, *targets: None)


def test_binding_refuses_what_does_not_fit():
    """Views are judged in number, size, alignment, overlap and phase before anything happens."""
    kernel = tessbed.kernel(inputs={"c": "uint8[100]"}, outputs={"a": "uint8[100]", "b": "uint8[100]"})(two)
    plan = plan_kernel(kernel)
    host = Runtime(Device(DeviceSpec(), FirmwareImage(custom=ImageKernels.of([kernel]))))
    with host.allocate(4096) as source, host.allocate(4096) as target:
        views = [target.view(0, 100), target.view(1024, 100)]
        cases = {
            "arity": ([source], [target]),
            "overlap": ([source], [views[0], target.view(50, 100)]),
            "capacity": ([source.view(0, 99)], views),
            "phase": ([source], [views[0], target.view(1025, 100)]),
        }
        for code, (inputs, outputs) in cases.items():
            with pytest.raises(BindingError) as caught:
                host.submit(plan, inputs, outputs)
            assert caught.value.code == code
        with pytest.raises(BindingError, match=r"0x\w+ and 0x\w+, 0 and 1 bytes into a granule of 64"):
            host.submit(plan, [source], cases["phase"][1])
        host.run(plan, [source], views)
    assert host.close() == ()
