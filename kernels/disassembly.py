"""Disassembly of a packet of either format: of an operation that ships, or of a kernel of one's own."""

from tessbed.kernels.custom.codec import is_custom
from tessbed.kernels.custom.listing import list_custom
from tessbed.kernels.ev74.disasm import list_packet


def disassemble(raw: bytes) -> str:
    """The annotated listing of `raw`, ending in a newline. Never raises: a fault is part of the text."""
    return list_custom(raw) if is_custom(raw) else list_packet(raw)
