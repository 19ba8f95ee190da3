"""Image kernels: the kernels of one's own that a firmware image holds, by name and hash, and the refusals of calls."""

from collections.abc import Iterable, Iterator

import attrs

from tessbed.kernels.custom.codec import KernelCall, check_call_bound, decode_call
from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.custom.fields import BY_NAME
from tessbed.kernels.custom.source_tree import kernel_hash
from tessbed.kernels.ev74.codec import PacketFault
from tessbed.kernels.ev74.refusals import REFUSAL_BY_CODE
from tessbed.sim.completion_record import Completion
from tessbed.sim.transfer.memory import MemoryProbe


@attrs.define(eq=False)
class ImageKernels:
    """The kernels of an image; `hold` adds one."""

    held: dict[tuple[str, str], Kernel] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, kernels: Iterable[Kernel]) -> "ImageKernels":
        """These kernels."""
        made = cls()
        for kernel in kernels:
            made.hold(kernel)
        return made

    def hold(self, kernel: Kernel) -> None:
        """The image holds the kernel from now on, under the hash of its source."""
        self.held[kernel.name, kernel_hash(kernel)] = kernel

    def lacking(self, name: str, digest: str) -> tuple[str, str] | None:
        """The packet field that asks for what is not held, and both sides in words; None where it is held."""
        if (name, digest) in self.held:
            return None
        others = [held for held_name, held in self.held if held_name == name]
        if others:
            had = ", ".join(other[:12] for other in others)
            return "hash", f"kernel: the job needs {name} {digest[:12]}, the image holds {name} {had}"
        names = ", ".join(f"{held} {digest[:12]}" for held, digest in self.held) or "none"
        return "name", f"kernel: the job needs {name} {digest[:12]}, the image holds {names}"

    def admit(self, raw: bytes, memory: MemoryProbe) -> tuple[Kernel, KernelCall]:
        """The kernel that a bound packet asks for, and its call. Raises PacketFault."""
        call = decode_call(raw)
        lack = self.lacking(call.name, call.digest)
        if lack:
            raise PacketFault("capability", *lack)
        kernel = self.held[call.name, call.digest]
        for field, text in _differences(kernel, call):
            raise PacketFault("geometry", field, text)
        check_call_bound(call)
        for index, port in enumerate(call.ports):
            where = f"port{index}_address"
            if not memory.readable(port.address, port.required_bytes):
                raise PacketFault("unmapped", where, f"got {port.address:#x}, which is not mapped")
            if port.written and not memory.writable(port.address, port.required_bytes):
                raise PacketFault("read_only", where, f"got {port.address:#x}, which is read-only")
        return kernel, call


def _differences(kernel: Kernel, call: KernelCall) -> Iterator[tuple[str, str]]:
    """Where a call is not one of the kernel's declaration."""
    if call.level != kernel.level:
        yield "level", f"got {call.level}, {kernel.where} is of level {kernel.level}"
    if len(call.arguments) != len(kernel.arguments):
        yield "arguments", f"got {len(call.arguments)}, {kernel.where} has {len(kernel.arguments)}"
    for index, (value, argument) in enumerate(zip(call.arguments, kernel.arguments, strict=False)):
        if isinstance(value, float) != argument.real:
            yield f"argument{index}_kind", f"got {value!r}, argument {argument.name} is another kind of number"
    if len(call.ports) != len(kernel.ports):
        yield "inputs", f"got {len(call.ports)} ports, {kernel.where} has {len(kernel.ports)}"
    for index, (port, spec) in enumerate(zip(call.ports, kernel.ports, strict=False)):
        if port.written != spec.written:
            yield f"port{index}_access", f"port {spec.name} is {'written' if spec.written else 'read'}"
        if spec.scalar is not None and spec.scalar.name != port.scalar:
            yield f"port{index}_scalar", f"got {port.scalar}, port {spec.name} is {spec.scalar.name}"


def refusal_of_call(fault: PacketFault) -> Completion:
    """The completion that reports to the host what is wrong: the status, and the offset of the field at fault."""
    return Completion(REFUSAL_BY_CODE[fault.code].status, BY_NAME[fault.field].offset)
