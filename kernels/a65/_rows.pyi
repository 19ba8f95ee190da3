"""The native row movers; `native_rows` is their only caller."""

VECTORS: str

def run(program: bytes, tiled_address: int, linear_address: int, /) -> None:
    """Executes a program of `native_rows`."""

def span(buffer: object, /) -> tuple[int, int, bool]:
    """Address, bytes and whether read-only, of contiguous storage."""
