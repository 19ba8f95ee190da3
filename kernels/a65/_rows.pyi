"""The native row movers; `native_rows` is their only caller."""

VECTORS: tuple[str, ...]

def run(program: bytes, tiled_address: int, linear_address: int, /) -> None:
    """Executes a program of `native_rows`."""

def attempt(program: bytes, inputs: object, outputs: object, /) -> bool:
    """Executes the program if both views are surely right: one plain, aligned, large enough, disjoint buffer each."""

def span(buffer: object, /) -> tuple[int, int, bool]:
    """Address, bytes and whether read-only, of contiguous storage."""

def select(name: str, /) -> None:
    """Uses one of VECTORS from now on, in all threads; ValueError for another name."""

def selected() -> str:
    """The vector instructions in use."""
