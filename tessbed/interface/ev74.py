"""Ev74: the operations on arrays, on a simulated EV74: packet, runtime, firmware, and the device's ticks."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from tessbed.array_arguments import argument_names
from tessbed.array_requests import admitted_pack, unpack_request
from tessbed.array_storage import aligned_bytes, empty_array, tile_bytes
from tessbed.interface.argument_values import checked_flag, checked_integer, checked_name
from tessbed.interface.device_argument import DEFAULT, device_of, origins_of
from tessbed.interface.device_session import ArrayRequest, DeviceSession
from tessbed.interface.job_report import JobReport
from tessbed.interface.kernel_arguments import argument_values, input_arrays, kernel_of, output_arrays, shaped_like
from tessbed.kernels.operations import OPERATIONS, Operation
from tessbed.kernels.ops.requests import AnyRequest, requests_of
from tessbed.scenarios.format.option_values import ENGINES, TIMELINE_SUFFIXES
from tessbed.scenarios.provenance.basis_words import device_words
from tessbed.scenarios.timeline.recording import recording
from tessbed.scenarios.timeline.timeline import Timeline
from tessbed.sim.errors import SpecError
from tessbed.sim.spec.device_spec import DeviceSpec

Result = tuple[Any, JobReport]
"""An array and the report; None instead of the array where the engine moves no byte."""
Self = TypeVar("Self", bound="Ev74")
MAX_SEED = 2**64 - 1


class Ev74:
    """A simulated EV74 that runs the operations on arrays; what `tessbed.tess` and its like do on the A65.

    `device` is a preset ("ev74-4core"; `tessbed list` shows all), the path of a preset file of your own, a table of
    device fields, or a DeviceSpec. `fields` change single fields of it: `workers=2`, `dma={"outstanding": 8}`.

    Each call runs the whole way: the request is admitted, encoded as a packet, bound to buffers at device addresses and
    submitted by the runtime; the firmware reads the packet and moves every byte by DMA. It returns the result, as the
    array function would, and a JobReport. All calls share one device: a kernel that was loaded stays loaded.

    `engine` is "simpy" (events, every byte), "exact" (the same ticks by a recurrence, in a small part of the time; no
    byte moves, so the result is None), or "verify" (both, compared). `trace` keeps every DMA transfer. With
    `check=False` the oracle does not compare the bytes. `seed` only moves data inside the intervals that the device's
    `data_movement` leaves open; no tick depends on it.

    Raises SpecError for a device or an argument that can not be, ScenarioError for errors inside a preset file, each
    with its place. The operations raise ContractError and BindingError as the array functions do, and
    NotRepresentable, CapabilityError, HeapExhausted or MemoryError where the device or this machine can not hold them.

    >>> import numpy as np, tessbed
    >>> image = np.arange(64 * 64 * 3).astype(np.int8).reshape(64, 64, 3)
    >>> ev74 = tessbed.Ev74("ev74-4core", workers=2)
    >>> tiles, job = ev74.tess(image, tile=(32, 64, 3), axes="HWC")
    >>> tiles.tobytes() == tessbed.tess(image, tile=(32, 64, 3), axes="HWC").tobytes()
    True
    >>> job.verified, job.workers
    (True, 2)
    >>> tessbed.Ev74("ev74-4cor")
    Traceback (most recent call last):
    ...
    tessbed.sim.errors.SpecError: device: got the text 'ev74-4cor', wanted a preset, ...; did you mean ev74-4core?
    """

    def __init__(
        self,
        device: object = DEFAULT,
        *,
        trace: bool = False,
        engine: str = "simpy",
        check: bool = True,
        seed: int = 0,
        **fields: Any,
    ) -> None:
        self._session = DeviceSession(
            device_of(device, fields),
            engine=checked_name("engine", engine, ENGINES),
            trace=checked_flag("trace", trace),
            check=checked_flag("check", check),
            seed=checked_integer("seed", seed, 0, MAX_SEED),
        )
        self._origins = origins_of(device)

    def __repr__(self) -> str:
        spec = self.spec
        return f"<Ev74: {spec.cores} cores, {spec.workers} workers, engine {self._session.engine}>"

    @property
    def spec(self) -> DeviceSpec:
        """Every parameter of the device."""
        return self._session.spec

    def with_fields(self: Self, **fields: Any) -> Self:
        """A fresh device like this one, with these fields changed. Raises SpecError.

        >>> import tessbed
        >>> tessbed.Ev74().with_fields(workers=1).spec.workers
        1
        """
        session = self._session
        options: dict[str, Any] = {name: getattr(session, name) for name in ("engine", "trace", "check", "seed")}
        made = type(self)(session.spec, **options, **fields)
        made._origins = self._origins
        return made

    @contextmanager
    def timeline(self, path: str | PathLike[str]) -> Iterator[None]:
        """A timeline of the calls in the `with` block, in a file: .pftrace for Perfetto, .vcd, or .jsonl.

        No tick and no byte depends on it. It is written where the block ends, with an exception or without. Raises
        SpecError for another suffix and for the exact engine, OSError where the file can not be written.

        >>> import numpy as np, tessbed, tempfile, os
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ev74 = tessbed.Ev74()
        ...     with ev74.timeline(os.path.join(folder, "run.pftrace")):
        ...         tiles, job = ev74.tess(np.ones((4, 6, 2), np.int8), tile=(4, 6, 2))
        ...     os.listdir(folder)
        ['run.pftrace']
        """
        file = Path(path)
        form = TIMELINE_SUFFIXES.get(file.suffix.lower())
        if form is None:
            text = f"got {file.name!r}, wanted a name that ends in {', '.join(TIMELINE_SUFFIXES)}"
            raise SpecError([(("timeline",), text)])
        if self._session.engine == "exact":
            text = "got the engine 'exact', which has no events, wanted 'simpy' or 'verify'"
            raise SpecError([(("timeline",), text)])
        failure: Exception | None = None
        with recording(file, form) as sink:
            self._session.follow(Timeline.of(sink, self.spec, device_words(*self._origins, self.spec)))
            try:
                yield
            except Exception as error:
                failure = error
            finally:
                self._session.leave()
        if failure is not None:
            raise failure

    def tess(
        self,
        x: np.ndarray,
        *,
        tile: Sequence[int],
        axes: str = "HWC",
        channels: str = "compact",
        fill: int | None = None,
    ) -> Result:
        """Packs `x` into tiles, as `tessbed.tess`; returns (tiles, report).

        >>> import numpy as np, tessbed
        >>> tiles, job = tessbed.Ev74().tess(np.ones((4, 6, 2), np.int8), tile=(4, 6, 2), axes="HWC")
        >>> tiles.nbytes, job.op
        (48, 'tess')
        """
        return self.pack("tess", x, tile=tile, axes=axes, channels=channels, fill=fill)

    def detess(
        self,
        tiled: np.ndarray,
        *,
        shape: Sequence[int],
        dtype: DTypeLike | str,
        tile: Sequence[int],
        axes: str = "HWC",
        channels: str = "compact",
        out: np.ndarray | None = None,
    ) -> Result:
        """Unpacks tiles into an array of `shape` and `dtype`, as `tessbed.detess`; returns (array, report).

        >>> import numpy as np, tessbed
        >>> x, job = tessbed.Ev74().detess(np.arange(48, dtype=np.uint8), shape=(4, 6, 2), dtype="int8", tile=(4, 6, 2))
        >>> x.shape, x.dtype.name, job.verified
        ((4, 6, 2), 'int8', True)
        """
        return self.unpack("detess", tiled, shape=shape, dtype=dtype, tile=tile, axes=axes, channels=channels, out=out)

    def detesscast(
        self,
        tiled: np.ndarray,
        *,
        shape: Sequence[int],
        tile: Sequence[int],
        axes: str = "HWC",
        channels: str = "compact",
        to: DTypeLike | str = "fp32",
        out: np.ndarray | None = None,
    ) -> Result:
        """Unpacks BF16 tiles into float32 or BF16, as `tessbed.detesscast`; returns (array, report).

        >>> import numpy as np, tessbed
        >>> x, job = tessbed.Ev74().detesscast(np.zeros(96, np.uint8), shape=(4, 6, 2), tile=(4, 6, 2))
        >>> x.dtype.name, job.op
        ('float32', 'detesscast')
        """
        return self.unpack("detesscast", tiled, shape=shape, to=to, tile=tile, axes=axes, channels=channels, out=out)

    def casttess(
        self,
        x: np.ndarray,
        *,
        tile: Sequence[int],
        axes: str = "HWC",
        channels: str = "compact",
    ) -> Result:
        """Packs float32, rounded to BF16, into BF16 tiles, as `tessbed.casttess`; returns (tiles, report).

        >>> import numpy as np, tessbed
        >>> tiles, job = tessbed.Ev74().casttess(np.ones((4, 6, 2), np.float32), tile=(4, 6, 2))
        >>> tiles.nbytes
        96
        """
        return self.pack("casttess", x, tile=tile, axes=axes, channels=channels)

    def quanttess(
        self,
        x: np.ndarray,
        *,
        tile: Sequence[int],
        scale: float,
        zero_point: int,
        rounding: str = "nearest_even",
        axes: str = "HWC",
        channels: str = "compact",
        fill: int | None = None,
    ) -> Result:
        """Packs float32, quantized, into INT8 tiles, as `tessbed.quanttess`; returns (tiles, report).

        >>> import numpy as np, tessbed
        >>> x = np.ones((4, 6, 2), np.float32)
        >>> tiles, job = tessbed.Ev74().quanttess(x, tile=(4, 6, 2), scale=10, zero_point=3)
        >>> tiles[:2].tolist()
        [13, 13]
        """
        quantization = {"scale": scale, "zero_point": zero_point, "rounding": rounding, "fill": fill}
        return self.pack("quanttess", x, tile=tile, axes=axes, channels=channels, **quantization)

    def detessdequant(
        self,
        tiled: np.ndarray,
        *,
        shape: Sequence[int],
        tile: Sequence[int],
        scale: float,
        zero_point: int,
        axes: str = "HWC",
        channels: str = "compact",
        out: np.ndarray | None = None,
    ) -> Result:
        """Unpacks INT8 tiles into float32, as `tessbed.detessdequant`; returns (array, report).

        >>> import numpy as np, tessbed
        >>> tiles = np.full(48, 13, np.uint8)
        >>> x, job = tessbed.Ev74().detessdequant(tiles, shape=(4, 6, 2), tile=(4, 6, 2), scale=10, zero_point=3)
        >>> float(x[0, 0, 0])
        1.0
        """
        quantization = {"scale": scale, "zero_point": zero_point}
        return self.unpack(
            "detessdequant", tiled, shape=shape, tile=tile, axes=axes, channels=channels, out=out, **quantization
        )

    def run(self, kernel: object, *inputs: np.ndarray, out: Any = None, **arguments: Any) -> Result:
        """A kernel of one's own: `inputs` go to its input ports in order, keywords are its arguments.

        `kernel` is a function decorated with `@tessbed.kernel`, or its place such as "copy.py:copy" (which runs the
        file). `out` is what the outputs hold before, and is filled: an array, a tuple of arrays in the order of the
        output ports, or a table by their names; without it each output has the shape that the kernel declares. Returns
        (outputs, report): an array for one output, else a tuple or a table as `out` is, a table without it.

        Raises ContractError where arrays and arguments do not fit the kernel, and JobFault where it failed on the
        device, with its exception or hazard and the source lines; then the device goes on. A kernel at level "body"
        runs on the event engine alone.

        >>> import numpy as np, tessbed
        >>> @tessbed.kernel(outputs=["dst"], api=1)
        ... def copy(w, src, dst):
        ...     for box in w.own(dst):
        ...         yield w.band(src[box], dst[box], same)
        >>> def same(source, target):
        ...     target[...] = source
        >>> a = np.arange(4096, dtype=np.uint8).reshape(64, 64)
        >>> out, job = tessbed.Ev74(workers=2).run(copy, a, out=np.empty_like(a))
        >>> bool((out == a).all()), job.verified
        (True, None)
        """
        asked = kernel_of(kernel)
        outputs = output_arrays(asked, out)
        done, job = self._session.run_kernel(asked, input_arrays(asked, inputs), outputs, argument_values(arguments))
        return None if done is None else shaped_like({**done.outputs, **outputs}, done.plan.outputs, out), job

    def pack(
        self,
        op: str,
        x: np.ndarray,
        *,
        tile: Sequence[int],
        axes: str = "HWC",
        channels: str = "compact",
        **arguments: Any,
    ) -> Result:
        """Any operation that packs, by its name; `arguments` are its parameters. Returns (tiles, report)."""
        row = row_named(op, packs=True)
        with argument_names(row):
            source, asked = admitted_pack(row, partial(_admitted, row), x, tile, axes, channels, arguments)
        elements = source.view(np.dtype(f"V{source.itemsize}"))

        def fill(storage: np.ndarray) -> None:
            storage[:] = 0
            asked.linear_view(storage, elements.dtype)[...] = elements

        output, job = self._session.run(asked, fill)
        if output is None:
            return None, job
        tiles = aligned_bytes(output.size)
        tiles[:] = output
        return tiles, job

    def unpack(
        self,
        op: str,
        tiled: np.ndarray,
        *,
        shape: Sequence[int],
        tile: Sequence[int],
        axes: str = "HWC",
        channels: str = "compact",
        dtype: DTypeLike | str | None = None,
        to: DTypeLike | str | None = None,
        out: np.ndarray | None = None,
        **arguments: Any,
    ) -> Result:
        """Any operation that unpacks, by its name; `arguments` are its parameters. Returns (array, report)."""
        row = row_named(op, packs=False)
        with argument_names(row):
            request, target_dtype = unpack_request(row, shape, tile, axes, channels, dtype, to, out, arguments)
            asked = _admitted(row, request)
            source = tile_bytes(tiled, asked.plan.input.required_bytes)

        def fill(storage: np.ndarray) -> None:
            storage[:] = source[: storage.size]

        output, job = self._session.run(asked, fill)
        if output is None:
            return None, job
        target = empty_array(asked.plan.shape, target_dtype) if out is None else out
        if target.size:
            target[...] = asked.linear_view(output, target_dtype)
        return target, job


def _admitted(row: Operation, request: AnyRequest) -> ArrayRequest:
    return ArrayRequest(row, request, requests_of(row).check_inference(request))


def row_named(name: str, *, packs: bool) -> Operation:
    """The row of that name. Raises SpecError for one that there is not, or that goes the other way."""
    names = [row.name for row in OPERATIONS.values() if row.packs == packs]
    return OPERATIONS[checked_name("op", name, names)]
