"""The floating-point environment: it has no say in a result, and a call leaves it as it was, on every row engine."""

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tessbed
from tests.geometries import FAMILY
from tests.kernels.a65.running import engines, outcome, using
from tests.oracle import Geometry, expected_output
from tests.words import source_of

X86 = platform.machine() in ("x86_64", "AMD64") and platform.system() == "Linux"
ENVIRONMENT_BYTES = 32
MXCSR = slice(28, 32)  # of glibc's and musl's fenv_t
ROUNDINGS = {"nearest": 0x0000, "down": 0x2000, "up": 0x4000, "toward zero": 0x6000}
FLUSHES = {"kept": 0x0000, "flush to zero": 0x8000, "subnormals are zeros": 0x0040, "both": 0x8040}
FLAGS = {"clear": 0x00, "all five": 0x3D, "inexact": 0x20}
MASKED = 0x1F80

pytestmark = pytest.mark.skipif(not X86, reason="knows the environment of x86-64 on Linux")


@contextmanager
def environment(control: int) -> Iterator[bytes]:
    """The thread with these bits of control and flags; yields the environment that was set."""
    library = ctypes.CDLL(None)
    before = ctypes.create_string_buffer(ENVIRONMENT_BYTES)
    library.fegetenv(before)
    wanted = bytearray(before.raw)
    wanted[MXCSR] = (MASKED | control).to_bytes(4, "little")
    library.fesetenv(bytes(wanted))
    try:
        yield bytes(wanted[MXCSR])
    finally:
        library.fesetenv(before)


def control_now() -> bytes:
    """The control and flag bits of this thread."""
    found = ctypes.create_string_buffer(ENVIRONMENT_BYTES)
    ctypes.CDLL(None).fegetenv(found)
    return found.raw[MXCSR]


@pytest.mark.parametrize("kind", FAMILY, ids=lambda kind: f"{kind[0]}-{kind[2] or kind[1]}")
@pytest.mark.parametrize("flags", FLAGS)
def test_no_say_and_no_trace(kind, flags: str) -> None:
    """In every rounding and flush mode the bytes are the oracle's, and modes and flags are as before the call."""
    op, dtype, to = kind
    for scale_bits in (0x437EFFFF, 0x00000001, 0x7F7FFFFF):
        geometry = Geometry(op, (3, 5, 21), dtype, (-1, 0, 1, 2), (1, 2, 5, 21), True, to=to, scale_bits=scale_bits)
        source = source_of(geometry)
        expected = expected_output(geometry, source)
        for name in engines():
            for rounding, flush in ((r, f) for r in ROUNDINGS.values() for f in FLUSHES.values()):
                with using(name), watched(rounding | flush | FLAGS[flags]):
                    got = outcome(geometry, source)
                assert got == expected, (name, hex(rounding), hex(flush))


@contextmanager
def watched(control: int) -> Iterator[None]:
    """The executor's call in this environment, which must be the same behind it."""
    from tessbed.kernels.a65.executor import Executor

    plain = Executor.execute

    def execute(self: Executor, *arguments: object) -> None:
        with environment(control) as wanted:
            plain(self, *arguments)  # type: ignore[arg-type]
            found = control_now()
        assert found == wanted, (found.hex(), wanted.hex())

    Executor.execute = execute  # type: ignore[method-assign]
    try:
        yield
    finally:
        Executor.execute = plain  # type: ignore[method-assign]


def test_the_watch_bites() -> None:
    """A call that rounds a product in the caller's environment is found out by its flags."""
    with environment(0):
        before = control_now()
        _ = np.float32(1) / np.float32(3) + np.ones(4, np.float32) / np.float32(3)
        ctypes.CDLL(None).feraiseexcept(0x20)
        assert control_now() != before


CALLS = {
    "tess": {},
    "detess": {"shape": (3, 5, 21), "dtype": "bf16"},
    "detesscast": {"shape": (3, 5, 21)},
    "casttess": {},
    "quanttess": {"scale": 0.1, "zero_point": 3},
    "detessdequant": {"shape": (3, 5, 21), "scale": 0.1, "zero_point": 3},
}
SOURCES = {"tess": np.uint16, "casttess": np.float32, "quanttess": np.float32}


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("op", CALLS)
def test_a_whole_call_leaves_no_trace(op: str, flags: str) -> None:
    """From the arguments on, a scale that is no binary32 number included, no flag is raised and none is cleared."""
    source = np.ones((3, 5, 21), SOURCES[op]) if op in SOURCES else np.zeros(1 << 12, np.uint8)
    function = getattr(tessbed, op)
    for name in engines():
        for rounding in ROUNDINGS.values():
            with using(name), environment(rounding | FLAGS[flags]) as wanted:
                function(source, tile=(2, 5, 21), **CALLS[op])
                found = control_now()
            assert found == wanted, (name, hex(rounding), found.hex(), wanted.hex())
