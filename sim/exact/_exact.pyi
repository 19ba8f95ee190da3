"""The recurrence in C; `native` is its only caller."""

def count(
    spec: object, costs: object, groups: object, bands: object, order: object, runs: object, spans: object, /
) -> tuple[bytes, bytes]:
    """The figures of a launch and its times, as 64-bit integers. MemoryError; an interrupt ends it."""

def makespans(
    spec: object,
    costs: object,
    groups: object,
    bands: object,
    order: object,
    runs: object,
    spans: object,
    firsts: object,
    wanted: object,
    /,
) -> bytes:
    """The last finishes of launches, as 64-bit integers. MemoryError; an interrupt ends it."""
