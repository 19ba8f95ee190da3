"""Inputs: every rule gives the bytes that the documentation says, every file the bytes that it holds."""

import io
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.inputs import fill
from tessbed.scenarios.model import ScenarioJob
from tests.golden.catalogue import pattern_bytes
from tests.oracle import golden_bytes

LENGTHS = (1, 7, 8, 255, 1000, (1 << 20) + 9, (3 << 20) + 1)


def job_of(folder: Path, op: str, dtype: str, shape: list[int], more: str, source: str) -> ScenarioJob:
    """One job whose tiles hold whole tensors."""
    axes = [-1] * (4 - len(shape)) + list(range(len(shape)))
    tile = [1] * (4 - len(shape)) + [max(extent, 1) for extent in shape]
    text = f"""name = "x"
[[jobs]]
name = "j"
op = "{op}"
dtype = "{dtype}"
shape = {shape}
tiled = {{ axes = {axes}, tile = {tile} }}
{more}
input = {source}
"""
    (job,) = compose(parse_toml(text, "f"), folder).jobs
    assert isinstance(job, ScenarioJob)
    return job


def filled(job: ScenarioJob, seed: int = 0) -> bytes:
    """The job's input."""
    out = np.full(job.plan.input.required_bytes, 0xEE, np.uint8)
    fill(out, job, seed)
    return out.tobytes()


@pytest.mark.parametrize("pattern", ["golden", "random", "ramp"])
@pytest.mark.parametrize("length", LENGTHS)
def test_patterns(pattern: str, length: int) -> None:
    """A pattern is a rule on the byte's position; chunks of the fill do not show."""
    job = job_of(Path(), "tess", "int8", [length], "", f'{{ pattern = "{pattern}" }}')
    assert filled(job, seed=5) == pattern_bytes(pattern, length, 5, 0)


@pytest.mark.parametrize("count", [1, 2, 255, (1 << 18) + 3, (3 << 18) + 1])
def test_patterns_of_numbers(count: int) -> None:
    """A picture and activations are FP32 numbers by their rules, gaps of the span included."""
    golden = golden_bytes(4 * count)
    quantization = "quantization = { scale = 255, zero_point = -128 }"
    got = []
    for name in ("image", "activations"):
        job = job_of(Path(), "quanttess", "fp32", [count], quantization, f'{{ pattern = "{name}" }}')
        got.append(np.frombuffer(filled(job), "<f4"))
    step = max(1, count // 1000)
    for k in (*range(0, count, step), count - 1):
        exact, found = Fraction(golden[k], 255), Fraction(float(got[0][k]))
        neighbours = (np.nextafter(got[0][k], np.float32(side)) for side in (-1, 2))
        assert all(abs(found - exact) <= abs(Fraction(float(other)) - exact) for other in neighbours)
        assert Fraction(float(got[1][k])) == Fraction(sum(golden[4 * k : 4 * k + 4]) - 510, 64)


def test_patterns_of_numbers_need_numbers() -> None:
    """They are refused for inputs of other scalar types."""
    with pytest.raises(
        ScenarioError, match=r'pattern: got "image" for int8, wanted golden, random or ramp: its numbers are fp32'
    ):
        job_of(Path(), "tess", "int8", [8], "", '{ pattern = "image" }')


def test_random_depends_on_seed_only() -> None:
    """Another seed gives other bytes, the same seed the same."""
    job = job_of(Path(), "tess", "int8", [64], "", '{ pattern = "random" }')
    assert filled(job, 1) == filled(job, 1) != filled(job, 2)


def test_bin_is_the_raw_span(tmp_path: Path) -> None:
    """A .bin is the whole required span, gaps included."""
    content = bytes(range(28))
    (tmp_path / "x.bin").write_bytes(content)
    strided = "linear = { strides_bytes = [8, 2] }"
    assert filled(job_of(tmp_path, "tess", "bf16", [4, 2], strided, '{ file = "x.bin" }')) == content


ARRAYS = [
    ("int8", np.arange(-4, 4, dtype=np.int8)),
    ("bf16", np.arange(0x7FC0, 0x7FC8, dtype=np.uint16)),
    ("bf16", np.arange(0x7F81, 0x7F89, dtype=np.uint16).view(ml_dtypes.bfloat16)),
]


@pytest.mark.parametrize(("dtype", "array"), ARRAYS, ids=["int8", "uint16", "bfloat16"])
def test_npy_is_the_logical_tensor(tmp_path: Path, dtype: str, array: np.ndarray) -> None:
    """A .npy is laid out by the strides, its bits unchanged (NaNs too), the gaps zero."""
    np.save(tmp_path / "x.npy", np.asfortranarray(array.reshape(2, 4)))
    width = array.dtype.itemsize
    strided = f"linear = {{ strides_bytes = [{6 * width}, {width}] }}"
    expected = array.tobytes()[: 4 * width] + bytes(2 * width) + array.tobytes()[4 * width :]
    assert filled(job_of(tmp_path, "tess", dtype, [2, 4], strided, '{ file = "x.npy" }')) == expected


def test_empty_files(tmp_path: Path) -> None:
    """An empty tensor takes an empty file and an array without elements."""
    (tmp_path / "x.bin").write_bytes(b"")
    np.save(tmp_path / "x.npy", np.empty((0, 3), np.int8))
    for name in ("x.bin", "x.npy"):
        assert filled(job_of(tmp_path, "tess", "int8", [0, 3], "", f'{{ file = "{name}" }}')) == b""


REFUSED = [
    ("tess", np.zeros((2, 4), np.float32), "of dtype float32, wanted int8"),
    ("tess", np.zeros((4, 2), np.int8), "of shape [4, 2], wanted [2, 4]"),
    ("tess", np.array([[None] * 4] * 2), "which is no .npy file that numpy reads: "),
    ("detess", np.zeros((2, 4), np.int8), "wanted a .bin of 16 bytes: the input of detess is tiled"),
]


@pytest.mark.parametrize(("op", "array", "message"), REFUSED, ids=["dtype", "shape", "object", "tiled"])
def test_npy_refusals(tmp_path: Path, op: str, array: np.ndarray, message: str) -> None:
    """An array that is not the job's logical tensor is refused, and nothing is ever unpickled."""
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(ScenarioError) as caught:
        job_of(tmp_path, op, "int8", [2, 4], "", '{ file = "x.npy" }')
    assert message in str(caught.value)


ADVICE = [
    ("int8", np.uint8, "save x.view(np.int8)"),
    ("int8", np.bool_, "save x.view(np.int8)"),
    ("int8", np.float32, "np.clip(np.rint(x / scale), -128, 127).astype(np.int8)"),
    ("int8", np.float16, "np.clip(np.rint(x / scale), -128, 127).astype(np.int8)"),
    ("int8", np.int64, "x.astype(np.int8) takes values from -128 to 127"),
    ("int8", np.uint16, 'dtype = "bf16"'),
    ("bf16", np.float32, "x.astype(ml_dtypes.bfloat16)"),
    ("bf16", np.float16, "x.astype(ml_dtypes.bfloat16)"),
    ("bf16", np.int16, "save x.view(np.uint16)"),
    ("bf16", ">u2", "x.astype(x.dtype.newbyteorder('='))"),
    ("bf16", np.int8, 'dtype = "int8"'),
    ("bf16", np.float32, 'op = "casttess"'),
    ("int8", np.float32, 'op = "quanttess"'),
    ("fp32", np.float64, "save x.astype(np.float32)"),
    ("fp32", np.uint8, "save x.astype(np.float32)"),
    ("fp32", np.uint16, 'dtype = "bf16"'),
]


@pytest.mark.parametrize(
    ("dtype", "kind", "advice"), ADVICE, ids=[f"{to}-{np.dtype(kind)}-{words}" for to, kind, words in ADVICE]
)
def test_the_conversion_is_named(tmp_path: Path, dtype: str, kind: Any, advice: str) -> None:
    """An array that people have is refused with what makes it an input."""
    np.save(tmp_path / "x.npy", np.zeros((2, 4), kind))
    with pytest.raises(ScenarioError, match=re.escape(advice)):
        job_of(tmp_path, "casttess" if dtype == "fp32" else "tess", dtype, [2, 4], "", '{ file = "x.npy" }')


def test_file_that_shrinks(tmp_path: Path) -> None:
    """A file that changes between the check and the run is an error, not a short read."""
    (tmp_path / "x.bin").write_bytes(bytes(8))
    job = job_of(tmp_path, "tess", "int8", [8], "", '{ file = "x.bin" }')
    (tmp_path / "x.bin").write_bytes(bytes(7))
    with pytest.raises(OSError, match="changed while it was read: wanted 8 bytes"):
        filled(job)


def _bytes_of(array: np.ndarray) -> bytes:
    stored = io.BytesIO()
    np.save(stored, array)
    return stored.getvalue()


def _archive(array: np.ndarray) -> bytes:
    stored = io.BytesIO()
    np.savez(stored, array)
    return stored.getvalue()


WORDS = np.arange(8, dtype=np.uint16).reshape(2, 4)
NOT_READ = [
    ("empty", b""),
    ("archive", _archive(WORDS)),
    ("header cut off", _bytes_of(WORDS)[:20]),
    ("data cut off", _bytes_of(WORDS)[:-1]),
    ("header that never closes", _bytes_of(WORDS).replace(b"(2, 4)", b"(2,[])")[:120]),
    ("bracket without an end", _bytes_of(WORDS).replace(b"(2, 4)", b"(2,[(#")),
    ("fields", _bytes_of(WORDS.view([("a", "<u2")]))),
]


@pytest.mark.parametrize("content", [content for _, content in NOT_READ], ids=[name for name, _ in NOT_READ])
def test_no_bytes_of_an_npy_are_a_traceback(tmp_path: Path, content: bytes) -> None:
    """Whatever a .npy holds that is no plain tensor of words, the scenario is refused at the key that names it."""
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(ScenarioError) as error:
        job_of(tmp_path, "tess", "bf16", [2, 4], "", '{ file = "x.npy" }')
    assert [problem.place.line for problem in error.value.problems] == [9]
    assert "got x.npy" in str(error.value)
