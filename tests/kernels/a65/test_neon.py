"""The A65's own rows, in NEON instructions, run: compiled for it, and executed by an emulator of its instruction set.

Each case runs at both ends of protected pages, with read-only input, in floating-point environments that change.
"""

import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from tests.geometries import FAMILY, ROUNDINGS, SCALES, random_geometries
from tests.kernels.a65.memory_cases import KINDS, geometries
from tests.kernels.a65.running import assert_right
from tests.kernels.a65.test_qualification import KINDS as MOVED
from tests.kernels.a65.test_qualification import ROW_PATHS, assert_patterns, hwc, scalar_bytes, strides_in
from tests.kernels.a65.test_values import row
from tests.oracle import Geometry
from tests.words import as_bytes, covering_words, source_of, telling_words

pytest.importorskip("ziglang", reason="needs the package ziglang, which has no wheel for this machine")
pytest.importorskip("unicorn", reason="needs the package unicorn, which has no wheel for this machine")

from unicorn.unicorn import UcError

from tests.kernels.a65.neon import build
from tests.kernels.a65.neon.engine import Emulated, offered
from tests.kernels.a65.neon.fixtures import neon, program  # noqa: F401

EVERY = 40


def test_they_are_neon(neon: Emulated) -> None:  # noqa: F811
    """What runs here are the NEON rows, and it does run: twice for each call."""
    assert neon.machine.text(neon.machine.call("rows_vectors")) == "neon"
    assert_right(Geometry("tess", (2, 3, 4), "int8", (-1, 0, 1, 2), (1, 1, 2, 4)))
    assert next(neon.runs) == 2


def test_geometries() -> None:
    """Random geometries of all ranks, operations and dtypes are right."""
    for geometry in (*random_geometries(72, 17), *random_geometries(48, 17, FAMILY)):
        assert_right(geometry, source_of(geometry))


@pytest.mark.parametrize("op", KINDS)
def test_memory_cases(op: str) -> None:
    """One in forty of the cases that move an address or an end stays inside its pages, with the right bytes."""
    for geometry in list(geometries(op))[::EVERY]:
        assert_right(geometry)


@pytest.mark.parametrize("path", ROW_PATHS)
def test_every_row_path(path: str) -> None:
    """One tensor goes through every row path of every operation that moves bytes; all words follow in the long part."""
    shape, order, pad16 = ROW_PATHS[path]
    for kind in MOVED.values():
        strides = None if order == "hwc" else strides_in(order, shape, scalar_bytes(kind))
        geometry = hwc(kind, shape, shape, pad16=pad16, strides_bytes=strides)
        assert_patterns(geometry, scalar_bytes((*kind[:2], None)), 1)


@pytest.mark.parametrize("op", ["tess", "detess", "casttess", "quanttess", "detessdequant"])
def test_every_width(op: str) -> None:
    """Widths of 1 to 64 channels, compact and padded."""
    dtype, to = {"tess": ("bf16", None), "detess": ("int8", None), "casttess": ("bf16", "fp32")}.get(
        op, ("int8", "fp32")
    )
    for channels in range(1, 65):
        assert_right(hwc((op, dtype, to), (1, 22, channels), (1, 19, channels), pad16=channels % 2 == 0))


def test_words() -> None:
    """Every class of FP32 words is narrowed right, and so is every BF16 word; every INT8 code is dequantized right."""
    words = covering_words()
    assert_right(row("casttess", "bf16", len(words)), as_bytes(words))
    widened = b"".join((word << 16).to_bytes(4, "little") for word in range(1 << 16))
    assert_right(row("casttess", "bf16", 1 << 16), widened)
    for scale_bits, zero_point in product(SCALES, (-128, 0, 127)):
        assert_right(row("detessdequant", "int8", 256, scale_bits=scale_bits, zero_point=zero_point), bytes(range(256)))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_quantizing(rounding: str) -> None:
    """Words of every class, and neighbours of every tie, become the codes that the oracle says."""
    for scale_bits, zero_point in product(SCALES, (-128, 17)):
        words = telling_words(150, scale_bits, rounding)
        options = {"scale_bits": scale_bits, "zero_point": zero_point, "rounding": rounding}
        assert_right(row("quanttess", "int8", len(words), **options), as_bytes(words))


MUTANTS = {
    "the low half twice": ("_vec.h", "vzip2q_u8(a, b)", "vzip1q_u8(a, b)", "wrong"),
    "reads a word for four bytes": (
        "_vec.h",
        "    uint32_t word;\n    memcpy(&word, p, 4);",
        "    uint64_t word;\n    memcpy(&word, p, 8);",
        "fault",
    ),
    "writes the whole of a part": ("_vec.h", "    if (n >= 16) { store(p, v); return; }", "    store(p, v);", "fault"),
    "swaps two columns": (
        "_transpose.h",
        "m[4] = zip_low(c4, c5), m[5] = zip_high(c4, c5)",
        "m[5] = zip_low(c4, c5), m[4] = zip_high(c4, c5)",
        "wrong",
    ),
    "forgets where a segment ends": ("_transpose.h", "at->place += row->segment_jump;", ";", "wrong"),
    "weaves a channel twice": (
        "_transpose.h",
        "weave(from[k], row->streams[to][k])",
        "weave(from[0], row->streams[to][k])",
        "wrong",
    ),
    "leaves the caller's rounding": ("_convert.h", '"msr fpcr, xzr"', '"nop"', "wrong"),
    "leaves its flags": (
        "_convert.h",
        'msr fpcr, %0\\n\\tmsr fpsr, %1" : : "r"',
        'msr fpcr, %0\\n\\tmov x9, %1" : : "r"',
        "environment",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize(("file", "right", "wrong", "found"), MUTANTS.values(), ids=MUTANTS.keys())
def test_they_bite(file: str, right: str, wrong: str, found: str, tmp_path: Path) -> None:
    """Rows with an error in them fail: by wrong bytes, by a fault, or by an environment that has changed."""
    for source in build.SOURCES.glob("*.h"):
        shutil.copy(source, tmp_path)
    text = (tmp_path / file).read_text()
    assert text.count(right) == 1
    (tmp_path / file).write_text(text.replace(right, wrong))
    words = {"wrong": "differs at byte|depend", "fault": "Invalid memory", "environment": "environment changed"}
    with offered(build.build(tmp_path, tmp_path)), pytest.raises((AssertionError, UcError), match=words[found]):
        assert_all_right()


def assert_all_right() -> None:
    """One in seven of the memory cases of three operations is right."""
    for op in ("tess", "detess", "quanttess"):
        for geometry in list(geometries(op))[::7]:
            assert_right(geometry, source_of(geometry))


def test_big_endian_is_refused(tmp_path: Path) -> None:
    """The rows are not built for a big-endian machine; an install there goes on with numpy's."""
    with pytest.raises(subprocess.CalledProcessError) as refused:
        build.compile_source(build.HERE / "rows.c", tmp_path / "rows.o", "-target", "aarch64_be-linux-musl")
    assert "little-endian order" in refused.value.stderr
