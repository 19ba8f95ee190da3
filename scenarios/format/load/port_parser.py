"""Port parser: the layouts of the ports of external jobs, and their comparison with what is on the other side.

An external job moves no byte here, but what it reads and writes has a layout all the same: the same bytes in another
order are other values. Each port is compared as `byte_layout` compares two plans: by what decides the meaning of each
byte.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tessbed.kernels import OPERATIONS, ChannelStorage, DType, MlaCBlocked, MlaTiled, Plan
from tessbed.kernels.operations import Operation, TileFormat
from tessbed.kernels.plan import byte_layout
from tessbed.kernels.tensor import dense_strides
from tessbed.scenarios.format.diagnostics import KeyPath, alternatives, nearest
from tessbed.scenarios.format.jobs.admission_errors import admit
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.load.load_model import Stage
from tessbed.scenarios.model import Geometry

Values = Mapping[str, Any]
ByteLayout = tuple[object, ...]


def judge_ports(reader: Reader, stages: Sequence[Stage], listed: Sequence[Values], plans: Mapping[int, Plan]) -> None:
    """Report ports of external jobs whose layout is not that of the job on the other side, or that is none at all."""
    by_name = {stage.name: stage for stage in stages}
    written = {stage.name: _written(reader, stage, listed[stage.index]) for stage in stages if stage.server}
    for stage in stages:
        if stage.server:
            for place, port in enumerate(listed[stage.index].get("reads") or ()):
                _judge_read(reader, ("jobs", stage.index, "reads", place), port, by_name, plans)
        elif stage.reads in written:
            _judge_input(reader, stage, listed[stage.index], written[stage.reads], plans)


def _written(reader: Reader, stage: Stage, values: Values) -> dict[str, ByteLayout | None]:
    """What an external job writes, by port; None where a port's layout is wrong by itself."""
    found: dict[str, ByteLayout | None] = {}
    for place, port in enumerate(values.get("writes") or ()):
        path: KeyPath = ("jobs", stage.index, "writes", place)
        name = port.get("name")
        if name in found:
            reader.report_error((*path, "name"), f'got "{name}" twice, wanted a name of its own for each port')
        elif isinstance(name, str):
            found[name] = _layout_of(reader, path, port)
    return found


def _judge_read(
    reader: Reader, path: KeyPath, port: Values, by_name: Mapping[str, Stage], plans: Mapping[int, Plan]
) -> None:
    """Report a port that reads what a job does not write."""
    layout, maker = _layout_of(reader, path, port), by_name.get(port.get("job") or "")
    if not reader.sound((*path, "job")):
        return
    if maker is None:
        text = f'got "{port["job"]}", wanted the name of a job of this file{nearest(port["job"], list(by_name))}'
        reader.report_error((*path, "job"), text)
    elif maker.index not in plans:
        text = f'got "{maker.name}", wanted a job of an operation: what it writes is known, and compared'
        reader.report_error((*path, "job"), text)
    elif layout is not None and (found := byte_layout(plans[maker.index], written=True)) != layout:
        text = (
            f'got "{maker.name}", which writes {layout_words(found)}, wanted {layout_words(layout)}, as this port reads'
        )
        reader.report_error((*path, "job"), text)


def _judge_input(
    reader: Reader, stage: Stage, values: Values, ports: Mapping[str, ByteLayout | None], plans: Mapping[int, Plan]
) -> None:
    """Report a job that reads what a port of an external job does not write."""
    path, name = ("jobs", stage.index, "input", "port"), (values.get("input") or {}).get("port")
    if not reader.sound(path) or not reader.sound(("jobs", stage.index, "input", "job")):
        return
    here = ("jobs", stage.index, "input", "job")
    if not ports:
        text = f'got "{stage.reads}", an external job, which says nothing of what it writes: wanted writes there, or a'
        reader.report_error(here, f'{text} pattern or a file here, and after = ["{stage.reads}"]')
    elif name is None and len(ports) > 1:
        text = f'got "{stage.reads}" without port, wanted the port that it reads: {alternatives(list(ports))}'
        reader.report_error(here, text)
    elif name is not None and name not in ports:
        text = f'got "{name}", wanted a port of {stage.reads}: {alternatives(list(ports))}{nearest(name, list(ports))}'
        reader.report_error(path, text)
    elif stage.index in plans:
        chosen = name or next(iter(ports))
        found, wanted = ports[chosen], byte_layout(plans[stage.index], written=False)
        if found is not None and found != wanted:
            text = f'got "{chosen}" of {stage.reads}, which writes {layout_words(found)}, '
            text += f"wanted {layout_words(wanted)}, as this job reads"
            reader.report_error(path if name else here, text)


def _layout_of(reader: Reader, path: KeyPath, port: Values) -> ByteLayout | None:
    """What decides the meaning of each byte of a port; None, and it is reported, where no tensor has such a layout."""
    if not reader.sound(path) or not {"dtype", "shape"} <= set(port):
        return None
    shape, dtype = tuple(port["shape"]), DType(port["dtype"])
    tiled, blocked = port.get("tiled"), port.get("cblocked")
    if tiled is not None and blocked is not None:
        reader.report_error(
            (*path, "cblocked"), "got tiled and cblocked, wanted one of them, or none for a dense tensor"
        )
        return None
    if tiled is None and blocked is None:
        return _dense(reader, path, shape, dtype)
    layout = MlaCBlocked(*blocked["tile"]) if blocked else _tiled(tiled or {})
    form = TileFormat.CBLOCKED if isinstance(layout, MlaCBlocked) else TileFormat(layout.channel_storage.value)
    row = next(
        (row for row in OPERATIONS.values() if not row.packs and form in row.formats and dtype in row.inputs), None
    )
    if row is None:
        reader.report_error((*path, "dtype"), f"got {dtype.value}, wanted a scalar type that tiles of this format have")
        return None
    found = admit(_geometry(row, dtype, shape, layout))
    for keys, text in found.errors:
        reader.report_error((*path, *keys), text)
    return byte_layout(found.plan, written=False) if found.plan is not None else None


def _tiled(values: Values) -> MlaTiled:
    return MlaTiled(tuple(values["axes"]), tuple(values["tile"]), ChannelStorage(values["channels"]))


def _geometry(row: Operation, dtype: DType, shape: tuple[int, ...], layout: MlaTiled | MlaCBlocked) -> Geometry:
    """A job that reads the port: the first operation that can; the values of its parameters decide no layout."""
    parameters = tuple((one.name, 1.0 if one.real else max(one.low, 0)) for one in row.parameters)
    to = row.outputs()[0] if row.chooses_output else None
    return Geometry(row, dtype, shape, layout, to=to, parameters=parameters)


def _dense(reader: Reader, path: KeyPath, shape: tuple[int, ...], dtype: DType) -> ByteLayout | None:
    """The layout of a dense row-major tensor, as `byte_layout` has it."""
    if not shape or min(shape) < 0:
        reader.report_error((*path, "shape"), f"got {list(shape)}, wanted extents of 0 or more, one for each axis")
        return None
    steps = zip(dense_strides(shape, dtype.width), shape, strict=True)
    return "linear", dtype.value, shape, tuple(sorted((step, extent) for step, extent in steps if extent > 1)), ()


def layout_words(layout: ByteLayout) -> str:
    """A layout as a message says it."""
    kind, dtype, shape, axes, _ = layout
    extents = list(shape) if isinstance(shape, tuple) else shape
    detail = f"strides and extents {axes}" if kind == "linear" else f"extents and tiles of c, d, h, w {axes}"
    return f"{kind} {dtype} of {extents} with {detail}"
