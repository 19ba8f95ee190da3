"""Storage that a caller lends for one call, and the checks that precede the first write."""

import attrs


@attrs.frozen
class HostBuffer:
    """Raw host storage: the address of its first byte and its capacity in bytes. The caller vouches for it."""

    address: int
    capacity: int
