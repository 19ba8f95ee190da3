"""The native row movers; `native_rows` is their only caller."""

VECTORS: tuple[str, ...]

def run(program: bytes, tiled_address: int, tiled_bytes: int, linear_address: int, linear_bytes: int, /) -> None:
    """Executes a program of `native_rows` on storage of these capacities.

    ValueError, before a byte is written, for what is no program, leaves its own spans, or asks for more storage;
    TypeError for what is no bytes.
    """

def attempt(program: bytes, inputs: object, outputs: object, /) -> bool:
    """Executes the program if both views are surely right: one plain, aligned, large enough, disjoint buffer each.

    Errors as in `run`.
    """

def span(buffer: object, /) -> tuple[int, int, bool]:
    """Address, bytes and whether read-only, of contiguous storage."""

def select(name: str, stream_bytes: int = ..., /) -> None:
    """Uses one of VECTORS from now on, in all threads; outputs of `stream_bytes` are written past the caches.

    ValueError for another name.
    """

def selected() -> str:
    """The vector instructions in use."""
