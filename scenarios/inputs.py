"""Inputs: the bytes that a job reads, made by a named rule or taken from a file.

All rules fill the whole required span, gaps and padding included: an operation that reads them as data is found out.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tessbed.kernels import Plan, Strided
from tessbed.scenarios.model import Geometry, InputSource, ScenarioJob

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNK_BYTES = 1 << 20
GOLDEN_FACTOR = 2654435761


def mistake(source: InputSource, plan: Plan) -> str | None:
    """What is wrong with the input file, in words, or None. Reads no more of it than its header."""
    if source.path is None:
        return None
    check = FILES.get(source.path.suffix.lower())
    if check is None:
        return f'got "{source.written}", wanted a file that ends in .bin (raw bytes) or .npy (the logical tensor)'
    try:
        if not source.path.is_file():
            what = "is a folder" if source.path.is_dir() else "does not exist"
            return f'got "{source.written}", wanted a file: {source.path} {what}'
        return check(source.path, plan)
    except OSError as error:
        return f'got "{source.written}", which can not be read: {error.strerror}'


def _bin_mistake(path: Path, plan: Plan) -> str | None:
    got, wanted = path.stat().st_size, plan.input.required_bytes
    if got == wanted:
        return None
    return f"got {got} bytes in {path.name}, wanted {wanted}, the whole required span of the input, gaps included"


def _npy_mistake(path: Path, plan: Plan) -> str | None:
    if not plan.packs:
        return (
            f"got {path.name}, wanted a .bin of {plan.input.required_bytes} bytes: the input of {plan.op.name} is"
            " tiled, and a .npy holds a logical tensor; make the tiles with a tess job or with tessbed.tess()"
        )
    try:
        array = _open_npy(path)
    except OSError:
        raise
    except Exception as error:  # numpy evaluates the header: what that raises depends on the bytes
        return f"got {path.name}, which is no .npy file that numpy reads: {error}"
    wanted = NPY_DTYPES[plan.linear_dtype.value]
    if array.dtype.names or array.dtype.str not in wanted:
        return f"got {path.name} of dtype {array.dtype}, wanted {WORDS[plan.linear_dtype.value]}"
    if array.shape != plan.shape:
        return f"got {path.name} of shape {list(array.shape)}, wanted {list(plan.shape)}"
    return None


FILES = {".bin": _bin_mistake, ".npy": _npy_mistake}
# ml_dtypes.bfloat16 is saved as two opaque bytes.
NPY_DTYPES = {"int8": ("|i1",), "bf16": ("<u2", "|V2", "<V2"), "fp32": ("<f4",)}
WORDS = {"int8": "int8", "bf16": "uint16 (the bits of each BF16 word) or bfloat16", "fp32": "float32"}


def _open_npy(path: Path) -> "NDArray[Any]":
    from numpy.lib.format import open_memmap

    return open_memmap(path, mode="r")


def fill(out: "NDArray[np.uint8]", job: ScenarioJob, seed: int) -> None:
    """Write the input's required span into `out` (uint8, exactly that long); `seed` is the scenario's.

    Raises OSError when the file has changed since the scenario was read.
    """
    source = job.input
    if source.path is None:
        assert source.pattern is not None
        PATTERNS[source.pattern](out, seed, job.index)
    elif source.path.suffix.lower() == ".bin":
        _read_exactly(source.path, out)
    else:
        _fill_logical(out, source.path, job.geometry)


def _golden(out: "NDArray[np.uint8]", seed: int, index: int) -> None:
    """Byte k is ((k * 2654435761) mod 2**32) >> 24: the pattern of the golden cases."""
    import numpy as np

    steps = np.arange(min(CHUNK_BYTES, len(out)), dtype=np.uint32) * np.uint32(GOLDEN_FACTOR)
    for start in range(0, len(out), CHUNK_BYTES):
        part = out[start : start + CHUNK_BYTES]
        offset = np.uint32(start * GOLDEN_FACTOR % 2**32)
        part[:] = (steps[: len(part)] + offset) >> np.uint32(24)


def _ramp(out: "NDArray[np.uint8]", seed: int, index: int) -> None:
    """Byte k is k mod 256."""
    import numpy as np

    ramp = np.arange(CHUNK_BYTES, dtype=np.uint8)
    for start in range(0, len(out), CHUNK_BYTES):
        part = out[start : start + CHUNK_BYTES]
        part[:] = ramp[: len(part)]


def _random(out: "NDArray[np.uint8]", seed: int, index: int) -> None:
    """Bytes of a PCG64 stream of its own for every (seed, job); the job's name has no say."""
    import hashlib

    import numpy as np

    digest = hashlib.sha256(f"tessbed input {seed} {index}".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))
    for start in range(0, len(out), CHUNK_BYTES):
        part = out[start : start + CHUNK_BYTES]
        part[:] = np.frombuffer(generator.bytes(len(part)), np.uint8)


PATTERNS = {"golden": _golden, "random": _random, "ramp": _ramp}


def _read_exactly(path: Path, out: "NDArray[np.uint8]") -> None:
    with path.open("rb") as file:
        got = file.readinto(out.data)
        if got != len(out) or file.read(1):
            raise OSError(f"{path} changed while it was read: wanted {len(out)} bytes")


def _fill_logical(out: "NDArray[np.uint8]", path: Path, geometry: Geometry) -> None:
    """Lay the logical tensor out by the linear side's strides; gaps are zero."""
    import numpy as np

    out[:] = 0
    array = _open_npy(path)
    if array.shape != geometry.shape:
        raise OSError(f"{path} changed while it was read")
    word = np.dtype(f"V{geometry.dtype.width}")
    strides = geometry.linear.strides if isinstance(geometry.linear, Strided) else None
    if array.size:
        np.ndarray(geometry.shape, word, out.data, 0, strides)[...] = np.ascontiguousarray(array).view(word)
