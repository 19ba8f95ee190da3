"""Buffers of a kernel's job: what its inputs hold, by a named rule or from a file.

The rules are those of the operations. A rule's bytes are taken as whole numbers by ports of integers; ports of real
numbers get one number for each byte, from -16 to 15.875 in eighths, so that none of them is infinite or no number.
"""

from collections.abc import Iterator

import numpy as np

from tessbed.kernels.custom.kernel_plan import PortLayout
from tessbed.kernels.errors import ContractError
from tessbed.scenarios.inputs import PATTERNS
from tessbed.scenarios.model import KernelBuffer

PORTS = 16
"""Ports of a job at most: each has a random stream of its own."""


def check_input_file(port: PortLayout, buffer: KernelBuffer) -> None:
    """Raise ContractError where the file of an input does not fit its port; it reads no more than the header."""
    path = buffer.source.path
    if path is None:
        return
    where, wanted = f"port {port.name}", f"{port.scalar}{list(port.shape)}"
    if port.written:
        raise ContractError("file", where, "got a file for an output, wanted prefill")
    if path.suffix.lower() == ".bin":
        got = path.stat().st_size
        if got != port.required_bytes:
            text = f"got {got:,} bytes in {path.name}, wanted {port.required_bytes:,} for {wanted}"
            raise ContractError("file", where, text)
        return
    array = _opened(port, buffer)
    fits = array.dtype == port.type.dtype or (port.scalar == "bf16" and array.dtype.str in ("|V2", "<V2"))
    if array.shape != port.shape or not fits:
        text = f"got {array.dtype}{list(array.shape)} in {path.name}, wanted {wanted}"
        raise ContractError("file", where, text)


def _opened(port: PortLayout, buffer: KernelBuffer) -> np.ndarray:
    from numpy.lib.format import open_memmap

    assert buffer.source.path is not None
    try:
        return open_memmap(buffer.source.path, mode="r")
    except OSError:
        raise
    except Exception as error:  # numpy evaluates the header: what that raises depends on the bytes
        name = buffer.source.path.name
        raise ContractError("file", f"port {port.name}", f"got {name}, which is no .npy file: {error}") from None


def fill_port(out: np.ndarray, port: PortLayout, buffer: KernelBuffer, seed: int, stream: int) -> None:
    """Write an input's bytes into `out` (uint8, exactly that long). Raises OSError where a file has changed."""
    path = buffer.source.path
    if path is None:
        _generate(out, port, buffer.source.pattern or "golden", seed, stream)
    elif path.suffix.lower() == ".bin":
        content = np.fromfile(path, np.uint8)
        if content.size != out.size:
            raise OSError(f"{path} changed while it was read: wanted {out.size} bytes")
        out[:] = content
    else:
        array = _opened(port, buffer)
        if array.shape != port.shape or array.dtype.itemsize != port.type.width:
            raise OSError(f"{path} changed while it was read")
        out[:] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)


def _generate(out: np.ndarray, port: PortLayout, pattern: str, seed: int, stream: int) -> None:
    if not port.type.real:
        PATTERNS[pattern](out, seed, stream)
        return
    raw = np.empty(out.size // port.type.width, np.uint8)
    PATTERNS[pattern](raw, seed, stream)
    out[:] = ((raw.astype(np.float64) - 128) / 8).astype(port.type.dtype).view(np.uint8)


def streams(index: int) -> Iterator[int]:
    """The numbers of the random streams of a job's ports."""
    return iter(range((index + 1) * PORTS, (index + 2) * PORTS))
